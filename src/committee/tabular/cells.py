"""Reading the cells of a table: categorical columns as codes and values, numeric columns as one float array.

Invalid cells raise an error with the name of the column.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

EXACT_INTEGERS = 2**53
"""Limit of the integers that float64 represents exactly."""

BLOCK_CELLS = 2**18
"""Cells that are tested at a time, to save memory."""

Table = NDArray[Any] | nw.DataFrame[Any]
Float = NDArray[np.float32 | np.float64]
Series = Any  # narwhals gives the Series of a stable frame two types


class Factor(NamedTuple):
    """A categorical column: the value of row i is `values[codes[i]]`, missing for the code -1."""

    codes: NDArray[np.int64]
    values: list[Hashable]
    keeps_order: bool  # whether `values` are in an order given by the user


Factors = dict[int, Factor]
"""The categorical columns of a table, by their positions."""


# --- reading a column of categories ----------------------------------------------------------------------------------


def read_factors(table: Table, is_categorical: NDArray[np.bool_]) -> Factors:
    factors: Factors = {}
    for f in np.flatnonzero(is_categorical).tolist():
        factor = _factor_of_array(table, f) if isinstance(table, np.ndarray) else _factor_of_series(table[:, f])
        if any(isinstance(value, float) and np.isinf(value) for value in factor.values):
            reject_infinity(shown_name(table, f), "float64")
        factors[f] = factor
    return factors


def _factor_of_array(X: NDArray[Any], f: int) -> Factor:
    column = X[:, f]
    if column.dtype.kind in "fiub":
        codes, values = factorize(column)
        return Factor(codes, values.tolist(), keeps_order=False)
    if column.dtype.kind in "Mm":
        _reject_dates(shown_name(X, f))
    return _factor_of_objects(column.tolist(), shown_name(X, f))


def _factor_of_series(series: Series) -> Factor:
    shown = repr(series.name)
    if is_dictionary(series.dtype):
        return _factor_of_dictionary(series)
    if series.dtype.is_temporal():
        _reject_dates(shown)
    if series.dtype.is_integer() or series.dtype.is_float() or series.dtype == nw.Boolean:
        present = ~series.is_null().to_numpy()
        codes = np.full(len(series), -1, dtype=np.int64)
        codes[present], values = factorize(series.drop_nulls().to_numpy())
        return Factor(codes, values.tolist(), keeps_order=False)
    return _factor_of_objects(series.to_list(), shown)


def _factor_of_dictionary(series: Series) -> Factor:
    """Use the integer codes of a frame, a hundred times faster than its values."""
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native.dtype, "categories"):
        codes = native.cat.codes.to_numpy().astype(np.int64)
        return _without_missing(codes, native.cat.categories.tolist(), bool(native.cat.ordered))
    if series.implementation.is_polars():
        physical = native.to_physical().cast(int).fill_null(-1).to_numpy()
        codes, distinct = factorize(physical)
        example = np.empty(distinct.size, dtype=np.int64)
        example[codes] = np.arange(codes.size)
        return _without_missing(codes, native.gather(example).to_list(), series.dtype == nw.Enum)
    if series.implementation.is_pyarrow():
        array = native.unify_dictionaries().combine_chunks()
        codes = array.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        return _without_missing(codes, array.dictionary.to_pylist(), bool(array.type.ordered))
    return _factor_of_objects(series.to_list(), repr(series.name))


def _factor_of_objects(values: list[Any], shown: str) -> Factor:
    first_seen: dict[Any, int] = {}
    try:
        codes = [first_seen.setdefault(value, len(first_seen)) for value in values]
    except TypeError as error:
        raise TypeError(f"Column {shown} holds values that cannot be categories ({error}): cast it to str.") from error
    return _without_missing(np.array(codes, dtype=np.int64), list(first_seen), keeps_order=False)


def is_dictionary(dtype: Any) -> bool:
    return dtype in (nw.Categorical, nw.Enum)


def _without_missing(codes: NDArray[np.int64], values: list[Any], keeps_order: bool) -> Factor:
    """A factor of plain Python values, with code -1 for None, nan and the like."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    present = [value for value in plain if not is_missing(value)]
    if len(present) < len(plain):
        is_present = np.array(
            [not is_missing(value) for value in plain] + [False]
        )  # the last entry is that of the code -1
        codes = np.where(is_present, np.cumsum(is_present) - 1, -1)[codes]
    return Factor(codes, present, keeps_order)


def is_missing(value: Any) -> bool:
    """None, nan, pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # by name, as pandas may not be installed
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def factorize(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The index of each entry in the sorted distinct values, -1 for nan; and these values."""
    if values.dtype.kind in "iu" and values.size:
        smallest = values.min()
        if int(values.max()) - int(smallest) <= 2 * values.size + 1024:
            return _factorize_dense(values, smallest)
    distinct, codes = np.unique(values, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    if distinct.dtype.kind == "f" and distinct.size and np.isnan(distinct[-1]):
        distinct = distinct[:-1]
        codes[codes == distinct.size] = -1
    return codes, distinct


def _factorize_dense(values: NDArray[Any], smallest: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    # Wrapping int64 arithmetic is correct for uint64 too, since the range is small.
    offsets = values.astype(np.int64) - smallest.astype(np.int64)
    is_present = np.bincount(offsets) > 0
    distinct = np.flatnonzero(is_present).astype(values.dtype) + smallest
    return (np.cumsum(is_present) - 1)[offsets], distinct


# --- reading numbers -------------------------------------------------------------------------------------------------


CAST_ADVICE = "convert it to numbers; or, to fit on it as categories, cast it to a categorical dtype"
STRING_ADVICE = f"{CAST_ADVICE} or name it in categorical_features."


def read_numbers(table: Table, factors: Factors, advice: str = STRING_ADVICE) -> Float:
    """The table as floats; the columns of `factors` are not filled.

    `advice` ends the message of an error about a column that is not numeric.
    """
    if isinstance(table, np.ndarray):
        return _read_array(table, factors, advice)
    return _read_frame(table, factors, advice)


def _read_array(X: NDArray[Any], factors: Factors, advice: str) -> Float:
    if X.dtype.kind in "fiub":
        _reject_inexact_table(X, factors)
        is_single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        return canonical(X, np.float32 if is_single else np.float64, fresh=bool(factors))
    out = np.empty(X.shape, dtype=np.float64, order="F")
    for f in _numeric(X, factors):
        if X.dtype.kind in "Mm":
            _reject_dates(shown_name(X, f))
        out[:, f] = _read_column(X[:, f].tolist(), f"Column {shown_name(X, f)}", advice)
    return out


def _read_frame(frame: nw.DataFrame[Any], factors: Factors, advice: str) -> Float:
    dtypes = frame.schema.dtypes()
    kinds = {str(dtypes[f]) for f in _numeric(frame, factors)}
    dtype = np.float32 if kinds and kinds <= {"Float32", "Float16"} else np.float64
    is_uniform = len(kinds) == 1 and kinds <= {"Float32", "Float64"} and not factors
    if is_uniform and not frame.implementation.is_pyarrow():  # one block of pandas, one array of polars
        return canonical(frame.to_numpy(), dtype)
    out = np.empty(frame.shape, dtype=dtype, order="F")
    for f, series in enumerate(frame.iter_columns()):
        if f not in factors:
            out[:, f] = _read_series(series, advice)
    return out


def _numeric(table: Table, factors: Factors) -> list[int]:
    return [f for f in range(table.shape[1]) if f not in factors]


def _read_series(series: Series, advice: str) -> NDArray[Any]:
    what, dtype = f"Column {series.name!r}", series.dtype
    if is_dictionary(dtype):  # declared as numeric
        factor = _factor_of_dictionary(series)
        return np.append(_read_column(factor.values, what, advice), np.nan)[factor.codes]
    if dtype.is_temporal():
        _reject_dates(repr(series.name))
    if dtype.is_nested():
        raise ValueError(f"{what} holds lists or records ({dtype}): spread them over columns of their own.")
    if dtype in (nw.String, nw.Object, nw.Unknown, nw.Binary):
        values = series.to_numpy()
        return values if values.dtype.kind in "fiub" else _read_column(series.to_list(), what, advice)
    if dtype.is_integer():
        _reject_inexact_series(series)
    if dtype == nw.Boolean or dtype.is_decimal():
        series = series.cast(nw.Float64)
    return series.to_numpy()


def _read_column(values: list[Any], what: str, advice: str) -> NDArray[np.float64]:
    floats = read_objects(values, what, advice)
    _reject_inexact([value for value in values if isinstance(value, int | np.integer)], what)
    return floats


def read_objects(values: list[Any], what: str, advice: str) -> NDArray[np.float64]:
    """Python objects as float64, missing ones as nan. `what` begins the message of an error, `advice` ends it."""
    kinds = set(map(type, values))
    if any(issubclass(kind, str | bytes) for kind in kinds):
        example = next(value for value in values if isinstance(value, str | bytes))
        raise ValueError(f"{what} holds strings such as {str(example)[:40]!r}: {advice}")
    if any(issubclass(kind, numbers.Complex) and not issubclass(kind, numbers.Real) for kind in kinds):
        raise ValueError(f"Complex data not supported: {what} holds complex numbers. Pass real and imaginary parts.")
    if any(kind.__name__ in ("NAType", "NaTType") for kind in kinds):
        values = [np.nan if is_missing(value) else value for value in values]
    try:
        return np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{what} holds something that is not a number ({error}): {advice}") from error


def canonical(values: NDArray[Any], dtype: type[Any], fresh: bool = False) -> NDArray[Any]:
    """The array in the form that kernels are compiled for: native byte order, contiguous, aligned and writeable.

    Copies only if necessary, or with `fresh`. The block of a frame is read-only, but a view of it can be writeable; an
    array with a read-only base (a memory map) is copied.
    """
    if values.dtype == dtype:
        out, is_fresh = np.asarray(values), False
    else:
        with np.errstate(over="ignore"):  # of a long double; raises as infinity later
            out, is_fresh = np.asarray(values, dtype=dtype), True
    if (fresh and not is_fresh) or not (out.flags.forc and out.flags.aligned):
        return np.array(out, order="K")
    if not out.flags.writeable:
        out = out.view()
        try:
            out.flags.writeable = True
        except ValueError:
            return np.array(out, order="K")
    return out


# --- invalid cells ---------------------------------------------------------------------------------------------------


def find_infinity(X: Float) -> int | None:
    """A column with an infinite value, or None."""
    lines = X if X.flags.c_contiguous else X.T
    step = max(1, BLOCK_CELLS // lines.shape[1])
    for start in range(0, lines.shape[0], step):
        is_infinite = np.isinf(lines[start : start + step])
        if is_infinite.any():
            line, place = np.argwhere(is_infinite)[0].tolist()
            return place if X.flags.c_contiguous else start + line
    return None


def shown_name(table: Table, f: int) -> str:
    return f"x[{f}]" if isinstance(table, np.ndarray) else repr(table.columns[f])


def reject_infinity(shown: str, dtype: str) -> NoReturn:
    raise ValueError(
        f"Input X contains infinity or a value too large for {dtype} in column {shown}: cut it to a finite range with "
        "np.clip, or put nan to mark it as missing."
    )


def _reject_dates(shown: str) -> NoReturn:
    raise ValueError(
        f"Column {shown} holds dates or times: turn it into numbers, such as days since a date, the year or the hour."
    )


def _reject_inexact_table(X: NDArray[Any], factors: Factors) -> None:
    if X.dtype.kind not in "iu" or X.dtype.itemsize < 8:
        return
    if int(X.min()) >= -EXACT_INTEGERS and int(X.max()) <= EXACT_INTEGERS:
        return
    for f in _numeric(X, factors):
        _reject_inexact(X[:, f].tolist(), f"Column {shown_name(X, f)}")


def _reject_inexact_series(series: Series) -> None:
    smallest, largest = series.min(), series.max()
    if smallest is None or (int(smallest) >= -EXACT_INTEGERS and int(largest) <= EXACT_INTEGERS):
        return
    _reject_inexact(series.drop_nulls().to_list(), f"Column {series.name!r}")


def _reject_inexact(integers: Iterable[Any], what: str) -> None:
    for value in integers:
        if int(value) != float(value):
            raise ValueError(
                f"{what} holds the integer {value}, which float64 cannot tell from its neighbours (beyond 2**53): "
                "subtract an offset, pass it as categories if the estimator takes them, or cast it to float64 yourself "
                "if the last digits do not matter."
            )
