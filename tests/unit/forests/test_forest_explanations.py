"""Explanations of forests: SHAP values, importances and partial dependence of rows of every kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from committee.explain import partial_dependence, shap_values, tree_importances
from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    nan,
)
from tests.catalog import CLASSIFIERS, among, every, predictions_of
from tests.catalog import make as small

FORESTS = among("committee.forests")


make = partial(small, n_estimators=8, bootstrap=True)


def shap_of(model: Any) -> Any:
    return shap_values(model, X)


@pytest.mark.parametrize("value", [7, 0, -3])
@every(FORESTS)
def test_one_class_or_one_value(cls: type[Any], value: int) -> None:
    model = make(cls, tune="oob").fit(X, np.full(N, value))
    assert model.oob_error_ == 0.0
    np.testing.assert_array_equal(shap_of(model).values, 0.0)
    if cls in CLASSIFIERS:
        calibrated = make(cls, calibration="oob").fit(X, np.full(N, value))
        np.testing.assert_allclose(calibrated.predict_proba(X), np.ones((N, 1)))


@every(FORESTS)
def test_shap_values_add_up_to_the_predictions(cls: type[Any]) -> None:
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, nan, X)
    frame = pd.DataFrame(rows, columns=list("abc")).assign(d=pd.Categorical(np.arange(N) % 4))
    targets = [LABELS, np.arange(N) % 3] if is_classifier(cls()) else [VALUES]
    for y in targets:
        model = make(cls).fit(frame, y)
        result = shap_values(model, frame)
        np.testing.assert_allclose(
            result.base_values + result.values.sum(axis=1), predictions_of(model, frame), atol=1e-6
        )
        own = model.feature_importances_
        assert tree_importances(model).values[own.argmax()] > 0.0
        assert tree_importances(model, "frequency").raw.sum() == pytest.approx(1.0)


@every(among("committee.forests", classes=CLASSIFIERS))
def test_calibrated_forests_are_explained_before_their_calibration(cls: type[Any]) -> None:
    plain, calibrated = make(cls).fit(X, LABELS), make(cls, calibration="oob").fit(X, LABELS)
    np.testing.assert_array_equal(shap_of(calibrated).values, shap_of(plain).values)
    assert partial_dependence(calibrated, X, 0).method == "brute"  # calibrated probabilities are no sum
    assert partial_dependence(plain, X, 0).method == "recursion"
