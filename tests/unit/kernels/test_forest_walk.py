"""Answers of a packed forest against the plain walk through each of its trees."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.predict.forest_walk import LANES, TILES_TOGETHER
from committee.records.tree import LEAF
from committee.tree_engine.predict.compact import short_nodes
from committee.tree_engine.predict.forest import FEW_ROWS, add_predictions, pack_forest
from tests.naive.traverse import naive_apply
from tests.unit.kernels.test_tree_scores import random_stack, random_table


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_predictions_are_those_of_the_leaves(k, with_sets):
    """Missing values, sets of categories, trees of one node; numbers, and class shares of which some are pure."""
    for n in (0, 1, FEW_ROWS - 1, FEW_ROWS, FEW_ROWS + 1, TILES_TOGETHER * LANES + 11):
        rng = np.random.default_rng([n, k])
        stack = random_stack(rng, 4, [0, 1, 5, 70, 3], 1, with_sets)
        trees = []
        for t in range(stack.n_trees):
            tree = stack.tree(t)
            value = rng.dirichlet(np.ones(k), tree.n_nodes) if k > 1 else rng.normal(size=(tree.n_nodes, 1))
            if k > 1:
                value[rng.random(tree.n_nodes) < 0.5] = np.eye(k)[1]
            trees.append(tree._replace(value=value))
        X = random_table(rng, n)
        packed = pack_forest(trees)
        for table in (X, np.asfortranarray(X), X.astype(np.float32), np.nan_to_num(X), np.nan_to_num(X + 1e-9)):
            result, start = np.ones((n, k)), np.ones((n, k))
            add_predictions(packed, table, result, n_jobs=1)
            expected = start + sum(tree.value[naive_apply(tree, table.astype(np.float64))] for tree in trees)
            np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_node_takes_twenty_bytes():
    stack = random_stack(np.random.default_rng(0), 4, [30, 12], 1, False)
    trees = [stack.tree(t) for t in range(2)]
    packed = pack_forest(trees)
    n_leaves = sum(int(np.sum(tree.feature == LEAF)) for tree in trees)
    assert packed.nodes.nbytes + packed.value_index.nbytes == 20 * sum(tree.n_nodes for tree in trees)
    assert len(packed.values) == n_leaves


def test_thresholds_between_neighbours_in_float32():
    """A float32 number and its neighbour on the two sides of a float64 threshold stay there."""
    low = np.float32(0.1)
    high = np.nextafter(low, np.float32(1))
    stack = random_stack(np.random.default_rng(0), 1, [1], 1, False)
    tree = stack.tree(0)
    X = np.full((FEW_ROWS, 1), low)
    X[::2] = high
    for threshold in (float(low), (float(low) + float(high)) / 2, np.nextafter(float(high), 0)):
        tree = tree._replace(threshold=np.where(tree.feature == LEAF, tree.threshold, threshold))
        result = np.zeros((FEW_ROWS, 1))
        add_predictions(pack_forest([tree]), X, result, n_jobs=1)
        assert np.array_equal(result, tree.value[naive_apply(tree, X.astype(np.float64))])
        assert np.unique(result).size == 2


def test_nodes_without_room_for_a_column_are_left_to_the_wide_ones():
    stack = random_stack(np.random.default_rng(0), 1, [5], 1, False)
    tree = stack.tree(0)
    forest = pack_forest([tree._replace(feature=np.where(tree.feature == LEAF, LEAF, (1 << 30) - 1))])
    assert short_nodes(forest, np.dtype(np.float32), has_missing=False) is None
    assert short_nodes(forest, np.dtype(np.float64), has_missing=False) is not None


def test_short_nodes_are_made_once_and_go_with_their_forest():
    from committee.tree_engine.predict.compact import _MADE

    stack = random_stack(np.random.default_rng(0), 4, [30, 12], 1, False)
    forest = pack_forest([stack.tree(0)])
    key = id(forest.nodes)
    made = short_nodes(forest, np.dtype(np.float32), False)
    assert short_nodes(forest, np.dtype(np.float32), False) is made
    assert key in _MADE
    del forest
    assert key not in _MADE
