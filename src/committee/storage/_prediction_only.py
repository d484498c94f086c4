"""Smaller forms of models, for prediction only or for prediction and explanation.

For prediction only, forests keep their packed form, 20 bytes a node; boosted and bagged trees theirs; sums of trees
their nodes without counts and gains. For explanation (`compact`), forests and bagged trees keep besides the weights of
their leaves and the gain of each feature in each tree: importances, SHAP values, partial dependence, votes and the
report work. All other attributes are kept, except those that only a warm start of gradient boosting needs.

A loaded model has the same class and the same `predict`, `predict_proba` and `decision_function`, bit for bit. Access
to parts that are not stored raises an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from committee.bagging.base_learners import SubspaceTree
from committee.bagging.prediction import pack_members
from committee.base.prediction_only_error import PredictionOnlyError
from committee.members.member import Member, TreeMember
from committee.records.ensemble import BoostedTrees, PackedTrees
from committee.records.forest import PackedForest
from committee.records.tree import LEAF, Tree
from committee.storage._smoke_test import predictions_a_row
from committee.storage.errors import ModelFileError
from committee.tree_engine.predict.boosted import PackedSum

GONE = (
    "_state", "_records", "_sampler", "_sample", "_member_seeds", "_data_fingerprint", "_leaves_kept", "_targets",
    "_rows_kept", "_found", "sample_weights_", "majority_", "oob_decision_function_", "oob_prediction_", "members_",
    "trees_", "_trees", "_packed", "packed_",
)  # fmt: skip
"""Attributes of forests and of ensembles of trees that predictions do not need, or that are packed."""


WARM_START = ("_data_fingerprint", "_records", "_state")
"""Attributes of forests, bagged trees and gradient boosting that only a warm start reads."""


class LostMembers(Sequence[Any]):
    """The number of members that are not stored."""

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
            "The model was saved for prediction only: its members are packed and not available one by one."
        )


class UnpackedTree(Tree):
    """A tree of a packed forest with its splits and values, without statistics of its nodes."""

    __slots__ = ()

    def _reject(self) -> NoReturn:
        raise PredictionOnlyError(
            "The model was saved for prediction only: its trees keep no counts, weights, impurities or gains."
        )

    impurity = property(_reject)  # type: ignore[assignment]
    gain = property(_reject)  # type: ignore[assignment]
    n_samples = property(_reject)  # type: ignore[assignment]
    weight = property(_reject)  # type: ignore[assignment]


class MeasuredTree(Tree):
    """A tree of a packed forest with its weights; the gain of all splits on a feature stands at the first of them."""

    __slots__ = ()

    def _reject(self) -> NoReturn:
        raise PredictionOnlyError(
            "The model was saved in its compact form: its trees keep weights and gains, but no impurities or numbers "
            "of rows. Save it from Python with save_model(model, path) to keep everything."
        )

    impurity = property(_reject)  # type: ignore[assignment]
    n_samples = property(_reject)  # type: ignore[assignment]


class NodeMeasures(NamedTuple):
    """Statistics of the nodes of a packed forest that explanations need."""

    weight: NDArray[np.float64]  # [leaves], or [nodes] where rounding keeps inner weights from being sums of leaves
    gain: NDArray[np.float64]  # of each feature of each tree, in the order of trees and features
    gain_ends: NDArray[np.int64]  # [trees]


class PackedTreeList(Sequence[Tree]):
    """The trees of a packed forest, unpacked when they are accessed."""

    def __init__(self, packed: PackedForest, measures: NodeMeasures | None = None) -> None:
        self.packed, self.measures = packed, measures

    def __len__(self) -> int:
        return self.packed.n_trees

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        t = range(len(self))[index]
        tree = unpack_tree(self.packed, t)
        return tree if self.measures is None else _measured(tree, self._leaf_ends, self.measures, t)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"packed": self.packed}
        return state if self.measures is None else {**state, "measures": self.measures}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.packed, self.measures = state["packed"], state.get("measures")

    @cached_property
    def _leaf_ends(self) -> NDArray[np.int64]:
        """End of each tree in the weights of all trees."""
        nodes, roots = self.packed.nodes, self.packed.roots
        is_leaf = nodes["left"] == np.arange(len(nodes))
        assert self.measures is not None
        counted = is_leaf if self.measures.weight.size < len(nodes) else np.ones(len(nodes), bool)
        return np.cumsum(np.add.reduceat(counted, roots, dtype=np.int64))


class PackedMembers(Sequence[Member]):
    """The members of bagged trees, unpacked when they are accessed."""

    def __init__(self, trees: PackedTreeList, features: list[NDArray[np.int64]] | None) -> None:
        self.trees, self.features = trees, features

    def __len__(self) -> int:
        return len(self.trees)

    @overload
    def __getitem__(self, index: int) -> Member: ...
    @overload
    def __getitem__(self, index: slice) -> list[Member]: ...
    def __getitem__(self, index: int | slice) -> Member | list[Member]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        tree = self.trees[index]
        return (
            TreeMember(tree, tree.value)
            if self.features is None
            else SubspaceTree(tree, tree.value, self.features[index])
        )


def measure_nodes(trees: Sequence[Tree]) -> NodeMeasures:
    """Statistics of the nodes of these trees for explanations."""
    is_sum = all(np.array_equal(_summed(tree, tree.weight[tree.is_leaf]), tree.weight) for tree in trees)
    weights = [tree.weight[tree.is_leaf] if is_sum else tree.weight for tree in trees]
    gains = [_gains(tree) for tree in trees]
    ends = np.cumsum([gain.size for gain in gains], dtype=np.int64)
    return NodeMeasures(np.concatenate(weights), np.concatenate(gains), ends)


def _gains(tree: Tree) -> NDArray[np.float64]:
    """Gain of every feature of the tree, in the order of the features."""
    feature = tree.feature[~tree.is_leaf]
    return np.bincount(feature, tree.gain[~tree.is_leaf]).astype(np.float64)[np.unique(feature)]


def _summed(tree: Tree, of_leaf: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of all nodes from those of the leaves."""
    weight = np.zeros(tree.n_nodes)
    weight[tree.is_leaf] = of_leaf
    levels: list[NDArray[np.integer]] = [np.zeros(1, np.int64)]
    while levels[-1].size:
        inner = levels[-1][~tree.is_leaf[levels[-1]]]
        levels[-1] = inner
        levels.append(np.concatenate([tree.left[inner], tree.left[inner] + 1]))
    for inner in reversed(levels):
        weight[inner] = weight[tree.left[inner]] + weight[tree.left[inner] + 1]
    return weight


def _measured(tree: Tree, weight_ends: NDArray[np.int64], measures: NodeMeasures, t: int) -> Tree:
    weights, gains = _slice(measures.weight, weight_ends, t), _slice(measures.gain, measures.gain_ends, t)
    features, first = np.unique(tree.feature, return_index=True)
    first = first[features != LEAF]
    if first.size != gains.size:
        raise ModelFileError("The file is damaged: a packed tree has gains of other features.")
    gain = np.zeros(tree.n_nodes)
    gain[first] = gains
    weight = weights if weights.size == tree.n_nodes else _summed(tree, weights)
    return MeasuredTree._make(tree._replace(gain=gain, weight=weight))


def _slice(values: NDArray[np.float64], ends: NDArray[np.int64], t: int) -> NDArray[np.float64]:
    return values[ends[t - 1] if t else 0 : ends[t]]


def unpack_tree(packed: PackedForest, t: int) -> Tree:
    """Tree t; the values of inner nodes are not stored."""
    begin = int(packed.roots[t])
    end = int(packed.roots[t + 1]) if t + 1 < packed.n_trees else len(packed.nodes)
    nodes, m = packed.nodes[begin:end], end - begin
    left = nodes["left"].astype(np.int64) - begin
    is_leaf = left == np.arange(m)
    feature = np.where(nodes["feature"] < 0, ~nodes["feature"], nodes["feature"])
    has_sets = bool(len(packed.categories))
    sets = packed.category_set[begin:end] if has_sets else np.full(m, -1, np.int32)
    used = sets[sets >= 0]
    first_set, last_set = (int(used.min()), int(used.max()) + 1) if used.size else (0, 0)
    is_number = ~is_leaf & (sets < 0)
    value = np.where(is_leaf[:, np.newaxis], packed.values[packed.value_index[begin:end]], np.nan)
    unknown = np.broadcast_to(np.nan, m)
    return UnpackedTree(
        feature=np.where(is_leaf, LEAF, feature).astype(np.int32),
        threshold=np.where(is_number, nodes["threshold"], np.nan),
        left=np.where(is_leaf, LEAF, left).astype(np.int32),
        missing_left=(nodes["feature"] < 0) & ~is_leaf,
        category_set=np.where(sets >= 0, sets - first_set, -1).astype(np.int32),
        categories=packed.categories[first_set:last_set],
        value=value,
        impurity=unknown,
        gain=unknown,
        n_samples=np.broadcast_to(np.int64(-1), m),
        weight=unknown,
    )


def keep_for_prediction(thing: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object in a prediction-only file; all of them if it has no smaller form."""
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
    return kept if _can_predict(thing, kept) else attributes


def keep_for_explanation(thing: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an object in a compact file; all of them if it has no smaller form."""
    trees, members = attributes.get("trees_"), attributes.get("members_")
    if isinstance(trees, list) and trees and all(type(tree) is Tree for tree in trees):
        packed = vars(thing)["packed_"]
        kept = {name: value for name, value in attributes.items() if name not in WARM_START}
        return {**kept, "packed_": packed, "trees_": PackedTreeList(packed, measure_nodes(trees))}
    if "_combined" in attributes and isinstance(members, list):
        packed = _packed_members(members, attributes)
        return {**{name: value for name, value in attributes.items() if name not in WARM_START}, **packed}
    if isinstance(attributes.get("_packed"), PackedSum):
        return {name: value for name, value in attributes.items() if name not in WARM_START}
    return attributes


def _packed_members(members: list[Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Bagged trees in packed form, if it has the predictions of the members without coefficients."""
    kinds = {type(member) for member in members}
    packed, coefficients = attributes.get("_packed"), np.asarray(attributes.get("coefficients_"))
    if kinds not in ({TreeMember}, {SubspaceTree}) or (packed is not None and np.any(coefficients != 1.0)):
        return {}
    if packed is None:
        packed = pack_members(members, np.ones(len(members)))
    features = [member.features for member in members] if kinds == {SubspaceTree} else None
    trees = PackedTreeList(packed, measure_nodes([member.tree for member in members]))  # type: ignore[arg-type]
    return {"members_": PackedMembers(trees, features)}


def _can_predict(thing: Any, attributes: dict[str, Any]) -> bool:
    """Whether predictions work with these attributes; a weighted median needs every member."""
    kind: Any = type(thing)
    smaller = kind.__new__(kind)
    vars(smaller).update(attributes)
    return predictions_a_row(smaller)


def _without_measures(trees: BoostedTrees) -> BoostedTrees:
    m = trees.feature.size
    unknown = np.broadcast_to(np.nan, m)
    return trees._replace(gain=unknown, weight=unknown, n_samples=np.broadcast_to(np.int64(-1), m))
