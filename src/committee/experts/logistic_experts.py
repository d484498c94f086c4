"""Logistic experts: q_k(1 | x) = 1 / (1 + e^(-b_k'x)); for C classes multinomial, q_k(c | x) = softmax(B_k x)_c.

    prior: -l2/2 |b_k|^2

which keeps the coefficients finite where an expert separates its classes or has one class only. The M-step is one
step of Newton's method for weighted logistic regression (IRLS), with q the probability of the class that a row has:

    b_k  <-  b_k + (sum_i w_i r_ik q_i (1 - q_i) x_i x_i' + l2 I)^-1 (sum_i w_i r_ik (y_i - P(1 | x_i)) x_i - l2 b_k)

It can be too long (EM halves it then). For C classes the step is that of the gate, class by class (gate.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.experts._weighted_least_squares import scaled_slopes, weighted_ridge
from committee.experts.em import interpolate
from committee.experts.gate import log_softmax_scores, softmax_scaled_gradient, softmax_step
from committee.kernels.mixture.em import log_sigmoid, logistic_slopes

Codes = NDArray[np.int64]


class LogisticExperts(NamedTuple):
    """Two classes, 0 and 1; the parameters are an array [K, p], rows of X hold a 1 for the intercept."""

    l2: float = 1e-2

    def start(self, n_experts: int, n_columns: int) -> Floats:
        return np.zeros((n_experts, n_columns))

    def log_likelihood(self, params: Floats, X: Floats, y: Codes) -> Floats:
        score = params @ X.T
        log_sigmoid(score, y)
        return score

    def log_proba(self, params: Floats, X: Floats) -> Floats:
        """ln q_k(c | x) of both classes, [K, 2, n]."""
        first, second = self.log_likelihood(params, X, np.zeros(len(X), np.int64)), params @ X.T
        log_sigmoid(second, np.ones(len(X), np.int64))
        return np.stack([first, second], axis=1)

    def log_prior(self, params: Floats) -> Floats:
        return -0.5 * self.l2 * np.einsum("kp,kp->k", params, params)

    def m_step(
        self, params: Floats, X: Floats, y: Codes, weights: Floats, at: Floats | None = None, *, exact: bool = False
    ) -> Floats:
        slope, curvature = self._slopes(params, X, y, weights, at)
        right = slope @ X - self.l2 * params
        return params + weighted_ridge(X, curvature, right, self.l2, sample=not exact)

    def scaled_gradient(self, params: Floats, X: Floats, y: Codes, weights: Floats) -> Floats:
        return scaled_slopes(X, *self._slopes(params, X, y, weights, None), params, self.l2)

    def _slopes(self, params: Floats, X: Floats, y: Codes, weights: Floats, at: Floats | None) -> tuple[Floats, Floats]:
        log_q = self.log_likelihood(params, X, y) if at is None else at
        slope, curvature = np.empty_like(log_q), np.empty_like(log_q)
        logistic_slopes(log_q, y, weights, slope, curvature)
        return slope, curvature

    def between(self, old: Floats, new: Floats, fraction: Floats) -> Floats:
        return interpolate(old, new, fraction[:, np.newaxis])

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return n_experts * n_columns


class MultinomialExperts(NamedTuple):
    """Classes 0 .. C - 1; the parameters are an array [K, C, p]."""

    n_classes: int
    l2: float = 1e-2

    def start(self, n_experts: int, n_columns: int) -> Floats:
        return np.zeros((n_experts, self.n_classes, n_columns))

    def log_likelihood(self, params: Floats, X: Floats, y: Codes) -> Floats:
        rows = np.arange(len(X))
        return np.array([log_softmax_scores(coef, X)[y, rows] for coef in params])

    def log_proba(self, params: Floats, X: Floats) -> Floats:
        """ln q_k(c | x), [K, C, n]."""
        return np.array([log_softmax_scores(coef, X) for coef in params])

    def log_prior(self, params: Floats) -> Floats:
        return -0.5 * self.l2 * np.einsum("kcp,kcp->k", params, params)

    def m_step(
        self, params: Floats, X: Floats, y: Codes, weights: Floats, at: Floats | None = None, *, exact: bool = False
    ) -> Floats:
        is_class = y == np.arange(self.n_classes)[:, np.newaxis]
        return np.array(
            [
                softmax_step(coef, X, is_class * fraction, log_softmax_scores(coef, X), self.l2, exact=exact)
                for coef, fraction in zip(params, weights, strict=True)
            ]
        )

    def scaled_gradient(self, params: Floats, X: Floats, y: Codes, weights: Floats) -> Floats:
        is_class = y == np.arange(self.n_classes)[:, np.newaxis]
        return np.array(
            [
                softmax_scaled_gradient(coef, X, is_class * fraction, log_softmax_scores(coef, X), self.l2)
                for coef, fraction in zip(params, weights, strict=True)
            ]
        )

    def between(self, old: Floats, new: Floats, fraction: Floats) -> Floats:
        return interpolate(old, new, fraction[:, np.newaxis, np.newaxis])

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return n_experts * (self.n_classes - 1) * n_columns
