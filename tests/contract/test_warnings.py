"""A warning of a fit points at the line of the user, however deep in the library it was given."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import committee as c

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
ONES = np.ones((60, 3))
LABELS = np.resize([0, 1], 60)
VALUES = RNG.normal(size=60)

CASES = [
    pytest.param(c.AdaBoostClassifier(), ONES, LABELS, "no better than chance", id="AdaBoost"),
    pytest.param(c.AdaBoostThetaClassifier(theta=0.1), ONES, LABELS, "margin target", id="theta"),
    pytest.param(c.AdaBoostRegressor(), X, np.ones(60), "member is perfect", id="AdaBoost.R2"),
    pytest.param(c.SchapireBoostClassifier(), ONES, LABELS, "No boosting took place", id="Schapire"),
    pytest.param(c.LPBoostClassifier(nu=0.02), ONES, LABELS, "they leave no margin", id="LPBoost"),
    pytest.param(c.GradientBoostingClassifier(n_estimators=3), ONES, LABELS, "no split", id="gradient boosting"),
    pytest.param(c.RandomForestRegressor(1, oob_score=True), X, VALUES, "in the sample of every tree", id="forest"),
    pytest.param(c.BaggingRegressor(n_estimators=1, oob_score=True), X, VALUES, "in the sample of every", id="bagging"),
    pytest.param(c.MixtureOfExpertsRegressor(max_iter=1), X, VALUES, "max_iter", id="mixture"),
    pytest.param(c.SparselyGatedMixtureRegressor(top_k=1, max_iter=1), X, VALUES, "top_k=1", id="sparse gates"),
]  # fmt: skip


def assert_points_here(given: list[warnings.WarningMessage], text: str) -> None:
    assert [one.filename for one in given if text in str(one.message)] == [__file__]


@pytest.mark.parametrize(("model", "table", "target", "text"), CASES)
def test_a_warning_of_a_fit_points_at_the_fit(model: Any, table: Any, target: Any, text: str) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model.fit(table, target)
    assert_points_here(given, text)


def test_a_warning_of_predict_points_at_the_caller() -> None:
    few = c.BaggingRegressor(n_estimators=30, random_state=0).fit(X[:12], VALUES[:12])
    known = c.DecisionTreeRegressor().fit(pd.DataFrame({"c": pd.Categorical(["a", "b"])}), [0.0, 1.0])
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        few.predict_interval(X, 0.95)
        known.predict(pd.DataFrame({"c": pd.Categorical([1, 2])}))
    assert_points_here(given, "95 % intervals need")
    assert_points_here(given, "all count as missing")
