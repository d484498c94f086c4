"""Binning of the columns of a table: quantile bins, or a bin for every distinct value."""

from __future__ import annotations

from collections.abc import Mapping
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
    if weight is None:
        return sample_positions(n)
    rows = np.flatnonzero(weight > 0)
    return rows[sample_positions(rows.size)]


def sample_positions(n: int) -> NDArray[np.intp] | slice:
    """All of n rows, or SAMPLE_ROWS of them in ascending order, drawn with a fixed seed."""
    if n <= SAMPLE_ROWS:
        return slice(None)
    return np.sort(np.random.default_rng(0).choice(n, SAMPLE_ROWS, replace=False, shuffle=False))


def bin_table(
    X: NDArray[np.floating],
    weight: NDArray[np.float64] | None,
    is_categorical: NDArray[np.bool_],
    max_bins: int,
    n_jobs: int | None,
) -> BinnedMatrix:
    rows = sample_rows(len(X), weight)
    sample = np.ascontiguousarray(X[rows].T, np.float64)
    n_codes = {f: _count_codes(X[:, f]) for f in np.flatnonzero(is_categorical).tolist()}
    matrix = fit_bins(sample, None if weight is None else weight[rows], n_codes, max_bins, n_jobs)
    return matrix._replace(codes=code_table(X, matrix, n_jobs))


def fit_bins(
    sample: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_codes: Mapping[int, int],
    max_bins: int,
    n_jobs: int | None,
) -> BinnedMatrix:
    """The bins of sampled rows [d, m], without codes; n_codes[f] is the number of categories of column f."""
    d = len(sample)
    is_categorical = np.isin(np.arange(d), list(n_codes))
    numeric = np.flatnonzero(~is_categorical).tolist()
    fitted = run(_column_bins, [(sample[f], weight, max_bins) for f in numeric], n_threads(n_jobs, sample.size))
    bins = dict(zip(numeric, fitted, strict=True))
    for f, n in n_codes.items():
        bins[f] = _category_bins(n)
    n_bins = np.array([bins[f][0].size for f in range(d)], np.int64)
    return _matrix(np.empty((d, 0), CODE_BINNED), n_bins, [bins[f] for f in range(d)], is_categorical)


def code_table(X: NDArray[np.floating], matrix: BinnedMatrix, n_jobs: int | None) -> NDArray[np.uint8]:
    """Codes [d, n] of a table in the bins of `matrix`."""
    codes = np.empty((X.shape[1], X.shape[0]), CODE_BINNED)
    code_rows(X, matrix.n_bins, bin_edges(matrix), 0, codes, n_jobs)
    return codes


def bin_edges(matrix: BinnedMatrix) -> NDArray[np.float64]:
    """The edges between the bins of every column, padded with inf to 256."""
    edges = np.full((matrix.n_features, MAX_BINS + 1), np.inf)
    for f, (start, end) in enumerate(pairwise(matrix.offsets)):
        n = max(end - start - 1, 0)
        edges[f, :n] = midpoints(matrix.upper[start : start + n], matrix.lower[start + 1 : start + 1 + n])
    return edges


def code_rows(
    X: NDArray[np.floating],
    n_bins: NDArray[np.int64],
    edges: NDArray[np.float64],
    first_row: int,
    codes_out: NDArray[np.uint8],
    n_jobs: int | None,
) -> None:
    """Write the codes of rows into codes_out[:, first_row : first_row + len(X)]."""
    calls = [(X[r : r + BLOCK], edges, n_bins, first_row + r, codes_out) for r in range(0, len(X), BLOCK)]
    run(_bin_block, calls, n_threads(n_jobs, X.size))


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


def _count_codes(column: NDArray[np.floating]) -> int:
    """The largest category code plus 1."""
    present = column[~np.isnan(column)]
    n_codes = int(present.max(initial=-1)) + 1
    if n_codes > MAX_BINS or np.any((present < 0) | (present != np.floor(present))):
        raise ValueError(f"category codes must be integers from 0 to {MAX_BINS - 1}")
    return n_codes


def _category_bins(n_codes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A bin for each category code, so that a code is its own bin."""
    codes = np.arange(n_codes, dtype=np.float64)
    return codes, codes


def _bin_block(
    rows: NDArray[np.floating],
    edges: NDArray[np.float64],
    n_bins: NDArray[np.int64],
    first_row: int,
    codes_out: NDArray[np.uint8],
) -> None:
    bin_columns(np.ascontiguousarray(rows.T, np.float64), edges, n_bins, first_row, codes_out)


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
        values, _ = _category_bins(_count_codes(column))
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
