"""Trees on a table in blocks, best first: the same trees as `HistogramGrower` grows on the table in one piece.

For every split the blocks divide their rows of the node and sum those of one child; the sums of the other one are the
difference. The splits of several open leaves are asked for at once: whichever of them is taken later, its sums are
there. A tree of 31 leaves takes about eight requests, and what was asked for in vain changes nothing.
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

ROOT = 0
"""The segment of all rows of a tree."""

AHEAD = 64
"""Number of open leaves whose splits are asked for at once."""

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
        self.tiles, self.words, self.n_features, self.ones = tiles, tiles.view(np.uint32), n_features, ones
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
            self.words, self.tiles, self.n_features, self.rows, self.amounts, self.ones, cuts, np.empty(most, ROW),
            self._ordered(most), each,
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


class Prepared(NamedTuple):
    """The answer to a division: the segments, the sums of one child, the rows that go left and what they count for."""

    division: Division
    sums: Integers
    n_left: int
    left_count: int


class BlockTreeGrower:
    """Grows trees on the histograms of blocks."""

    def __init__(self, blocks: Blocks, records: NDArray[np.void], max_leaves: int, n_ahead: int = AHEAD) -> None:
        self.blocks, self.records, self.n_ahead = blocks, records, n_ahead
        self.features = np.arange(records.size)
        self.width = histogram_width(records.size)
        self.counts = np.zeros(self.width, np.int64)
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
        growth = _Growth(self, rules, nodes, self.features if features is None else features)
        growth.begin(self.blocks.ask(*begin).total)
        growth.grow()
        return growth.n_nodes, np.array(growth.segment, np.int64)


class _Growth:
    """One tree that is grown."""

    def __init__(
        self, grower: BlockTreeGrower, rules: NDArray[np.void], nodes: NDArray[np.void], features: Integers
    ) -> None:
        self.grower, self.rules, self.nodes, self.features = grower, rules, nodes, features
        rule = rules[0]
        self.least, self.max_splits = int(rule["min_samples_leaf"]), int(rule["max_splits"])
        self.max_depth, self.has_counts = int(rule["max_depth"]), bool(rule["unit_weights"])
        # Under weights the sums of h are no counts. A split is then tried without, and counted when it is taken.
        self.needs_count = self.least > 1 and not self.has_counts
        self.segment = [ROOT]
        self.n_segments, self.n_nodes, self.n_splits = 1, 1, 0
        self.histograms: dict[int, Integers] = {}
        self.frontier: list[tuple[float, int]] = []  # a heap, the largest gain first
        self.prepared: dict[int, Prepared] = {}

    def begin(self, total: Integers) -> None:
        root, histogram = self.nodes[0], total[: self.grower.width]
        sums = int(histogram[:256].sum())
        root["h"] = sums & int(LOW)
        root["g"] = (sums - (sums & int(LOW))) >> HALF
        root["n"] = total[self.grower.width]
        root["count"] = root["h"] if self.has_counts else total[self.grower.width + 1]
        if self._is_open(0):
            self._search(0, histogram)

    def grow(self) -> None:
        while self.frontier and self.n_splits < self.max_splits:
            # Step 1: take the split of largest gain
            i = heapq.heappop(self.frontier)[1]
            if i not in self.prepared:
                self._prepare(i)
            taken = self.prepared.pop(i)
            node, histogram = self.nodes[i], self.histograms.pop(i)
            count = int(node["left_sum"]) & int(LOW) if self.has_counts else taken.left_count
            if self.needs_count and min(count, int(node["count"]) - count) < self.least:
                # Too few rows on one side: search again with counts; the node waits with a smaller gain.
                node["n_rejected"] += 1
                if node["n_rejected"] <= 2:
                    self._search(i, histogram, is_counted=True)
                continue
            # Step 2: search the children
            first = self._add_children(i, taken, count)
            opens = [child for child in (first, first + 1) if self._is_open(child)]
            if self.n_splits == self.max_splits or not opens:
                continue
            other = histogram - taken.sums
            left, right = (taken.sums, other) if taken.division.sums_left else (other, taken.sums)
            for child in opens:
                self._search(child, left if child == first else right)

    def _add_children(self, i: int, taken: Prepared, count: int) -> int:
        """Add the children of node i; return the first."""
        first, grower = self.n_nodes, self.grower
        block_tree.write_children(i, first, taken.n_left, count, self.rules, grower.records, self.nodes)
        self.segment += [taken.division.left, taken.division.right]
        self.n_nodes += 2
        self.n_splits += 1
        return first

    def _is_open(self, i: int) -> bool:
        return bool(block_tree.is_open(i, self.rules, self.nodes))

    def _search(self, i: int, histogram: Integers, is_counted: bool = False) -> None:
        """Search node i, and put it into the frontier if it has a split."""
        grower, nodes = self.grower, self.nodes
        is_counted |= self.needs_count and nodes["count"][i] < COUNTED * self.least
        counts = grower.counts
        if is_counted:
            counts = grower.blocks.ask(CountSegment(self.segment[i], grower.width)).total
        if block_tree.search_block_node(
            i, is_counted, self.rules, self.features, grower.records, nodes, histogram, counts, grower.work
        ):
            self.histograms[i] = histogram
            heapq.heappush(self.frontier, (-float(nodes["gain"][i]), i))

    def _prepare(self, i: int) -> None:
        """Ask for the splits of node i and of the open leaves of largest gain."""
        n_left = self.max_splits - self.n_splits
        others = [j for _, j in self.frontier if j not in self.prepared]
        ahead = heapq.nsmallest(
            min(self.grower.n_ahead, n_left) - 1, others, key=lambda j: (-float(self.nodes["gain"][j]), j)
        )
        wanted = [i, *ahead]
        divisions = tuple(self._division(j, is_last=place + 1 == n_left) for place, j in enumerate(wanted))
        answer = self.grower.blocks.ask(Divide(divisions, self.grower.width))
        each = answer.total.reshape(len(wanted), self.grower.width + 2)
        for j, division, total in zip(wanted, divisions, each, strict=True):
            n_left, count = total[-2:].tolist()
            self.prepared[j] = Prepared(division, total[:-2], n_left, count)

    def _division(self, i: int, is_last: bool) -> Division:
        node, grower = self.nodes[i], self.grower
        side = np.empty(256, np.uint8)
        block_tree.write_cut(i, grower.records, self.nodes, self.histograms[i], side)
        left = self.n_segments
        self.n_segments += 2
        is_summed = not is_last and int(node["depth"]) + 1 < self.max_depth
        sums_left = 2 * (int(node["left_sum"]) & int(LOW)) <= int(node["h"])
        return Division(self.segment[i], left, left + 1, int(node["feature"]), is_summed, sums_left, side)


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
