"""The four importances of a forest and its proximities from their definitions, row by row.

What is random is given: `donors[t][i][f]` is the row that row i takes the value of feature f from in tree t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree
from tests.naive.traverse import goes_left, naive_apply

Floats = NDArray[np.float64]


def predict_leaf(tree: Tree, leaf: int, n_classes: int) -> Any:
    """The most probable class, or the value."""
    return int(np.argmax(tree.value[leaf, :n_classes])) if n_classes else float(tree.value[leaf, 0])


def predict(tree: Tree, x: Floats, n_classes: int) -> Any:
    return predict_leaf(tree, int(naive_apply(tree, x[np.newaxis])[0]), n_classes)


def with_value_of(X: Floats, i: int, f: int, donor: int) -> Floats:
    x = X[i].copy()
    x[f] = X[donor, f]
    return x


def margin(votes: list[int], y: int, n_classes: int) -> float:
    fractions = [votes.count(k) / len(votes) for k in range(n_classes)]
    return fractions[y] - max((fraction for k, fraction in enumerate(fractions) if k != y), default=0.0)


def score(predictions: list[Any], y: Any, n_classes: int) -> float:
    """The margin of the votes, or minus the squared error of the mean."""
    return margin(predictions, y, n_classes) if n_classes else -((np.mean(predictions) - y) ** 2)


def local_decreases(
    trees: Sequence[Tree], oob: Sequence[Any], X: Floats, y: Any, donors: Any, n_classes: int
) -> Floats:
    """Permutation importance of every row and feature."""
    out = np.full(X.shape, np.nan)
    for i in range(len(X)):
        oob_trees = [t for t in range(len(trees)) if i in oob[t]]
        if not oob_trees:
            continue
        before = score([predict(trees[t], X[i], n_classes) for t in oob_trees], y[i], n_classes)
        for f in range(X.shape[1]):
            other = [predict(trees[t], with_value_of(X, i, f, donors[t][i][f]), n_classes) for t in oob_trees]
            out[i, f] = before - score(other, y[i], n_classes)
    return out


def loss(given: Any, y: Any, n_classes: int) -> float:
    return float(given != y) if n_classes else (given - y) ** 2


def tree_decreases(tree: Tree, rows: Any, X: Floats, y: Any, weight: Floats, donors: Any, n_classes: int) -> Floats:
    """Permutation importance of one tree, as in Breiman's program."""
    out = np.zeros(X.shape[1])
    for f in range(X.shape[1]):
        for i in rows:
            before = loss(predict(tree, X[i], n_classes), y[i], n_classes)
            after = loss(predict(tree, with_value_of(X, i, f, donors[i][f]), n_classes), y[i], n_classes)
            out[f] += weight[i] * (after - before)
    return out / sum(weight[i] for i in rows)


def path(tree: Tree, x: Floats) -> list[int]:
    nodes = [0]
    while tree.feature[nodes[-1]] != LEAF:
        node = nodes[-1]
        nodes.append(int(tree.left[node]) + (0 if goes_left(tree, node, x[tree.feature[node]]) else 1))
    return nodes


def covariance_form(tree: Tree, rows: Any, X: Floats, y: Floats, weight: Floats) -> Floats:
    """Mean over rows of f_tj(x) . (y - mean of the root); y [n, k]."""
    out = np.zeros(X.shape[1])
    for i in rows:
        nodes = path(tree, X[i])
        for node, child in pairwise(nodes):
            step = (tree.value[child] - tree.value[node]) @ (y[i] - tree.value[0])
            out[tree.feature[node]] += weight[i] * step
    return out / sum(weight[i] for i in rows)


def node_decreases(
    tree: Tree, rows: Any, X: Floats, y: Any, weight: Floats, donor: Callable[[int, list[int]], dict[int, int]],
    n_classes: int,
) -> Floats:  # fmt: skip
    """Node permutation importance of one tree; donor(node, its rows) maps each row to its donor."""
    out = np.zeros(X.shape[1])
    for node in np.flatnonzero(tree.feature != LEAF):
        f = tree.feature[node]
        here = [i for i in rows if node in path(tree, X[i])]
        taken = donor(int(node), here)
        for i in here:
            child = int(tree.left[node]) + (0 if goes_left(tree, int(node), X[taken[i], f]) else 1)
            while tree.feature[child] != LEAF:
                child = int(tree.left[child]) + (0 if goes_left(tree, child, X[i, tree.feature[child]]) else 1)
            before = loss(predict(tree, X[i], n_classes), y[i], n_classes)
            out[f] += weight[i] * (loss(predict_leaf(tree, child, n_classes), y[i], n_classes) - before)
    return out / sum(weight[i] for i in rows)


def proximity(trees: Sequence[Tree], A: Floats, B: Floats, pairs: Callable[[int, int, int], bool]) -> Floats:
    """Fraction of the trees in which two rows have the same leaf, of those trees where pairs(t, i, j) holds."""
    out = np.zeros((len(A), len(B)))
    leaves = [(naive_apply(tree, A), naive_apply(tree, B)) for tree in trees]
    for i in range(len(A)):
        for j in range(len(B)):
            counted = [a[i] == b[j] for t, (a, b) in enumerate(leaves) if pairs(t, i, j)]
            out[i, j] = np.mean(counted) if counted else 0.0
    return out
