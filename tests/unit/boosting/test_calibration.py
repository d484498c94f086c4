"""The slope of the probabilities of a fit without validation rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from committee import AdaBoostClassifier, AnyBoostClassifier, DecisionStump, DecisionTreeClassifier
from committee.boosting import classifier_base as booster
from committee.boosting._vote_calibration import (
    DEFAULT_C,
    MAX_ROWS,
    MIN_ROWS,
    HeldOutScores,
    Trial,
    fit_shrinkage,
    fit_slope,
    halves,
    shrinkage,
    vote_size,
)
from committee.boosting.votes import vote_fractions, vote_probabilities
from committee.datasets import load_dataset


def two_class(score):
    return vote_probabilities(score, 2)


@pytest.fixture(scope="module")
def pima():
    sample = load_dataset("pima_diabetes")
    return np.asarray(sample.X, float), np.asarray(sample.y)


def losses(model, X, y, slopes):
    """Log-loss of the probabilities under each slope in place of the model's own."""
    own, out = model.probability_slope_, []
    for slope in slopes:
        model.probability_slope_ = slope
        out.append(log_loss(y, model.predict_proba(X)))
    model.probability_slope_ = own
    return np.array(out)


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(max_depth=3), DecisionStump()])
def test_noisy_data_get_probabilities_close_to_the_best_slope(tree, pima):
    X, y = pima
    model = AdaBoostClassifier(tree, n_estimators=200, random_state=0).fit(X[::2], y[::2])
    own, one = losses(model, X[1::2], y[1::2], [model.probability_slope_, 1.0])
    best = losses(model, X[1::2], y[1::2], np.exp(np.linspace(-6.0, 2.0, 81))).min()
    assert own < best + 0.03  # the standard error of a log-loss on 384 rows is about as large
    assert own < one - 0.05


def test_data_without_noise_keep_their_sure_probabilities():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 5)).astype(float)
    y = (X[:, 0] == X[:, 1]) | (X[:, 2] == X[:, 3])
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=100).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) == 1.0
    assert losses(model, X[400:], y[400:], [model.probability_slope_])[0] < 0.02


def test_many_classes_get_probabilities_close_to_the_best_slope():
    vehicle = load_dataset("vehicle")
    X, y = np.asarray(vehicle.X, float), vehicle.y
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=100).fit(X[::2], y[::2])
    own, one = losses(model, X[1::2], y[1::2], [model.probability_slope_, 1.0])
    best = losses(model, X[1::2], y[1::2], np.exp(np.linspace(-6.0, 2.0, 81))).min()
    assert own < best + 0.03
    assert own < one - 0.5


def test_whole_weights_and_repeated_rows_have_the_same_slope(pima):
    X, y = pima
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), counts))
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=40, random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).probability_slope_
    repeated = model.fit(X[order], y[order]).probability_slope_
    assert weighted < 0.9
    assert repeated == pytest.approx(weighted, rel=1e-9)


def test_a_warm_start_and_more_threads_leave_the_slope_as_it_is(pima):
    X, y = pima
    params = {"estimator": DecisionTreeClassifier(max_depth=3), "random_state": 0}
    whole = AdaBoostClassifier(n_estimators=60, n_jobs=2, **params).fit(X, y)
    parts = AdaBoostClassifier(n_estimators=20, warm_start=True, **params).fit(X, y)
    first = parts.probability_slope_
    parts.set_params(n_estimators=60).fit(X, y)
    assert parts.probability_slope_ == whole.probability_slope_ < first


def test_few_rows_and_learners_that_reject_half_of_them_take_the_usual_constant(pima):
    class Choosy(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            if len(X) < 700:
                raise ValueError("too few rows")
            self.model_ = GaussianNB().fit(X, y, sample_weight)
            return self

        def predict(self, X):
            return self.model_.predict(X)

    X, y = pima
    model = AdaBoostClassifier(Choosy(), n_estimators=5).fit(X, y)
    size = 9.0 * np.abs(model.coefficients_).sum()  # eight features and a constant
    assert model.probability_slope_ == pytest.approx(768 / (768 + DEFAULT_C * size))
    small = AdaBoostClassifier(n_estimators=5).fit(X[: MIN_ROWS - 1], y[: MIN_ROWS - 1])
    size = vote_size(small.members_, small.coefficients_, 8)
    assert small.probability_slope_ == pytest.approx(shrinkage(DEFAULT_C, MIN_ROWS - 1, size))


def test_no_trial_is_run_where_little_was_fitted(pima, monkeypatch):
    X, y = pima
    monkeypatch.setattr(booster, "halves", lambda *_: pytest.fail("a trial was run"))
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert 0.9 < model.probability_slope_ < 1.0
    with pytest.raises(pytest.fail.Exception, match="a trial"):
        AdaBoostClassifier(n_estimators=50).fit(X, y)
    judged = AdaBoostClassifier(n_estimators=50).fit(X, y, X_val=X, y_val=y)  # nor with rows to judge on
    assert judged.probability_slope_ > 0.9  # judged on its own rows it sees no need to shrink


@pytest.mark.parametrize("loss", ["logistic", "savage"])
def test_other_losses_are_slowed_too(loss, pima):
    X, y = pima
    tree = DecisionTreeClassifier(max_depth=3)
    model = AnyBoostClassifier(tree, loss=loss, n_estimators=100).fit(X[::2], y[::2])
    own, one = losses(model, X[1::2], y[1::2], [model.probability_slope_, 1.0])
    assert own < one - 0.05


def test_halves_keep_rows_with_equal_features_together():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (500, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    parts = halves(X, rng.integers(0, 3, 500))
    assert parts is not None
    assert sorted(np.concatenate(parts)) == list(range(500))
    seen = [set(map(tuple, np.nan_to_num(X[part], nan=-1.0).tolist())) for part in parts]
    assert not seen[0] & seen[1]


def test_halves_divide_every_class():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 500)
    parts = halves(rng.normal(size=(500, 3)), codes)
    assert parts is not None
    assert np.all(np.abs(np.bincount(codes[parts[0]]) - np.bincount(codes[parts[1]])) <= 1)


def test_halves_are_of_limited_size():
    X = np.random.default_rng(0).normal(size=(5 * MAX_ROWS, 1))
    parts = halves(np.repeat(X, 2, axis=0), np.zeros(len(X) * 2, np.int64))
    assert parts is not None
    assert [len(part) for part in parts] == [2 * MAX_ROWS, 2 * MAX_ROWS]


def test_the_fits_find_the_slope_the_rows_were_drawn_with():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(200_000, 1))
    codes = (rng.random(len(f)) < two_class(f)[:, 1]).astype(np.int64)
    judged = HeldOutScores(4.0 * f, codes, np.ones(len(f)))
    assert fit_slope(judged, two_class) == pytest.approx(0.25, rel=0.02)
    trials = [Trial(judged, 100.0, 20.0), Trial(judged, 200.0, 40.0)]  # 1 / (1 + c / 5) = 1 / 4
    assert fit_shrinkage(trials, two_class) == pytest.approx(15.0, rel=0.03)


@pytest.mark.parametrize("shares", [vote_fractions, vote_probabilities])
def test_the_class_that_wins_has_the_largest_probability(shares):
    score = np.array([[1e-18], [-1e-18], [0.0], [0.3], [1.0]])
    assert shares(score, 2).argmax(axis=1).tolist() == [1, 0, 0, 1, 1]
    np.testing.assert_allclose(shares(score, 2).sum(axis=1), 1.0, rtol=1e-15)


def test_the_class_that_wins_leads_among_many():
    score = np.array([[0.1, np.nextafter(0.1, 1.0), 0.0], [40.0, 40.0, 0.0], [1e-18, 0.0, 2e-18]])
    assert vote_probabilities(score, 3).argmax(axis=1).tolist() == [1, 0, 2]
