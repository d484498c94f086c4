"""Property cards of all methods in Markdown: `python docs/hooks/properties_page.py > docs/properties.md`."""

from __future__ import annotations

from committee.catalog import CATALOG
from committee.report.method_cards import CARDS, QUESTIONS, Card

INTRODUCTION = """# Properties of the methods

<!-- Generated from method_cards.toml by `python docs/hooks/properties_page.py > docs/properties.md`. -->

"partly" means under the conditions that the reason names. Theorems are about the idealised method: schedules that they
require (leaves that grow with the number of rows, early stopping) are not followed by a fit with default parameters.
Times are those of `benchmarks/RESULTS.md`, one thread.
"""


def as_markdown() -> str:
    """Return the questions, a table of all methods, then each card; methods with the same card are grouped."""
    titles = {name: name.replace("_", "-") for name in QUESTIONS}
    lines = [INTRODUCTION, *(f"- {titles[name]}: {question}" for name, question in QUESTIONS.items()), ""]
    lines += [f"| method | {' | '.join(titles.values())} |", "|" + " --- |" * (len(titles) + 1)]
    groups = dict[Card, list[str]]()
    for entry in CATALOG:
        card = CARDS[entry.name]
        groups.setdefault(card, []).append(entry.name)
        lines.append(f"| {entry.name} | {' | '.join(each.value for each in card.properties.values())} |")
    for card, names in groups.items():
        lines += ["", f"## {', '.join(names)}", "", "| property | value | reason |", "| --- | --- | --- |"]
        lines += [f"| {titles[name]} | {each.value} | {each.reason} |" for name, each in card.properties.items()]
        if card.measured is not None:
            lines += ["", f"Time of a fit: {card.measured.time} ({card.measured.task})."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
