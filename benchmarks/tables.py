"""The tables that contenders are fitted on, each made once and kept while its benchmarks run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_friedman1

from benchmarks.harness import Skip

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Public data kept beside the repository, where there are any."""


class Split(NamedTuple):
    """A table, and rows held out to judge by."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]


class Scale(NamedTuple):
    """How much smaller than their names the tables are."""

    divisor: int = 1

    def rows(self, n: int) -> int:
        return max(n // self.divisor, 40)


def size(n: int, d: int) -> str:
    """How names state a table's size: 200k x 30 is `200kx30`."""
    return f"{n // 1000}kx{d}" if n % 1000 == 0 else f"{n}x{d}"


def _cut(X: NDArray[Any], y: NDArray[Any], n: int) -> Split:
    return Split(X[:n], y[:n], X[n:], y[n:])


def _held_out(n: int) -> int:
    return max(n // 4, 2000)


@lru_cache(maxsize=2)
def classes(n: int, d: int, n_classes: int = 2, n_test: int | None = None) -> Split:
    """Clusters in half of the features, a sixth redundant, the rest noise; a tenth of the labels drawn at random."""
    total = n + (_held_out(n) if n_test is None else n_test)
    X, y = make_classification(
        total, d, n_informative=min(15, (d + 1) // 2), n_redundant=min(5, d // 6), n_classes=n_classes, flip_y=0.1,
        random_state=0,
    )  # fmt: skip
    return _cut(np.asarray(X, np.float32), np.asarray(y), n)


@lru_cache(maxsize=2)
def values(n: int, d: int) -> Split:
    """Friedman's first function of five features with unit noise; the other features mean nothing."""
    X, y = make_friedman1(n + _held_out(n), d, noise=1.0, random_state=0)
    return _cut(np.asarray(X, np.float32), np.asarray(y), n)


@lru_cache(maxsize=1)
def small_integers(n: int, d: int) -> Split:
    """At most eleven distinct values a feature."""
    split = classes(n, d)
    return split._replace(X=_as_small_integers(split.X), X_test=_as_small_integers(split.X_test))


def _as_small_integers(X: NDArray[Any]) -> NDArray[np.int64]:
    return np.clip(np.round(X), -5, 5).astype(np.int64)


@lru_cache(maxsize=1)
def with_missing(n: int, d: int) -> Split:
    """A tenth of the cells are missing."""
    rng = np.random.default_rng(0)
    split = classes(n, d)
    return split._replace(X=_with_holes(split.X, rng), X_test=_with_holes(split.X_test, rng))


def _with_holes(X: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    return np.where(rng.random(X.shape) < 0.1, np.float32(np.nan), X)


# --- real data -------------------------------------------------------------------------------------------------------


def _shared(name: str) -> Any:
    import pandas as pd

    path = SHARED / name
    if not path.exists():
        raise Skip(f"{name} is not there: it belongs into shared/data beside the repository")
    return pd.read_csv(path)


def _shuffled(X: NDArray[Any], y: NDArray[Any], divisor: int) -> Split:
    rows = np.random.default_rng(0).permutation(len(X))[: len(X) // divisor]
    return _cut(np.ascontiguousarray(X[rows]), y[rows], len(rows) * 3 // 4)


@lru_cache(maxsize=1)
def covertype(scale: Scale) -> Split:
    frame = _shared("covertype_93k.csv.gz")
    y = frame.pop("Cover_Type").to_numpy()
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)


@lru_cache(maxsize=1)
def california_housing(scale: Scale) -> Split:
    """Numeric columns only; some numbers of bedrooms are missing."""
    frame = _shared("california_housing.csv.gz").select_dtypes("number")
    y = frame.pop("median_house_value").to_numpy(np.float64)
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)


@lru_cache(maxsize=1)
def adult(scale: Scale) -> Split:
    """Texts as the ranks of their values in the alphabet, missing ones as -1."""
    frame = _shared("adult_train.csv.gz")
    y = frame.pop("income").to_numpy(str)
    for name in frame.columns.difference(frame.select_dtypes("number").columns):
        frame[name] = frame[name].astype("category").cat.codes
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)
