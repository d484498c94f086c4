"""What the boosters share: warm start, early stopping, staged answers, validation, views of the members, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

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
from committee.boosting.multiplicative_weights import ONLY_MEMBER
from committee.datasets import load_dataset

MODELS = {
    "adaboost": AdaBoostClassifier(random_state=0),
    "binned": AdaBoostClassifier(DecisionStump(splitter="binned"), random_state=0),
    "depth 3": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, max_features=3), random_state=0),
    "resample": AdaBoostClassifier(weighting="resample", random_state=0),
    "m1": AdaBoostM1Classifier(random_state=0),
    "theta": AdaBoostThetaClassifier(theta=0.03, random_state=0),
    "arc-gv": ArcGVClassifier(random_state=0),
    "star": AdaBoostStarClassifier(nu=0.1, random_state=0),
    "log-odds": ConfidenceRatedAdaBoostClassifier(random_state=0),
    "closed": ConfidenceRatedAdaBoostClassifier(step="closed_form", random_state=0),
}
every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def pima():
    sample = load_dataset("pima_diabetes")
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
    np.testing.assert_array_equal(parts.sample_weights_, whole.sample_weights_)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_a_warm_start_rejects_other_rows_and_fewer_rounds(pima):
    X, y = pima
    model = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="previous fit: it had 768 rows"):
        model.set_params(n_estimators=8).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="n_estimators=3 must be larger or equal to the 5 members"):
        model.set_params(n_estimators=3).fit(X, y)


@every_model
def test_staged_predictions_end_at_the_final_ones(name, pima):
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
    with pytest.raises(ValueError, match="y_val has labels that y in fit does not have"):
        AdaBoostClassifier().fit(X[:400], y[:400], X_val=X[400:402], y_val=["?", "??"])


def test_target_error_ends_the_run():
    sonar = load_dataset("sonar")
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
    glass = load_dataset("glass")
    X, y = np.asarray(glass.X, float), np.asarray(glass.y)
    tree = DecisionTreeClassifier()
    model = AdaBoostClassifier(tree, n_estimators=30, weighting="resample", random_state=0).fit(X[::2], y[::2])
    assert len(model.members_) == 30
    with pytest.warns(ConvergenceWarning, match="perfect"):
        stuck = AdaBoostClassifier(tree, n_estimators=30).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > stuck.score(X[1::2], y[1::2]) + 0.05


def test_perfect_members_of_a_resampled_run_are_counted():
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 8
    with pytest.warns(ConvergenceWarning, match="of 10 members have no training error"):
        model = AdaBoostClassifier(n_estimators=10, weighting="resample", random_state=0).fit(X, y)
    assert len(model.members_) == 10
    assert np.isfinite(model.coefficients_).all()


def test_worse_than_chance_stops_or_is_turned_round():
    """Wrong on purpose: AdaBoost stops; with a negative coefficient the learner is as good as the right one."""
    X, y = _noise(80, 1)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="no better than chance"):
        AdaBoostClassifier(Contrary(), n_estimators=5).fit(X, y)
    turned = AdaBoostClassifier(Contrary(), n_estimators=5, on_worse_than_chance="negate").fit(X, y)
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
    glass = load_dataset("glass")
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
    held_out = AdaBoostThetaClassifier(theta="validation", n_estimators=10, random_state=0).fit(X, y)
    assert len(held_out.theta_errors_) == len(held_out.thetas)
    assert held_out.sample_weights_.size < len(y)


def test_a_warm_start_keeps_the_theta_of_validation(pima):
    """Five rounds choose another theta than forty: the rounds of one vote have one margin target."""
    X, y = pima
    rows, judged = (X[:500], y[:500]), {"X_val": X[500:], "y_val": y[500:]}
    params = {"theta": "validation", "thetas": [0.0, 0.05, 0.2], "random_state": 0}
    model = AdaBoostThetaClassifier(n_estimators=5, warm_start=True, **params).fit(*rows, **judged)
    theta, errors = model.theta_, model.theta_errors_
    assert AdaBoostThetaClassifier(n_estimators=40, **params).fit(*rows, **judged).theta_ != theta
    model.set_params(n_estimators=40).fit(*rows, **judged)
    whole = AdaBoostThetaClassifier(theta=theta, n_estimators=40, random_state=0).fit(*rows, **judged)
    assert model.theta_ == theta
    assert model.theta_errors_ is errors
    np.testing.assert_array_equal(model.history_.theta, whole.history_.theta)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    model.set_params(theta=theta).fit(*rows)
    assert not hasattr(model, "theta_errors_")  # none were measured for a theta that was given


def test_the_margin_family_rejects_more_classes():
    glass = load_dataset("glass")
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
    assert edges[-1] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(ValueError, match="pass the training rows"):
        model.edges(X[:10], y[:10])


def test_verbose_shows_progress(pima, capsys):
    X, y = pima
    AdaBoostClassifier(n_estimators=3, verbose=1).fit(X, y)
    assert "AdaBoostClassifier" in capsys.readouterr().out


def test_history_as_a_frame(pima):
    X, y = pima
    history = AdaBoostClassifier(n_estimators=4).fit(X, y).history_
    frame = history.to_pandas()
    assert list(frame["round"]) == [1, 2, 3, 4]
    assert history.n_rounds == 4
    with pytest.raises(AttributeError, match="no column 'egde'; its columns are round, error, edge"):
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


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("columns", lambda X, y: (X[:, :3], y)),
        ("values", lambda X, y: (X + np.eye(*X.shape), y)),
        ("labels", lambda X, y: (X, np.where(y == y[0], "neg", "pos") if y[0] == "pos" else np.roll(y, 1))),
    ],
)
def test_a_warm_start_rejects_other_data(what, change, pima):
    X, y = pima
    model = AdaBoostClassifier(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="previous fit"):
        model.set_params(n_estimators=8).fit(*change(X, y))
    with pytest.raises(ValueError, match="X, y or sample_weight changed"):
        model.set_params(n_estimators=8).fit(X, y, sample_weight=np.arange(1.0, len(y) + 1))


def test_a_warm_start_rejects_a_state_that_does_not_know_its_table(pima):
    """As files of older versions hold it: nobody can say whether the rows are the same."""
    X, y = pima
    model = AdaBoostClassifier(n_estimators=5, warm_start=True, random_state=0).fit(X, y)
    model._state = model._state._replace(fingerprint=model._state.fingerprint[:-1])
    with pytest.raises(ValueError, match="X, y or sample_weight changed"):
        model.set_params(n_estimators=8).fit(X, y)
    assert model.set_params(warm_start=False).fit(X, y).history_.n_rounds == 8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_after_the_end_changes_nothing(pima):
    X, y = pima
    ended = [
        AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=10),  # perfect at once
        AdaBoostClassifier(n_estimators=500, target_error=0.22),
        AdaBoostClassifier(n_estimators=300, early_stopping="validation", n_iter_no_change=5),
        AdaBoostThetaClassifier(theta=0.3, n_estimators=300),
    ]
    for model in ended:
        model.set_params(warm_start=True, random_state=0).fit(X, y)
        n_members, n_rounds = len(model.members_), model.history_.n_rounds
        assert n_rounds < model.n_estimators
        model.fit(X, y)
        assert (len(model.members_), model.history_.n_rounds) == (n_members, n_rounds)


@pytest.mark.parametrize("step", ["closed_form", "numeric"])
def test_predictions_that_say_nothing_end_the_run(step, pima):
    """Probabilities of one half everywhere: no row speaks against them, but they have no edge."""
    X, y = pima
    learner = DummyClassifier(strategy="uniform")
    model = ConfidenceRatedAdaBoostClassifier(learner, step=step, n_estimators=20)
    weight = 1.0 + np.arange(len(y)) % 7  # as shares their sum is not exactly one, nor the edge exactly zero
    with pytest.warns(ConvergenceWarning, match=r"after 1 member: the edge -?0\.0000 is no better than chance"):
        model.fit(X, y, sample_weight=weight)
    assert model.coefficients_.tolist() == [ONLY_MEMBER]
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-8)


def test_margin_targets_out_of_reach_end_the_run(pima):
    X, y = pima
    model = AdaBoostThetaClassifier(theta=0.2, n_estimators=500).fit(X, y)
    assert "does not exceed the margin target" in model.stop_reason_
    assert np.all(model.coefficients_ > 1e-10)


def test_never_right_is_worse_than_chance_or_perfect_turned_round():
    X, y = np.arange(20.0)[:, None], (np.arange(20) >= 8).astype(int)
    with pytest.warns(ConvergenceWarning, match="no better than chance"):
        AdaBoostClassifier(Contrary(), n_estimators=5).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="perfect"):
        turned = AdaBoostClassifier(Contrary(), n_estimators=5, on_worse_than_chance="negate").fit(X, y)
    assert turned.score(X, y) == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_rows_follow_the_fraction_and_leave_every_class(pima):
    X, y = pima
    for fraction in (0.1, 0.4, 0.7):
        model = AdaBoostClassifier(
            n_estimators=3, early_stopping="validation", validation_fraction=fraction, random_state=0
        ).fit(X, y)
        assert model.sample_weights_.size == pytest.approx((1 - fraction) * len(y), abs=2)
        assert model.edges(X, y).shape == (len(model.members_),)  # the whole table: rows held out are left out
    rare = np.array([0] * 39 + [1])
    for seed in range(5):
        model = AdaBoostClassifier(n_estimators=3, early_stopping="validation", random_state=seed)
        model.fit(X[:40] + 100 * rare[:, None], rare)
        assert model.predict(X[39:40] + 100)[0] == 1


def test_the_margin_stop_is_for_two_classes():
    glass = load_dataset("glass")
    with pytest.raises(ValueError, match="early_stopping='margin' is for two classes"):
        AdaBoostClassifier(early_stopping="margin").fit(glass.X, glass.y)


def test_edge_bound_is_a_bound_or_missing(pima):
    X, y = pima
    for model in (
        AdaBoostClassifier(n_estimators=30),
        AdaBoostClassifier(n_estimators=30, learning_rate=0.1),
        ConfidenceRatedAdaBoostClassifier(DecisionTreeClassifier(max_depth=3, criterion="z"), n_estimators=30),
    ):
        history = model.fit(X, y).history_
        known = ~np.isnan(history.edge_bound)
        assert np.all(history.edge_bound[known] >= history.train_error[known] - 1e-12)


def test_confidences_stay_in_their_range(pima):
    X, y = pima
    model = ConfidenceRatedAdaBoostClassifier(DecisionTreeClassifier(max_depth=3, criterion="z")).fit(X, y)
    assert np.abs(model.decision_function(X)).max() <= 1.0
    assert np.all((model.estimator_errors_ >= 0.0) & (model.estimator_errors_ <= 0.5))
    assert np.abs(model.agreements(X, y)).max() <= 1.0


def test_probabilities_have_a_slope_fitted_on_validation_rows(pima):
    X, y = pima
    params = {"n_estimators": 300, "random_state": 0}
    plain = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **params).fit(X[:400], y[:400])
    judged = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **params)
    judged.fit(X[:400], y[:400], X_val=X[400:600], y_val=y[400:600])
    assert 0.0 < judged.probability_slope_ < 0.5
    np.testing.assert_array_equal(plain.predict(X), judged.predict(X))
    plain.probability_slope_ = 1.0
    losses = [log_loss(y[600:], model.predict_proba(X[600:])) for model in (plain, judged)]
    assert losses[1] < losses[0] - 0.05
