"""What the boosters share: warm start, early stopping, staged answers, validation, views of the members, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from committee import (
    AdaBoostClassifier,
    AdaBoostM1Classifier,
    AdaBoostStarClassifier,
    AdaBoostThetaClassifier,
    ArcGVClassifier,
    ConfidenceRatedAdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
)
from committee.data.samples import load_sample

MODELS = {
    "adaboost": AdaBoostClassifier(random_state=0),
    "binned": AdaBoostClassifier(DecisionStump(splitter="binned"), random_state=0),
    "depth 3": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, max_features=3), random_state=0),
    "resample": AdaBoostClassifier(update="resample", random_state=0),
    "m1": AdaBoostM1Classifier(random_state=0),
    "theta": AdaBoostThetaClassifier(theta=0.03, random_state=0),
    "arc-gv": ArcGVClassifier(random_state=0),
    "star": AdaBoostStarClassifier(nu=0.1, random_state=0),
    "log-odds": ConfidenceRatedAdaBoostClassifier(random_state=0),
    "closed": ConfidenceRatedAdaBoostClassifier(coefficient="closed", random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def pima():
    sample = load_sample("pima_diabetes")
    return np.asarray(sample.X, float), np.asarray(sample.y)


def fresh(name, **params):
    return pickle.loads(pickle.dumps(MODELS[name])).set_params(**params)


@every_model
def test_a_warm_start_goes_on_exactly_where_it_stopped(name, pima):
    X, y = pima
    whole = fresh(name, n_estimators=12).fit(X, y)
    parts = fresh(name, n_estimators=5, warm_start=True).fit(X, y)
    parts.set_params(n_estimators=12).fit(X, y)
    assert len(parts.members_) == len(whole.members_)
    for column in whole.history_:
        np.testing.assert_array_equal(parts.history_[column], whole.history_[column], err_msg=column)
    np.testing.assert_array_equal(parts.weights_, whole.weights_)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_a_warm_start_refuses_other_rows_and_fewer_rounds(pima):
    X, y = pima
    model = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="same rows: the earlier fit had 768"):
        model.set_params(n_estimators=8).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="n_estimators=3 must be larger or equal to the 5 members"):
        model.set_params(n_estimators=3).fit(X, y)


@every_model
def test_staged_answers_end_at_the_final_ones(name, pima):
    X, y = pima
    model = fresh(name, n_estimators=10).fit(X, y)
    pairs = [
        (model.staged_predict(X), model.predict(X)),
        (model.staged_predict_proba(X), model.predict_proba(X)),
        (model.staged_decision_function(X), model.decision_function(X)),
        (model.staged_margins(X, y), model.margins(X, y)),
        (model.staged_score(X, y), model.score(X, y)),
    ]
    for staged, final in pairs:
        listed = [np.copy(stage) for stage in staged]
        assert len(listed) == len(model.members_)
        if np.asarray(final).dtype.kind == "f":
            np.testing.assert_allclose(listed[-1], final, atol=1e-12)
        else:
            np.testing.assert_array_equal(listed[-1], final)
    errors = [1 - score for score in model.staged_score(X, y)]
    np.testing.assert_allclose(errors, model.history_.train_error, atol=1e-12)


@every_model
def test_members_are_estimators_that_vote(name, pima):
    X, y = pima
    model = fresh(name, n_estimators=6).fit(X, y)
    if name not in ("log-odds", "closed"):
        votes = sum(
            a * np.where(member.predict(X) == model.classes_[1], 1.0, -1.0)
            for a, member in zip(model.coefficients_, model.estimators_, strict=True)
        )
        np.testing.assert_allclose(votes / np.abs(model.coefficients_).sum(), model.decision_function(X), atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[(proba[:, 1] > 0.5).astype(int)], model.predict(X))


@pytest.mark.parametrize("source", ["given", "held out"])
def test_early_stopping_on_validation_rows_keeps_the_best_round(source, pima):
    X, y = pima
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:500], rows[500:]
    extra = {"X_val": X[test], "y_val": y[test]} if source == "given" else {}
    model = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=200, early_stopping="validation", n_iter_no_change=15,
        random_state=0,
    ).fit(X[train], y[train], **extra)  # fmt: skip
    errors = model.history_.validation_error
    assert len(errors) < 200
    assert "has not improved for 15 rounds" in model.stop_reason_
    assert errors[len(model.members_) - 1] <= errors.min() + model.tol
    assert len(errors) == len(model.members_) + 15
    if source == "given":
        assert 1 - model.score(X[test], y[test]) == pytest.approx(errors[len(model.members_) - 1])
        staged = [1 - score for score in model.staged_score(X[test], y[test])]
        np.testing.assert_allclose(staged, errors[: len(model.members_)], atol=1e-12)


def test_validation_without_early_stopping_is_only_recorded(pima):
    X, y = pima
    model = AdaBoostClassifier(n_estimators=20).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert len(model.members_) == 20
    assert np.all(np.isfinite(model.history_.validation_error))
    with pytest.raises(ValueError, match="y_val has labels that y has not"):
        AdaBoostClassifier().fit(X[:400], y[:400], X_val=X[400:402], y_val=["?", "??"])


def test_target_error_ends_the_run():
    sonar = load_sample("sonar")
    model = AdaBoostClassifier(n_estimators=500, target_error=0.05).fit(sonar.X, sonar.y)
    assert model.history_.train_error[-1] <= 0.05 < model.history_.train_error[-2]
    assert "reached the target" in model.stop_reason_


def test_a_perfect_hypothesis_gets_a_finite_coefficient_and_a_warning():
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    with pytest.warns(ConvergenceWarning, match="1 member: a hypothesis is perfect"):
        model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    assert len(model.members_) == 1
    assert np.isfinite(model.estimator_weights_).all()
    assert model.score(X, y) == 1.0
    with pytest.warns(ConvergenceWarning, match="perfect"):
        deep = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=10).fit(*_noise(60))
    assert len(deep.members_) == 1


def _noise(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(0, 2, n)


def test_resampling_goes_on_after_a_perfect_hypothesis():
    """Breiman's and Freund's trap: boosting an unpruned tree under weights stops after one member."""
    glass = load_sample("glass")
    X, y = np.asarray(glass.X, float), np.asarray(glass.y)
    tree = DecisionTreeClassifier()
    model = AdaBoostClassifier(tree, n_estimators=30, update="resample", random_state=0).fit(X[::2], y[::2])
    assert len(model.members_) == 30
    with pytest.warns(ConvergenceWarning, match="perfect"):
        stuck = AdaBoostClassifier(tree, n_estimators=30).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > stuck.score(X[1::2], y[1::2]) + 0.05


def test_worse_than_chance_stops_or_is_turned_round():
    """Wrong on purpose: AdaBoost stops; with a negative coefficient the learner is as good as the right one."""
    X, y = _noise(80, 1)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="no better than chance"):
        AdaBoostClassifier(Contrary(), n_estimators=5).fit(X, y)
    turned = AdaBoostClassifier(Contrary(), n_estimators=5, on_weak="negate").fit(X, y)
    right = AdaBoostClassifier(DecisionStump(), n_estimators=5).fit(X, y)
    assert np.all(turned.coefficients_ < 0)
    np.testing.assert_allclose(-turned.coefficients_, right.coefficients_, rtol=1e-9)
    np.testing.assert_array_equal(turned.predict(X), right.predict(X))


class Contrary(ClassifierMixin, BaseEstimator):
    """Answers with the other class than the best stump."""

    def fit(self, X, y, sample_weight=None):
        self.stump_ = DecisionStump().fit(X, y, sample_weight)
        self.classes_ = self.stump_.classes_
        return self

    def predict(self, X):
        return self.classes_[::-1][np.searchsorted(self.classes_, self.stump_.predict(X))]


def test_samme_with_two_classes_is_adaboost(pima):
    X, y = pima
    samme = AdaBoostClassifier(n_estimators=15).fit(X, y)
    m1 = AdaBoostM1Classifier(n_estimators=15).fit(X, y)
    np.testing.assert_array_equal(samme.coefficients_, m1.coefficients_)
    np.testing.assert_array_equal(samme.decision_function(X), m1.decision_function(X))


def test_m1_stops_where_samme_goes_on():
    """Glass: six classes and stumps, whose error is soon one half."""
    glass = load_sample("glass")
    m1 = AdaBoostM1Classifier(n_estimators=50).fit(glass.X, glass.y)
    samme = AdaBoostClassifier(n_estimators=50).fit(glass.X, glass.y)
    assert len(m1.members_) <= 3
    assert "no better than chance" in m1.stop_reason_
    assert len(samme.members_) == 50
    assert samme.score(glass.X, glass.y) > m1.score(glass.X, glass.y)


def test_missing_values_and_categories_through_the_trees():
    rng = np.random.default_rng(0)
    n = 400
    town = rng.choice(["Bonn", "Ulm", "Kiel", "Jena"], n)
    size = rng.normal(size=n)
    y = (2 * np.isin(town, ["Ulm", "Kiel"]) + size > 1).astype(int)
    frame = pd.DataFrame({"town": pd.Categorical(town), "size": np.where(rng.random(n) < 0.1, np.nan, size)})
    for model in (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10),
        ArcGVClassifier(n_estimators=40),
    ):
        model.fit(frame, y)
        assert model.score(frame, y) > 0.85
        assert list(model.feature_names_in_) == ["town", "size"]
        assert list(model.estimators_[0].feature_names_in_) == ["town", "size"]


def test_theta_by_validation(pima):
    X, y = pima
    model = AdaBoostThetaClassifier(theta="validation", thetas=[0.0, 0.05, 0.2], n_estimators=30, random_state=0)
    model.fit(X[:500], y[:500], X_val=X[500:], y_val=y[500:])
    assert model.theta_ in (0.0, 0.05, 0.2)
    errors = [
        1
        - AdaBoostThetaClassifier(theta=theta, n_estimators=30, random_state=0)
        .fit(X[:500], y[:500])
        .score(X[500:], y[500:])
        for theta in (0.0, 0.05, 0.2)
    ]
    np.testing.assert_allclose(model.theta_errors_, errors, atol=1e-12)
    assert errors[[0.0, 0.05, 0.2].index(model.theta_)] == min(errors)
    with pytest.raises(ValueError, match="needs rows to judge on"):
        AdaBoostThetaClassifier(theta="validation").fit(X, y)


def test_the_margin_family_refuses_more_classes():
    glass = load_sample("glass")
    for model in (ArcGVClassifier(), AdaBoostStarClassifier(), AdaBoostThetaClassifier()):
        with pytest.raises(ValueError, match="Only binary classification is supported"):
            model.fit(glass.X, glass.y)


def test_learning_rate_scales_the_coefficients(pima):
    X, y = pima
    whole, half = (AdaBoostClassifier(n_estimators=1, learning_rate=rate).fit(X, y) for rate in (1.0, 0.5))
    assert half.coefficients_[0] == pytest.approx(0.5 * whole.coefficients_[0])


def test_edges_under_the_last_weights(pima):
    X, y = pima
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    edges = model.edges(X, y)
    assert edges[-1] == pytest.approx(0.0, abs=1e-9)  # E-6
    with pytest.raises(ValueError, match="pass the training table"):
        model.edges(X[:10], y[:10])


def test_verbose_shows_progress(pima, capsys):
    X, y = pima
    AdaBoostClassifier(n_estimators=3, verbose=1).fit(X, y)
    assert "AdaBoostClassifier" in capsys.readouterr().out


def test_history_as_a_frame(pima):
    X, y = pima
    history = AdaBoostClassifier(n_estimators=4).fit(X, y).history_
    frame = history.to_frame()
    assert list(frame["round"]) == [1, 2, 3, 4]
    assert history.n_rounds == 4
    with pytest.raises(AttributeError, match="no column 'egde'; it has round, error, edge"):
        _ = history.egde


def test_a_warm_start_goes_on_after_validation_cut_the_members(pima):
    """The members after the best round are not used, but they are there to go on from."""
    X, y = pima
    extra = {"X_val": X[500:], "y_val": y[500:]}
    params = {"early_stopping": "validation", "n_iter_no_change": 100, "random_state": 0}
    whole = AdaBoostClassifier(n_estimators=40, **params).fit(X[:500], y[:500], **extra)
    parts = AdaBoostClassifier(n_estimators=25, warm_start=True, **params).fit(X[:500], y[:500], **extra)
    parts.set_params(n_estimators=40).fit(X[:500], y[:500], **extra)
    np.testing.assert_array_equal(parts.history_.validation_error, whole.history_.validation_error)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))
    assert len(whole.members_) == 1 + np.argmin(whole.history_.validation_error)
