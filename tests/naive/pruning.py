"""Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3), recomputed from scratch after every step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree

Floats = NDArray[np.float64]


def naive_pruning_path(tree: Tree) -> tuple[Floats, Floats]:
    """The effective alphas and the impurity of the leaves after each pruned node; first the whole tree, at alpha 0."""
    alphas, impurities, _ = _prune(tree, float("inf"))
    return np.array(alphas), np.array(impurities)


def naive_prune(tree: Tree, alpha: float) -> set[int]:
    """The nodes of `tree` that are the leaves of the subtree pruned at `alpha`."""
    return _prune(tree, alpha)[2]


def _prune(tree: Tree, alpha: float) -> tuple[list[float], list[float], set[int]]:
    risk = tree.weight * tree.impurity / tree.weight[0]
    leaves = {int(i) for i in np.flatnonzero(tree.feature == LEAF)}
    alphas, impurities = [0.0], [sum(risk[i] for i in sorted(leaves))]
    while 0 not in leaves:
        links = {node: _link_strength(tree, node, leaves, risk) for node in _inner_nodes(tree, 0, leaves)}
        weakest = min(sorted(links), key=links.__getitem__)  # of equal links the first node: parents before children
        if links[weakest] > alpha:
            break
        leaves = leaves - _leaves_below(tree, weakest, leaves) | {weakest}
        alphas.append(links[weakest])
        impurities.append(sum(risk[i] for i in sorted(leaves)))
    return alphas, impurities, leaves


def _link_strength(tree: Tree, node: int, leaves: set[int], risk: Floats) -> float:
    """(R(t) - R(T_t)) / (number of leaves of T_t - 1)."""
    below = sorted(_leaves_below(tree, node, leaves))
    return float((risk[node] - sum(risk[i] for i in below)) / (len(below) - 1))


def _leaves_below(tree: Tree, node: int, leaves: set[int]) -> set[int]:
    if node in leaves:
        return {node}
    left = int(tree.left[node])
    return _leaves_below(tree, left, leaves) | _leaves_below(tree, left + 1, leaves)


def _inner_nodes(tree: Tree, node: int, leaves: set[int]) -> set[int]:
    if node in leaves:
        return set()
    left = int(tree.left[node])
    return {node} | _inner_nodes(tree, left, leaves) | _inner_nodes(tree, left + 1, leaves)
