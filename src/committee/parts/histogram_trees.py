"""Trees of boosting: binned, of few leaves, grown one after the other on the same table with new gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import ROW
from committee.data.binned import BinnedMatrix
from committee.data.growth import HistogramWork
from committee.kernels.histogram import TILE
from committee.kernels.histogram_tree import grow_on_histograms
from committee.kernels.scores import FIRST_CLASS_CRITERION
from committee.parts.histograms import make_tiles
from committee.parts.subtrees import new_nodes

PACKED_BITS = 31
"""Sums of |g| and of h below 2**31 share one integer."""

MOST_LEAVES = 64
"""Every open leaf keeps its histogram: trees of more leaves are grown node by node (parts/large_tree.py)."""


def most_leaves(rules: NDArray[np.void]) -> int:
    """How many leaves these limits allow, by their number or by the depth."""
    by_depth = 1 << min(int(rules["max_depth"][0]), 40)
    return min(int(rules["max_splits"][0]) + 1, by_depth)


def suits(rules: NDArray[np.void], matrix: BinnedMatrix) -> bool:
    """Binned rows of two classes, a criterion of (G, H), all features looked at, few leaves, no need for counts."""
    looks_at_all = rules["max_features"][0] >= matrix.n_features and not rules["random_splits"][0]
    is_pair = rules["n_classes"][0] == 2 and rules["criterion"][0] < FIRST_CLASS_CRITERION
    needs_no_counts = rules["unit_weights"][0] or rules["min_samples_leaf"][0] <= 1
    is_small = most_leaves(rules) <= MOST_LEAVES
    return bool(not matrix.is_exact and looks_at_all and is_pair and needs_no_counts and is_small)


class HistogramGrower:
    """The table by rows and by columns, and the memory every tree uses again."""

    def __init__(
        self,
        matrix: BinnedMatrix,
        records: NDArray[np.void],
        max_leaves: int,
        ones: NDArray[np.int64] | None = None,
    ) -> None:
        n, d = matrix.n_rows, matrix.n_features
        self.codes = matrix.codes
        self.records = records
        self.tiles = make_tiles(matrix.codes) if matrix.tiles is None else matrix.tiles
        self.words = self.tiles.view(np.uint32)
        self.features = np.arange(d)
        self.max_nodes = 2 * max_leaves - 1
        self.pool = np.empty((max_leaves + 1, self.words.shape[0] * TILE * 256), np.int64)
        self.work = _make_work(n, max_leaves, np.empty(0, np.int64) if ones is None else ones)

    def grow(
        self, rules: NDArray[np.void], rows: NDArray[np.uint32], amounts: NDArray[np.int64], seed: int
    ) -> NDArray[np.void]:
        """The nodes of the tree of `rows`, which are reordered."""
        nodes = new_nodes(self.max_nodes)
        nodes["key"][0] = seed
        return nodes[: self.grow_into(rules, rows, amounts, nodes)]

    def grow_into(
        self,
        rules: NDArray[np.void],
        rows: NDArray[np.uint32],
        amounts: NDArray[np.int64],
        nodes: NDArray[np.void],
        features: NDArray[np.int64] | None = None,
    ) -> int:
        """The same into fresh nodes, along some features or all; return how many nodes the tree has."""
        looked_at = self.features if features is None else features
        return grow_on_histograms(
            rules, looked_at, self.words, self.codes, self.records, rows, amounts, nodes, self.pool, self.work
        )


def pack(stat: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """(g << 32) + h for every row, or None where a sum needs more than 31 bits."""
    g, h = stat[:, 0], stat[:, 1]
    if max(int(np.abs(g).sum()), int(h.sum())) >= 1 << PACKED_BITS:
        return None
    return (g << 32) + h


def _make_work(n: int, max_leaves: int, ones: NDArray[np.int64]) -> HistogramWork:
    cuts = np.empty((3, 256))
    return HistogramWork(
        ordered=np.empty(n, np.int64),
        ones=ones,
        spare=np.empty(n, ROW),
        sums=np.empty((2, 256), np.int64),
        cuts=cuts,
        fall_bits=cuts[2].view(np.int64),
        order=np.empty(257, np.int64),
        side=np.empty(256, np.uint8),
        slot=np.empty(2 * max_leaves, np.int64),
        frontier=np.empty(max_leaves + 1, np.int64),
    )
