"""The properties cards of all methods (J-3) as a page of the documentation.

`python -m committee.report.properties_page > docs/properties.md` writes it.
"""

from __future__ import annotations

from committee.catalog import CATALOG
from committee.report.method_cards import CARDS, PROPERTIES, Card

INTRODUCTION = """# Properties of the methods

<!-- Written by `python -m committee.report.properties_page > docs/properties.md`; do not edit. -->

Seven questions about every method of the library (J-3). "partly" means: under conditions, which the reason names.
Theorems are about the method on paper; where they ask for a schedule (leaves that grow with the rows, rounds that stop
in time) a fit with default parameters does not follow it by itself. Times are those of `benchmarks/RESULTS.md`, one
thread.
"""


def as_markdown() -> str:
    """A table of all methods, then the card of each with the reasons; methods of one card stand together."""
    lines = [INTRODUCTION, "| method | " + " | ".join(_title(name) for name in PROPERTIES) + " |"]
    lines.append("|" + " --- |" * (len(PROPERTIES) + 1))
    together = dict[Card, list[str]]()
    for entry in CATALOG:
        card = CARDS[entry.name]
        together.setdefault(card, []).append(entry.name)
        lines.append(f"| {entry.name} | " + " | ".join(getattr(card, name).value for name in PROPERTIES) + " |")
    for card, names in together.items():
        lines += ["", f"## {', '.join(names)}", "", "| | | |", "| --- | --- | --- |"]
        lines += [f"| {_title(p)} | {getattr(card, p).value} | {getattr(card, p).why} |" for p in PROPERTIES]
        if card.measured is not None:
            lines += ["", f"Measured: {card.measured.time} ({card.measured.task})."]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    return name.replace("_", "-")


if __name__ == "__main__":
    print(as_markdown(), end="")
