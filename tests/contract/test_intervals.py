"""Every regressor of the library has calibrated intervals and quantiles under one signature."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit

import committee as c
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals
from committee.catalog import CATALOG
from committee.members.numeric_pipeline import NumericPipelineRegressor
from committee.storage import ModelFileError, load_model, save_model

N, N_NEW = 300, 2000
LEVELS = (0.5, 0.8, 0.9)
CHANCE = np.sqrt(0.25 * (1.0 / N + 1.0 / N_NEW))  # largest standard error of the coverage, over rows and residuals


def members() -> list[tuple[str, Any]]:
    """Of a vote or a stack: such that a model file can hold."""
    return [("tree", c.DecisionTreeRegressor(max_depth=5)), ("line", Ridge()), ("svm", c.SVR())]


ALREADY: dict[str, Callable[[], Any]] = {
    "bagging": lambda: c.BaggingRegressor(n_estimators=30, random_state=0),
    "forest": lambda: c.RandomForestRegressor(40, random_state=0),
    "extra trees of samples": lambda: c.ExtraTreesRegressor(40, max_samples=0.7, random_state=0),
    "gradient boosting by folds": lambda: c.GradientBoostingRegressor(random_state=0),
    "gradient boosting, held-out rows": lambda: c.GradientBoostingRegressor(
        early_stopping=True, validation_fraction=0.5, random_state=0
    ),
    "quantile boosting": lambda: c.GradientBoostingRegressor(
        "quantile", quantile=[0.05, 0.25, 0.5, 0.75, 0.95], n_estimators=40, early_stopping="cv", random_state=0
    ),
    "stacking": lambda: c.StackingRegressor(members()),
    "stacking on the simplex": lambda: c.StackingRegressor(members(), "simplex", passthrough=False),
    "voting by folds": lambda: c.VotingRegressor(members(), cv=5),
    "ridge": lambda: c.RidgeCV(),
    "committee": lambda: c.CommitteeRegressor(
        members=["gradient boosting", "random forest", "linear model"], random_state=0
    ),
    "forest on numbers": lambda: NumericPipelineRegressor(c.RandomForestRegressor(30, random_state=0)),
}
"""Their fit predicts rows that it did not learn from."""

TO_CALIBRATE: dict[str, Callable[[], Any]] = {
    "tree": lambda: c.DecisionTreeRegressor(max_depth=4),
    "extra trees": lambda: c.ExtraTreesRegressor(20, random_state=0),
    "AdaBoost.R2": lambda: c.AdaBoostRegressor(n_estimators=10, random_state=0),
    "stagewise": lambda: c.StagewiseRegressor(n_estimators=20),
    "gradient boosting of fixed rounds": lambda: c.GradientBoostingRegressor(n_estimators=20),
    "SVR": lambda: c.SVR(),
    "NuSVR": lambda: c.NuSVR(),
    "LinearSVR": lambda: c.LinearSVR(),
    "NystroemSVR": lambda: c.NystroemSVR(),
    "mixture of experts": lambda: c.MixtureOfExpertsRegressor(n_experts=2, random_state=0),
    "hierarchical mixture": lambda: c.HierarchicalMixtureOfExpertsRegressor(random_state=0),
    "sparsely gated mixture": lambda: c.SparselyGatedMixtureRegressor(random_state=0, max_iter=20),
    "online bagging": lambda: c.OnlineBaggingRegressor(random_state=0),
    "voting": lambda: c.VotingRegressor(members()),
    "ridge on numbers": lambda: NumericPipelineRegressor(Ridge()),
}
EVERY = {**ALREADY, **TO_CALIBRATE}

each_regressor = pytest.mark.parametrize("name", EVERY)
each_to_calibrate = pytest.mark.parametrize("name", TO_CALIBRATE)


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * rng.normal(size=n)


X, Y = rows(N, 0)
NEW, TRUTH = rows(N_NEW, 1)


@cache
def fitted(name: str) -> Any:
    model = EVERY[name]().fit(X, Y)
    return model if name in ALREADY else model.calibrate_intervals(X, Y, cv=3)


def covered(model: Any, level: float) -> float:
    low, high = model.predict_interval(NEW, level).T
    return float(np.mean((low <= TRUTH) & (TRUTH <= high)))


def test_every_regressor_of_the_catalogue_is_here() -> None:
    known = {type(make()).__name__ for make in EVERY.values()}
    listed = {entry.name for entry in CATALOG if entry.name.endswith(("Regressor", "SVR"))}
    assert listed <= known
    for name in listed:
        kind = getattr(c, name, NumericPipelineRegressor)
        assert issubclass(kind, PredictionIntervals)
        assert list(inspect.signature(kind.predict_interval).parameters) == ["self", "X", "level"]
        assert inspect.signature(kind.predict_interval).parameters["level"].default == 0.9
        assert list(inspect.signature(kind.predict_quantiles).parameters)[:3] == ["self", "X", "quantiles"]


@each_regressor
def test_intervals_cover_new_rows_as_often_as_they_say(name: str) -> None:
    model = fitted(name)
    for level in LEVELS:
        assert covered(model, level) == pytest.approx(level, abs=4.0 * CHANCE)


@each_regressor
def test_intervals_hold_those_of_lower_levels_and_quantiles_are_their_ends(name: str) -> None:
    model = fitted(name)
    ends = [model.predict_interval(NEW[:50], level) for level in (0.3, 0.5, 0.8, 0.9, 0.95)]
    assert all(each.shape == (50, 2) and np.all(np.isfinite(each)) for each in ends)
    assert all(np.all(each[:, 0] <= each[:, 1]) for each in ends)
    for inner, outer in pairwise(ends):
        assert np.all((outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1]))
    quantiles = model.predict_quantiles(NEW[:50], [0.05, 0.25, 0.5, 0.75, 0.95])
    assert quantiles.shape == (50, 5)
    assert np.all(np.diff(quantiles, axis=1) >= 0.0)
    np.testing.assert_allclose(quantiles[:, [0, 4]], ends[3])
    middle = np.median(model.predict(NEW[:50]).reshape(50, -1), axis=1)
    assert np.all((ends[4][:, 0] <= middle) & (middle <= ends[4][:, 1]))


@each_regressor
def test_residuals_survive_pickles_and_files(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    expected = model.predict_interval(NEW[:20], 0.8)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(NEW[:20], 0.8), expected)
    for file, is_small in (("model", False), ("small", True)):
        save_model(model, tmp_path / file, prediction_only=is_small)
        np.testing.assert_array_equal(load_model(tmp_path / file).predict_interval(NEW[:20], 0.8), expected)


@pytest.mark.parametrize("n_each", [np.ones(2), np.array([1.0, np.nan, 1.0]), np.array([1.0, -1.0, 1.0])])
def test_damaged_residuals_are_rejected(n_each: np.ndarray, tmp_path: Path) -> None:
    model = c.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    model._calibration_residuals = (Residuals(np.arange(3.0), n_each),)
    with pytest.raises(ModelFileError, match="residuals for intervals"):  # a file is read once before it is kept
        save_model(model, tmp_path / "model")


@each_to_calibrate
def test_without_a_calibration_the_error_says_what_to_write(name: str) -> None:
    model = EVERY[name]()
    with pytest.raises(NotFittedError):
        model.predict_interval(NEW)
    with pytest.raises(NotFittedError):
        model.calibrate_intervals(X, Y)
    model.fit(X, Y)
    for ask in (model.predict_interval, model.predict_quantiles):
        with pytest.raises(NotFittedError, match=r"model\.calibrate_intervals"):
            ask(NEW)


# --- calibration ------------------------------------------------------------------------------------------------------


def test_held_out_rows_calibrate_without_a_fit() -> None:
    model = c.DecisionTreeRegressor(max_depth=3).fit(X[:150], Y[:150])
    before = model.predict(NEW)
    model.calibrate_intervals(X[150:], Y[150:], cv="prefit")
    np.testing.assert_array_equal(model.predict(NEW), before)
    errors = np.sort(Y[150:] - model.predict(X[150:]))
    expected = before[:5, np.newaxis] + errors[[7 - 1, 150 - 7]]  # floor(151 * 0.05) from either end
    np.testing.assert_allclose(model.predict_interval(NEW[:5], 0.9), expected)


def test_folds_are_the_users() -> None:
    model = c.DecisionTreeRegressor(max_depth=3).fit(X, Y)
    model.calibrate_intervals(X, Y, cv=TimeSeriesSplit(3))
    assert model.interval_residuals()[0].value.size == 225  # the first quarter is tested by no split
    groups = np.repeat(np.arange(30), 10)
    model.calibrate_intervals(pd.DataFrame(X, columns=["a", "b", "c"]), Y, cv=3, groups=groups)
    assert model.interval_residuals()[0].value.size == N


def test_weights_count_in_fits_and_residuals() -> None:
    weight = np.resize([1.0, 2.0, 3.0], N)
    model = c.DecisionTreeRegressor(max_depth=3).fit(X, Y, weight)
    result = model.calibrate_intervals(X, Y, cv="prefit", sample_weight=weight).interval_residuals()[0]
    repeated = np.repeat(np.arange(N), weight.astype(int))
    expected = Residuals.of((Y - model.predict(X))[repeated], np.ones(repeated.size))
    for level in (0.5, 0.9):
        np.testing.assert_array_equal(result.ends(level), expected.ends(level))
    without = np.where(np.arange(N) < 20, 0.0, 1.0)
    assert model.calibrate_intervals(X, Y, sample_weight=without).interval_residuals()[0].value.size == N - 20


def test_the_next_fit_drops_a_calibration_and_a_failed_one_does_not() -> None:
    model = c.SVR().fit(X, Y).calibrate_intervals(X, Y, cv=2)
    expected = model.predict_interval(NEW[:5])
    with pytest.raises(ValueError, match="y"):
        model.fit(X, Y[:-1])
    np.testing.assert_array_equal(model.predict_interval(NEW[:5]), expected)
    assert not hasattr(clone(model), "_calibration_residuals")
    with pytest.raises(NotFittedError, match="calibrate_intervals"):
        model.fit(X, Y).predict_interval(NEW)


def test_a_stream_drops_the_calibration_of_what_it_was() -> None:
    model = c.OnlineBaggingRegressor(random_state=0).fit(X, Y).calibrate_intervals(X, Y, cv=2)
    with pytest.raises(NotFittedError, match="calibrate_intervals"):
        model.partial_fit(X[:5], Y[:5]).predict_interval(NEW)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cv": "none"}, "cv must be a number of folds"),
        ({"cv": 1}, "two folds"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"cv": [(np.arange(10), np.arange(0))]}, "no test rows"),
    ],
)
def test_bad_calibrations_are_rejected(given: dict[str, Any], words: str) -> None:
    model = c.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        model.calibrate_intervals(X, Y, **given)
    with pytest.raises(ValueError, match="two rows at least"):
        model.calibrate_intervals(X[:1], Y[:1], cv="prefit")
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.calibrate_intervals(X, Y, cv=2).predict_interval(X, 90)


def test_few_residuals_give_the_widest_interval_and_a_warning() -> None:
    model = c.DecisionTreeRegressor(max_depth=2).fit(X, Y).calibrate_intervals(X[:12], Y[:12], cv="prefit")
    errors = Y[:12] - model.predict(X[:12])
    with pytest.warns(UserWarning, match="95 % intervals need the residuals of 39 rows"):
        ends = model.predict_interval(NEW[:3], 0.95)
    np.testing.assert_allclose(ends - model.predict(NEW[:3])[:, np.newaxis], [[errors.min(), errors.max()]] * 3)


def test_a_constant_target_has_intervals_of_no_width() -> None:
    model = c.DecisionTreeRegressor().fit(X, np.full(N, 3.0)).calibrate_intervals(X, np.full(N, 3.0))
    np.testing.assert_array_equal(model.predict_interval(NEW[:4]), np.full((4, 2), 3.0))


def test_several_targets_have_no_interval() -> None:
    both = np.column_stack([Y, Y])
    with pytest.raises(ValueError, match=r"several targets.*output_forests_"):
        c.RandomForestRegressor(5).fit(X, both).predict_interval(X)
    with pytest.raises(ValueError, match="outputs"):
        NumericPipelineRegressor(Ridge()).fit(X, both).calibrate_intervals(X, both)


def test_fitted_quantiles_alone_give_their_own_levels_only() -> None:
    model = c.GradientBoostingRegressor("quantile", quantile=[0.05, 0.5, 0.95], n_estimators=10).fit(X, Y)
    np.testing.assert_array_equal(model.predict_interval(X, 0.9), model.predict(X)[:, [0, 2]])
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.95, 0.5]), model.predict(X)[:, [2, 1]])
    with pytest.raises(NotFittedError, match=r"its fitted quantiles \[0\.05, 0\.5, 0\.95\]"):
        model.predict_interval(X, 0.8)
    model.calibrate_intervals(X, Y)
    assert covered(model, 0.8) == pytest.approx(0.8, abs=4.0 * CHANCE)


def test_residuals_measured_elsewhere_can_be_given() -> None:
    model = c.SVR().fit(X, Y).set_interval_residuals([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(model.predict_interval(X, 0.5) - model.predict(X)[:, np.newaxis], [[-1.0, 2.0]] * N)
    with pytest.raises(ValueError, match="two finite residuals"):
        model.set_interval_residuals([1.0, np.nan])
