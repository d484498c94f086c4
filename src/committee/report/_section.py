"""What a part of the page is made of: words, charts, and the tables behind the charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Spec = dict[str, Any]
Width = Literal["wide", "narrow", "small"]
Color = Literal["blue", "orange", "green", "purple", "red", "grey"]


class Table(NamedTuple):
    """Cells as they are shown. Columns of numbers stand to the right."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]  # one for each column
    is_card: bool = False  # its cells "yes", "partly" and "no" are answers, shown as such


class Key(NamedTuple):
    """What a colour stands for in a chart."""

    label: str
    color: Color
    is_dashed: bool = False
    mark: Literal["line", "area", "dot"] = "line"


class Figure(NamedTuple):
    """A chart, what it shows in words, and its numbers."""

    key: str  # id in the page
    spec: Spec  # Vega-Lite
    title: str
    alt: str  # for those who cannot see it
    table: Table
    legend: tuple[Key, ...] = ()
    width: Width = "wide"  # narrow ones stand side by side where there is room, small ones three in a row


class Tile(NamedTuple):
    """One figure in large letters."""

    value: str
    label: str


class Section(NamedTuple):
    """A part of the page."""

    key: str
    title: str
    lead: str
    tiles: tuple[Tile, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()  # shown openly
    folded: tuple[Table, ...] = ()  # shown on request
    notes: tuple[str, ...] = ()  # how to read it, and what it does not say
    code: str = ""


class LeftOut(NamedTuple):
    """A part that does not apply, and why."""

    title: str
    why: str


def table(caption: str, header: str, rows: Sequence[tuple[str, ...]], more: Sequence[str] = ()) -> Table:
    """A table whose `header` names columns between bars, those of numbers with a # before: "method|#error".

    `more` are further columns of numbers, whose names are the user's and may hold anything.

    >>> table("Errors", "method|#error", [("forest", "0.1", "3")], ["a|b"]).header
    ('method', 'error', 'a|b')
    """
    names = header.split("|")
    numeric = [name[:1] == "#" for name in names] + [True] * len(more)
    return Table(caption, (*(name.removeprefix("#") for name in names), *more), tuple(rows), tuple(numeric))
