"""What is odd about the table itself."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from committee.base.text import format_number, format_percent, join_names, pluralize, shorten
from committee.report._context import Evidence
from committee.report._section import Section, Tile, table
from committee.tabular.cells import Table
from committee.tabular.identity import distinct_rows

TITLE = "The data"
MAX_NAMED, MAX_COLUMNS = 4, 60
MAX_COMPARED = 200_000
"""Rows up to which copies are counted."""


def data_warnings(result: Evidence) -> Section:
    """Warnings of whoever read the table, what can be seen in it, and a line about every column."""
    told = () if result.notes is None else result.notes.warnings
    notes = [*told, *_seen(result, bool(told))]
    n, d = result.table.shape
    tiles = [Tile(f"{n:,}", "row" if n == 1 else "rows"), Tile(f"{d:,}", "column" if d == 1 else "columns")]
    if result.is_classifier:
        tiles.append(Tile(f"{len(result.classes)}", "class" if len(result.classes) == 1 else "classes"))
    lead = (
        "Nothing odd was noticed in the table."
        if not notes
        else f"{pluralize(len(notes), 'thing')} to know about the table."
    )
    return Section("data", TITLE, lead, tuple(tiles), folded=(_columns(result),), notes=tuple(notes))


def _seen(result: Evidence, is_told: bool) -> list[str]:
    """What can be seen; who read the table has told of copies and rare classes already."""
    notes = [*_missing(result), *_constant(result), *_twins(result, is_told)]
    if result.is_classifier:
        notes += _rare_classes(result, is_told)
    if result.n_rows < 200:
        notes.append(f"{pluralize(result.n_rows, 'row')} are few: every figure on this page has a wide margin.")
    return notes


def column(of: Table, f: int) -> NDArray[Any]:
    """One column as an array of its own kind."""
    return of[:, f] if isinstance(of, np.ndarray) else np.asarray(of[:, f].to_numpy())


def missing_cells(of: Table, f: int) -> NDArray[np.bool_]:
    """Which cells of a column are empty."""
    if isinstance(of, np.ndarray):
        values = of[:, f]
        return np.isnan(values) if values.dtype.kind == "f" else np.array([v is None or v != v for v in values], bool)
    series: Any = of[:, f]
    is_float = series.dtype in (nw.Float32, nw.Float64)
    return np.asarray(((series.is_null() | series.is_nan()) if is_float else series.is_null()).to_numpy(), bool)


def _named(result: Evidence, places: list[int]) -> str:
    names = [shorten(result.names[f], 30) for f in places[:MAX_NAMED]]
    return join_names([*names, f"{len(places) - MAX_NAMED} more"]) if len(places) > MAX_NAMED else join_names(names)


def _missing(result: Evidence) -> list[str]:
    shares = np.array([missing_cells(result.table, f).mean() for f in range(len(result.names))])
    some = [int(f) for f in np.flatnonzero(shares > 0.0)]
    if not some:
        return []
    worst = int(np.argmax(shares))
    return [
        f"{pluralize(len(some), 'column has', 'columns have')} missing values ({_named(result, some)}), at most "
        f"{format_percent(float(shares[worst]))} of {result.names[worst]}."
    ]


def _constant(result: Evidence) -> list[str]:
    same = [f for f in range(len(result.names)) if _n_distinct(result.table, f, 2) < 2]
    if not same:
        return []
    what = pluralize(len(same), "column is constant and tells", "columns are constant and tell")
    return [f"{what} nothing: {_named(result, same)}."]


def _n_distinct(of: Table, f: int, enough: int) -> int:
    values = column(of, f)[~missing_cells(of, f)]
    if values.size == 0:
        return 0
    if enough == 2:  # quick, and true of most columns
        return 1 if bool(np.all(values == values[0])) else 2
    return len(set(values.tolist()))


def _twins(result: Evidence, is_told: bool) -> list[str]:
    """Rows that are the same in every column, and those among them with different targets."""
    if result.n_rows > MAX_COMPARED:
        return []
    distinct = distinct_rows(result.table)
    place, n_twins = distinct.of_row, result.n_rows - distinct.n
    if not n_twins:
        return []
    repeated = (
        f"{pluralize(n_twins, 'row repeats', 'rows repeat')} another one in every column: copies may stand in both "
        "parts of a split."
    )
    order = np.lexsort((result.codes if result.is_classifier else result.y.astype(np.float64), place))
    target = (result.codes if result.is_classifier else result.y.astype(np.float64))[order]
    n_different = int(np.count_nonzero((np.diff(place[order]) == 0) & (np.diff(target) != 0)))
    contrary = (
        f"{pluralize(n_different, 'pair')} of rows with the same features differ in the target: no model can be right "
        "about both."
    )
    return [*([] if is_told else [repeated]), *([contrary] if n_different else [])]


def _rare_classes(result: Evidence, is_told: bool) -> list[str]:
    codes = result.codes[result.codes >= 0]
    n = np.bincount(codes, minlength=len(result.classes))
    notes = list[str]()
    rare = [str(result.classes[k]) for k in np.flatnonzero(n < 10)]
    if rare and not is_told:
        word = "class has" if len(rare) == 1 else "classes have"
        notes.append(
            f"{len(rare)} {word} fewer than 10 rows ({join_names(rare[:MAX_NAMED])}): little can be said of it."
        )
    largest = float(n.max() / max(n.sum(), 1))
    if largest > 0.8:
        name = str(result.classes[int(n.argmax())])
        notes.append(
            f"{format_percent(largest)} of the rows are {name}: a small error alone says little, look at each class by "
            "itself."
        )
    return notes


def _columns(result: Evidence) -> Any:
    """A line for each column."""
    rows = list[tuple[str, ...]]()
    for f, name in list(enumerate(result.names))[:MAX_COLUMNS]:
        values, empty = column(result.table, f), missing_cells(result.table, f)
        present = values[~empty]
        is_number = present.dtype.kind in "fiu"
        middle = format_number(float(np.median(present))) if is_number and present.size else "—"
        ends = (
            f"{format_number(float(present.min()))} to {format_number(float(present.max()))}"
            if is_number and present.size
            else "—"
        )
        rows.append((
            shorten(name), "numbers" if is_number else "categories", f"{_n_distinct(result.table, f, 3):,}",
            format_percent(float(empty.mean())), middle, ends,
        ))  # fmt: skip
    caption = "The columns" + (
        f", the first {MAX_COLUMNS} of {len(result.names)}" if len(result.names) > MAX_COLUMNS else ""
    )
    return table(caption, "column|kind|#distinct values|#missing|#median|#range", rows)
