"""The theorems of AdaBoost and its family as numbers, on every round of real fits."""

from __future__ import annotations

import numpy as np
import pytest

from committee import (
    AdaBoostClassifier,
    AdaBoostM1Classifier,
    AdaBoostStarClassifier,
    AdaBoostThetaClassifier,
    ArcGVClassifier,
    ConfidenceRatedAdaBoostClassifier,
    DecisionTreeClassifier,
)
from committee.datasets import load_dataset
from committee.theory.bounds import margin_error_bound, training_error_bounds
from committee.theory.margins import fraction_below

ROUNDS = 60
DEPTH_2 = DecisionTreeClassifier(max_depth=2)

TWO_CLASS = {
    "adaboost": AdaBoostClassifier(n_estimators=ROUNDS),
    "adaboost negate": AdaBoostClassifier(n_estimators=ROUNDS, on_worse_than_chance="negate"),
    "adaboost, depth 2": AdaBoostClassifier(DEPTH_2, n_estimators=ROUNDS),
    "adaboost, resample": AdaBoostClassifier(n_estimators=ROUNDS, weighting="resample", random_state=1),
    "m1": AdaBoostM1Classifier(n_estimators=ROUNDS),
    "theta": AdaBoostThetaClassifier(theta=0.05, n_estimators=ROUNDS),
    "arc-gv": ArcGVClassifier(n_estimators=ROUNDS),
    "star": AdaBoostStarClassifier(nu=0.1, n_estimators=ROUNDS),
    "log-odds": ConfidenceRatedAdaBoostClassifier(n_estimators=ROUNDS),
    "closed": ConfidenceRatedAdaBoostClassifier(n_estimators=ROUNDS, step="closed_form"),
    "numeric": ConfidenceRatedAdaBoostClassifier(n_estimators=ROUNDS, step="numeric"),
}


def table(name, weighted):
    sample = load_dataset(name)
    rng = np.random.default_rng(7)
    weight = rng.integers(1, 4, len(sample.y)).astype(float) if weighted else np.ones(len(sample.y))
    return sample.X, sample.y, weight


def replay(model, X, y, weight):
    """Agreements u [n, T], and the weights before each round and after the last one [T + 1, n], from scratch."""
    u = model.agreements(X, y)
    w = [weight / weight.sum()]
    for a, column in zip(model.coefficients_, u.T, strict=True):
        new = w[-1] * np.exp(-a * column)
        w.append(new / new.sum())
    return u, np.array(w)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", ["sonar", "ionosphere", "pima_diabetes"])
@pytest.mark.parametrize("name", TWO_CLASS)
def test_weights_are_proportional_to_the_exponential_loss(name, data, weighted):
    X, y, weight = table(data, weighted)
    model = TWO_CLASS[name].fit(X, y, weight)
    u, _ = replay(model, X, y, weight)
    f = u @ model.coefficients_
    loss = weight / weight.sum() * np.exp(-f)
    np.testing.assert_allclose(model.sample_weights_.sum(), 1.0, atol=1e-12)
    np.testing.assert_allclose(model.sample_weights_, loss / loss.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.history_.exponential_risk[-1], loss.sum(), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", ["sonar", "pima_diabetes"])
@pytest.mark.parametrize("name", TWO_CLASS)
def test_every_round_of_the_history_is_what_the_members_say(name, data, weighted):
    X, y, weight = table(data, weighted)
    model = TWO_CLASS[name].fit(X, y, weight)
    history = model.history_
    u, w = replay(model, X, y, weight)
    a = model.coefficients_
    f = np.cumsum(u * a, axis=1)
    edge = np.sum(w[:-1].T * u, axis=0)
    z = np.sum(w[:-1].T * np.exp(-a * u), axis=0)
    positive = model.classes_[1] == np.asarray(y)
    score = f * np.where(positive, 1.0, -1.0)[:, None]
    wrong = (score > 0) != positive[:, None]
    np.testing.assert_allclose(history.edge, edge, atol=1e-9)
    np.testing.assert_allclose(history.error, (1 - edge) / 2, atol=1e-9)
    np.testing.assert_allclose(history.normalizer, z, rtol=1e-9)
    np.testing.assert_allclose(history.exponential_risk, np.cumprod(z), rtol=1e-9)
    np.testing.assert_allclose(history.train_error, (weight / weight.sum()) @ wrong, atol=1e-9)
    np.testing.assert_allclose(history.min_margin, (f / np.cumsum(np.abs(a))).min(axis=0), atol=1e-9)
    np.testing.assert_allclose(history.max_weight, w[1:].max(axis=1), rtol=1e-9)
    assert np.all(history.exponential_risk >= history.train_error - 1e-12)


@pytest.mark.parametrize("data", ["sonar", "ionosphere", "pima_diabetes"])
@pytest.mark.parametrize(
    "name", ["adaboost", "adaboost, depth 2", "adaboost, resample", "m1", "theta", "arc-gv", "star"]
)
def test_the_last_hypothesis_has_the_known_error_under_the_new_weights(name, data):
    """1/2 for AdaBoost and M1, (1 - theta_t) / 2 for the theta family."""
    X, y, weight = table(data, True)
    model = TWO_CLASS[name].fit(X, y, weight)
    u, w = replay(model, X, y, weight)
    new_error = np.sum(w[1:].T * (1 - u) / 2, axis=0)
    np.testing.assert_allclose(new_error, (1 - model.history_.theta) / 2, atol=1e-9)


def test_edge_zero_under_the_new_weights_for_the_numeric_coefficient():
    X, y, weight = table("sonar", True)
    model = TWO_CLASS["numeric"].fit(X, y, weight)
    u, w = replay(model, X, y, weight)
    np.testing.assert_allclose(np.sum(w[1:].T * u, axis=0), 0.0, atol=1e-9)


def test_closed_confidence_rated_form_keeps_its_bound_on_z():
    X, y, weight = table("ionosphere", True)
    history = TWO_CLASS["closed"].fit(X, y, weight).history_
    assert np.all(history.normalizer <= np.sqrt(1 - history.edge**2) + 1e-12)
    numeric = TWO_CLASS["numeric"].fit(X, y, weight).history_
    assert numeric.normalizer[0] <= history.normalizer[0] + 1e-12  # the same first hypothesis, the best coefficient


@pytest.mark.parametrize("data", ["glass", "vehicle"])
def test_samme_leaves_the_error_of_chance(data):
    """(K - 1) / K under the new weights."""
    X, y, weight = table(data, True)
    model = AdaBoostClassifier(n_estimators=ROUNDS).fit(X, y, weight)
    u, w = replay(model, X, y, weight)
    k = model.n_classes_
    np.testing.assert_allclose(np.sum(w[1:].T * (1 - u) / 2, axis=0), (k - 1) / k, atol=1e-9)
    np.testing.assert_allclose(model.sample_weights_, w[-1], rtol=1e-9)


def test_discrete_z_and_the_chain_of_bounds():
    """Z = 2 sqrt(e (1 - e)); training error <= prod Z <= exp(-2 sum g^2)."""
    X, y, weight = table("pima_diabetes", True)
    history = TWO_CLASS["adaboost"].fit(X, y, weight).history_
    np.testing.assert_allclose(history.normalizer, 2 * np.sqrt(history.error * (1 - history.error)), rtol=1e-9)
    bounds = training_error_bounds(history.edge)
    np.testing.assert_allclose(history.edge_bound, bounds.product, rtol=1e-9)
    np.testing.assert_allclose(history.exponential_risk, bounds.product, rtol=1e-9)
    assert np.all(bounds.product <= bounds.exponential + 1e-12)
    assert np.all(history.train_error <= bounds.product + 1e-12)


@pytest.mark.parametrize("theta", [0.0, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("data", ["sonar", "ionosphere", "pima_diabetes"])
def test_share_of_small_margins_is_below_its_bound_on_every_round(data, theta):
    X, y, _ = table(data, False)
    model = TWO_CLASS["adaboost"].fit(X, y)
    bound = margin_error_bound(model.history_.error, theta)
    share = [fraction_below(margins, theta) for margins in model.staged_margins(X, y)]
    assert np.all(np.array(share) <= bound + 1e-12)


def test_weights_mean_repetition_for_the_whole_family():
    X, y, weight = table("sonar", True)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    for name, model in TWO_CLASS.items():
        if "resample" in name:
            continue
        weighted = model.fit(X, y, weight).decision_function(X)
        repeated = model.fit(X[rows], np.asarray(y)[rows]).decision_function(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-7, err_msg=name)
