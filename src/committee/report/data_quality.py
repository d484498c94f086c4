"""Description and quality of the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from committee.base.text import NO_VALUE, format_number, format_percent, join_names, pluralize, shorten
from committee.report._section import Section, Tile, table
from committee.report.context import Context
from committee.tabular.cells import Table, is_missing
from committee.tabular.identity import distinct_rows

TITLE = "Data"
MAX_NAMED, MAX_COLUMNS = 4, 60
MAX_COMPARED = 200_000
"""Rows up to which duplicates are counted."""

MIN_CLASS, FEW_ROWS, IMBALANCE = 10, 200, 0.8


class Column(NamedTuple):
    """Facts about a column."""

    name: str
    missing: float  # fraction
    is_constant: bool
    cells: tuple[str, ...]  # of the table of columns


def data(context: Context) -> Section:
    """Warnings about the table, and a row per column."""
    columns = [_column(context.table, f, name) for f, name in enumerate(context.names)]
    given = () if context.notes is None else context.notes.warnings
    duplicates, conflicts = _duplicates(context)
    notes = [
        *given, *_missing(columns), *_constant(columns), *([] if given else duplicates), *conflicts,
        *_classes(context, bool(given)),
    ]  # fmt: skip
    if context.n_rows < FEW_ROWS:
        notes.append(f"{pluralize(context.n_rows, 'row')} only: all estimates have large standard errors.")
    d, k = len(columns), context.classes.size
    tiles = [Tile(f"{context.n_rows:,}", "rows"), Tile(f"{d:,}", "columns")]
    tiles += [Tile(str(k), "classes")] if k else []
    lead = f"{pluralize(len(notes), 'remark')} about the table." if notes else "No problems were found in the table."
    caption = "Columns" + (f", the first {MAX_COLUMNS} of {d:,}" if d > MAX_COLUMNS else "")
    header = "column|type|#distinct values|#missing|#median|#range"
    described = table(caption, header, [column.cells for column in columns[:MAX_COLUMNS]])
    return Section("data", TITLE, lead, tuple(tiles), collapsed=(described,), notes=tuple(notes))


def values_of(of: Table, f: int) -> NDArray[Any]:
    """One column as an array."""
    return of[:, f] if isinstance(of, np.ndarray) else np.asarray(of[:, f].to_numpy())


def _column(of: Table, f: int, name: str) -> Column:
    values, missing_cells = values_of(of, f), _missing_cells(of, f)
    present, missing = values[~missing_cells], float(missing_cells.mean())
    is_constant = present.size == 0 or bool(np.all(present == present[0]))
    if f >= MAX_COLUMNS:
        return Column(name, missing, is_constant, ())
    is_numeric = present.dtype.kind in "fiu"
    has_range = is_numeric and present.size > 0
    median, low, high = (
        (format_number(float(value(present))) for value in (np.median, np.min, np.max)) if has_range else [NO_VALUE] * 3
    )
    n_distinct = np.unique(present).size if is_numeric else len(set(present.tolist()))
    cells = (
        shorten(name), "numeric" if is_numeric else "categorical", f"{n_distinct:,}", format_percent(missing), median,
        f"{low} to {high}" if has_range else NO_VALUE,
    )  # fmt: skip
    return Column(name, missing, is_constant, cells)


def _missing_cells(of: Table, f: int) -> NDArray[np.bool_]:
    if isinstance(of, np.ndarray):
        values = of[:, f]
        return np.isnan(values) if values.dtype.kind == "f" else np.array([is_missing(v) for v in values], bool)
    series: Any = of[:, f]
    is_float = series.dtype in (nw.Float32, nw.Float64)
    return np.asarray(((series.is_null() | series.is_nan()) if is_float else series.is_null()).to_numpy(), bool)


def _named(columns: list[Column]) -> str:
    return join_names((shorten(column.name, 30) for column in columns), MAX_NAMED)


def _missing(columns: list[Column]) -> list[str]:
    some = [column for column in columns if column.missing > 0.0]
    if not some:
        return []
    worst = max(some, key=lambda column: column.missing)
    n = pluralize(len(some), "column has", "columns have")
    return [
        f"{n} missing values ({_named(some)}), at most {format_percent(worst.missing)} in {shorten(worst.name, 30)}."
    ]


def _constant(columns: list[Column]) -> list[str]:
    some = [column for column in columns if column.is_constant]
    return [f"{pluralize(len(some), 'constant column')}: {_named(some)}."] if some else []


def _duplicates(context: Context) -> tuple[list[str], list[str]]:
    """Notes about duplicate rows, and about duplicates with different targets."""
    if context.n_rows > MAX_COMPARED:
        return [], []
    n_distinct = distinct_rows(context.table).n
    n = context.n_rows - n_distinct
    if not n:
        return [], []
    n_different = distinct_rows(context.table, context.y).n - n_distinct
    duplicates = f"{pluralize(n, 'duplicate row')}: copies may be in both the training and the test set."
    conflicts = (
        f"{pluralize(n_different, 'pair')} of rows with equal features but different targets: irreducible error."
    )
    return [duplicates], [conflicts] if n_different else []


def _classes(context: Context, is_known: bool) -> list[str]:
    """Notes about rare classes and imbalance."""
    if not context.is_classifier:
        return []
    n = np.bincount(context.codes[context.codes >= 0], minlength=context.classes.size)
    rare, largest = [str(context.classes[k]) for k in np.flatnonzero(n < MIN_CLASS)], float(n.max() / max(n.sum(), 1))
    notes = list[str]()
    if rare and not is_known:
        has = pluralize(len(rare), "class has", "classes have")
        notes.append(f"{has} fewer than {MIN_CLASS} rows ({join_names(rare, MAX_NAMED)}).")
    if largest > IMBALANCE:
        name = str(context.classes[int(n.argmax())])
        notes.append(f"Imbalanced classes: {format_percent(largest)} of the rows are {name}. See recall and precision.")
    return notes
