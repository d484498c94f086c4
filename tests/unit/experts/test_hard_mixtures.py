"""Mixtures of experts on hard problems, and experts that cannot be mixed."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from committee.base import threads
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    N,
    X,
    assert_rejected,
)
from tests.catalog import every, has_params, predictions_of, target_of
from tests.catalog import make as small

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # short runs

SUPERVISED: list[type[Any]] = [MixtureOfExpertsRegressor, MixtureOfExpertsClassifier]

MIXTURES: list[type[Any]] = [*SUPERVISED, MixtureOfExpertsDensity]


FRAME = pd.DataFrame(X, columns=list("abc"))


make = partial(small, n_restarts=2)


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls).fit(X, target_of(cls))


def test_a_class_that_was_not_there_in_fit_is_rejected() -> None:
    for method in ("responsibilities", "log_likelihood"):
        with pytest.raises(ValueError, match=r"classes.*\[7\]"):
            getattr(fitted(MixtureOfExpertsClassifier), method)(X, np.where(LABELS, 7, 0))


def test_bad_experts_are_rejected() -> None:
    rejected: list[tuple[type[Any], Any, str]] = [
        (MixtureOfExpertsRegressor, KNeighborsRegressor(), "KNeighborsRegressor takes no sample_weight"),
        (MixtureOfExpertsClassifier, KNeighborsClassifier(), "KNeighborsClassifier takes no sample_weight"),
        (MixtureOfExpertsClassifier, Perceptron(), "Perceptron has no predict_proba"),
        (MixtureOfExpertsRegressor, LogisticRegression(), "is a classifier"),
        (MixtureOfExpertsClassifier, Lasso(), "is a regressor"),
    ]
    for cls, expert, text in rejected:
        assert_rejected(make(cls, expert=expert), (ValueError, TypeError), text, X, target_of(cls))
    model = make(MixtureOfExpertsRegressor, n_experts=[1, 2], expert=Lasso())
    assert_rejected(model, ValueError, "criterion='held_out'", X, VALUES)


class _Wide(LogisticRegression):
    def predict_proba(self, X: Any) -> Any:
        return np.ones((len(X), 5))


class _Infinite(Lasso):
    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.inf)


def test_experts_of_bad_predictions_are_named() -> None:
    text = "_Infinite.*finite"
    assert_rejected(make(MixtureOfExpertsRegressor, expert=_Infinite()), ValueError, text, X, VALUES)
    text = "_Wide.*probabilities"
    assert_rejected(make(MixtureOfExpertsClassifier, expert=_Wide()), ValueError, text, X, LABELS)


def test_what_a_density_cannot_be_of() -> None:
    cls = MixtureOfExpertsDensity
    assert_rejected(cls(gate_features=[0, 1, 2]), ValueError, "n_features=3", X)
    frame = FRAME.assign(c=pd.Categorical(np.where(LABELS, "a", "b")))
    assert_rejected(cls(), ValueError, "[Cc]olumn c .*categor", frame)
    model = make(cls, gate_features=["c"]).fit(frame)
    assert model.gate_proba(frame).shape == (N, 2)
    with pytest.raises(ValueError, match="X"):
        model.sample(3)
    drawn, label = model.sample(X=frame)
    assert drawn.shape == (N, 2)
    assert label.shape == (N,)


def test_too_few_rows_to_hold_some_out() -> None:
    model = make(MixtureOfExpertsRegressor, n_experts=[1, 2], criterion="held_out")
    assert_rejected(model, ValueError, "n_samples=1", X[:1], VALUES[:1])


def test_too_few_iterations_warn() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        make(MixtureOfExpertsRegressor, max_iter=2).fit(X, VALUES)


@pytest.mark.parametrize("features", [X[:1], np.ones((N, 3)), np.full((N, 3), MAX)])
def test_a_density_without_spread_is_finite(features: Any) -> None:
    model = make(MixtureOfExpertsDensity).fit(features)
    assert np.isfinite(model.score_samples(features)).all()
    assert np.isfinite(model.sample(5)[0]).all()


@every(MIXTURES)
def test_weights_are_repetition_and_the_order_of_rows_means_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    counts = np.random.default_rng(0).integers(0, 4, N)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(N), counts))
    weighted = make(cls).fit(X, y, sample_weight=counts)
    np.testing.assert_array_equal(predictions_of(weighted), predictions_of(make(cls).fit(X[rows], y[rows])))


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@every(MIXTURES)
def test_the_scale_of_the_columns_does_not_matter(cls: type[Any], scale: float) -> None:
    model = make(cls, n_experts=1).fit(X * scale, target_of(cls))
    expected = predictions_of(make(cls, n_experts=1).fit(X, target_of(cls)))
    if cls is MixtureOfExpertsDensity:
        expected = expected - 3.0 * np.log(scale)
    np.testing.assert_allclose(predictions_of(model, X * scale), expected, rtol=1e-9)


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@every(MIXTURES)
def test_duplicated_and_constant_columns_change_little(cls: type[Any], l2: float) -> None:
    twice = np.column_stack([X, X[:, 0], np.full(N, 5.0)])
    params = {"l2": l2, "gate_l2": l2} if has_params(cls, l2=l2) else {}
    model = make(cls, **params).fit(twice, target_of(cls))
    assert np.isfinite(predictions_of(model, twice)).all()
    if params:  # a doubled column halves what the prior costs, and no more
        np.testing.assert_allclose(model.coef_[..., 0], model.coef_[..., 3], rtol=1e-5, atol=1e-8)
        np.testing.assert_array_equal(model.coef_[..., 4], 0.0)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 1.0])
def test_separable_classes_have_finite_coefficients(l2: float) -> None:
    y = (X[:, 0] > 0).astype(int)
    model = make(MixtureOfExpertsClassifier, l2=l2, max_iter=100).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.history_.objective).all()
    assert np.all(np.diff(model.history_.objective)[model.history_.repaired[1:] < 0] >= -1e-9)
    assert model.score(X, y) == 1.0


def test_an_expert_that_sees_one_class_only() -> None:
    """Left of zero every row is of class 2: an expert there must not need the other classes."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (300, 2))
    y = np.where(rows[:, 0] < 0, 2, (rows[:, 1] > 0).astype(int))
    for expert in (None, LogisticRegression()):
        model = make(MixtureOfExpertsClassifier, expert=expert, l2=1e-4, max_iter=60 if expert is None else 15).fit(
            rows, y
        )
        assert model.score(rows, y) > 0.97
        assert np.isfinite(model.log_likelihood(rows, y)).all()


@every(SUPERVISED)
def test_duplicated_rows_with_contradicting_targets(cls: type[Any]) -> None:
    rows = np.repeat(X, 2, axis=0)
    y = np.tile([0, 1], N)
    model = make(cls).fit(rows, y)
    predictions = predictions_of(model, X)
    np.testing.assert_allclose(predictions[:, 1] if is_classifier(model) else predictions, 0.5, atol=0.1)


@pytest.mark.parametrize("n_jobs", [2, -1])
@every(MIXTURES)
def test_threads_change_no_bit(cls: type[Any], n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 100)
    y = target_of(cls)
    one, many = make(cls, n_restarts=4, n_jobs=1).fit(X, y), make(cls, n_restarts=4, n_jobs=n_jobs).fit(X, y)
    np.testing.assert_array_equal(predictions_of(one), predictions_of(many))
    assert one.history_ == many.history_
    np.testing.assert_array_equal(one.restarts_.short_run, many.restarts_.short_run)


def test_weights_of_an_expert_that_is_robust() -> None:
    """Another estimator with weights, to see that nothing is special about those above."""
    model = make(MixtureOfExpertsRegressor, expert=HuberRegressor(), max_iter=5).fit(X, VALUES)
    assert len(model.estimators_) == 2
    assert model.score(X, VALUES) > 0.5
