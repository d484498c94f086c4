"""What a bootstrap draws from and what it computes: samples, and statistics of their resamples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation._folds import seeded
from committee.tabular.rows import take_rows
from committee.tabular.validation import read_weights

Rows = NDArray[np.int64]

# --- samples ----------------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Arrays or frames; `sizes` has one number for rows in common, else one for each."""

    tables: tuple[Any, ...]
    sizes: tuple[int, ...]
    strata: tuple[Rows, ...]  # rows of each stratum; empty without strata
    is_paired: bool

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Rows, ...]:
        """`n` resamples: [n, size] row numbers for each size."""
        if not self.strata:
            return tuple(rng.integers(0, size, (n, size)) for size in self.sizes)
        drawn = np.empty((n, self.sizes[0]), np.int64)
        for rows in self.strata:
            drawn[:, rows] = rows[rng.integers(0, rows.size, (n, rows.size))]
        return (drawn,)

    def take(self, rows: tuple[Rows, ...]) -> list[Any]:
        """The tables of one resample, or of many at once where they are plain columns."""
        numbers = rows * len(self.tables) if self.is_paired else rows
        return [take_rows(table, chosen) for table, chosen in zip(self.tables, numbers, strict=True)]


def read_samples(data: Sequence[Any], is_paired: bool, strata: Any, weights: Any) -> Samples:
    if not data:
        raise ValueError("There is no sample: pass the arrays that the statistic is computed from.")
    tables = [table if len(getattr(table, "shape", ())) == 2 else np.atleast_1d(np.asarray(table)) for table in data]
    sizes = [int(table.shape[0]) for table in tables]
    is_one = is_paired or len(tables) == 1
    if is_one and len(set(sizes)) > 1:
        raise ValueError(f"Paired samples must have as many rows each, got {sizes}: pass paired=False if they are not.")
    if min(sizes) < 2:
        raise ValueError(f"A sample needs two rows at least, got {sizes}.")
    if not is_one and (strata is not None or weights is not None):
        raise ValueError("strata and weights are for one sample or paired ones: the rows of others have no labels.")
    labels = None if strata is None else np.ravel(np.asarray(strata))
    if labels is not None and labels.size != sizes[0]:
        raise ValueError(f"strata must have one label per row, {sizes[0]}; got {labels.size}.")
    if weights is not None:
        rows = _repeated(read_weights(weights, sizes[0], "weights"))
        tables, sizes = [take_rows(table, rows) for table in tables], [rows.size] * len(tables)
        labels = None if labels is None else labels[rows]
    parts = () if labels is None else tuple(np.flatnonzero(labels == label) for label in np.unique(labels))
    return Samples(tuple(tables), tuple(sizes[:1] if is_one else sizes), parts, is_one)


def _repeated(weights: Floats | None) -> Rows:
    """Rows as often as their weights say."""
    counts = np.asarray(weights)
    if np.any(counts != np.floor(counts)) or counts.sum() > 2**31:
        raise ValueError("weights must be whole numbers, for they mean repetition: round them, or leave them out.")
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))


# --- statistics -------------------------------------------------------------------------------------------------------


class Statistic(NamedTuple):
    """A function of the tables of a resample and a seed; `is_many`: of many resamples [n, size] at once."""

    of: Callable[[list[Any], int], Any]
    is_many: bool


def function_of_samples(what: Any, of: Any, at: Any, samples: Samples, vectorized: bool) -> Statistic:
    if not callable(what):
        raise TypeError(f"A statistic is a function of arrays, or an estimator; got {type(what).__name__}.")
    if of is not None or at is not None:
        raise ValueError("of and at are for estimators; a function is called with the samples only.")
    if not vectorized:
        return Statistic(lambda tables, _: what(*tables), False)
    if any(np.ndim(table) != 1 or not isinstance(table, np.ndarray) for table in samples.tables):
        raise ValueError("vectorized=True is for arrays of one dimension: pass vectorized=False for tables.")
    return Statistic(lambda tables, _: what(*tables, axis=-1), True)


def learned(estimator: Any, of: str | Callable[[Any], Any] | None, at: Any) -> Statistic:
    """What the estimator learns from a resample; everything in it that draws is seeded."""
    what = "predict" if of is None and at is not None else of
    if what is None:
        raise ValueError("What of the estimator? Pass of='coef_' or such, or of='predict' and at=X_new, or a function.")
    arguments = () if at is None else at if isinstance(at, tuple) else (at,)

    def statistic(tables: list[Any], seed: int) -> Any:
        model = seeded(estimator, seed).fit(*tables)
        if callable(what):
            return what(model)
        result = getattr(model, what)
        return result(*arguments) if callable(result) else result

    return Statistic(statistic, False)
