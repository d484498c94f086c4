"""Answers of a packed forest against the plain walk through each of its trees."""

from __future__ import annotations

import numpy as np
import pytest

from committee.data.tree import LEAF
from committee.kernels.forest_walk import ROWS_TOGETHER
from committee.parts.packed_forest import add_answers, pack_forest
from tests.naive.traverse import naive_apply
from tests.unit.kernels.test_tree_scores import random_stack, random_table


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_answers_are_those_of_the_leaves(k, with_sets):
    """Missing values, sets of categories, trees of one node; numbers, and class shares of which some are pure."""
    for n in (0, 1, 7, 8, 9, ROWS_TOGETHER + 11):
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
        for table in (X, np.asfortranarray(X), X.astype(np.float32)):
            found, start = np.ones((n, k)), np.ones((n, k))
            add_answers(pack_forest(trees), table, found, n_jobs=1)
            expected = start + sum(tree.value[naive_apply(tree, X)] for tree in trees)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_node_takes_twenty_bytes():
    stack = random_stack(np.random.default_rng(0), 4, [30, 12], 1, False)
    trees = [stack.tree(t) for t in range(2)]
    packed = pack_forest(trees)
    n_leaves = sum(int(np.sum(tree.feature == LEAF)) for tree in trees)
    assert packed.nodes.nbytes + packed.answer.nbytes == 20 * sum(tree.n_nodes for tree in trees)
    assert len(packed.values) == n_leaves
