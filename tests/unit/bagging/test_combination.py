"""Combination rules of bagging: what they need of a base learner, and that they are fixed by the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import Perceptron
from sklearn.neighbors import KNeighborsClassifier

from committee import (
    BaggingClassifier,
    BaggingRegressor,
    OnlineBaggingClassifier,
)
from committee.explain import shap_values
from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    assert_rejected,
)
from tests.catalog import among, every, make, predictions_of, target_of

BAGGED = among("Bagging")


def test_a_mean_needs_probabilities() -> None:
    model = make(BaggingClassifier, estimator=Perceptron(), combine="mean")
    assert_rejected(model, ValueError, "Perceptron.*predict_proba", X, LABELS)
    model = make(OnlineBaggingClassifier, estimator=Perceptron(), vote="mean")
    assert_rejected(model, ValueError, "Perceptron.*predict_proba", X, LABELS)


def test_weights_of_a_base_estimator_without_sample_weight() -> None:
    weight = np.linspace(0.5, 1.5, N)
    for bootstrap, is_taken in ((True, True), (False, False)):
        model = make(BaggingClassifier, estimator=KNeighborsClassifier(3), bootstrap=bootstrap)
        if is_taken:
            assert model.fit(X, LABELS, weight).predict(X).shape == (N,)
        else:
            text = "KNeighborsClassifier.*sample_weight.*bootstrap=True"
            assert_rejected(model, ValueError, text, X, LABELS, weight)


@every(BAGGED)
def test_more_draws_than_rows(cls: type[Any]) -> None:
    model = make(cls, max_samples=10 * N, n_estimators=3).fit(X, target_of(cls))
    assert all(rows.size == 10 * N for rows in model.estimators_samples_)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@pytest.mark.parametrize("combine", ["mean", "median", "weighted"])
def test_the_scale_of_the_target_does_not_matter(combine: str, scale: float) -> None:
    """Nearly: samples depend on the values of the rows, so only the quality stays."""
    model = make(BaggingRegressor, combine=combine, n_estimators=20).fit(X, VALUES * scale)
    expected = make(BaggingRegressor, combine=combine, n_estimators=20).fit(X, VALUES)
    assert model.score(X, VALUES * scale) == pytest.approx(expected.score(X, VALUES), abs=0.1)
    assert np.isfinite(model.history_.oob_error[-1])


@every(BAGGED)
def test_shap_values_add_up_to_the_predictions(cls: type[Any]) -> None:
    for params in ({}, {"max_features": 2}, {"combine": "vote" if is_classifier(cls()) else "weighted"}):
        model = make(cls, **params).fit(X, target_of(cls))
        result = shap_values(model, X)
        np.testing.assert_allclose(result.base_values + result.values.sum(axis=1), predictions_of(model), atol=1e-6)
