"""Property cards of the methods, from `method_cards.toml`, and the section of the report about them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from committee.report._section import Omitted, Section, table
from committee.report.context import Context

TITLE = "Method properties"


class Property(NamedTuple):
    """Whether a method has a property, and the reason."""

    value: Literal["yes", "partly", "no"]
    reason: str


class Measured(NamedTuple):
    """Approximate time of a fit, from the benchmark row whose task and contender begin with these."""

    task: str
    time: str
    contender: str = "committee"


class Card(NamedTuple):
    """The properties of one method."""

    interpretable: Property
    uncertainty: Property
    consistent: Property
    minimax: Property
    parameter_free: Property
    fast: Property
    online: Property
    measured: Measured | None

    @property
    def properties(self) -> dict[str, Property]:
        """Properties by name."""
        return {name: getattr(self, name) for name in QUESTIONS}


def _read_cards(data: dict[str, Any]) -> dict[str, Card]:
    fields = dict[str, dict[str, Any]]()
    for name, own in data["methods"].items():
        fields[name] = {**(fields[own["like"]] if "like" in own else data["defaults"]), **own}
    return {name: _card(each) for name, each in sorted(fields.items())}


def _card(fields: dict[str, Any]) -> Card:
    properties = {name: Property(*fields[name]) for name in QUESTIONS}
    return Card(**properties, measured=Measured(**fields["measured"]) if fields.get("measured") else None)


_DATA = tomllib.loads((files("committee.report") / "method_cards.toml").read_text(encoding="utf-8"))
QUESTIONS: dict[str, str] = _DATA["questions"]
"""The question behind each property."""

CARDS = _read_cards(_DATA)
"""The card of each method, by the name of its class."""


def properties_card(context: Context) -> Section | Omitted:
    """Properties of the method, whatever the data."""
    if getattr(context.core, "n_experts", None) == 1:
        return Omitted(TITLE, f"one expert is a linear model; the card of {context.method} is about several experts")
    if getattr(getattr(context.core, "tree_", None), "node_count", 0) == 1:
        return Omitted(TITLE, "the tree is a single leaf, hence a constant")
    card = CARDS.get(context.method)
    if card is None:
        return Omitted(TITLE, f"there is no card of {context.method}")
    rows = [(QUESTIONS[name], each.value, each.reason) for name, each in card.properties.items()]
    properties = table("Properties", "property|value|reason", rows)._replace(is_card=True)
    lead = f"Properties of {context.method} in general, independent of these data."
    notes = (
        () if card.measured is None else (f"Time of a fit: {card.measured.time}, one thread ({card.measured.task}).",)
    )
    return Section("properties", TITLE, lead, tables=(properties,), notes=notes)
