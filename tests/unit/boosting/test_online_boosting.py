"""Online boosting against the paper's algorithm in plain Python, and what its sums and votes must obey."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import poisson
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.boosting.online_boosting import BoostedMember, OnlineBoostingClassifier, online_boosting
from committee.datasets import load_dataset
from committee.members.online import stream_uniforms

Floats = NDArray[np.float64]
CLASSES = np.array(["a", "b", "c"])


class Sign(ClassifierMixin, BaseEstimator):
    """Learns nothing: the sign of a column."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Sign:
        self.classes_ = getattr(self, "classes_", classes)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(X[:, self.column] > 0).astype(int)]


def stream(n: int = 130, seed: int = 0) -> tuple[Floats, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, CLASSES[np.digitize(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n), [-0.6, 0.6])]


def fed(model: Any, X: Any, y: Any, *cuts: int) -> Any:
    for piece in np.split(np.arange(len(X)), cuts):
        model.partial_fit(X[piece], y[piece], classes=CLASSES)
    return model


@parametrize_with_checks([OnlineBoostingClassifier(), OnlineBoostingClassifier(n_estimators=3, random_state=0)])
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def paper(X: Floats, y: NDArray[Any], learners: list[Any], seeds: list[int]) -> tuple[Floats, Floats]:
    """Oza and Russell's algorithm as printed, in the form lambda N / (2 lambda_sc): sums of right and wrong."""
    right, wrong = np.zeros(len(learners)), np.zeros(len(learners))
    learned = [False] * len(learners)
    for i in range(len(X)):
        rate = 1.0
        for t, learner in enumerate(learners):
            k = poisson.ppf(stream_uniforms(seeds[t], i, 1)[0], rate)
            if k > 0:
                learner.partial_fit(X[i : i + 1], y[i : i + 1], classes=CLASSES, sample_weight=[k])
                learned[t] = True
            if not learned[t]:
                continue
            if learner.predict(X[i : i + 1])[0] == y[i]:
                right[t] += rate
                rate *= (right[t] + wrong[t]) / (2.0 * right[t])
            else:
                wrong[t] += rate
                rate *= (right[t] + wrong[t]) / (2.0 * wrong[t])
    return right, wrong


def test_row_by_row_it_is_the_algorithm_of_the_paper() -> None:
    X, y = stream()
    learner = SGDClassifier(loss="log_loss", shuffle=False)
    model = OnlineBoostingClassifier(learner, n_estimators=4, batch_size=1, random_state=0)
    model.partial_fit(X, y, classes=CLASSES)
    members: Any = model._online_members()
    learners = [clone(learner) for _ in members]
    right, wrong = paper(X, y, learners, [member.seed for member in members])
    np.testing.assert_allclose([member.right for member in members], right, rtol=1e-9)
    np.testing.assert_allclose([member.wrong for member in members], wrong, rtol=1e-9)
    for member, twin in zip(model.estimators_, learners, strict=True):
        np.testing.assert_allclose(member.coef_, twin.coef_, rtol=1e-9)
    errors = wrong / (right + wrong)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    votes = np.maximum(np.log((1.0 - errors) / errors), 0.0)
    np.testing.assert_allclose(model.estimator_weights_, votes, rtol=1e-9)
    predictions = np.array([twin.predict(X) for twin in learners])
    table = np.array([(votes[:, None] * (predictions == label)).sum(axis=0) for label in CLASSES]).T
    np.testing.assert_allclose(model.predict_proba(X), table / votes.sum(), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), CLASSES[table.argmax(axis=1)])


def test_row_by_row_nothing_depends_on_the_pieces_with_any_member() -> None:
    X, y = stream()
    model = OnlineBoostingClassifier(SGDClassifier(), n_estimators=3, batch_size=1, random_state=0)
    a, b = fed(clone(model), X, y), fed(clone(model), X, y, 1, 50, 120)
    assert a.history_ == b.history_
    np.testing.assert_array_equal(a.estimator_errors_, b.estimator_errors_)


def test_pieces_of_whole_batches_change_nothing() -> None:
    X, y = stream()
    model = OnlineBoostingClassifier(n_estimators=3, batch_size=10, random_state=0)
    a, b = fed(clone(model), X, y), fed(clone(model), X, y, 20, 50, 120)
    assert a.history_ == b.history_


@pytest.mark.parametrize("batch_size", [1, 50])
def test_right_and_wrong_rows_leave_with_half_of_the_rates_each(batch_size: int) -> None:
    """A hypothesis that errs on a fifth of 5000 rows; the sums of the first rows still move, hence the tolerance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1))
    codes = ((X[:, 0] > 0) ^ (rng.random(5000) < 0.2)).astype(np.int64)
    member = BoostedMember(Sign(), 1, np.array([0, 1]))
    rates = np.concatenate(
        [
            online_boosting([member], X[i : i + batch_size], codes[i : i + batch_size], codes[i : i + batch_size],
                            np.ones(batch_size), i)
            for i in range(0, 5000, batch_size)
        ]
    )  # fmt: skip
    is_right = (X[:, 0] > 0) == (codes == 1)
    assert member.error == pytest.approx(np.mean(~is_right), abs=1e-3)  # but for rows before the first count
    assert rates[is_right].sum() == pytest.approx(2500.0, rel=0.05)
    assert rates[~is_right].sum() == pytest.approx(2500.0, rel=0.05)


def test_votes_are_finite_and_never_negative() -> None:
    member = BoostedMember(Sign(), 0, np.array([0, 1]))
    assert member.vote == 0.0
    assert math.isnan(member.error)
    member.right = 99.0
    assert member.vote == pytest.approx(math.log(199.0))  # as half an error in a hundred
    member.wrong = 33.0
    assert member.vote == pytest.approx(math.log(3.0))
    member.wrong = 300.0
    assert member.vote == 0.0


def test_where_nobody_beats_a_coin_all_count_the_same() -> None:
    X, _ = stream(60)
    y = np.where(X[:, 0] > 0, "a", "b")  # Sign says the other
    model = OnlineBoostingClassifier(Sign(), n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.estimator_weights_, np.zeros(3))
    np.testing.assert_array_equal(model.predict(X), np.where(X[:, 0] > 0, "b", "a"))


def test_history_holds_the_evidence() -> None:
    X, y = stream(230)
    model = fed(OnlineBoostingClassifier(n_estimators=4, random_state=0), X, y, 60)
    history = model.history_
    np.testing.assert_array_equal(history.n_seen, [100, 200, 230])
    np.testing.assert_array_equal(history.edges, 1.0 - 2.0 * history.weighted_errors)
    np.testing.assert_array_equal(history.weighted_errors[-1], model.estimator_errors_)
    np.testing.assert_array_equal(history.votes[-1], model.estimator_weights_)
    assert history.member_errors.shape == (3, 4)
    assert history.prequential_error[-1] == model.prequential_error_
    judged = np.array([100.0, 100.0, 30.0])
    judged[0] -= 60.0  # before the first piece nobody has learned
    assert model.prequential_error_ == pytest.approx(np.average(history.error, weights=judged), abs=1e-12)


def test_weights_are_rates() -> None:
    X, y = stream(60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weight))
    model = OnlineBoostingClassifier(Perceptron(), n_estimators=3, random_state=0)
    a, b = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[rows], y[rows])
    assert a.history_ == b.history_
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_the_vote_is_better_than_a_member_on_sonar() -> None:
    """Naive Bayes is weak there: sonar has columns that depend on each other."""
    X, y = load_dataset("sonar")[:2]
    errors, members = [], []
    for seed in range(3):
        model = OnlineBoostingClassifier(GaussianNB(), random_state=seed).fit(scale(X), y)
        errors.append(np.mean(model.predict(scale(X)) != y))
        members.append(np.mean(GaussianNB().fit(X, y).predict(X) != y))
    assert np.mean(errors) < np.mean(members)


def test_a_single_class_is_predicted() -> None:
    X, _ = stream(30)
    model = OnlineBoostingClassifier(random_state=0).fit(X, np.full(30, 7))
    assert set(model.predict(X)) == {7}
