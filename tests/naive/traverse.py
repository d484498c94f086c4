"""The way of a row through a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree

Floats = NDArray[np.float64]

N_CATEGORY_CODES = 256


def goes_left(tree: Tree, node: int, x: float) -> bool:
    """True where a row with the value `x` of the node's feature goes left."""
    row = int(tree.category_set[node])
    if np.isnan(x):
        return bool(tree.missing_left[node])
    if row < 0:
        return bool(x <= tree.threshold[node])
    code = int(x)
    if not 0 <= code < N_CATEGORY_CODES:
        return bool(tree.missing_left[node])
    return bool((int(tree.categories[row, code // 64]) >> (code % 64)) & 1)


def naive_apply(tree: Tree, X: Floats) -> NDArray[np.int64]:
    """The leaf of every row."""
    leaves = np.zeros(len(X), np.int64)
    for i, row in enumerate(np.asarray(X, np.float64)):
        node = 0
        while tree.feature[node] != LEAF:
            left = goes_left(tree, node, row[tree.feature[node]])
            node = int(tree.left[node]) + (0 if left else 1)
        leaves[i] = node
    return leaves
