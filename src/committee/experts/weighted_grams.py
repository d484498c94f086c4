"""The matrices X' diag(w_k) X of weighted regressions, and their normal equations, for all experts at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.kernels.mixture import weigh_rows

Floats = NDArray[np.float64]

CELLS = 2**15
"""Numbers of a block of weighted rows: it stays in the cache between the two loops that touch it."""

SAMPLE, LEAST_SAMPLE, ENOUGH = 20, 5000, 10
"""Rows of a sample for each coefficient of all experts, and at least; by their weights, for each of one expert."""

SAFE = 1e-10
"""A prior smaller than this share of the diagonal does not make up for columns that say the same."""

SAFE_BY_ROWS = 1e-8
"""The same where a small difference is divided by the prior."""

EPS, SMALLEST = float(np.finfo(np.float64).eps), 1e-280


def row_blocks(n: int, n_cells: int) -> list[slice]:
    """n rows in blocks of about CELLS numbers, `n_cells` for each row."""
    n_rows = max(64, CELLS // max(n_cells, 1))
    return [slice(first, min(first + n_rows, n)) for first in range(0, n, n_rows)]


def weighted_grams(X: Floats, weights: Floats) -> Floats:
    """X' diag(weights[k]) X for X [n, p] and weights [K, n]: [K, p, p].

    One product for all experts: block by block, X' times the rows of all experts side by side.
    """
    n, p = X.shape
    n_experts = len(weights)
    blocks = row_blocks(n, p * n_experts)
    room, total = np.empty((blocks[0].stop, n_experts, p)), np.zeros((p, n_experts * p))
    for rows in blocks:
        n_rows = rows.stop - rows.start
        weigh_rows(X, weights, rows.start, rows.stop, room)
        total += X[rows].T @ room[:n_rows].reshape(n_rows, -1)
    return np.ascontiguousarray(total.reshape(p, n_experts, p).transpose(1, 0, 2))


def sampled_grams(X: Floats, weights: Floats) -> Floats:
    """About `weighted_grams`, from a part of the rows where these are many: good enough for a step that is guarded.

    Every m-th row is taken, and each matrix scaled up by the weight left out. Where an expert has too few rows for
    that, all are taken.
    """
    n, p = X.shape
    n_experts = len(weights)
    every = n // max(SAMPLE * p * n_experts, LEAST_SAMPLE)
    if every < 2:
        return weighted_grams(X, weights)
    part = np.ascontiguousarray(weights[:, ::every])
    seen = part.sum(axis=1)
    squares = np.einsum("kn,kn->k", part, part)
    if np.any(seen**2 < ENOUGH * p * squares) or not np.all(squares > 0.0):
        return weighted_grams(X, weights)
    scale = weights.sum(axis=1) / seen
    return weighted_grams(np.ascontiguousarray(X[::every]), part) * scale[:, np.newaxis, np.newaxis]


def weighted_ridge(X: Floats, weights: Floats, right: Floats, l2: float, sample: bool = False) -> Floats:
    """(X' diag(weights[k]) X + l2 I)^-1 right[k], [K, p]; with `sample` from a part of the rows where they are many."""
    n, p = X.shape
    if n < p and l2 > SAFE_BY_ROWS * float(np.max(weights @ (X * X), initial=0.0)):
        return np.array([_ridge_by_rows(X, *each, l2) for each in zip(weights, right, strict=True)])
    grams = sampled_grams(X, weights) if sample else weighted_grams(X, weights)
    return solve_normal_equations(grams, right, l2)


def _ridge_by_rows(X: Floats, weight: Floats, right: Floats, l2: float) -> Floats:
    """The same for fewer rows than columns: a system of n equations instead of p (Woodbury).

    (A'A + l2 I)^-1 r = (r - A' (A A' + l2 I)^-1 A r) / l2,    A = diag(weight)^1/2 X
    """
    A = np.sqrt(weight)[:, np.newaxis] * X
    inner = np.linalg.solve(A @ A.T + l2 * np.eye(len(A)), A @ right)
    return np.asarray((right - inner @ A) / l2, np.float64)


def solve_normal_equations(grams: Floats, right: Floats, l2: float) -> Floats:
    """(grams[k] + l2 I)^-1 right[k], [K, p]; the shortest solution where that matrix is (nearly) singular."""
    p = right.shape[1]
    matrices = grams + l2 * np.eye(p)
    if l2 > SAFE * float(np.max(np.diagonal(grams, axis1=1, axis2=2), initial=0.0)):
        return np.asarray(np.linalg.solve(matrices, right[:, :, np.newaxis])[:, :, 0], np.float64)
    values, vectors = np.linalg.eigh(matrices)
    is_real = values > np.maximum(p * EPS * np.abs(values).max(axis=1, keepdims=True), SMALLEST)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=is_real)
    rotated = np.einsum("kpq,kp->kq", vectors, right)
    return np.einsum("kpq,kq->kp", vectors, inverse * rotated)
