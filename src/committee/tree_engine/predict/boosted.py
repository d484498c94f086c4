"""Predictions of a sum of trees: by traversal, or, for small trees and many rows, by masks of leaves."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.kernels.predict.leaf_masks import add_masked_scores
from committee.kernels.predict.traverse import add_category_scores, add_tree_scores
from committee.records.ensemble import BoostedTrees
from committee.records.tree import LEAF
from committee.tree_engine.predict.apply import PACKED

BLOCK = 1 << 14
"""Rows of one task of a thread."""

MASKED_ROWS = 256
MASKED_NUMBERS = 1 << 14
"""Number of rows whose masks are computed together, fewer if they have more values than fit the cache."""

FEW_ROWS = 64
"""Number of rows below which trees are traversed, as the masks would have to be made first."""


class MaskedTrees(NamedTuple):
    """Trees of at most 32 (float32) or 64 leaves for kernels/predict/leaf_masks.py.

    Thresholds have the width of the masks. Inner nodes first[t] : first[t + 1] are those of tree t; leaf i of the tree
    has the value leaf_first[t] + i and adds to column output[t] of the scores.
    """

    source: NDArray[np.int64]  # [columns] features in use
    column: NDArray[np.int64]  # [inner nodes] place of the feature in `source`
    holes_left: NDArray[np.int64]  # [inner nodes] 1 where missing values go left
    threshold: NDArray[np.floating]  # [inner nodes]
    kept: NDArray[np.unsignedinteger]  # [inner nodes] leaves that are not on the left side
    first: NDArray[np.int64]  # [trees + 1] of inner nodes
    leaf_first: NDArray[np.int64]  # [trees + 1] of leaves
    output: NDArray[np.int64]  # [trees]
    value: Floats  # [leaves]


class WalkedTrees(NamedTuple):
    """Trees for kernels/traverse: nodes numbered over all trees; the child of a leaf is itself."""

    nodes: NDArray[np.void]
    roots: NDArray[np.int64]
    depths: NDArray[np.int64]


class PackedSum:
    """A sum of trees for prediction; `arrays` are the trees, and compact forms are made at their first use."""

    def __init__(self, trees: BoostedTrees) -> None:
        self.arrays = trees

    def __getstate__(self) -> dict[str, BoostedTrees]:
        return {"arrays": self.arrays}

    @property
    def has_sets(self) -> bool:
        return bool(len(self.arrays.categories))

    @cached_property
    def root(self) -> NDArray[np.int64]:
        """The root of the tree of every node."""
        return np.repeat(self.arrays.offsets[:-1], np.diff(self.arrays.offsets))

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """Inner nodes of all trees by their depth."""
        left, result = self.arrays.left, []
        node = self.arrays.offsets[:-1]
        while True:
            inner = node[left[node] != LEAF]
            if not inner.size:
                return result
            result.append(inner)
            child = left[inner] + self.root[inner]
            node = np.concatenate([child, child + 1])

    @cached_property
    def n_leaves(self) -> NDArray[np.int64]:
        """Number of leaves below every node."""
        n_leaves = np.ones(self.root.size, np.int64)
        for inner in reversed(self.levels):
            child = self.arrays.left[inner] + self.root[inner]
            n_leaves[inner] = n_leaves[child] + n_leaves[child + 1]
        return n_leaves

    @cached_property
    def walked(self) -> WalkedTrees:
        trees, m = self.arrays, self.root.size
        is_leaf = trees.feature == LEAF
        nodes = np.empty(m, PACKED)
        nodes["threshold"] = np.where(is_leaf, np.inf, trees.threshold)
        feature = np.where(is_leaf, 0, trees.feature)
        nodes["feature"] = np.where(is_leaf | trees.missing_left, ~feature, feature)
        nodes["left"] = np.where(is_leaf, np.arange(m), trees.left + self.root)
        depths = np.zeros(m, np.int64)  # at the roots
        for level, inner in enumerate(self.levels):
            depths[self.root[inner]] = level + 1
        return WalkedTrees(nodes, trees.offsets[:-1].copy(), depths[trees.offsets[:-1]])

    @cached_property
    def masked32(self) -> MaskedTrees:
        return _mask(self, np.dtype(np.float32), np.dtype(np.uint32))

    @cached_property
    def masked64(self) -> MaskedTrees:
        return _mask(self, np.dtype(np.float64), np.dtype(np.uint64))


def _mask(packed: PackedSum, number: np.dtype[np.floating], mask: np.dtype[np.unsignedinteger]) -> MaskedTrees:
    trees, root, n_leaves = packed.arrays, packed.root, packed.n_leaves
    first_leaf = np.zeros(root.size, np.int64)  # the leftmost leaf below a node, within its tree
    for inner in packed.levels:
        child = trees.left[inner] + root[inner]
        first_leaf[child] = first_leaf[inner]
        first_leaf[child + 1] = first_leaf[inner] + n_leaves[child]
    is_leaf = trees.left == LEAF
    inner = np.flatnonzero(~is_leaf)
    on_left = n_leaves[trees.left[inner] + root[inner]].astype(np.uint64)
    struck = ((np.uint64(1) << on_left) - np.uint64(1)) << first_leaf[inner].astype(np.uint64)
    source, column = np.unique(trees.feature[inner].astype(np.int64), return_inverse=True)
    leaf_first = np.concatenate([[0], np.cumsum(n_leaves[trees.offsets[:-1]])])
    value = np.empty(int(leaf_first[-1]))
    tree = np.repeat(np.arange(trees.n_trees), np.diff(trees.offsets))[is_leaf]
    value[leaf_first[tree] + first_leaf[is_leaf]] = trees.value[is_leaf]
    return MaskedTrees(
        source=source,
        column=column.astype(np.int64),
        holes_left=trees.missing_left[inner].astype(np.int64),
        threshold=_not_above(trees.threshold[inner], number),
        kept=(~struck).astype(mask),
        first=np.searchsorted(inner, trees.offsets).astype(np.int64),
        leaf_first=leaf_first,
        output=trees.output,
        value=value,
    )


def _not_above(threshold: Floats, number: np.dtype[np.floating]) -> NDArray[np.floating]:
    """Thresholds rounded down to the type, so that x <= threshold is unchanged for x of the type."""
    with np.errstate(over="ignore"):  # beyond the numbers of the type is infinity, and below that the largest of them
        rounded = threshold.astype(number)
        below = np.nextafter(rounded, number.type(-np.inf))
    return np.where(rounded > threshold, below, rounded)


def add_scores(packed: PackedSum, X: NDArray[np.floating], score: Floats, n_jobs: int | None) -> None:
    """Add the sum of the trees to score [n, heads], in place."""
    trees = packed.arrays
    if not trees.n_trees:
        return
    if packed.has_sets:
        table = np.ascontiguousarray(X, np.float64)
        nodes, roots, _ = packed.walked
        sets = trees.category_set, trees.categories

        def add(rows: slice) -> None:
            add_category_scores(table[rows], nodes, roots, trees.output, *sets, trees.value, score[rows])

    elif len(X) >= FEW_ROWS and int(packed.n_leaves.max()) <= 64:
        is_narrow = X.dtype == np.float32 and int(packed.n_leaves.max()) <= 32
        masked = packed.masked32 if is_narrow else packed.masked64
        table = np.ascontiguousarray(X, masked.threshold.dtype)
        n_columns = masked.source.size
        n_rows = min(max(MASKED_NUMBERS // max(n_columns, 1), 64), MASKED_ROWS)

        def add(rows: slice) -> None:
            block, mask = np.empty((2 * n_columns, n_rows), table.dtype), np.empty(n_rows, masked.kept.dtype)
            add_masked_scores(table[rows], masked, block, mask, score[rows])

    else:
        table = np.ascontiguousarray(X)
        walked = packed.walked

        def add(rows: slice) -> None:
            add_tree_scores(table[rows], *walked, trees.output, trees.value, score[rows])

    blocks = [(slice(i, i + BLOCK),) for i in range(0, len(X), BLOCK)]
    run(add, blocks, n_threads(n_jobs, len(X) * trees.n_trees))
