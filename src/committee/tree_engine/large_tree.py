"""The top of a large tree: nodes of many rows, searched and split one by one from Python.

An interrupt is handled between two nodes. The features of a node, the rows of a histogram and the subtrees below are
processed in parallel. Ties are broken by the order of the features, so the tree does not depend on the threads.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from committee.base.threads import n_threads, run
from committee.kernels.trees.sampling import draw_order
from committee.kernels.trees.subtree import split_node
from committee.records.growth import Table
from committee.records.tree import LEAF
from committee.tree_engine.histograms import NodeHistograms
from committee.tree_engine.subtrees import (
    SUBTREE_CELLS,
    concatenate_nodes,
    grow_small,
    make_work,
    new_nodes,
    search_node,
    subtree_rows,
)


class LargeTree:
    """The top of a large tree; small nodes are grown to subtrees by kernels."""

    def __init__(
        self,
        rules: NDArray[np.void],
        rows: NDArray[np.uint32],
        stat: NDArray[np.int64],
        table: Table,
        tiles: NDArray[np.uint8] | None,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self.rules, self.rows, self.stat, self.table, self.n_jobs = rules, rows, stat, table, n_jobs
        self.d = table.features.size
        self.max_features = int(rules["max_features"][0])
        self.threads = n_threads(n_jobs, rows.size * min(self.d, self.max_features))
        n_codes = int(table.features["n_bins"].max(initial=0))
        self.works = [make_work(rows.size, rules, n_codes) for _ in range(self.threads)]
        self.nodes = new_nodes(64)
        self.nodes[0]["n"], self.nodes[0]["key"] = rows.size, seed
        self.n_nodes = 1
        suits = NodeHistograms.suit(rules, table)
        self.histograms = NodeHistograms(rows, stat, table, tiles, self.threads) if suits else None

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
        """Search the features of node i; return whether there is an allowed split."""
        if self.histograms and i in self.histograms.sums:
            self._search_histogram(i, self.histograms)
        else:
            order = np.arange(self.d)
            if self.max_features < self.d:
                draw_order(self.nodes["key"][i], order)
            self._search_drawn(i, order)
        return bool(self.nodes["feature"][i] != LEAF)

    def _search_drawn(self, i: int, order: NDArray[np.int64]) -> None:
        """Search features in this order until max_features of them are not constant in the node."""
        n_seen = n_searched = 0
        best: np.void | None = None
        while n_seen < self.d and n_searched < self.max_features:
            chunk = order[n_seen : n_seen + self.max_features - n_searched]
            self._search(i, chunk)
            result = self.nodes[i].copy()
            n_seen += chunk.size
            n_searched += int(result["n_searched"])
            best = result if best is None or result["score"] > best["score"] else best
        self.nodes[i] = best
        self.nodes["n_searched"][i] = n_searched

    def _search_histogram(self, i: int, histograms: NodeHistograms) -> None:
        """Search numeric features by the histogram of the node, categorical ones by its rows."""
        histograms.search(i, self.nodes, self.rules, self.works[0])
        if histograms.others.size:
            result = self.nodes[i].copy()
            self._search(i, histograms.others)
            other = self.nodes[i]
            ahead = (result["score"], -result["feature"]) >= (other["score"], -other["feature"])
            if result["feature"] != LEAF and (ahead or other["feature"] == LEAF):
                self.nodes[i] = result

    def _search(self, i: int, features: NDArray[np.int64]) -> None:
        """Search `features` of node i on threads; of equal splits the first in the order of `features` is taken.

        Kernel calls take less than a second, so that an interrupt is handled in between.
        """
        start, n = int(self.nodes["start"][i]), int(self.nodes["n"][i])
        rows, stat = self.rows[start : start + n], self.stat[start : start + n]
        threads = min(self.threads, n_threads(self.n_jobs, n * features.size))
        n_calls = min(max(threads, -(-n * features.size // SUBTREE_CELLS)), max(features.size, 1))
        calls = [
            (self.nodes[i : i + 1].copy(), chunk, self.rules, rows, stat, self.table, self.works)
            for chunk in np.array_split(features, n_calls)
        ]
        result = run(search_node, calls, threads)
        best = max(result, key=lambda node: node["score"])
        best["n_searched"] = sum(node["n_searched"] for node in result)
        best["start"] = start
        self.nodes[i] = best

    def _take_split(self, i: int) -> int:
        """Split node i into two new nodes; return the left one."""
        if self.n_nodes + 2 > self.nodes.size:
            self.nodes = concatenate_nodes([self.nodes, new_nodes(self.nodes.size)])
        left = self.n_nodes
        split_node(self.nodes, i, left, self.rows, self.stat, self.table, self.works[0])
        self.n_nodes += 2
        if self.histograms:
            self.histograms.divide(i, self.nodes)
        return left

    def _join(self, subtrees: list[int]) -> NDArray[np.void]:
        """Grow the subtrees and append their nodes, without their roots, to those of the top."""
        top = self.nodes[: self.n_nodes]
        place = [(int(top["start"][i]), int(top["start"][i] + top["n"][i])) for i in subtrees]
        calls = [
            (self.rules, self.rows[a:b], self.stat[a:b], self.table, top[i])
            for i, (a, b) in zip(subtrees, place, strict=True)
        ]
        threads = n_threads(self.n_jobs, self.rows.size * min(self.d, self.max_features))
        grown = run(grow_small, calls, threads)
        parts, n_nodes = [top], top.size
        for i, (start, _), subtree in zip(subtrees, place, grown, strict=True):
            subtree["start"] += start
            subtree["left"][subtree["left"] != LEAF] += n_nodes - 1
            top[i] = subtree[0]
            parts.append(subtree[1:])
            n_nodes += subtree.size - 1
        return concatenate_nodes(parts)
