"""Encoding of tables as numeric columns, for methods without categories and missing values.

    number x      z = (x - shift) / scale     shift and scale are its mean and standard deviation, or those of its ranks
    category c    z = ([x = c] - shift) / scale, one column for each category
    missing       1 where a value is missing, else 0, for columns that had missing values in `fit_encoder`

A missing cell is replaced by `fill` in any column. All statistics are weighted ones of the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from committee.base.array_types import Floats
from committee.base.stats import weighted_quantile
from committee.tabular.schema import Columns

CONSTANT = 1e-12
"""Standard deviation, relative to the largest absolute value, below which a column is constant."""

MISSING_FLAG = -1.0
"""Category of a column that is 1 where the value is missing."""

MIN_SPARSE_COLUMNS, MAX_FILLED = 64, 0.25
"""Smallest number of columns and largest fraction of nonzero cells of tables that are stored sparse."""

MAX_QUANTILES = 1000
"""Maximum number of quantiles between which ranks are interpolated."""


class EncoderOptions(NamedTuple):
    """Options of the encoding."""

    categories: Literal["indicator", "centred", "standardised"] = "indicator"
    max_categories: int | None = None  # the most frequent ones get a column, the others none
    fill: Literal["median", "mean"] = "mean"  # value of missing cells of numeric columns
    flags_missing: bool = False  # add a column for each numeric column with missing values
    is_ranked: bool = False  # replace a number by the normal quantile of its rank
    drops_constant: bool = False  # omit constant columns; otherwise they are zeros
    adds_ones: bool = False  # add a last column of ones, for an intercept
    limit: float = np.inf  # of |z|


class Scale(NamedTuple):
    """Mean and standard deviation of a column; the deviation of a constant column is infinite."""

    shift: float
    scale: float


class RankCurve(NamedTuple):
    """A column that is replaced by the normal quantiles of its ranks, before it is scaled."""

    column: int  # among those of the encoded table
    quantiles: Floats  # distinct values, ascending
    scores: Floats


class TableEncoder(NamedTuple):
    """A fitted encoding, to be called on tables of floats and category codes.

    >>> from committee.tabular.schema import Categories
    >>> columns = Columns(2, ("size", "colour"), (None, Categories(("blue", "red"))))
    >>> table = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> encoder = fit_encoder(columns, table, None, EncoderOptions(fill="median", flags_missing=True))
    >>> encoder.names
    ('size', 'size is missing', 'colour=blue', 'colour=red')
    >>> encoder(np.array([[3.0, np.nan], [np.nan, 1.0]])).round(2).tolist()
    [[1.41, 0.0, 0.0, 0.0], [-0.71, 1.0, 0.0, 1.0]]
    """

    source: NDArray[np.int64]  # [p], the column of the table
    category: Floats  # [p], the category code of the column; nan for numeric columns, MISSING_FLAG for flags
    shift: Floats  # [p]
    scale: Floats  # [p], infinite for a constant column
    fill: Floats  # [p], value of missing cells
    names: tuple[str, ...]  # [p]
    limit: float
    has_ones: bool
    curves: tuple[RankCurve, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns of the encoded table."""
        return self.source.size + self.has_ones

    def __call__(self, table: NDArray[np.floating]) -> Floats:
        """Encode a table, [n, p] or with ones [n, p + 1]."""
        out = np.ones((len(table), self.n_columns))
        z = out[:, : self.source.size]
        z[:] = table[:, self.source]
        is_missing = np.isnan(z)
        self._indicate(z)
        for column, quantiles, scores in self.curves:
            z[:, column] = np.interp(z[:, column], quantiles, scores)
        z *= 0.5  # differences of halves do not overflow
        z -= 0.5 * self.shift
        z /= 0.5 * self.scale
        np.clip(z, -self.limit, self.limit, out=z)
        np.copyto(z, self.fill, where=is_missing)
        return out

    def _indicate(self, z: Floats) -> None:
        """Replace codes by 0 and 1."""
        is_code = self.category >= 0.0
        z[:, is_code] = z[:, is_code] == self.category[is_code]
        z[:, self.category == MISSING_FLAG] = 0.0

    def values(self, table: NDArray[np.floating]) -> Floats:
        """Return the columns before scaling, [n, p], 0 where missing."""
        values = np.array(table[:, self.source], np.float64)
        self._indicate(values)
        return np.nan_to_num(values)

    def unscale(self, coef: Floats) -> tuple[Floats, Floats]:
        """Return coefficients [..., p] and intercepts [...] for the columns before scaling; `coef` has these last."""
        unscaled = coef[..., :-1] / self.scale
        return unscaled, coef[..., -1] - unscaled @ self.shift

    @property
    def is_mostly_zero(self) -> bool:
        """Whether a sparse table saves time and memory, as most columns are indicators of categories."""
        n_filled = np.count_nonzero(~(self.category >= 0.0)) + len(self._first_codes())
        return self.category.size >= MIN_SPARSE_COLUMNS and bool(n_filled <= MAX_FILLED * self.category.size)

    def _first_codes(self) -> NDArray[np.int64]:
        """The first column of each category; the others follow by their codes."""
        return np.flatnonzero(self.category == 0.0)

    def sparse(self, table: NDArray[np.floating]) -> Any:
        """Encode a table as a CSR array; for indicators of all categories."""
        plain, first = np.flatnonzero(~(self.category >= 0.0)), self._first_codes()
        numbers = self._take(plain)(table)
        codes = np.asarray(table[:, self.source[first]], np.float64)
        is_known = np.isfinite(codes)
        column = np.hstack([np.broadcast_to(plain, numbers.shape), first + np.where(is_known, codes, 0.0)])
        value = np.hstack([numbers, is_known])
        order = np.argsort(np.append(plain, first))  # the columns of a row are in ascending order
        column, value = column[:, order].astype(np.int32), value[:, order]
        kept = value != 0.0
        ends = np.append(0, np.cumsum(kept.sum(axis=1)))
        return sparse.csr_array((value[kept], column[kept], ends), shape=(len(table), self.category.size))

    def _take(self, some: NDArray[np.int64]) -> TableEncoder:
        """The encoder of some columns, without rank curves."""
        names = tuple(self.names[j] for j in some)
        return TableEncoder(
            self.source[some], self.category[some], self.shift[some], self.scale[some], self.fill[some], names,
            self.limit, False,
        )  # fmt: skip


class _Column(NamedTuple):
    """One column of the encoded table."""

    source: int
    category: float
    shift: float
    scale: float
    fill: float
    name: str


class _Training(NamedTuple):
    """One column of the training table."""

    f: int
    name: str
    values: Floats  # of the rows of positive weight
    weight: Floats | None


def fit_encoder(
    columns: Columns,
    table: NDArray[np.floating],
    weight: Floats | None,
    options: EncoderOptions,
    features: NDArray[np.int64] | None = None,
) -> TableEncoder:
    """Fit the encoding of a table, or of some of its features; rows of weight 0 are ignored."""
    counted = slice(None) if weight is None or weight.all() else weight > 0.0
    kept = None if weight is None else weight[counted]
    parts: list[_Column] = []
    curves: list[RankCurve] = []
    for f in range(columns.n_features) if features is None else features.tolist():
        column = _Training(f, columns.name(f), np.asarray(table[counted, f], np.float64), kept)
        if columns.categories[f] is not None:
            parts += _encode_categories(column, columns.category_names(f), options)
            continue
        encoded = list(_encode_numbers(column, options))
        if options.is_ranked and encoded and np.isfinite(encoded[0].scale):
            curves.append(RankCurve(len(parts), *normal_scores(column.values[~np.isnan(column.values)])))
            encoded[0] = encoded[0]._replace(shift=0.0, scale=1.0)
        parts += encoded
    category, shift, scale, fill = np.array([part[1:5] for part in parts], np.float64).reshape(-1, 4).T.copy()
    return TableEncoder(
        np.array([part.source for part in parts], np.int64), category, shift, scale, fill,
        tuple(part.name for part in parts), options.limit, options.adds_ones, tuple(curves),
    )  # fmt: skip


def fit_scale(values: Floats, weight: Floats | None = None) -> Scale:
    """Mean and standard deviation of the values, by weight."""
    unit = float(np.abs(values).max(initial=0.0)) or 1.0  # squares stay within float64
    relative = values / unit
    if weight is None:
        mean, deviation = float(relative.mean()), float(relative.std())
    else:
        fraction = weight / weight.sum()
        mean = float(fraction @ relative)
        deviation = float(np.sqrt(fraction @ (relative - mean) ** 2))
    is_constant = deviation <= CONSTANT or deviation * unit < np.finfo(np.float64).tiny
    mean = min(max(mean, -1.0), 1.0)  # against overflow by rounding
    return Scale(mean * unit, np.inf if is_constant else deviation * unit)


def normal_scores(values: Floats) -> tuple[Floats, Floats]:
    """Distinct quantiles of the values, and the normal quantile of the middle of the ranks of each.

    >>> [part.round(2).tolist() for part in normal_scores(np.array([10.0, 20.0, 20.0, 40.0]))]
    [[10.0, 20.0, 40.0], [-1.15, 0.0, 1.15]]
    """
    ordered = np.sort(values)
    if ordered.size > MAX_QUANTILES:
        chosen = np.unique(ordered[np.linspace(0, ordered.size - 1, MAX_QUANTILES).astype(np.int64)])
    else:
        chosen = np.unique(ordered)
    first, last = (np.searchsorted(ordered, chosen, side) for side in ("left", "right"))
    return chosen, ndtri(0.5 * (first + last) / ordered.size)


def _encode_numbers(column: _Training, options: EncoderOptions) -> Iterator[_Column]:
    """The numeric column and, with missing values, their flag; without other values the flag alone."""
    f, name, values, weight = column
    is_known = ~np.isnan(values)
    if is_known.any():
        known, fill = values[is_known], 0.0
        known_weight = None if weight is None else weight[is_known]
        if options.fill == "median":
            median = float(weighted_quantile(known, known_weight, 0.5, half_way=False))
            shift, scale = fit_scale(np.where(is_known, values, median), weight)
            fill = (median - shift) / scale
        else:
            shift, scale = fit_scale(known, known_weight)
        is_dropped = options.drops_constant and np.isinf(scale) and is_known.all()
        if not is_dropped:
            yield _Column(f, np.nan, shift, scale, fill, name)
    if not is_known.all():
        yield from _flag(column, options)


def _flag(column: _Training, options: EncoderOptions) -> list[_Column]:
    is_dropped = options.drops_constant and bool(np.isnan(column.values).all())
    if is_dropped or not options.flags_missing:
        return []
    return [_Column(column.f, MISSING_FLAG, 0.0, 1.0, 1.0, f"{column.name} is missing")]


def _encode_categories(column: _Training, labels: list[str], options: EncoderOptions) -> list[_Column]:
    f, name, codes, weight = column
    if not labels:
        return _flag(column, options)
    load = np.bincount(np.nan_to_num(codes + 1.0).astype(np.int64), weight, len(labels) + 1)
    fraction = load[1:] / load.sum()
    chosen = np.arange(len(labels))
    if options.drops_constant:
        chosen = chosen[(fraction > 0.0) & (fraction < 1.0)]
    if options.max_categories is not None:
        chosen = np.sort(chosen[np.argsort(-fraction[chosen], kind="stable")[: options.max_categories]])
    return [_encode_category(f, code, fraction[code], f"{name}={labels[code]}", options) for code in chosen.tolist()]


def _encode_category(f: int, code: int, fraction: float, name: str, options: EncoderOptions) -> _Column:
    if options.categories == "indicator":
        return _Column(f, float(code), 0.0, 1.0, 0.0, name)
    if options.categories == "centred":
        return _Column(f, float(code), fraction, 1.0, -fraction, name)
    deviation = np.sqrt(fraction * (1.0 - fraction))
    return _Column(f, float(code), fraction, deviation if deviation > CONSTANT else np.inf, 0.0, name)
