"""The parts of a report: sections with text, highlighted values, charts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Spec = dict[str, Any]
Color = Literal["blue", "orange", "green", "purple", "red", "grey"]


class Table(NamedTuple):
    """Cells as text; numeric columns are right-aligned."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]  # of each column
    is_card: bool = False  # "yes", "partly" and "no" are drawn as badges


class Key(NamedTuple):
    """Entry of a legend."""

    label: str
    color: Color
    is_dashed: bool = False
    mark: Literal["line", "area", "dot"] = "line"


class Figure(NamedTuple):
    """A chart with its description and its values as a table."""

    key: str  # id in the page
    spec: Spec  # Vega-Lite
    title: str
    alt: str
    table: Table
    legend: tuple[Key, ...] = ()
    width: Literal["wide", "narrow", "small"] = "wide"  # one, two or three in a row


class Tile(NamedTuple):
    """A highlighted value."""

    value: str
    label: str


class Section(NamedTuple):
    """A section of the page."""

    key: str
    title: str
    lead: str
    tiles: tuple[Tile, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    collapsed: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    code: str = ""


class Omitted(NamedTuple):
    """A section that does not apply, and the reason."""

    title: str
    reason: str


def table(caption: str, header: str, rows: Sequence[tuple[str, ...]], more: Sequence[str] = ()) -> Table:
    """Make a table from a header such as "method|#error", where # marks numeric columns.

    `more` are the names of further numeric columns, which may contain any character.

    >>> table("Errors", "method|#error", [("forest", "0.1", "3")], ["a|b"]).header
    ('method', 'error', 'a|b')
    """
    names = header.split("|")
    numeric = [name[:1] == "#" for name in names] + [True] * len(more)
    return Table(caption, (*(name.removeprefix("#") for name in names), *more), tuple(rows), tuple(numeric))
