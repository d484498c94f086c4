"""warm_start=True goes on with the rows, columns, classes and settings of the previous fit, and refuses others."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from tests.bad_input import N, X, assert_rejected, changed
from tests.catalog import CLASSIFIERS, among, every, having, make, predictions_of, takes, target_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WARM = having(warm_start=True)
BOOTSTRAP = {"bootstrap": True}


@every(WARM)
def test_a_warm_start_refuses_other_data(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True, **BOOTSTRAP).fit(X, y)
    predictions, rounded = predictions_of(model), np.c_[np.round(X[:, 0], 2), X[:, 1:]]
    weight = np.where(np.arange(N) == 7, 2.0, 1.0)
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("40.*39", (X[1:], y[1:])),
        ("columns", (X[:, :2], y)),
        ("X, y", (changed(1.0), y)),
        ("X, y", (rounded, y)),
        ("X, y", (X[:, ::-1], y)),
        ("X, y", (X[::-1], y[::-1])),
        ("X, y", (X, np.roll(y, 1))),
        ("weight", (X, y, weight)),
    ]
    for text, arguments in cases:
        assert_rejected(model, ValueError, f"warm_start(.|\n)*{text}", *arguments)
    if cls in CLASSIFIERS:
        assert_rejected(model, ValueError, "classes", X, y + 5)
    np.testing.assert_array_equal(predictions_of(model), predictions)


OTHER_SETTINGS: list[tuple[list[type[Any]], dict[str, Any]]] = [
    (among("committee.forests", "committee.bagging"), {"bootstrap": False}),
    (among("committee.forests", "committee.bagging"), {"max_samples": 0.5}),
    (among("committee.bagging"), {"max_features": 2}),
    (among("GradientBoostingClassifier"), {"loss": "exponential"}),
    (among("GradientBoostingRegressor"), {"loss": "quantile"}),
]


@pytest.mark.parametrize(
    ("cls", "params"), [(cls, case[1]) for case in OTHER_SETTINGS for cls in case[0] if cls in WARM]
)
def test_a_warm_start_refuses_other_settings(cls: type[Any], params: dict[str, Any]) -> None:
    model = make(cls, warm_start=True, **BOOTSTRAP).fit(X, target_of(cls))
    assert_rejected(model.set_params(**params), ValueError, "warm_start", X, target_of(cls))


@every(having(warm_start=True, n_estimators=1))
def test_a_warm_start_refuses_fewer_members(cls: type[Any]) -> None:
    model = make(cls, warm_start=True).fit(X, target_of(cls))
    assert_rejected(model.set_params(n_estimators=1), ValueError, "n_estimators=1", X, target_of(cls))


@every(WARM)
def test_a_warm_start_takes_the_same_values_in_another_form(cls: type[Any]) -> None:
    y, single = target_of(cls), X.astype(np.float32)
    model = make(cls, warm_start=True, n_estimators=4).fit(single, y)
    for same in (np.asfortranarray(single.astype(np.float64)), single.tolist(), np.where(single == 0.0, -0.0, single)):
        deepcopy(model).fit(same, y.tolist())
    model.set_params(**({"n_estimators": 6} if takes(cls, n_estimators=6) else {})).fit(single.astype(np.float64), y)
    if cls not in among("LPBoost"):  # whose linear programs may have several solutions
        np.testing.assert_array_equal(predictions_of(model, single), predictions_of(make(cls).fit(single, y), single))
