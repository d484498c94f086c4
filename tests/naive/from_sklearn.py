"""scikit-learn's fitted tree as our Tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree


def from_sklearn(tree: Any) -> Tree:
    """`tree` is `estimator.tree_`; children are renumbered side by side, both when their parent is reached, left first.

    The threshold inf ("all present values | missing") becomes the largest float, which decides the same.
    """
    order, left = _side_by_side(tree)
    is_leaf = left == LEAF
    mass = tree.weighted_n_node_samples * tree.impurity
    decrease = mass - mass[tree.children_left] - mass[tree.children_right]
    m = len(order)
    return Tree(
        feature=np.where(is_leaf, LEAF, tree.feature[order]).astype(np.int32),
        threshold=np.where(is_leaf, np.nan, np.minimum(tree.threshold[order], np.finfo(np.float64).max)),
        left=left,
        # leaves of best-first trees keep the flag of the split they did not get
        missing_left=~is_leaf & tree.missing_go_to_left[order].astype(bool),
        category_set=np.full(m, -1, np.int32),
        categories=np.zeros((0, 4), np.uint64),
        value=tree.value[order, 0, :].astype(np.float64),
        impurity=tree.impurity[order].astype(np.float64),
        gain=np.where(is_leaf, 0.0, decrease[order] / tree.weighted_n_node_samples[0]),
        n_samples=tree.n_node_samples[order].astype(np.int64),
        weight=tree.weighted_n_node_samples[order].astype(np.float64),
    )


def _side_by_side(tree: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The old number of each new node, and the new number of its left child."""
    order, left, stack = [0], [LEAF], [0]
    while stack:
        new = stack.pop()
        old = order[new]
        if tree.children_left[old] == LEAF:
            continue
        left[new] = len(order)
        order += [int(tree.children_left[old]), int(tree.children_right[old])]
        left += [LEAF, LEAF]
        stack += [left[new] + 1, left[new]]
    return np.array(order), np.array(left, np.int32)
