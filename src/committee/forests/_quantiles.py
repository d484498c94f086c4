"""Quantile regression forests: the distribution of the target at x from the training rows that share its leaves.

The weight of training row i at x is its share of the leaf that x reaches, averaged over the K trees:

    w_i(x) = (1 / K) sum_t n_ti [i in leaf_t(x)] / sum_j n_tj [j in leaf_t(x)],     n_ti how often tree t drew row i

The q-quantile is the smallest target at or below which rows of at least the weight q lie.

The leaves of a row hold targets of rows unlike it too, so these distributions are often too wide; where splits have
followed the noise of the targets they are too narrow. Out of bag one can see by how much. By the trees that did not see
it, a training row has the ranks

    u_i = weight of the targets below y_i,      v_i = weight of those below or equal

in its own distribution. y_i lies below the plain quantile of level p where v_i < p, above it where u_i >= p. So for
q < 1/2 the calibrated quantile is the plain one at the level below which the share q of all v_i lies, for q > 1/2 at
that below which the share q of all u_i lies: a share q of the rows then lies below the one, 1 - q above the other.

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
"""Pairs of an asked row and a training row in its leaves that are looked at together."""


class LeafSamples(NamedTuple):
    """For every tree the leaf of each training row (-1: not in its sample) and how often it was drawn; the targets."""

    leaves: list[NDArray[np.int32]]
    counts: list[Floats]
    target: Floats


class _Leaves(NamedTuple):
    """The rows of one tree's leaves, leaf by leaf: those of leaf i are rows[first[i] : first[i + 1]]."""

    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    share: Floats  # of each row in its leaf


class RankTally:
    """The out-of-bag ranks of rows, tree after tree."""

    def __init__(self, sampled_target: Floats, judged_target: Floats) -> None:
        distinct, self.code = np.unique(sampled_target, return_inverse=True)
        self.judged_code = np.searchsorted(distinct, judged_target)  # the same targets, perhaps of copies
        self.n_codes = distinct.size
        self.total, self.n_judges = np.zeros((2, judged_target.size)), np.zeros(judged_target.size)

    def add(self, leaf: NDArray[np.int32], count: Floats, judged: Indices, reached: Indices) -> None:
        """A tree with its rows by leaf (-1: not in the sample), and the leaves that rows out of its bag reach."""
        tree = _by_leaf(leaf, count)
        # Rows by leaf, then by target: the place of a target among those of its leaf is found in one search
        key = leaf[tree.rows] * np.int64(self.n_codes) + self.code[tree.rows]
        order = np.argsort(key, kind="stable")
        weight = np.append(0.0, np.cumsum(tree.share[order]))
        asked = reached * np.int64(self.n_codes) + self.judged_code[judged]
        for total, side in zip(self.total, ("left", "right"), strict=True):
            total[judged] += weight[np.searchsorted(key[order], asked, side=side)] - weight[tree.first[reached]]
        self.n_judges[judged] += 1.0

    @property
    def ranks(self) -> Floats:
        """u and v of every row [2, n], nan where no tree judged it."""
        return np.where(self.n_judges > 0.0, self.total / np.maximum(self.n_judges, 1.0), np.nan)


class Calibrated(NamedTuple):
    """Levels of plain quantiles with the shares of the rows that lie below them, or not above them."""

    lower: Floats  # [n], ascending, for shares below 1/2
    upper: Floats  # [n], ascending, for shares above 1/2
    lower_share: Floats  # [n], ascending
    upper_share: Floats  # [n], ascending
    middle: float  # for the median

    @classmethod
    def by_ranks(cls, ranks: Floats, weight: Floats) -> Calibrated:
        """From u and v [2, n]."""
        known = np.flatnonzero(~np.isnan(ranks[0]) & (weight > 0.0))
        (upper, upper_share), (lower, lower_share) = (_shares(rank[known], weight[known]) for rank in ranks)
        middle, share = _shares(ranks.mean(axis=0)[known], weight[known])
        return cls(lower, upper, lower_share, upper_share, float(np.interp(0.5, share, middle)) if known.size else 0.5)

    def levels(self, wanted: Floats) -> Floats:
        """The levels at which plain quantiles have the wanted shares of rows below them; they rise with the shares."""
        lower = np.minimum(np.interp(wanted, self.lower_share, self.lower), self.middle)
        upper = np.maximum(np.interp(wanted, self.upper_share, self.upper), self.middle)
        return np.clip(np.where(wanted <= 0.5, lower, upper), 1e-6, 1.0 - 1e-6)


def _shares(ranks: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Ranks in ascending order, and the share of the weight below each, half of its own included."""
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
    asked, ranks, weights = [], [], []
    for t, tree in enumerate(trees):
        begin, size = tree.first[leaves[:, t]], np.diff(tree.first)[leaves[:, t]]
        row = np.repeat(np.arange(len(leaves)), size)
        place = np.arange(row.size) + np.repeat(begin - np.cumsum(size) + size, size)
        asked.append(row)
        ranks.append(rank[tree.rows[place]])
        weights.append(tree.share[place] / len(trees))
    row, by_rank, weight = np.concatenate(asked), np.concatenate(ranks), np.concatenate(weights)
    order = np.lexsort((by_rank, row))
    row, by_rank = row[order], by_rank[order]
    cumulative = np.cumsum(weight[order]) - row  # the weights of a row sum to one
    result = np.empty((len(leaves), levels.size))
    for k, level in enumerate(levels):
        place = np.searchsorted(row + np.clip(cumulative, 0.0, 1.0), np.arange(len(leaves)) + level - 1e-9)
        result[:, k] = ranked[by_rank[np.minimum(place, row.size - 1)]]
    return result
