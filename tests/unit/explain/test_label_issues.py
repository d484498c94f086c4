"""Flipped labels come first, the weights are those of fit, and rows that do not belong are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from committee import AdaBoostClassifier, AdaBoostM1Classifier, AdaBoostThetaClassifier, DecisionTreeClassifier
from committee.explain import find_label_issues
from committee.forests.estimators import RandomForestRegressor
from tests.noisy_labels import FLIPPED, Noisy, noisy


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_estimators", [30, 300])  # before and after the noise is learnt by heart
def test_flipped_labels_come_first(seed: int, n_classes: int, n_estimators: int):
    data = noisy(seed, n_classes)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=n_estimators).fit(data.X, data.y)
    result = find_label_issues(model, data.X, data.y, n=int(data.is_wrong.sum()))
    assert data.is_wrong[result.rows].mean() >= 8 * FLIPPED
    hit = data.is_wrong[result.rows]
    # the right one of two others by chance is 1/2 with three classes
    assert np.mean(result.suggested_label[hit] == data.clean[result.rows][hit]) >= 0.75
    assert np.all(np.diff(result.score) <= 0)


def test_flipped_labels_of_new_rows_come_first():
    data = noisy(3)
    half = np.arange(600) < 300
    model = AdaBoostClassifier(n_estimators=100).fit(data.X[half], data.clean[half])
    result = find_label_issues(model, data.X[~half], data.y[~half], n=15, training=False)
    assert data.is_wrong[~half][result.rows].mean() >= 8 * FLIPPED
    assert np.isnan(result.weight).all()
    np.testing.assert_allclose(result.score, (1 - result.margin) / 2)
    np.testing.assert_array_equal(result.margin, np.sort(model.margins(data.X[~half], data.y[~half]))[:15])


def in_row_order(values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    return values[np.argsort(rows)]


@pytest.mark.parametrize(
    "model",
    [AdaBoostClassifier(n_estimators=20), AdaBoostThetaClassifier(theta=0.02, n_estimators=20),
     AdaBoostClassifier(n_estimators=20, learning_rate=0.5), AdaBoostClassifier(n_estimators=9, weighting="resample")],
)  # fmt: skip
def test_weights_are_those_of_fit_over_the_initial_ones(model: Any):
    data = noisy(0)
    start = np.random.default_rng(0).integers(0, 4, 600).astype(float)
    model.fit(data.X, data.y, sample_weight=start)
    result = find_label_issues(model, data.X, data.y, None, sample_weight=start)
    kept = np.flatnonzero(start > 0)
    np.testing.assert_array_equal(np.sort(result.rows), kept)
    initial = start[kept] / start.sum()
    np.testing.assert_allclose(in_row_order(result.weight, result.rows), model.sample_weights_ / initial, rtol=1e-7)
    np.testing.assert_allclose(in_row_order(result.margin, result.rows), model.margins(data.X[kept], data.y[kept]))


@pytest.mark.parametrize("booster", [AdaBoostClassifier, AdaBoostM1Classifier])
def test_weights_of_many_classes_are_those_of_fit(booster: Any):
    X, y = load_iris(return_X_y=True)
    model = booster(DecisionTreeClassifier(max_depth=1 if booster is AdaBoostClassifier else 2), n_estimators=6)
    model.fit(X, y)
    result = find_label_issues(model, X, y, None)
    np.testing.assert_allclose(in_row_order(result.weight, result.rows), 150 * model.sample_weights_, rtol=1e-7)


def test_score_is_the_mean_weight_over_the_rounds():
    data = noisy(1)
    weights = [
        AdaBoostClassifier(n_estimators=t).fit(data.X, data.y).sample_weights_ * 600 for t in range(1, 6)
    ]  # the run is the same up to round t
    model = AdaBoostClassifier(n_estimators=5).fit(data.X, data.y)
    result = find_label_issues(model, data.X, data.y, None)
    np.testing.assert_allclose(in_row_order(result.score, result.rows), np.mean(weights, axis=0), rtol=1e-9)


def test_rows_held_out_for_validation_are_evaluated_too():
    data = noisy(2)
    model = AdaBoostClassifier(n_estimators=100, early_stopping="validation", random_state=0).fit(data.X, data.y)
    assert model.sample_weights_.size < 600
    result = find_label_issues(model, data.X, data.y, n=30)
    assert data.is_wrong[result.rows].mean() >= 5 * FLIPPED
    assert np.isfinite(result.weight).all()


def test_a_vote_cut_by_validation_rows_is_evaluated():
    data = noisy(2)
    first = np.arange(600) < 400
    model = AdaBoostClassifier(n_estimators=200, early_stopping="validation", n_iter_no_change=5)
    model.fit(data.X[first], data.y[first], X_val=data.X[~first], y_val=data.y[~first])
    assert len(model.members_) < model.history_.n_rounds
    result = find_label_issues(model, data.X[first], data.y[first], None)
    expected = np.exp(-result.margin * model.coefficients_.sum())
    np.testing.assert_allclose(result.weight, expected / expected.mean(), rtol=1e-9)


class OtherWeights(AdaBoostClassifier):
    """Stands in for boosters whose weights are no product of rounds: its history has no Z."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        from committee.records.history import History

        super().fit(X, y, sample_weight, **kwargs)
        self.history_ = History({name: self.history_[name] for name in ("round", "error", "train_error")})
        self.sample_weights_ = np.arange(self.sample_weights_.size) / 10.0
        return self


def test_other_boosters_are_evaluated_by_margin_with_their_own_weights():
    data = noisy(0)
    model = OtherWeights(n_estimators=30).fit(data.X, data.y)
    result = find_label_issues(model, data.X, data.y, n=40)
    np.testing.assert_allclose(result.weight, result.rows / 10.0 * 600)
    np.testing.assert_array_equal(result.margin, np.sort(model.margins(data.X, data.y))[:40])


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frame(backend: Any):
    pytest.importorskip(backend)
    data = noisy(0)
    model = AdaBoostClassifier(n_estimators=10).fit(data.X, data.y)
    result = find_label_issues(model, data.X, data.y, n=7)
    frame = getattr(result, f"to_{backend}")()
    assert type(frame).__module__.startswith(backend)
    assert list(frame.columns) == ["rows", "weight", "margin", "label", "suggested_label", "score"]
    assert list(frame["rows"]) == result.rows.tolist()
    assert list(frame["label"]) == data.y[result.rows].tolist()


def test_frames_and_lists_are_read():
    pd = pytest.importorskip("pandas")
    data = noisy(0)
    model = AdaBoostClassifier(n_estimators=10).fit(data.X, data.y)
    plain = find_label_issues(model, data.X, data.y)
    for y in (list(data.y), pd.Series(data.y), pd.Series(data.y, dtype="category")):
        np.testing.assert_array_equal(find_label_issues(model, data.X, y).rows, plain.rows)


def fitted() -> tuple[AdaBoostClassifier, Noisy]:
    data = noisy(0)
    return AdaBoostClassifier(n_estimators=10).fit(data.X, data.y), data


def test_rows_that_were_not_fitted_are_rejected():
    model, data = fitted()
    with pytest.raises(ValueError, match=r"fitted on 600 rows of positive weight, X has 100.*training=False"):
        find_label_issues(model, data.X[:100], data.y[:100])
    with pytest.raises(ValueError, match="final weights of these rows differ"):
        find_label_issues(model, data.X[::-1], data.y[::-1])
    with pytest.raises(ValueError, match="final weights of these rows differ"):
        find_label_issues(model, data.X, data.y, sample_weight=np.arange(1, 601))


def test_bad_arguments_are_rejected():
    model, data = fitted()
    with pytest.raises(ValueError, match="n must be at least 1"):
        find_label_issues(model, data.X, data.y, 0)
    with pytest.raises(ValueError, match="y has labels"):
        find_label_issues(model, data.X, np.where(data.y == "ash", "yew", data.y))
    with pytest.raises(NotFittedError):
        find_label_issues(AdaBoostClassifier(), data.X, data.y)


def test_forests_of_numbers_name_what_it_is_for():
    forest: Any = RandomForestRegressor(n_estimators=2).fit(np.eye(8), np.arange(8.0))
    with pytest.raises(TypeError, match="classification forest, got RandomForestRegressor"):
        find_label_issues(forest, np.eye(8), np.arange(8.0))
