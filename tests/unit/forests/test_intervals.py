"""Intervals and calibrated quantiles of forests: ranks by their definition, coverage, weights."""

from __future__ import annotations

import numpy as np
import pytest

from committee import ExtraTreesRegressor, RandomForestRegressor
from committee.forests._quantiles import QuantileCalibration, RankTally


def rows(n: int = 300, seed: int = 0, n_values: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A target whose spread depends on the row; rounded to `n_values` values if there should be few."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    y = 3.0 * X[:, 0] + (0.2 + X[:, 1]) * rng.normal(size=n)
    return X, np.round(y * n_values / 8) if n_values else y


def covered(y: np.ndarray, ends: np.ndarray) -> float:
    return float(np.mean((ends[:, 0] <= y) & (y <= ends[:, -1])))


# --- intervals --------------------------------------------------------------------------------------------------------


def test_few_rows_out_of_bag_are_said():
    X, y = rows(12)
    forest = RandomForestRegressor(50, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="95 % intervals need the residuals of 39 rows.* 84.6 % only"):
        ends = forest.predict_interval(X, 0.95)
    errors = y - forest.oob_prediction_
    np.testing.assert_allclose(ends, forest.predict(X)[:, np.newaxis] + [errors.min(), errors.max()])
    assert forest.predict_interval(X, 0.8).shape == (12, 2)  # without a word
    assert ExtraTreesRegressor(5).fit(X, y).interval_residuals() == ()


# --- calibrated quantiles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_values", [0, 6])
def test_ranks_are_fractions_of_the_leaves_out_of_bag(n_values: int):
    X, y = rows(80, n_values=n_values)
    forest = RandomForestRegressor(15, min_samples_leaf=4, keep_leaf_samples=True, random_state=0).fit(X, y)
    leaves, samples = forest.apply(X), forest.leaf_samples_
    tally = RankTally(y)
    below, upto = np.full((2, 80), np.nan)
    for i in range(80):
        of_trees = []
        for t in range(15):
            if samples.counts[t][i] == 0:
                same = (samples.leaves[t] == leaves[i, t]) & (samples.counts[t] > 0)
                count = np.where(same, samples.counts[t], 0.0)
                of_trees.append([count[y < y[i]].sum() / count.sum(), count[y <= y[i]].sum() / count.sum()])
        if of_trees:
            below[i], upto[i] = np.mean(of_trees, axis=0)
    for t in range(15):
        unseen = forest.oob_indices(t)
        tally.add(samples.leaves[t], samples.counts[t], unseen, leaves[unseen, t])
    np.testing.assert_allclose(tally.ranks, [below, upto], atol=1e-12)
    expected = QuantileCalibration.by_ranks(np.array([below, upto]), np.ones(80))
    levels = np.array([0.05, 0.3, 0.5, 0.7, 0.95])
    np.testing.assert_allclose(
        forest.predict_quantiles(X, levels, "oob"), forest.predict_quantiles(X, expected.levels(levels), None)
    )


def test_true_distributions_keep_their_levels():
    ranks = np.random.default_rng(0).random(20000)
    calibrated = QuantileCalibration.by_ranks(np.array([ranks, ranks]), np.ones(20000))
    levels = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(calibrated.levels(levels), levels, atol=0.015)  # four standard errors


def test_levels_rise_even_for_two_values():
    u, v = np.zeros(100), np.full(100, 0.9)  # every row is at the lower of two values
    levels = QuantileCalibration.by_ranks(np.array([u, v]), np.ones(100)).levels(np.linspace(0.01, 0.99, 50))
    assert np.all(np.diff(levels) >= 0.0)
    assert np.all((levels > 0.0) & (levels < 1.0))


@pytest.mark.parametrize("n_values", [0, 7], ids=["continuous", "seven values"])
def test_calibrated_quantiles_cover_what_they_say(n_values: int):
    """Plain ones are too wide; 2,000 test rows, standard error 0.9 points and as much from the training rows."""
    X, y = rows(1500, 1, n_values)
    new, y_new = rows(2000, 2, n_values)
    forest = RandomForestRegressor(100, keep_leaf_samples=True, random_state=0).fit(X, y)
    plain, calibrated = (forest.predict_quantiles(new, [0.1, 0.5, 0.9], calibration) for calibration in (None, "oob"))
    assert np.all(np.diff(calibrated, axis=1) >= 0.0)
    assert covered(y_new, calibrated) == pytest.approx(0.8, abs=0.035)
    if n_values:
        assert covered(y_new, plain) > 0.85


def test_calibration_needs_rows_out_of_bag():
    X, y = rows(60)
    for forest in (
        ExtraTreesRegressor(5, keep_leaf_samples=True),
        RandomForestRegressor(5, keep_leaf_samples=True, oob_score=False),
    ):
        with pytest.raises(ValueError, match="calibration='oob' needs out-of-bag rows"):
            forest.fit(X, y).predict_quantiles(X, calibration="oob")
    known = RandomForestRegressor(5, keep_leaf_samples=True).fit(X, y)
    with pytest.raises(ValueError, match="calibration must be 'auto', 'oob' or None, got 'cv'"):
        known.predict_quantiles(X, calibration="cv")  # type: ignore[arg-type]
    np.testing.assert_array_equal(known.predict_quantiles(X), known.predict_quantiles(X, calibration="oob"))
    known.set_params(oob_score=False).fit(X, y)
    np.testing.assert_array_equal(known.predict_quantiles(X), known.predict_quantiles(X, calibration=None))
    with pytest.raises(ValueError, match="needs out-of-bag rows"):
        known.predict_quantiles(X, calibration="oob")
