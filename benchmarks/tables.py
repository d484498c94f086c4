"""The tables that contenders are fitted on, each made once and kept while its benchmarks run."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_friedman1

from benchmarks.harness import Skip

SHARED = Path(os.environ.get("COMMITTEE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
"""Public data, where there are any: in the folder that COMMITTEE_DATA names, else kept beside the repository."""


class Split(NamedTuple):
    """A table, and held-out rows. With categories a table is a data frame, else an array."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


class Scale(NamedTuple):
    """How much smaller than their names the tables are."""

    divisor: int = 1

    def rows(self, n: int) -> int:
        return max(n // self.divisor, 40)


def size(n: int, d: int) -> str:
    """How names state a table's size: 200k x 30 is `200kx30`."""
    return f"{n // 1000}kx{d}" if n % 1000 == 0 else f"{n}x{d}"


def _cut(X: Any, y: NDArray[Any], n: int) -> Split:
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


def _with_holes(X: NDArray[Any], rng: np.random.Generator, share: float = 0.1) -> NDArray[Any]:
    return np.where(rng.random(X.shape) < share, np.float32(np.nan), X)


# --- collisions: columns as detectors of particles give them ---------------------------------------------------------


def _measured(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """A quarter of momenta (skewed, positive), a quarter that leans on them, three counts, the rest normal."""
    X = rng.standard_normal((n, d), dtype=np.float32)
    k = d // 4
    X[:, :k] = np.exp(np.float32(0.6) * X[:, :k])
    X[:, k : 2 * k] += np.float32(0.4) * X[:, :k]
    X[:, d - 3 :] = np.floor(np.float32(1.6) * np.abs(X[:, d - 3 :]))
    return X


def _signal(X: NDArray[np.float32], first: int = 0) -> NDArray[np.float64]:
    """Products, thresholds and waves of a few columns, counted from `first` on; mean 0, deviation 1.5."""
    d = X.shape[1]

    def column(j: int) -> NDArray[np.float32]:
        return X[:, (first + j) % d]

    momentum, partner, half = column(0), column(d // 4), d // 2
    signal = momentum * np.tanh(partner) + np.sin(2.0 * column(1)) - 0.7 * column(2) * column(half)
    signal += 0.9 * (column(3) > 1.0) * column(half + 1) - 0.8 * (column(half) * column(half + 2) > 0.3)
    signal += 0.3 * column(d - 1) * (column(1) > 0.8)
    signal = signal.astype(np.float64)
    return 1.5 * (signal - signal.mean()) / signal.std()


@lru_cache(maxsize=1)
def collisions(n: int, d: int, n_test: int | None = None) -> Split:
    """Two classes, drawn with the odds exp(signal)."""
    rng = np.random.default_rng(0)
    X = _measured(n + (_held_out(n) if n_test is None else n_test), d, rng)
    y = rng.random(len(X)) < 1.0 / (1.0 + np.exp(-_signal(X)))
    return _cut(X, y.astype(np.int64), n)


@lru_cache(maxsize=1)
def collision_kinds(n: int, d: int, n_classes: int) -> Split:
    """Many classes, each with a signal of its own columns: the largest after noise wins."""
    rng = np.random.default_rng(0)
    X = _measured(n + _held_out(n), d, rng)
    signals = [_signal(X, 2 * k) + rng.gumbel(size=len(X)) for k in range(n_classes)]
    return _cut(X, np.argmax(signals, axis=0), n)


@lru_cache(maxsize=1)
def collision_energies(n: int, d: int) -> Split:
    """Numbers: the signal with noise of deviation 0.5."""
    rng = np.random.default_rng(0)
    X = _measured(n + _held_out(n), d, rng)
    return _cut(X, _signal(X) + 0.5 * rng.standard_normal(len(X)), n)


@lru_cache(maxsize=1)
def collisions_with_holes(n: int, d: int) -> Split:
    """A fifth of the cells are missing."""
    rng = np.random.default_rng(0)
    split = collisions(n, d)
    return split._replace(X=_with_holes(split.X, rng, 0.2), X_test=_with_holes(split.X_test, rng, 0.2))


@lru_cache(maxsize=1)
def collisions_with_categories(n: int, d: int, n_categorical: int, n_categories: int) -> Split:
    """A frame; its first columns are categories, each of which shifts the log-odds by its own number."""
    import pandas as pd

    rng = np.random.default_rng(0)
    total = n + _held_out(n)
    numbers = _measured(total, d - n_categorical, rng)
    codes = rng.integers(n_categories, size=(n_categorical, total))
    shift = rng.normal(0.0, 0.6, (n_categorical, n_categories))
    score = _signal(numbers) + sum(by_code[code] for by_code, code in zip(shift, codes, strict=True))
    names = np.array([f"kind {code}" for code in range(n_categories)])
    frame = {f"category_{j}": pd.Categorical.from_codes(code, names) for j, code in enumerate(codes)}
    frame |= {f"number_{j}": column for j, column in enumerate(numbers.T)}
    y = rng.random(total) < 1.0 / (1.0 + np.exp(-score))
    return _cut(pd.DataFrame(frame), y.astype(np.int64), n)


# --- real data -------------------------------------------------------------------------------------------------------


def shared(name: str) -> Any:
    """The frame in this file of public data."""
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
    frame = shared("covertype_93k.csv.gz")
    y = frame.pop("Cover_Type").to_numpy()
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)


@lru_cache(maxsize=1)
def california_housing(scale: Scale) -> Split:
    """Numeric columns only; some numbers of bedrooms are missing."""
    frame = shared("california_housing.csv.gz").select_dtypes("number")
    y = frame.pop("median_house_value").to_numpy(np.float64)
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)


@lru_cache(maxsize=1)
def adult(scale: Scale) -> Split:
    """Texts as the ranks of their values in the alphabet, missing ones as -1."""
    frame = shared("adult_train.csv.gz")
    y = frame.pop("income").to_numpy(str)
    for name in frame.columns.difference(frame.select_dtypes("number").columns):
        frame[name] = frame[name].astype("category").cat.codes
    return _shuffled(frame.to_numpy(np.float64), y, scale.divisor)
