"""Quantile regression forests: the distribution of the target at x from the training rows in the leaves of x.

The weight of training row i at x is its fraction of the leaf of x, averaged over the K trees:

    w_i(x) = (1 / K) sum_t n_ti [i in leaf_t(x)] / sum_j n_tj [j in leaf_t(x)],     n_ti: how often tree t drew row i

The q-quantile is the smallest target at or below which rows of at least the weight q lie.

Leaves contain targets of rows that differ from x, so these distributions are often too wide; where splits have fitted
the noise of the targets they are too narrow. The out-of-bag predictions correct this: by the trees not fitted on it, a
training row has the ranks

    u_i = weight of the targets below y_i,      v_i = weight of those below or equal

in its own distribution. y_i lies below the uncorrected quantile of level p if v_i < p, above it if u_i >= p. So for
q < 1/2 the calibrated quantile is the uncorrected one at the level below which the fraction q of all v_i lies, for
q > 1/2 at that below which the fraction q of all u_i lies.

Meinshausen, Quantile regression forests, 2006. Kuleshov, Fenner and Ermon, Accurate uncertainties for deep learning
using calibrated regression, 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Indices = NDArray[np.int64]

PAIRS = 1 << 22
"""Number of pairs of a row and a training row in its leaves in one block."""


class LeafSamples(NamedTuple):
    """The leaf of each training row in every tree (-1 outside its sample), how often it was drawn, and its target."""

    leaves: list[NDArray[np.int32]]
    counts: list[Floats]
    target: Floats


class _Leaves(NamedTuple):
    """The rows of one tree's leaves, leaf by leaf: those of leaf i are rows[first[i] : first[i + 1]]."""

    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: Floats  # fraction of each row in its leaf


class RankTally:
    """Sums of the out-of-bag ranks of the training rows, tree after tree."""

    def __init__(self, target: Floats) -> None:
        distinct, self.code = np.unique(target, return_inverse=True)
        self.n_codes = distinct.size
        self.total, self.n_trees = np.zeros((2, target.size)), np.zeros(target.size)

    def add(self, leaf: NDArray[np.int32], count: Floats, rows: Indices, reached: Indices) -> None:
        """Add a tree: the leaves and counts of its sample (-1 elsewhere), and the leaves that out-of-bag rows reach."""
        tree = _by_leaf(leaf, count)
        # Sorted by leaf, then by target: one search finds the rank of a target in its leaf
        key = leaf[tree.rows] * np.int64(self.n_codes) + self.code[tree.rows]
        order = np.argsort(key, kind="stable")
        weight = np.append(0.0, np.cumsum(tree.weight[order]))
        wanted = reached * np.int64(self.n_codes) + self.code[rows]
        for total, side in zip(self.total, ("left", "right"), strict=True):
            total[rows] += weight[np.searchsorted(key[order], wanted, side=side)] - weight[tree.first[reached]]
        self.n_trees[rows] += 1.0

    @property
    def ranks(self) -> Floats:
        """u and v of every row, [2, n]; nan for rows in every sample."""
        return np.where(self.n_trees > 0.0, self.total / np.maximum(self.n_trees, 1.0), np.nan)


class QuantileCalibration(NamedTuple):
    """Levels of uncorrected quantiles, with the fractions of the rows below them."""

    lower: Floats  # [n], ascending, for fractions below 1/2
    upper: Floats  # [n], ascending, for fractions above 1/2
    lower_fraction: Floats  # [n], ascending
    upper_fraction: Floats  # [n], ascending
    middle: float  # for the median

    @classmethod
    def by_ranks(cls, ranks: Floats, weight: Floats) -> QuantileCalibration:
        """From u and v [2, n]."""
        rows = np.flatnonzero(~np.isnan(ranks[0]) & (weight > 0.0))
        (upper, upper_fraction), (lower, lower_fraction) = (_fractions(rank[rows], weight[rows]) for rank in ranks)
        middle, fraction = _fractions(ranks.mean(axis=0)[rows], weight[rows])
        median = float(np.interp(0.5, fraction, middle)) if rows.size else 0.5
        return cls(lower, upper, lower_fraction, upper_fraction, median)

    def levels(self, wanted: Floats) -> Floats:
        """The levels at which uncorrected quantiles have the wanted fractions of rows below them."""
        lower = np.minimum(np.interp(wanted, self.lower_fraction, self.lower), self.middle)
        upper = np.maximum(np.interp(wanted, self.upper_fraction, self.upper), self.middle)
        return np.clip(np.where(wanted <= 0.5, lower, upper), 1e-6, 1.0 - 1e-6)


def _fractions(ranks: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Ranks in ascending order, and the fraction of the weight below each, with half of its own."""
    order = np.argsort(ranks, kind="stable")
    w = weight[order]
    return ranks[order], (np.cumsum(w) - 0.5 * w) / w.sum()


def forest_quantiles(samples: LeafSamples, leaves: NDArray[np.int64], levels: Floats) -> Floats:
    """Quantiles [n, levels] for rows that reach leaves [n, trees]."""
    trees = [_by_leaf(leaf, count) for leaf, count in zip(samples.leaves, samples.counts, strict=True)]
    order = np.argsort(samples.target, kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    sizes = sum(np.diff(tree.first)[leaves[:, t]] for t, tree in enumerate(trees))
    ends = np.cumsum(sizes)
    result = np.empty((len(leaves), levels.size))
    begin = 0
    while begin < len(leaves):
        reached = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, reached + PAIRS)), begin + 1)
        result[begin:end] = _block(trees, leaves[begin:end], rank, samples.target[order], levels)
        begin = end
    return result


def _by_leaf(leaf: NDArray[np.int32], count: Floats) -> _Leaves:
    rows = np.flatnonzero(leaf >= 0)
    rows = rows[np.argsort(leaf[rows], kind="stable")]
    n_nodes = int(leaf.max()) + 1
    first = np.searchsorted(leaf[rows], np.arange(n_nodes + 1))
    total = np.bincount(leaf[rows], count[rows], minlength=n_nodes)
    return _Leaves(first, rows, count[rows] / total[leaf[rows]])


def _block(
    trees: list[_Leaves], leaves: NDArray[np.int64], rank: NDArray[np.int64], ranked: Floats, levels: Floats
) -> Floats:
    rows, ranks, weights = [], [], []
    for t, tree in enumerate(trees):
        begin, size = tree.first[leaves[:, t]], np.diff(tree.first)[leaves[:, t]]
        row = np.repeat(np.arange(len(leaves)), size)
        place = np.arange(row.size) + np.repeat(begin - np.cumsum(size) + size, size)
        rows.append(row)
        ranks.append(rank[tree.rows[place]])
        weights.append(tree.weight[place] / len(trees))
    row, by_rank, weight = np.concatenate(rows), np.concatenate(ranks), np.concatenate(weights)
    order = np.lexsort((by_rank, row))
    row, by_rank = row[order], by_rank[order]
    cumulative = np.cumsum(weight[order]) - row  # the weights of a row sum to one
    result = np.empty((len(leaves), levels.size))
    for k, level in enumerate(levels):
        place = np.searchsorted(row + np.clip(cumulative, 0.0, 1.0), np.arange(len(leaves)) + level - 1e-9)
        result[:, k] = ranked[by_rank[np.minimum(place, row.size - 1)]]
    return result
