"""Packed forests, and their predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.kernels.predict.forest_walk import LANES, add_row_predictions, add_tile_predictions
from committee.records.forest import PackedForest
from committee.records.tree import LEAF, Tree
from committee.tree_engine.predict.apply import PACKED
from committee.tree_engine.predict.compact import ShortNodes, short_nodes, tiles_of

BLOCK = 1 << 12
"""Rows of one task of a thread."""

FEW_ROWS = 64
"""Number of rows up to which the stored nodes are used as they are."""


def pack_forest(trees: Sequence[Tree]) -> PackedForest:
    """Pack trees for prediction."""
    sizes = np.array([tree.n_nodes for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    feature, left, threshold, missing_left = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "left", "threshold", "missing_left")
    )
    is_leaf = feature == LEAF
    m = is_leaf.size
    nodes = np.empty(m, PACKED)
    nodes["threshold"] = np.where(is_leaf, np.inf, threshold)
    feature = np.where(is_leaf, 0, feature)
    nodes["feature"] = np.where(is_leaf | missing_left, ~feature, feature)
    nodes["left"] = np.where(is_leaf, np.arange(m), left + np.repeat(roots, sizes))
    value_index, values = _predictions(is_leaf, np.concatenate([tree.value[tree.feature == LEAF] for tree in trees]))
    return PackedForest(nodes, value_index, roots, values, *_sets(trees))


def _predictions(is_leaf: NDArray[np.bool_], of_leaf: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Row of the values for each node, and the values: those of pure leaves first, then those of the others."""
    k = of_leaf.shape[1]
    leaf = np.flatnonzero(is_leaf)
    value_index = np.zeros(is_leaf.size, np.int32)
    if k == 1:
        value_index[leaf] = np.arange(leaf.size)
        return value_index, of_leaf
    row, column = np.nonzero(of_leaf)  # one pass; a maximum, a place and a count of short rows take several times that
    n_classes = np.bincount(row, minlength=leaf.size)
    is_pure = n_classes == 1
    of_pure = column[(np.cumsum(n_classes) - n_classes)[is_pure]]
    is_pure[is_pure] = is_one = of_leaf[is_pure, of_pure] == 1.0
    index = k + np.cumsum(~is_pure) - 1
    index[is_pure] = of_pure[is_one]
    value_index[leaf] = index
    return value_index, np.concatenate([np.eye(k), of_leaf[~is_pure]])


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


def add_predictions(forest: PackedForest, X: NDArray[np.floating], score: Floats, n_jobs: int | None) -> None:
    """Add the predictions of all trees to score [n, k], in place."""
    threads = n_threads(n_jobs, len(X) * forest.n_trees * 4)
    blocks = [(slice(i, i + BLOCK),) for i in range(0, len(X), BLOCK)]
    if len(X) < FEW_ROWS or len(forest.categories):
        table = np.ascontiguousarray(X, np.float64)
        run(lambda rows: _add_by_rows(forest, table[rows], score[rows]), blocks, threads)
        return
    table, has_missing = _narrow(X), bool(np.isnan(np.add.reduce(X, axis=None)))
    short = short_nodes(forest, table.dtype, has_missing)
    if short is None:
        table = np.asarray(X, np.float64)
        short = short_nodes(forest, table.dtype, has_missing)
        assert short is not None, "64 bits hold every link"
    run(lambda rows: _add_by_tiles(forest, short, tiles_of(table[rows], has_missing), score[rows]), blocks, threads)


def _narrow(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """X in float32 if that changes no value, for which smaller nodes take the same decisions."""
    if X.dtype == np.float32:
        return X
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    return narrow if np.array_equal(narrow, X, equal_nan=True) else X


def _add_by_rows(forest: PackedForest, X: Floats, score: Floats) -> None:
    add_row_predictions(
        X, forest.nodes, forest.roots, forest.value_index, forest.category_set, forest.categories, forest.values, score
    )


def _add_by_tiles(forest: PackedForest, short: ShortNodes, tiles: NDArray[np.floating], score: Floats) -> None:
    n = len(score)
    full = score if n % LANES == 0 else np.zeros((len(tiles) * LANES, score.shape[1]))
    full[:n] = score
    add_tile_predictions(tiles, short.nodes, short.n_bits, forest.roots, forest.value_index, forest.values, full)
    score[:] = full[:n]
