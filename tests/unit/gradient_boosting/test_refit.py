"""The mean of the folds' models (refit=False): bagged boosting that the choice of the rounds has paid for already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from committee import GradientBoostingClassifier, GradientBoostingRegressor, shap_values
from committee.base import threads

Floats = NDArray[np.float64]
FOLDS = KFold(4)
LIMITS: dict[str, Any] = {"learning_rate": 0.3, "min_samples_leaf": 3, "max_leaf_nodes": 8, "random_state": 0}
KINDS = ("regression", "binary", "multiclass")


def data(kind: str, n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Two numbers, one of them with holes, and a category that shifts the target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)).round(2), columns=["a", "b"])
    code = rng.integers(6, size=n)
    signal = X["a"].to_numpy() + np.sin(2.0 * X["b"].to_numpy()) + np.cos(code) + 0.3 * rng.normal(size=n)
    X["c"] = pd.Categorical.from_codes(code, list("uvwxyz"))
    X.loc[rng.random(n) < 0.2, "b"] = np.nan
    if kind == "regression":
        return X, signal
    return X, (signal > 0.0).astype(int) if kind == "binary" else np.digitize(signal, [-0.7, 0.7])


def make(kind: str, **params: Any) -> Any:
    model: Any = GradientBoostingRegressor if kind == "regression" else GradientBoostingClassifier
    return model(**{**LIMITS, "early_stopping": "cv", "cv": FOLDS, "n_estimators": 60, "refit": False, **params})


def scores(model: Any, X: Any) -> Floats:
    return model.predict(X) if isinstance(model, GradientBoostingRegressor) else model.decision_function(X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_the_mean_of_the_models_of_the_folds(kind: str) -> None:
    X, y = data(kind)
    model = make(kind).fit(X, y)
    refitted = make(kind, refit=True).fit(X, y)
    best = int(np.argmin(model.cv_curve_)) + 1
    assert refitted.n_estimators_ == best
    assert model.n_estimators_ == round(1.25 * best) < 60
    parts = [
        scores(make(kind, early_stopping=False, n_estimators=model.n_estimators_).fit(X.iloc[train], y[train]), X)
        for train, _ in FOLDS.split(X)
    ]
    np.testing.assert_allclose(scores(model, X), np.mean(parts, axis=0), rtol=1e-9, atol=1e-12)
    shorter = min(len(model.cv_curve_), len(refitted.cv_curve_))
    np.testing.assert_array_equal(model.cv_curve_[:shorter], refitted.cv_curve_[:shorter])
    assert model.stop_reason_ == refitted.stop_reason_ == f"{best} rounds had the smallest cross-validated loss"
    assert not np.allclose(scores(model, X), scores(refitted, X))


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_stages_and_explanations_are_those_of_the_mean(kind: str) -> None:
    X, y = data(kind)
    model = make(kind).fit(X, y)
    n_scores = 3 if kind == "multiclass" else 1
    assert len(model) == model.n_estimators_
    assert len(model.trees_) == model.apply(X).shape[1] == 4 * n_scores * model.n_estimators_
    assert model.history_.n_rounds == len(model.cv_curve_)
    np.testing.assert_array_equal(model.history_.validation_loss, model.cv_curve_)
    name = "predict" if kind == "regression" else "decision_function"
    stages = list(getattr(model, f"staged_{name}")(X))
    assert len(stages) == model.n_estimators_
    np.testing.assert_allclose(stages[-1], scores(model, X), rtol=1e-12, atol=1e-12)
    shorter = make(kind, n_estimators=3).fit(X, y)
    np.testing.assert_allclose(stages[2], scores(shorter, X), rtol=1e-12, atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_row_counts_in_the_folds_that_learn_from_it() -> None:
    """Every row is in three of four folds, so the training loss of the mean lies between one model's and the curve."""
    X, y = data("regression")
    model = make("regression").fit(X, y)
    mean_loss = 0.5 * np.mean((y - model.predict(X)) ** 2)
    at = model.n_estimators_ - 1
    assert model.history_.train_loss[at] < mean_loss < model.cv_curve_[at]


def split_by(fold: Any) -> list[tuple[Any, Any]]:
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_mean_repetition(kind: str) -> None:
    X, y = data(kind)
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    fold = np.arange(len(y)) % 3  # the copies of a row stay together, as weighted rows do
    by_weight = make(kind, cv=split_by(fold), max_features=0.7).fit(X, y, sample_weight=weight)
    by_rows = make(kind, cv=split_by(fold[repeated]), max_features=0.7).fit(X.iloc[repeated], y[repeated])
    assert by_weight.n_estimators_ == by_rows.n_estimators_
    np.testing.assert_allclose(scores(by_weight, X), scores(by_rows, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 500)
    X, y = data(kind, n=3000)
    one, two = (make(kind, n_estimators=8, n_jobs=n).fit(X, y) for n in (1, 2))
    assert scores(one, X).tobytes() == scores(two, X).tobytes()
    assert one.cv_curve_.tobytes() == two.cv_curve_.tobytes()


@pytest.mark.parametrize(
    ("how", "n_models"),
    [
        ({}, 3),
        ({"early_stopping": "cv"}, 1),
        ({"warm_start": True}, 1),
        ({"dropout": 0.1}, 1),
        ({"refit": True}, 1),
        ({"early_stopping": "cv", "refit": False}, 3),
    ],
)
def test_a_refit_is_automatic_where_it_was_requested_or_a_mean_would_not_do(how: dict[str, Any], n_models: int) -> None:
    X, y = data("regression")
    model = GradientBoostingRegressor(cv=3, random_state=0, **how).fit(X, y)
    assert len(model.trees_) == n_models * model.n_estimators_


@pytest.mark.parametrize("how", [{"warm_start": True}, {"dropout": 0.1}])
def test_what_a_mean_cannot_do_is_rejected(how: dict[str, Any]) -> None:
    X, y = data("regression")
    with pytest.raises(ValueError, match="refit=False averages"):
        make("regression", **how).fit(X, y)


def test_a_mean_cannot_be_continued() -> None:
    X, y = data("regression")
    model = make("regression").fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="cannot be continued"):
        model.set_params(warm_start=True, refit=True).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_callbacks_see_the_rounds_of_all_folds_and_may_end_the_run() -> None:
    X, y = data("binary")
    seen: list[Any] = []
    model = make("binary", callbacks=[seen.append, lambda record: record.round == 5]).fit(X, y)
    assert [record.round for record in seen] == [1, 2, 3, 4, 5]
    assert model.history_.n_rounds == 5
    np.testing.assert_array_equal([record.validation_loss for record in seen], model.cv_curve_)
    again: list[Any] = []
    refitted = make("binary", refit=True, callbacks=[again.append]).fit(X, y)
    assert len(again) == refitted.n_estimators_


def test_intervals_of_a_mean_cover_at_least_as_often_as_they_say() -> None:
    """The rows judged single models, which are wider of the mark than their mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] + (0.5 + np.abs(X[:, 1])) * rng.normal(size=len(X))
    params: dict[str, Any] = {
        "quantile": [0.05, 0.95],
        "learning_rate": 0.1,
        "n_estimators": 100,
        "early_stopping": "cv",
    }
    model = GradientBoostingRegressor("quantile", refit=False, random_state=0, **params).fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:]).T
    assert 0.87 < np.mean((y[1000:] >= low) & (y[1000:] <= high)) < 0.95


def test_explanations_add_up_to_the_mean() -> None:
    X, y = data("regression")
    model = make("regression", n_estimators=10).fit(X, y)
    result = shap_values(model, X.iloc[:20])
    np.testing.assert_allclose(result.values.sum(axis=1) + result.base_values, model.predict(X.iloc[:20]), atol=1e-9)
