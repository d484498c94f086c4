"""Intervals from out-of-bag errors: order statistics, weights, what few errors can promise."""

from __future__ import annotations

import numpy as np
import pytest

from committee.calibration.prediction_intervals import Residuals, n_errors_needed


def test_ends_are_order_statistics():
    errors = np.random.default_rng(0).normal(size=199)
    ends = Residuals.of(errors, np.ones(199)).ends(0.9)
    np.testing.assert_array_equal(ends, np.sort(errors)[[9, 189]])  # the 10th from either end: 200 * 0.05
    np.testing.assert_array_equal(Residuals.of(errors[:5], np.ones(5)).ends(0.99), np.sort(errors[:5])[[0, 4]])


def test_an_error_of_weight_three_counts_as_three():
    rng = np.random.default_rng(0)
    errors, weight = rng.normal(size=80), rng.integers(1, 4, 80)
    repeated = np.repeat(errors, weight)
    for coverage in (0.5, 0.8, 0.9, 0.95):
        expected = Residuals.of(repeated, np.ones(repeated.size)).ends(coverage)
        np.testing.assert_array_equal(Residuals.of(errors, weight.astype(float)).ends(coverage), expected)


def test_shares_as_weights_get_the_mean_one():
    errors, weight = np.random.default_rng(0).normal(size=80), np.full(80, 1.0 / 80.0)
    np.testing.assert_array_equal(Residuals.of(errors, weight).ends(0.9), Residuals.of(errors, np.ones(80)).ends(0.9))


def test_heavy_errors_decide():
    """Ten of a hundred errors are large and have nine tenths of the weight."""
    errors = np.concatenate([np.full(90, 0.1), np.arange(1.0, 11.0)])
    light, heavy = np.ones(100), np.concatenate([np.full(90, 0.01), np.full(10, 0.81)])
    assert Residuals.of(errors, light).ends(0.5)[1] == 0.1
    assert Residuals.of(errors, heavy).ends(0.5)[1] > 5.0


def test_few_errors_promise_less_than_was_requested():
    """The share of exchangeable errors between the ends, of all places where a new one may fall among them."""
    for n in (2, 5, 12, 18, 19, 38, 39, 60):
        for coverage in (0.5, 0.8, 0.9, 0.95):
            inside = []
            for new in range(n + 1):
                residuals = Residuals.of(np.delete(np.arange(n + 1.0), new), np.ones(n))
                low, high = residuals.ends(coverage)
                inside.append(low <= new <= high)
            residuals = Residuals.of(np.arange(float(n)), np.ones(n))
            is_enough = n >= n_errors_needed(coverage)
            assert (np.mean(inside) >= coverage - 1e-12) == is_enough
            assert residuals.guaranteed_coverage(coverage) == pytest.approx(coverage if is_enough else np.mean(inside))
            assert (residuals.few_residuals_warning(coverage) == "") == is_enough
