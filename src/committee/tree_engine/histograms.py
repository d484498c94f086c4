"""Histograms of large nodes: built from the rows of the smaller child, by subtraction for the larger one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from committee.base.threads import run
from committee.kernels.trees.criteria import FIRST_CLASS_CRITERION
from committee.kernels.trees.histogram import TILE, build_histogram, fill_tiles, search_histogram
from committee.records.growth import Sample, Table, Work

HISTOGRAM_ROWS = 1024
"""Number of rows below which nodes are searched feature by feature, without histograms of 256 bins."""

PACKED_BITS = 31
"""Sums of |g| and of h below 2**31 are packed in one integer."""


def make_tiles(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Codes [d, n] as row-major tiles [tiles, n, 32] on cache-line boundaries."""
    d, n = codes.shape
    n_tiles = -(-d // TILE)
    memory = np.zeros(n_tiles * n * TILE + 64, np.uint8)
    first = -memory.ctypes.data % 64
    tiles = memory[first : first + n_tiles * n * TILE].reshape(n_tiles, n, TILE)
    for row in range(0, n, 1024):  # a block of rows stays in the cache while the features are swept
        fill_tiles(codes, row, min(row + 1024, n), tiles)
    return tiles


class NodeHistograms:
    """The histograms of the nodes that are still to be searched or split.

    Two sums are packed in an int64 if they fit 31 bits each, else they are stored side by side.
    """

    def __init__(
        self,
        rows: NDArray[np.uint32],
        stat: NDArray[np.int64],
        table: Table,
        tiles: NDArray[np.uint8] | None,
        threads: int,
    ) -> None:
        self.rows, self.stat, self.table, self.threads = rows, stat, table, threads
        self.words = (make_tiles(table.bytes) if tiles is None else tiles).view(np.uint32)
        self.is_packed = bool(max(np.abs(stat[:, 0]).sum(), stat[:, 1].sum()) < 2**PACKED_BITS)
        is_categorical = table.features["is_categorical"] == 1
        self.numeric, self.others = np.flatnonzero(~is_categorical), np.flatnonzero(is_categorical)
        self.sums: dict[int, NDArray[np.int64]] = {0: self._build(0, rows.size)}

    @staticmethod
    def suit(rules: NDArray[np.void], table: Table) -> bool:
        """Whether histograms apply: binned rows, all features, a criterion of (G, H), no minimum number of rows."""
        has_counts = rules["unit_weights"][0] or rules["min_samples_leaf"][0] == 1
        searches_all = rules["max_features"][0] >= table.features.size and not rules["random_splits"][0]
        return bool(table.bytes.size and has_counts and searches_all and rules["criterion"][0] < FIRST_CLASS_CRITERION)

    def search(self, i: int, nodes: NDArray[np.void], rules: NDArray[np.void], work: Work) -> None:
        """Write the best split of node i along the numeric features into its record."""
        sample = Sample(self.rows, self.stat, self.table)
        search_histogram(nodes, i, self.numeric, rules, sample, self.sums[i], self.is_packed, work)

    def divide(self, i: int, nodes: NDArray[np.void]) -> None:
        """Replace the histogram of node i, which has been split, by those of its children."""
        sums = self.sums.pop(i, None)
        left = int(nodes["left"][i])
        small, large = sorted((left, left + 1), key=lambda child: int(nodes["n"][child]))
        if sums is None or nodes["n"][large] < HISTOGRAM_ROWS:
            return
        start = int(nodes["start"][small])
        built = self._build(start, start + int(nodes["n"][small]))
        np.subtract(sums, built, out=sums)
        self.sums[large] = sums
        if nodes["n"][small] >= HISTOGRAM_ROWS:
            self.sums[small] = built

    def _build(self, start: int, end: int) -> NDArray[np.int64]:
        """Sum blocks of rows on threads; integer sums do not depend on the blocks."""
        d = self.table.features.size
        threads = max(1, min(self.threads, (end - start) * d // 400_000))
        shape = (1 if self.is_packed else 2, self.words.shape[0] * TILE * 256)
        parts = [np.zeros(shape, np.int64) for _ in range(threads)]
        ends = [start + (end - start) * i // threads for i in range(threads + 1)]
        calls = [
            (self.words, d, self.rows[a:b], self.stat[a:b], self.is_packed, part)
            for (a, b), part in zip(pairwise(ends), parts, strict=True)
        ]
        run(build_histogram, calls, threads)
        for part in parts[1:]:
            parts[0] += part
        return parts[0]
