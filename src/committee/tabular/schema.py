"""Conversion of tables to float arrays.

Numbers are unchanged; a category becomes a code 0, 1, ...; missing cells become nan. `Columns` stores the columns of
`fit`, so that later tables are encoded in the same way: by their values, not by the codes that a frame uses inside.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_array

from committee.base.dtypes import MAX_CATEGORIES
from committee.base.stacklevel import level_of_caller
from committee.tabular.cells import (
    STRING_ADVICE,
    Factor,
    Factors,
    Float,
    Table,
    find_infinity,
    is_dictionary,
    read_factors,
    read_numbers,
    reject_infinity,
    shown_name,
)

MAX_ROWS = 2**31 - 1
"""Some counts of rows are int32, see `dtypes.ROW`."""

MAX_CELLS = 2**40
"""Limit of the number of cells: a terabyte of one-byte codes."""

LATER_ADVICE = "convert it to numbers, as it was no column of categories in fit."
"""Advice for strings in a table after the fit."""

ANY_DTYPE: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}
"""Options of `check_array` to check the shape only."""


class Categories(NamedTuple):
    """The values of a categorical column: `kept` ones have the codes 0 .. k - 1, all `rare` ones the code k."""

    kept: tuple[Hashable, ...]
    rare: tuple[Hashable, ...] = ()

    @property
    def n_codes(self) -> int:
        return len(self.kept) + bool(self.rare)

    @property
    def names(self) -> list[str]:
        """Names of the codes, for display."""
        names = [_label(value) for value in self.kept]
        return [*names, f"other ({len(self.rare)} rare)"] if self.rare else names

    @property
    def code_of(self) -> dict[Hashable, int]:
        code_of = {value: code for code, value in enumerate(self.kept)}
        return code_of | dict.fromkeys(self.rare, len(self.kept))


class Columns(NamedTuple):
    """Names and categories of the columns of a table in `fit`.

    >>> columns = fit_columns([["red", 1.5], ["blue", 2.5], ["red", 3.5]], categorical_features=[0])
    >>> columns.category_names(0), columns.name(1)
    (['blue', 'red'], 'x[1]')
    >>> encode(columns, [["red", 1.0], ["green", 2.0]])
    array([[ 1.,  1.],
           [nan,  2.]])
    """

    n_features: int
    names: tuple[str, ...] | None
    categories: tuple[Categories | None, ...]  # None for numeric columns

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        return np.array([known is not None for known in self.categories], dtype=np.bool_)

    def name(self, f: int) -> str:
        """The column's name, or "x[3]" in a table without names."""
        return f"x[{f}]" if self.names is None else self.names[f]

    def n_codes(self, f: int) -> int:
        """Number of codes of the categorical column `f`, 0 for a numeric one."""
        known = self.categories[f]
        return 0 if known is None else known.n_codes

    def category_names(self, f: int) -> list[str]:
        """Names of the codes of the categorical column `f`, [] for a numeric one."""
        known = self.categories[f]
        return [] if known is None else known.names


def fit_columns(
    X: Any, categorical_features: Any = "from_dtype", sample_weight: NDArray[np.float64] | None = None
) -> Columns:
    """Find names and categories of a table, without rows of weight 0."""
    table = open_table(X)
    is_categorical = choose_categorical(table, categorical_features)
    return _describe(table, read_factors(table, is_categorical), sample_weight)


def fit_encode(
    X: Any,
    categorical_features: Any = "from_dtype",
    sample_weight: NDArray[np.float64] | None = None,
    advice: str = STRING_ADVICE,
) -> tuple[Columns, Float]:
    """`fit_columns` and `encode` of the same table in one pass; `advice` is that for strings in it."""
    table = open_table(X)
    factors = read_factors(table, choose_categorical(table, categorical_features))
    columns = _describe(table, factors, sample_weight)
    return columns, _encode(columns, table, factors, advice)


class BatchedColumns:
    """`fit_columns` of a table that comes in batches of rows."""

    def __init__(self, categorical_features: Any = "from_dtype", advice: str = STRING_ADVICE) -> None:
        self._categorical_features, self._advice = categorical_features, advice
        self._first: Table | None = None
        self._kinds: list[str] = []
        self._is_categorical = np.empty(0, np.bool_)
        self._totals: dict[int, CategoryTotals] = {}

    def add(self, X: Any, weight: NDArray[np.float64] | None) -> Float:
        """Add rows; return their numbers, with nan in the categorical columns."""
        table = open_table(X)
        if self._first is None:
            self._begin(table)
        self._check_kinds(table)
        factors = read_factors(table, self._is_categorical)
        out = read_numbers(table, factors, self._advice)
        for f, factor in factors.items():
            self._totals[f].add(factor, weight)
            out[:, f] = np.nan
        _reject_infinities(table, out)
        return out

    def join(self, following: BatchedColumns) -> None:
        """Add the rows of other batches, which come after these."""
        if following._first is None:
            return
        if self._first is None:
            vars(self).update(vars(following))
            return
        self._check_kinds(following._first)
        for f, totals in following._totals.items():
            self._totals[f].join(totals)

    def columns(self) -> Columns:
        """Names and categories of all rows."""
        assert self._first is not None
        return _columns(self._first, self._totals)

    def _check_kinds(self, table: Table) -> None:
        for f, (first, kind) in enumerate(zip(self._kinds, _kinds(table), strict=True)):
            if first != kind and first and kind:
                raise ValueError(
                    f"Column {shown_name(table, f)} holds {first} in the first rows and {kind} in later ones: give it "
                    "one type in all files."
                )
            self._kinds[f] = first or kind

    def _begin(self, table: Table) -> None:
        self._first = table[:1]
        self._kinds = _kinds(table)
        self._is_categorical = choose_categorical(table, self._categorical_features)
        dtypes: list[Any] = [] if isinstance(table, np.ndarray) else table.schema.dtypes()
        for f in np.flatnonzero(self._is_categorical).tolist():
            declared = bool(dtypes) and isinstance(dtypes[f], nw.Enum)  # a batch may lack some of its values
            self._totals[f] = CategoryTotals(dtypes[f].categories if declared else ())


def _kinds(table: Table) -> list[str]:
    """What the columns hold; "" if that is unknown, as in a column of nulls."""
    dtypes = [] if isinstance(table, np.ndarray) else table.schema.dtypes()
    return [_kind(dtype) for dtype in dtypes]


def _kind(dtype: Any) -> str:
    if is_dictionary(dtype):
        return "categories"
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numbers"
    if dtype == nw.String:
        return "strings"
    return "" if dtype in (nw.Unknown, nw.Object) else "dates or times" if dtype.is_temporal() else str(dtype)


def encode(columns: Columns, X: Any) -> Float:
    """The table as a float array [n, d] in C or F order: numbers, category codes, nan where missing or unseen.

    It may be a view of X and must not be changed.
    """
    table = open_table(X)
    if table.shape[1] != columns.n_features:
        raise ValueError(f"X has {table.shape[1]} columns, but {columns.n_features} were there in fit.")
    factors = read_factors(table, columns.is_categorical) if any(columns.categories) else {}
    _warn_of_foreign_values(columns, factors)
    return _encode(columns, table, factors, LATER_ADVICE)


def _encode(columns: Columns, table: Table, factors: Factors, advice: str) -> Float:
    out = read_numbers(table, factors, advice)
    for f, factor in factors.items():
        known = columns.categories[f]
        assert known is not None
        out[:, f] = _code_table(known, factor)[factor.codes]
    _reject_infinities(table, out)
    return out


def _reject_infinities(table: Table, numbers: Float) -> None:
    infinite = find_infinity(numbers)
    if infinite is not None:
        reject_infinity(shown_name(table, infinite), numbers.dtype.name)


# --- opening a table -------------------------------------------------------------------------------------------------


def open_table(X: Any, estimator: Any = None) -> Table:
    """X as a two-dimensional, non-empty array or frame of any dtype; the errors are those of scikit-learn.

    `estimator` is named in the messages.
    """
    reject_oversize(X)
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return X  # the common case, to save microseconds for single rows
    frame = _as_frame(X)
    if frame is None:
        return _as_array(X, estimator)
    if 0 in frame.shape:
        check_array(np.empty(frame.shape), estimator=estimator)
    return frame


def reject_oversize(X: Any) -> None:
    """Raise ValueError if `X.shape` is too large."""
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
    if type(X).__name__ == "RecordBatch":  # an array of it would not have its names and nulls
        raise TypeError("X is an Arrow record batch: convert it by pyarrow.Table.from_batches([X]).")
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy frame ({type(X).__name__}): collect it first, e.g. X.collect().")
    return None


def _as_array(X: Any, estimator: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        return _as_array(_unmask(X), estimator)
    readable = ("__array__", "__array_interface__", "__len__", "__dlpack__", "toarray")
    is_other = type(X) in (str, bytes, dict, set, frozenset) or not any(hasattr(X, name) for name in readable)
    if is_other and not isinstance(X, numbers.Number):
        raise TypeError(
            f"X of type {type(X).__name__} cannot be read as a table: pass a NumPy array, a list of rows, or a pandas, "
            "polars or Arrow table."
        )
    try:
        array = check_array(X, estimator=estimator, input_name="X", **ANY_DTYPE)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError("The rows of X differ in length: give every row one value per column.") from error
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        array = np.asarray(X, dtype=object)  # numbers in a list of rows stay numbers
    return array


def _unmask(masked: Any) -> NDArray[Any]:
    if not np.ma.is_masked(masked):
        return masked.data
    values = np.array(masked.data, dtype=None if masked.dtype.kind == "f" else object)
    values[np.ma.getmaskarray(masked)] = np.nan
    return values


def table_names(table: Table) -> tuple[str, ...] | None:
    """Column names as in scikit-learn: only if all of them are strings."""
    names: tuple[Any, ...] = () if isinstance(table, np.ndarray) else tuple(table.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


# --- categorical columns ---------------------------------------------------------------------------------------------


def choose_categorical(table: Table, categorical_features: Any) -> NDArray[np.bool_]:
    """The parameter `categorical_features` as a mask [d]: "from_dtype", None, indices, names, or a mask."""
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
            is_categorical[:] = [is_dictionary(dtype) for dtype in table.schema.dtypes()]
        return is_categorical
    chosen = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in chosen) and chosen:
        return _from_mask(chosen, is_categorical)
    if len({isinstance(item, str) for item in chosen}) > 1:
        raise ValueError("categorical_features must be only names, only indices or only bools.")
    chosen = find_columns(table, list(dict.fromkeys(chosen)), "categorical_features")
    is_categorical[chosen] = True
    return is_categorical


def _from_mask(mask: Sequence[bool], is_categorical: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if len(mask) != is_categorical.size:
        raise ValueError(
            f"categorical_features as a mask must have one entry per column: {is_categorical.size}, not {len(mask)}."
        )
    return np.array(mask, dtype=np.bool_)


def find_columns(
    table: Table | Columns, features: Sequence[Any], what: str = "features", *, from_end: bool = False
) -> list[int]:
    """Return the positions of columns given by name or position, no column twice.

    `what` names the parameter in errors; `from_end` allows negative positions, counted from the last column.
    """
    known_names: Any = table.names if isinstance(table, Columns) else getattr(table, "columns", None)
    names: list[Any] = [] if known_names is None else list(known_names)
    n_columns = table.n_features if isinstance(table, Columns) else table.shape[1]
    place: dict[Any, int] = {f: f for f in range(n_columns)}
    place |= {name: f for f, name in enumerate(names) if isinstance(name, str)}
    if from_end:
        place |= {f - n_columns: f for f in range(n_columns)}
    result: list[int] = []
    for feature in features:
        if isinstance(feature, bool) or not (isinstance(feature, str) or hasattr(feature, "__index__")):
            raise InvalidParameterError(f"{what} must hold names or positions of columns, not {feature!r}.")
        if feature not in place:
            known = f"the names {names[:8]}" if names else "columns without names"
            raise ValueError(
                f"X has no column {feature!r} of {what}: it has {known}, positions from "
                f"{-n_columns if from_end else 0} to {n_columns - 1}."
            )
        result.append(place[feature])
    if len(set(result)) < len(result):
        raise ValueError(f"A column occurs twice in {what}={list(features)!r}: pass each once.")
    return result


# --- categories ------------------------------------------------------------------------------------------------------


def _describe(table: Table, factors: Factors, weight: NDArray[np.float64] | None) -> Columns:
    totals = {f: CategoryTotals() for f in factors}
    for f, factor in factors.items():
        totals[f].add(factor, weight)
    return _columns(table, totals)


def _columns(table: Table, totals: Mapping[int, CategoryTotals]) -> Columns:
    n_features = table.shape[1]
    categories = tuple(totals[f].categories() if f in totals else None for f in range(n_features))
    return Columns(n_features, table_names(table), categories)


class CategoryTotals:
    """The total weight of every value of a categorical column, of one table or of batches of its rows in order."""

    def __init__(self, order: Iterable[Hashable] = ()) -> None:
        self._place: dict[Hashable, int] = {value: place for place, value in enumerate(order)}
        self._totals = np.zeros(len(self._place))
        self._keeps_order = False

    def add(self, factor: Factor, weight: NDArray[np.float64] | None) -> None:
        """Add the rows of a factor, one after another: the totals do not depend on the batches."""
        n_before, place = self._totals.size, self._place
        places = [place.setdefault(value, len(place)) for value in factor.values]
        rows = np.array([*places, len(place)], dtype=np.int64)[factor.codes]  # the last place is that of missing cells
        if weight is not None and n_before:
            rows, weight = np.append(np.arange(n_before), rows), np.append(self._totals, weight)
            self._totals = np.zeros(0)
        totals = np.bincount(rows, weight, minlength=len(place) + 1)[:-1].astype(np.float64, copy=False)
        totals[: self._totals.size] += self._totals
        self._totals, self._keeps_order = totals, factor.keeps_order

    def join(self, following: CategoryTotals) -> None:
        """Add the totals of rows that come after these."""
        places = [self._place.setdefault(value, len(self._place)) for value in following._place]
        totals = np.zeros(len(self._place))
        totals[: self._totals.size] = self._totals
        totals[places] += following._totals
        self._totals, self._keeps_order = totals, following._keeps_order

    def categories(self) -> Categories:
        """Keep the values of largest weight; of equal weights the first in order."""
        total_of = {value: total for value, total in zip(self._place, self._totals.tolist(), strict=True) if total > 0}
        ordered = list(total_of) if self._keeps_order else _sorted_values(total_of)
        by_weight = sorted(ordered, key=lambda value: -total_of[value])
        kept = set(by_weight[:MAX_CATEGORIES])
        return Categories(
            tuple(value for value in ordered if value in kept), tuple(value for value in ordered if value not in kept)
        )


def _sorted_values(values: Iterable[Any]) -> list[Hashable]:
    listed = list(values)
    try:
        return sorted(listed)
    except TypeError:  # numbers and strings have no common order
        return sorted(listed, key=lambda value: (type(value).__name__, str(value)))


def _code_table(known: Categories, factor: Factor) -> NDArray[np.float64]:
    """The code of each value of the factor, nan for unseen ones; the last entry is that of the code -1, missing."""
    code_of = known.code_of
    codes: list[float] = [code_of.get(value, np.nan) for value in factor.values]
    return np.array([*codes, np.nan], dtype=np.float64)


def _warn_of_foreign_values(columns: Columns, factors: Factors) -> None:
    """Warn of numbers in a column of strings, or the reverse, as all its values count as missing."""
    for f, factor in factors.items():
        known = columns.categories[f]
        if known is None or not known.kept or not factor.values:
            continue
        seen, new = ({isinstance(value, str) for value in values} for values in (known.kept, factor.values))
        if not seen & new:
            warnings.warn(
                f"Column {columns.name(f)!r} has values such as {_label(factor.values[0], quote=True)} and had "
                f"such as {_label(known.kept[0], quote=True)} in fit: all count as missing. Convert the column.",
                UserWarning,
                stacklevel=level_of_caller(),
            )


def _label(value: Hashable, quote: bool = False) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value) if quote else str(value)
