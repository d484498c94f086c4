"""Equal rows, and an order of rows that depends on their values alone.

Each row has a key, a hash of its cells and of the targets passed with them: numbers by their bits (with one nan and one
zero), other values by their text, and one value for empty cells. Equal rows have equal keys in arrays, sparse matrices
and frames, on every computer; among n different rows two have the same key with probability n^2 / 2^65.
"""

from __future__ import annotations

import hashlib
from numbers import Real
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.base.array_types import Floats

Keys = NDArray[np.uint64]
Indices = NDArray[np.int64]

ODD, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
EMPTY = 0x5851F42D4C957F2D
"""An empty cell of a column that is not numeric."""


class DistinctRows(NamedTuple):
    """The distinct rows, in an order that depends on their values alone."""

    first: Indices  # [m], the first row of each
    of_row: Indices  # [n], index of the distinct row of each row

    @property
    def n(self) -> int:
        return self.first.size

    def total(self, weight: Floats) -> Floats:
        """The sum of the weights of all copies, [m]."""
        return np.bincount(self.of_row, weight, self.n).astype(np.float64)


def row_keys(X: Any, *targets: NDArray[Any]) -> Keys:
    """Return a hash of each row of a table, targets included.

    >>> keys = row_keys(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([0, 1, 0]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sparse.issparse(X):
        return extend_keys(_sparse_keys(X.tocsr()), *targets)
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    keys = np.zeros(X.shape[0], np.uint64)
    columns = (frame[:, f] for f in range(X.shape[1]))
    return extend_keys(keys, *columns, *targets)


def extend_keys(keys: Keys, *columns: Any) -> Keys:
    """Return the keys of the same rows with more columns."""
    for column in columns:
        keys = _mixed(keys, _column_bits(column))
    return keys


def content_order(X: Any, *targets: NDArray[Any]) -> Indices:
    """Return the rows ordered by their keys: equal rows are neighbours."""
    return np.argsort(row_keys(X, *targets), kind="stable")


def distinct_rows(X: Any, *targets: NDArray[Any]) -> DistinctRows:
    """Number the distinct rows of a table.

    >>> found = distinct_rows(np.array([[1.0], [np.nan], [1.0], [np.nan]]))
    >>> found.n, found.first.tolist(), found.total(np.ones(4)).tolist()
    (2, [0, 1], [2.0, 2.0])
    """
    return distinct_keys(row_keys(X, *targets))


def distinct_keys(keys: Keys) -> DistinctRows:
    """Number the distinct keys in their order."""
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    return DistinctRows(first.astype(np.int64), of_row.ravel().astype(np.int64))


def _column_bits(column: Any) -> Keys:
    """Numbers by their bits, other values by their text."""
    is_series = isinstance(column, nw.Series)
    if is_series and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        column, is_series = column.cast(nw.Float64).to_numpy(), False
    if not is_series and column.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # the estimator raises for infinite values
            return _bits(np.asarray(column, np.float64))
    values: list[Any] = column.to_list() if is_series else column.tolist()
    if not is_series and all(isinstance(value, Real) for value in values):
        return _bits(np.array(values, np.float64))
    texts = [None if value is None or value != value else str(value) for value in values]
    bits = {text: _text_bits(text) for text in set(texts)}
    return np.array([bits[text] for text in texts], np.uint64)


def _text_bits(text: str | None) -> int:
    if text is None:
        return EMPTY
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _bits(numbers: Floats) -> Keys:
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # one nan, one zero


def _mixed(keys: Keys, bits: Keys) -> Keys:
    keys = (keys ^ bits) * ODD
    return keys ^ (keys >> SHIFT)


def _sparse_keys(X: Any) -> Keys:
    """Sums over the nonzero cells, which do not depend on the order in which they are stored."""
    cells = X.tocoo()
    cells.sum_duplicates()
    is_there = cells.data != 0
    place = _mixed(np.zeros(int(is_there.sum()), np.uint64), cells.col[is_there].astype(np.uint64))
    keys = np.zeros(X.shape[0], np.uint64)
    np.add.at(keys, cells.row[is_there], _mixed(place, _bits(cells.data[is_there].astype(np.float64))))
    return keys
