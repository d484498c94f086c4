"""Models for prediction only: what answers, without what a fit measured and what a warm start would need.

Forests keep their packed form, 20 bytes a node; boosted and bagged trees theirs; sums of trees their nodes without
counts and gains. The model read back is of its own class and answers `predict`, `predict_proba`, `decision_function`
as before, bit for bit. Asked for what is gone, it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, overload

import numpy as np

from committee.data.ensemble import BoostedTrees, PackedTrees
from committee.data.forest import PackedForest
from committee.data.prediction_only import PredictionOnlyError
from committee.data.tree import LEAF, Tree
from committee.parts.tree_scores import PackedSum
from committee.storage.trial import answers_a_row

GONE = (
    "_state", "_records", "_sampler", "_sample", "_seeds_", "_print", "_leaves_kept", "_targets", "_rows_kept",
    "_found", "weights_", "majority_", "oob_decision_function_", "oob_prediction_", "members_", "trees_", "_trees",
    "_packed", "packed_",
)  # fmt: skip
"""Attributes of forests and of ensembles of trees that prediction does not need, or gets in another form."""


class LostMembers(Sequence[Any]):
    """So many members, which are not there."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, index: int) -> NoReturn: ...
    @overload
    def __getitem__(self, index: slice) -> NoReturn: ...
    def __getitem__(self, index: int | slice) -> NoReturn:
        raise PredictionOnlyError(
            "The model was saved for prediction only: its members are packed together and cannot be asked one by one."
        )


class UnpackedTree(Tree):
    """A tree of a packed forest: what decides and what answers, nothing that was measured."""

    __slots__ = ()

    def _refuse(self) -> NoReturn:
        raise PredictionOnlyError(
            "The model was saved for prediction only: its trees keep no counts, weights, impurities or gains."
        )

    impurity = property(_refuse)  # type: ignore[assignment]
    gain = property(_refuse)  # type: ignore[assignment]
    n_samples = property(_refuse)  # type: ignore[assignment]
    weight = property(_refuse)  # type: ignore[assignment]


class PackedTreeList(Sequence[Tree]):
    """The trees of a packed forest, each unpacked when it is asked for."""

    def __init__(self, packed: PackedForest) -> None:
        self.packed = packed

    def __len__(self) -> int:
        return self.packed.n_trees

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return unpack_tree(self.packed, range(len(self))[index])


def unpack_tree(packed: PackedForest, t: int) -> Tree:
    """Tree t by itself; the values of inner nodes are not known."""
    begin = int(packed.roots[t])
    end = int(packed.roots[t + 1]) if t + 1 < packed.n_trees else len(packed.nodes)
    nodes, m = packed.nodes[begin:end], end - begin
    left = nodes["left"].astype(np.int64) - begin
    is_leaf = left == np.arange(m)
    feature = np.where(nodes["feature"] < 0, ~nodes["feature"], nodes["feature"])
    has_sets = bool(len(packed.categories))
    sets = packed.category_set[begin:end] if has_sets else np.full(m, -1, np.int32)
    is_number = ~is_leaf & (sets < 0)
    value = np.where(is_leaf[:, np.newaxis], packed.values[packed.answer[begin:end]], np.nan)
    unknown = np.broadcast_to(np.nan, m)
    return UnpackedTree(
        feature=np.where(is_leaf, LEAF, feature).astype(np.int32),
        threshold=np.where(is_number, nodes["threshold"], np.nan),
        left=np.where(is_leaf, LEAF, left).astype(np.int32),
        missing_left=(nodes["feature"] < 0) & ~is_leaf,
        category_set=sets,
        categories=packed.categories,
        value=value,
        impurity=unknown,
        gain=unknown,
        n_samples=np.broadcast_to(np.int64(-1), m),
        weight=unknown,
    )


def keep_for_prediction(thing: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that a prediction-only file holds of an object; all of them where it has no smaller form."""
    packed = attributes.get("packed_", getattr(thing, "__dict__", {}).get("packed_", attributes.get("_packed")))
    forms: dict[str, Any] = {}
    if isinstance(packed, PackedForest) and "trees_" in attributes:
        forms = {"packed_": packed, "trees_": PackedTreeList(packed)}
    elif isinstance(packed, PackedForest | PackedTrees) and "members_" in attributes:
        forms = {"_packed": packed, "members_": LostMembers(len(attributes["members_"]))}
    elif isinstance(packed, PackedSum):
        trees = _without_measures(packed.arrays)
        forms = {"_trees": trees, "_packed": PackedSum(trees)}
    if not forms:
        return attributes
    kept = {**{name: value for name, value in attributes.items() if name not in GONE}, **forms}
    return kept if _still_answers(thing, kept) else attributes


def _still_answers(thing: Any, attributes: dict[str, Any]) -> bool:
    """Some rules ask every member: a weighted median has no use for sums of trees."""
    kind: Any = type(thing)
    smaller = kind.__new__(kind)
    vars(smaller).update(attributes)
    return answers_a_row(smaller)


def _without_measures(trees: BoostedTrees) -> BoostedTrees:
    m = trees.feature.size
    unknown = np.broadcast_to(np.nan, m)
    return trees._replace(gain=unknown, weight=unknown, n_samples=np.broadcast_to(np.int64(-1), m))
