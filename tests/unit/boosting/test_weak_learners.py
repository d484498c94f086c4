"""Weak learners of other libraries and of `parts` in AdaBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from committee.base import threads
from committee.boosting._weak_learners import Resampling, TrainingRows, make_learner
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
from committee.members.member import WeakHypothesis
from committee.members.perceptron import PocketPerceptron
from committee.members.restarts import RestartClassifier
from committee.tabular.schema import fit_columns
from committee.trees.decision_tree import DecisionTreeClassifier
from tests.naive.boosting import replay_adaboost

Floats = NDArray[np.float64]


@pytest.fixture
def moons() -> tuple[Floats, NDArray[Any]]:
    X, y = make_moons(200, noise=0.2, random_state=0)
    return X, np.array(["out", "in"])[y]


LEARNERS = [
    PocketPerceptron(),
    RestartClassifier(PocketPerceptron(n_restarts=1), n_restarts=3),
    RestartClassifier(DecisionTreeClassifier(max_depth=1, splitter="random"), n_restarts=5, combine="vote"),
    MLPClassifier(hidden_layer_sizes=(3,), max_iter=15),
    LogisticRegression(),
    GaussianNB(),
    KNeighborsClassifier(15),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 15 steps are meant to be few
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("weighting", ["reweight", "resample"])
def test_any_classifier_is_boosted_by_the_rule_of_the_twin(moons: Any, learner: Any, weighting: Any) -> None:
    X, y = moons
    model = AdaBoostClassifier(
        learner, n_estimators=6, weighting=weighting, on_worse_than_chance="negate", random_state=0
    ).fit(X, y)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    predictions = np.array(
        [np.where(member.predict(X) == model.classes_[1], 1.0, -1.0) for member in model.estimators_]
    )
    twin = replay_adaboost(predictions, sign, np.ones(200), negate=True)
    np.testing.assert_allclose(model.history_.error, twin.error, rtol=1e-9)
    np.testing.assert_allclose(model.coefficients_, twin.coefficient, rtol=1e-9)
    np.testing.assert_allclose(model.sample_weights_, twin.weights[-1], rtol=1e-8)
    again = AdaBoostClassifier(
        learner, n_estimators=6, weighting=weighting, on_worse_than_chance="negate", random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("learner", [PocketPerceptron(), RestartClassifier(n_restarts=5)])
def test_boosting_leaves_the_class_of_linear_units(moons: Any, learner: Any) -> None:
    X, y = moons
    boosted = AdaBoostClassifier(learner, n_estimators=40, random_state=0).fit(X, y)
    alone = learner.set_params(random_state=0).fit(X, y)
    assert boosted.score(X, y) > alone.score(X, y) + 0.05


def test_three_classes() -> None:
    X, y = make_blobs(150, centers=3, cluster_std=2.0, random_state=2)
    for learner in (PocketPerceptron(), RestartClassifier(n_restarts=2), KNeighborsClassifier(9)):
        model = AdaBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y)
        assert model.predict_proba(X).shape == (150, 3)
        assert model.score(X, y) > 0.75  # logistic regression: 0.83


class Diary(ClassifierMixin, BaseEstimator):
    """Writes down what it is given and answers the most frequent label; takes no weights."""

    seen: list[tuple[Floats, NDArray[Any]]] = []  # noqa: RUF012  # shared by all clones on purpose

    def fit(self, X: Floats, y: NDArray[Any]) -> Diary:
        self.seen.append((X, y))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.prediction_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X: Floats) -> NDArray[Any]:
        return np.full(len(X), self.prediction_)


def make_task(n_minority: int, n: int = 100) -> TrainingRows:
    X = np.arange(float(n))[:, np.newaxis]
    codes = (np.arange(n) < n_minority).astype(np.int64)
    return TrainingRows(fit_columns(X), X, codes, np.array(["no", "yes"]), np.ones(n))


def test_a_learner_without_weights_sees_a_sample_drawn_by_them() -> None:
    Diary.seen.clear()
    task = make_task(50)
    learn = make_learner(Diary(), task, weighting="reweight", kind="votes", n_jobs=None)
    weight = np.where(np.arange(100) < 50, 0.019, 0.001)
    for seed in range(200):
        learn(weight, seed)
    X, labels = Diary.seen[0]
    assert X.shape == (100, 1)
    np.testing.assert_array_equal(labels == "yes", X[:, 0] < 50)
    share = np.mean([np.mean(labels == "yes") for _, labels in Diary.seen])
    assert share == pytest.approx(0.95, abs=0.01)  # standard error sqrt(0.95 * 0.05 / 20000) = 0.0015


def test_a_resample_has_two_classes_where_that_is_possible() -> None:
    Diary.seen.clear()
    task = make_task(1)
    learn = make_learner(Diary(), task, weighting="reweight", kind="votes", n_jobs=None)
    for seed in range(100):  # a single draw misses the one row with probability 0.37
        learn(task.weight, seed)
    assert all(len(np.unique(labels)) == 2 for _, labels in Diary.seen)


def test_a_resample_of_one_class_is_fitted_all_the_same() -> None:
    Diary.seen.clear()
    task = make_task(1)
    learn = make_learner(Diary(), task, weighting="reweight", kind="votes", n_jobs=None)
    weight = np.where(np.arange(100) < 1, 0.0, 1.0 / 99.0)  # the other class has no weight left
    guess = learn(weight, 0)
    np.testing.assert_array_equal(guess.predictions, np.full(100, -1))
    np.testing.assert_array_equal(guess.member.predictions(task.X), guess.predictions)


def test_resampled_trees_see_whole_counts() -> None:
    given: list[Floats] = []

    def learner(weight: Floats, seed: int) -> WeakHypothesis:
        given.append(weight)
        return None  # type: ignore[return-value]

    weight = np.array([0.7, 0.2, 0.1, 0.0])
    X = np.arange(4.0)[:, None]
    task = TrainingRows(fit_columns(X), X, np.array([0, 1, 0, 1]), np.array([0, 1]), np.ones(4))
    for seed in range(2000):
        Resampling(learner, task)(weight, seed)
    counts = np.array(given) * 4
    np.testing.assert_allclose(counts, np.rint(counts))
    np.testing.assert_allclose(counts.sum(axis=1), 4)
    np.testing.assert_allclose(counts.mean(axis=0), 4 * weight, atol=0.1)  # standard error at most 0.021


def test_missing_values_are_rejected_for_learners_that_do_not_take_them(moons: Any) -> None:
    X, y = moons
    with pytest.raises(ValueError, match="base learner PocketPerceptron does not accept"):
        AdaBoostClassifier(PocketPerceptron()).fit(np.where(X > 1.5, np.nan, X), y)


def test_confidences_from_probabilities_or_from_a_decision_function(moons: Any) -> None:
    X, y = moons
    for learner in (GaussianNB(), Perceptron(tol=None, max_iter=20)):
        model = ConfidenceRatedAdaBoostClassifier(learner, n_estimators=5, random_state=0).fit(X, y)
        u = model.agreements(X, y)
        assert np.abs(u).max() <= 1.0
        assert np.unique(np.abs(u)).size > 10  # confidences, not votes
        assert model.score(X, y) > 0.8


def test_whole_weights_are_repeated_rows_for_a_regularised_learner(moons: Any) -> None:
    """A penalty is weighed against the sum of the weights: their scale must be that of rows."""
    X, y = moons
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    model = AdaBoostClassifier(LogisticRegression(C=0.01, tol=1e-10, max_iter=1000), n_estimators=3, random_state=0)
    weighted = model.fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(weighted, model.fit(X[rows], y[rows]).decision_function(X), atol=1e-5)


def test_small_binned_trees_are_the_same_with_assistants(monkeypatch):
    """8,000 rows of 30 features are enough for the sums of the upper nodes to be shared out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 30))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=8000) > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, splitter="binned")
    alone = AdaBoostClassifier(tree, n_estimators=8).fit(X, y)
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 1000)
    together = AdaBoostClassifier(tree, n_estimators=8, n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), together.decision_function(X))
    assert alone.history_ == together.history_
