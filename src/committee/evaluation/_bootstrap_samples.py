"""Samples of the bootstrap, and statistics of their resamples."""

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
    """Arrays or DataFrames; `sizes` has one element for paired samples, else one for each."""

    tables: tuple[Any, ...]
    sizes: tuple[int, ...]
    strata: tuple[Rows, ...]  # rows of each stratum; empty without strata
    is_paired: bool

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Rows, ...]:
        """Row indices [n, size] of `n` resamples, for each size."""
        if not self.strata:
            return tuple(rng.integers(0, size, (n, size)) for size in self.sizes)
        drawn = np.empty((n, self.sizes[0]), np.int64)
        for rows in self.strata:
            drawn[:, rows] = rows[rng.integers(0, rows.size, (n, rows.size))]
        return (drawn,)

    def take(self, rows: tuple[Rows, ...]) -> list[Any]:
        """The tables of one resample, or of many at once for 1-d samples."""
        numbers = rows * len(self.tables) if self.is_paired else rows
        return [take_rows(table, chosen) for table, chosen in zip(self.tables, numbers, strict=True)]


def read_samples(data: Sequence[Any], is_paired: bool, strata: Any, sample_weight: Any) -> Samples:
    if not data:
        raise ValueError("At least one sample is needed.")
    tables = [table if len(getattr(table, "shape", ())) == 2 else np.atleast_1d(np.asarray(table)) for table in data]
    sizes = [int(table.shape[0]) for table in tables]
    is_one = is_paired or len(tables) == 1
    if is_one and len(set(sizes)) > 1:
        raise ValueError(f"Paired samples must have the same number of rows; got {sizes}.")
    if min(sizes) < 2:
        raise ValueError(f"Samples must have at least 2 rows; got {sizes}.")
    if not is_one and (strata is not None or sample_weight is not None):
        raise ValueError("strata and sample_weight are for one sample or paired samples.")
    labels = None if strata is None else np.ravel(np.asarray(strata))
    if labels is not None and labels.size != sizes[0]:
        raise ValueError(f"strata must have one label per row, {sizes[0]}; got {labels.size}.")
    if sample_weight is not None:
        rows = _repeated(read_weights(sample_weight, sizes[0], "sample_weight"))
        tables, sizes = [take_rows(table, rows) for table in tables], [rows.size] * len(tables)
        labels = None if labels is None else labels[rows]
    parts = () if labels is None else tuple(np.flatnonzero(labels == label) for label in np.unique(labels))
    return Samples(tuple(tables), tuple(sizes[:1] if is_one else sizes), parts, is_one)


def _repeated(weights: Floats | None) -> Rows:
    """Rows repeated by their weights."""
    counts = np.asarray(weights)
    if np.any(counts != np.floor(counts)) or counts.sum() > 2**31:
        raise ValueError("sample_weight must be whole numbers: the bootstrap repeats rows by them.")
    return np.repeat(np.arange(counts.size), counts.astype(np.int64))


# --- statistics -------------------------------------------------------------------------------------------------------


class Statistic(NamedTuple):
    """A function of the tables of a resample and a seed, or of many resamples [n, size] at once (`is_many`)."""

    of: Callable[[list[Any], int], Any]
    is_many: bool


def function_of_samples(what: Any, of: Any, at: Any, samples: Samples, vectorized: bool) -> Statistic:
    if not callable(what):
        raise TypeError(f"statistic must be a function of arrays or an estimator; got {type(what).__name__}.")
    if of is not None or at is not None:
        raise ValueError("of and at are for estimators only.")
    if not vectorized:
        return Statistic(lambda tables, _: what(*tables), False)
    if any(np.ndim(table) != 1 or not isinstance(table, np.ndarray) for table in samples.tables):
        raise ValueError("vectorized=True needs 1-d samples.")
    return Statistic(lambda tables, _: what(*tables, axis=-1), True)


def result_of_fit(estimator: Any, of: str | Callable[[Any], Any] | None, at: Any) -> Statistic:
    """An attribute, method or function of the estimator fitted on a resample, with a fixed `random_state`."""
    what = "predict" if of is None and at is not None else of
    if what is None:
        raise ValueError("An estimator needs of, such as of='coef_', of='predict' with at=X_new, or a function.")
    arguments = () if at is None else at if isinstance(at, tuple) else (at,)

    def statistic(tables: list[Any], seed: int) -> Any:
        model = seeded(estimator, seed).fit(*tables)
        if callable(what):
            return what(model)
        result = getattr(model, what)
        return result(*arguments) if callable(result) else result

    return Statistic(statistic, False)
