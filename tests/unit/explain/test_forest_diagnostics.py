"""The figures are those of theory/forests.py on out-of-bag answers, and the words say when a bound is vacuous."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from committee import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from committee.datasets import load_dataset
from committee.explain.forest_diagnostics import forest_diagnostics


def unseen_predictions(forest: Any, X: Any) -> np.ndarray:
    predictions = forest.member_predictions(X).copy()
    for t in range(len(forest)):
        seen = np.setdiff1d(np.arange(len(X)), forest.oob_indices(t))
        predictions[t, seen] = np.nan
    return predictions


@pytest.mark.parametrize("min_samples_leaf", [1, 5])
def test_figures_of_a_classifier_by_hand(min_samples_leaf: int):
    X, y = load_dataset("sonar")[:2]
    forest = RandomForestClassifier(40, random_state=0, min_samples_leaf=min_samples_leaf).fit(X, y)
    result = forest_diagnostics(forest, X, y)
    predictions, codes = unseen_predictions(forest, X), np.searchsorted(forest.classes_, y)
    is_right = np.where(np.isnan(predictions[:, :, 0]), np.nan, np.nan_to_num(predictions).argmax(axis=2) == codes)
    margin = 2.0 * np.nanmean(is_right, axis=0) - 1.0
    assert result.strength is not None
    assert result.strength.strength == pytest.approx(margin.mean())
    p = np.nanmean(is_right, axis=1)
    deviation = np.mean(np.sqrt(1.0 - (2.0 * p - 1.0) ** 2))
    assert result.strength.correlation == pytest.approx(margin.var() / deviation**2)
    error = predictions[:, np.arange(len(codes)), codes] - 1.0
    m = np.sum(~np.isnan(error), axis=0)
    variance = np.mean(np.nansum(error**2, axis=0) / m)
    shared = np.mean((np.nansum(error, axis=0) ** 2 - np.nansum(error**2, axis=0)) / (m * (m - 1)))
    assert result.variance.variance == pytest.approx(variance)
    assert result.variance.shared == pytest.approx(shared)
    mean = np.nanmean(predictions, axis=0)
    entropy = -np.sum(mean * np.log(np.where(mean > 0, mean, 1)), axis=1)
    np.testing.assert_allclose(result.uncertainty.total, entropy, atol=1e-12)
    assert (result.n_trees, result.oob_error) == (40, forest.oob_error_)
    assert ("fully grown trees" in str(result)) == (min_samples_leaf == 1)


def test_figures_of_a_regressor_by_hand():
    X, y = load_dataset("ozone")[:2]
    forest = RandomForestRegressor(60, random_state=0, min_samples_leaf=4).fit(X, y)
    result = forest_diagnostics(forest, X, y)
    predictions = unseen_predictions(forest, X)[:, :, 0]
    assert result.strength is None
    np.testing.assert_allclose(result.uncertainty.epistemic, np.nanvar(predictions, axis=0), rtol=1e-9)
    leaf = np.stack([tree.impurity[forest.apply(X)[:, t]] for t, tree in enumerate(forest.trees_)])
    noise = np.nanmean(np.where(np.isnan(predictions), np.nan, leaf), axis=0)
    np.testing.assert_allclose(result.uncertainty.aleatoric, noise, rtol=1e-9)
    # a mean of about 22 unseen trees has the error of 22 trees, the forest that of 60
    mse = np.mean((np.nanmean(predictions, axis=0) - y) ** 2)
    assert result.variance.with_members(22) == pytest.approx(mse, rel=0.02)
    assert "strength" not in str(result)
    assert "(variance)" in str(result)


def test_more_trees_help_a_small_forest_and_not_a_large_one():
    X, y = load_dataset("ozone")[:2]
    few = forest_diagnostics(RandomForestRegressor(10, random_state=0).fit(X, y), X, y)
    many = forest_diagnostics(RandomForestRegressor(400, random_state=0).fit(X, y), X, y)
    assert few.more_trees_help
    assert "more trees would help:" in str(few)
    assert not many.more_trees_help
    assert "more trees would hardly help:" in str(many)
    # what 10 trees promise for 400 is what 400 have, within the noise of ten trees
    assert few.variance.with_members(400) == pytest.approx(many.variance.of_average, rel=0.15)


def test_the_bound_of_breiman_says_when_it_is_vacuous():
    X, y = make_classification(200, 10, n_informative=2, flip_y=0.5, random_state=0)
    weak = forest_diagnostics(RandomForestClassifier(50, random_state=0).fit(X, y), X, y)
    assert weak.strength is not None
    assert weak.strength.is_vacuous
    assert "is vacuous" in str(weak)
    X, y = make_classification(300, 10, n_informative=5, class_sep=3.0, flip_y=0.0, random_state=0)
    strong = forest_diagnostics(RandomForestClassifier(50, random_state=0).fit(X, y), X, y)
    assert strong.strength is not None
    assert not strong.strength.is_vacuous
    assert strong.oob_error <= strong.strength.bound


def test_some_rows_stand_for_many_and_those_without_weight_do_not_count():
    X, y = load_dataset("sonar")[:2]
    weight = np.ones(len(y))
    weight[:50] = 0.0
    forest = RandomForestClassifier(20, random_state=0).fit(X, y, sample_weight=weight)
    result = forest_diagnostics(forest, X, y)
    assert result.rows.tolist() == list(range(50, 208))
    some = forest_diagnostics(forest, X, y, max_rows=40)
    assert some.rows.size == 40
    np.testing.assert_allclose(some.uncertainty.total, result.uncertainty.total[np.isin(result.rows, some.rows)])


def test_bad_arguments_are_rejected():
    X, y = load_dataset("sonar")[:2]
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not the 208 rows"):
        forest_diagnostics(forest, X[:100], y[:100])
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        forest_diagnostics(forest, X, y, max_rows=0)
    with pytest.raises(ValueError, match="bootstrap=True"):
        forest_diagnostics(ExtraTreesClassifier(5).fit(X, y), X, y)
