"""Mixtures of experts in plain NumPy: what the kernels and EM of the library compute, written as on paper."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, logsumexp


def log_softmax(score):
    return score - logsumexp(score, axis=0)


def log_logistic(coef, X, y):
    """ln of the probability of the class that each row has, [K, n]."""
    return log_expit(np.where(y > 0, 1.0, -1.0) * (coef @ X.T))


def responsibilities(log_gate, log_density, cooling=1.0):
    """[K, n] and ln sum_k (g_k q_k)^cooling, [n]."""
    joint = cooling * (log_gate + log_density)
    log_p = logsumexp(joint, axis=0)
    return np.exp(joint - log_p), log_p


def jensen_bound(log_gate, log_density, r, weight):
    """sum_i w_i sum_k r ln(g q / r), term by term."""
    total = 0.0
    for k, i in np.argwhere(r > 0.0):
        total += weight[i] * r[k, i] * (log_gate[k, i] + log_density[k, i] - np.log(r[k, i]))
    return total


def gram(X, w):
    return (X * w[:, np.newaxis]).T @ X


def logistic_newton(coef, X, y, w, l2):
    """One undamped Newton step of weighted logistic regression for one expert."""
    p = 1.0 / (1.0 + np.exp(-(X @ coef)))
    slope = X.T @ (w * (y - p)) - l2 * coef
    return coef + np.linalg.solve(gram(X, w * p * (1.0 - p)) + l2 * np.eye(len(coef)), slope)


def softmax_step(coef, X, shares, l2):
    """One step of softmax regression: every line with the curvature sum w p x x', then centred."""
    p, weight = np.exp(log_softmax(coef @ X.T)), shares.sum(axis=0)
    new = np.empty_like(coef)
    for k in range(len(coef)):
        slope = X.T @ (shares[k] - weight * p[k]) - l2 * coef[k]
        new[k] = coef[k] + np.linalg.solve(gram(X, weight * p[k]) + l2 * np.eye(X.shape[1]), slope)
    return new - new.mean(axis=0)


def em_logistic(X, y, gate, coef, l2, n_iter):
    """Plain EM for logistic experts behind a softmax gate, undamped; the objectives of all iterations."""
    objectives = []
    for _ in range(n_iter):
        r, log_p = responsibilities(log_softmax(gate @ X.T), log_logistic(coef, X, y))
        objectives.append(log_p.sum() - 0.5 * l2 * (np.sum(gate**2) + np.sum(coef**2)))
        gate = softmax_step(gate, X, r, l2)
        coef = np.array([logistic_newton(b, X, y, w, l2) for b, w in zip(coef, r, strict=True)])
    return np.array(objectives)
