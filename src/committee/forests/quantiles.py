"""Quantile regression forests: the distribution of the target at x from the training rows that share its leaves.

The weight of training row i at x is its share of the leaf that x reaches, averaged over the K trees:

    w_i(x) = (1 / K) sum_t n_ti [i in leaf_t(x)] / sum_j n_tj [j in leaf_t(x)],     n_ti how often tree t drew row i

The q-quantile is the smallest target at or below which rows of at least the weight q lie.

Meinshausen, Quantile regression forests, 2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

PAIRS = 1 << 22
"""Pairs of an asked row and a training row in its leaves that are looked at together."""


class LeafSamples(NamedTuple):
    """For every tree the leaf of each training row (-1: not in its sample) and how often it was drawn; the targets."""

    leaves: list[NDArray[np.int32]]
    counts: list[Floats]
    target: Floats


def read_quantiles(quantiles: ArrayLike) -> Floats:
    """Numbers between 0 and 1."""
    levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    if levels.ndim != 1 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"quantiles must lie between 0 and 1, got {quantiles!r}.")
    return levels


class _Leaves(NamedTuple):
    """The rows of one tree's leaves, leaf by leaf: those of leaf i are rows[first[i] : first[i + 1]]."""

    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    share: Floats  # of each row in its leaf


def forest_quantiles(samples: LeafSamples, leaves: NDArray[np.int64], levels: Floats) -> Floats:
    """Quantiles [n, levels] for rows that reach leaves [n, trees]."""
    trees = [_by_leaf(leaf, count) for leaf, count in zip(samples.leaves, samples.counts, strict=True)]
    order = np.argsort(samples.target, kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    sizes = sum(np.diff(tree.first)[leaves[:, t]] for t, tree in enumerate(trees))
    ends = np.cumsum(sizes)
    found = np.empty((len(leaves), levels.size))
    begin = 0
    while begin < len(leaves):
        reached = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, reached + PAIRS)), begin + 1)
        found[begin:end] = _block(trees, leaves[begin:end], rank, samples.target[order], levels)
        begin = end
    return found


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
    found = np.empty((len(leaves), levels.size))
    for k, level in enumerate(levels):
        place = np.searchsorted(row + np.clip(cumulative, 0.0, 1.0), np.arange(len(leaves)) + level - 1e-9)
        found[:, k] = ranked[by_rank[np.minimum(place, row.size - 1)]]
    return found
