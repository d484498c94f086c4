"""The properties card of the method (J-3)."""

from __future__ import annotations

from committee.report._context import Evidence
from committee.report._section import LeftOut, Section, table
from committee.report.method_cards import CARDS, PROPERTIES, QUESTIONS

TITLE = "Properties of the method"


def properties_card(result: Evidence) -> Section | LeftOut:
    """Seven questions about the method as such, not about this fit."""
    if getattr(result.core, "n_experts", None) == 1:
        return LeftOut(TITLE, f"one expert is a linear model, and the card of {result.method} is about several")
    if getattr(getattr(result.core, "tree_", None), "node_count", 0) == 1:
        return LeftOut(TITLE, "one leaf is a constant, and the card of trees is about more")
    card = CARDS.get(result.method)
    if card is None:
        return LeftOut(TITLE, f"there is no card of {result.method}")
    rows = [(QUESTIONS[name], getattr(card, name).value, getattr(card, name).why) for name in PROPERTIES]
    card_table = table("Properties", "question|answer|why", rows)._replace(is_card=True)
    lead = f"What is known of {result.method} in general, whatever the table."
    notes = () if card.measured is None else (f"Measured: {card.measured.time} on one thread ({card.measured.task}).",)
    return Section("properties", TITLE, lead, tables=(card_table,), notes=notes)
