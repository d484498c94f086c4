"""Binning of the columns of a table: quantile bins, or a bin for every distinct value."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.dtypes import CODE_BINNED, CODE_EXACT, MAX_BINS
from committee.base.threads import n_threads, run
from committee.kernels.trees.binning import BLOCK, bin_columns
from committee.records.binned import BinnedMatrix
from committee.tabular.validation import read_weights

SAMPLE_ROWS = 200_000
"""Number of rows from which the quantiles of larger tables are computed, drawn with a fixed seed."""


class BinMapper:
    """Fits the bins of every column and encodes tables with them.

    Parameters
    ----------
    max_bins : value bins per feature, at most 255; ``None`` gives every distinct value a bin of its own (exact trees).
    """

    def __init__(self, max_bins: int | None = MAX_BINS) -> None:
        if max_bins is not None and not (isinstance(max_bins, Integral) and 2 <= max_bins <= MAX_BINS):
            raise ValueError(
                f"max_bins must be an integer from 2 to {MAX_BINS}, or None for exact codes; got {max_bins!r}"
            )
        self.max_bins = max_bins

    def fit_transform(
        self,
        X: NDArray[np.floating],
        sample_weight: NDArray[np.float64] | None = None,
        is_categorical: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
    ) -> BinnedMatrix:
        """Fit the bins to a table, without rows of weight zero, and return its codes."""
        if getattr(X, "ndim", 0) != 2 or X.dtype.kind != "f":
            raise TypeError("BinMapper takes a two-dimensional array of floats")
        n, d = X.shape
        categorical = np.zeros(d, bool) if is_categorical is None else is_categorical
        if categorical.shape != (d,):
            raise ValueError(f"is_categorical has shape {categorical.shape} but X has {d} columns")
        sample_weight = read_weights(sample_weight, n)
        if self.max_bins is None:
            return rank_table(X, categorical, n_jobs)
        return bin_table(X, sample_weight, categorical, self.max_bins, n_jobs)


def midpoints(low: ArrayLike, high: ArrayLike) -> NDArray[np.float64]:
    """Thresholds between neighbouring values: half-way, or the lower value where half-way rounds to the higher."""
    low, high = np.asarray(low), np.asarray(high)
    middle = low / 2.0 + high / 2.0
    return np.where((middle >= high) | (middle < low), low, middle)


def quantile_bins(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None, max_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest value of each bin of one column (no missing values, positive weights).

    With at most `max_bins` distinct values each has a bin. Otherwise bin k ends at the first value whose cumulative
    weight reaches k / max_bins of the total, apart from heavy values. An integer weight w is equivalent to w rows.
    """
    if weight is None:
        values = np.sort(values)
    else:
        order = np.argsort(values, kind="stable")
        values, weight = values[order], weight[order]
    is_last = np.empty(values.size, bool)
    np.not_equal(values[1:], values[:-1], out=is_last[:-1])
    is_last[-1:] = True
    last = np.flatnonzero(is_last)
    distinct = values[last]
    if distinct.size <= max_bins:
        return distinct, distinct
    cumulative = last + 1.0 if weight is None else np.cumsum(weight)[last]
    ends = bin_ends(np.diff(cumulative, prepend=0.0).astype(np.float64), max_bins)
    return distinct[np.append(0, ends[:-1] + 1)], distinct[ends]


def bin_ends(weight: NDArray[np.float64], max_bins: int) -> NDArray[np.intp]:
    """The last value of each bin, from the weights of the distinct values in ascending order.

    A value as heavy as a whole bin, such as the zero of a sparse column, has a bin of its own; the other values are
    divided into the remaining bins, two fewer for each such value.
    """
    heavy = np.flatnonzero(weight * max_bins >= weight.sum())
    n_bins = max_bins - 2 * heavy.size
    if n_bins < 1:
        heavy, n_bins = heavy[:0], max_bins
    rest = weight.copy()
    rest[heavy] = 0.0
    cumulative = np.cumsum(rest)
    ends = np.searchsorted(cumulative, np.arange(1, n_bins) * cumulative[-1] / n_bins)
    return np.unique(np.concatenate([ends, heavy, heavy[heavy > 0] - 1, [weight.size - 1]]))


def sample_rows(n: int, weight: NDArray[np.float64] | None) -> NDArray[np.intp] | slice:
    """The rows of the quantiles: all of positive weight, or SAMPLE_ROWS of them, drawn with a fixed seed."""
    if weight is None and n <= SAMPLE_ROWS:
        return slice(None)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if rows.size > SAMPLE_ROWS:
        chosen = np.random.default_rng(0).choice(rows.size, SAMPLE_ROWS, replace=False, shuffle=False)
        rows = rows[np.sort(chosen)]
    return rows


def bin_table(
    X: NDArray[np.floating],
    weight: NDArray[np.float64] | None,
    is_categorical: NDArray[np.bool_],
    max_bins: int,
    n_jobs: int | None,
) -> BinnedMatrix:
    n, d = X.shape
    rows = sample_rows(n, weight)
    sample = np.ascontiguousarray(X[rows].T, np.float64)
    sample_weight = None if weight is None else weight[rows]
    threads = n_threads(n_jobs, sample.size)
    calls = [(sample[f], sample_weight, MAX_BINS if is_categorical[f] else max_bins) for f in range(d)]
    bins = run(_column_bins, calls, threads)
    bins = [_category_bins(X[:, f]) if is_categorical[f] else pair for f, pair in enumerate(bins)]
    n_bins = np.array([low.size for low, _ in bins], np.int64)
    codes = _bin_rows(X, bins, n_bins, n_jobs)
    return _matrix(codes, n_bins, bins, is_categorical)


def code_table(X: NDArray[np.floating], matrix: BinnedMatrix, n_jobs: int | None) -> NDArray[np.uint8]:
    """Codes [d, n] of another table in the bins of `matrix`."""
    ends = matrix.offsets
    bins = [(matrix.lower[a:b], matrix.upper[a:b]) for a, b in pairwise(ends)]
    return _bin_rows(X, bins, matrix.n_bins, n_jobs)


def _bin_rows(
    X: NDArray[np.floating],
    bins: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    n_bins: NDArray[np.int64],
    n_jobs: int | None,
) -> NDArray[np.uint8]:
    n, d = X.shape
    edges = np.full((d, MAX_BINS + 1), np.inf)
    for f, (low, high) in enumerate(bins):
        edges[f, : max(low.size - 1, 0)] = midpoints(high[:-1], low[1:])
    codes = np.empty((d, n), CODE_BINNED)
    run(_bin_block, [(X, edges, n_bins, r, codes) for r in range(0, n, BLOCK)], n_threads(n_jobs, X.size))
    return codes


def _column_bins(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None, max_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    present = ~np.isnan(values)
    if not present.all():
        values = values[present]
        weight = None if weight is None else weight[present]
    if values.size == 0:
        return np.empty(0), np.empty(0)
    return quantile_bins(values, weight, max_bins)


def _category_bins(column: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A bin for each category code up to the largest, so that a code is its own bin."""
    present = column[~np.isnan(column)]
    n_codes = int(present.max(initial=-1)) + 1
    if n_codes > MAX_BINS or np.any((present < 0) | (present != np.floor(present))):
        raise ValueError(f"category codes must be integers from 0 to {MAX_BINS - 1}")
    codes = np.arange(n_codes, dtype=np.float64)
    return codes, codes


def _bin_block(
    X: NDArray[np.floating],
    edges: NDArray[np.float64],
    n_bins: NDArray[np.int64],
    first_row: int,
    codes: NDArray[np.uint8],
) -> None:
    block = np.ascontiguousarray(X[first_row : first_row + BLOCK].T, np.float64)
    bin_columns(block, edges, n_bins, first_row, codes)


def rank_table(X: NDArray[np.floating], is_categorical: NDArray[np.bool_], n_jobs: int | None) -> BinnedMatrix:
    """Dense ranks of every column; `lower` and `upper` are the distinct values themselves."""
    n, d = X.shape
    codes = np.empty((d, n), CODE_EXACT)
    calls = [(X[:, f], bool(is_categorical[f]), codes[f]) for f in range(d)]
    values = run(_rank_column, calls, n_threads(n_jobs, X.size))
    n_bins = np.array([v.size for v in values], np.int64)
    return _matrix(codes, n_bins, [(v, v) for v in values], is_categorical)


def _rank_column(column: NDArray[np.floating], is_category: bool, codes_out: NDArray[np.uint32]) -> NDArray[np.float64]:
    if is_category:
        values, _ = _category_bins(column)
        codes_out[:] = np.where(np.isnan(column), values.size, column)
        return values
    column = np.ascontiguousarray(column)
    order = np.argsort(column)  # nan last
    ordered = column[order]
    is_new = np.empty(column.size, bool)
    is_new[:1] = False
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    n_missing = int(np.count_nonzero(np.isnan(ordered)))
    n_present = column.size - n_missing
    is_new[n_present + 1 :] = False  # nan differs from nan
    codes_out[order] = np.cumsum(is_new, dtype=CODE_EXACT)
    starts = np.flatnonzero(is_new[:n_present])
    return ordered[np.append(0, starts)].astype(np.float64) if n_present else np.empty(0)


def _matrix(
    codes: NDArray[np.unsignedinteger],
    n_bins: NDArray[np.int64],
    bins: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
    is_categorical: NDArray[np.bool_],
) -> BinnedMatrix:
    offsets = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    lower = np.concatenate([low for low, _ in bins] or [np.empty(0)])
    is_one = all(low is high for low, high in bins)  # then one array is enough
    upper = lower if is_one else np.concatenate([high for _, high in bins])
    return BinnedMatrix(codes, n_bins, offsets, lower, upper, is_categorical)
