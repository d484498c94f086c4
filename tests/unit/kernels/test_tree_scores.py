"""Sums of trees against the plain walk through each, and the stack of trees they are kept in."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.data.ensemble import BoostedTrees
from committee.data.tree import Tree
from committee.kernels.traverse import ROWS_TOGETHER
from committee.parts.boosted_trees import add_scores, pack_trees, tree_depths
from tests.naive.traverse import naive_apply


def random_stack(rng: np.random.Generator, n_features: int, sizes: list[int], n_outputs: int, with_sets: bool):
    """Trees of these numbers of splits; numbers in all columns, or categories where a split is a set."""
    left, offsets = [], [0]
    for n_splits in sizes:
        tree = [-1]
        for _ in range(n_splits):
            leaf = int(rng.choice([i for i, child in enumerate(tree) if child < 0]))
            tree[leaf] = len(tree)
            tree += [-1, -1]
        left += tree
        offsets.append(len(left))
    m = len(left)
    is_inner = np.array(left) >= 0
    has_set = is_inner & (rng.random(m) < 0.4) & with_sets
    return BoostedTrees(
        offsets=np.array(offsets),
        output=rng.integers(0, n_outputs, len(sizes)),
        feature=np.where(is_inner, rng.integers(0, n_features, m), -1).astype(np.int32),
        threshold=np.where(is_inner & ~has_set, rng.integers(0, 5, m) + 0.5, np.nan),
        left=np.array(left, np.int32),
        missing_left=is_inner & (rng.random(m) < 0.5),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=rng.integers(0, 2**63, (int(has_set.sum()), 4)).astype(np.uint64),
        value=np.where(is_inner, 0.0, rng.normal(size=m)),
        gain=rng.exponential(size=m),
        n_samples=rng.integers(1, 9, m),
        weight=rng.exponential(size=m),
    )


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
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, ROWS_TOGETHER - 1, ROWS_TOGETHER + 8, 2 * ROWS_TOGETHER + 13])
def test_add_scores(n, with_sets):
    rng = np.random.default_rng(n)
    trees = random_stack(rng, 4, [0, 1, 5, 30, 3, 0], 3, with_sets)
    assert bool(len(trees.categories)) == with_sets
    X, score = random_table(rng, n), rng.normal(size=(n, 3))
    expected = plain_scores(trees, X, score)
    for table in (X, np.asfortranarray(X), X.astype(np.float32)):
        found = score.copy()
        add_scores(pack_trees(trees), table, found, n_jobs=1)
        np.testing.assert_array_equal(found, expected)  # the same additions in the same order


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    trees = random_stack(rng, 4, [7] * 12, 1, False)
    X = random_table(rng, 40_000)
    one, two = np.zeros((40_000, 1)), np.zeros((40_000, 1))
    add_scores(pack_trees(trees), X, one, n_jobs=1)
    add_scores(pack_trees(trees), X, two, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one[:50], plain_scores(trees, X[:50], np.zeros((50, 1))))


def test_depths():
    trees = random_stack(np.random.default_rng(1), 4, [0, 1, 6, 25], 1, True)
    assert tree_depths(trees).tolist() == [int(trees.tree(t).depth.max()) for t in range(4)]


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
