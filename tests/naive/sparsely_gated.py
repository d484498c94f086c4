"""The deep, sparsely gated mixture row by row and expert by expert."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, exp, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from committee.experts._neural_layers import Layer, views
from committee.experts.deep_mixture import Batch, Network
from committee.experts.noisy_top_k import NOISE_FLOOR

Floats = NDArray[np.float64]


def softplus(value: float) -> float:
    return (log1p(exp(-abs(value))) + max(value, 0.0)) + NOISE_FLOOR


def shares_and_chances(layer: Layer, z: Floats, k: int, eps: Floats | None) -> tuple[Floats, Floats]:
    """G(z) and P(z) of one row for every expert, written from the definitions."""
    x = np.append(z, 1.0)
    clean, spread = x @ layer.gate, np.array([softplus(value) for value in x @ layer.noise])
    H = clean if eps is None else clean + eps * spread
    chosen = sorted(range(len(H)), key=lambda e: (-H[e], e))[:k]
    G = np.zeros(len(H))
    G[chosen] = np.exp(H[chosen] - H[chosen].max())
    P = np.ones(len(H))
    for e in range(len(H)):
        others = sorted(np.delete(H, e), reverse=True)
        if eps is not None and k < len(H):
            P[e] = 0.5 * (1.0 + erf((clean[e] - others[k - 1]) / spread[e] / sqrt(2.0)))
    return G / G.sum(), P


def expert_prediction(layer: Layer, e: int, z: Floats) -> Floats:
    return layer.B[e].T @ np.maximum(layer.A[e].T @ z + layer.a[e], 0.0) + layer.b[e]


def deep_mixture(
    network: Network, theta: Floats, x: Floats, eps: Sequence[Floats] | None = None
) -> tuple[Floats, list[Floats], list[Floats]]:
    """F(x) of one row, and of every layer the shares and the chances."""
    z, shares, chances = x, list[Floats](), list[Floats]()
    for index, layer in enumerate(views(theta, network.shapes)):
        G, P = shares_and_chances(layer, z, network.top_k, None if eps is None else eps[index])
        z = sum(
            (G[e] * expert_prediction(layer, e, z) for e in range(len(G)) if G[e] > 0.0), np.zeros(layer.b.shape[1])
        )
        shares.append(G)
        chances.append(P)
    return z, shares, chances


def squared_cv(amounts: Floats) -> float:
    return float(np.var(amounts) / np.mean(amounts) ** 2)


def objective(network: Network, theta: Floats, batch: Batch, noise: Sequence[Floats] | None) -> float:
    """The whole objective on a batch, noise [n, E] for every layer."""
    n_layers, n = len(network.shapes), len(batch.X)
    loss, importance, load = 0.0, np.zeros((n_layers, 1)), np.zeros((n_layers, 1))
    for i in range(n):
        score, shares, chances = deep_mixture(network, theta, batch.X[i], noise and [eps[i] for eps in noise])
        y = batch.y[i]
        one = 0.5 * (score[0] - y) ** 2 if network.n_classes == 0 else log(np.exp(score - score[int(y)]).sum())
        loss += batch.weight[i] * one / n
        importance = importance + batch.weight[i] * np.array(shares)
        load = load + batch.weight[i] * np.array(chances)
    for layer, of_importance, of_load in zip(views(theta, network.shapes), importance, load, strict=True):
        loss += network.importance_price * squared_cv(of_importance)
        loss += network.load_price * squared_cv(of_load) if noise is not None else 0.0
        loss += 0.5 * network.alpha * float((layer.A**2).sum() + (layer.B**2).sum())
    return loss
