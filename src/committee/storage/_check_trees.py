"""Checks of the arrays of trees from a file, whose indices kernels do not check.

Every form of trees is checked twice: by itself when it is made (children after their parent and inside their tree, one
parent each, leaves that lead nowhere else), and against the model that holds it (features and categories of its table,
outputs of its scores).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.records.ensemble import BoostedTrees, PackedTrees
from committee.records.forest import PackedForest
from committee.records.tree import LEAF, InvalidTreeError, Tree, check_tree
from committee.storage.errors import ModelFileError, need
from committee.tree_engine.predict.apply import PACKED

ANY_FEATURE = 2**31 - 1
Indices = NDArray[np.int64]


# --- by themselves ----------------------------------------------------------------------------------------------------


def check_one_tree(tree: Tree) -> None:
    try:
        check_tree(tree, ANY_FEATURE)
    except InvalidTreeError as error:
        raise ModelFileError(f"A tree in the file is no tree: {error}.") from error
    need(tree.value.shape[1] > 0, "a tree has no values")
    need(np.all(tree.category_set[tree.is_leaf] == -1), "a leaf has a category set")


def check_packed_trees(packed: PackedTrees) -> None:
    starts = _check_nodes(packed.nodes, packed.roots)
    is_sound = packed.values.ndim == 2 and len(packed.values) == len(packed.nodes) and packed.values.shape[1] > 0
    need(is_sound and np.all(np.isfinite(packed.values)), "packed trees have no value for every node")
    depths = _depths(packed.nodes, packed.roots, starts)
    need(np.array_equal(packed.depths, depths), "packed trees have wrong depths")


def check_packed_forest(packed: PackedForest) -> None:
    _check_nodes(packed.nodes, packed.roots, packed.category_set if len(packed.categories) else None)
    m, index = len(packed.nodes), packed.value_index
    need(packed.values.ndim == 2 and packed.values.shape[1] > 0, "a packed forest has no values")
    need(np.all(np.isfinite(packed.values)), "a value of a packed forest is not finite")
    is_inside = index.shape == (m,) and index.min() >= 0 and index.max() < len(packed.values)
    need(is_inside, "a leaf of a packed forest has a value_index beyond its values")
    has_sets = bool(len(packed.categories) or packed.category_set.size)
    _check_sets(packed.category_set, packed.categories, m if has_sets else 0)


def check_boosted_trees(trees: BoostedTrees) -> None:
    offsets, m = trees.offsets, trees.feature.size
    is_sound = offsets.ndim == 1 and offsets.size and offsets[0] == 0 and offsets[-1] == m
    need(is_sound and np.all(np.diff(offsets) > 0), "the trees of a sum do not lie one after the other")
    need(trees.output.shape == (trees.n_trees,) and np.all(trees.output >= 0), "a tree of a sum has no output")
    for name in BoostedTrees._fields[2:]:
        array = getattr(trees, name)
        need(name == "categories" or array.shape == (m,), f"{name} of a sum of trees has the wrong shape")
    is_leaf = trees.feature == LEAF
    need(np.array_equal(is_leaf, trees.left == LEAF), "a leaf of a sum of trees has children")
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    end = np.repeat(offsets[1:], np.diff(offsets))
    inner = np.flatnonzero(~is_leaf)
    _check_children(inner, trees.left[inner] + begin[inner], end[inner], offsets[:-1], m)
    need(np.all(trees.feature[inner] >= 0), "a split of a sum of trees has no feature")
    _check_sets(trees.category_set, trees.categories, m)
    is_number = trees.category_set[inner] < 0
    need(np.all(trees.category_set[is_leaf] == -1), "a leaf has a category set")
    need(np.all(np.isfinite(trees.threshold[inner][is_number])), "a split of numbers has no finite threshold")
    need(np.all(np.isfinite(trees.value)), "a value of a sum of trees is not finite")


def _check_nodes(nodes: NDArray[np.void], roots: Indices, sets: NDArray[np.int32] | None = None) -> Indices:
    """Nodes in the packed form, numbered over all trees; return the tree of every node."""
    m = len(nodes)
    need(nodes.dtype == PACKED and nodes.ndim == 1 and m > 0, "packed trees have no nodes")
    is_sound = roots.ndim == 1 and roots.size and roots[0] == 0 and roots[-1] < m
    need(is_sound and np.all(np.diff(roots) > 0), "packed trees do not lie one after the other")
    sizes = np.diff(np.append(roots, m))
    tree = np.repeat(np.arange(roots.size), sizes)
    left = nodes["left"].astype(np.int64)
    is_leaf = left == np.arange(m)
    inner = np.flatnonzero(~is_leaf)
    _check_children(inner, left[inner], np.append(roots[1:], m)[tree[inner]], roots, m)
    leads_to_itself = (nodes["threshold"] == np.inf) & (nodes["feature"] < 0)
    need(np.all(leads_to_itself[is_leaf]), "a leaf of packed trees leads elsewhere")
    is_number = np.ones(m, bool) if sets is None or sets.shape != (m,) else sets < 0
    need(np.all(is_number[is_leaf]), "a leaf has a category set")
    need(np.all(np.isfinite(nodes["threshold"][inner][is_number[inner]])), "a split of numbers has no finite threshold")
    return tree


def _check_children(inner: Indices, children: Indices, end: Indices, roots: Indices, m: int) -> None:
    need(np.all(children > inner), "a child stands before its parent")
    need(np.all(children + 1 < end), "a child lies outside its tree")
    parents = np.bincount(np.concatenate([children, children + 1]), minlength=m)
    wanted = np.ones(m, np.int64)
    wanted[roots] = 0
    need(np.array_equal(parents, wanted), "every node but a root needs exactly one parent")


def _depths(nodes: NDArray[np.void], roots: Indices, tree: Indices) -> Indices:
    depths, level, node = np.zeros(roots.size, np.int64), 0, roots
    left = nodes["left"].astype(np.int64)
    while True:
        inner = node[left[node] != node]
        if not inner.size:
            return depths
        level += 1
        depths[tree[inner]] = level
        node = np.concatenate([left[inner], left[inner] + 1])


def _check_sets(category_set: NDArray[np.int32], categories: NDArray[np.uint64], m: int) -> None:
    need(categories.ndim == 2 and categories.shape[1] == 4, "category sets must have four words each")
    need(category_set.shape == (m,), "category sets are not given for every node")
    is_inside = (category_set >= -1) & (category_set < len(categories))
    need(np.all(is_inside), "a split points outside the category sets")


# --- in a model -------------------------------------------------------------------------------------------------------


def check_features(trees: object, is_categorical: NDArray[np.bool_]) -> None:
    """Splits must use features of the table, and category sets only categorical features."""
    if isinstance(trees, PackedTrees | PackedForest):
        feature = trees.nodes["feature"].astype(np.int64)
        feature = np.where(feature < 0, ~feature, feature)
        sets = trees.category_set if isinstance(trees, PackedForest) and len(trees.categories) else np.empty(0)
    elif isinstance(trees, Tree | BoostedTrees):
        feature, sets = trees.feature, trees.category_set
    else:
        return
    d = is_categorical.size
    need(d > 0 and np.all(feature < d), f"a split uses a feature outside 0..{d - 1}")
    if sets.size:
        need(np.all(is_categorical[feature[sets >= 0]]), "a feature of numbers is split by categories")


def check_outputs(trees: BoostedTrees, n_scores: int) -> None:
    need(np.all(trees.output < n_scores), "a tree adds to a score that is not there")
