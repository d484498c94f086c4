"""Importances from the splits of a forest: impurity decrease (MDI), its out-of-bag correction, and split frequency.

    impurity    mean_t sum_{v in t splits on j} D(v),  D(v) = (W_v / W) (I(v) - W_l / W_v I(l) - W_r / W_v I(r))
    frequency   splits on j / splits

The decreases D are measured on the rows that chose the split, so features with many values, and deep splits, look
better than they are. Li et al. (2019) write the decrease of the Gini impurity or variance as a covariance with

    f_tj(x) = sum_{v in t splits on j, x passes v} (mu(child of v that x goes to) - mu(v))
    impurity_j      = mean_t mean_{i in-bag of t}      f_tj(x_i) . y_i
    impurity_oob_j  = mean_t mean_{i out-of-bag of t}  f_tj(x_i) . (y_i - mu(root of t))

with mu the mean of a node's rows: for classes their probabilities, and y one-hot. In the bag a constant subtracted from
y changes nothing; out-of-bag, the root's mean makes the estimate independent of where y has its zero. The correction of
a feature that only overfits is about 0. The form is that of Gini and variance also for trees of another criterion.

Li, Wang, Basu, Kumbier and Yu, A debiased MDI feature importance measure for random forests, 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.explain.oob_forest import OobForest
from committee.records.tree import LEAF, Tree
from committee.tree_engine.predict.apply import apply_tree, parents


def impurity_decreases(trees: Sequence[Tree], n_features: int) -> Floats:
    """Return the sums of the decreases at the splits of every feature [trees, d]."""
    return _at_splits(trees, n_features, lambda tree: tree.gain)


def split_counts(trees: Sequence[Tree], n_features: int) -> Floats:
    """Return the number of splits on every feature [trees, d]."""
    return _at_splits(trees, n_features, lambda tree: np.ones(tree.n_nodes))


def _at_splits(trees: Sequence[Tree], n_features: int, amount: Callable[[Tree], Floats]) -> Floats:
    inner = [tree.feature != LEAF for tree in trees]
    sums = [np.bincount(tree.feature[at], amount(tree)[at], n_features) for tree, at in zip(trees, inner, strict=True)]
    return np.array(sums, np.float64)


def split_frequency(counts: Floats) -> tuple[Floats, Floats]:
    """Return fractions of all splits from counts [trees, d], and their standard errors (a ratio of two means)."""
    n_trees, of_tree = len(counts), counts.sum(axis=1, keepdims=True)
    if not of_tree.any():
        return np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    fraction = counts.sum(axis=0) / of_tree.sum()
    if n_trees < 2:
        return fraction, np.full(fraction.size, np.nan)
    spread = np.sum((counts - fraction * of_tree) ** 2, axis=0) / (n_trees * (n_trees - 1.0))
    return fraction, np.sqrt(spread) / of_tree.mean()


def oob_decreases(forest: OobForest, n_jobs: int | None) -> Floats:
    """Return mean_i f_tj(x_i) . (y_i - mu) over the out-of-bag rows of every tree [trees, d]; nan where it has none."""
    threads = n_threads(n_jobs, len(forest.X) * forest.n_features * forest.n_trees)
    return np.array(run(_oob_decreases_of_tree, [(forest, t) for t in range(forest.n_trees)], threads))


def _oob_decreases_of_tree(forest: OobForest, t: int) -> Floats:
    tree, rows = forest.trees[t], forest.oob[t]
    if not rows.size:
        return np.full(forest.n_features, np.nan)
    w, k = forest.weight[rows], tree.value.shape[1]
    y = np.eye(k)[forest.target[rows].astype(np.int64)] if forest.n_classes else forest.target[rows][:, np.newaxis]
    y = w[:, np.newaxis] * (y - tree.value[0])
    node, parent = apply_tree(tree, forest.X[rows]), parents(tree)
    total = np.zeros(forest.n_features)
    climbing = node > 0
    while climbing.any():  # all rows climb from their leaves to the root, one step at a time
        node, y = node[climbing], y[climbing]
        above = parent[node]
        step = np.einsum("ik,ik->i", tree.value[node] - tree.value[above], y)
        total += np.bincount(tree.feature[above], step, forest.n_features)
        node, climbing = above, above > 0
    return total / w.sum()
