"""Trees on a table in blocks, best first: the same trees as `HistogramGrower` grows on the table in one piece.

For every split the blocks divide their rows of the node and sum those of one child; the sums of the other one are the
difference. The children of several nodes with large gains are asked for at once, also of nodes whose parents are not
split yet: whichever of them is taken later, its children are there. What was asked for in vain changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.dtypes import ROW
from committee.blocks.steps import NO_PARTS, Blocks, Integers, Step
from committee.kernels.trees import block_tree
from committee.kernels.trees.histogram_tree import COUNTED, HALF, LOW
from committee.records.growth import CUT, HistogramWork
from committee.records.tree import LEAF
from committee.tree_engine.subtrees import concatenate_nodes, new_nodes

ROOT = 0
"""The segment of all rows of a tree."""

Allocate = Callable[[tuple[int, ...], Any], NDArray[Any]]
"""Makes an array of a shape and a type: in memory, or in a file where all blocks together do not fit into memory."""


class Division(NamedTuple):
    """How the rows of one segment are divided into two new ones."""

    segment: int
    left: int
    right: int
    feature: int
    is_summed: bool
    sums_left: bool
    side: NDArray[np.uint8]  # [256] 1 for the codes that go left


class BlockTree:
    """The rows of a block while a tree is grown: those of a segment (a node, or what may become one) are contiguous."""

    def __init__(self, tiles: NDArray[np.uint8], n_features: int, ones: Integers, allocate: Allocate) -> None:
        """`ones` are the numbers of rows that each row counts for, empty if it is one."""
        n = tiles.shape[1]
        self.words, self.n_features, self.ones = tiles.view(np.uint32), n_features, ones
        self.amounts = allocate((n,), np.int64)
        self.rows = allocate((n,), ROW)
        self.ranges: dict[int, tuple[int, int]] = {}

    @property
    def width(self) -> int:
        return histogram_width(self.n_features)

    def begin(self, rows: NDArray[np.integer] | None, total: Integers) -> None:
        """Begin a tree on some rows, or all; add their histogram, their number and what they count for to `total`."""
        n = self.rows.size if rows is None else rows.size
        self.rows[:n] = np.arange(n, dtype=ROW) if rows is None else rows
        self.ranges = {ROOT: (0, n)}
        members = self.rows[:n]
        block_tree.sum_block(self.words, self.n_features, members, self.amounts, self._ordered(n), total[: self.width])
        total[self.width] += n
        total[self.width + 1] += self.ones[members].sum() if self.ones.size else n

    def divide(self, divisions: Sequence[Division], total: Integers) -> None:
        """Divide segments; add the histograms of children and what goes left to total [divisions, ...]."""
        cuts = np.zeros(len(divisions), CUT)
        for cut, division in zip(cuts, divisions, strict=True):
            cut["feature"], cut["side"] = division.feature, division.side
            cut["start"], cut["n"] = self.ranges[division.segment]
            cut["is_summed"], cut["sums_left"] = division.is_summed, division.sums_left
        most = int(cuts["n"].max(initial=0))
        each = total.reshape(len(divisions), self.width + 2)
        block_tree.divide_block(
            self.words, self.n_features, self.rows, self.amounts, self.ones, cuts,
            (np.empty(most, ROW), self._ordered(most)), each,
        )  # fmt: skip
        each[:, self.width] += cuts["n_left"]
        each[:, self.width + 1] += cuts["left_count"]
        for cut, division in zip(cuts.tolist(), divisions, strict=True):
            start, n, n_left = cut[1], cut[2], cut[3]
            self.ranges[division.left] = start, n_left
            self.ranges[division.right] = start + n_left, n - n_left

    def count(self, segment: int, total: Integers) -> None:
        """Add the counts of a segment's rows by feature and code."""
        start, n = self.ranges[segment]
        ones = self.ones if self.ones.size else np.ones(self.rows.size, np.int64)
        members = self.rows[start : start + n]
        block_tree.sum_block(self.words, self.n_features, members, ones, self._ordered(n), total)

    def place(self, segments: Integers, leaves: Integers, leaf_out: NDArray[np.int32]) -> None:
        """Write the leaf of every row of the segments."""
        starts, sizes = np.array([self.ranges[s] for s in segments.tolist()], np.int64).T
        block_tree.mark_ranges(np.ascontiguousarray(starts), np.ascontiguousarray(sizes), leaves, self.rows, leaf_out)

    def _ordered(self, n: int) -> Integers:
        return np.empty(n if self.words.shape[0] > 1 else 0, np.int64)


def histogram_width(n_features: int) -> int:
    """Length of a histogram: rows are added a word of four codes at a time."""
    return -(-n_features // 4) * 4 * 256


class Divide(NamedTuple):
    """Step: divide segments of the tree that is grown. `block.tree` is a `BlockTree`."""

    divisions: tuple[Division, ...]
    width: int

    @property
    def size(self) -> int:
        return len(self.divisions) * (self.width + 2)

    def run(self, block: Any, total: Integers) -> Floats:
        block.tree.divide(self.divisions, total)
        return NO_PARTS


class CountSegment(NamedTuple):
    """Step: the counts of a segment's rows by feature and code."""

    segment: int
    width: int

    @property
    def size(self) -> int:
        return self.width

    def run(self, block: Any, total: Integers) -> Floats:
        block.tree.count(self.segment, total)
        return NO_PARTS


class BlockTreeGrower:
    """Grows trees on the histograms of blocks."""

    def __init__(self, blocks: Blocks, records: NDArray[np.void], max_leaves: int) -> None:
        self.blocks, self.records = blocks, records
        self.features = np.arange(records.size)
        self.width = histogram_width(records.size)
        self.no_counts = np.zeros(self.width, np.int64)
        self.work = _search_work(max_leaves)

    def grow(
        self,
        begin: Sequence[Step],
        rules: NDArray[np.void],
        nodes: NDArray[np.void],
        features: Integers | None = None,
    ) -> tuple[int, Integers]:
        """Grow a tree into fresh `nodes`; return their number and the segment of each.

        The last of the steps `begin` calls `BlockTree.begin`.
        """
        growth = _Growth(self, rules, self.features if features is None else features)
        growth.begin(self.blocks.ask(*begin).total, nodes[0])
        return growth.grow(nodes)


class _Growth:
    """One tree that is grown: the nodes that are known, which are more than those of the tree in the end."""

    def __init__(self, grower: BlockTreeGrower, rules: NDArray[np.void], features: Integers) -> None:
        self.grower, self.rules, self.features = grower, rules, features
        rule = rules[0]
        self.least, self.max_splits = int(rule["min_samples_leaf"]), int(rule["max_splits"])
        self.max_depth, self.has_counts = int(rule["max_depth"]), bool(rule["unit_weights"])
        # Under weights the sums of h are no counts. A split is then tried without, and counted when it is made.
        self.needs_count = self.least > 1 and not self.has_counts
        self.nodes = new_nodes(2 * self.max_splits + 1)
        self.n_nodes = 1
        self.segment = {0: ROOT}
        self.n_segments = 1
        self.histograms: dict[int, Integers] = {}  # of nodes with a split whose children are not known
        self.n_splits = 0

    def begin(self, total: Integers, root: np.void) -> None:
        """Search the root, whose record has the seed of the random draws."""
        self.nodes[0] = root
        node, histogram = self.nodes[0], total[: self.grower.width]
        sums = int(histogram[:256].sum())
        node["h"] = sums & int(LOW)
        node["g"] = (sums - (sums & int(LOW))) >> HALF
        node["n"] = total[self.grower.width]
        node["count"] = node["h"] if self.has_counts else total[self.grower.width + 1]
        self._search(0, histogram)

    def grow(self, tree: NDArray[np.void]) -> tuple[int, Integers]:
        """Take the splits of largest gain; write the nodes of the tree, return their number and segments."""
        known = [0]  # the place in self.nodes of every node of the tree
        frontier = [0] if self._has_split(0) else []
        tree[0] = self.nodes[0]
        while frontier and self.n_splits < self.max_splits:
            i = min(frontier, key=lambda j: (-float(self.nodes["gain"][known[j]]), j))
            if known[i] in self.histograms:
                self._ask_children(known[i])
                continue  # if the split was rejected, as too few rows go to one side, another node may be the next
            frontier.remove(i)
            if not self._has_split(known[i]):
                continue
            left, first = int(self.nodes["left"][known[i]]), len(known)
            known += [left, left + 1]
            tree[i], tree[first], tree[first + 1] = self.nodes[known[i]], self.nodes[left], self.nodes[left + 1]
            tree["left"][i] = first
            tree["left"][first : first + 2] = LEAF
            self.n_splits += 1
            frontier += [j for j in (first, first + 1) if self._has_split(known[j])]
        return len(known), np.array([self.segment[place] for place in known], np.int64)

    def _has_split(self, i: int) -> bool:
        return int(self.nodes["feature"][i]) >= 0

    def _search(self, i: int, histogram: Integers, is_counted: bool = False) -> None:
        """Search the split of node i; keep the histogram if there is one."""
        grower, nodes = self.grower, self.nodes
        nodes["feature"][i] = -1
        if not block_tree.is_open(i, self.rules, nodes):
            return
        counts = grower.no_counts
        if is_counted := is_counted or (self.needs_count and int(nodes["count"][i]) < COUNTED * self.least):
            counts = grower.blocks.ask(CountSegment(self.segment[i], grower.width)).total
        if block_tree.search_block_node(
            i, is_counted, self.rules, self.features, grower.records, nodes, (histogram, counts), grower.work
        ):
            self.histograms[i] = histogram

    # --- children -----------------------------------------------------------------------------------------------------

    def _ask_children(self, i: int) -> None:
        """Ask for the children of node i and of others with large gains: if they are not needed now, then later."""
        n_wanted = min(self.grower.blocks.n_ahead, self.max_splits - self.n_splits)
        others = [j for j in self.histograms if j != i]
        ahead = heapq.nsmallest(n_wanted - 1, others, key=lambda j: (-float(self.nodes["gain"][j]), j))
        wanted = [i, *ahead]
        divisions = tuple(self._division(j) for j in wanted)
        each = self.grower.blocks.ask(Divide(divisions, self.grower.width)).total.reshape(len(wanted), -1)
        for j, division, total in zip(wanted, divisions, each, strict=True):
            n_left, left_count = total[-2:].tolist()
            self._make_children(j, division, total[:-2], n_left, left_count)

    def _division(self, i: int) -> Division:
        node, grower = self.nodes[i], self.grower
        side = np.empty(256, np.uint8)
        block_tree.write_cut(i, grower.records, self.nodes, self.histograms[i], side)
        left = self.n_segments
        self.n_segments += 2
        is_summed = self.n_splits + 1 < self.max_splits and int(node["depth"]) + 1 < self.max_depth
        sums_left = 2 * (int(node["left_sum"]) & int(LOW)) <= int(node["h"])
        return Division(self.segment[i], left, left + 1, int(node["feature"]), is_summed, sums_left, side)

    def _make_children(self, i: int, division: Division, sums: Integers, n_left: int, left_count: int) -> None:
        """Add the children of node i and search their splits; or search node i again, if one has too few rows."""
        node, histogram = self.nodes[i], self.histograms.pop(i)
        count = int(node["left_sum"]) & int(LOW) if self.has_counts else left_count
        if self.needs_count and min(count, int(node["count"]) - count) < self.least:
            node["n_rejected"] += 1
            node["feature"] = -1
            if node["n_rejected"] <= 2:
                self._search(i, histogram, is_counted=True)
            return
        first = self._room_for_two()
        block_tree.write_children(i, first, n_left, count, self.rules, self.grower.records, self.nodes)
        self.segment[first], self.segment[first + 1] = division.left, division.right
        if division.is_summed:
            other = histogram - sums
            left, right = (sums, other) if division.sums_left else (other, sums)
            self._search(first, left)
            self._search(first + 1, right)

    def _room_for_two(self) -> int:
        """The place of two more nodes."""
        first = self.n_nodes
        self.n_nodes += 2
        if self.n_nodes > self.nodes.size:
            self.nodes = concatenate_nodes([self.nodes, new_nodes(self.nodes.size)])
        return first


def _search_work(max_leaves: int) -> HistogramWork:
    """Scratch memory of a search; that of rows is empty."""
    return HistogramWork(
        ordered=np.empty(0, np.int64),
        ones=np.empty(0, np.int64),
        spare=np.empty(0, ROW),
        sums=np.empty(256, np.int64),
        decrease=np.empty(256),
        order=np.empty(257, np.int64),
        side=np.empty(256, np.uint8),
        slot=np.empty(2 * max_leaves, np.int64),
        frontier=np.empty(max_leaves + 1, np.int64),
    )
