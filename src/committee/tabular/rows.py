"""Rows of a table of any type: an array, a sparse matrix or a frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.tabular.schema import open_table


def open_rows(X: Any, estimator: Any, *, takes_sparse: bool) -> Any:
    """Return X unchanged, lists as an array; raise if it is not a table. The estimator checks the values."""
    if takes_sparse and sparse.issparse(X):
        return X.tocsr()
    table = open_table(X, estimator)
    return table if isinstance(table, np.ndarray) else X


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return rows, also repeated ones, of an array, a sparse matrix, a list of rows or a frame, in the same type.

    >>> take_rows([[1, 2], [3, 4]], np.array([1, 1]))
    array([[3, 4],
           [3, 4]])
    """
    if isinstance(X, nw.DataFrame):
        return X[rows, :]
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows, :].to_native()
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]
