"""Searching nodes and growing subtrees by one kernel call each, with scratch memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import CODE_LOCAL, ROW
from committee.kernels.trees.criteria import ABSOLUTE, CLASS_GINI, FIRST_CLASS_CRITERION, SQUARED
from committee.kernels.trees.grow_subtree import (
    grow_absolute,
    grow_categorical,
    grow_on_classes,
    grow_on_sums,
    grow_random,
)
from committee.kernels.trees.split_binary import FEW_CODES, MAX_WEIGHT
from committee.kernels.trees.split_small_node import FEW_ROWS, TOGETHER
from committee.records.binned import BinnedMatrix
from committee.records.growth import FEATURE, MARK_EVERY, NODE, RULES, Constraints, Limits, Subtree, Table, Work
from committee.records.tree import LEAF
from committee.tree_engine.response import Response

SUBTREE_ROWS = 16384
SUBTREE_CELLS = 1 << 23
"""Maximum number of rows and cells of a subtree, which fits the cache and takes less than a second."""

HISTOGRAM_CODES = 1 << 14
"""Number of codes up to which large nodes use a histogram in place of a sort."""


def subtree_rows(n_features: int) -> int:
    """Number of rows up to which a node is grown to a complete subtree by one call."""
    return max(64, min(SUBTREE_ROWS, SUBTREE_CELLS // max(n_features, 1)))


def rules_record(response: Response, limits: Limits) -> NDArray[np.void]:
    rules = np.array([(*response.goal, *limits)], RULES)
    goal = response.goal
    is_free = (
        not limits.has_groups and limits.min_samples_leaf <= 1 and limits.min_weight_leaf <= 1
    )  # every leaf has a weight of one unit or more
    rules["is_plain"] = is_free and goal.criterion in (SQUARED, CLASS_GINI) and goal.l1 == 0.0 and goal.l2 == 0.0
    return rules


def feature_records(matrix: BinnedMatrix, constraints: Constraints) -> NDArray[np.void]:
    features = np.zeros(matrix.n_features, FEATURE)
    features["n_bins"] = matrix.n_bins
    features["offset"] = matrix.offsets[:-1]
    features["is_categorical"] = matrix.is_categorical
    features["monotone"] = constraints.monotone
    features["groups"] = constraints.groups
    return features


def make_table(matrix: BinnedMatrix, response: Response, constraints: Constraints) -> Table:
    return Table(
        bytes=np.empty((0, 0), np.uint8) if matrix.is_exact else matrix.codes,
        ranks=matrix.codes if matrix.is_exact else np.empty((0, 0), np.uint32),
        features=feature_records(matrix, constraints),
        lower=matrix.lower,
        upper=matrix.upper,
        marks=np.ascontiguousarray(matrix.upper[::MARK_EVERY]),
        target=response.target,
        ranked_target=response.ranked_target,
    )


def make_work(n: int, rules: NDArray[np.void], n_codes: int) -> Work:
    """Scratch memory for nodes of at most n rows whose features have at most n_codes codes."""
    n_classes = int(rules["n_classes"][0])
    n_histogram = max(min(2 * n, HISTOGRAM_CODES, n_codes + 2), 257)
    n_cuts = max(n + 2, n_histogram)
    n_packed = max(2 * min(n, MAX_WEIGHT), n, FEW_CODES)
    return Work(
        column=np.empty(n, np.uint32),
        keys=np.empty((2, n), np.uint64),
        counters=np.empty(2112, np.int32),
        histogram=np.empty((n_histogram, 2), np.int64),
        cuts=np.empty((4, n_cuts), np.int64),
        gain=np.empty(max(n_cuts, n_packed)),
        by_class=np.empty((2, n_classes)),
        of_class=np.empty((2, n_classes), np.int64),
        by_category=np.empty((257, 3)),
        order=np.empty(257, np.int64),
        block=np.empty((3, FEW_ROWS * TOGETHER), np.int64),
        decreases=np.empty((2, FEW_ROWS * TOGETHER)),
        packed=np.empty((4, n_packed + 8), np.int32),
        packed_keys=np.empty((2, n_packed), np.uint32),
        absolute=np.empty((6, n + 2 if rules["criterion"][0] == ABSOLUTE else 0)),
        spare_rows=np.empty(n, ROW),
        spare_stat=np.empty((n, 2), np.int64),
        side=np.empty(n, np.uint8),
    )


def new_nodes(capacity: int) -> NDArray[np.void]:
    nodes = np.zeros(capacity, NODE)
    nodes["feature"] = nodes["left"] = LEAF
    nodes["groups"] = 2**64 - 1
    nodes["lower"], nodes["upper"] = -np.inf, np.inf
    return nodes


def concatenate_nodes(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """Concatenate node records; np.concatenate loses their alignment, and kernels would be compiled again."""
    whole = np.empty(sum(part.size for part in parts), NODE)
    np.concatenate([part.view(np.uint64) for part in parts], out=whole.view(np.uint64))  # as words: fast
    return whole


def grow_small(
    rules: NDArray[np.void], rows: NDArray[np.uint32], stat: NDArray[np.int64], table: Table, root: np.void
) -> NDArray[np.void]:
    """Grow the subtree of `rows`; return its nodes, numbered from its root. Rows and stat are reordered in place."""
    n = rows.size
    n_splits = min(n - 1, int(rules["max_splits"][0]))
    nodes = np.empty(2 * n_splits + 1, NODE)  # kernels initialise every node
    nodes[0] = root
    nodes[0]["start"] = 0
    work = make_work(n, rules, n)
    features = np.arange(table.features.size)
    return nodes[: _call(rules, features, rows, stat, table, nodes, work, is_copied=True)]


def _call(
    rules: NDArray[np.void],
    features: NDArray[np.int64],
    rows: NDArray[np.uint32],
    stat: NDArray[np.int64],
    table: Table,
    nodes: NDArray[np.void],
    work: Work,
    is_copied: bool,
) -> int:
    """Call the kernel with scratch arrays."""
    n, d = rows.size, table.features.size
    subtree = Subtree(
        local=np.empty((d if is_copied else 0, n), CODE_LOCAL),
        code_of=np.empty((d, n) if is_copied and rules["random_splits"][0] else (1, 0), np.uint32),
        n_ranks=np.empty(d, np.int64),
        constant=np.empty((nodes.size, (d + 63) // 64), np.uint64),
        frontier=np.empty(nodes.size, np.int64),
        look=np.empty(d, np.int64),
        position=np.empty(n, ROW),
        origin=np.empty(n, ROW),
    )
    grow = _choose_kernel(rules, table)
    return grow(rules, features, rows, stat, table, nodes, subtree, work)


def _choose_kernel(rules: NDArray[np.void], table: Table) -> Any:
    """Choose the kernel that has the search of this fit: the others need not be compiled."""
    criterion = rules["criterion"][0]
    if criterion == ABSOLUTE:
        return grow_absolute
    if rules["random_splits"][0]:
        return grow_random
    if table.features["is_categorical"].any():
        return grow_categorical
    return grow_on_classes if criterion >= FIRST_CLASS_CRITERION else grow_on_sums


def search_node(
    node: NDArray[np.void],
    features: NDArray[np.int64],
    rules: NDArray[np.void],
    rows: NDArray[np.uint32],
    stat: NDArray[np.int64],
    table: Table,
    works: list[Work],
) -> np.void:
    """Write the best split of `features` to `node`. One of `works` is in use meanwhile."""
    only_search = rules.copy()
    only_search["max_splits"] = 0
    only_search["max_features"] = features.size
    node["start"] = 0
    work = works.pop()
    try:
        _call(only_search, features, rows, stat, table, node, work, is_copied=False)
    finally:
        works.append(work)
    return node[0]
