"""Rows of a table that is passed on as it came: an array, a sparse matrix or a frame."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.tabular.schema import open_table


def open_rows(X: Any, estimator: Any, *, takes_sparse: bool) -> Any:
    """Return X as it is, lists as an array; what is no table is refused here, what is in it by the estimator."""
    if takes_sparse and sparse.issparse(X):
        return X.tocsr()
    table = open_table(X, estimator)
    return table if isinstance(table, np.ndarray) else X


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return these rows of an array, a sparse matrix or a frame."""
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows, :].to_native() if isinstance(frame, nw.DataFrame) else X[rows]
