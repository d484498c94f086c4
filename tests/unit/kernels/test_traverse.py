"""Leaves and paths against the plain walk."""

from __future__ import annotations

import numpy as np
import pytest

from committee.records.tree import Tree
from committee.tree_engine.predict.apply import apply_tree, decision_path
from tests.naive.traverse import naive_apply


def random_tree(rng: np.random.Generator, n_features: int, n_splits: int, with_sets: bool) -> Tree:
    left = [-1]
    for _ in range(n_splits):
        leaf = int(rng.choice([i for i, child in enumerate(left) if child < 0]))
        left[leaf] = len(left)
        left += [-1, -1]
    m = len(left)
    is_inner = np.array(left) >= 0
    has_set = is_inner & (rng.random(m) < 0.4) & with_sets
    return Tree(
        feature=np.where(is_inner, rng.integers(0, n_features, m), -1).astype(np.int32),
        threshold=np.where(is_inner & ~has_set, rng.integers(0, 5, m) + 0.5, np.nan),
        left=np.array(left, np.int32),
        missing_left=is_inner & (rng.random(m) < 0.5),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=rng.integers(0, 2**63, (int(has_set.sum()), 4)).astype(np.uint64),
        value=np.zeros((m, 1)),
        impurity=np.zeros(m),
        gain=np.zeros(m),
        n_samples=np.ones(m, np.int64),
        weight=np.ones(m),
    )


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 200])
def test_apply_tree(n, with_sets):
    rng = np.random.default_rng(n)
    for n_splits in (0, 1, 5, 60):
        tree = random_tree(rng, 4, n_splits, with_sets)
        X = rng.integers(0, 6, (n, 4)).astype(float)
        X[rng.random((n, 4)) < 0.2] = np.nan
        expected = naive_apply(tree, X)
        for table in (X, X.astype(np.float32), np.asfortranarray(X)):
            np.testing.assert_array_equal(apply_tree(tree, table), expected)
        path = decision_path(tree, X)
        np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], expected)
        assert np.all(path.indices[path.indptr[:-1]] == 0)
        assert path.sum() == sum(tree.depth[leaf] + 1 for leaf in expected)
