"""Leaves and paths of rows in a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.base.threads import n_threads, run
from committee.kernels.predict.traverse import find_leaves, find_leaves_with_categories
from committee.records.tree import LEAF, Tree

PACKED = np.dtype([("threshold", "f8"), ("feature", "i4"), ("left", "i4")], align=True)
"""A node of 16 bytes. A negative feature ~f means that missing values go left; the child of a leaf is itself."""

BLOCK = 1 << 16


def pack(tree: Tree) -> NDArray[np.void]:
    """Pack a tree without categorical splits for prediction."""
    nodes = np.empty(tree.n_nodes, PACKED)
    is_leaf = tree.is_leaf
    nodes["threshold"] = np.where(is_leaf, np.inf, tree.threshold)
    feature = np.where(is_leaf, 0, tree.feature)
    nodes["feature"] = np.where(is_leaf | tree.missing_left, ~feature, feature)
    nodes["left"] = np.where(is_leaf, np.arange(tree.n_nodes), tree.left)
    return nodes


def apply_tree(
    tree: Tree, X: NDArray[np.floating], n_jobs: int | None = None, packed: NDArray[np.void] | None = None
) -> NDArray[np.int64]:
    """The leaf of every row; X [n, d] is float32 or float64 with category codes in categorical columns.

    `packed` is the result of `pack`, for repeated calls.
    """
    leaves = np.empty(X.shape[0], np.int64)
    threads = n_threads(n_jobs, 4 * X.shape[0])
    blocks = [(slice(i, i + BLOCK),) for i in range(0, X.shape[0], BLOCK)]
    if len(tree.categories):

        def walk(rows: slice) -> None:
            block = np.ascontiguousarray(X[rows], np.float64)
            find_leaves_with_categories(
                block,
                tree.feature,
                tree.threshold,
                tree.left,
                tree.missing_left,
                tree.category_set,
                tree.categories,
                leaves[rows],
            )
    else:
        nodes = pack(tree) if packed is None else packed

        def walk(rows: slice) -> None:
            find_leaves(np.ascontiguousarray(X[rows]), nodes, leaves[rows])

    run(walk, blocks, threads)
    return leaves


def parents(tree: Tree) -> NDArray[np.int64]:
    """Parent of every node, -1 for the root."""
    parent = np.full(tree.n_nodes, -1, np.int64)
    inner = np.flatnonzero(tree.feature != LEAF)
    parent[tree.left[inner]] = inner
    parent[tree.left[inner] + 1] = inner
    return parent


def decision_path(tree: Tree, X: NDArray[np.floating], n_jobs: int | None = None) -> sparse.csr_matrix:
    """Indicator matrix [n, nodes] of the nodes on the path of each row."""
    node = apply_tree(tree, X, n_jobs)
    parent, depth = parents(tree), tree.depth
    ends = np.cumsum(depth[node] + 1, dtype=np.int64)
    columns = np.empty(ends[-1] if ends.size else 0, np.int64)
    place, row = ends - 1, np.arange(node.size)
    while row.size:  # all rows move to the parent together
        columns[place[row]] = node[row]
        place[row] -= 1
        node[row] = parent[node[row]]
        row = row[node[row] >= 0]
    first = np.append(0, ends)
    return sparse.csr_matrix((np.ones(columns.size, np.int64), columns, first), shape=(ends.size, tree.n_nodes))
