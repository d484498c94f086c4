"""Two classes whose weights share an integer, compared with every cut in plain NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from committee.kernels.trees.split_binary import (
    FEW_CODES,
    MAX_WEIGHT,
    PAIR_ROWS,
    differ,
    pack_two_classes,
    search_two_classes,
)
from committee.records.growth import CODES, NODE, RULES
from committee.tree_engine.subtrees import make_work
from tests.naive.decreases import best_cut


def make_node(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    stat = np.column_stack([np.where(y == 1, weight, -weight), weight]).astype(np.int64)
    node = np.zeros(1, NODE)
    node["n"], node["g"], node["h"] = len(stat), *stat.sum(axis=0)
    node["shift"] = node["g"] // node["h"]
    node["score"], node["feature"], node["code"] = -np.inf, -1, -1
    return node, stat


def make_rules() -> np.ndarray:
    rules = np.zeros(1, RULES)
    rules["g_unit"] = rules["h_unit"] = 1.0
    rules["n_classes"] = 2
    return rules


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_cut_is_found(weighted, callable_part):
    """By pairs, by a histogram and by sorting; codes with ties and without."""
    search, pack = callable_part(search_two_classes), callable_part(pack_two_classes)
    shapes = product([3, 9, PAIR_ROWS, PAIR_ROWS + 1, 300], [2, 40, FEW_CODES, FEW_CODES + 1, 5_000, 60_000])
    for n, n_codes in shapes:
        rng = np.random.default_rng([n, n_codes, weighted])
        columns = rng.integers(0, n_codes, (3, n))
        y = (columns[1] + rng.normal(scale=0.5 * n_codes, size=n) > 0.5 * n_codes).astype(int)
        weight = rng.integers(1, 5, n) if weighted else np.ones(n, np.int64)
        node, stat = make_node(y, weight)
        work = make_work(n, make_rules(), n_codes)
        assert pack(node[0], make_rules()[0], stat, work.packed)
        for f, column in enumerate(columns):
            work.packed[CODES, :n] = column
            search(f, n_codes, node[0], make_rules()[0], work)
        target, w = 2.0 * y - 1.0, weight.astype(float)
        decrease = best_cut(columns, target, w)[2]
        np.testing.assert_allclose(node["score"][0], decrease, rtol=1e-9, atol=1e-9)
        # The cut has that decrease, and no lower code of the feature has an equal one
        result, code = int(node["feature"][0]), int(node["code"][0])
        of_feature = best_cut(columns[[result]], target, w)
        assert of_feature[1] == code or decrease < 1e-9
        np.testing.assert_allclose(of_feature[2], decrease, rtol=1e-9, atol=1e-9)


def test_differ_detects_different_codes_and_missing_values(callable_part):
    read, codes = callable_part(differ), np.array([9, 7, 5, 7], np.int32)
    assert read(codes, 4, 12) == (True, False)
    assert read(codes, 4, 9) == (True, True)
    assert read(codes[3:], 1, 12) == (False, False)
    assert read(np.full(20, 7, np.int32), 20, 7) == (False, True)


def test_heavy_nodes_do_not_fit(callable_part):
    node, stat = make_node(np.array([0, 1]), np.array([1, MAX_WEIGHT - 2]))
    heavier, heavier_stat = make_node(np.array([0, 1]), np.array([1, MAX_WEIGHT - 1]))
    many = make_rules()
    many["n_classes"] = 3
    pack, packed = callable_part(pack_two_classes), np.empty((4, 8), np.int32)
    assert pack(node[0], make_rules()[0], stat, packed)
    assert not pack(heavier[0], make_rules()[0], heavier_stat, packed)
    assert not pack(node[0], many[0], stat, packed)
