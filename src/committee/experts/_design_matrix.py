"""From a coded table to the columns that gates and experts see: standardised numbers, one column for each category.

    z = (x - mean) / deviation,    a category c becomes [x = c], then standardised too,    and a last column of ones

So a prior of l2 means the same for every column. A category that is missing or unknown is 0 in all its columns, which
stands for the mean of the others; a number that is missing is refused. Coefficients for the columns as they came are
b / deviation, the intercept takes the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tabular.schema import Columns, find_columns

CONSTANT = 1e-12
"""A column whose deviation is smaller than this share of its size is constant: it becomes zeros."""


class Design(NamedTuple):
    """What was learned about the columns of a table: which are used, and how they are standardised."""

    source: NDArray[np.int64]  # [p], the column of the table that each comes from
    category: Floats  # [p], the code that a column stands for, nan for numbers
    unit: Floats  # [p], numbers are divided by their largest size first: squares stay within float64
    mean: Floats  # [p]
    deviation: Floats  # [p], infinite for a constant column
    names: tuple[str, ...]  # [p]

    @property
    def n_columns(self) -> int:
        """With the ones."""
        return self.source.size + 1

    def __call__(self, table: NDArray[np.floating]) -> Floats:
        """The columns for this table, [n, p + 1]."""
        out = np.ones((len(table), self.n_columns))
        raw = _raw(table, self.source, self.category, self.unit)
        out[:, :-1] = np.where(np.isnan(raw), 0.0, (raw - self.mean) / self.deviation)
        return out

    def values(self, table: NDArray[np.floating]) -> Floats:
        """The columns before standardising, [n, p]: what the coefficients of `in_units_of_the_table` are for."""
        return np.nan_to_num(_raw(table, self.source, self.category, np.ones(self.source.size)))

    def in_units_of_the_table(self, coef: Floats) -> tuple[Floats, Floats]:
        """Coefficients [..., p] and intercepts [...] for the columns before standardising."""
        per_unit = coef[..., :-1] / self.deviation
        return per_unit / self.unit, coef[..., -1] - per_unit @ self.mean


class _Source(NamedTuple):
    """One column before standardising."""

    feature: int
    category: float  # nan for numbers
    name: str


def _sources(columns: Columns, f: int) -> list[_Source]:
    if columns.categories[f] is None:
        return [_Source(f, np.nan, columns.name(f))]
    labels = columns.category_names(f)
    return [_Source(f, float(code), f"{columns.name(f)}={label}") for code, label in enumerate(labels)]


def make_design(columns: Columns, table: NDArray[np.floating], weight: Floats, features: NDArray[np.int64]) -> Design:
    """Learn means and deviations of these features under the weights."""
    sources = [source for f in features.tolist() for source in _sources(columns, f)]
    where = np.array([source.feature for source in sources], np.int64)
    category = np.array([source.category for source in sources], np.float64)
    raw = _raw(table, where, category, np.ones(where.size))
    unit = np.max(np.abs(np.nan_to_num(raw)), axis=0, initial=0.0)
    unit = np.where(unit > 0.0, unit, 1.0)
    share = weight / weight.sum()
    raw = np.where(np.isnan(raw), 0.0, raw / unit)
    mean = share @ raw
    deviation = np.sqrt(share @ (raw - mean) ** 2)
    is_constant = (deviation <= CONSTANT * np.abs(mean)) | (deviation * unit < np.finfo(np.float64).tiny)
    names = tuple(source.name for source in sources)
    return Design(where, category, unit, mean, np.where(is_constant, np.inf, deviation), names)


def _raw(table: NDArray[np.floating], source: NDArray[np.int64], category: Floats, unit: Floats) -> Floats:
    """Columns before standardising: numbers in units, categories as 0 and 1, nan where a category is missing."""
    raw = np.asarray(table[:, source], np.float64) / unit
    is_category = ~np.isnan(category)
    codes = raw[:, is_category]
    raw[:, is_category] = np.where(np.isnan(codes), np.nan, codes == category[is_category])
    return raw


def choose_features(columns: Columns, features: Any, what: str) -> NDArray[np.int64]:
    """Positions of features given by name or position, all for None; `what` names the parameter in an error."""
    if features is None:
        return np.arange(columns.n_features)
    if isinstance(features, str):
        raise ValueError(f"{what} must be a list of names or positions of columns; put {features!r} into a list.")
    return np.array(find_columns(columns, features, what), np.int64)
