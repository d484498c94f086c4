"""Growing of decision trees.

There are two tiers. Nodes of many rows are split one by one from Python, with their features searched in parallel. A
node of at most a few thousand rows is grown to a complete subtree by one kernel call, on a copy of its rows that fits
the cache; subtrees run in parallel too. Neither the tier nor the number of threads changes the tree: sums are integers,
and the random draws of a node depend only on its path from the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import ROW
from committee.kernels.trees import statistics
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints, Limits
from committee.records.tree import Tree
from committee.tree_engine.large_tree import LargeTree
from committee.tree_engine.response import Response
from committee.tree_engine.subtrees import (
    grow_small,
    make_table,
    new_nodes,
    rules_record,
    subtree_rows,
)

NO_LIMIT = 2**31 - 1


def free_limits(n_features: int, unit_weights: bool) -> Limits:
    """Limits of full trees that search all features."""
    return Limits(
        max_depth=NO_LIMIT,
        max_splits=NO_LIMIT,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_leaf=0,
        min_gain=-np.inf,
        stop_if_pure=True,
        unit_weights=unit_weights,
        max_features=n_features,
        random_splits=False,
        best_first=False,
        is_monotone=False,
        has_groups=False,
    )


def grow(
    matrix: BinnedMatrix,
    response: Response,
    limits: Limits,
    constraints: Constraints | None = None,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Tree:
    """Grow a tree on the rows of positive weight."""
    nodes, rows = _grow_nodes(matrix, response, limits, constraints, seed, n_jobs)
    return _finish(nodes, rows, matrix, response, limits)


def grow_placed(
    matrix: BinnedMatrix,
    response: Response,
    limits: Limits,
    constraints: Constraints | None = None,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[Tree, NDArray[np.int64]]:
    """Grow a tree and return the leaf of every training row too; -1 for rows of weight zero."""
    nodes, rows = _grow_nodes(matrix, response, limits, constraints, seed, n_jobs)
    leaf = leaf_of_rows(nodes, rows, response.weight.size)
    return _finish(nodes, rows, matrix, response, limits), leaf


def leaf_of_rows(nodes: NDArray[np.void], rows: NDArray[np.uint32], n_rows: int) -> NDArray[np.int64]:
    """The leaf of each row of the table; -1 for rows that the tree was not grown on."""
    leaf = np.empty(n_rows, np.int64) if rows.size == n_rows else np.full(n_rows, -1, np.int64)
    statistics.mark_leaves(nodes, rows, leaf)
    return leaf


def _grow_nodes(
    matrix: BinnedMatrix,
    response: Response,
    limits: Limits,
    constraints: Constraints | None,
    seed: int,
    n_jobs: int | None,
) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
    """Node records, and the rows in an order in which those of every node are contiguous."""
    rows = np.flatnonzero(response.weight > 0).astype(ROW)
    stat = response.stat[rows] if rows.size < response.weight.size else response.stat.copy()
    table = make_table(matrix, response, constraints or Constraints.none(matrix.n_features))
    rules = rules_record(response, limits)
    if rows.size <= subtree_rows(matrix.n_features):
        root = new_nodes(1)
        root[0]["n"], root[0]["key"] = rows.size, seed
        nodes = grow_small(rules, rows, stat, table, root[0])
    else:
        top = LargeTree(rules, rows, stat, table, matrix.tiles, seed, n_jobs)
        nodes = top.grow_best_first() if limits.best_first else top.grow_depth_first()
    return nodes, rows


def _finish(
    nodes: NDArray[np.void], rows: NDArray[np.uint32], matrix: BinnedMatrix, response: Response, limits: Limits
) -> Tree:
    value, impurity, weight = _node_statistics(nodes, rows, response)
    if limits.is_monotone:
        _clip_values(value, nodes["lower"], nodes["upper"], response.centre)
    return as_tree(nodes, matrix, value, impurity, weight)


def as_tree(
    nodes: NDArray[np.void],
    matrix: BinnedMatrix,
    value: NDArray[np.float64],
    impurity: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> Tree:
    """Node records as a tree."""
    kept = read_nodes(nodes, np.arange(nodes.size), matrix)
    return Tree(value=value, impurity=impurity, weight=weight, **kept._asdict())


def _clip_values(
    value: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], centre: float
) -> None:
    """Clip values to the bounds of monotone constraints, in place; two classes have the targets -1 and +1."""
    if value.shape[1] == 1:
        np.clip(value[:, 0], lower + centre, upper + centre, out=value[:, 0])
    else:
        np.clip(value[:, 1], 0.5 * (lower + 1.0), 0.5 * (upper + 1.0), out=value[:, 1])
        value[:, 0] = 1.0 - value[:, 1]


def read_nodes(nodes: NDArray[np.void], used: NDArray[np.int64], matrix: BinnedMatrix) -> NodeArrays:
    """The fields of the node records `used` that trees keep."""
    m = used.size
    out = NodeArrays(
        feature=np.empty(m, np.int32),
        threshold=np.empty(m),
        left=np.empty(m, np.int32),
        missing_left=np.empty(m, np.bool_),
        category_set=np.empty(m, np.int32),
        gain=np.empty(m),
        n_samples=np.empty(m, np.int64),
        categories=np.empty((0, 4), np.uint64),
    )
    bins = BinEdges(matrix.offsets, matrix.n_bins, matrix.lower, matrix.upper)
    if not statistics.read_splits(nodes, used, bins, out):
        return out
    return out._replace(categories=nodes["set"][used[out.category_set >= 0]])


class BinEdges(NamedTuple):
    """The smallest and largest value of every bin; those of feature f begin at offsets[f]."""

    offsets: NDArray[np.int64]
    n_bins: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class NodeArrays(NamedTuple):
    """Fields of Tree that are read from node records."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    gain: NDArray[np.float64]
    n_samples: NDArray[np.int64]
    categories: NDArray[np.uint64]


def _node_statistics(
    nodes: NDArray[np.void], rows: NDArray[np.uint32], response: Response
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Value, impurity and weight of every node."""
    m = nodes.size
    target, w = response.target, response.weight
    if response.criterion == "absolute_error":
        sums = np.empty((m, 3))
        scratch = np.empty(rows.size, np.uint32), np.empty((2, rows.size), np.uint64), np.empty(2112, np.int32)
        rank = np.ascontiguousarray(response.stat[:, 0])
        statistics.medians(nodes, rows, rank, response.ranked_target, w, scratch, sums)
        return sums[:, 1:2].copy(), sums[:, 2] / sums[:, 0], sums[:, 0].copy()
    if response.criterion in ("gini", "entropy", "edge", "z"):
        return class_statistics(nodes, rows, target, w, response.goal.n_classes, response.criterion)
    sums = np.empty((m, 4))
    statistics.moments(nodes, rows, target, w, sums)
    weight, mean = sums[:, 0].copy(), sums[:, 1:2].copy()
    impurity = sums[:, 2] / weight
    if response.criterion == "poisson":
        logs = np.log(np.where(mean[:, 0] > 0, mean[:, 0], 1.0))
        impurity = np.maximum(sums[:, 3] / weight - mean[:, 0] * logs, 0.0)
    return mean, impurity, weight


def class_statistics(
    nodes: NDArray[np.void],
    rows: NDArray[np.uint32],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_classes: int,
    criterion: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Class frequencies, impurity and weight of every node."""
    by_class = np.empty((nodes.size, n_classes))
    statistics.class_weights(nodes, rows, target, weight, by_class)
    total = np.einsum("ij->i", by_class)  # faster than np.sum for short rows
    frequency = by_class / total[:, None]
    return frequency, class_impurity(frequency, criterion), total


def class_impurity(p: NDArray[np.float64], criterion: str) -> NDArray[np.float64]:
    """Impurity of nodes from their class frequencies."""
    if criterion == "gini":
        return np.maximum(1.0 - np.einsum("ij,ij->i", p, p), 0.0)
    if criterion == "entropy":
        logs = np.log2(np.where(p > 0, p, 1.0))
        return np.abs(np.sum(p * logs, axis=1))
    if criterion == "edge":
        return 1.0 - p.max(axis=1)
    return 2.0 * np.sqrt(p[:, 0] * (1.0 - p[:, 0]))  # Z of two classes
