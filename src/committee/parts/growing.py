"""`grow`: the one door to every tree of the library.

Two tiers. Nodes of many rows are taken one by one from Python, their features searched side by side on threads. A
node of at most a few thousand rows becomes a subtree that one kernel call grows to its end, out of a copy of its rows
that stays in the cache; subtrees run side by side too. Neither the tier nor the number of threads changes the tree:
sums are integers, and a node's random draws depend only on its path from the root.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import CODE_LOCAL, ROW
from committee.base.threads import n_threads, run
from committee.data.binned import BinnedMatrix
from committee.data.growth import FEATURE, NODE, RULES, Limits, Table, Work
from committee.data.tree import LEAF, Tree
from committee.kernels import statistics
from committee.kernels.sampling import draw_order
from committee.kernels.scores import ABSOLUTE
from committee.kernels.subtree import grow_subtree, split_node
from committee.parts.binning import midpoints
from committee.parts.response import Response

SUBTREE_ROWS = 4096
SUBTREE_CELLS = 1 << 23
"""A subtree has at most this many rows and cells: it fits the cache and ends within a second (for Ctrl-C)."""

HISTOGRAM_CODES = 1 << 14
"""Codes up to which a histogram replaces the sort of a large node."""

NO_LIMIT = 2**31 - 1


class Constraints(NamedTuple):
    """What the splits must respect: direction per feature, and groups of features that may interact."""

    monotone: NDArray[np.int64]  # [d]
    groups: NDArray[np.uint64]  # [d] bit i set if group i holds the feature

    @classmethod
    def none(cls, n_features: int) -> Constraints:
        return cls(np.zeros(n_features, np.int64), np.full(n_features, 2**64 - 1, np.uint64))


def free_limits(n_features: int, unit_weights: bool) -> Limits:
    """Growth until every leaf is pure, all features looked at."""
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
    """Grow one tree on the rows of positive weight."""
    rows = np.flatnonzero(response.weight > 0).astype(ROW)
    stat = response.stat[rows]
    table = _table(matrix, response, constraints or Constraints.none(matrix.n_features))
    rules = _rules(response, limits)
    if rows.size <= subtree_rows(matrix.n_features):
        root = _new_nodes(1)
        root[0]["n"], root[0]["key"] = rows.size, seed
        nodes = _grow_small(rules, rows, stat, table, root[0])
    else:
        top = _LargeTree(rules, rows, stat, table, seed, n_jobs)
        nodes = top.grow_best_first() if limits.best_first else top.grow_depth_first()
    return _finish(nodes, rows, matrix, response, limits)


def subtree_rows(n_features: int) -> int:
    return max(64, min(SUBTREE_ROWS, SUBTREE_CELLS // max(n_features, 1)))


# --- memory ----------------------------------------------------------------------------------------------------------


def _rules(response: Response, limits: Limits) -> NDArray[np.void]:
    return np.array([(*response.goal, *limits)], RULES)


def _table(matrix: BinnedMatrix, response: Response, constraints: Constraints) -> Table:
    features = np.zeros(matrix.n_features, FEATURE)
    features["n_bins"] = matrix.n_bins
    features["offset"] = matrix.offsets[:-1]
    features["is_categorical"] = matrix.is_categorical
    features["monotone"] = constraints.monotone
    features["groups"] = constraints.groups
    return Table(
        bytes=np.empty((0, 0), np.uint8) if matrix.is_exact else matrix.codes,
        ranks=matrix.codes if matrix.is_exact else np.empty((0, 0), np.uint32),
        features=features,
        lower=matrix.lower,
        upper=matrix.upper,
        target=response.target,
        ranked_target=response.ranked_target,
    )


def _work(n: int, rules: NDArray[np.void], n_codes: int) -> Work:
    """Scratch memory for nodes of at most n rows whose features have at most n_codes codes."""
    n_classes = int(rules["n_classes"][0])
    n_histogram = max(min(2 * n, HISTOGRAM_CODES, n_codes + 2), 257)
    n_cuts = max(n + 2, n_histogram)
    return Work(
        column=np.empty(n, np.uint32),
        keys=np.empty((2, n), np.uint64),
        counters=np.empty(2112, np.int32),
        histogram=np.empty((n_histogram, 2), np.int64),
        cuts=np.empty((4, n_cuts), np.int64),
        gain=np.empty(n_cuts),
        by_class=np.empty((2, n_classes)),
        by_category=np.zeros((257, max(n_classes, 3))),
        order=np.empty(257, np.int64),
        absolute=np.empty((6, n + 2 if rules["criterion"][0] == ABSOLUTE else 0)),
        spare_rows=np.empty(n, ROW),
        spare_stat=np.empty((n, 2), np.int64),
        side=np.empty(n, np.uint8),
    )


def _new_nodes(capacity: int) -> NDArray[np.void]:
    nodes = np.zeros(capacity, NODE)
    nodes["feature"] = nodes["left"] = LEAF
    nodes["groups"] = 2**64 - 1
    nodes["lower"], nodes["upper"] = -np.inf, np.inf
    return nodes


def _concatenate(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """NumPy's own concatenate forgets that the records are aligned, and kernels would be compiled again for that."""
    whole = np.empty(sum(part.size for part in parts), NODE)
    np.concatenate(parts, out=whole)
    return whole


# --- one kernel call -------------------------------------------------------------------------------------------------


def _grow_small(
    rules: NDArray[np.void], rows: NDArray[np.uint32], stat: NDArray[np.int64], table: Table, root: np.void
) -> NDArray[np.void]:
    """The nodes of the subtree of `rows`, numbered from its root; rows and stat are reordered in place."""
    n = rows.size
    n_splits = min(n - 1, int(rules["max_splits"][0]))
    nodes = _new_nodes(2 * n_splits + 1)
    nodes[0] = root
    nodes[0]["start"] = 0
    work = _work(n, rules, n)
    features = np.arange(table.features.size)
    return nodes[: _call(rules, features, rows, stat, table, nodes, work, is_copied=not rules["random_splits"][0])]


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
    """`grow_subtree` with its scratch arrays."""
    n, d = rows.size, table.features.size
    local = np.empty((d if is_copied else 0, n), CODE_LOCAL)
    frontier, n_ranks = np.empty(nodes.size, np.int64), np.empty(d, np.int64)
    position, origin = np.empty(n, ROW), np.empty(n, ROW)
    return grow_subtree(rules, features, rows, stat, table, nodes, local, n_ranks, frontier, position, origin, work)


# --- large nodes from Python -----------------------------------------------------------------------------------------


class _LargeTree:
    """The growing top of a large tree: nodes searched and split one by one, subtrees handed over."""

    def __init__(
        self,
        rules: NDArray[np.void],
        rows: NDArray[np.uint32],
        stat: NDArray[np.int64],
        table: Table,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self.rules, self.rows, self.stat, self.table, self.n_jobs = rules, rows, stat, table, n_jobs
        self.d = table.features.size
        self.max_features = int(rules["max_features"][0])
        self.threads = n_threads(n_jobs, rows.size * min(self.d, self.max_features))
        n_codes = int(table.features["n_bins"].max(initial=0))
        self.works = [_work(rows.size, rules, n_codes) for _ in range(self.threads)]
        self.nodes = _new_nodes(64)
        self.nodes[0]["n"], self.nodes[0]["key"] = rows.size, seed
        self.n_nodes = 1

    def grow_depth_first(self) -> NDArray[np.void]:
        small = subtree_rows(self.d)
        stack, subtrees = [0], []
        while stack:
            i = stack.pop()
            if self.nodes["n"][i] <= small:
                subtrees.append(i)
            elif self._find_split(i):
                left = self._take_split(i)
                stack += [left + 1, left]
        return self._join(subtrees)

    def grow_best_first(self) -> NDArray[np.void]:
        frontier = [(-self.nodes["gain"][0], 0)] if self._find_split(0) else []
        for _ in range(int(self.rules["max_splits"][0])):
            if not frontier:
                break
            left = self._take_split(heapq.heappop(frontier)[1])
            for child in (left, left + 1):
                if self._find_split(child):
                    heapq.heappush(frontier, (-self.nodes["gain"][child], child))
        return self.nodes[: self.n_nodes]

    def _find_split(self, i: int) -> bool:
        """Search the features of node i; whether a split was found that may be taken."""
        order = np.arange(self.d)
        if self.max_features < self.d:
            draw_order(self.nodes["key"][i], order)
        self._search(i, order[: self.max_features])
        for f in order[self.max_features :]:  # all constant here: go on until a feature is not
            if self.nodes["n_found"][i]:
                break
            self._search(i, np.array([f]))
        return bool(self.nodes["feature"][i] != LEAF)

    def _search(self, i: int, features: NDArray[np.int64]) -> None:
        """Search `features` of node i on threads; of equal splits the first in the order of `features` wins.

        Kernel calls last less than a second, so that Ctrl-C is heard in between.
        """
        start, n = int(self.nodes["start"][i]), int(self.nodes["n"][i])
        rows, stat = self.rows[start : start + n], self.stat[start : start + n]
        threads = min(self.threads, n_threads(self.n_jobs, n * features.size))
        n_calls = max(threads, -(-n * features.size // (4 * SUBTREE_CELLS)))
        calls = [
            (self.nodes[i : i + 1].copy(), chunk, self.rules, rows, stat, self.table, self.works)
            for chunk in np.array_split(features, n_calls)
        ]
        found = run(_search_chunk, calls, threads)
        best = max(found, key=lambda node: node["score"])
        best["n_found"] = sum(node["n_found"] for node in found)
        best["start"] = start
        self.nodes[i] = best

    def _take_split(self, i: int) -> int:
        """Send the rows of node i to two new nodes; return the left one."""
        if self.n_nodes + 2 > self.nodes.size:
            self.nodes = _concatenate([self.nodes, _new_nodes(self.nodes.size)])
        left = self.n_nodes
        split_node(self.nodes, i, left, self.rows, self.stat, self.table, self.works[0])
        self.n_nodes += 2
        return left

    def _join(self, subtrees: list[int]) -> NDArray[np.void]:
        """Grow the subtrees and append them: the top's nodes first, then each subtree's nodes without its root."""
        top = self.nodes[: self.n_nodes]
        place = [(int(top["start"][i]), int(top["start"][i] + top["n"][i])) for i in subtrees]
        calls = [
            (self.rules, self.rows[a:b], self.stat[a:b], self.table, top[i])
            for i, (a, b) in zip(subtrees, place, strict=True)
        ]
        threads = n_threads(self.n_jobs, self.rows.size * min(self.d, self.max_features))
        grown = run(_grow_small, calls, threads)
        parts, n_nodes = [top], top.size
        for i, (start, _), subtree in zip(subtrees, place, grown, strict=True):
            subtree["start"] += start
            subtree["left"][subtree["left"] != LEAF] += n_nodes - 1
            top[i] = subtree[0]
            parts.append(subtree[1:])
            n_nodes += subtree.size - 1
        return _concatenate(parts)


def _search_chunk(
    node: NDArray[np.void],
    features: NDArray[np.int64],
    rules: NDArray[np.void],
    rows: NDArray[np.uint32],
    stat: NDArray[np.int64],
    table: Table,
    works: list[Work],
) -> np.void:
    """Write the best split along `features` into `node`. Borrows one of `works` for as long as it runs."""
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


# --- from growing nodes to a tree ------------------------------------------------------------------------------------


def _finish(
    nodes: NDArray[np.void], rows: NDArray[np.uint32], matrix: BinnedMatrix, response: Response, limits: Limits
) -> Tree:
    left = nodes["left"].astype(np.int32)
    is_inner = left != LEAF
    value, impurity, weight = _node_statistics(nodes, rows, response)
    if limits.is_monotone:
        _clip_values(value, nodes["lower"], nodes["upper"], response.centre)
    has_set = is_inner & (nodes["is_set"] == 1)
    return Tree(
        feature=np.where(is_inner, nodes["feature"], LEAF).astype(np.int32),
        threshold=_thresholds(nodes, matrix),
        left=left,
        missing_left=is_inner & (nodes["missing_left"] == 1),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=nodes["set"][has_set],
        value=value,
        impurity=impurity,
        gain=np.where(is_inner, nodes["gain"], 0.0),
        n_samples=nodes["n"].copy(),
        weight=weight,
    )


def _clip_values(
    value: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], centre: float
) -> None:
    """Keep values inside the bounds of monotone constraints (in place); two classes have the targets -1 and +1."""
    if value.shape[1] == 1:
        np.clip(value[:, 0], lower + centre, upper + centre, out=value[:, 0])
    else:
        np.clip(value[:, 1], 0.5 * (lower + 1.0), 0.5 * (upper + 1.0), out=value[:, 1])
        value[:, 0] = 1.0 - value[:, 1]


def _thresholds(nodes: NDArray[np.void], matrix: BinnedMatrix) -> NDArray[np.float64]:
    """Half-way between the last value on the left and the first on the right that the node's rows have."""
    threshold = np.full(nodes.size, np.nan)
    numeric = np.flatnonzero((nodes["left"] != LEAF) & (nodes["is_set"] == 0))
    inner = nodes[numeric]
    offset, last_bin = matrix.offsets[inner["feature"]], matrix.n_bins[inner["feature"]] - 1
    low = matrix.upper[offset + np.clip(inner["last_left"], 0, last_bin)]
    high = matrix.lower[offset + np.clip(inner["first_right"], 0, last_bin)]
    middle = np.where(np.isnan(inner["threshold"]), midpoints(low, high), inner["threshold"])
    # Only missing values on one side: every value goes to the other.
    largest = np.finfo(np.float64).max
    middle = np.where(inner["last_left"] < 0, -largest, middle)
    threshold[numeric] = np.where(inner["first_right"] < 0, largest, middle)
    return threshold


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
        statistics.medians(nodes, rows, rank, response.ranked_target, w, *scratch, sums)
        return sums[:, 1:2].copy(), sums[:, 2] / sums[:, 0], sums[:, 0].copy()
    if response.criterion in ("gini", "entropy", "edge", "z"):
        by_class = np.empty((m, response.goal.n_classes))
        statistics.class_weights(nodes, rows, target, w, by_class)
        weight = by_class.sum(axis=1)
        share = by_class / weight[:, None]
        return share, class_impurity(share, response.criterion), weight
    sums = np.empty((m, 4))
    statistics.moments(nodes, rows, target, w, sums)
    weight, mean = sums[:, 0].copy(), sums[:, 1:2].copy()
    impurity = sums[:, 2] / weight
    if response.criterion == "poisson":
        logs = np.log(np.where(mean[:, 0] > 0, mean[:, 0], 1.0))
        impurity = np.maximum(sums[:, 3] / weight - mean[:, 0] * logs, 0.0)
    return mean, impurity, weight


def class_impurity(share: NDArray[np.float64], criterion: str) -> NDArray[np.float64]:
    """Impurity of nodes from the shares of their classes."""
    if criterion == "gini":
        return np.maximum(1.0 - np.sum(share * share, axis=1), 0.0)
    if criterion == "entropy":
        logs = np.log2(np.where(share > 0, share, 1.0))
        return np.abs(np.sum(share * logs, axis=1))
    if criterion == "edge":
        return 1.0 - share.max(axis=1)
    return 2.0 * np.sqrt(share[:, 0] * share[:, 1])  # Z
