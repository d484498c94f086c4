"""Shapley values and interactions of trees by their definition: a sum over all subsets of the features."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from committee.records.ensemble import TreeSum
from committee.records.tree import LEAF, Tree
from tests.naive.traverse import goes_left

Floats = NDArray[np.float64]


def expectation(tree: Tree, row: Floats, known: frozenset[int], node: int = 0) -> Floats:
    """Value of the tree for a row of which only some features are known: both ways at splits on the others."""
    if tree.feature[node] == LEAF:
        return tree.value[node]
    f, left = int(tree.feature[node]), int(tree.left[node])
    if f in known:
        return expectation(tree, row, known, left if goes_left(tree, node, row[f]) else left + 1)
    a, b = tree.weight[left], tree.weight[left + 1]
    share = a / (a + b) if a + b > 0 else 0.5
    below = [expectation(tree, row, known, child) for child in (left, left + 1)]
    return share * below[0] + (1.0 - share) * below[1]


def sum_expectation(model: TreeSum, row: Floats, known: frozenset[int]) -> Floats:
    total = model.base.astype(float)
    for tree, output, weight in zip(model.trees, model.output, model.weight, strict=True):
        total[slice(None) if output < 0 else slice(output, output + 1)] += weight * expectation(tree, row, known)
    return total


def games(model: TreeSum, row: Floats) -> dict[frozenset[int], Floats]:
    """e(S) of every subset S."""
    subsets = (frozenset(s) for size in range(row.size + 1) for s in combinations(range(row.size), size))
    return {known: sum_expectation(model, row, known) for known in subsets}


def naive_shap(model: TreeSum, X: Floats) -> Floats:
    """phi [n, d, K]."""
    n, d = X.shape
    phi = np.zeros((n, d, model.base.size))
    for i in range(n):
        e = games(model, X[i])
        for known in e:
            for j in set(range(d)) - known:
                share = factorial(len(known)) * factorial(d - len(known) - 1) / factorial(d)
                phi[i, j] += share * (e[known | {j}] - e[known])
    return phi


def naive_interactions(model: TreeSum, X: Floats) -> Floats:
    """[n, d, d, K]: half of Shapley's interaction index off the diagonal, the rest of phi on it."""
    n, d = X.shape
    out = np.zeros((n, d, d, model.base.size))
    for i in range(n):
        e = games(model, X[i])
        for known in e:
            for a, b in combinations(sorted(set(range(d)) - known), 2):
                share = factorial(len(known)) * factorial(d - len(known) - 2) / (2 * factorial(d - 1))
                both = share * (e[known | {a, b}] - e[known | {a}] - e[known | {b}] + e[known])
                out[i, a, b] += both
                out[i, b, a] += both
    rest = naive_shap(model, X) - out.sum(axis=2)
    out[:, np.arange(d), np.arange(d)] = rest
    return out


def random_tree(rng: np.random.Generator, n_features: int, n_splits: int, n_columns: int) -> Tree:
    """Numeric and categorical splits over the values 0..5 and missing ones; some leaves have no weight."""
    left = [LEAF]
    for _ in range(n_splits):
        leaf = int(rng.choice([i for i, child in enumerate(left) if child == LEAF]))
        left[leaf] = len(left)
        left += [LEAF, LEAF]
    m = len(left)
    is_inner = np.array(left) != LEAF
    has_set = is_inner & (rng.random(m) < 0.3)
    weight = rng.integers(0, 4, m).astype(float)
    for node in np.flatnonzero(is_inner)[::-1]:
        weight[node] = weight[left[node]] + weight[left[node] + 1]
    return Tree(
        feature=np.where(is_inner, rng.integers(0, n_features, m), LEAF).astype(np.int32),
        threshold=np.where(is_inner & ~has_set, rng.integers(0, 5, m) + 0.5, np.nan),
        left=np.array(left, np.int32),
        missing_left=is_inner & (rng.random(m) < 0.5),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=rng.integers(0, 2**63, (int(has_set.sum()), 4)).astype(np.uint64),
        value=rng.normal(size=(m, n_columns)),
        impurity=np.zeros(m),
        gain=np.zeros(m),
        n_samples=np.ones(m, np.int64),
        weight=weight,
    )


def random_sum(rng: np.random.Generator, n_features: int, n_outputs: int, sizes: list[int]) -> TreeSum:
    """Trees of so many splits, some for one output and some for all."""
    output = rng.integers(-1, n_outputs, len(sizes))
    trees = [random_tree(rng, n_features, n, n_outputs if k < 0 else 1) for n, k in zip(sizes, output, strict=True)]
    return TreeSum(tuple(trees), output, rng.normal(size=len(sizes)), rng.normal(size=n_outputs))


def random_rows(rng: np.random.Generator, n: int, d: int) -> Floats:
    X = rng.integers(0, 6, (n, d)).astype(float)
    X[rng.random((n, d)) < 0.2] = np.nan
    return X
