"""From a user's table to columns and target: what is odd about it is noticed, said and handled.

`read_training_table` looks at every column (`ingest/column_types.py`), leaves out those that tell nothing or too much,
and rows without a target; what it did is the `TableRecipe`, which is kept with the model as JSON, so that
`apply_recipe` reads new tables in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import join_names, pluralize
from committee.ingest.column_types import (
    MAX_EXACT,
    NEARLY_ALL,
    NUMBERS_ROWS,
    ColumnRecipe,
    as_numbers,
    clean_text,
    columns_from,
    date_format,
    is_row_number,
    is_textual,
    recipe_for,
)
from committee.ingest.files import DUPLICATED, TableError

if TYPE_CHECKING:  # prediction needs none of the studies
    from committee.evaluation._plain_columns import PlainColumn
    from committee.evaluation.row_order import RowOrder, Switches

Task = Literal["classification", "regression"]

MANY_VALUES = 20
"""Whole numbers of more distinct values than this are taken for a regression."""

FEW_ROWS_OF_CLASS = 5
"""A class with fewer rows cannot be in every fold."""

RARE_SHARE = 0.02
"""Of the rows: a smaller class makes the error a poor guide."""

LOOKED_AT = 5000
"""Rows that the search for leaking columns looks at."""

TOO_GOOD = 0.01
"""A column alone that leaves less than this share of the error is suspicious."""

COMES_AGAIN = 0.5
"""Values for each row: of fewer, whole numbers may be codes."""

ROW_NUMBER = "\0row number of the file"
"""No column of a file is called so."""

ROW_ORDER = "row-order"
"""What stands for a time column where the rows of the file are in time order."""

MAX_TARGET = 1e150

CLOSE = 0.65
"""How alike two names must be (difflib) for one to be suggested for the other."""

MAX_NAMED = 6
MAX_LISTED = 20


class TableRecipe(NamedTuple):
    """How a table becomes features and target. Plain data: `to_json` and `from_json` lose nothing.

    >>> recipe = TableRecipe("y", "classification", (ColumnRecipe("x", "number", ""),), "bool", "", "", "")
    >>> TableRecipe.from_json(recipe.to_json()) == recipe
    True
    """

    target: str
    task: Task
    columns: tuple[ColumnRecipe, ...]  # every other column of the table, dropped ones too
    labels: Literal["bool", "int", "str", "float"]  # what the classes are
    weights: str  # names of the columns that are no features, "" for none
    group: str
    time: str

    def to_json(self) -> str:
        columns = [column._asdict() for column in self.columns]
        return json.dumps({**self._asdict(), "columns": columns})

    @classmethod
    def from_json(cls, text: str) -> Self:
        result: dict[str, Any] = json.loads(text)
        columns: list[dict[str, Any]] = result.pop("columns")
        made = [_column_recipe(column) for column in columns]
        return cls(columns=tuple(made), **result)

    @property
    def kept(self) -> tuple[ColumnRecipe, ...]:
        return tuple(column for column in self.columns if column.kind != "dropped")


def _column_recipe(plain: dict[str, Any]) -> ColumnRecipe:
    result = ColumnRecipe(**{name: value for name, value in plain.items() if name in ColumnRecipe._fields})
    return result._replace(values=tuple(result.values), parts=tuple(result.parts))  # JSON has lists only


class TableReading(NamedTuple):
    """A table read for training."""

    X: pl.DataFrame
    y: NDArray[Any]
    recipe: TableRecipe
    warnings: tuple[str, ...]  # what was noticed and what was done about it
    weights: Floats | None
    groups: NDArray[Any] | None
    times: NDArray[Any] | None
    rows: NDArray[np.int64]  # the rows of the file that are used
    leaks: tuple[str, ...] = ()  # columns that nearly tell the target alone
    order: RowOrder | None = None  # time order or repeated entities, where they were looked for


def read_training_table(
    frame: pl.DataFrame,
    target: str,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    weights: str = "",
    group: str = "",
    time: str = "",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop_duplicates: bool = False,
    shuffle: bool = False,
) -> TableReading:
    """Features and target of a table, with what is odd about it.

    `time` is a column or "row-order". Without `group`, `time` and `shuffle`, time order and repeated entities are
    looked for.
    """
    if shuffle and (group or time):
        raise TableError("--shuffle contradicts --groups and --time: leave one of them out.")
    by_rows = time == ROW_ORDER and ROW_ORDER not in frame.columns
    time = "" if by_rows else time
    target, weights, group, time = (find_column(frame, name) if name else "" for name in (target, weights, group, time))
    dropped, kept = ([find_column(frame, name) for name in names] for names in (drop, keep))
    if target in dropped:
        raise TableError(f"{target!r} is the target: it cannot be dropped.")
    if target in (weights, group, time):
        what = "weights" if target == weights else "groups" if target == group else "times"
        raise TableError(f"{target!r} is the target: it cannot be the {what} of the rows as well.")
    doubles = _shared_names(frame, target)
    counters = {name for name in frame.columns if is_row_number(frame[name])}  # rows left out would leave gaps
    frame, notes = _usable_rows(frame.with_row_index(ROW_NUMBER), target, drop_duplicates)
    chosen: Task = _guess_task(frame[target]) if task == "auto" else task
    if task == "auto":
        notes += _doubtful_task(frame[target], chosen)
    frame, more = _usable_targets(frame, target, chosen)
    y, labels = _read_target(frame[target], chosen)
    of_target = _target_warnings(y, chosen)
    row_weights, of_weights = _weights(frame, weights, y, chosen)
    special = {name for name in (target, weights, group, time, ROW_NUMBER) if name}
    recipes = [_recipe(frame[name], dropped, kept, counters) for name in frame.columns if name not in special]
    recipes, leaks, leaking = _without_leaks(_without_twins(recipes, frame, kept), frame, y, chosen, kept)
    order = None if shuffle or group or time or by_rows else _row_order(recipes, frame, y, chosen)
    if order is not None and order.kind == "groups" and len(order.columns) == 1:  # as with --groups, no feature
        group = order.columns[0]
        recipes = [each for each in recipes if each.name != group]
    recipe = TableRecipe(target, chosen, tuple(recipes), labels, weights, group, time)
    if not recipe.kept:
        raise TableError(_nothing_left(recipes, target))
    of_order = [] if order is None else _order_words(order)
    groups, of_groups = _groups(frame, group)
    of_rows = (*notes, *more, *of_target, *of_weights, *of_groups)
    return TableReading(
        X=apply_recipe(recipe, frame),
        y=y,
        recipe=recipe,
        warnings=(*doubles, *of_order, *of_rows, *_column_words(recipes), *leaks),
        weights=row_weights,
        groups=groups,
        times=_times(frame[time]) if time else np.arange(frame.height) if by_rows else None,
        rows=frame[ROW_NUMBER].to_numpy().astype(np.int64),
        leaks=tuple(leaking),
        order=order,
    )


def _nothing_left(recipes: Sequence[ColumnRecipe], target: str) -> str:
    if not recipes:
        return (
            f"No column is left to learn from: the table has none but {target!r} and those of --sample-weight, "
            "--groups and --time."
        )
    more = f"; and {len(recipes) - MAX_NAMED} more" if len(recipes) > MAX_NAMED else ""
    return (
        "No column is left to learn from: "
        + "; ".join(f"{r.name!r} {r.word}" for r in recipes[:MAX_NAMED])
        + more
        + "."
    )


def apply_recipe(recipe: TableRecipe, frame: pl.DataFrame) -> pl.DataFrame:
    """The features of a table, as in training."""
    names = [column.name for column in recipe.kept]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        near = get_close_matches(missing[0], frame.columns, n=1, cutoff=CLOSE)
        advice = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(
            f"The table has no column {join_names(list(map(repr, missing)), MAX_NAMED)}, which the model "
            f"needs.{advice} It has: {join_names(frame.columns, MAX_LISTED)}."
        )
    made = [one for column in recipe.kept for one in columns_from(column, frame[column.name])]
    taken = set[str]()
    for place, one in enumerate(made):
        name = one.name
        while name in taken:  # a date "d" makes "d.year", and the table may have one
            name += "'"
        taken.add(name)
        made[place] = one.alias(name)
    return pl.DataFrame(made)


def find_column(frame: pl.DataFrame, name: str) -> str:
    """The column of that name; case and blanks around it do not matter."""
    if name in frame.columns:
        return name
    plain = {column.strip().lower(): column for column in frame.columns}
    if name.strip().lower() in plain:
        return plain[name.strip().lower()]
    near = [plain[match] for match in get_close_matches(name.strip().lower(), list(plain), n=3, cutoff=CLOSE)]
    there = f"There are: {join_names(frame.columns, MAX_LISTED)}."
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else there
    raise TableError(f"No such column: {name!r}. {advice}")


def _shared_names(frame: pl.DataFrame, target: str) -> list[str]:
    """Columns that had the name of an earlier one; of two targets the right one cannot be known."""
    notes: list[str] = []
    for name in frame.columns:
        shared, mark, number = name.rpartition(DUPLICATED)
        if not mark or not number.isdigit() or shared not in frame.columns:
            continue
        if shared == target:
            raise TableError(f"More than one column is called {target!r}: rename those that are not the target.")
        notes.append(f"More than one column is called {shared!r}; another one is taken as {name!r}.")
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
                f"{copies}, target included. If that is the same case twice, leave it out (--drop-duplicates): copies "
                "on both sides of a split make every error look smaller."
            )
    return frame, notes


def _usable_targets(frame: pl.DataFrame, target: str, task: Task) -> tuple[pl.DataFrame, list[str]]:
    """Without targets that cannot be learned: text where numbers are wanted, classes of a single row."""
    if task == "regression":
        numbers = as_numbers(frame[target])
        if n_bad := numbers.null_count():
            if n_bad > 0.5 * frame.height:
                raise TableError(
                    f"{target!r} holds text, no numbers: regression is impossible, take --task classification."
                )
            are = "is" if n_bad == 1 else "are"
            note = f"{pluralize(n_bad, 'row')} whose {target!r} is no number {are} left out."
            return frame.filter(numbers.is_not_null()), [note]
        return frame, []
    labels = clean_text(frame[target])
    counts = labels.value_counts(name="n")
    single = counts.filter(pl.col("n") == 1)[target].to_list()
    if len(single) == counts.height:
        raise TableError(f"Every value of {target!r} stands once: it names the rows and is no class.")
    if not single:
        return frame, []
    shown, is_one = join_names(single, MAX_NAMED), len(single) == 1
    has, them = ("has one row only and is", "it") if is_one else ("have one row only and are", "them")
    classes = pluralize(len(single), "class", "classes")
    note = f"{classes} {has} left out, for nothing can be learned of {them}: {shown}."
    return frame.filter(~labels.is_in(single)), [note]


# --- the target -------------------------------------------------------------------------------------------------------


def _guess_task(target: pl.Series) -> Task:
    if target.dtype.is_temporal():
        raise TableError(f"{target.name!r} holds dates: turn it into a number, such as days, or into classes.")
    if not target.dtype.is_numeric():
        if not is_textual(target):
            return "classification"
        text = clean_text(target).drop_nulls()
        numbers = as_numbers(text)
        if date_format(text):
            raise TableError(f"{target.name!r} holds dates: turn it into a number, such as days, or into classes.")
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
    """Whole numbers of few values may be amounts, those that come again and again may be codes, as zip codes are."""
    numbers = as_numbers(target).drop_nulls() if is_textual(target) else target.drop_nulls()
    if not numbers.dtype.is_numeric() or numbers.len() < target.len() - target.null_count():
        return []
    n_values, is_whole = numbers.n_unique(), bool((numbers == numbers.floor()).all())
    if task == "classification" and n_values > 2:
        return [f"{target.name!r} has {n_values} values and is taken for classes; for amounts: --task regression."]
    if task == "regression" and is_whole and n_values <= COMES_AGAIN * numbers.len():
        return [f"{target.name!r} is taken for amounts; if its whole numbers are codes: --task classification."]
    return []


def _read_target(target: pl.Series, task: Task) -> tuple[NDArray[Any], Literal["bool", "int", "str", "float"]]:
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
            raise TableError(f"The target is {y[0]:g} in every row: there is nothing to learn.")
        if np.abs(y).max() > MAX_TARGET:
            raise TableError(f"The target goes beyond {MAX_TARGET:g}, whose squares are no numbers: divide it.")
        return []
    classes, counts = np.unique(y, return_counts=True)
    if classes.size < 2:
        raise TableError(f"The target is {classes[0]} in every row: there is nothing to learn.")
    notes: list[str] = []
    few = [f"{label} ({n})" for label, n in zip(classes, counts, strict=True) if n < FEW_ROWS_OF_CLASS]
    if few:
        notes.append(
            f"Classes with fewer than {FEW_ROWS_OF_CLASS} rows: {join_names(few, MAX_NAMED)}. They are kept, but not "
            "every fold can have one, and what is said of them is guesswork."
        )
    if counts.min() < RARE_SHARE * y.size and classes.size <= MANY_VALUES:
        rarest, share = classes[counts.argmin()], counts.min() / y.size
        notes.append(
            f"Class {rarest} is rare ({share:.2%} of the rows): a method can have a small error and never find it. "
            "Look at the balanced error, or choose by it: --metric 'balanced error'."
        )
    by_plain: dict[str, list[str]] = {}
    for label in classes.tolist() if y.dtype == object else ():
        by_plain.setdefault(str(label).lower(), []).append(str(label))
    notes += [f"Classes differ in case only: {', '.join(same)}." for same in by_plain.values() if len(same) > 1]
    return notes


# --- columns ----------------------------------------------------------------------------------------------------------


def _recipe(
    series: pl.Series, dropped: Sequence[str], kept: Sequence[str], counters: Collection[str] = ()
) -> ColumnRecipe:
    if series.name in dropped:
        return ColumnRecipe(series.name, "dropped", "was dropped on request")
    result = recipe_for(series)
    if result.kind == "number" and series.name in counters:
        result = ColumnRecipe(series.name, "dropped", NUMBERS_ROWS)
    if result.kind == "dropped" and series.name in kept:
        is_number = series.dtype.is_numeric() or series.dtype == pl.Boolean
        return ColumnRecipe(series.name, "number" if is_number else "category", "is kept on request")
    return result


def _without_twins(recipes: Iterable[ColumnRecipe], frame: pl.DataFrame, kept: Sequence[str]) -> list[ColumnRecipe]:
    """Columns that repeat an earlier one are dropped."""
    result: list[ColumnRecipe] = []
    first_with: dict[int, list[str]] = {}
    for recipe in recipes:
        if recipe.kind == "dropped" or recipe.name in kept:
            result.append(recipe)
            continue
        series = frame[recipe.name]
        same_sum = first_with.setdefault(int(series.hash().sum() or 0), [])  # pyright: ignore[reportArgumentType]
        twin = next((name for name in same_sum if _is_same(frame[name], series)), None)
        if twin is None:
            same_sum.append(recipe.name)
            result.append(recipe)
        else:
            result.append(ColumnRecipe(recipe.name, "dropped", f"is a copy of {twin!r}"))
    return result


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    return one.dtype == other.dtype and bool(one.eq_missing(other).all())


def _without_leaks(
    recipes: list[ColumnRecipe], frame: pl.DataFrame, y: NDArray[Any], task: Task, kept: Sequence[str]
) -> tuple[list[ColumnRecipe], list[str], list[str]]:
    """Columns that are the target under another name are dropped; those that nearly tell it alone are named."""
    truth = np.unique(y, return_inverse=True)[1].ravel() if task == "classification" else y
    result: list[ColumnRecipe] = []
    notes: list[str] = []
    leaking: list[str] = []
    for recipe in recipes:
        if recipe.kind == "dropped" or recipe.name in kept:
            result.append(recipe)
        elif _is_target(recipe, frame[recipe.name], truth, task):
            word = "is the target under another name; to use it all the same: --keep " + repr(recipe.name)
            result.append(ColumnRecipe(recipe.name, "dropped", word))
        else:
            result.append(recipe)
            left = _error_left(recipe, frame[recipe.name], truth, task)
            if left < TOO_GOOD:
                leaking.append(recipe.name)
                notes.append(
                    f"{recipe.name!r} alone leaves {left:.1%} of the error that no model at all makes. If it is known "
                    f"only after the target, it leaks: leave it out (--drop {recipe.name!r})."
                )
    return result, notes, leaking


def _is_target(recipe: ColumnRecipe, series: pl.Series, y: NDArray[Any], task: Task) -> bool:
    """One value for each class and one class for each value, or a straight line through all rows.

    Here and below `y` holds the positions of the classes, or numbers.
    """
    if series.null_count():
        return False
    if task == "classification":
        n_classes = int(y.max()) + 1
        return series.n_unique() == n_classes == pl.DataFrame({"x": series, "y": y}).n_unique()
    if recipe.kind != "number":
        return False
    x = as_numbers(series, recipe.format).to_numpy()
    x = x / max(float(np.abs(x).max()), 1e-300)  # squares of huge numbers are none
    spread = float(np.std(x)) * float(np.std(y))
    if spread == 0.0 or x.size < 10:
        return False
    return abs(float(np.mean((x - x.mean()) * (y - y.mean()))) / spread) > 1.0 - 1e-9


def _error_left(recipe: ColumnRecipe, series: pl.Series, y: NDArray[Any], task: Task) -> float:
    """Error of a small tree on this column alone, on rows it did not see, in units of that of no model."""
    from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

    some = np.random.default_rng(0).permutation(y.size)[:LOOKED_AT]
    train, test = some[::2], some[1::2]
    made = pl.DataFrame(columns_from(recipe, series))
    if test.size < 10:
        return 1.0
    if task == "classification":
        shares = np.bincount(y[test]) / test.size
        tree = DecisionTreeClassifier(max_leaf_nodes=64, min_samples_leaf=3).fit(made[train], y[train])
        return float(np.mean(tree.predict(made[test]) != y[test])) / max(1.0 - shares.max(), 1e-9)
    tree = DecisionTreeRegressor(max_leaf_nodes=256, min_samples_leaf=3).fit(made[train], y[train])
    return float(np.sqrt(np.mean((tree.predict(made[test]) - y[test]) ** 2)) / max(float(np.std(y[test])), 1e-300))


def _column_words(recipes: Iterable[ColumnRecipe]) -> list[str]:
    return [
        f"{recipe.name!r} {recipe.word}{'; it is left out' if recipe.kind == 'dropped' else ''}."
        for recipe in recipes
        if recipe.word
    ]


def _weights(frame: pl.DataFrame, name: str, y: NDArray[Any], task: Task) -> tuple[Floats | None, list[str]]:
    if not name:
        return None, []
    weights = as_numbers(frame[name])
    if weights.null_count() or bool((weights < 0).any()):
        raise TableError(f"The weights in {name!r} must be numbers >= 0, one in every row.")
    result = weights.to_numpy()
    if not result.any():
        raise TableError(f"All weights in {name!r} are 0: there is nothing to learn from.")
    weightless = np.setdiff1d(y, y[result > 0]) if task == "classification" else y[:0]
    it = "it" if weightless.size == 1 else "they"
    words = f"All rows of {join_names(weightless.tolist(), MAX_NAMED)} have the weight 0: {it} will hardly be answered."
    notes = [words] if weightless.size else []
    return result, notes


def _groups(frame: pl.DataFrame, name: str) -> tuple[NDArray[Any] | None, list[str]]:
    """The group of each row. Nobody knows that rows without one belong together: each is taken for a group."""
    if not name:
        return None, []
    text = clean_text(frame[name])
    own = pl.Series([f"\0{row}" for row in range(len(text))])
    n_missing = text.null_count()
    has = "has" if n_missing == 1 else "have"
    words = f"{pluralize(n_missing, 'row')} {has} no {name!r}: each is taken for a group of its own."
    notes = [words] if n_missing else []
    return text.zip_with(text.is_not_null(), own.alias(name)).to_numpy(), notes


def _row_order(recipes: Sequence[ColumnRecipe], frame: pl.DataFrame, y: NDArray[Any], task: Task) -> RowOrder:
    """Time order or repeated entities; entities in the last column that is left count for nothing."""
    from committee.evaluation.row_order import RowOrder, order_of_columns

    columns = [_plain_column(recipe, frame[recipe.name]) for recipe in recipes if _tells_order(recipe, frame)]
    truth = np.unique(y, return_inverse=True)[1].ravel() if task == "classification" else y
    result = order_of_columns(
        tuple(column for column in columns if column is not None), truth, is_classes=task == "classification"
    )
    is_last = result.kind == "groups" and not [
        r for r in recipes if r.kind != "dropped" and r.name not in result.columns
    ]
    return RowOrder("exchangeable") if is_last else result


def _tells_order(recipe: ColumnRecipe, frame: pl.DataFrame) -> bool:
    """Features, and names of entities that are no features for having too many values."""
    if recipe.kind != "dropped":
        return True
    series = frame[recipe.name]
    is_plain = is_textual(series) or series.dtype.is_numeric()
    return is_plain and recipe.word.startswith("has ") and 2 * series.n_unique() <= series.len()


def _plain_column(recipe: ColumnRecipe, series: pl.Series) -> PlainColumn | None:
    from committee.evaluation._plain_columns import PlainColumn, plain_columns

    if recipe.kind == "date":
        days = columns_from(recipe._replace(parts=("days",)), series)[0]
        return PlainColumn(recipe.name, "date", days.fill_null(np.nan).to_numpy())
    if recipe.kind == "number":
        return PlainColumn(recipe.name, "number", as_numbers(series, recipe.format).fill_null(np.nan).to_numpy())
    text = clean_text(series)
    return next(iter(plain_columns(text.to_frame())), None)


def _order_words(order: RowOrder) -> list[str]:
    from committee.evaluation.row_order import explain_order

    words = explain_order(order, _switches(order))
    return [words] if words else []


def _switches(order: RowOrder) -> Switches:
    from committee.evaluation.row_order import Switches

    by_group = f"pass --groups {order.columns[0]!r}" if order.columns else "pass --groups COLUMN"
    if len(order.columns) > 1:
        by_group = "join them into one column and pass it as --groups"
    return Switches("pass --shuffle", f"pass --time {ROW_ORDER}", by_group)


def _times(series: pl.Series) -> NDArray[Any]:
    """Something that sorts by time."""
    if series.null_count():
        raise TableError(
            f"The time column {series.name!r} is empty in {pluralize(series.null_count(), 'row')}: fill it in."
        )
    if series.dtype.is_temporal() or series.dtype.is_numeric():
        return series.to_physical().to_numpy()
    recipe = recipe_for(series)
    if recipe.kind == "number":
        return as_numbers(series).to_numpy()
    if recipe.kind == "date":
        return columns_from(recipe._replace(parts=("days",)), series)[0].to_numpy()
    raise TableError(f"The time column {series.name!r} holds neither dates nor numbers.")
