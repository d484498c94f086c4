"""Many deep trees in one piece, and rows through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.threads import n_threads, run
from committee.data.forest import PackedForest
from committee.data.tree import LEAF, Tree
from committee.kernels.forest_walk import add_forest_answers, add_forest_category_answers
from committee.parts.traversing import PACKED

Floats = NDArray[np.float64]

BLOCK = 1 << 12
"""Rows of one task of a thread."""


def pack_forest(trees: Sequence[Tree]) -> PackedForest:
    """The prediction form of trees."""
    sizes = np.array([tree.n_nodes for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    joined = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "left", "value")}
    threshold = np.concatenate([tree.threshold for tree in trees])
    missing_left = np.concatenate([tree.missing_left for tree in trees])
    is_leaf = joined["feature"] == LEAF
    m = is_leaf.size
    nodes = np.empty(m, PACKED)
    nodes["threshold"] = np.where(is_leaf, np.inf, threshold)
    feature = np.where(is_leaf, 0, joined["feature"])
    nodes["feature"] = np.where(is_leaf | missing_left, ~feature, feature)
    nodes["left"] = np.where(is_leaf, np.arange(m), joined["left"] + np.repeat(roots, sizes))
    answer, values = _answers(is_leaf, joined["value"])
    return PackedForest(nodes, answer, roots, values, *_sets(trees))


def _answers(is_leaf: NDArray[np.bool_], value: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Row numbers of answers and the answers: the pure class distributions first, then what the other leaves have."""
    k = value.shape[1]
    leaf = np.flatnonzero(is_leaf)
    of_leaf = value[leaf]
    answer = np.zeros(is_leaf.size, np.int32)
    if k == 1:
        answer[leaf] = np.arange(leaf.size)
        return answer, of_leaf
    is_pure = (of_leaf.max(axis=1) == 1.0) & (np.count_nonzero(of_leaf, axis=1) == 1)
    row = np.where(is_pure, of_leaf.argmax(axis=1), k + np.cumsum(~is_pure) - 1)
    answer[leaf] = row
    return answer, np.concatenate([np.eye(k), of_leaf[~is_pure]])


def _sets(trees: Sequence[Tree]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    categories = np.concatenate([tree.categories for tree in trees])
    if not len(categories):
        return np.empty(0, np.int32), categories
    begins = np.cumsum([0, *(len(tree.categories) for tree in trees)])
    shifted = [
        np.where(tree.category_set >= 0, tree.category_set + begin, -1)
        for tree, begin in zip(trees, begins, strict=False)
    ]
    return np.concatenate(shifted).astype(np.int32), categories


def add_answers(forest: PackedForest, X: NDArray[np.floating], score: Floats, n_jobs: int | None) -> None:
    """Add the answers of all trees to score [n, k], in place."""
    has_sets = bool(len(forest.categories))
    table = np.ascontiguousarray(X, np.float64 if has_sets else None)

    def add(rows: slice) -> None:
        if has_sets:
            add_forest_category_answers(
                table[rows], forest.nodes, forest.roots, forest.answer, forest.category_set, forest.categories,
                forest.values, score[rows],
            )  # fmt: skip
        else:
            add_forest_answers(table[rows], forest.nodes, forest.roots, forest.answer, forest.values, score[rows])

    run(add, [(slice(i, i + BLOCK),) for i in range(0, len(X), BLOCK)], n_threads(n_jobs, len(X) * forest.n_trees * 4))
