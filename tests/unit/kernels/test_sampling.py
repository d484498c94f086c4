"""Random draws: a permutation, evenly spread, undone by repeating it backwards."""

from __future__ import annotations

import numpy as np
from scipy import stats

from committee.kernels.trees.sampling import draw_below, draw_order, draw_swap, draw_unit


def test_draw_order_is_a_permutation_that_depends_on_the_key():
    orders = []
    for key in range(50):
        order = np.empty(20, np.int64)
        draw_order(np.uint64(key), order)
        assert sorted(order) == list(range(20))
        orders.append(tuple(order))
    assert len(set(orders)) == 50


def test_every_feature_comes_first_equally_often():
    first = np.empty(6000, np.int64)
    order = np.empty(6, np.int64)
    for key in range(6000):
        draw_order(np.uint64(key * 7919), order)
        first[key] = order[0]
    assert stats.chisquare(np.bincount(first, minlength=6)).pvalue > 1e-4


def test_draw_below_and_unit_are_uniform(callable_part):
    below, unit = callable_part(draw_below), callable_part(draw_unit)
    numbers = np.array([below(np.uint64(3), i, 10) for i in range(5000)])
    assert stats.chisquare(np.bincount(numbers, minlength=10)).pvalue > 1e-4
    floats = np.array([unit(np.uint64(3), i) for i in range(5000)])
    assert stats.kstest(floats, "uniform").pvalue > 1e-4


def test_draw_swap_backwards_restores_the_features(callable_part):
    swap = callable_part(draw_swap)
    features = np.arange(12)
    for step in range(7):
        swap(features, np.uint64(5), step)
    assert not np.array_equal(features, np.arange(12))
    for step in range(6, -1, -1):
        swap(features, np.uint64(5), step)
    np.testing.assert_array_equal(features, np.arange(12))
