"""Tables with some columns replaced: frames keep their type, names and dtypes, arrays their dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from committee.tabular.cells import Float, Table, read_numbers

Feature = int | str
Rows = NDArray[np.int64]
Fill = NDArray[np.int64 | np.float64]
"""The new values of a column: floats, or positions of the rows whose values it takes."""


def column_names(table: Table) -> tuple[str, ...]:
    """Return the names of the columns, "x[3]" in an array."""
    if isinstance(table, np.ndarray):
        return tuple(f"x[{f}]" for f in range(table.shape[1]))
    return tuple(str(name) for name in table.columns)


def numbers_of(table: Table, f: int) -> NDArray[np.float64]:
    """Return a numeric column, nan where missing."""
    one: Table = table[:, f : f + 1] if isinstance(table, np.ndarray) else table[:, [f]]
    column: Float = read_numbers(one, {})
    return np.asarray(column[:, 0], np.float64)


def replace_columns(table: Table, columns: Mapping[int, Fill]) -> Table:
    """Return the table with these columns replaced."""
    if isinstance(table, np.ndarray):
        return _replace_in_array(table, columns)
    return table.with_columns(*(_series(table, f, values) for f, values in columns.items()))


def _replace_in_array(table: NDArray[Any], columns: Mapping[int, Fill]) -> NDArray[Any]:
    has_numbers = any(values.dtype.kind == "f" for values in columns.values())
    changed = table.astype(np.float64) if has_numbers and table.dtype.kind in "iub" else table.copy()
    for f, values in columns.items():
        changed[:, f] = values if values.dtype.kind == "f" else table[values.astype(np.int64), f]
    return changed


def _series(table: nw.DataFrame[Any], f: int, values: Fill) -> Any:
    column: Any = table[:, f]
    if values.dtype.kind != "f":
        return column[values]
    dtype = column.dtype if column.dtype in (nw.Float32, nw.Float64) else nw.Float64
    return nw.new_series(column.name, values, dtype, backend=table.implementation)
