"""A decision tree as an immutable tuple of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAF = -1


class Tree(NamedTuple):
    """One row per node, node 0 is the root, children come after their parent and side by side.

    A row of the input goes left at a node when its value is at most ``threshold``; for a categorical split, when the
    bit of its category code is set in ``categories[category_set]``; a missing value goes left where ``missing_left``.
    """

    feature: NDArray[np.int32]  # [m], LEAF where the node is a leaf
    threshold: NDArray[np.float64]  # [m], nan at leaves and at categorical splits
    left: NDArray[np.int32]  # [m], LEAF at leaves; the right child is left + 1
    missing_left: NDArray[np.bool_]  # [m]
    category_set: NDArray[np.int32]  # [m], row of `categories`, -1 where the split is not categorical
    categories: NDArray[np.uint64]  # [s, 4], bitsets of the category codes that go left
    value: NDArray[np.float64]  # [m, k], class frequencies, mean, median or score of the node's rows
    impurity: NDArray[np.float64]  # [m]
    gain: NDArray[np.float64]  # [m], decrease of the weighted impurity by the split, 0 at leaves
    n_samples: NDArray[np.int64]  # [m], rows with positive weight
    weight: NDArray[np.float64]  # [m], sum of their weights

    @property
    def n_nodes(self) -> int:
        return self.feature.size

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.feature == LEAF))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        return self.feature == LEAF

    @property
    def right(self) -> NDArray[np.int32]:
        return np.where(self.is_leaf, LEAF, self.left + 1).astype(np.int32)

    @property
    def depth(self) -> NDArray[np.int32]:
        """Depth of every node, the root at 0."""
        depth = np.zeros(self.n_nodes, np.int32)
        level, nodes = 0, np.zeros(1, np.int64)
        while nodes.size:
            depth[nodes] = level
            child = self.left[nodes[self.feature[nodes] != LEAF]]
            level, nodes = level + 1, np.concatenate([child, child + 1])
        return depth

    @property
    def max_depth(self) -> int:
        return int(self.depth.max(initial=0))


_LAYOUT: dict[str, tuple[type[np.generic], int]] = {
    "feature": (np.int32, 1),
    "threshold": (np.float64, 1),
    "left": (np.int32, 1),
    "missing_left": (np.bool_, 1),
    "category_set": (np.int32, 1),
    "categories": (np.uint64, 2),
    "value": (np.float64, 2),
    "impurity": (np.float64, 1),
    "gain": (np.float64, 1),
    "n_samples": (np.int64, 1),
    "weight": (np.float64, 1),
}
"""dtype and dimensions of each array; kernels are compiled for these."""


class InvalidTreeError(ValueError):
    """The arrays do not describe a tree."""


def check_tree(tree: Tree, n_features: int) -> Tree:
    """Return `tree` if its arrays describe a tree over `n_features` features, else raise InvalidTreeError.

    For trees from files and other libraries.
    """
    _check_layout(tree)
    m = tree.n_nodes
    inner = np.flatnonzero(tree.feature != LEAF)
    children = tree.left[inner].astype(np.int64)
    if np.any(tree.left[tree.feature == LEAF] != LEAF):
        raise InvalidTreeError("a leaf has children")
    if np.any(children <= inner):
        raise InvalidTreeError("a child comes before its parent")
    if np.any(children + 1 >= m):
        raise InvalidTreeError("a child lies outside the tree")
    parents = np.bincount(np.concatenate([children, children + 1]), minlength=m)
    if parents[0] != 0 or np.any(parents[1:] != 1):
        raise InvalidTreeError("every node but the root needs exactly one parent")
    if np.any((tree.feature[inner] < 0) | (tree.feature[inner] >= n_features)):
        raise InvalidTreeError(f"a split uses a feature outside 0..{n_features - 1}")
    _check_splits(tree, inner)
    for name in ("value", "impurity", "gain", "weight"):
        if not np.all(np.isfinite(getattr(tree, name))):
            raise InvalidTreeError(f"{name} is not finite everywhere")
    if np.any(tree.weight < 0) or np.any(tree.n_samples < 0):
        raise InvalidTreeError("a node has a negative weight or number of rows")
    return tree


def _check_layout(tree: Tree) -> None:
    for name, (dtype, n_dims) in _LAYOUT.items():
        column = np.asarray(getattr(tree, name))
        if column.dtype != dtype or column.ndim != n_dims:
            raise InvalidTreeError(
                f"{name} must be a {n_dims}-dimensional array of {dtype.__name__}, "
                f"got {column.ndim} dimensions of {column.dtype}"
            )
        if name != "categories" and len(column) != len(tree.feature):
            raise InvalidTreeError(f"{name} has {len(column)} entries for {len(tree.feature)} nodes")
    if len(tree.feature) == 0:
        raise InvalidTreeError("a tree needs at least a root node")


def _check_splits(tree: Tree, inner: NDArray[np.int64]) -> None:
    sets = tree.category_set[inner]
    if tree.categories.ndim != 2 or tree.categories.shape[1] != 4:
        raise InvalidTreeError("categories must have four 64-bit words a row")
    if np.any((sets < -1) | (sets >= len(tree.categories))):
        raise InvalidTreeError("a categorical split points outside the category sets")
    if not np.all(np.isfinite(tree.threshold[inner][sets < 0])):
        raise InvalidTreeError("a numeric split has no finite threshold")
