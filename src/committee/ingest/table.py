"""Read a training table: features, target, and warnings about what is unusual in it.

`read_table` infers the type of every column (`ingest/column_types.py`), leaves out columns that do not help or that
contain the target, and rows without a target. The result is a `TableSchema`, by which new tables are read in the same
way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import join_names, pluralize
from committee.ingest.column_types import (
    MAX_EXACT,
    NEARLY_ALL,
    ROW_IDENTIFIER,
    ColumnSchema,
    as_numbers,
    clean_text,
    date_format,
    features_of,
    infer_column,
    is_row_number,
    is_textual,
)
from committee.ingest.files import DUPLICATED, TableError, as_frame
from committee.ingest.schema import MAX_NAMED, TableSchema, TargetType, Task, find_column

if TYPE_CHECKING:  # prediction does not need the evaluation
    from committee.evaluation.plain_columns import PlainColumn
    from committee.evaluation.row_order import RowOrder, Switches

MANY_VALUES = 20
"""Integers with more distinct values are the target of a regression."""

FEW_ROWS_OF_CLASS = 5
"""A class with fewer rows cannot be in every fold."""

RARE_CLASS = 0.02
"""Fraction of the rows below which a class is rare."""

LEAK_ROWS = 5000
"""Rows on which columns are tested for leaks."""

LEAK_ERROR = 0.01
"""A column that alone leaves less than this fraction of the error of a constant may leak the target."""

MANY_REPEATS = 0.5
"""Distinct values per row below which integers may be codes."""

ROW_NUMBER = "\0row number of the file"
"""Not the name of a column in any file."""

ROW_ORDER = ("row order", "row-order")
"""Values of `time` for rows in time order; the second one needs no quotes in a shell."""

MAX_TARGET = 1e150


class TrainingTable(NamedTuple):
    """Features and target of a training table, and what was noticed in it.

    Attributes
    ----------
    X : polars DataFrame
        Features.
    y : ndarray of shape (n_samples,)
        Target.
    schema : TableSchema
        Target and column types; `schema.apply` makes the features of new tables.
    warnings : tuple of str
        What is unusual in the table, and how it was handled.
    sample_weight : ndarray of shape (n_samples,) or None
        Sample weights.
    groups : ndarray of shape (n_samples,) or None
        Groups of the rows.
    time : ndarray of shape (n_samples,), RowOrder or None
        Times of the rows, or the time order or groups that were found, as `compare` takes them.
    rows : ndarray of shape (n_samples,)
        Positions of these rows in the file.
    leaks : tuple of str
        Features that alone nearly determine the target.
    """

    X: pl.DataFrame
    y: NDArray[Any]
    schema: TableSchema
    warnings: tuple[str, ...]
    sample_weight: Floats | None
    groups: NDArray[Any] | None
    time: NDArray[Any] | RowOrder | None
    rows: NDArray[np.int64]
    leaks: tuple[str, ...] = ()


def read_table(
    table: Any,
    target: str,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    sample_weight: str = "",
    groups: str = "",
    time: str = "",
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    drop_duplicates: bool = False,
    shuffle: bool = False,
) -> TrainingTable:
    """Read a training table, and infer the types of its columns and the task.

    Constants, identifiers, copies of other columns and of the target, and rows without a target are left out; dates
    and texts become numeric features. `warnings` of the result lists what was done.

    Parameters
    ----------
    table : str, Path or DataFrame
        Path of a CSV, Parquet, Arrow or JSON-lines file, "-" for stdin, or a polars or pandas DataFrame.
    target : str
        Column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" treats texts, booleans and integers of at most 20 distinct values as classes.
    sample_weight : str, default=""
        Column with the sample weights; "" for none. Special columns are not features.
    groups : str, default=""
        Column with the groups of the rows; "" for none.
    time : str, default=""
        Column with the times of the rows, or "row order" if the rows are in time order. Without `groups`, `time` and
        `shuffle`, time order and repeated entities are looked for, as `compare` does.
    drop : str or list of str, default=()
        Columns to leave out.
    keep : str or list of str, default=()
        Columns to use that would be left out.
    drop_duplicates : bool, default=False
        Whether to leave out copies of rows.
    shuffle : bool, default=False
        Whether the order of the rows has no meaning.

    Returns
    -------
    TrainingTable
        Features, target, schema and warnings.

    Raises
    ------
    TableError
        If the table cannot be read, has no such column, or has no usable target or features.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.ingest import read_table
    >>> flats = pl.DataFrame({
    ...     "flat_id": range(40),
    ...     "area": [f"{30 + 7 * i % 90},5" for i in range(40)],
    ...     "built": [f"{1 + i % 28:02d}.03.19{50 + i}" for i in range(40)],
    ...     "city": ["Rome", "Oslo"] * 20,
    ...     "price": [100.25 + 11 * i % 170 for i in range(40)],
    ... })
    >>> table = read_table(flats, "price")
    >>> table.schema.task, table.X.columns
    ('regression', ['area', 'built.year', 'built.weekday', 'built.days', 'city'])
    >>> print(table.warnings[0])
    'flat_id' is an identifier of the rows; it is left out.
    >>> table.schema.apply(flats[:1]).equals(table.X[:1])
    True
    """
    if shuffle and (groups or time):
        raise TableError("shuffle cannot be combined with groups or time: leave one of them out.")
    frame = as_frame(table)
    by_rows = time in ROW_ORDER and time not in frame.columns
    names = (target, sample_weight, groups, "" if by_rows else time)
    target, sample_weight, groups, time = (find_column(frame, name) if name else "" for name in names)
    listed = ([each] if isinstance(each, str) else each for each in (drop, keep))
    dropped, kept = ([find_column(frame, name) for name in names] for names in listed)
    _check_target(target, dropped, {"sample_weight": sample_weight, "groups": groups, "time": time})
    doubles = _shared_names(frame, target)
    counters = {name for name in frame.columns if is_row_number(frame[name])}  # rows left out would leave gaps
    frame, notes = _usable_rows(frame.with_row_index(ROW_NUMBER), target, drop_duplicates)
    chosen: Task = _guess_task(frame[target]) if task == "auto" else task
    if task == "auto":
        notes += _doubtful_task(frame[target], chosen)
    frame, more = _usable_targets(frame, target, chosen)
    y, target_type = _read_target(frame[target], chosen)
    of_target = _target_warnings(y, chosen)
    weights, of_weights = _weights(frame, sample_weight, y, chosen)
    special = {name for name in (target, sample_weight, groups, time, ROW_NUMBER) if name}
    columns = [_column(frame[name], dropped, kept, counters) for name in frame.columns if name not in special]
    columns, leaks, leaking = _without_leaks(_without_copies(columns, frame, kept), frame, y, chosen, kept)
    order = None if shuffle or groups or time or by_rows else _row_order(columns, frame, y, chosen)
    if order is not None and order.kind == "groups" and len(order.columns) == 1:  # as a column of groups, no feature
        groups = order.columns[0]
        columns = [each for each in columns if each.name != groups]
    schema = TableSchema(target, chosen, tuple(columns), target_type, sample_weight, groups, time)
    if not schema.feature_columns:
        raise TableError(_nothing_left(columns, target))
    of_order = [] if order is None else _order_words(order)
    group_of_row, of_groups = _groups(frame, groups)
    of_rows = (*notes, *more, *of_target, *of_weights, *of_groups)
    return TrainingTable(
        X=schema.apply(frame),
        y=y,
        schema=schema,
        warnings=(*doubles, *of_order, *of_rows, *_column_notes(columns), *leaks),
        sample_weight=weights,
        groups=group_of_row,
        time=_times(frame[time]) if time else np.arange(frame.height) if by_rows else order,
        rows=frame[ROW_NUMBER].to_numpy().astype(np.int64),
        leaks=tuple(leaking),
    )


def _check_target(target: str, dropped: Sequence[str], special: dict[str, str]) -> None:
    if target in dropped:
        raise TableError(f"{target!r} is the target: it cannot be dropped.")
    for name, column in special.items():
        if column == target:
            raise TableError(f"{target!r} is the target: it cannot be {name} too.")


def _nothing_left(columns: Sequence[ColumnSchema], target: str) -> str:
    if not columns:
        return f"No feature is left: the table has no columns but {target!r} and those of weights, groups and times."
    more = f"; and {len(columns) - MAX_NAMED} more" if len(columns) > MAX_NAMED else ""
    return "No feature is left: " + "; ".join(f"{c.name!r} {c.note}" for c in columns[:MAX_NAMED]) + more + "."


def _shared_names(frame: pl.DataFrame, target: str) -> list[str]:
    """Warnings about columns with the name of an earlier one."""
    notes: list[str] = []
    for name in frame.columns:
        shared, mark, number = name.rpartition(DUPLICATED)
        if not mark or not number.isdigit() or shared not in frame.columns:
            continue
        if shared == target:
            raise TableError(f"More than one column is called {target!r}: rename those that are not the target.")
        notes.append(f"More than one column is called {shared!r}; another one is read as {name!r}.")
    return notes


# --- rows -------------------------------------------------------------------------------------------------------------


def _usable_rows(frame: pl.DataFrame, target: str, drop_duplicates: bool) -> tuple[pl.DataFrame, list[str]]:
    notes: list[str] = []
    is_missing = clean_text(frame[target]).is_null() if frame[target].dtype == pl.String else frame[target].is_null()
    if frame[target].dtype.is_float():
        is_missing = is_missing | frame[target].is_nan().fill_null(True)
    if n_missing := int(is_missing.sum()):
        has, are = ("has", "is") if n_missing == 1 else ("have", "are")
        notes.append(f"{pluralize(n_missing, 'row')} {has} no {target!r} and {are} left out.")
        frame = frame.filter(~is_missing)
    if frame.height == 0:
        raise TableError(f"No row has a value of {target!r}." if n_missing else "The table has a header and no rows.")
    columns = [name for name in frame.columns if name != ROW_NUMBER]
    if n_copies := frame.height - frame.select(columns).n_unique():
        copies = "1 row is a copy of another" if n_copies == 1 else f"{n_copies} rows are copies of others"
        if drop_duplicates:
            frame = frame.unique(subset=columns, maintain_order=True)
            notes.append(f"{copies} and {'is' if n_copies == 1 else 'are'} left out.")
        else:
            notes.append(
                f"{copies}, target included. Copies in both the training and the validation rows make losses too "
                "small; to leave them out, pass drop_duplicates=True."
            )
    return frame, notes


def _usable_targets(frame: pl.DataFrame, target: str, task: Task) -> tuple[pl.DataFrame, list[str]]:
    """Leave out rows whose target is not numeric for a regression, or the only one of its class."""
    if task == "regression":
        numbers = as_numbers(frame[target])
        if n_bad := numbers.null_count():
            if n_bad > 0.5 * frame.height:
                raise TableError(f"{target!r} is not numeric: a regression is impossible; set task to classification.")
            are = "is" if n_bad == 1 else "are"
            note = f"{pluralize(n_bad, 'row')} whose {target!r} is not numeric {are} left out."
            return frame.filter(numbers.is_not_null()), [note]
        return frame, []
    labels = clean_text(frame[target])
    counts = labels.value_counts(name="n")
    single = counts.filter(pl.col("n") == 1)[target].to_list()
    if len(single) == counts.height:
        raise TableError(f"All values of {target!r} are distinct: they cannot be classes.")
    if not single:
        return frame, []
    shown, is_one = join_names(single, MAX_NAMED), len(single) == 1
    has = "has one row only and is" if is_one else "have one row only and are"
    note = f"{pluralize(len(single), 'class', 'classes')} {has} left out: {shown}."
    return frame.filter(~labels.is_in(single)), [note]


# --- the target -------------------------------------------------------------------------------------------------------


def _guess_task(target: pl.Series) -> Task:
    if target.dtype.is_temporal():
        raise TableError(f"{target.name!r} has dates: convert it to a number, such as days, or to classes.")
    if not target.dtype.is_numeric():
        if not is_textual(target):
            return "classification"
        text = clean_text(target).drop_nulls()
        numbers = as_numbers(text)
        if date_format(text):
            raise TableError(f"{target.name!r} has dates: convert it to a number, such as days, or to classes.")
        if numbers.null_count() > (1.0 - NEARLY_ALL) * text.len():
            return "classification"
        if bool(text.str.to_lowercase().is_in(["true", "false"]).all()):
            return "classification"
        if numbers.null_count() and numbers.n_unique() <= MANY_VALUES:  # codes and a few words: all are classes
            return "classification"
        target = numbers
    numbers = target.drop_nulls().cast(pl.Float64)
    is_whole = bool((numbers == numbers.floor()).all()) and float(numbers.abs().max() or 0.0) <= MAX_EXACT  # pyright: ignore[reportArgumentType]
    return "classification" if is_whole and numbers.n_unique() <= MANY_VALUES else "regression"


def _doubtful_task(target: pl.Series, task: Task) -> list[str]:
    """Warn of integers of few values, which may be amounts, and of repeated ones, which may be codes."""
    numbers = as_numbers(target).drop_nulls() if is_textual(target) else target.drop_nulls()
    if not numbers.dtype.is_numeric() or numbers.len() < target.len() - target.null_count():
        return []
    n_values, is_whole = numbers.n_unique(), bool((numbers == numbers.floor()).all())
    if task == "classification" and n_values > 2:
        return [f"The {n_values} values of {target.name!r} are treated as classes; else pass task='regression'."]
    if task == "regression" and is_whole and n_values <= MANY_REPEATS * numbers.len():
        return [f"{target.name!r} is treated as numeric; if its integers are codes, pass task='classification'."]
    return []


def _read_target(target: pl.Series, task: Task) -> tuple[NDArray[Any], TargetType]:
    if task == "regression":
        return as_numbers(target).to_numpy(), "float"
    if target.dtype == pl.Boolean:
        return target.to_numpy(), "bool"
    if target.dtype.is_numeric():
        numbers = target.cast(pl.Float64)
        if bool((numbers == numbers.floor()).all()) and float(numbers.abs().max() or 0.0) <= MAX_EXACT:  # pyright: ignore[reportArgumentType]
            return target.cast(pl.Int64).to_numpy(), "int"
    return np.array(clean_text(target).to_list(), dtype=object), "str"


def _target_warnings(y: NDArray[Any], task: Task) -> list[str]:
    if task == "regression":
        if np.ptp(y) == 0:
            raise TableError(f"The target is {y[0]:g} in all rows.")
        if np.abs(y).max() > MAX_TARGET:
            raise TableError(f"The target exceeds {MAX_TARGET:g}, whose squares overflow: divide it.")
        return []
    classes, counts = np.unique(y, return_counts=True)
    if classes.size < 2:
        raise TableError(f"The target has one class only: {classes[0]}.")
    notes: list[str] = []
    few = [f"{label} ({n})" for label, n in zip(classes, counts, strict=True) if n < FEW_ROWS_OF_CLASS]
    if few:
        notes.append(
            f"Classes with fewer than {FEW_ROWS_OF_CLASS} rows: {join_names(few, MAX_NAMED)}. They are used, but "
            "cannot be in every fold, and estimates for them are unreliable."
        )
    if counts.min() < RARE_CLASS * y.size and classes.size <= MANY_VALUES:
        rarest, frequency = classes[counts.argmin()], counts.min() / y.size
        notes.append(
            f"Class {rarest} is rare ({frequency:.2%} of the rows): a method that never predicts it can have a small "
            "error. See the balanced error, or pass metric='balanced_accuracy'."
        )
    by_plain: dict[str, list[str]] = {}
    for label in classes.tolist() if y.dtype == object else ():
        by_plain.setdefault(str(label).lower(), []).append(str(label))
    notes += [f"Classes differ in case only: {', '.join(same)}." for same in by_plain.values() if len(same) > 1]
    return notes


# --- columns ----------------------------------------------------------------------------------------------------------


def _column(
    series: pl.Series, dropped: Sequence[str], kept: Sequence[str], counters: Collection[str] = ()
) -> ColumnSchema:
    if series.name in dropped:
        return ColumnSchema(series.name, "dropped", "is dropped on request")
    result = infer_column(series)
    if result.type == "numeric" and series.name in counters:
        result = ColumnSchema(series.name, "dropped", ROW_IDENTIFIER)
    if result.type == "dropped" and series.name in kept:
        is_number = series.dtype.is_numeric() or series.dtype == pl.Boolean
        return ColumnSchema(series.name, "numeric" if is_number else "categorical", "is kept on request")
    return result


def _without_copies(columns: Iterable[ColumnSchema], frame: pl.DataFrame, kept: Sequence[str]) -> list[ColumnSchema]:
    """Drop columns that are equal to an earlier one."""
    result: list[ColumnSchema] = []
    first_with: dict[int, list[str]] = {}
    for column in columns:
        if column.type == "dropped" or column.name in kept:
            result.append(column)
            continue
        series = frame[column.name]
        same_sum = first_with.setdefault(int(series.hash().sum() or 0), [])  # pyright: ignore[reportArgumentType]
        copied = next((name for name in same_sum if _is_same(frame[name], series)), None)
        if copied is None:
            same_sum.append(column.name)
            result.append(column)
        else:
            result.append(ColumnSchema(column.name, "dropped", f"is a copy of {copied!r}"))
    return result


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    return one.dtype == other.dtype and bool(one.eq_missing(other).all())


def _without_leaks(
    columns: list[ColumnSchema], frame: pl.DataFrame, y: NDArray[Any], task: Task, kept: Sequence[str]
) -> tuple[list[ColumnSchema], list[str], list[str]]:
    """Drop columns that are equal to the target, and warn of those that alone nearly determine it."""
    truth = np.unique(y, return_inverse=True)[1].ravel() if task == "classification" else y
    result: list[ColumnSchema] = []
    notes: list[str] = []
    leaking: list[str] = []
    for column in columns:
        if column.type == "dropped" or column.name in kept:
            result.append(column)
        elif _is_target(column, frame[column.name], truth, task):
            note = f"is a copy of the target; to use it, pass keep={column.name!r}"
            result.append(ColumnSchema(column.name, "dropped", note))
        else:
            result.append(column)
            error = _relative_error(column, frame[column.name], truth, task)
            if error < LEAK_ERROR:
                leaking.append(column.name)
                notes.append(
                    f"{column.name!r} alone reduces the error to {error:.1%} of that of a constant. If its values are "
                    f"not available before the target, they leak it: pass drop={column.name!r}."
                )
    return result, notes, leaking


def _is_target(column: ColumnSchema, series: pl.Series, y: NDArray[Any], task: Task) -> bool:
    """Whether a column has one value for each class, or is a linear function of the target.

    Here and below `y` has the codes of the classes, or numbers.
    """
    if series.null_count():
        return False
    if task == "classification":
        n_classes = int(y.max()) + 1
        return series.n_unique() == n_classes == pl.DataFrame({"x": series, "y": y}).n_unique()
    if column.type != "numeric":
        return False
    x = as_numbers(series, column.format).to_numpy()
    x = x / max(float(np.abs(x).max()), 1e-300)  # squares must not overflow
    spread = float(np.std(x)) * float(np.std(y))
    if spread == 0.0 or x.size < 10:
        return False
    return abs(float(np.mean((x - x.mean()) * (y - y.mean()))) / spread) > 1.0 - 1e-9


def _relative_error(column: ColumnSchema, series: pl.Series, y: NDArray[Any], task: Task) -> float:
    """Error of a small tree on this column alone on held-out rows, relative to that of a constant."""
    from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

    some = np.random.default_rng(0).permutation(y.size)[:LEAK_ROWS]
    train, test = some[::2], some[1::2]
    made = pl.DataFrame(features_of(column, series))
    if test.size < 10:
        return 1.0
    if task == "classification":
        frequencies = np.bincount(y[test]) / test.size
        tree = DecisionTreeClassifier(max_leaf_nodes=64, min_samples_leaf=3).fit(made[train], y[train])
        return float(np.mean(tree.predict(made[test]) != y[test])) / max(1.0 - frequencies.max(), 1e-9)
    tree = DecisionTreeRegressor(max_leaf_nodes=256, min_samples_leaf=3).fit(made[train], y[train])
    return float(np.sqrt(np.mean((tree.predict(made[test]) - y[test]) ** 2)) / max(float(np.std(y[test])), 1e-300))


def _column_notes(columns: Iterable[ColumnSchema]) -> list[str]:
    return [
        f"{column.name!r} {column.note}{'; it is left out' if column.type == 'dropped' else ''}."
        for column in columns
        if column.note
    ]


def _weights(frame: pl.DataFrame, name: str, y: NDArray[Any], task: Task) -> tuple[Floats | None, list[str]]:
    if not name:
        return None, []
    weights = as_numbers(frame[name])
    if weights.null_count() or bool((weights < 0).any()):
        raise TableError(f"The sample weights in {name!r} must be numbers >= 0, without missing values.")
    result = weights.to_numpy()
    if not result.any():
        raise TableError(f"All sample weights in {name!r} are 0.")
    weightless = np.setdiff1d(y, y[result > 0]) if task == "classification" else y[:0]
    note = f"All rows of class {join_names(weightless.tolist(), MAX_NAMED)} have the sample weight 0."
    return result, [note] if weightless.size else []


def _groups(frame: pl.DataFrame, name: str) -> tuple[NDArray[Any] | None, list[str]]:
    """The group of each row; rows without one are groups of their own."""
    if not name:
        return None, []
    text = clean_text(frame[name])
    own = pl.Series([f"\0{row}" for row in range(len(text))])
    n_missing = text.null_count()
    note = f"Missing values of {name!r}: {pluralize(n_missing, 'row')}, each treated as a group of its own."
    return text.zip_with(text.is_not_null(), own.alias(name)).to_numpy(), [note] if n_missing else []


def _row_order(columns: Sequence[ColumnSchema], frame: pl.DataFrame, y: NDArray[Any], task: Task) -> RowOrder:
    """Time order or repeated entities; entities in the only feature are ignored."""
    from committee.evaluation.row_order import RowOrder, order_of_columns

    plain = [_plain_column(column, frame[column.name]) for column in columns if _may_show_order(column, frame)]
    truth = np.unique(y, return_inverse=True)[1].ravel() if task == "classification" else y
    result = order_of_columns(
        tuple(column for column in plain if column is not None), truth, is_classes=task == "classification"
    )
    others = [each for each in columns if each.type != "dropped" and each.name not in result.columns]
    return RowOrder("exchangeable") if result.kind == "groups" and not others else result


def _may_show_order(column: ColumnSchema, frame: pl.DataFrame) -> bool:
    """Whether a column is a feature, or has names of entities and was dropped for its many values."""
    if column.type != "dropped":
        return True
    series = frame[column.name]
    is_plain = is_textual(series) or series.dtype.is_numeric()
    return is_plain and column.note.startswith("has ") and 2 * series.n_unique() <= series.len()


def _plain_column(column: ColumnSchema, series: pl.Series) -> PlainColumn | None:
    from committee.evaluation.plain_columns import PlainColumn, plain_columns

    if column.type == "date":
        days = features_of(column._replace(parts=("days",)), series)[0]
        return PlainColumn(column.name, "date", days.fill_null(np.nan).to_numpy())
    if column.type == "numeric":
        return PlainColumn(column.name, "number", as_numbers(series, column.format).fill_null(np.nan).to_numpy())
    text = clean_text(series)
    return next(iter(plain_columns(text.to_frame())), None)


def _order_words(order: RowOrder) -> list[str]:
    from committee.evaluation.row_order import explain_order

    words = explain_order(order, _switches(order))
    return [words] if words else []


def _switches(order: RowOrder) -> Switches:
    from committee.evaluation.row_order import Switches

    by_group = f"pass groups={order.columns[0]!r}" if order.columns else "pass the column of the groups as groups"
    if len(order.columns) > 1:
        by_group = "join them into one column and pass it as groups"
    return Switches("pass shuffle=True", f"pass time={ROW_ORDER[0]!r}", by_group)


def _times(series: pl.Series) -> NDArray[Any]:
    """Values that sort by time."""
    if series.null_count():
        raise TableError(f"The time column {series.name!r} has {pluralize(series.null_count(), 'missing value')}.")
    if series.dtype.is_temporal() or series.dtype.is_numeric():
        return series.to_physical().to_numpy()
    column = infer_column(series)
    if column.type == "numeric":
        return as_numbers(series).to_numpy()
    if column.type == "date":
        return features_of(column._replace(parts=("days",)), series)[0].to_numpy()
    raise TableError(f"The time column {series.name!r} has neither dates nor numbers.")
