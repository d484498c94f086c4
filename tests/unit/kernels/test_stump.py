"""The sweeps of the stump search against cumulative sums."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.stump import (
    LAST_OF_VALUE,
    ROW_BITS,
    divide_rows,
    pick_cut,
    presort,
    sign_weights,
    sweep_bins,
    sweep_orders,
)
from committee.tree_engine.stumps import Stump


def column(seed, n=50, n_codes=9):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_codes, n)
    codes[:n_codes] = np.arange(n_codes)  # every code occurs
    codes[rng.random(n) < 0.2] = n_codes  # missing
    present, dense = np.unique(codes[codes < n_codes], return_inverse=True)
    out = np.full(n, present.size)
    out[codes < n_codes] = dense
    return out.astype(np.uint32), present.size, rng.integers(-20, 21, n)


def extremes(codes, n_codes, signed):
    """Smallest and largest running sum over the codes, 0 before the first one, and the sum of the missing rows."""
    running = np.concatenate([[0], np.cumsum([signed[codes == c].sum() for c in range(n_codes)])])
    return running.min(), running.max(), signed[codes == n_codes].sum()


@pytest.mark.parametrize("seed", range(20))
def test_presort_and_sweep(seed):
    codes, n_codes, signed = column(seed)
    order = np.empty((1, codes.size), np.uint32)
    n_missing = presort(codes, n_codes, np.empty(n_codes + 2, np.int64), order[0])
    rows = (order[0] & ROW_BITS).astype(int)
    np.testing.assert_array_equal(rows, np.argsort(codes, kind="stable"))
    ends = (order[0] & LAST_OF_VALUE) != 0
    changes = np.append(codes[rows][1:] != codes[rows][:-1], True)
    np.testing.assert_array_equal(ends, changes & (codes[rows] < n_codes))
    assert n_missing == np.sum(codes == n_codes)
    result = np.zeros((1, 5), np.int64)
    sweep_orders(0, 1, order, np.array([n_missing]), signed, result)
    assert (result[0, 0], result[0, 2], result[0, 4]) == extremes(codes, n_codes, signed)


@pytest.mark.parametrize("seed", range(10))
def test_sweep_of_bins(seed):
    codes, n_codes, signed = column(seed)
    histogram = np.zeros(256, np.int64)
    np.add.at(histogram, codes, signed)
    result = np.zeros((1, 5), np.int64)
    sweep_bins(histogram, np.array([n_codes]), result)
    assert (result[0, 0], result[0, 2], result[0, 4]) == extremes(codes, n_codes, signed)


def test_signed_weights_and_no_cut_better_than_a_constant():
    signed = np.empty(3, np.int64)
    total = sign_weights(np.array([1, -1, 1], np.int8), np.array([0.5, 0.25, 0.25]), 4.0, signed)
    assert signed.tolist() == [2, -1, 1]
    assert total == 2
    best = np.empty(4, np.int64)
    pick_cut(np.array([[0, -1, 2, 4, 0]]), total, best)  # the largest sum is the total: no better than a constant
    assert best[0] == -1
    pick_cut(np.array([[0, -1, 2, 4, 0], [-1, 3, 0, -1, 0]]), total, best)
    assert best.tolist() == [1, 3, 0, -1]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("missing_left", [True, False])
def test_rows_are_divided(seed, missing_left):
    codes, n_codes, _ = column(seed)
    rng = np.random.default_rng(seed)
    y, weight = rng.choice(np.array([-1, 1], np.int8), codes.size), rng.random(codes.size)
    predictions, sums = np.empty(codes.size, np.int8), np.empty((2, 2, 2))
    divide_rows(codes, n_codes, Stump(0, 3, missing_left, -1, 1), y, weight, predictions, sums)
    left = np.where(codes == n_codes, missing_left, codes <= 3)
    np.testing.assert_array_equal(predictions, np.where(left, -1, 1))
    for side, inside in enumerate((left, ~left)):
        for k, label in enumerate((-1, 1)):
            rows = inside & (y == label)
            np.testing.assert_allclose(sums[side, k], [weight[rows].sum(), rows.sum()], rtol=1e-12)
