"""Many classes whose weights share an integer with them, compared with every cut in plain NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from committee.kernels.trees.criteria import CLASS_GINI
from committee.kernels.trees.split_multiclass import MAX_CLASSES, MAX_WEIGHT, pack_classes, search_many_classes
from committee.records.growth import CODES, NODE, RULES, WEIGHTS_OF_CLASSES
from committee.tree_engine.subtrees import make_work


def make_node(classes: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    stat = np.column_stack([classes, weight]).astype(np.int64)
    node = np.zeros(1, NODE)
    node["n"], node["h"] = len(stat), weight.sum()
    node["score"], node["feature"], node["code"] = -np.inf, -1, -1
    return node, stat


def make_rules(n_classes: int) -> np.ndarray:
    rules = np.zeros(1, RULES)
    rules["n_classes"], rules["criterion"] = n_classes, CLASS_GINI
    return rules


def best_by_hand(column: np.ndarray, classes: np.ndarray, weight: np.ndarray, n_classes: int) -> tuple[float, int]:
    """Score and code of the first best cut after a code: sum of w_k^2 / w over both sides."""
    result = (-np.inf, -1)
    for code in np.unique(column)[:-1]:
        sides = [np.bincount(classes[side], weight[side], n_classes) for side in (column <= code, column > code)]
        score = sum(float(np.sum(side**2) / side.sum()) for side in sides)
        result = max(result, (score, -int(code)), key=lambda pair: (round(pair[0], 9), pair[1]))
    return result[0], -result[1]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [3, 7, MAX_CLASSES])
def test_the_best_cut_is_found(weighted, n_classes, callable_part):
    """By comparing all rows, by a histogram and by sorting; codes with ties and without."""
    search, pack = callable_part(search_many_classes), callable_part(pack_classes)
    for n, n_codes in product([3, 9, 64, 65, 700], [2, 20, 256, 257, 60_000]):
        rng = np.random.default_rng([n, n_codes, weighted])
        columns = rng.integers(0, n_codes, (3, n))
        noisy = columns[1] / n_codes + rng.normal(scale=0.3, size=n)
        classes = np.clip((noisy * n_classes).astype(np.int64), 0, n_classes - 1)
        weight = rng.integers(1, 5, n) if weighted else np.ones(n, np.int64)
        node, stat = make_node(classes, weight)
        rules = make_rules(n_classes)
        work = make_work(n, rules, n_codes)
        assert pack(node[0], rules[0], stat, work.of_class[0], work.packed[WEIGHTS_OF_CLASSES])
        for f, column in enumerate(columns):
            work.packed[CODES, :n] = column
            search(f, n_codes, node[0], rules[0], work)
        by_hand = [best_by_hand(column, classes, weight.astype(float), n_classes) for column in columns]
        best = max(score for score, _ in by_hand)
        result = int(node["feature"][0])
        np.testing.assert_allclose([node["score"][0], by_hand[result][0]], best, rtol=1e-9)
        same_side = (columns[result] <= int(node["code"][0])) == (columns[result] <= by_hand[result][1])
        assert same_side.all()


def test_what_does_not_fit(callable_part):
    pack, of_class, out = callable_part(pack_classes), np.empty(3, np.int64), np.empty(2, np.int32)
    node, stat = make_node(np.array([0, 2]), np.array([1, MAX_WEIGHT]))
    assert pack(node[0], make_rules(3)[0], stat, of_class, out)
    assert of_class.tolist() == [1, 0, MAX_WEIGHT]
    heavy, heavy_stat = make_node(np.array([0, 2]), np.array([1, MAX_WEIGHT + 1]))
    assert not pack(heavy[0], make_rules(3)[0], heavy_stat, of_class, out)
    assert not pack(node[0], make_rules(MAX_CLASSES + 1)[0], stat, of_class, out)
