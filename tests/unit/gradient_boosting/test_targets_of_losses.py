"""Targets, weights and initial scores that a loss of gradient boosting accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    assert_rejected,
    inf,
    nan,
    table,
)
from tests.catalog import among, every, make, target_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # constant targets

BOTH = among("GradientBoosting")

VALUE_LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "expectile", "poisson", "gamma", "tweedie"]

CLASS_LOSSES = ["log_loss", "exponential", "squared_hinge", "savage", "tangent"]


NOT_FOR_THE_LOSS = table(
    ("poisson below zero", "poisson", np.r_[-1.0, np.ones(N - 1)], "negative.*'poisson'"),
    ("tweedie below zero", "tweedie", np.r_[-1.0, np.ones(N - 1)], "negative.*'tweedie'"),
    ("poisson all zero", "poisson", np.zeros(N), "zero.*'poisson'"),
    ("gamma zero", "gamma", np.r_[0.0, np.ones(N - 1)], "not positive.*'gamma'"),
)


@pytest.mark.parametrize(("loss", "y", "text"), NOT_FOR_THE_LOSS)
def test_targets_that_a_loss_does_not_allow(loss: str, y: Any, text: str) -> None:
    assert_rejected(GradientBoostingRegressor(loss), ValueError, text, X, y)


@pytest.mark.parametrize("loss", CLASS_LOSSES[1:])
def test_margin_losses_are_for_two_classes(loss: str) -> None:
    text = rf"[Bb]inary.*loss='{loss}'"
    assert_rejected(GradientBoostingClassifier(loss), ValueError, text, X, np.arange(N) % 3)


def test_folds_that_lie_in_rows_of_no_weight_are_rejected() -> None:
    model = GradientBoostingRegressor(early_stopping="cv", cv=KFold(2))
    text = "no training rows"
    assert_rejected(model, ValueError, text, X, VALUES, sample_weight=np.arange(N) >= N // 2)


BAD_INIT_SCORES = table(
    ("too short", np.zeros(3)),
    ("two columns", np.zeros((N, 2))),
    ("number", 1.0),
    ("nan", np.full(N, nan)),
    ("inf", np.full(N, inf)),
    ("words", ["a"] * N),
    ("dict", {0: 1.0}),
)


@pytest.mark.parametrize("init_score", BAD_INIT_SCORES)
@every(BOTH)
def test_bad_initial_scores_are_rejected(cls: type[Any], init_score: Any) -> None:
    assert_rejected(cls(), ValueError, "init_score", X, target_of(cls), init_score=init_score)


def test_initial_scores_of_several_classes_have_a_column_each() -> None:
    model, y = make(GradientBoostingClassifier), np.arange(N) % 3
    assert_rejected(model, ValueError, "init_score.*3", X, y, init_score=np.zeros(N))
    assert np.isfinite(model.fit(X, y, init_score=np.zeros((N, 3))).decision_function(X)).all()


def test_targets_to_validate_on_are_those_of_the_loss() -> None:
    y = np.abs(VALUES)
    assert_rejected(GradientBoostingRegressor("gamma"), ValueError, "not positive", X, y, X_val=X, y_val=0.0 * y)
    model = make(GradientBoostingRegressor, loss="poisson").fit(X, y, X_val=X, y_val=0.0 * y)
    assert np.isfinite(model.history_.validation_loss).all()


def test_a_class_may_be_missing_among_three_to_validate_on() -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = make(GradientBoostingClassifier).fit(X, y, X_val=X[y > 0], y_val=y[y > 0])
    probabilities = model.predict_proba(X[y > 0])
    expected = -np.log(probabilities[np.arange(len(probabilities)), y[y > 0]]).mean()
    assert model.history_.validation_loss[model.n_estimators_ - 1] == pytest.approx(expected)


@pytest.mark.parametrize("value", [7, 1, 3])
@pytest.mark.parametrize("loss", VALUE_LOSSES + CLASS_LOSSES)
def test_one_class_or_one_value(loss: str, value: int) -> None:
    cls = GradientBoostingClassifier if loss in CLASS_LOSSES else GradientBoostingRegressor
    model = make(cls, loss=loss).fit(X, np.full(N, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9)
    if loss in CLASS_LOSSES:
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
    assert all(np.allclose(predictions, value) for predictions in model.staged_predict(X))


def test_weights_of_1e300_beside_1e_300_are_rejected_with_advice() -> None:
    weight = np.where(np.arange(N) % 2, 1e300, 1e-300)
    assert_rejected(GradientBoostingRegressor(), ValueError, "weight.*too large", X, VALUES, weight)
    model = make(GradientBoostingRegressor).fit(X, VALUES, weight / weight.max())
    odd = make(GradientBoostingRegressor).fit(X[1::2], VALUES[1::2])
    np.testing.assert_allclose(model.baseline_, odd.baseline_)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("scale", [2.0**-10, 2.0**300])
@pytest.mark.parametrize("loss", VALUE_LOSSES)
def test_the_scale_of_the_target_does_not_matter(loss: str, scale: float) -> None:
    """Nearly: the smallest gain of a split, 1e-12, does not grow with the target."""
    y = VALUES if loss in VALUE_LOSSES[:5] else np.abs(VALUES)
    params: dict[str, Any] = {"loss": loss, "min_hessian": 0.0}
    model = make(GradientBoostingRegressor, **params).fit(X, y * scale)
    expected = make(GradientBoostingRegressor, **params).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("largest", [1e150, 1e-150])
def test_targets_beyond_squares_are_rejected(largest: float) -> None:
    text = r"\|y\| is .*too (large|small)"
    assert_rejected(GradientBoostingRegressor(), ValueError, text, X, VALUES * largest)


@pytest.mark.parametrize("n_rows", [1, N])
@every(BOTH)
def test_automatic_settings_without_information_give_the_mean(cls: type[Any], n_rows: int) -> None:
    y = target_of(cls)[:n_rows]
    model = make(cls, n_estimators="auto", learning_rate="auto").fit(np.ones((n_rows, 3)), y)
    predictions = (
        model.predict_proba(np.ones((2, 3)))[:, -1] if hasattr(model, "predict_proba") else model.predict(X[:2])
    )
    np.testing.assert_allclose(predictions, (y == y.max()).mean() if hasattr(model, "predict_proba") else y.mean())


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_some_classes_are_enough_to_validate_on(loss: str) -> None:
    model = make(GradientBoostingClassifier, loss=loss)
    model.fit(X, LABELS, X_val=X[LABELS == 1], y_val=LABELS[LABELS == 1])
    assert np.isfinite(model.history_.validation_loss).all()
