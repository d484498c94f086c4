"""Importances 2 and 3: what the splits of a forest say of its features (D-4, D-5), and the out-of-bag correction of 2.

    impurity    mean_t sum_{v in t splits on j} fall(v),  fall(v) = (W_v / W) (I(v) - W_l / W_v I(l) - W_r / W_v I(r))
    frequency   splits on j / splits

Falls are measured on the rows that chose the split: features with many values, and deep splits, look better than they
are. Li, Wang, Basu, Kumbier and Yu (2019) write the fall of the Gini impurity or variance as a covariance with

    f_tj(x) = sum_{v in t splits on j, x passes v} (mu(child of v that x goes to) - mu(v))
    impurity_j      = mean_t mean_{i in the bag of t} f_tj(x_i) . y_i
    impurity_oob_j  = mean_t mean_{i unseen by t}     f_tj(x_i) . (y_i - mu(root of t))

with mu the mean of a node's rows, for classes the vector of shares and y one-hot. In the bag a constant taken from y
changes nothing; out of it the root's mean makes the estimate independent of where y has its zero. A feature that only
helped to learn rows by heart gets about 0. The form is that of Gini and variance also where trees grew by another
criterion.

Li, Wang, Basu, Kumbier and Yu, A debiased MDI feature importance measure for random forests, 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.explain._oob_forest import JudgedForest
from committee.records.tree import LEAF, Tree
from committee.tree_engine.predict.apply import apply_tree, parents


def impurity_decreases(trees: Sequence[Tree], n_features: int) -> Floats:
    """Sums of the falls at the splits of every feature [trees, d]."""
    return _at_splits(trees, n_features, lambda tree: tree.gain)


def split_counts(trees: Sequence[Tree], n_features: int) -> Floats:
    """Number of splits on every feature [trees, d]."""
    return _at_splits(trees, n_features, lambda tree: np.ones(tree.n_nodes))


def _at_splits(trees: Sequence[Tree], n_features: int, what: Callable[[Tree], Floats]) -> Floats:
    inner = [tree.feature != LEAF for tree in trees]
    sums = [np.bincount(tree.feature[at], what(tree)[at], n_features) for tree, at in zip(trees, inner, strict=True)]
    return np.array(sums, np.float64)


def split_frequency(counts: Floats) -> tuple[Floats, Floats]:
    """Shares of all splits from counts [trees, d], and their standard errors over trees (a ratio of two means)."""
    n_trees, of_tree = len(counts), counts.sum(axis=1, keepdims=True)
    if not of_tree.any():
        return np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    share = counts.sum(axis=0) / of_tree.sum()
    if n_trees < 2:
        return share, np.full(share.size, np.nan)
    spread = np.sum((counts - share * of_tree) ** 2, axis=0) / (n_trees * (n_trees - 1.0))
    return share, np.sqrt(spread) / of_tree.mean()


def unseen_decreases(forest: JudgedForest, n_jobs: int | None) -> Floats:
    """mean_i f_tj(x_i) . (y_i - mu) over the unseen rows of every tree [trees, d]; nan where a tree saw all rows."""
    threads = n_threads(n_jobs, len(forest.X) * forest.n_features * forest.n_trees)
    return np.array(run(_unseen_decreases_of_tree, [(forest, t) for t in range(forest.n_trees)], threads))


def _unseen_decreases_of_tree(forest: JudgedForest, t: int) -> Floats:
    tree, rows = forest.trees[t], forest.unseen[t]
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
