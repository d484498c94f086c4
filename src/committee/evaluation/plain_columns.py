"""The columns of a table of any kind as plain numbers, for the tests of the row order.

A category is replaced by its code, a date by the days since 1970, a missing value by nan. Other columns, such as lists,
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tabular.schema import open_table

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}(:\d{2}(:\d{2}(\.\d+)?)?)?)?Z?")

CHECKED = 50
"""Values that are checked for dates and nested types."""


class PlainColumn(NamedTuple):
    """One column as numbers."""

    name: str
    kind: Literal["number", "category", "date"]
    values: Floats  # [n], nan where missing
    labels: tuple[str, ...] = ()  # of a category, by code


def plain_columns(X: Any) -> tuple[PlainColumn, ...]:
    """The readable columns of a table, in its order.

    >>> [column.kind for column in plain_columns([["2024-01-31", 1.5, "a"], ["2024-02-01", 2.5, "b"]])]
    ['date', 'number', 'category']
    """
    table = open_table(X)
    if isinstance(table, np.ndarray):
        result = [_of_array(f"x[{f}]", table[:, f]) for f in range(table.shape[1])]
    else:
        result = [_of_series(str(name), table.get_column(name)) for name in table.columns]
    return tuple(column for column in result if column is not None)


def _of_array(name: str, values: NDArray[Any]) -> PlainColumn | None:
    if values.dtype.kind in "fiub":
        return PlainColumn(name, "number", _finite(values.astype(np.float64)))
    if values.dtype.kind == "M":
        return PlainColumn(name, "date", _days(values))
    return _of_objects(name, values.tolist())


def _of_series(name: str, series: Any) -> PlainColumn | None:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        is_null = series.is_null().to_numpy().astype(bool)
        values = np.full(is_null.size, np.nan)
        values[~is_null] = series.drop_nulls().to_numpy().astype(np.float64)
        return PlainColumn(name, "number", _finite(values))
    if dtype == nw.Date or dtype == nw.Datetime:
        return PlainColumn(name, "date", _days(np.array([_naive(value) for value in series.to_list()], "M8[us]")))
    return _of_objects(name, series.to_list())


def _naive(moment: Any) -> Any:
    if moment is None or moment != moment:  # pandas' NaT is not itself
        return None
    return moment.replace(tzinfo=None) if getattr(moment, "tzinfo", None) is not None else moment


def _of_objects(name: str, values: Sequence[Any]) -> PlainColumn | None:
    """Numbers, dates as ISO texts, or categories."""
    present = [value for value in values if value is not None and value == value]
    if all(isinstance(value, int | float | np.number) for value in present):
        numbers = [float(value) if value is not None else np.nan for value in values]
        return PlainColumn(name, "number", _finite(np.array(numbers)))
    if present and all(isinstance(value, str) and ISO_DATE.fullmatch(value) for value in present[:CHECKED]):
        try:
            moments = np.array([value.rstrip("Z") if isinstance(value, str) else "NaT" for value in values], "M8[us]")
            return PlainColumn(name, "date", _days(moments))
        except ValueError:  # other values are not dates
            pass
    if any(isinstance(value, list | dict) for value in present[:CHECKED]):
        return None
    code_of = {value: code for code, value in enumerate(sorted({str(value) for value in present}))}
    codes = [code_of.get(str(value), np.nan) if value is not None else np.nan for value in values]
    return PlainColumn(name, "category", np.array(codes, dtype=np.float64), tuple(code_of))


def _days(moments: NDArray[Any]) -> Floats:
    micros = moments.astype("M8[us]")
    days = micros.astype(np.int64) / 86_400e6
    return np.where(np.isnat(micros), np.nan, days)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)
