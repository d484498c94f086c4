"""The stump of largest edge against every stump tried one by one."""

from __future__ import annotations

import numpy as np
import pytest

from committee import DecisionStump
from committee.records.tree import check_tree
from committee.theory.minmax import all_stumps
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.stumps import StumpSearch


def problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    X = rng.integers(0, rng.integers(2, 12), (n, d)).astype(float) if seed % 2 else rng.normal(size=(n, d))
    if seed % 3 == 0:
        X[rng.random((n, d)) < 0.3] = np.nan
    y = np.where(rng.random(n) < 0.5, np.int8(1), np.int8(-1))
    weight = rng.random(n) ** 3 + 1e-6
    return X, y, weight / weight.sum()


@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize("seed", range(60))
def test_no_stump_has_a_larger_edge(seed, max_bins):
    X, y, w = problem(seed)
    search = StumpSearch(BinMapper(max_bins).fit_transform(X), None)
    stump = search.find(y, w)
    predictions, sums = search.divide(stump, y, w)
    largest = np.abs((w * y) @ all_stumps(X).predictions).max()
    np.testing.assert_allclose((w * y) @ predictions, largest, atol=1e-12)
    tree = search.as_tree(stump, sums)
    check_tree(tree, X.shape[1])
    sides = np.where(tree.value.argmax(axis=1) == 1, 1, -1)
    np.testing.assert_array_equal(sides[apply_tree(tree, X)], predictions)
    np.testing.assert_allclose(tree.weight[0], 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_stump_of_boosting_is_the_decision_stump(seed):
    X, y, w = problem(seed)
    search = StumpSearch(BinMapper(None).fit_transform(X), None)
    predictions, _ = search.divide(search.find(y, w), y, w)
    assert DecisionStump(splitter="best").fit(X, y, w).edge_ == pytest.approx((w * y) @ predictions, abs=1e-12)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 7)), np.where(rng.random(3000) < 0.4, np.int8(1), np.int8(-1))
    w = rng.random(3000)
    w /= w.sum()
    for max_bins in (None, 255):
        matrix = BinMapper(max_bins).fit_transform(X)
        one, two = StumpSearch(matrix, 1), StumpSearch(matrix, 2)
        two.threads = 2
        assert one.find(y, w) == two.find(y, w)
        np.testing.assert_array_equal(one.result, two.result)
