"""Bagged classifiers and regressors: samples, members, combination, out-of-bag errors, stopping."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn import ensemble as peer
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error, mean_squared_error, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as PeerTree
from sklearn.utils.estimator_checks import check_estimator

from committee.bagging._oob import members_missing
from committee.bagging.bagging import Sampling, bagging
from committee.bagging.base import MAX_MEMBERS
from committee.bagging.estimators import BaggingClassifier, BaggingRegressor
from committee.bagging.prediction import sum_of_predictions
from committee.base import threads
from committee.calibration.prediction_intervals import Residuals
from committee.combine.rules import majority_vote, mean, mean_distribution, weighted_median
from committee.datasets import load_dataset
from committee.ensemble.stopping import Plateau
from committee.members.member import Member
from committee.sampling.row_samples import Places, Sampler
from committee.tree_engine import memory_guard as memory
from committee.trees.decision_stump import DecisionStump
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.naive.bagging import Bagged

Floats = NDArray[np.float64]


def make_data(n: int = 150, d: int = 5, seed: int = 0, n_classes: int = 3) -> tuple[Floats, NDArray[Any], Floats]:
    """A table of distinct rows, labels that are strings, and a numeric target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    cuts = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.array(["ash", "elm", "fir", "oak"])[np.digitize(signal, cuts)], signal


def assert_same_models(a: Any, b: Any, X: Any) -> None:
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    if hasattr(a, "predict_proba"):
        np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert len(a) == len(b)


# --- the twin ---------------------------------------------------------------------------------------------------------

SAMPLINGS: list[dict[str, Any]] = [
    {},
    {"max_samples": 0.6},
    {"max_samples": 40},
    {"bootstrap": False, "max_samples": 0.5},
]
each_sampling = pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)


@each_sampling
@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_a_classifier_is_its_twin_that_refits_on_repeated_rows(sampling: Any, combine: Any) -> None:
    X, y, _ = make_data()
    learner = DecisionTreeClassifier(min_impurity_decrease=0.01)
    model = BaggingClassifier(learner, 12, combine=combine, random_state=3, **sampling).fit(X, y)
    twin = Bagged(learner, X, y, model.estimators_samples_)
    new = make_data(seed=9)[0]
    np.testing.assert_array_equal(model.predict_proba(new), twin.mean(new, combine))
    np.testing.assert_allclose(model.oob_decision_function_, twin.out_of_bag(combine), rtol=1e-12)
    for member, own in zip(model, twin.members, strict=True):
        np.testing.assert_array_equal(member.predict(new), own.predict(new))
    for n_members in (1, 5, 12):
        so_far = twin.out_of_bag(combine, n_members)
        judged = ~np.isnan(so_far[:, 0])
        wrong = twin.classes[so_far[judged].argmax(axis=1)] != y[judged]
        assert model.history_.oob_error[n_members - 1] == pytest.approx(wrong.mean(), abs=1e-12)


@each_sampling
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_a_regressor_is_its_twin_that_refits_on_repeated_rows(sampling: Any, splitter: Any) -> None:
    X, _, y = make_data()
    learner = DecisionTreeRegressor(max_depth=6, splitter=splitter, random_state=0)
    model = BaggingRegressor(learner, 12, random_state=3, **sampling).fit(X, y)
    new = make_data(seed=9)[0]
    twin = Bagged(learner, X, y, model.estimators_samples_)
    if splitter == "random":  # the draws of a member are its own: the twin takes them as they are
        twin.members = list(model)
    for member, own in zip(model, twin.members, strict=True):
        np.testing.assert_array_equal(np.sort(member.tree_.threshold), np.sort(own.tree_.threshold))
    # Not to the last bit: a leaf's mean sums weighted targets here and repeated ones there.
    np.testing.assert_allclose(model.predict(new), twin.mean(new, "number")[:, 0], rtol=1e-12)
    np.testing.assert_allclose(model.oob_prediction_, twin.out_of_bag("number")[:, 0], rtol=1e-12)
    for n_members in (1, 5, 12):
        so_far = twin.out_of_bag("number", n_members)[:, 0]
        expected = np.nanmean((so_far - y) ** 2)
        assert model.history_.oob_error[n_members - 1] == pytest.approx(expected, rel=1e-9)


def test_the_samples_are_the_training_rows() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=200, random_state=0).fit(X, y)
    outside = [1 - np.unique(rows).size / 150 for rows in model.estimators_samples_]
    assert all(rows.size == 150 for rows in model.estimators_samples_)
    spread = np.sqrt(0.368 * (2 * 0.632 - 1) / 150 / 200)  # of the mean share of empty boxes
    assert np.mean(outside) == pytest.approx((1 - 1 / 150) ** 150, abs=4 * spread)
    for rows, tree in zip(model.estimators_samples_, model, strict=True):
        assert tree.tree_.n_node_samples[0] == np.unique(rows).size
        assert tree.tree_.weighted_n_node_samples[0] == 150
        assert tree.score(X[rows], y[rows]) == 1.0  # full


def test_members_own_errors_are_kept() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=8, random_state=0).fit(X, y)
    for tree, rows, own in zip(model, model.estimators_samples_, model.history_.member_oob_error, strict=True):
        outside = np.setdiff1d(np.arange(150), rows)
        assert own == pytest.approx(1 - tree.score(X[outside], y[outside]))
    np.testing.assert_array_equal(model.history_.n_leaves, [tree.get_n_leaves() for tree in model])


# --- parity -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [{}, {"max_samples": 0.4, "max_features": 0.5, "bootstrap": False}], ids=str)
def test_scikit_learn_in_distribution(setting: Any) -> None:
    """Test accuracy of 12 seeds each: the means differ by less than 3.5 standard errors of their difference."""
    X, y, _ = make_data(400, seed=1)
    train, test = np.arange(200), np.arange(200, 400)
    scores = np.array([
        [cls(n_estimators=20, random_state=seed, **setting).fit(X[train], y[train]).score(X[test], y[test])
         for seed in range(12)]
        for cls in (BaggingClassifier, peer.BaggingClassifier)
    ])  # fmt: skip
    error = np.sqrt(scores.var(axis=1, ddof=1).sum() / 12)
    assert abs(scores[0].mean() - scores[1].mean()) < 3.5 * error


@pytest.mark.slow
def test_scikit_learn_in_distribution_for_numbers() -> None:
    """Test R^2 and out-of-bag R^2 on three sets, 8 seeds each: within 3.5 standard errors of the mean difference."""
    found = np.empty((2, 3, 8, 2))
    for dataset in range(3):
        X, _, y = make_data(400, seed=dataset)
        for i, cls in enumerate((BaggingRegressor, peer.BaggingRegressor)):
            for seed in range(8):
                model = cls(n_estimators=30, oob_score=True, random_state=seed).fit(X[:200], y[:200])
                found[i, dataset, seed] = model.score(X[200:], y[200:]), model.oob_score_
    error = np.sqrt(found.var(axis=2, ddof=1).sum(axis=(0, 1)) / 8) / 3
    ours, theirs = found.mean(axis=(1, 2))
    assert np.all(np.abs(ours - theirs) < 3.5 * error)


# --- weights ----------------------------------------------------------------------------------------------------------

WEIGHTED: list[Any] = [
    BaggingClassifier(n_estimators=8, random_state=0),
    BaggingClassifier(n_estimators=8, bootstrap=False, max_samples=0.5, random_state=0),
    BaggingClassifier(n_estimators=8, bootstrap=False, max_features=0.6, random_state=0),
    BaggingClassifier(n_estimators=8, max_samples=0.7, max_features=3, combine="vote", random_state=0),
    BaggingClassifier(n_estimators=4, tree_size="pruned", random_state=0),
    BaggingClassifier(n_estimators=8, tree_size="max_leaf_nodes", max_leaf_nodes=5, random_state=0),
    BaggingClassifier(KNeighborsClassifier(4), 8, random_state=0),
    BaggingRegressor(n_estimators=8, random_state=0),
    BaggingRegressor(n_estimators=8, combine="median", bootstrap_features=True, random_state=0),
    BaggingRegressor(n_estimators=4, tree_size="pruned", random_state=0),
]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=repr)
def test_a_whole_weight_is_a_repetition(estimator: Any) -> None:
    """Rows repeated and shuffled, rows of weight zero left out: the same samples and the same model."""
    X, labels, numbers = make_data()
    y: Any = labels if isinstance(estimator, BaggingClassifier) else numbers
    rng = np.random.default_rng(4)
    weight = rng.integers(0, 4, 150)
    rows = rng.permutation(np.repeat(np.arange(150), weight))
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    repeated = clone(estimator).fit(X[rows], y[rows])
    new = make_data(seed=9)[0]
    if isinstance(estimator, BaggingClassifier):
        np.testing.assert_array_equal(weighted.predict_proba(new), repeated.predict_proba(new))
    else:  # the mean of a leaf may differ in the last bit
        np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-12)
    by_row = [np.bincount(drawn, minlength=150) for drawn in weighted.estimators_samples_]
    by_copy = [np.bincount(rows[drawn], minlength=150) for drawn in repeated.estimators_samples_]
    np.testing.assert_array_equal(by_row, by_copy)


@pytest.mark.parametrize("highest", [0, 4, 9, 10**6])
def test_what_used_for_training_a_row_does_not_evaluate_it(highest: int) -> None:
    """Whole weights gave copies to both sides, and the out-of-bag error was nearly nothing."""
    X, labels, _ = make_data(n=400)
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=400) < 0.25, 1 - (labels == labels[0]), labels == labels[0])  # a quarter is noise
    weight = rng.integers(1, highest, 400) if highest else np.full(400, 5)
    model = BaggingClassifier(n_estimators=100, random_state=0).fit(X, y, sample_weight=weight)
    assert model.oob_error_ > 0.2


def test_heavy_weights_are_not_laid_out_as_copies() -> None:
    order, weight = np.array([2, 0, 1]), np.array([1.0, 0.0, 2.0])
    places = Places.lay_out(order, weight)
    np.testing.assert_array_equal(places.row, [2, 2, 0])
    np.testing.assert_array_equal(places.sum_by_row(np.array([1.0, 2.0, 5.0])), [5, 0, 3])
    heavy = Places.lay_out(order, weight * 1e6)
    np.testing.assert_array_equal(heavy.row, [2, 0])
    np.testing.assert_array_equal(heavy.weight, [2e6, 1e6])
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=3, max_samples=150, random_state=0).fit(
        X, y, sample_weight=np.full(150, 1e6)
    )
    same = BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


def test_fractional_weights_are_chances() -> None:
    X, y, _ = make_data()
    weight = np.where(np.arange(150) < 75, 0.5, 0.0)
    model = BaggingClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weight)
    assert max(rows.max() for rows in model.estimators_samples_) < 75
    heavy = np.where(np.arange(150) < 75, 0.9, 0.1)
    model = BaggingClassifier(n_estimators=50, random_state=0).fit(X, y, sample_weight=heavy)
    share = np.mean(np.concatenate(model.estimators_samples_) < 75)
    assert share == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / (50 * 150)))


def test_without_draws_members_learn_under_the_weights() -> None:
    X, _, y = make_data()
    weight = np.random.default_rng(0).random(150)
    model = BaggingRegressor(LinearRegression(), 2, bootstrap=False).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model[0].coef_, LinearRegression().fit(X, y, sample_weight=weight).coef_)
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        BaggingRegressor(KNeighborsRegressor(), 2, bootstrap=False).fit(X, y, sample_weight=weight)


# --- threads ----------------------------------------------------------------------------------------------------------

THREADED: list[Any] = [
    BaggingClassifier(n_estimators=20, random_state=0),
    BaggingClassifier(n_estimators=20, max_features=0.5, combine="vote", random_state=0),
    BaggingClassifier(n_estimators="auto", n_iter_no_change=5, tol=0.1, random_state=0),
    BaggingClassifier(DecisionTreeClassifier(splitter="binned", max_depth=3, max_features=2), 20, random_state=0),
    BaggingClassifier(n_estimators=5, tree_size="pruned", random_state=0),
    BaggingClassifier(LogisticRegression(), 20, random_state=0),
    BaggingRegressor(n_estimators=20, combine="weighted", random_state=0),
    BaggingRegressor(DecisionTreeRegressor(splitter="random"), 20, combine="median", random_state=0),
]


@pytest.mark.parametrize("estimator", THREADED, ids=repr)
def test_the_number_of_threads_changes_no_bit(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 100)
    X, labels, numbers = make_data(400, n_classes=2)
    y: Any = labels if isinstance(estimator, BaggingClassifier) else numbers
    used: list[int] = []
    monkeypatch.setattr("committee.bagging.bagging.run", lambda f, calls, n: used.append(n) or threads.run(f, calls, n))
    one = clone(estimator).set_params(n_jobs=1).fit(X, y)
    assert set(used) == {1}
    two = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert used[-1] == 2
    assert_same_models(one, two, X)
    assert one.history_ == two.history_
    assert one.stop_reason_ == two.stop_reason_


# --- the learners -----------------------------------------------------------------------------------------------------

LEARNERS: list[Any] = [
    GaussianNB(),  # by weights
    LogisticRegression(),
    KNeighborsClassifier(),  # on repeated rows
    make_pipeline(StandardScaler(), LogisticRegression()),
    Perceptron(),  # no probabilities
    LinearSVC(),
    PeerTree(),
    DecisionStump(),
    BaggingClassifier(n_estimators=3),
]


@pytest.mark.parametrize("setting", [{}, {"max_samples": 0.5, "max_features": 0.6}], ids=str)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_any_classifier_is_bagged(learner: Any, setting: Any) -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(learner, 10, random_state=0, **setting).fit(X, y)
    how = "mean" if hasattr(learner, "predict_proba") else "vote"
    total = 0.0
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        part = X[:, features]
        total = total + (
            member.predict_proba(part) if how == "mean" else member.predict(part)[:, None] == model.classes_
        )
    np.testing.assert_allclose(model.predict_proba(X), total / 10, rtol=1e-12)
    assert model.score(X, y) > 0.4
    again = BaggingClassifier(learner, 10, random_state=0, **setting).fit(X, y)
    assert_same_models(model, again, X)
    other = BaggingClassifier(learner, 10, random_state=1, **setting).fit(X, y)
    assert any(np.any(a != b) for a, b in zip(model.estimators_samples_, other.estimators_samples_, strict=True))


def test_a_learner_by_weights_is_one_on_repeated_rows() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(GaussianNB(), 10, random_state=0).fit(X, y)
    twin = Bagged(GaussianNB(), X, y, model.estimators_samples_)
    np.testing.assert_allclose(model.predict_proba(X), twin.mean(X, "mean"), rtol=1e-9)


def test_a_decision_function_is_averaged() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(LogisticRegression(), 6, max_features=4, random_state=0).fit(X, y)
    each = [m.decision_function(X[:, f]) for m, f in zip(model, model.estimators_features_, strict=True)]
    np.testing.assert_allclose(model.decision_function(X), np.mean(each, axis=0))
    assert not hasattr(BaggingClassifier(), "decision_function")


@pytest.mark.parametrize(
    "learner", [None, GaussianNB(), LogisticRegression(), Perceptron(), KNeighborsClassifier(1)], ids=repr
)
@pytest.mark.parametrize("combine", ["auto", "vote"])
def test_classes_may_be_missing_in_a_sample(learner: Any, combine: Any) -> None:
    """Three rows of one class, one of another: most samples lack one of them, some have a single class."""
    X = np.array([[0.0, 0], [0.1, 1], [0.2, 0], [5.0, 1], [5.1, 0], [9.0, 1]])
    y = np.array(["b", "b", "b", "c", "c", "a"])
    model = BaggingClassifier(learner, 30, max_samples=2, combine=combine, random_state=0).fit(X, y)
    samples = [set(y[rows]) for rows in model.estimators_samples_]
    assert any(len(seen) == 1 for seen in samples)
    shares = model.predict_proba(X)
    assert shares.shape == (6, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for member, seen in zip(model.members_, samples, strict=True):
        predictions = np.asarray(member.predictions(X))
        assert not predictions[:, [k not in seen for k in model.classes_]].any()
    assert np.mean(model.predict(X) == y) >= 0.5
    if hasattr(model, "decision_function"):
        with pytest.raises(ValueError, match="no sample has every class"):
            model.decision_function(X)


@pytest.mark.parametrize("learner", [None, LinearRegression(), KNeighborsRegressor(3)], ids=repr)
def test_any_regressor_is_bagged(learner: Any) -> None:
    X, _, y = make_data()
    model = BaggingRegressor(learner, 10, max_features=0.8, random_state=0).fit(X, y)
    each = [m.predict(X[:, f]) for m, f in zip(model, model.estimators_features_, strict=True)]
    np.testing.assert_allclose(model.predict(X), mean(np.array(each)))


class Odd(ClassifierMixin, BaseEstimator):
    """Answers with what is no answer."""

    def fit(self, X: Any, y: Any) -> Odd:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan)

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(self.classes_)), np.nan)


def test_predictions_that_are_none_are_rejected() -> None:
    X, y, numbers = make_data()
    with pytest.raises(ValueError, match="3 finite probabilities"):
        BaggingClassifier(Odd(), 2).fit(X, y)
    with pytest.raises(ValueError, match="for every row a class"):
        BaggingClassifier(Odd(), 2, combine="vote").fit(X, y)
    with pytest.raises(ValueError, match="finite number"):
        BaggingRegressor(OddRegressor(), 2).fit(X, numbers)


class OddRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> OddRegressor:
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.inf)


def test_tables_with_categories_and_holes() -> None:
    rng = np.random.default_rng(0)
    town = rng.choice(["Ulm", "Hof", "Bonn"], 200)
    frame = pd.DataFrame(
        {"town": pd.Categorical(town), "size": np.where(rng.random(200) < 0.2, np.nan, rng.random(200))}
    )
    y = (town == "Hof") + 0.1 * rng.normal(size=200)
    for setting in ({}, {"max_features": 1}):
        model = BaggingRegressor(n_estimators=10, random_state=0, **setting).fit(frame, y)
        assert model.score(frame, y) > 0.5
        names = [list(member.feature_names_in_) for member in model]
        assert all(
            own == [["town", "size"][f] for f in fs] for own, fs in zip(names, model.estimators_features_, strict=True)
        )
        each = [m.predict(frame[own]) for m, own in zip(model, names, strict=True)]
        np.testing.assert_allclose(model.predict(frame), np.mean(each, axis=0))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        BaggingRegressor(LinearRegression()).fit(frame[["size"]], y)


# --- combination ------------------------------------------------------------------------------------------------------


def test_the_rules_of_combination() -> None:
    X, y, numbers = make_data()
    soft = BaggingClassifier(n_estimators=9, tree_size="max_leaf_nodes", max_leaf_nodes=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(soft.predict_proba(X), mean_distribution(np.array([m.predict_proba(X) for m in soft])))
    vote = clone(soft).set_params(combine="vote").fit(X, y)
    codes = np.array([np.searchsorted(vote.classes_, m.predict(X)) for m in vote])
    np.testing.assert_array_equal(vote.predict(X), vote.classes_[majority_vote(codes, 3)])
    median = BaggingRegressor(n_estimators=8, combine="median", random_state=0).fit(X, numbers)
    np.testing.assert_array_equal(median.predict(X), weighted_median(np.array([m.predict(X) for m in median])))
    weighted = BaggingRegressor(n_estimators=8, combine="weighted", random_state=0).fit(X, numbers)
    w = 1 / weighted.history_.member_oob_error
    np.testing.assert_allclose(weighted.coefficients_ / weighted.coefficients_.sum(), w / w.sum())
    np.testing.assert_allclose(weighted.predict(X), mean(np.array([m.predict(X) for m in weighted]), w))


@pytest.mark.parametrize("setting", [{}, {"max_features": 2}, {"combine": "vote"}, {"combine": "weighted"}], ids=str)
@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
@pytest.mark.parametrize("with_categories", [False, True])
def test_trees_in_one_piece_predict_as_one_after_the_other(kind: Any, setting: Any, with_categories: bool) -> None:
    X, labels, numbers = make_data()
    X[::7, 1] = np.nan
    X[:, 3] = np.digitize(X[:, 3], [-1.0, 0.0, 1.0])
    if setting.get("combine") in (["weighted"] if kind is BaggingClassifier else ["vote"]):
        setting = {"combine": "mean"}
    tree = (DecisionTreeClassifier if kind is BaggingClassifier else DecisionTreeRegressor)(
        categorical_features=[3] if with_categories else None
    )
    model = kind(tree, 12, random_state=0, **setting).fit(X, labels if kind is BaggingClassifier else numbers)
    assert model._packed is not None
    assert bool(len(model._packed.categories)) == with_categories
    for table in (X, X[:5], X.astype(np.float32), np.asfortranarray(X)):
        coded = model._read_rows(table)
        loop = sum_of_predictions(model.members_, model.coefficients_, None, coded, 1)
        for n_jobs in (1, 2):
            packed = sum_of_predictions(model.members_, model.coefficients_, model._packed, coded, n_jobs)
            np.testing.assert_array_equal(packed, loop)


@pytest.mark.parametrize("combine", ["median", "weighted"])
def test_out_of_bag_follows_the_rule(combine: Any) -> None:
    X, _, y = make_data()
    model = BaggingRegressor(n_estimators=30, combine=combine, random_state=0).fit(X, y)
    each, w, samples = np.array([m.predict(X) for m in model]), model.coefficients_, model.estimators_samples_
    for n_members in (3, 30):
        expected = np.full(150, np.nan)
        for i in range(150):
            judges = [b for b in range(n_members) if i not in samples[b]]
            if judges:
                own = each[judges, i]
                expected[i] = np.median(own) if combine == "median" else np.average(own, weights=w[judges])
        error = np.nanmean((expected - y) ** 2)
        assert model.history_.oob_error[n_members - 1] == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(model.oob_prediction_, expected)


STAGED: list[Any] = [
    BaggingClassifier(n_estimators=7, random_state=0),
    BaggingClassifier(GaussianNB(), 7, combine="vote", random_state=0),
    BaggingRegressor(n_estimators=7, random_state=0),
    BaggingRegressor(n_estimators=7, combine="median", random_state=0),
    BaggingRegressor(n_estimators=7, combine="weighted", random_state=0),
]


@pytest.mark.parametrize("model", STAGED, ids=repr)
def test_stages_are_smaller_models(model: Any) -> None:
    X, labels, numbers = make_data()
    y: Any = labels if isinstance(model, BaggingClassifier) else numbers
    stages = list(clone(model).fit(X, y).staged_predict(X))
    assert len(stages) == 7
    for n in (1, 4, 7):
        np.testing.assert_array_equal(stages[n - 1], clone(model).set_params(n_estimators=n).fit(X, y).predict(X))
    if isinstance(model, BaggingClassifier):
        fitted = clone(model).fit(X, y)
        np.testing.assert_array_equal(list(fitted.staged_predict_proba(X))[-1], fitted.predict_proba(X))


# --- the three strategies ---------------------------------------------------------------------------------------


def test_the_three_tree_strategies() -> None:
    X, y, _ = make_data()
    leaves = {
        tree: BaggingClassifier(n_estimators=10, tree_size=tree, max_leaf_nodes=size, random_state=0)
        .fit(X, y)
        .history_.n_leaves
        for tree, size in (("full", None), ("max_leaf_nodes", 6), ("pruned", None))
    }
    default = BaggingClassifier(n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(leaves["full"], default.history_.n_leaves)
    assert np.all(leaves["max_leaf_nodes"] == 6)
    assert np.all(leaves["pruned"] <= leaves["full"])
    assert leaves["pruned"].mean() < 0.5 * leaves["full"].mean()
    same = BaggingClassifier(DecisionTreeClassifier(ccp_alpha="cv"), 10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(same.history_.n_leaves, leaves["pruned"])


def test_a_fixed_cost_prunes_every_member() -> None:
    X, _, y = make_data()
    learner = DecisionTreeRegressor(ccp_alpha=0.05)
    model = BaggingRegressor(learner, 5, random_state=0).fit(X, y)
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        assert member.get_n_leaves() == clone(learner).fit(X[rows], y[rows]).get_n_leaves()


def test_the_strategy_and_an_estimator_exclude_each_other() -> None:
    X, y, _ = make_data()
    with pytest.raises(ValueError, match="estimator is given too"):
        BaggingClassifier(GaussianNB(), tree_size="full").fit(X, y)
    with pytest.raises(ValueError, match="estimator is given too"):
        BaggingClassifier(GaussianNB(), max_leaf_nodes=4).fit(X, y)
    with pytest.raises(ValueError, match="requires a number"):
        BaggingClassifier(tree_size="max_leaf_nodes").fit(X, y)
    with pytest.raises(ValueError, match="requires a number"):
        BaggingClassifier(tree_size="pruned", max_leaf_nodes=4).fit(X, y)
    with pytest.raises(ValueError, match="cv to a number of folds"):
        BaggingClassifier(DecisionTreeClassifier(ccp_alpha="cv", cv=[([0], [1])])).fit(X, y)


# --- out of bag -------------------------------------------------------------------------------------------------------


def test_out_of_bag_scores() -> None:
    X, y, numbers = make_data(n_classes=2)

    def score(how: Any) -> float:
        return BaggingClassifier(n_estimators=60, oob_score=how, random_state=0).fit(X, y).oob_score_

    model = BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    shares = model.oob_decision_function_
    labels = model.classes_[shares.argmax(axis=1)]
    assert model.oob_score_ == np.mean(labels == y) == pytest.approx(1 - model.oob_error_)
    assert model.oob_error_ == model.history_.oob_error[-1]
    assert score("roc_auc") == roc_auc_score(y, shares[:, 1])
    assert score("balanced_accuracy") == score(balanced_accuracy_score) == balanced_accuracy_score(y, labels)
    assert score(lambda true, given: float(np.sum(true != given))) == np.sum(labels != y)
    regressor = BaggingRegressor(n_estimators=60, oob_score="neg_mean_absolute_error", random_state=0).fit(X, numbers)
    assert regressor.oob_score_ == -mean_absolute_error(numbers, regressor.oob_prediction_)
    assert regressor.oob_error_ == pytest.approx(mean_squared_error(numbers, regressor.oob_prediction_))


@pytest.mark.slow
@pytest.mark.parametrize("combine", ["mean", "median", "weighted"])
def test_intervals_cover_what_they_say(combine: Any) -> None:
    """Of new rows, with a learner of scikit-learn; standard errors 0.6 points, and as much from the training rows."""
    X, _, y = make_data(1500)
    new, _, truth = make_data(3000, seed=1)
    model = BaggingRegressor(KNeighborsRegressor(5), n_estimators=60, combine=combine, random_state=0).fit(X, y)
    for coverage in (0.8, 0.95):
        low, high = model.predict_interval(new, coverage).T
        assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(coverage, abs=0.025)
    errors = np.sort(y - model.oob_prediction_)
    np.testing.assert_allclose(high - model.predict(new), errors[1500 - 37])  # floor(1501 * 0.025) from the end
    np.testing.assert_allclose(low - model.predict(new), errors[37 - 1])


def test_intervals_need_rows_out_of_bag_of_this_fit() -> None:
    X, _, y = make_data()
    model = BaggingRegressor(n_estimators=20, random_state=0).fit(X, y)
    assert model.predict_interval(X).shape == (150, 2)
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got 1"):
        model.predict_interval(X, 1.0)
    with pytest.raises(ValueError, match=r"fit with bootstrap=True, or max_samples below 1\.0"):
        model.set_params(bootstrap=False).fit(X, y).predict_interval(X)
    assert BaggingRegressor(n_estimators=20).fit(X[:1], y[:1]).interval_residuals() == ()
    with pytest.raises(NotFittedError):
        BaggingRegressor().predict_interval(X)


def test_intervals_count_a_whole_weight_as_so_many_rows() -> None:
    X, _, y = make_data(80)
    weight = np.resize([1, 1, 2, 3], 80)
    weighted = BaggingRegressor(n_estimators=40, random_state=0).fit(X, y, weight)
    judged = np.repeat(np.arange(80), weight)
    errors = (y - weighted.oob_prediction_)[judged]
    expected = Residuals.of(errors[~np.isnan(errors)], np.ones(np.sum(~np.isnan(errors)))).ends(0.8)
    np.testing.assert_allclose(weighted.predict_interval(X, 0.8) - weighted.predict(X)[:, np.newaxis], [expected] * 80)


@pytest.mark.parametrize("how", [True, "balanced_accuracy", balanced_accuracy_score], ids=["bool", "name", "function"])
def test_out_of_bag_scores_count_rows_by_weight(how: Any) -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=80, oob_score=how, random_state=0)
    whole = np.random.default_rng(0).integers(0, 3, 150)
    weighted = clone(model).fit(X, y, sample_weight=whole)
    np.testing.assert_array_equal(np.isnan(weighted.oob_decision_function_[:, 0]), whole == 0)
    fractions = np.random.default_rng(0).uniform(0.5, 1.0, 150)
    model.fit(X, y, sample_weight=fractions)
    labels = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_error_ == pytest.approx(np.average(labels != y, weights=fractions))
    expected = 1 - model.oob_error_ if how is True else balanced_accuracy_score(y, labels, sample_weight=fractions)
    assert model.oob_score_ == pytest.approx(expected)


def test_out_of_bag_is_close_to_cross_validation() -> None:
    """On sonar, 100 trees; both estimates have a standard error of about 0.028."""
    sonar = load_dataset("sonar")
    model = BaggingClassifier(n_estimators=100, random_state=0)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)  # the rows are sorted by class
    by_folds = 1 - cross_val_score(model, sonar.X, sonar.y, cv=folds).mean()
    assert model.fit(sonar.X, sonar.y).oob_error_ == pytest.approx(by_folds, abs=2 * 0.028)


def test_rows_without_predictions() -> None:
    X, y, _ = make_data()
    with pytest.warns(UserWarning, match=r"of 150 rows were in the sample of every member.* about \d+ more members"):
        model = BaggingClassifier(n_estimators=3, oob_score=True, random_state=0).fit(X, y)
    seen = np.all([np.isin(np.arange(150), rows) for rows in model.estimators_samples_], axis=0)
    assert 0 < seen.sum() < 100
    np.testing.assert_array_equal(np.isnan(model.oob_decision_function_).all(axis=1), seen)
    labels = model.classes_[model.oob_decision_function_[~seen].argmax(axis=1)]
    assert model.oob_score_ == np.mean(labels == y[~seen])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who did not ask for the score is not warned
        BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)


def test_how_many_members_are_missing() -> None:
    assert members_missing(1000, 5, 0.368) == int(np.ceil(np.log(1000) / -np.log(0.632))) - 5
    assert (
        1000 * 0.632 ** (5 + members_missing(1000, 5, 0.368))
        <= 1.0
        < 1000 * 0.632 ** (4 + members_missing(1000, 5, 0.368))
    )
    assert members_missing(10, 3, 0.0) is None
    assert members_missing(10, 50, 0.4) == 1


def test_pasting_has_rows_out_of_bag_and_all_rows_have_none() -> None:
    X, y, _ = make_data()
    pasted = BaggingClassifier(n_estimators=30, bootstrap=False, max_samples=0.5, oob_score=True, random_state=0).fit(
        X, y
    )
    assert 0.0 < pasted.oob_error_ < 0.6
    whole = BaggingClassifier(n_estimators=3, bootstrap=False, max_features=0.5, random_state=0).fit(X, y)
    assert not hasattr(whole, "oob_error_")
    assert np.isnan(whole.history_.oob_error).all()
    for setting in ({"oob_score": True}, {"n_estimators": "auto"}):
        with pytest.raises(ValueError, match="Out of bag estimation only available"):
            BaggingClassifier(bootstrap=False, **setting).fit(X, y)
    with pytest.raises(ValueError, match="combine='weighted' needs it"):
        BaggingRegressor(bootstrap=False, combine="weighted").fit(X, np.arange(150.0))


def test_a_refit_forgets_the_score() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    model.set_params(oob_score=False, bootstrap=False).fit(X, y)
    assert not any(hasattr(model, name) for name in ("oob_score_", "oob_error_", "oob_decision_function_"))


# --- stopping ---------------------------------------------------------------------------------------------------


def check_errors(plateau: Plateau, errors: Iterable[float]) -> list[str]:
    return [plateau.check(SimpleNamespace(oob_error=error, validation_error=error)) for error in errors]


def test_when_an_error_has_converged() -> None:
    assert check_errors(Plateau(3, 0.1, "oob_error"), [0.9**t for t in range(1, 30)]) == [""] * 29  # 0.9^3 < 0.9
    reasons = check_errors(Plateau(3, 0.1, "oob_error"), (np.nan, 0.5, 0.3, 0.29, 0.28, 0.275))
    assert reasons[:5] == [""] * 5  # 0.275 is the first best of three that is not a tenth below 0.3
    assert reasons[5].startswith("the out-of-bag error converged: 0.275 at best over the last 3 members, 0.3 before")
    reasons = check_errors(Plateau(2, 0.0, "validation_error"), (0.2, 0.3, 0.4))
    assert reasons[:2] == ["", ""]
    assert reasons[2].startswith("the validation error increased")
    assert check_errors(Plateau(1, 0.0, "oob_error"), [0.0]) == [""]


@pytest.mark.parametrize("cls", [BaggingClassifier, BaggingRegressor])
def test_auto_grows_until_the_error_settles(cls: Any) -> None:
    X, labels, numbers = make_data()
    y: Any = labels if cls is BaggingClassifier else numbers
    model = cls(n_estimators="auto", random_state=0).fit(X, y)
    errors = model.history_.oob_error
    assert 26 <= len(model) < MAX_MEMBERS
    assert np.nanmin(errors[-25:]) >= 0.99 * np.nanmin(errors[:-25])
    for n in range(26, len(model)):  # and not before
        assert np.nanmin(errors[n - 25 : n]) < 0.99 * np.nanmin(errors[: n - 25])
    assert "out-of-bag error" in model.stop_reason_
    fixed = cls(n_estimators=len(model), random_state=0).fit(X, y)
    assert_same_models(model, fixed, X)
    assert fixed.stop_reason_ == "all members were fitted"


def test_auto_ends_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.bagging.base.MAX_MEMBERS", 12)
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators="auto", random_state=0).fit(X, y)
    assert len(model) == 12
    assert "had not converged after 12 members" in model.stop_reason_


def test_validation_rows_may_evaluate() -> None:
    X, y, _ = make_data(300)
    model = BaggingClassifier(n_estimators="auto", n_iter_no_change=10, random_state=0)
    model.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert "validation error" in model.stop_reason_
    errors = [np.mean(labels != y[150:]) for labels in model.staged_predict(X[150:])]
    np.testing.assert_allclose(model.history_.validation_error, errors)
    weight = np.random.default_rng(0).random(150)
    weighted = BaggingRegressor(n_estimators=5, bootstrap=False, max_features=0.5, random_state=0)
    weighted.fit(X[:150], X[:150, 0], X_val=X[150:], y_val=X[150:, 0], sample_weight_val=weight)
    error = np.average((weighted.predict(X[150:]) - X[150:, 0]) ** 2, weights=weight)
    assert weighted.history_.validation_error[-1] == pytest.approx(error)


# --- more members, fewer features -------------------------------------------------------------------------------------


def test_a_warm_start_is_one_long_fit() -> None:
    X, y, numbers = make_data()
    for model, target in (
        (BaggingClassifier(n_estimators=4, warm_start=True, oob_score=True, random_state=0), y),
        (BaggingRegressor(n_estimators=4, combine="median", warm_start=True, random_state=0), numbers),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows that four members do not judge
            model.fit(X, target)
        first = model.estimators_[0]
        model.set_params(n_estimators=40).fit(X, target)
        at_once = clone(model).set_params(warm_start=False).fit(X, target)
        assert_same_models(model, at_once, X)
        assert model.history_ == at_once.history_
        np.testing.assert_array_equal(first.predict(X), model.estimators_[0].predict(X))
        np.testing.assert_array_equal(model.estimators_samples_, at_once.estimators_samples_)
        with pytest.raises(ValueError, match="must be larger or equal to the 40 members"):
            model.set_params(n_estimators=39).fit(X, target)


def test_a_warm_start_wants_the_same_rows() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="requires the training rows"):
        model.fit(X[:-1], y[:-1])
    with pytest.raises(ValueError, match="requires the training rows"):
        model.fit(X, y, sample_weight=np.arange(150))
    with pytest.raises(ValueError, match="requires the training rows"):
        model.set_params(max_samples=0.5).fit(X, y)
    with pytest.raises(ValueError, match="classes of the previous fit"):
        model.set_params(max_samples=None).fit(X, np.where(y == "ash", "yew", y))
    assert len(model) == 4


@pytest.mark.parametrize("setting", [{"max_features": 2}, {"max_features": 0.5}, {"bootstrap_features": True}], ids=str)
def test_features_are_drawn(setting: Any) -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(n_estimators=30, random_state=0, **setting).fit(X, y)
    size = 5 if "bootstrap_features" in setting else 2
    drawn = model.estimators_features_
    assert all(features.size == size for features in drawn)
    distinct = [np.unique(features).size for features in drawn]
    assert min(distinct) < 5 if "bootstrap_features" in setting else set(distinct) == {2}
    assert set(np.concatenate(drawn)) == set(range(5))
    importances = np.zeros(5)
    for member, features in zip(model, drawn, strict=True):
        assert member.n_features_in_ == size
        np.add.at(importances, features, member.feature_importances_ / 30)
    np.testing.assert_allclose(model.feature_importances_, importances / importances.sum())


def test_a_subspace_is_a_refit_on_its_columns() -> None:
    X, y, _ = make_data()
    learner = DecisionTreeClassifier(monotonic_cst=[1, 0, -1, 0, 0])
    X2, y2 = X, (y == "ash").astype(int)
    model = BaggingClassifier(learner, 10, max_features=3, random_state=0).fit(X2, y2)
    signs = np.array([1, 0, -1, 0, 0])
    for member, rows, features in zip(model, model.estimators_samples_, model.estimators_features_, strict=True):
        own = DecisionTreeClassifier(monotonic_cst=signs[features]).fit(X2[np.ix_(rows, features)], y2[rows])
        np.testing.assert_array_equal(member.predict_proba(X2[:, features]), own.predict_proba(X2[:, features]))


def test_importances_of_other_learners() -> None:
    X, y, _ = make_data()
    model = BaggingClassifier(PeerTree(), 5, max_features=0.6, random_state=0).fit(X, y)
    importances = np.zeros(5)
    for member, features in zip(model, model.estimators_features_, strict=True):
        importances[features] += member.feature_importances_ / 5
    np.testing.assert_allclose(model.feature_importances_, importances)
    assert not hasattr(BaggingClassifier(GaussianNB(), 3).fit(X, y), "feature_importances_")


def test_a_bagged_tree_is_explained() -> None:
    from committee.explain.shap import shap_values

    X, _, y = make_data()
    model = BaggingRegressor(n_estimators=5, combine="weighted", max_features=0.6, random_state=0).fit(X, y)
    total = model.to_tree_sum()
    by_tree = [weight * member.predict(X[:, f]) for weight, member, f
               in zip(total.weight, model, model.estimators_features_, strict=True)]  # fmt: skip
    np.testing.assert_allclose(np.sum(by_tree, axis=0), model.predict(X))
    found: Any = shap_values(model, X[:5])
    assert np.isfinite(np.asarray(getattr(found, "values", found))).all()
    assert not hasattr(BaggingRegressor(LinearRegression()), "to_tree_sum")
    assert not hasattr(BaggingRegressor(combine="median"), "to_tree_sum")


# --- the core, and what is refused ------------------------------------------------------------------------------------


def test_the_core_yields_member_after_member() -> None:
    """Nothing is learned before it is asked for."""
    asked: list[int] = []

    class Constant:
        def predictions(self, X: Any, n_jobs: int | None = None) -> Any:
            return np.full((len(X), 1), float(len(asked)))

    def learn(counts: Floats, features: Any, seed: int) -> Member:
        asked.append(int(counts.sum()))
        return Constant()

    places = Places.lay_out(np.arange(10), np.ones(10))
    sampling = Sampling(Sampler(np.ones(10), places, 10, "weighted"), 2, 2, False)
    turns = bagging(learn, sampling, np.zeros((10, 2)), [1, 2, 3])
    first = next(turns)
    assert asked == [10]
    np.testing.assert_array_equal(first.outside, np.flatnonzero(sampling.draw(1) == 0))
    assert first.predictions.shape == (first.outside.size, 1)
    assert len(list(turns)) == 2


def test_what_is_rejected() -> None:
    X, y, numbers = make_data()
    with pytest.raises(ValueError, match=r"y has 2 outputs.*sklearn\.multioutput\.MultiOutputClassifier"):
        BaggingClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"y has 2 outputs.*sklearn\.multioutput\.MultiOutputRegressor"):
        BaggingRegressor().fit(X, np.column_stack([numbers, numbers]).tolist())
    with pytest.raises(ValueError, match="Perceptron has no predict_proba"):
        BaggingClassifier(Perceptron(), combine="mean").fit(X, y)
    with pytest.raises(ValueError, match="max_features=6 must be at most"):
        BaggingClassifier(max_features=6).fit(X, y)
    with pytest.raises(ValueError, match="max_samples=151"):
        BaggingClassifier(max_samples=151, bootstrap=False).fit(X, y)
    with pytest.raises(ValueError, match="must be a classifier"):
        BaggingClassifier(LinearRegression()).fit(X, y)
    with pytest.raises(TypeError, match="pass an instance"):
        BaggingRegressor(LinearRegression).fit(X, numbers)
    with pytest.raises(ValueError, match="'nonsense' is not a valid scoring value"):
        BaggingClassifier(oob_score="nonsense").fit(X, y)
    with pytest.raises(ValueError, match="both X_val and y_val"):
        BaggingClassifier().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="labels that y in fit does not have: \\['yew'\\]"):
        BaggingClassifier().fit(X, y, X_val=X[:1], y_val=["yew"])
    with pytest.raises(ValueError, match="max_depth"):
        BaggingClassifier(DecisionTreeClassifier(max_depth=-1)).fit(X, y)
    with pytest.raises(ValueError, match="criterion='poisson'"):
        BaggingRegressor(DecisionTreeRegressor(criterion="poisson")).fit(X, numbers)


CHECKED: list[Any] = [
    BaggingClassifier(random_state=0),
    BaggingClassifier(
        n_estimators=5, bootstrap=False, max_samples=0.7, max_features=0.7, combine="vote", n_jobs=2, random_state=0
    ),
    BaggingClassifier(GaussianNB(), 3, random_state=0),
    BaggingClassifier(
        n_estimators="auto", n_iter_no_change=5, tree_size="max_leaf_nodes", max_leaf_nodes=4, random_state=0
    ),
    BaggingRegressor(random_state=0),
    BaggingRegressor(n_estimators=5, combine="median", max_features=0.5, bootstrap=False, random_state=0),
    BaggingRegressor(n_estimators=5, combine="weighted", random_state=0),
    BaggingRegressor(n_estimators=3, tree_size="pruned", random_state=0),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator: Any) -> None:
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] not in ("passed", "skipped")}
    # Copies of a row may judge each other, a weighted row never judges itself: what is chosen out of bag may differ.
    by_oob = estimator.n_estimators == "auto" or getattr(estimator, "combine", None) == "weighted"
    assert failed <= ({"check_sample_weight_equivalence_on_dense_data"} if by_oob else set())


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
def test_samples_too_large_for_the_memory_are_rejected(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**30)
    X, labels, numbers = make_data()
    y = labels if kind is BaggingClassifier else numbers
    model = kind(n_estimators=3, max_samples=10**9, random_state=0)
    with pytest.raises(MemoryError, match=r"a sample of \d+ draws needs about .* GiB, 1.0 GiB are free"):
        model.fit(X, y)
    assert not hasattr(model, "members_")
    heavy = np.random.default_rng(0).integers(10**6, 10**8, len(X))  # drawn by their chances, not laid out
    for setting in ({"max_samples": None}, {"max_samples": 0.5, "bootstrap": False}):
        assert len(model.set_params(**setting).fit(X, y, heavy)) == 3


def test_repeated_rows_too_large_for_the_memory_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = make_data()
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"KNeighborsClassifier takes no sample_weight: a table of \d+ repeated rows"):
        BaggingClassifier(KNeighborsClassifier(), 3, max_samples=10**6).fit(X, y)


def test_trees_too_large_for_the_memory_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = make_data()
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    with pytest.raises(MemoryError, match=r"An ensemble of 500 trees of \d+ nodes needs about 0.0 GiB"):
        BaggingClassifier(n_estimators=500).fit(X, y)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    BaggingClassifier(n_estimators=3).fit(X, y)
