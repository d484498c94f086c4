"""The matrices X' diag(w_k) X of weighted regressions, and their normal equations, for all experts at once."""

from __future__ import annotations

import numpy as np

from committee.base.array_types import Floats
from committee.kernels.mixture.em import weigh_rows

CELLS = 2**15
"""Cells of a block of weighted rows: it stays in the cache between the two loops that read it."""

SAMPLE, MIN_SAMPLE, MIN_ROWS_PER_COEFFICIENT = 20, 5000, 10
"""Rows of a sample for each coefficient of all experts, and at least; by their weights, for each of one expert."""

MAX_DIAGONAL_RATIO = 2.0
"""Largest relative error of the diagonal of a sample before another sample is drawn."""

SMALL_PRIOR = 1e-10
"""A prior smaller than this fraction of the diagonal does not make up for collinear columns."""

SMALL_PRIOR_BY_ROWS = 1e-8
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


def weighted_squares(X: Floats, weights: Floats) -> Floats:
    """Return the diagonals sum_i weights[k, i] x_ij^2 of `weighted_grams`, [K, p]."""
    total = np.zeros((len(weights), X.shape[1]))
    for rows in row_blocks(*X.shape):
        total += weights[:, rows] @ np.square(X[rows])
    return total


def sampled_grams(X: Floats, weights: Floats) -> Floats:
    """Estimate `weighted_grams` from some of the rows if there are many: good enough for a step that is checked.

    Every m-th row is taken, and each matrix scaled up by the weight left out. Columns that are nearly always 0 (rare
    categories) may be missing from such a sample; the step would then be huge along them. Therefore the diagonal is
    compared with the exact one, and where they disagree the rows are sampled by their leverage instead. If an expert
    has too few rows for a sample, all rows are used.
    """
    n, p = X.shape
    n_experts = len(weights)
    every = n // max(SAMPLE * p * n_experts, MIN_SAMPLE)
    if every < 2:
        return weighted_grams(X, weights)
    part = np.ascontiguousarray(weights[:, ::every])
    seen = part.sum(axis=1)
    squares = np.einsum("kn,kn->k", part, part)
    if np.any(seen**2 < MIN_ROWS_PER_COEFFICIENT * p * squares) or not np.all(squares > 0.0):
        return weighted_grams(X, weights)
    scale = weights.sum(axis=1) / seen
    grams = weighted_grams(np.ascontiguousarray(X[::every]), part) * scale[:, np.newaxis, np.newaxis]
    exact = weighted_squares(X, weights)
    result = np.diagonal(grams, axis1=1, axis2=2)
    if np.all((result >= exact / MAX_DIAGONAL_RATIO) & (result <= exact * MAX_DIAGONAL_RATIO)):
        return grams
    return np.array([_gram_by_leverage(X, *each) for each in zip(weights, exact, strict=True)])


def _gram_by_leverage(X: Floats, weight: Floats, squares: Floats) -> Floats:
    """Estimate X' diag(weight) X from about SAMPLE p rows, chosen with probability SAMPLE times their leverage.

    The leverage sum_j weight_i x_ij^2 / squares_j is the part of a row in the squares of the columns: the few rows of a
    rare category are all taken. Rows are chosen systematically along the cumulative probabilities, not at random.
    """
    inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > SMALLEST)
    leverage = np.concatenate([np.square(X[rows]) @ inverse for rows in row_blocks(*X.shape)]) * weight
    probability = np.minimum(SAMPLE * leverage, 1.0)
    passed = np.floor(np.cumsum(probability) + 0.5)
    rows = np.flatnonzero((np.diff(passed, prepend=0.0) > 0.0) | (probability == 1.0))
    return weighted_grams(X[rows], (weight[rows] / probability[rows])[np.newaxis])[0]


def weighted_ridge(X: Floats, weights: Floats, right: Floats, l2: float, sample: bool = False) -> Floats:
    """(X' diag(weights[k]) X + l2 I)^-1 right[k], [K, p]; with `sample` from a part of the rows where they are many."""
    n, p = X.shape
    if n < p and l2 > SMALL_PRIOR_BY_ROWS * float(np.max(weights @ (X * X), initial=0.0)):
        return np.array([_ridge_by_rows(X, *each, l2) for each in zip(weights, right, strict=True)])
    grams = sampled_grams(X, weights) if sample else weighted_grams(X, weights)
    return solve_normal_equations(grams, right, l2)


def scaled_slopes(X: Floats, slope: Floats, curvature: Floats, coef: Floats, l2: float) -> Floats:
    """Gradient of a penalised log-likelihood over the root of its curvature, coefficient by coefficient, [K, p].

    slope and curvature [K, n] are those of every row with respect to its score. Half the square of an entry is the gain
    that a Newton step along that coefficient alone promises: it does not depend on the scale of the columns.
    """
    gradient, size = slope @ X - l2 * coef, weighted_squares(X, curvature) + l2
    return np.divide(gradient, np.sqrt(size), out=np.zeros_like(gradient), where=size > SMALLEST)


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
    if l2 > SMALL_PRIOR * float(np.max(np.diagonal(grams, axis1=1, axis2=2), initial=0.0)):
        return np.asarray(np.linalg.solve(matrices, right[:, :, np.newaxis])[:, :, 0], np.float64)
    values, vectors = np.linalg.eigh(matrices)
    is_real = values > np.maximum(p * EPS * np.abs(values).max(axis=1, keepdims=True), SMALLEST)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=is_real)
    rotated = np.einsum("kpq,kp->kq", vectors, right)
    return np.einsum("kpq,kq->kp", vectors, inverse * rotated)
