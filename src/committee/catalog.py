"""Every estimator of the library: its names, where it lives, the paper it comes from, the mission's ids it covers."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One estimator."""

    name: str
    aliases: tuple[str, ...]
    module: str
    paper: str
    ids: tuple[str, ...]


CART = "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984"

CATALOG: tuple[Entry, ...] = (
    Entry("DecisionStump", ("stump", "one-level tree"), "committee.trees.decision_stump",
          "Iba and Langley, Induction of one-level decision trees, 1992", ("A-1",)),
    Entry("DecisionTreeClassifier", ("CART", "classification tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
    Entry("DecisionTreeRegressor", ("CART", "regression tree"), "committee.trees.decision_tree", CART,
          ("A-2", "A-3", "A-4")),
)  # fmt: skip
