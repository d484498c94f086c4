"""The Nystroem approximation of a kernel by landmarks (Williams and Seeger 2001), and passes over rows with it.

With the Gram matrix K = V diag(l) V' of m landmarks, the features of a point are

    p(x) = T k(x),   T = diag(l)^-1/2 V',   k(x) = (k(x, z_1), ..., k(x, z_m))

and p(x) p(x') is the kernel of the projections of x and x' on the span of the landmarks. Directions with l below 1e-7
of the largest (1e-11 in float64) are rounding errors and left out. The fraction of the trace that is lost,

    mean(k(x, x) - |p(x)|^2) / mean(k(x, x)),

measures the quality of the landmarks. The n x m matrix of all k(x) is never stored: every pass computes it block by
block, in float32 for large tables, with sums of blocks in float64 and in a fixed order, so that the result does not
depend on threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.svm._linear_problem import excess
from committee.svm.kernel_algebra import Kernel, Points, Precision
from committee.svm.kernel_functions import require_finite

BLOCK_CELLS = 2**18
"""Kernel values of a block: a megabyte of float32, which stays in the cache."""

GROUP = 64
"""Number of blocks whose results are summed together."""

NOISE = {np.float32: 1e-7, np.float64: 1e-11}
"""Fraction of the largest eigenvalue below which a direction is left out."""

TRACE_ROWS = 1000
"""Maximum number of rows on which the lost trace is measured."""


class NystroemMap(NamedTuple):
    """x -> T k(x)."""

    kernel: Kernel
    landmarks: Floats  # [m, d]
    points: Points  # the landmarks in the form of the kernel
    T: Floats  # [r, m]
    dtype: Precision

    def kernel_block(self, left: Points) -> NDArray[Any]:
        out = np.empty((left.n, self.points.n), self.dtype)
        self.kernel.fill(left, self.points, out)
        return out

    def features(self, X: NDArray[np.floating]) -> Floats:
        """p(x) of some rows, [n, r] in float64."""
        out = np.empty((len(X), len(self.T)))
        T = np.ascontiguousarray(self.T.T, self.dtype)
        for rows in self.blocks(len(X)):
            out[rows] = self.kernel_block(self.points_of(X[rows])) @ T
        return out

    def points_of(self, X: NDArray[np.floating]) -> Points:
        return self.kernel.points(np.asarray(X, np.float64), self.dtype)

    def blocks(self, n: int) -> list[slice]:
        step = max(16, BLOCK_CELLS // self.points.n)
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def nystroem_map(kernel: Kernel, landmarks: Floats, dtype: Precision) -> NystroemMap:
    """The map of a settled kernel and some landmarks."""
    exact = kernel.points(landmarks, np.float64)
    K = np.empty((exact.n, exact.n))
    with np.errstate(over="ignore", invalid="ignore"):  # raises in the next line
        kernel.fill(exact, exact, K)
    require_finite(K)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > NOISE[dtype] * max(values[-1], 0.0)
    if not kept.any():
        raise ValueError("The kernel is 0 between all landmarks: choose another kernel, or another gamma.")
    T = vectors[:, kept].T / np.sqrt(values[kept])[:, np.newaxis]
    return NystroemMap(kernel, landmarks, kernel.points(landmarks, dtype), T, dtype)


def lost_trace(mapping: NystroemMap, X: NDArray[np.floating]) -> float:
    """Fraction of the trace that the landmarks lose, on evenly spaced rows."""
    some = np.asarray(X[:: -(-len(X) // TRACE_ROWS)], np.float64)
    total = float(mapping.kernel.diagonal(mapping.kernel.points(some)).sum())
    kept = float(np.sum(mapping.features(some) ** 2))
    return max(0.0, 1.0 - kept / total) if total > 0.0 else 0.0


class Sweep(NamedTuple):
    """The results of a pass over all rows, for K planes in the feature space."""

    value: Floats  # [K], sum of the costs
    gradient: Floats  # [r + 1, K], of the costs by (v, b)
    f: Floats  # [n, K]
    n_support: NDArray[np.int64]  # [K]


class CostMatrix(NamedTuple):
    """Targets and costs of K binary problems."""

    y: Floats  # [n, K]
    up: Floats  # [n, K]
    down: Floats  # [n, K]
    epsilon: float


class Blocks(NamedTuple):
    """All rows as points, in the blocks of a pass."""

    rows: list[slice]
    points: list[Points]


def make_blocks(mapping: NystroemMap, X: NDArray[np.floating]) -> Blocks:
    blocks = mapping.blocks(len(X))
    return Blocks(blocks, [mapping.points_of(X[rows]) for rows in blocks])


def sweep(mapping: NystroemMap, blocks: Blocks, costs: CostMatrix, v: Floats, b: Floats, n_jobs: int | None) -> Sweep:
    """Squared costs, their gradient and the predictions of the planes v [r, K], b [K], in one pass."""
    n, m, K = len(costs.y), mapping.points.n, b.size
    u = np.ascontiguousarray(mapping.T.T @ v, mapping.dtype)
    f, value, n_support = np.empty((n, K)), np.zeros(K), np.zeros(K, np.int64)
    by_k, by_b = np.zeros((m, K)), np.zeros(K)
    threads = n_threads(n_jobs, n * m)
    calls = list(zip(blocks.rows, blocks.points, strict=True))

    def evaluate(rows: slice, left: Points) -> tuple[Floats, NDArray[Any], Floats, NDArray[np.int64]]:
        D = mapping.kernel_block(left)
        f[rows] = D @ u + b
        low, high = excess(costs.y[rows], f[rows], costs.epsilon)
        pull_up, pull_down = costs.up[rows] * low, costs.down[rows] * high
        pull = pull_up - pull_down
        cost = np.sum(pull_up * low + pull_down * high, axis=0)
        return cost, D.T @ pull.astype(D.dtype), pull.sum(axis=0), np.count_nonzero(pull, axis=0)

    for start in range(0, len(calls), GROUP):
        for cost, by_block, of_b, count in run(evaluate, calls[start : start + GROUP], threads):
            value += cost
            by_k += by_block
            by_b += of_b
            n_support += count
    return Sweep(value, -2.0 * np.vstack([mapping.T @ by_k, by_b]), f, n_support)
