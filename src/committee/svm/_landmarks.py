"""Which points stand for all rows in a Nystroem approximation.

    "uniform"    rows drawn by lot (Williams and Seeger 2001)
    "kmeans"     centres of clusters, by a few steps of Lloyd's algorithm from such rows (Zhang, Tsang and Kwok 2008)
    "leverage"   rows drawn by their ridge leverage l_i = p_i' (P'P + ridge)^-1 p_i, how much row i alone tells; the
                 features P are those of a first lot of landmarks (Musco and Musco 2017)

Equal rows are one row with their weights together, so a weight means what repetition means; of a large table a sample
is looked at.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm._nystroem_map import nystroem_map
from committee.svm.kernel_functions import Kernel
from committee.tabular.identity import distinct_rows

Choice = Literal["uniform", "kmeans", "leverage"]

MAX_ROWS = 50_000
"""Rows that are looked at; more are sampled."""

ROWS_A_CENTRE = 50
"""Rows to a cluster that Lloyd's algorithm looks at."""

LLOYD_STEPS = 5
DISTANCE_CELLS = 2**21


class Candidates(NamedTuple):
    """Distinct rows that may become landmarks."""

    X: Floats  # [n, d]
    weight: Floats  # [n]


def candidates(
    raw: NDArray[np.floating], X: NDArray[np.floating], weight: Floats, rng: np.random.Generator
) -> Candidates:
    """The distinct rows of X, or of a sample of many, in an order that depends on the values of the `raw` rows alone.

    `raw` are the rows as they came: means and deviations, with which they were scaled, have last bits of their own.
    """
    some: Any = slice(None)
    if len(X) > MAX_ROWS:
        some = np.sort(rng.choice(len(X), MAX_ROWS, replace=False))
    table = np.asarray(X[some], np.float64)
    distinct = distinct_rows(raw[some], np.zeros(len(table)))
    return Candidates(table[distinct.first], distinct.total(weight[some]))


def choose_landmarks(
    choice: Choice, result: Candidates, m: int, kernel: Kernel, ridge: float, rng: np.random.Generator
) -> Floats:
    """Landmarks [m, d]; all distinct rows where there are no more than m."""
    order = rng.permutation(len(result.X))
    if len(order) <= m:
        return result.X
    start = result.X[np.sort(order[:m])]
    if choice == "uniform":
        return start
    some = np.sort(order[: ROWS_A_CENTRE * m])
    sample = Candidates(result.X[some], result.weight[some])
    if choice == "kmeans":
        return lloyd(sample, start)
    scores = ridge_leverage(sample, start, kernel, ridge)
    # By exponential times, divided by the score: draws by score without replacement
    times = rng.exponential(size=scores.size) / np.maximum(scores, np.finfo(float).tiny)
    return sample.X[np.sort(np.argsort(times, kind="stable")[:m])]


def lloyd(sample: Candidates, centres: Floats) -> Floats:
    """Centres after a few steps: rows go to the nearest centre, centres to the mean of their rows."""
    for _ in range(LLOYD_STEPS):
        nearest = _nearest(sample.X, centres)
        total = np.bincount(nearest, sample.weight, minlength=len(centres))
        sums = [np.bincount(nearest, sample.weight * column, minlength=len(centres)) for column in sample.X.T]
        means = np.column_stack(sums) / np.where(total > 0.0, total, 1.0)[:, np.newaxis]
        centres = np.where(total[:, np.newaxis] > 0.0, means, centres)
    return centres


def _nearest(X: Floats, centres: Floats) -> NDArray[np.int64]:
    middle = centres.mean(axis=0)  # far from 0 the products would lose the differences
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
