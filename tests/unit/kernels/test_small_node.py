"""Small nodes searched many features at once, compared with every cut in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.split_small_node import FEW_ROWS, TOGETHER, search_small_node
from committee.records.growth import NODE, RULES, Subtree
from committee.tree_engine.subtrees import make_work
from tests.naive.decreases import best_cut


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_features", [1, 5, TOGETHER, TOGETHER + 3])
@pytest.mark.parametrize("n", [3, 4, 9, FEW_ROWS])
def test_small_node_finds_the_best_cut(n, n_features, weighted, callable_part):
    search = callable_part(search_small_node)
    for seed in range(10):
        rng = np.random.default_rng([seed, n, n_features, weighted])
        local = rng.integers(0, max(2, n // 2), (n_features, n)).astype(np.uint16)  # ties abound
        y = rng.integers(-50, 50, n)
        weight = rng.integers(1, 4, n) if weighted else np.ones(n, np.int64)
        stat = np.column_stack([y * weight, weight])
        node, n_ranks = _node(stat), local.max(axis=1).astype(np.int64) + 1
        result = _search(search, node, stat, local, n_ranks, unit_weights=not weighted)
        expected = best_cut(local, y.astype(float), weight.astype(float))
        assert result
        assert (node["feature"][0], node["code"][0]) == expected[:2]
        if expected[0] >= 0:
            np.testing.assert_allclose(node["score"][0], expected[2], rtol=1e-12)


def test_small_node_rejects_missing_values(callable_part):
    local = np.array([[0, 1, 2, 2]], np.uint16)  # two ranks: code 2 means missing
    stat = np.array([[1, 1], [5, 1], [3, 1], [9, 1]])
    assert not _search(callable_part(search_small_node), _node(stat), stat, local, np.array([2]), unit_weights=True)


def _node(stat):
    node = np.zeros(1, NODE)
    node["n"], node["g"], node["h"] = len(stat), *stat.sum(axis=0)
    node["shift"] = node["g"] // node["h"]
    node["score"], node["feature"], node["code"] = -np.inf, -1, -1
    return node


def _search(search, node, stat, local, n_ranks, unit_weights):
    rules = np.zeros(1, RULES)
    rules["g_unit"] = rules["h_unit"] = 1.0
    rules["unit_weights"] = unit_weights
    d, n = local.shape
    nothing = Subtree(*[np.empty(0, np.int64)] * len(Subtree._fields))
    position = np.arange(n, dtype=np.uint32)
    subtree = nothing._replace(look=np.arange(d), position=position, local=local, n_ranks=n_ranks)
    return search(d, np.inf, node[0], rules[0], stat, subtree, make_work(n, rules, n))
