"""Choose the landmarks of a Nystroem approximation.

    "uniform"    rows drawn at random (Williams and Seeger 2001)
    "kmeans"     centres of clusters, by a few steps of Lloyd's algorithm from such rows (Zhang, Tsang and Kwok 2008)
    "leverage"   rows drawn by their ridge leverage l_i = p_i' (P'P + ridge)^-1 p_i, its influence; the
                 features P are those of a first random set of landmarks (Musco and Musco 2017)

Equal rows are one row with the sum of their weights, so that an integer weight is equivalent to repetition. Of a large
table a sample is used.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm.kernel_algebra import Kernel
from committee.svm.nystroem_map import nystroem_map
from committee.tabular.identity import distinct_rows

Choice = Literal["uniform", "kmeans", "leverage"]

MAX_ROWS = 50_000
"""Maximum number of candidate rows; of more, a sample is drawn."""

ROWS_PER_CENTRE = 50
"""Number of rows per cluster that Lloyd's algorithm uses."""

LLOYD_STEPS = 5
DISTANCE_CELLS = 2**21


class Candidates(NamedTuple):
    """Distinct rows that may become landmarks."""

    X: Floats  # [n, d]
    weight: Floats  # [n]


def candidates(
    raw: NDArray[np.floating], X: NDArray[np.floating], weight: Floats, rng: np.random.Generator
) -> Candidates:
    """The distinct rows of X, or of a sample, in an order that depends on the values of the `raw` rows only.

    `raw` are the rows before scaling: the last bits of means and deviations depend on the order of the rows.
    """
    some: Any = slice(None)
    if len(X) > MAX_ROWS:
        some = np.sort(rng.choice(len(X), MAX_ROWS, replace=False))
    table = np.asarray(X[some], np.float64)
    distinct = distinct_rows(raw[some], np.zeros(len(table)))
    return Candidates(table[distinct.first], distinct.total(weight[some]))


def choose_landmarks(
    choice: Choice, rows: Candidates, m: int, kernel: Kernel, ridge: float, rng: np.random.Generator
) -> Floats:
    """Landmarks [m, d]; all distinct rows if there are no more than m."""
    order = rng.permutation(len(rows.X))
    if len(order) <= m:
        return rows.X
    start = rows.X[np.sort(order[:m])]
    if choice == "uniform":
        return start
    some = np.sort(order[: ROWS_PER_CENTRE * m])
    sample = Candidates(rows.X[some], rows.weight[some])
    if choice == "kmeans":
        return lloyd(sample, start)
    scores = ridge_leverage(sample, start, kernel, ridge)
    # Exponential times divided by the scores draw by score without replacement
    times = rng.exponential(size=scores.size) / np.maximum(scores, np.finfo(float).tiny)
    return sample.X[np.sort(np.argsort(times, kind="stable")[:m])]


def lloyd(sample: Candidates, centres: Floats) -> Floats:
    """Centres after a few steps: assign rows to the nearest centre, move centres to the mean of their rows."""
    for _ in range(LLOYD_STEPS):
        nearest = _nearest(sample.X, centres)
        total = np.bincount(nearest, sample.weight, minlength=len(centres))
        sums = [np.bincount(nearest, sample.weight * column, minlength=len(centres)) for column in sample.X.T]
        means = np.column_stack(sums) / np.where(total > 0.0, total, 1.0)[:, np.newaxis]
        centres = np.where(total[:, np.newaxis] > 0.0, means, centres)
    return centres


def _nearest(X: Floats, centres: Floats) -> NDArray[np.int64]:
    middle = centres.mean(axis=0)  # far from 0 products lose small differences
    moved = centres - middle
    halves = 0.5 * np.einsum("ij,ij->i", moved, moved)
    step = max(1, DISTANCE_CELLS // len(centres))
    result = np.empty(len(X), np.int64)
    for start in range(0, len(X), step):
        result[start : start + step] = np.argmax((X[start : start + step] - middle) @ moved.T - halves, axis=1)
    return result


def ridge_leverage(sample: Candidates, landmarks: Floats, kernel: Kernel, ridge: float) -> Floats:
    """l_i of every row of the sample."""
    features = nystroem_map(kernel, landmarks, np.float64).features(sample.X)
    scaled = features * np.sqrt(sample.weight)[:, np.newaxis]
    gram = scaled.T @ scaled + ridge * np.eye(features.shape[1])
    return np.einsum("ij,ij->i", features, np.linalg.solve(gram, features.T).T)
