"""From a user's table to the float array that the engine reads.

Numbers stay what they are; a category becomes a code 0, 1, ...; missing becomes nan. `Columns` remembers what a fit
saw, so that later tables are coded alike: values decide, never the codes a frame happens to use inside.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from committee.base.dtypes import MAX_CATEGORIES

MAX_ROWS = 2**31 - 1
"""Rows are counted in int32 at places, see `dtypes.ROW`."""

MAX_CELLS = 2**40
"""A terabyte of one-byte codes: past every machine, and far below the overflow of any index."""

EXACT_INTEGERS = 2**53
"""Beyond it float64 no longer tells neighbouring integers apart."""

BLOCK_CELLS = 2**18
"""Cells that are tested at a time, so that a test needs no second table in memory."""

Table = NDArray[Any] | nw.DataFrame[Any]
Float = NDArray[np.float32 | np.float64]
Series = Any  # narwhals gives the Series of a stable frame two types

ANY_DTYPE: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}
"""For scikit-learn's `check_array`: look at the shape, leave the values to us."""


class Categories(NamedTuple):
    """The values of a categorical column: `kept` ones have the codes 0 .. k - 1, all `rare` ones share the code k."""

    kept: tuple[Hashable, ...]
    rare: tuple[Hashable, ...] = ()

    @property
    def n_codes(self) -> int:
        return len(self.kept) + bool(self.rare)

    @property
    def names(self) -> list[str]:
        """What each code stands for, for people."""
        names = [_label(value) for value in self.kept]
        return [*names, f"other ({len(self.rare)} rare)"] if self.rare else names

    @property
    def code_of(self) -> dict[Hashable, int]:
        code_of = {value: code for code, value in enumerate(self.kept)}
        return code_of | dict.fromkeys(self.rare, len(self.kept))


class Columns(NamedTuple):
    """What a fit learned about the columns of its table. Plain values only: it compares, hashes and pickles.

    >>> columns = fit_columns([["red", 1.5], ["blue", 2.5], ["red", 3.5]], categorical_features=[0])
    >>> columns.category_names(0), columns.name(1)
    (['blue', 'red'], 'x[1]')
    >>> encode(columns, [["red", 1.0], ["green", 2.0]])
    array([[ 1.,  1.],
           [nan,  2.]])
    """

    n_features: int
    names: tuple[str, ...] | None
    categories: tuple[Categories | None, ...]  # None where the column is numeric

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        return np.array([known is not None for known in self.categories], dtype=np.bool_)

    def name(self, f: int) -> str:
        """The column's name, or "x[3]" in a table without names."""
        return f"x[{f}]" if self.names is None else self.names[f]

    def n_codes(self, f: int) -> int:
        """How many codes the categorical column `f` uses, 0 for a numeric one."""
        known = self.categories[f]
        return 0 if known is None else known.n_codes

    def category_names(self, f: int) -> list[str]:
        """What each code of the categorical column `f` stands for, [] for a numeric one."""
        known = self.categories[f]
        return [] if known is None else known.names


class Factor(NamedTuple):
    """A column of categories as it came: row i holds `values[codes[i]]`, or nothing where the code is -1."""

    codes: NDArray[np.int64]
    values: list[Hashable]
    keeps_order: bool  # the order of `values` is the user's, not ours


Factors = dict[int, Factor]
"""The categorical columns of a table, by their positions."""


def fit_columns(
    X: Any, categorical_features: Any = "from_dtype", sample_weight: NDArray[np.float64] | None = None
) -> Columns:
    """Learn names and categories of a table; rows of weight 0 count for nothing."""
    table = open_table(X)
    is_categorical = choose_categorical(table, categorical_features)
    return _describe(table, _read_factors(table, is_categorical), sample_weight)


def fit_encode(
    X: Any, categorical_features: Any = "from_dtype", sample_weight: NDArray[np.float64] | None = None
) -> tuple[Columns, Float]:
    """`fit_columns` and `encode` of the same table, reading its categories once."""
    table = open_table(X)
    factors = _read_factors(table, choose_categorical(table, categorical_features))
    columns = _describe(table, factors, sample_weight)
    return columns, _encode(columns, table, factors)


def encode(columns: Columns, X: Any) -> Float:
    """The table as a float array [n, d] in C or F order: numbers, category codes, nan where missing or unseen.

    It may share memory with X: read it, never write to it.
    """
    table = open_table(X)
    if table.shape[1] != columns.n_features:
        raise ValueError(f"X has {table.shape[1]} columns, but {columns.n_features} were there in fit.")
    factors = _read_factors(table, columns.is_categorical) if any(columns.categories) else {}
    _warn_of_foreign_values(columns, factors)
    return _encode(columns, table, factors)


# --- opening a table -------------------------------------------------------------------------------------------------


def open_table(X: Any, estimator: Any = None) -> Table:
    """X as a two-dimensional, non-empty array or frame of any dtype; the errors are scikit-learn's own.

    `estimator` is only named in their texts.
    """
    refuse_oversize(X)
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return X  # the common case, and one row of it is worth microseconds
    frame = _as_frame(X)
    if frame is None:
        return _as_array(X, estimator)
    if 0 in frame.shape:
        check_array(np.empty(frame.shape), estimator=estimator)
    return frame


def refuse_oversize(X: Any) -> None:
    """Raise ValueError if the declared shape of X is beyond the engine; looks at nothing but `X.shape`."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or not all(isinstance(size, int | np.integer) for size in shape):
        return
    if len(shape) > 0 and shape[0] > MAX_ROWS:
        raise ValueError(
            f"X has {shape[0]} rows, at most {MAX_ROWS} are possible: fit on a sample of the rows, or on parts of "
            "them and combine the models."
        )
    if len(shape) == 2 and shape[0] * shape[1] > MAX_CELLS:
        raise ValueError(
            f"X has {shape[0]} x {shape[1]} cells, at most {MAX_CELLS} can be coded: fit on fewer rows or columns."
        )


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            frame.columns  # noqa: B018 - narwhals looks for duplicate names only now
            return frame
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names of X must be unique, rename or drop columns: {error}") from error
    if type(X).__name__ == "RecordBatch":  # as an array it would lose its names and nulls
        raise TypeError("X is an Arrow record batch: make a table of it, pyarrow.Table.from_batches([X]).")
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy frame ({type(X).__name__}): collect it first, e.g. X.collect().")
    return None


def _as_array(X: Any, estimator: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        return _as_array(_unmask(X), estimator)
    readable = ("__array__", "__array_interface__", "__len__", "__dlpack__", "toarray")
    if not np.isscalar(X) and X is not None and not any(hasattr(X, name) for name in readable):
        raise TypeError(
            f"X of type {type(X).__name__} cannot be read as a table: pass a NumPy array, a list of rows, or a pandas, "
            "polars or Arrow table."
        )
    array = check_array(X, estimator=estimator, input_name="X", **ANY_DTYPE)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)  # a list of rows: its numbers must not turn into strings
    return array


def _unmask(masked: Any) -> NDArray[Any]:
    if not np.ma.is_masked(masked):
        return masked.data
    values = np.array(masked.data, dtype=None if masked.dtype.kind == "f" else object)
    values[np.ma.getmaskarray(masked)] = np.nan
    return values


def table_names(table: Table) -> tuple[str, ...] | None:
    """Column names by scikit-learn's rule: only if every one is a string."""
    names: tuple[Any, ...] = () if isinstance(table, np.ndarray) else tuple(table.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


# --- which columns are categorical -----------------------------------------------------------------------------------


def choose_categorical(table: Table, categorical_features: Any) -> NDArray[np.bool_]:
    """The user's choice as a mask [d]: "from_dtype", None, indices, names, or a mask already."""
    is_categorical = np.zeros(table.shape[1], dtype=np.bool_)
    if categorical_features is None:
        return is_categorical
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise ValueError(
                "categorical_features must be 'from_dtype', None, or a list of column names, of indices or of bools; "
                f"got {categorical_features!r}: put a single name into a list."
            )
        if not isinstance(table, np.ndarray):
            is_categorical[:] = [_is_dictionary(dtype) for dtype in table.schema.dtypes()]
        return is_categorical
    chosen = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in chosen) and chosen:
        return _from_mask(chosen, is_categorical)
    if all(isinstance(item, str) for item in chosen):
        chosen = _positions(chosen, table_names(table))
    if not all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in chosen):
        raise ValueError("categorical_features must hold only names, only indices or only bools.")
    if any(not 0 <= item < is_categorical.size for item in chosen):
        raise ValueError(f"categorical_features as indices must be in 0 .. {is_categorical.size - 1}; got {chosen}.")
    is_categorical[chosen] = True
    return is_categorical


def _is_dictionary(dtype: Any) -> bool:
    return dtype in (nw.Categorical, nw.Enum)


def _from_mask(mask: Sequence[bool], is_categorical: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if len(mask) != is_categorical.size:
        raise ValueError(
            f"categorical_features as a mask must have one entry per column: {is_categorical.size}, not {len(mask)}."
        )
    return np.array(mask, dtype=np.bool_)


def _positions(wanted: Sequence[str], names: tuple[str, ...] | None) -> list[int]:
    if names is None and wanted:
        raise ValueError("categorical_features holds names, but the columns of X have none: pass indices or a mask.")
    position = {name: f for f, name in enumerate(names or ())}
    unknown = [name for name in wanted if name not in position]
    if unknown:
        raise ValueError(f"categorical_features names columns that X does not have: {unknown}. X has {list(position)}.")
    return [position[name] for name in wanted]


# --- categories ------------------------------------------------------------------------------------------------------


def _describe(table: Table, factors: Factors, weight: NDArray[np.float64] | None) -> Columns:
    n_features = table.shape[1]
    categories = tuple(_keep_frequent(factors[f], weight) if f in factors else None for f in range(n_features))
    return Columns(n_features, table_names(table), categories)


def _keep_frequent(factor: Factor, weight: NDArray[np.float64] | None) -> Categories:
    """The heaviest values get codes of their own; ties go to the value that comes first in order."""
    totals = np.bincount(factor.codes + 1, weight, minlength=len(factor.values) + 1)[1:]
    total_of: dict[Hashable, float] = {}
    for value, total in zip(factor.values, totals.tolist(), strict=True):
        if total > 0:
            total_of[value] = total_of.get(value, 0.0) + total
    ordered = list(total_of) if factor.keeps_order else _sorted_values(total_of)
    by_weight = sorted(ordered, key=lambda value: -total_of[value])
    kept = set(by_weight[:MAX_CATEGORIES])
    return Categories(
        tuple(value for value in ordered if value in kept), tuple(value for value in ordered if value not in kept)
    )


def _sorted_values(values: Iterable[Any]) -> list[Hashable]:
    listed = list(values)
    try:
        return sorted(listed)
    except TypeError:  # numbers beside strings have no order of their own
        return sorted(listed, key=lambda value: (type(value).__name__, str(value)))


def _code_table(known: Categories, factor: Factor) -> NDArray[np.float64]:
    """The code of each of the factor's values, nan where unseen; the last entry answers the index -1, missing."""
    code_of = known.code_of
    codes: list[float] = [code_of.get(value, np.nan) for value in factor.values]
    return np.array([*codes, np.nan], dtype=np.float64)


def _warn_of_foreign_values(columns: Columns, factors: Factors) -> None:
    """Numbers where the fit saw strings, or the reverse, would silently be missing all over."""
    for f, factor in factors.items():
        known = columns.categories[f]
        if known is None or not known.kept or not factor.values:
            continue
        seen, new = ({isinstance(value, str) for value in values} for values in (known.kept, factor.values))
        if not seen & new:
            warnings.warn(
                f"Column {columns.name(f)!r} held {_label(known.kept[0], quote=True)} and the like in fit, now "
                f"{_label(factor.values[0], quote=True)}: no value is known, all count as missing. Convert the column.",
                UserWarning,
                stacklevel=5,
            )


def _label(value: Hashable, quote: bool = False) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value) if quote else str(value)


# --- reading a column of categories ----------------------------------------------------------------------------------


def _read_factors(table: Table, is_categorical: NDArray[np.bool_]) -> Factors:
    factors: Factors = {}
    for f in np.flatnonzero(is_categorical).tolist():
        factor = _factor_of_array(table, f) if isinstance(table, np.ndarray) else _factor_of_series(table[:, f])
        if any(isinstance(value, float) and np.isinf(value) for value in factor.values):
            _refuse_infinity(_shown_name(table, f), "float64")
        factors[f] = factor
    return factors


def _factor_of_array(X: NDArray[Any], f: int) -> Factor:
    column = X[:, f]
    if column.dtype.kind in "fiub":
        codes, values = factorize(column)
        return Factor(codes, values.tolist(), keeps_order=False)
    if column.dtype.kind in "Mm":
        _refuse_dates(_shown_name(X, f))
    return _factor_of_objects(column.tolist(), _shown_name(X, f))


def _factor_of_series(series: Series) -> Factor:
    shown = repr(series.name)
    if _is_dictionary(series.dtype):
        return _factor_of_dictionary(series)
    if series.dtype.is_temporal():
        _refuse_dates(shown)
    if series.dtype.is_integer() or series.dtype.is_float() or series.dtype == nw.Boolean:
        present = ~series.is_null().to_numpy()
        codes = np.full(len(series), -1, dtype=np.int64)
        codes[present], values = factorize(series.drop_nulls().to_numpy())
        return Factor(codes, values.tolist(), keeps_order=False)
    return _factor_of_objects(series.to_list(), shown)


def _factor_of_dictionary(series: Series) -> Factor:
    """Take the integer codes a frame already has, by its library's own door: a hundred times faster than values."""
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


def _without_missing(codes: NDArray[np.int64], values: list[Any], keeps_order: bool) -> Factor:
    """A factor whose values are plain Python ones, with code -1 where a value is None, nan or the like."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    present = [value for value in plain if not is_missing(value)]
    if len(present) < len(plain):
        is_present = np.array([not is_missing(value) for value in plain] + [False])  # the last answers the index -1
        codes = np.where(is_present, np.cumsum(is_present) - 1, -1)[codes]
    return Factor(codes, present, keeps_order)


def is_missing(value: Any) -> bool:
    """None, nan, pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # known by name: pandas may be absent
        return True
    return isinstance(value, numbers.Real) and bool(value != value)


def factorize(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Position of each entry among the sorted distinct values, which come second; -1 for nan."""
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
    # Wrapping int64 arithmetic is right for uint64 too, since the range is small.
    offsets = values.astype(np.int64) - smallest.astype(np.int64)
    is_present = np.bincount(offsets) > 0
    distinct = np.flatnonzero(is_present).astype(values.dtype) + smallest
    return (np.cumsum(is_present) - 1)[offsets], distinct


# --- reading numbers -------------------------------------------------------------------------------------------------


def _encode(columns: Columns, table: Table, factors: Factors) -> Float:
    out = _read_array(table, factors) if isinstance(table, np.ndarray) else _read_frame(table, factors)
    for f, factor in factors.items():
        known = columns.categories[f]
        assert known is not None
        out[:, f] = _code_table(known, factor)[factor.codes]
    infinite = find_infinity(out)
    if infinite is not None:
        _refuse_infinity(_shown_name(table, infinite), out.dtype.name)
    return out


def _read_array(X: NDArray[Any], factors: Factors) -> Float:
    """The numeric columns of X; what stands in those of `factors` means nothing yet."""
    if X.dtype.kind in "fiub":
        _refuse_inexact_table(X, factors)
        is_single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        return canonical(X, np.float32 if is_single else np.float64, fresh=bool(factors))
    out = np.empty(X.shape, dtype=np.float64, order="F")
    for f in _numeric(X, factors):
        if X.dtype.kind in "Mm":
            _refuse_dates(_shown_name(X, f))
        out[:, f] = _read_column(X[:, f].tolist(), f"Column {_shown_name(X, f)}")
    return out


def _read_frame(frame: nw.DataFrame[Any], factors: Factors) -> Float:
    """The numeric columns of the frame; what stands in those of `factors` means nothing yet."""
    dtypes = frame.schema.dtypes()
    kinds = {str(dtypes[f]) for f in _numeric(frame, factors)}
    dtype = np.float32 if kinds and kinds <= {"Float32", "Float16"} else np.float64
    is_uniform = len(kinds) == 1 and kinds <= {"Float32", "Float64"} and not factors
    if is_uniform and not frame.implementation.is_pyarrow():  # pandas shares its block, polars fills one array
        return canonical(frame.to_numpy(), dtype)
    out = np.empty(frame.shape, dtype=dtype, order="F")
    for f, series in enumerate(frame.iter_columns()):
        if f not in factors:
            out[:, f] = _read_series(series)
    return out


def _numeric(table: Table, factors: Factors) -> list[int]:
    return [f for f in range(table.shape[1]) if f not in factors]


def _read_series(series: Series) -> NDArray[Any]:
    what, dtype = f"Column {series.name!r}", series.dtype
    if _is_dictionary(dtype):  # numeric by the user's choice
        factor = _factor_of_dictionary(series)
        return np.append(_read_column(factor.values, what), np.nan)[factor.codes]
    if dtype.is_temporal():
        _refuse_dates(repr(series.name))
    if dtype.is_nested():
        raise ValueError(f"{what} holds lists or records ({dtype}): spread them over columns of their own.")
    if dtype in (nw.String, nw.Object, nw.Unknown, nw.Binary):
        values = series.to_numpy()
        return values if values.dtype.kind in "fiub" else _read_column(series.to_list(), what)
    if dtype.is_integer():
        _refuse_inexact_series(series)
    if dtype == nw.Boolean or dtype.is_decimal():
        series = series.cast(nw.Float64)
    return series.to_numpy()


STRING_ADVICE = (
    "convert it to numbers; or, to fit on it as categories, cast it to a categorical dtype or name it in "
    "categorical_features."
)


def _read_column(values: list[Any], what: str) -> NDArray[np.float64]:
    floats = read_objects(values, what, STRING_ADVICE)
    _refuse_inexact([value for value in values if isinstance(value, int | np.integer)], what)
    return floats


def read_objects(values: list[Any], what: str, advice: str) -> NDArray[np.float64]:
    """Python objects as float64, missing ones as nan. `what` opens the text of an error, `advice` ends it."""
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
    """The array in the one form kernels are compiled for: native byte order, contiguous, aligned and writeable.

    Copies only where it must, or where `fresh` asks for it. A frame's own block comes read-only, and the flag of a
    view of it can be lifted; an array that is read-only at its root (a memory map) is copied.
    """
    if values.dtype == dtype:
        out, is_fresh = np.asarray(values), False
    else:
        with np.errstate(over="ignore"):  # of a long double; found as infinity later
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


# --- what is refused -------------------------------------------------------------------------------------------------


def find_infinity(X: Float) -> int | None:
    """A column with an infinite value, or None; in one pass and without a second table in memory."""
    lines = X if X.flags.c_contiguous else X.T
    step = max(1, BLOCK_CELLS // lines.shape[1])
    for start in range(0, lines.shape[0], step):
        is_infinite = np.isinf(lines[start : start + step])
        if is_infinite.any():
            line, place = np.argwhere(is_infinite)[0].tolist()
            return place if X.flags.c_contiguous else start + line
    return None


def _shown_name(table: Table, f: int) -> str:
    return f"x[{f}]" if isinstance(table, np.ndarray) else repr(table.columns[f])


def _refuse_infinity(shown: str, dtype: str) -> NoReturn:
    raise ValueError(
        f"Input X contains infinity or a value too large for {dtype} in column {shown}: cut it to a finite range with "
        "np.clip, or put nan to mark it as missing."
    )


def _refuse_dates(shown: str) -> NoReturn:
    raise ValueError(
        f"Column {shown} holds dates or times: turn it into numbers, such as days since a date, the year or the hour."
    )


def _refuse_inexact_table(X: NDArray[Any], factors: Factors) -> None:
    if X.dtype.kind not in "iu" or X.dtype.itemsize < 8:
        return
    if int(X.min()) >= -EXACT_INTEGERS and int(X.max()) <= EXACT_INTEGERS:
        return
    for f in _numeric(X, factors):
        _refuse_inexact(X[:, f].tolist(), f"Column {_shown_name(X, f)}")


def _refuse_inexact_series(series: Series) -> None:
    smallest, largest = series.min(), series.max()
    if smallest is None or (int(smallest) >= -EXACT_INTEGERS and int(largest) <= EXACT_INTEGERS):
        return
    _refuse_inexact(series.drop_nulls().to_list(), f"Column {series.name!r}")


def _refuse_inexact(integers: Iterable[Any], what: str) -> None:
    for value in integers:
        if int(value) != float(value):
            raise ValueError(
                f"{what} holds the integer {value}, which float64 cannot tell from its neighbours (beyond 2**53): "
                "subtract an offset, name the column in categorical_features, or cast it to float64 yourself if the "
                "last digits do not matter."
            )
