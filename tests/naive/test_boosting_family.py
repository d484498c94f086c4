"""Each booster of the margin family against its plain twin from the paper, fed with the same hypotheses."""

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
from tests.naive import boosting as naive


def problem(seed, n_classes=2):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 120)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d))
    if seed % 3 == 1:
        X = np.round(X, 1)
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.7 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    weight = rng.integers(1, 5, n).astype(float)
    return X, y, weight


def compare(model, run, rounds):
    """All columns of the history against the twin's, to 1e-9."""
    history = model.history_
    assert len(model.members_) == rounds
    np.testing.assert_allclose(history.edge, run.edge[:rounds], atol=1e-9)
    np.testing.assert_allclose(history.coefficient, run.coefficient[:rounds], rtol=1e-9)
    np.testing.assert_allclose(history.normalizer, run.Z[:rounds], rtol=1e-9)
    np.testing.assert_allclose(history.min_margin, run.margin[:rounds], atol=1e-9)
    np.testing.assert_allclose(model.sample_weights_, run.weights[rounds - 1], rtol=1e-7, atol=1e-15)


def predictions_of(model, X):
    return np.array([np.asarray(member.predictions(X), float) for member in model.members_])


FAMILY = {
    "adaboost": (AdaBoostClassifier(n_estimators=40), naive.replay_adaboost, {}),
    "theta": (AdaBoostThetaClassifier(theta=0.02, n_estimators=40), naive.replay_theta, {"theta": 0.02}),
    "arc-gv": (ArcGVClassifier(n_estimators=40), naive.replay_arc_gv, {}),
    "star": (AdaBoostStarClassifier(nu=0.2, n_estimators=40), naive.replay_star, {"nu": 0.2}),
    "closed": (
        ConfidenceRatedAdaBoostClassifier(step="closed_form", n_estimators=40),
        naive.replay_confidence,
        {"form": "closed"},
    ),
    "numeric": (
        ConfidenceRatedAdaBoostClassifier(step="numeric", n_estimators=40),
        naive.replay_confidence,
        {"form": "numeric"},
    ),
    "log-odds": (ConfidenceRatedAdaBoostClassifier(n_estimators=40), naive.replay_confidence, {"form": "unit"}),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", FAMILY)
def test_booster_equals_its_twin(name, seed):
    model, twin, extra = FAMILY[name]
    X, codes, weight = problem(seed)
    model = model.fit(X, codes, weight)
    y = np.where(codes == 1, 1, -1)
    predictions = predictions_of(model, X)
    if name == "log-odds":  # in the paper the answers are the log-odds themselves and a = 1
        predictions *= model.coefficients_[:, None]
    run = twin(predictions, y=y, w0=weight, **extra)
    rounds = len(model.members_)
    assert rounds <= len(run.edge)
    if name == "log-odds":
        run = run._replace(edge=run.edge / model.coefficients_, coefficient=model.coefficients_,
                           margin=run.margin * np.arange(1, rounds + 1) / np.cumsum(model.coefficients_))  # fmt: skip
    compare(model, run, rounds)


@pytest.mark.parametrize("seed", range(6))
def test_adaboost_learns_the_best_stump_of_every_round(seed):
    X, codes, weight = problem(seed)
    y = np.where(codes == 1, 1, -1)
    run, stumps = naive.adaboost(X, y, weight, 15)
    model = AdaBoostClassifier(n_estimators=15).fit(X, codes, weight)
    for t, (member, best) in enumerate(zip(model.estimators_, stumps, strict=True)):
        if len(best.ties) > 1:
            break  # from here on the runs may differ
        np.testing.assert_allclose(model.history_.edge[t], best.edge, atol=1e-9)
        assert member.feature_ == (None if best.feature < 0 else best.feature)
        assert member.feature_ is None or member.threshold_ == best.threshold
    else:
        np.testing.assert_allclose(model.history_.coefficient, run.coefficient, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_samme_and_m1_equal_their_twins(k, seed):
    X, codes, weight = problem(seed, k)
    tree = DecisionTreeClassifier(max_depth=3)
    for model, twin in ((AdaBoostClassifier(tree), naive.replay_samme), (AdaBoostM1Classifier(tree), naive.replay_m1)):
        model = model.set_params(n_estimators=12).fit(X, codes, weight)
        predictions = predictions_of(model, X)
        predictions = (predictions > 0).astype(int) if k == 2 else predictions.astype(int)
        run = twin(predictions, codes, k, weight)
        rounds = len(run.coefficient)
        np.testing.assert_allclose(model.history_.coefficient[:rounds], run.coefficient, rtol=1e-9)
        np.testing.assert_allclose(model.history_.error[:rounds], run.error, atol=1e-9)
        np.testing.assert_allclose(model.history_.normalizer[:rounds], run.Z, rtol=1e-9)


def test_log_odds_of_the_leaves():
    X, codes, weight = problem(3)
    model = ConfidenceRatedAdaBoostClassifier(n_estimators=1).fit(X, codes, weight)
    member = model.members_[0]
    leaf = np.array([estimator.apply(X) for estimator in model.estimators_])[0]
    smoothing = 0.5 / weight.sum()
    y = np.where(codes == 1, 1, -1)
    values = naive.confidence_tree_values(leaf, y, weight / weight.sum(), smoothing)
    for node in np.unique(leaf):
        assert model.coefficients_[0] * member.node_predictions[node] == pytest.approx(values[node], abs=1e-12)
    assert np.abs(member.node_predictions).max() == 1.0
