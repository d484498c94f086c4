"""Every method has a card, every card a reason, and the page of the documentation is made from them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from committee.catalog import CATALOG
from committee.report.method_cards import CARDS, QUESTIONS, Card, Measured

ROOT = Path(__file__).parents[3]


def test_every_method_of_the_catalogue_has_a_card() -> None:
    assert {entry.name for entry in CATALOG} <= set(CARDS)
    assert tuple(QUESTIONS) == Card._fields[:-1]


@pytest.mark.parametrize("name", sorted(CARDS))
def test_every_property_has_a_value_and_a_reason(name: str) -> None:
    for one, result in CARDS[name].properties.items():
        assert result.value in ("yes", "partly", "no")
        assert 10 < len(result.reason) < 110, (one, result.reason)


def test_what_has_partial_fit_says_so() -> None:
    online = {entry.name for entry in CATALOG if CARDS[entry.name].online.value == "yes"}
    assert online == {entry.name for entry in CATALOG if entry.name.startswith("Online")}


@pytest.mark.parametrize("name", sorted(CARDS))
def test_forms_for_streams_are_there_for_the_same_task(name: str) -> None:
    task = "Regressor" if name.endswith("Regressor") else "Classifier"
    for form in re.findall(r"Online\w+", CARDS[name].online.reason):
        assert form.removesuffix(task) + task in CARDS


def test_times_are_those_of_the_benchmarks() -> None:
    results = ROOT / "benchmarks" / "RESULTS.md"
    if not results.exists():
        pytest.skip("no benchmark results beside the tests")
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in results.read_text("utf-8").splitlines()]
    result = {one for card in CARDS.values() if (one := card.measured) is not None}
    assert len(result) > 20
    for one in result:
        assert 1 / 3 < seconds(one.time.removeprefix("about ")) / measured(rows, one) < 3, one


def measured(rows: list[list[str]], wanted: Measured) -> float:
    """Seconds of the contender in the block of rows that begins with the task."""
    task = ""
    for row in rows:
        task = row[0] or task if len(row) == 3 else ""
        if task.startswith(wanted.task) and row[1].startswith(wanted.contender):
            return seconds(row[2].removesuffix(" wall"))
    raise AssertionError(f"no row of the benchmark results is {wanted}")


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]


def test_the_page_of_the_documentation_is_made_from_the_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "properties.md"
    if not page.exists():
        pytest.skip("no documentation beside the tests")
    monkeypatch.syspath_prepend(str(page.parent / "hooks"))
    properties_page = import_module("properties_page")
    assert page.read_text(encoding="utf-8") == properties_page.as_markdown()
