"""Minimal cost-complexity pruning: the sequence of subtrees, one of them, or the one that cross-validation chooses.

Breiman, Friedman, Olshen and Stone, Classification and regression trees, 1984, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.kernels.trees.pruning import prune_weakest_links, pruned_losses
from committee.records.tree import LEAF, Tree
from committee.tree_engine.predict.apply import apply_tree, parents

Indices = NDArray[np.int64]

LOSSES = {"zero_one": 0, "squared_error": 1, "absolute_error": 2, "poisson": 3}


class PruningPath(NamedTuple):
    """The trees of minimal cost-complexity pruning, from the full one (alpha 0) to the root.

    Step s collapses node `order[s - 1]` at `alpha[s]` and leaves a tree of impurity `impurity[s]`.
    """

    alpha: NDArray[np.float64]  # [s]
    impurity: NDArray[np.float64]  # [s]
    n_leaves: NDArray[np.int64]  # [s]
    order: NDArray[np.int64]  # [s - 1]
    pruned_at: NDArray[np.int64]  # [nodes] step that made the node a leaf, 0 for leaves, -1 for nodes that are removed


class PruningCurve(NamedTuple):
    """Cross-validated errors of the pruned trees."""

    alpha: NDArray[np.float64]  # penalty per leaf
    n_leaves: NDArray[np.int64]
    mean_error: NDArray[np.float64]
    std_error: NDArray[np.float64]  # standard error of mean_error
    best: int  # position of the smallest error
    chosen: int  # of the smallest tree whose error is within one standard error of it


def pruning_path(tree: Tree) -> PruningPath:
    """Return the sequence of subtrees, weakest link first."""
    m = tree.n_nodes
    cost = tree.impurity * tree.weight / tree.weight[0]
    n_inner = int(np.count_nonzero(~tree.is_leaf))
    steps = PruningPath(
        alpha=np.empty(n_inner),
        impurity=np.empty(n_inner),
        n_leaves=np.empty(n_inner, np.int64),
        order=np.empty(n_inner, np.int64),
        pruned_at=np.empty(m, np.int64),
    )
    work = np.empty(m), np.empty(m), np.empty((4, m), np.int64)
    n_steps = prune_weakest_links(tree.left, parents(tree), cost, work, steps)
    return PruningPath(
        alpha=np.append(0.0, steps.alpha[:n_steps]),
        impurity=np.append(float(cost[tree.is_leaf].sum()), steps.impurity[:n_steps]),
        n_leaves=np.append(n_inner + 1, steps.n_leaves[:n_steps]),
        order=steps.order[:n_steps],
        pruned_at=steps.pruned_at,
    )


def prune(tree: Tree, ccp_alpha: float) -> Tree:
    """Return the smallest subtree of minimal impurity + ccp_alpha * n_leaves; with 0 it is the tree itself."""
    if ccp_alpha <= 0.0 or tree.n_nodes == 1:
        return tree
    path = pruning_path(tree)
    n_steps = int(np.argmax(np.append(path.alpha[1:] > ccp_alpha, True)))
    return collapse(tree, path.order[:n_steps])


def collapse(tree: Tree, nodes: NDArray[np.int64]) -> Tree:
    """Return the tree with `nodes` made leaves and what is below them removed; the other nodes keep their order."""
    left = tree.left.copy()
    left[nodes] = LEAF
    keep = np.zeros(tree.n_nodes, bool)
    keep[0] = True
    for t in np.flatnonzero(left != LEAF):  # parents come first
        if keep[t]:
            keep[left[t] : left[t] + 2] = True
    is_inner = keep & (left != LEAF)
    number = np.cumsum(keep) - 1
    has_set = is_inner & (tree.category_set >= 0)
    set_number = np.where(has_set, np.cumsum(has_set) - 1, -1)
    cut = {name: getattr(tree, name)[keep] for name in ("value", "impurity", "n_samples", "weight")}
    inner = is_inner[keep]
    return Tree(
        feature=np.where(inner, tree.feature[keep], LEAF).astype(np.int32),
        threshold=np.where(inner, tree.threshold[keep], np.nan),
        left=np.where(inner, number[np.where(is_inner, left, 0)][keep], LEAF).astype(np.int32),
        missing_left=inner & tree.missing_left[keep],
        category_set=set_number[keep].astype(np.int32),
        categories=tree.categories[tree.category_set[has_set]],
        gain=np.where(inner, tree.gain[keep], 0.0),
        **cut,
    )


def cross_validate(
    path: PruningPath,
    X: NDArray[np.floating],
    target: NDArray[np.float64],
    weight: NDArray[np.float64],
    folds: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    grow_on: Callable[[NDArray[np.int64]], Tree],
    predict: Callable[[Tree], NDArray[np.float64]],
    loss: str,
) -> PruningCurve:
    """Estimate the error of the pruned trees of `path` by cross-validation.

    A tree of the path is optimal for an interval of alphas. For each fold a tree is grown on the other folds, pruned at
    the geometric mean of every interval and evaluated on the fold (Breiman et al. 1984, section 3.4). The standard
    error is that of the mean loss over rows.
    """
    alpha = np.maximum.accumulate(path.alpha)  # rounding may make a zero link negative
    distinct = np.append(alpha[1:] > alpha[:-1] * (1 + 1e-12) + 1e-300, True)
    alpha, n_leaves = alpha[distinct], path.n_leaves[distinct]
    between = np.append(np.sqrt(alpha[:-1] * alpha[1:]), np.inf)
    differences = np.zeros((2, alpha.size + 1))
    total, n_tested = 0.0, 0
    for train, test in folds:
        tree = grow_on(train)
        own = pruning_path(tree)
        at = np.where(own.pruned_at >= 0, np.maximum.accumulate(own.alpha)[own.pruned_at], np.inf)
        first = np.where(np.isinf(at), alpha.size, np.searchsorted(between, at))
        first[tree.is_leaf] = 0
        sequence = parents(tree), first, predict(tree)
        leaves, scratch = apply_tree(tree, X[test]), np.empty(tree.n_nodes, np.int64)
        pruned_losses(sequence, leaves, target[test], weight[test], LOSSES[loss], scratch, differences)
        total += float(weight[test].sum())
        n_tested += int(np.count_nonzero(weight[test]))
    mean, mean_square = differences[:, :-1].cumsum(axis=1) / total
    variance = np.maximum(mean_square - mean**2, 0.0)
    std = np.sqrt(variance / n_tested)
    best = int(alpha.size - 1 - np.argmin(mean[::-1]))
    chosen = int(np.flatnonzero(mean <= mean[best] + std[best])[-1])
    return PruningCurve(alpha, n_leaves, mean, std, best, chosen)
