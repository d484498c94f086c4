"""Restarts of a local search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as ScikitTree
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.members.perceptron import PocketPerceptron
from committee.members.restarts import RestartClassifier

ESTIMATORS = [
    RestartClassifier(),
    RestartClassifier(n_restarts=3, combine="vote"),
    RestartClassifier(ScikitTree(splitter="random", max_depth=2), n_restarts=3),  # takes sparse tables
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture
def hard() -> tuple[Any, Any]:
    return make_classification(300, 8, flip_y=0.2, class_sep=0.5, random_state=1)


def test_the_best_under_the_weights_is_kept(hard: Any) -> None:
    X, y = hard
    weight = np.random.default_rng(0).exponential(size=300)
    model = RestartClassifier(PocketPerceptron(max_iter=5, n_restarts=1), n_restarts=12, random_state=0)
    model.fit(X, y, weight)
    assert len(model.errors_) == 12
    assert len(set(model.errors_.round(9))) > 3  # the starts do differ
    assert model.errors_.min() == pytest.approx(model.best_.error_[0])
    assert 1.0 - model.score(X, y, weight) == pytest.approx(model.errors_.min())
    assert len(model.members_) == 1


def test_the_vote_is_that_of_all_members(hard: Any) -> None:
    X, y = hard
    model = RestartClassifier(PocketPerceptron(max_iter=5, n_restarts=1), n_restarts=7, combine="vote", random_state=0)
    model.fit(X, y)
    predictions = np.array([member.predict(X) for member in model.members_])
    assert predictions.shape == (7, 300)
    assert np.any(predictions != predictions[0])
    np.testing.assert_array_equal(model.predict(X), predictions.mean(axis=0) > 0.5)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], predictions.mean(axis=0))
    assert not hasattr(model, "decision_function")


def test_scores_and_probabilities_are_there_where_the_base_has_them(hard: Any) -> None:
    X, y = hard
    perceptron = RestartClassifier(n_restarts=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(perceptron.decision_function(X), perceptron.best_.decision_function(X))
    assert not hasattr(perceptron, "predict_proba")
    tree = RestartClassifier(ScikitTree(splitter="random", max_depth=2), n_restarts=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.predict_proba(X), tree.best_.predict_proba(X))
    assert not hasattr(tree, "decision_function")


def test_every_random_state_inside_gets_the_seed(hard: Any) -> None:
    X, y = hard
    inner = make_pipeline(StandardScaler(), PocketPerceptron(max_iter=5, n_restarts=1))
    model = RestartClassifier(inner, n_restarts=5, random_state=0).fit(X, y)
    assert len(set(model.errors_)) > 1
    again = RestartClassifier(inner, n_restarts=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.errors_, again.errors_)


class OneSide(ClassifierMixin, BaseEstimator):
    """Refuses a single class, as many classifiers do; takes no weights."""

    def fit(self, X: Any, y: Any) -> OneSide:
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError("one class")
        self.prediction_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.prediction_)


def test_without_weights_of_its_own_the_base_sees_resamples() -> None:
    X = pd.DataFrame({"a": np.arange(30.0), "b": np.zeros(30)})
    y = (np.arange(30) < 10).astype(int)
    model = RestartClassifier(OneSide(), random_state=0).fit(X, y, np.where(y == 1, 20.0, 1.0))
    assert set(model.predict(X)) == {1}  # a majority by weight, not by rows
    rare = (np.arange(30) < 1).astype(int)
    RestartClassifier(OneSide(), n_restarts=20, random_state=0).fit(
        X, rare, np.ones(30)
    )  # redrawn where it has one class
    neighbours = RestartClassifier(KNeighborsClassifier(1), n_restarts=4, random_state=0).fit(X, y, np.ones(30))
    assert neighbours.errors_.max() > 0.0  # it did not see every row
    assert list(neighbours.feature_names_in_) == ["a", "b"]
