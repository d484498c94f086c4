"""Tables and models of the tests on a cluster."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from committee.gradient_boosting.base import BaseGradientBoosting

N_ROWS = 150_000
UNEQUAL = (0, 60_000, 7, 0, 49_993, 40_000)
"""Partitions of N_ROWS rows."""


class Table(NamedTuple):
    """Numbers with missing values, and targets."""

    X: NDArray[np.float64]
    label: NDArray[Any]
    value: NDArray[np.float64]
    kind: NDArray[np.int64]  # of three
    weight: NDArray[np.float64]


def make_table(n: int = N_ROWS, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3] = np.round(X[:, 3])
    value = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.03] = np.nan
    label, weight = np.where(value > 0.3, "yes", "no"), rng.exponential(size=n)
    return Table(X, label, value, np.digitize(value, [-0.7, 0.8]), weight)


TABLE = make_table()


def chunked(values: NDArray[Any], chunks: Any = 35_000) -> Any:
    """An array of Dask with these chunks of rows."""
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def digest(model: BaseGradientBoosting) -> str:
    """A hash of all trees, the first scores and the history of a fit."""
    content = hashlib.sha256()
    history = (model.history_[name] for name in model.history_)
    for part in (*(model._trees or ()), model.baseline_, *history):
        content.update(np.ascontiguousarray(part).tobytes())
    return content.hexdigest()
