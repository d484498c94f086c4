"""Sums of trees against the plain walk through each, and the stack of trees they are kept in."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.kernels.predict.traverse import ROWS_TOGETHER
from committee.records.ensemble import BoostedTrees
from committee.records.tree import Tree
from committee.tree_engine.predict.boosted import FEW_ROWS, MASKED_ROWS, PackedSum, add_scores
from tests.naive.traverse import naive_apply
from tests.random_trees import random_stack


def plain_scores(trees: BoostedTrees, X: NDArray, score: NDArray) -> NDArray:
    out = score.copy()
    for t in range(trees.n_trees):
        tree = trees.tree(t)
        out[:, trees.output[t]] += tree.value[naive_apply(tree, X), 0]
    return out


def random_table(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    X = rng.integers(0, 7, (n, 4)).astype(float)
    X[rng.random((n, 4)) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, FEW_ROWS - 1, FEW_ROWS, MASKED_ROWS, 2 * ROWS_TOGETHER + 13])
@pytest.mark.parametrize("most_splits", [0, 7, 31, 32, 63, 64])
def test_add_scores(n, most_splits, with_sets):
    """32 leaves fill the masks of float32, 64 those of float64; trees with one more are walked through."""
    rng = np.random.default_rng(n)
    trees = random_stack(rng, 4, [0, 1, most_splits, 5, most_splits, 0], 3, with_sets)
    X, score = random_table(rng, n), rng.normal(size=(n, 3))
    for table in (X, np.asfortranarray(X), X.astype(np.float32), np.nan_to_num(X, nan=3.0)):
        expected, result = plain_scores(trees, table.astype(float), score), score.copy()
        add_scores(PackedSum(trees), table, result, n_jobs=1)
        np.testing.assert_array_equal(result, expected)  # the same additions in the same order


def test_thresholds_at_the_ends_of_the_numbers():
    """Rounded to float32, no threshold may let a float32 change sides; missing values know theirs at any of them."""
    edges = [-np.inf, -1e300, -3.5e38, 0.1, np.float64(np.float32(0.1)), 0.1 + 1e-12, 1e-50, 3.5e38, 1e300, np.inf]
    near = np.float32(0.1)
    values = [-np.inf, np.finfo(np.float32).min, -1.0, 0.0, near, np.nextafter(near, np.float32(1.0)),
              np.nextafter(near, np.float32(0.0)), np.finfo(np.float32).max, np.inf, np.nan]  # fmt: skip
    X = np.repeat(np.array(values, np.float32), FEW_ROWS // 8)[:, np.newaxis]
    assert len(X) >= FEW_ROWS
    stump = random_stack(np.random.default_rng(3), 1, [1], 1, False)
    for threshold in edges:
        for missing_left in (True, False):
            trees = stump._replace(
                threshold=np.array([threshold, np.nan, np.nan]), missing_left=np.array([missing_left, False, False])
            )
            for table in (X, X.astype(np.float64)):
                result = np.zeros((len(X), 1))
                add_scores(PackedSum(trees), table, result, n_jobs=1)
                np.testing.assert_array_equal(result, plain_scores(trees, table.astype(float), np.zeros((len(X), 1))))


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    trees = random_stack(rng, 4, [7] * 12, 1, False)
    X = random_table(rng, 40_000)
    one, two = np.zeros((40_000, 1)), np.zeros((40_000, 1))
    add_scores(PackedSum(trees), X, one, n_jobs=1)
    add_scores(PackedSum(trees), X, two, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one[:50], plain_scores(trees, X[:50], np.zeros((50, 1))))


def test_depths():
    trees = random_stack(np.random.default_rng(1), 4, [0, 1, 6, 25], 1, True)
    assert PackedSum(trees).walked.depths.tolist() == [int(trees.tree(t).depth.max()) for t in range(4)]


def assert_same_tree(a: Tree, b: Tree) -> None:
    for name in Tree._fields:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_join_and_first():
    rng = np.random.default_rng(2)
    parts = [
        random_stack(rng, 4, sizes, 2, with_sets) for sizes, with_sets in (([3, 0], True), ([5], False), ([2], True))
    ]
    whole = BoostedTrees.join(parts)
    alone = [part.tree(t) for part in parts for t in range(part.n_trees)]
    assert whole.n_trees == len(alone) == 4
    for t, tree in enumerate(alone):
        assert_same_tree(whole.tree(t), tree)
    for n_trees in range(5):
        first = whole.first(n_trees)
        assert first.n_trees == n_trees
        for t in range(n_trees):
            assert_same_tree(first.tree(t), alone[t])
