"""The held-out loss is that of a model fitted on fewer rows: what the model of all rows gains is estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from committee import GradientBoostingRegressor
from committee.datasets import friedman1
from committee.evaluation._final_fits import LearningCurve, extrapolation
from committee.evaluation.comparison import Comparison, compare

FITTED: list[Any] = []


class Improving(RegressorMixin, BaseEstimator):
    """Its mean squared error on n training rows is 100 / n above that of the noise."""

    def fit(self, X: Any, y: Any) -> Improving:
        FITTED.append(X[:, 2].astype(int))
        self.scale_ = 10.0 / np.sqrt(len(X))
        return self

    def predict(self, X: Any) -> Any:
        return X[:, 0] + self.scale_ * X[:, 1]


def table(n: int = 1000, noise: float = 0.1) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 2)), np.arange(n)])
    X[:, 1] = np.sign(X[:, 1])
    return X, X[:, 0] + noise * rng.normal(size=n)


def curve_of(found: Comparison) -> LearningCurve:
    assert found.learning_curve is not None
    return found.learning_curve


def improving(**options: Any) -> Comparison:
    FITTED.clear()
    X, y = table()
    return compare(X, y, methods={"improving": Improving()}, metric="mse", task="regression", **options)[0]


def test_gain_of_more_rows_is_extrapolated():
    found = improving()
    curve = curve_of(found)
    assert curve.n_rows == (400, 800, 1000)
    assert curve.losses == pytest.approx((0.01 + 100 / 400, 0.01 + 100 / 800), rel=0.1)
    assert curve.losses[1] == found.held_out_losses["mse"]
    assert curve.gain == pytest.approx(100 / 800 - 100 / 1000, abs=2.0 * curve.gain_se)
    assert curve.gain_se < 0.2 * curve.gain
    assert "fitted on 800 rows" in found.learning_curve_note
    assert "all 1,000" in found.learning_curve_note


def test_extrapolation_of_power_laws():
    for exponent in (0.25, 0.5, 1.0):
        half, n, everything = (m**-exponent for m in (400, 800, 1000))
        assert extrapolation(800, 1000, exponent) * (half - n) == pytest.approx(n - everything)


def test_reported_figure_with_the_gain_is_that_of_the_model_of_all_rows():
    before, after = list[float](), list[float]()
    simulation = friedman1()
    test = simulation.draw(4000, np.random.default_rng(99))
    for seed in range(8):
        X, y = simulation.sample(200, np.random.default_rng(seed))
        method = {"boosting": GradientBoostingRegressor(n_estimators=60, early_stopping=False, learning_rate=0.1)}
        found, model = compare(X, y, methods=method, metric="mse", random_state=seed, time=None, groups=None)
        true = 1.0 + float(np.mean((model.predict(test.X) - test.truth) ** 2))
        before.append(found.held_out_losses["mse"] - true)
        after.append(before[-1] - curve_of(found).gain)
    error = np.std(after, ddof=1) / np.sqrt(8)
    assert np.mean(before) > 0.3  # by about a tenth of the loss
    assert abs(np.mean(after)) < min(2.0 * error, abs(np.mean(before)))


def test_half_of_the_groups_and_nothing_forward_in_time():
    groups = np.repeat(np.arange(100), 10)
    assert improving(groups=groups).learning_curve is not None
    half = set(groups[FITTED[-1]])
    assert len(half) == 40
    assert all(np.isin(np.flatnonzero(groups == group), FITTED[-1]).all() for group in half)
    assert improving(time=np.arange(1000)).learning_curve is None


@pytest.mark.parametrize("options", [{"test_size": 0.0}, {"metric": "r2"}])
def test_nothing_is_estimated_without_held_out_rows_or_for_other_metrics(options: dict[str, Any]):
    X, y = table()
    assert compare(X, y, methods={"improving": Improving()}, **options)[0].learning_curve is None


def test_small_and_uncertain_gains_are_not_mentioned():
    curve = LearningCurve((400, 800, 1000), (0.3, 0.2), 0.1, 0.02)
    assert curve.is_notable(held_out_se=0.15)
    assert not curve.is_notable(held_out_se=0.25)
    assert not curve._replace(gain_se=0.06).is_notable(held_out_se=0.15)


def test_weights_count_in_the_gain():
    X, y = table()
    weight = np.random.default_rng(1).integers(1, 4, len(y))

    class Weighted(Improving):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Weighted:
            super().fit(X, y)
            self.scale_ = 10.0 / np.sqrt(len(X)) * (1.0 + (sample_weight is None))
            return self

    found = compare(X, y, methods={"weighted": Weighted()}, metric="mse", sample_weight=weight)[0]
    assert curve_of(found).losses[0] == pytest.approx(0.01 + 100 / 400, rel=0.1)
