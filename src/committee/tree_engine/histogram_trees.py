"""Binned trees of few leaves, grown one after the other on the same table with new gradients or weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import ROW
from committee.base.threads import n_threads, run_assisted
from committee.kernels.boosting.derivatives import quantise
from committee.kernels.trees.criteria import FIRST_CLASS_CRITERION
from committee.kernels.trees.histogram_tree import assist, grow_on_histograms
from committee.kernels.work_sharing import IDLE, LINE, QUIT, STATE
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints, HistogramWork, Limits, PackedSample, Team
from committee.records.tree import Tree
from committee.tree_engine.growing import as_tree, class_statistics, leaf_of_rows
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.response import PACKED_WEIGHT_BITS, Response
from committee.tree_engine.subtrees import feature_records, new_nodes, rules_record

MAX_LEAVES = 64
"""Maximum number of leaves, each of which keeps a histogram; larger trees are grown by tree_engine/large_tree.py."""


def most_leaves(rules: NDArray[np.void]) -> int:
    """Maximum number of leaves by the limits of leaves and depth."""
    by_depth = 1 << min(int(rules["max_depth"][0]), 40)
    return min(int(rules["max_splits"][0]) + 1, by_depth)


def suits(rules: NDArray[np.void], matrix: BinnedMatrix) -> bool:
    """Whether HistogramGrower applies: binned rows, two classes, a criterion of (G, H), all features, few leaves."""
    searches_all = rules["max_features"][0] >= matrix.n_features and not rules["random_splits"][0]
    is_pair = rules["n_classes"][0] == 2 and rules["criterion"][0] < FIRST_CLASS_CRITERION
    needs_no_counts = rules["unit_weights"][0] or rules["min_samples_leaf"][0] <= 1
    is_small = most_leaves(rules) <= MAX_LEAVES
    return bool(not matrix.is_exact and searches_all and is_pair and needs_no_counts and is_small)


class HistogramGrower:
    """Grows trees on one binned table; the memory is reused by all trees."""

    def __init__(
        self,
        matrix: BinnedMatrix,
        records: NDArray[np.void],
        max_leaves: int,
        ones: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> None:
        n, d = matrix.n_rows, matrix.n_features
        self.codes = matrix.codes
        self.records = records
        self.tiles = make_tiles(matrix.codes) if matrix.tiles is None else matrix.tiles
        self.words = self.tiles.view(np.uint32)
        self.features = np.arange(d)
        self.max_nodes = 2 * max_leaves - 1
        width = -(-d // 4) * 4 * 256  # rows are added a word of four codes at a time
        self.pool = np.empty((max_leaves + 1, width), np.int64)
        self.work = _make_work(n, max_leaves, np.empty(0, np.int64) if ones is None else ones)
        n_assistants = threads - 1
        self.team = Team(np.zeros((n_assistants, LINE), np.int64), np.empty((n_assistants, width), np.int64))
        self.scratch = [np.empty(n if self.words.shape[0] > 1 else 0, np.int64) for _ in range(n_assistants)]

    def grow(
        self, rules: NDArray[np.void], rows: NDArray[np.uint32], amounts: NDArray[np.int64], seed: int
    ) -> NDArray[np.void]:
        """Grow a tree on `rows`, which are reordered; return its nodes."""
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
        """Grow a tree into new nodes, on some features or all; return the number of nodes."""
        searched = self.features if features is None else features
        sample = PackedSample(self.words, self.codes, self.records, rows, amounts)
        call = rules, searched, sample, nodes, self.pool, self.work, self.team
        if not self.scratch:
            return grow_on_histograms(*call)
        self.team.board[:, STATE] = IDLE
        calls = [(sample, scratch, self.pool, self.team, j) for j, scratch in enumerate(self.scratch)]
        return run_assisted(grow_on_histograms, call, assist, calls, self._dismiss)

    def _dismiss(self) -> None:
        self.team.board[:, STATE] = QUIT


class TreeSeries:
    """Small binned trees of two classes, one after the other, with changing weights, as in AdaBoost."""

    def __init__(
        self,
        matrix: BinnedMatrix,
        response: Response,
        limits: Limits,
        constraints: Constraints,
        min_fraction: float,
        n_jobs: int | None = None,
    ) -> None:
        self.matrix, self.target, self.criterion = matrix, response.target, response.criterion
        self.rules = rules_record(response, limits)
        self.min_fraction = min_fraction  # of the total weight, in a leaf
        threads = n_threads(n_jobs, matrix.n_rows * matrix.n_features)
        records = feature_records(matrix, constraints)
        self.grower = HistogramGrower(matrix, records, most_leaves(self.rules), None, threads)
        self.sign = 2.0 * response.target - 1.0
        self.ones, self.rows = np.ones(matrix.n_rows), np.arange(matrix.n_rows, dtype=ROW)
        self.amounts = np.empty(matrix.n_rows, np.int64)

    @staticmethod
    def suits(response: Response, limits: Limits, matrix: BinnedMatrix) -> bool:
        return suits(rules_record(response, limits), matrix) and not limits.is_monotone

    def grow(self, weight: NDArray[np.float64], seed: int) -> tuple[Tree, NDArray[np.int64]]:
        """Grow a tree with these weights; return it and the leaf of every row, -1 for rows of weight zero."""
        total = float(weight.sum())
        scale = 2.0 ** (PACKED_WEIGHT_BITS - 1 - math.ceil(math.log2(total)))
        quantise(self.sign, self.ones, weight, False, scale, scale, self.amounts)
        rules = self.rules
        rules["g_unit"], rules["h_unit"], rules["total_weight"] = 1.0 / scale, 1.0 / scale, total
        rules["min_weight_leaf"] = math.ceil(self.min_fraction * total * scale * (1.0 - 1e-15))
        rows = self.rows.copy() if float(weight.min()) > 0.0 else np.flatnonzero(weight > 0.0).astype(ROW)
        nodes = self.grower.grow(rules, rows, self.amounts, seed)
        statistics = class_statistics(nodes, rows, self.target, weight, 2, self.criterion)
        return as_tree(nodes, self.matrix, *statistics), leaf_of_rows(nodes, rows, weight.size)


def _make_work(n: int, max_leaves: int, ones: NDArray[np.int64]) -> HistogramWork:
    return HistogramWork(
        ordered=np.empty(n, np.int64),
        ones=ones,
        spare=np.empty(n, ROW),
        sums=np.empty(256, np.int64),
        decrease=np.empty(256),
        order=np.empty(257, np.int64),
        side=np.empty(256, np.uint8),
        slot=np.empty(2 * max_leaves, np.int64),
        frontier=np.empty(max_leaves + 1, np.int64),
    )
