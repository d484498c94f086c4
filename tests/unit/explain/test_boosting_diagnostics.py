"""The figures of `boosting_diagnostics` against the functions they come from, and their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from committee import (
    AdaBoostClassifier,
    ArcGVClassifier,
    DecisionTreeClassifier,
    LPBoostClassifier,
    boosting_diagnostics,
)
from committee.datasets import load_dataset
from committee.theory.bounds import rounds_to_zero_error, tree_vc_dimension
from committee.theory.minmax import minmax_over_stumps


@pytest.mark.slow
def test_figures_are_those_of_the_fit():
    sonar = load_dataset("sonar")
    model = AdaBoostClassifier(n_estimators=60).fit(sonar.X, sonar.y)
    result = boosting_diagnostics(model, sonar.X, sonar.y)
    margins = model.margins(sonar.X, sonar.y)
    signs = np.where(np.asarray(sonar.y) == model.classes_[1], 1, -1)
    assert result.n_members == 60
    assert result.train_error == pytest.approx(model.history_.train_error[-1])
    assert result.exponential_risk == model.history_.exponential_risk[-1]
    assert result.min_margin == margins.min()
    assert result.best_of_stumps == pytest.approx(minmax_over_stumps(sonar.X, signs).value, abs=1e-9)
    assert result.min_margin <= result.best_of_members <= result.best_of_stumps + 1e-9
    assert result.distance == pytest.approx(result.best_of_stumps - margins.min(), abs=1e-9)
    assert result.vc.is_vacuous
    assert result.margin.is_vacuous
    assert "vacuous" in str(result)


def test_many_rows_make_the_bounds_mean_something():
    rng = np.random.default_rng(0)
    X = rng.random((40_000, 2))
    y = (X[:, 0] > 0.3).astype(int)
    y[:200] = 1 - y[:200]
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    result = boosting_diagnostics(model, X, y)
    assert not result.vc.is_vacuous
    assert result.vc.value < 0.2
    assert np.isnan(result.best_of_stumps)  # too many for the linear program
    assert "vacuous" not in str(result).splitlines()[-2]


@pytest.mark.slow
def test_other_boosters_and_refusals():
    sonar, glass = load_dataset("sonar"), load_dataset("glass")
    model = LPBoostClassifier(nu=0.3, n_estimators=40).fit(sonar.X, sonar.y)
    assert str(boosting_diagnostics(model, sonar.X, sonar.y)).startswith(f"{len(model)} members")
    many = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(glass.X, glass.y)
    with pytest.raises(ValueError, match="two classes"):
        boosting_diagnostics(many, glass.X, glass.y)


def test_early_stopping_reads_the_round_that_was_kept():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=300) > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=200, early_stopping="validation", random_state=0).fit(X, y)
    n = len(model)
    assert n < model.history_.n_rounds
    result = boosting_diagnostics(model, X, y)
    assert result.exponential_risk == model.history_.exponential_risk[n - 1]
    assert result.train_error == model.history_.train_error[n - 1] <= result.exponential_risk


def test_weights_of_the_fit_weigh_the_error_as_they_weigh_its_bound():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    y[:60] = rng.integers(0, 2, 60)
    weight = np.where(np.arange(200) < 60, 1e-3, 1.0)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y, sample_weight=weight)
    result = boosting_diagnostics(model, X, y)
    wrong = model.predict(X) != y
    assert result.train_error == pytest.approx(np.average(wrong, weights=weight), abs=1e-12)
    assert result.train_error <= result.exponential_risk < np.mean(wrong)
    smallest = rounds_to_zero_error(0.5 * model.history_.edge.min(), weight.min() / weight.sum())
    assert result.rounds_to_zero == pytest.approx(smallest, abs=1)


@pytest.mark.parametrize(
    "model", [AdaBoostClassifier(n_estimators=30, learning_rate=0.01), ArcGVClassifier(n_estimators=30)]
)
def test_no_promise_where_the_theorem_does_not_apply(model: Any):
    sonar = load_dataset("sonar")
    result = boosting_diagnostics(model.fit(sonar.X, sonar.y), sonar.X, sonar.y)
    assert np.isnan(result.rounds_to_zero) == (not np.all(np.isfinite(model.history_.edge_bound)))
    assert ("error is zero after" in str(result)) == np.isfinite(result.rounds_to_zero)


def test_the_dimension_is_that_of_the_members():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 2))
    y = ((X[:, 0] > 0.3) ^ (X[:, 1] > 0.6)).astype(int) ^ (rng.random(20_000) < 0.05)
    stumps = boosting_diagnostics(AdaBoostClassifier(n_estimators=3).fit(X, y), X, y)
    trees = AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=8), n_estimators=3).fit(X, y)
    result = boosting_diagnostics(trees, X, y)
    assert result.vc.penalty > stumps.vc.penalty
    again = boosting_diagnostics(trees, X, y, base_dimension=tree_vc_dimension(2, 8))
    assert result.vc == again.vc
    few, sign = X[:200], y[:200] ^ (X[:200, 0] > 0.5)
    foreign = AdaBoostClassifier(LogisticRegression(), n_estimators=3).fit(few, sign)
    unknown = boosting_diagnostics(foreign, few, sign)
    assert np.isnan(unknown.vc.value)
    assert str(unknown).count("pass base_dimension") == 2
