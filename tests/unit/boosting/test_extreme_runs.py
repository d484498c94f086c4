"""Boosting at the ends of float64: steps, margin targets and weights that are too large or too small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import committee
from committee import AdaBoostClassifier
from tests.bad_input import (
    LABELS,
    N,
    X,
    nan,
    table,
)
from tests.catalog import among, every, except_for, make, target_of


@pytest.mark.parametrize("thetas", [[], [0.0, 1.0], [nan], [-2.0]])
def test_bad_candidates_of_theta(thetas: list[float]) -> None:
    model = committee.AdaBoostThetaClassifier(theta="validation", thetas=thetas)
    with pytest.raises(ValueError, match="thetas"):
        model.fit(X, LABELS, X_val=X, y_val=LABELS)


@every(except_for(among("committee.boosting"), among("Online")))
def test_weights_too_small_to_divide_by_count_as_zero(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.where(np.arange(N) % 3 > 0, 1.0, 5e-324)
    model = make(cls).fit(X, y, sample_weight=weight)
    expected = make(cls).fit(X, y, sample_weight=np.floor(weight))
    np.testing.assert_allclose(model.predict(X), expected.predict(X))


TOO_FAR = table(
    ("AdaBoost", AdaBoostClassifier(learning_rate=1e4), "exceed float64.*learning_rate"),
    ("R2", committee.AdaBoostRegressor(learning_rate=1e3, random_state=0), "learning_rate=1000 all weights are 0"),
    (
        "stagewise",
        committee.StagewiseRegressor(learning_rate=1e3),
        "exceed float64 with learning_rate=1000",
    ),
)


@pytest.mark.parametrize(("model", "text"), TOO_FAR)
def test_steps_that_leave_float64_are_rejected(model: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        model.fit(X, target_of(type(model)))
