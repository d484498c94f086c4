"""Members of fitted ensembles: their answers one by one, on rows they did not see, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RestartClassifier,
)
from committee.explain._member_predictions import member_predictions
from committee.explain.diversity import ensemble_diversity
from committee.theory.diversity import pairwise_diversity
from committee.voting.stacking import StackingClassifier, StackingRegressor
from committee.voting.voting import VotingClassifier, VotingRegressor

WINE, KINDS = load_wine(return_X_y=True)
NAMES = np.array(["x", "y", "z"])[KINDS]
TWO = np.array(["no", "yes"])[(KINDS == 1).astype(int)]
TRAIN, TEST = np.arange(0, 178, 2), np.arange(1, 178, 2)
NUMBERS = WINE[:, 0] + 0.01 * WINE[:, 12]
MEMBERS: list[tuple[str, Any]] = [
    ("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier()),
]  # fmt: skip
REGRESSORS: list[tuple[str, Any]] = [("tree", DecisionTreeRegressor(max_depth=2)), ("line", Ridge())]

CLASSIFIERS: list[Any] = [
    BaggingClassifier(n_estimators=6, random_state=0),
    BaggingClassifier(KNeighborsClassifier(), n_estimators=4, max_features=0.5, combine="vote", random_state=0),
    RandomForestClassifier(6, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=6, random_state=0),
    VotingClassifier(MEMBERS),
    VotingClassifier([*MEMBERS, ("svm", LinearSVC(dual=False))]),
    StackingClassifier(MEMBERS, "simplex"),
    RestartClassifier(
        DecisionTreeClassifier(splitter="random", max_depth=3), n_restarts=3, combine="vote", random_state=0
    ),
    sklearn.ensemble.RandomForestClassifier(6, random_state=0),
    sklearn.ensemble.BaggingClassifier(max_features=0.5, random_state=0),
    sklearn.ensemble.AdaBoostClassifier(n_estimators=5, random_state=0),
    sklearn.ensemble.VotingClassifier(MEMBERS),
]


def estimators_codes(model: Any, X: Any) -> Any:
    """Of each member by its own predict, as positions among the classes."""
    features = getattr(model, "estimators_features_", None)
    result: list[Any] = []
    for t, member in enumerate(getattr(model, "estimators_", getattr(model, "members_", []))):
        is_whole = features is None or member.n_features_in_ == X.shape[1]
        table = X if is_whole else X[:, features[t]]
        predictions = np.asarray(member.predict(table))
        is_label = np.isin(predictions, model.classes_).all()
        result.append(np.searchsorted(model.classes_, predictions) if is_label else predictions.astype(int))
    return np.array(result)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: f"{type(model).__module__[:4]}{type(model).__name__}")
@pytest.mark.parametrize("y", [NAMES, TWO], ids=["three classes", "two"])
def test_predictions_are_those_of_the_members(model: Any, y: Any) -> None:
    model = sklearn.base.clone(model).fit(WINE[TRAIN], y[TRAIN])
    result = member_predictions(model, WINE[TEST])
    np.testing.assert_array_equal(result.codes, estimators_codes(model, WINE[TEST]))
    assert result.n_members == len(result.codes)
    assert result.weights.sum() == pytest.approx(1.0)
    report = ensemble_diversity(model, WINE[TEST], y[TEST])
    np.testing.assert_allclose(report.errors, np.mean(result.codes != np.searchsorted(model.classes_, y[TEST]), axis=1))
    assert report.ensemble_error == pytest.approx(np.mean(model.predict(WINE[TEST]) != y[TEST]))
    assert report.conditions.words in str(report)
    assert (report.voters is not None) == (y is TWO)
    if result.probabilities is not None:
        np.testing.assert_allclose(result.probabilities.sum(axis=2), 1.0)
        assert report.ambiguity is not None
        assert report.ambiguity.error == pytest.approx(report.ambiguity.member_error - report.ambiguity.ambiguity)


@pytest.mark.parametrize(
    "model",
    [
        BaggingRegressor(n_estimators=5, combine="weighted", random_state=0),
        RandomForestRegressor(5, random_state=0),
        AdaBoostRegressor(n_estimators=5, random_state=0),
        VotingRegressor(REGRESSORS, weights=[1, 2]),
        StackingRegressor(REGRESSORS),
        sklearn.ensemble.BaggingRegressor(max_features=0.5, random_state=0),
    ],
    ids=lambda model: f"{type(model).__module__[:4]}{type(model).__name__}",
)
def test_numbers_are_those_of_the_members(model: Any) -> None:
    model = sklearn.base.clone(model).fit(WINE[TRAIN], NUMBERS[TRAIN])
    result = member_predictions(model, WINE[TEST])
    assert result.codes is None
    assert result.values is not None
    features = getattr(model, "estimators_features_", None)
    is_part = features is not None and len(features[0]) < WINE.shape[1]
    for t, member in enumerate(model.estimators_):
        table = WINE[TEST][:, features[t]] if is_part else WINE[TEST]
        np.testing.assert_allclose(result.values[t], member.predict(table))
    report = ensemble_diversity(model, WINE[TEST], NUMBERS[TEST])
    assert report.ensemble_error == pytest.approx(np.mean((model.predict(WINE[TEST]) - NUMBERS[TEST]) ** 2))
    np.testing.assert_allclose(report.errors, np.mean((result.values - NUMBERS[TEST]) ** 2, axis=1))
    assert report.pairs is None
    assert "correlation of errors" in str(report)


def test_training_rows_are_evaluated_by_members_that_did_not_see_them() -> None:
    bagged = BaggingClassifier(n_estimators=20, random_state=0).fit(WINE, NAMES)
    result = member_predictions(bagged, WINE, out_of_sample=True)
    assert result.codes is not None
    for t, rows in enumerate(bagged.estimators_samples_):
        np.testing.assert_array_equal(np.unique(rows), np.flatnonzero(result.codes[t] < 0))
    report = ensemble_diversity(bagged, WINE, NAMES, out_of_sample=True)
    assert report.is_out_of_sample
    assert report.ensemble_error == pytest.approx(bagged.oob_error_)
    forest = RandomForestClassifier(30, random_state=0).fit(WINE, NAMES)
    report = ensemble_diversity(forest, WINE, NAMES, out_of_sample=True)
    assert report.ensemble_error == pytest.approx(forest.oob_error_)
    codes = member_predictions(forest, WINE, out_of_sample=True).codes
    assert codes is not None
    np.testing.assert_allclose(report.correlation, pairwise_diversity(codes, KINDS).correlation)
    assert report.variance is not None
    numbers = RandomForestRegressor(30, random_state=0).fit(WINE, NUMBERS)
    assert ensemble_diversity(numbers, WINE, NUMBERS, out_of_sample=True).ensemble_error == pytest.approx(
        numbers.oob_error_
    )


@pytest.mark.parametrize("final", ["simplex", None])
@pytest.mark.parametrize("y", [NAMES, TWO], ids=["three classes", "two"])
def test_a_stack_has_its_out_of_fold_predictions(final: Any, y: Any) -> None:
    members = [*MEMBERS, ("svm", LinearSVC(dual=False)), ("gone", "drop")]
    model = StackingClassifier(members, final).fit(WINE, y)
    report = ensemble_diversity(model, WINE, y, out_of_sample=True)
    assert report.names == ("tree", "bayes", "near", "svm")
    np.testing.assert_allclose(report.errors, model.history_.error)
    stack = StackingRegressor(REGRESSORS).fit(WINE, NUMBERS)
    np.testing.assert_allclose(
        ensemble_diversity(stack, WINE, NUMBERS, out_of_sample=True).errors, stack.history_.rmse**2
    )


class Committee(ClassifierMixin, BaseEstimator):
    """Tells the answers of its members by name."""

    def fit(self, X: Any, y: Any) -> Committee:
        self.classes_ = np.unique(y)
        self.weights_ = {"a": 0.75, "b": 0.25}
        return self

    def member_predictions(self, X: Any) -> dict[str, Any]:
        sure = np.eye(3)[KINDS[: len(X)]]
        return {"a": sure, "b": sure[:, ::-1], "dropped": sure}

    def predict(self, X: Any) -> Any:
        return self.classes_[KINDS[: len(X)]]


def test_a_committee_tells_its_members_by_name() -> None:
    report = ensemble_diversity(Committee().fit(WINE, NAMES), WINE, NAMES)
    assert report.names == ("a", "b", "dropped")
    np.testing.assert_array_equal(report.weights, [0.75, 0.25, 0.0])
    np.testing.assert_allclose(report.errors, [0.0, np.mean(KINDS != 1), 0.0])
    assert report.ensemble_error == 0.0


def test_frames_and_few_rows() -> None:
    frame = pd.DataFrame(WINE).add_prefix("c")
    model = VotingClassifier(MEMBERS).fit(frame, NAMES)
    report = ensemble_diversity(model, frame, NAMES, max_rows=50)
    assert report.n_rows == 50
    forest = RandomForestClassifier(8, random_state=0).fit(frame, NAMES)
    assert ensemble_diversity(forest, frame, NAMES, out_of_sample=True).n_rows <= 178


def test_what_is_rejected() -> None:
    boosting = GradientBoostingClassifier(n_estimators=5).fit(WINE, TWO)
    with pytest.raises(TypeError, match=r"are not estimators|do not predict classes"):
        member_predictions(boosting, WINE)
    with pytest.raises(TypeError, match=r"are not estimators|do not predict classes"):
        member_predictions(sklearn.ensemble.GradientBoostingClassifier(n_estimators=3).fit(WINE, TWO), WINE)
    voting = VotingClassifier(MEMBERS).fit(WINE, NAMES)
    with pytest.raises(TypeError, match="fits all members on all rows"):
        ensemble_diversity(voting, WINE, NAMES, out_of_sample=True)
    with pytest.raises(ValueError, match=r"labels.*\['w'\]"):
        ensemble_diversity(voting, WINE, np.where(KINDS == 0, "w", NAMES))
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        ensemble_diversity(voting, WINE, NAMES, max_rows=0)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        ensemble_diversity(VotingClassifier(MEMBERS), WINE, NAMES)
