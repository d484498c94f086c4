"""Leaves and paths against the plain walk."""

from __future__ import annotations

import numpy as np
import pytest

from committee.tree_engine.predict.apply import apply_tree, decision_path
from tests.naive.traverse import naive_apply
from tests.random_trees import random_stack


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 200])
def test_apply_tree(n, with_sets):
    rng = np.random.default_rng(n)
    for n_splits in (0, 1, 5, 60):
        tree = random_stack(rng, 4, [n_splits], 1, with_sets).tree(0)
        X = rng.integers(0, 6, (n, 4)).astype(float)
        X[rng.random((n, 4)) < 0.2] = np.nan
        expected = naive_apply(tree, X)
        for table in (X, X.astype(np.float32), np.asfortranarray(X)):
            np.testing.assert_array_equal(apply_tree(tree, table), expected)
        path = decision_path(tree, X)
        np.testing.assert_array_equal(path.indices[path.indptr[1:] - 1], expected)
        assert np.all(path.indices[path.indptr[:-1]] == 0)
        assert path.sum() == sum(tree.depth[leaf] + 1 for leaf in expected)
