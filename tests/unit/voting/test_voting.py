"""Votes and means of given members: what scikit-learn's do, weights as repetition, tables as they come, evidence."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import sklearn.ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.utils.metadata_routing import MetadataRouter

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.combine.rules import weighted_median
from committee.voting.voting import VotingClassifier, VotingRegressor

WINE, LABELS = load_wine(return_X_y=True)
NAMES = np.array(["red", "white", "rose"])[LABELS]
DIABETES, VALUES = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(0)


def classifiers() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]


def regressors() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeRegressor(max_depth=2)), ("line", Ridge()), ("near", KNeighborsRegressor())]


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    seen: ClassVar[list[Any]] = []

    def fit(self, X: Any, y: Any, extra: Any = None) -> Recorder:
        self.classes_ = np.unique(y)
        self.X_, self.y_, self.extra_ = X, y, extra
        return self

    def predict(self, X: Any) -> Any:
        Recorder.seen.append(X)
        return np.full(X.shape[0], self.classes_[0])


# --- beside scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [0.3, 1.0, 0.3]])
@pytest.mark.parametrize("dropped", [False, True])
def test_classes_as_scikit_learn_votes(voting: Any, weights: Any, dropped: bool) -> None:
    ours = VotingClassifier(classifiers(), voting=voting, weights=weights)
    theirs = sklearn.ensemble.VotingClassifier(classifiers(), voting=voting, weights=weights)
    if dropped:
        ours.set_params(bayes="drop")
        theirs.set_params(bayes="drop")
    ours.fit(WINE[::2], NAMES[::2])
    theirs.fit(WINE[::2], NAMES[::2])
    np.testing.assert_array_equal(ours.predict(WINE), theirs.predict(WINE))
    np.testing.assert_allclose(ours.transform(WINE), theirs.transform(WINE), rtol=1e-12)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert list(ours.named_estimators_) == list(theirs.named_estimators_)
    assert (ours.named_estimators_["bayes"] == "drop") == dropped
    np.testing.assert_array_equal(ours.le_.transform(NAMES), theirs.le_.transform(NAMES))
    assert hasattr(ours, "predict_proba") == (voting == "soft")
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(WINE), theirs.predict_proba(WINE), rtol=1e-12)
        ours.flatten_transform = theirs.flatten_transform = False
        np.testing.assert_allclose(ours.transform(WINE), theirs.transform(WINE), rtol=1e-12)
        with pytest.raises(ValueError, match="flatten_transform=False"):
            ours.get_feature_names_out()


def test_numbers_as_scikit_learn_averages_and_the_weighted_median() -> None:
    weights = [2.0, 1.0, 0.5]
    ours = VotingRegressor(regressors(), weights=weights).fit(DIABETES, VALUES)
    theirs = sklearn.ensemble.VotingRegressor(regressors(), weights=weights).fit(DIABETES, VALUES)
    np.testing.assert_allclose(ours.predict(DIABETES), theirs.predict(DIABETES), rtol=1e-12)
    np.testing.assert_array_equal(ours.transform(DIABETES), theirs.transform(DIABETES))
    median = VotingRegressor(regressors(), weights=weights, combine="median").fit(DIABETES, VALUES)
    expected = weighted_median(ours.transform(DIABETES).T, np.array(weights))
    np.testing.assert_array_equal(median.predict(DIABETES), expected)
    assert np.any(expected != np.median(ours.transform(DIABETES), axis=1))


def test_a_tie_of_votes_goes_to_the_first_class() -> None:
    table, y = np.arange(8.0).reshape(8, 1), np.repeat(["a", "b"], 4)
    model = VotingClassifier([("tree", DecisionTreeClassifier()), ("first", Recorder())]).fit(table, y)
    assert model.predict([[7.0]]).tolist() == ["a"]


# --- parameters ------------------------------------------------------------------------------------------------------


def test_members_are_parameters() -> None:
    model = VotingClassifier(classifiers())
    assert model.get_params()["tree__max_depth"] == 2
    model.set_params(tree__max_depth=1, bayes="drop", near=KNeighborsClassifier(1), voting="soft")
    assert model.get_params()["tree__max_depth"] == 1
    copy = clone(model).fit(WINE, LABELS)
    assert [type(member).__name__ for member in copy.estimators_] == ["DecisionTreeClassifier", "KNeighborsClassifier"]
    assert copy.named_estimators["bayes"] == "drop"
    assert copy.estimators_[1].n_neighbors == 1
    with pytest.raises(ValueError, match="Invalid parameter 'nobody'"):
        model.set_params(nobody=3)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"estimators": []}, ValueError, "non-empty list of"),
        ({"estimators": [GaussianNB()]}, ValueError, "tuples, such as"),
        ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, ValueError, "not unique"),
        ({"estimators": [("voting", GaussianNB())]}, ValueError, "conflict with constructor arguments.*another name"),
        ({"estimators": [("a__b", GaussianNB())]}, ValueError, "contain '__'"),
        ({"estimators": [("a", "drop")]}, ValueError, "All estimators are dropped"),
        ({"estimators": [("a", GaussianNB)]}, TypeError, "is the class GaussianNB: pass an instance"),
        ({"estimators": [("a", 3)]}, TypeError, "is no estimator: it needs fit and predict"),
        ({"estimators": [("a", Ridge())]}, ValueError, "Ridge should be a classifier"),
        ({"weights": [1.0]}, ValueError, "got 1 weights, 3 estimators"),
        ({"weights": [1.0, -1.0, 1.0]}, ValueError, "weights must be finite, >= 0 and not all zero"),
        ({"weights": [0, 0, 0]}, ValueError, "not all zero"),
        ({"weights": [np.nan, 1, 1]}, ValueError, "weights must be finite"),
        ({"voting": "loud"}, ValueError, "'voting' parameter"),
        ({"cv": 1}, ValueError, "cv"),
        ({"cv": [([0, 1], [2, 3]), ([0, 1], [3, 4])]}, ValueError, "no row twice"),
        ({"n_jobs": 0}, ValueError, "'n_jobs' parameter"),
    ],
)
def test_bad_parameters_are_rejected(params: dict[str, Any], error: type[Exception], text: str) -> None:
    model = VotingClassifier(**params)
    before = dict(vars(model))
    with pytest.raises(error, match=text):
        model.fit(WINE, LABELS)
    assert vars(model) == before


def test_members_that_cannot_predict_are_named() -> None:
    soft = VotingClassifier([("svm", LinearSVC())], voting="soft")
    with pytest.raises(ValueError, match="member 'svm', LinearSVC, has no predict_proba: use voting='hard'"):
        soft.fit(WINE, LABELS)
    with pytest.raises(ValueError, match="contains NaN") as caught:
        VotingClassifier(classifiers()).fit(np.where(WINE > 1000, np.nan, WINE), LABELS)
    assert any("'bayes', GaussianNB" in note for note in caught.value.__notes__)
    with pytest.raises(TypeError, match=r"fit takes no \['groups'\].*enable_metadata_routing"):
        VotingClassifier(classifiers()).fit(WINE, LABELS, groups=LABELS)


# --- weights ---------------------------------------------------------------------------------------------------------


def test_a_member_without_weights_sees_rows_repeated_or_drawn() -> None:
    whole = RNG.integers(0, 4, len(LABELS)).astype(float)
    model = VotingClassifier([("seen", Recorder())]).fit(WINE, LABELS, whole)
    np.testing.assert_array_equal(model.estimators_[0].X_, np.repeat(WINE, whole.astype(int), axis=0))
    broken = np.where(LABELS == 2, 0.25, 1.0)
    fits = [VotingClassifier([("seen", Recorder())], random_state=seed).fit(WINE, LABELS, broken) for seed in (0, 0, 1)]
    drawn = [fit.estimators_[0].y_ for fit in fits]
    np.testing.assert_array_equal(fits[0].estimators_[0].X_, fits[1].estimators_[0].X_)
    assert np.any(fits[0].estimators_[0].X_ != fits[2].estimators_[0].X_)
    share = broken[LABELS == 2].sum() / broken.sum()
    for labels in drawn:  # 178 draws: five standard deviations
        assert abs(np.mean(labels == 2) - share) < 5 * np.sqrt(share * (1 - share) / len(LABELS))


def test_more_copies_than_the_memory_holds_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.tree_engine.memory_guard.available_bytes", lambda: 2**10)
    with pytest.raises(MemoryError, match="Recorder"):
        VotingClassifier([("seen", Recorder())]).fit(WINE, LABELS, np.arange(len(LABELS)) % 3 + 1)


def test_whole_weights_are_repeated_rows_in_fits_folds_and_scores() -> None:
    whole = RNG.integers(0, 3, len(LABELS))
    rows = RNG.permutation(np.repeat(np.arange(len(LABELS)), whole))
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("near", KNeighborsClassifier())]
    weighed = VotingClassifier(members, voting="soft", cv=4).fit(WINE, LABELS, whole)
    repeated = VotingClassifier(members, voting="soft", cv=4).fit(WINE[rows], LABELS[rows])
    np.testing.assert_allclose(weighed.predict_proba(WINE), repeated.predict_proba(WINE), rtol=1e-9)
    np.testing.assert_allclose(weighed.history_.error, repeated.history_.error, rtol=1e-9)
    np.testing.assert_allclose(weighed.history_.log_loss, repeated.history_.log_loss, rtol=1e-9)


def test_weights_that_a_member_rejected_and_metadata_that_it_requested() -> None:
    w = RNG.uniform(size=len(LABELS))
    with sklearn.config_context(enable_metadata_routing=True):
        members = [("no", GaussianNB().set_fit_request(sample_weight=False)), ("yes", GaussianNB())]
        model = VotingClassifier(members).fit(WINE, LABELS, sample_weight=w)
        seen = VotingClassifier([("seen", Recorder().set_fit_request(extra=True))]).fit(WINE, LABELS, extra=w)
        with pytest.raises(TypeError, match="unexpected argument"):
            VotingClassifier(classifiers()).fit(WINE, LABELS, extra=w)
        assert isinstance(model.get_metadata_routing(), MetadataRouter)
    np.testing.assert_array_equal(model.estimators_[0].theta_, GaussianNB().fit(WINE, LABELS).theta_)
    np.testing.assert_array_equal(model.estimators_[1].theta_, GaussianNB().fit(WINE, LABELS, w).theta_)
    assert seen.estimators_[0].extra_ is w


# --- tables ----------------------------------------------------------------------------------------------------------


def make_frame() -> tuple[pd.DataFrame, Any]:
    town = RNG.choice(["Bonn", "Ulm", "Kiel"], 120)
    size = RNG.normal(size=120)
    y = 2.0 * (town == "Ulm") + size
    size[::10] = np.nan
    return pd.DataFrame({"town": pd.Categorical(town), "size": size}), y


def test_frames_with_categories_and_missing_values_are_passed_on() -> None:
    frame, y = make_frame()
    tables: list[Any] = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)]
    members = [("deep", DecisionTreeRegressor()), ("flat", DecisionTreeRegressor(max_depth=2))]
    predictions = VotingRegressor(members).fit(frame, y).predict(frame)
    for table in tables:
        model = VotingRegressor(members, cv=3).fit(table, y)
        np.testing.assert_array_equal(model.predict(table), predictions)
        assert list(model.feature_names_in_) == ["town", "size"]
        Recorder.seen.clear()
        seen = VotingClassifier([("seen", Recorder())], cv=3).fit(table, (y > 1).astype(int))
        assert seen.estimators_[0].X_ is table
        assert {type(part) for part in Recorder.seen} == {type(table)}
    np.testing.assert_allclose(predictions, (members[0][1].fit(frame, y).predict(frame)
                                         + members[1][1].fit(frame, y).predict(frame)) / 2)  # fmt: skip
    with pytest.raises(ValueError, match="feature names should match"):
        VotingRegressor(members).fit(frame, y).predict(frame[["size", "town"]])


def test_set_output_names_the_columns() -> None:
    model = VotingRegressor(regressors()).set_output(transform="pandas").fit(DIABETES, VALUES)
    assert list(model.transform(DIABETES).columns) == [f"votingregressor_{name}" for name in ("tree", "line", "near")]


# --- evidence --------------------------------------------------------------------------------------------------------


def test_history_holds_out_of_fold_scores() -> None:
    folds = [(np.flatnonzero(np.arange(178) % 3 != k), np.flatnonzero(np.arange(178) % 3 == k)) for k in range(3)]
    model = VotingClassifier(classifiers(), voting="soft", weights=[1, 2, 1], cv=folds).fit(WINE, LABELS)
    shares = np.zeros((3, 178, 3))
    for train, test in folds:
        for m, (_, member) in enumerate(classifiers()):
            shares[m, test] = member.fit(WINE[train], LABELS[train]).predict_proba(WINE[test])
    np.testing.assert_allclose(model.history_.error, (shares.argmax(axis=2) != LABELS).mean(axis=1))
    whole = np.average(shares, axis=0, weights=[1, 2, 1])
    assert model.out_of_fold_scores_["error"] == pytest.approx((whole.argmax(axis=1) != LABELS).mean())
    assert model.out_of_fold_scores_["log_loss"] == pytest.approx(sklearn.metrics.log_loss(LABELS, whole))
    assert model.history_.member.tolist() == ["tree", "bayes", "near"]
    np.testing.assert_array_equal(model.history_.weight, [0.25, 0.5, 0.25])
    model.set_params(cv=None).fit(WINE, LABELS)
    assert list(model.history_) == ["member", "weight"]
    assert not hasattr(model, "out_of_fold_scores_")


def test_threads_change_no_bit_and_later_parameters_nothing() -> None:
    one = VotingRegressor(regressors(), cv=3, n_jobs=1).fit(DIABETES, VALUES)
    two = VotingRegressor(regressors(), cv=3, n_jobs=2).fit(DIABETES, VALUES)
    assert one.history_ == two.history_
    predictions = one.predict(DIABETES)
    np.testing.assert_array_equal(two.predict(DIABETES), predictions)
    one.set_params(combine="median", weights=[0, 0, 1])
    np.testing.assert_array_equal(one.predict(DIABETES), predictions)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(DIABETES), predictions)


def test_threads_know_the_settings_of_scikit_learn() -> None:
    class Asks(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Asks:
            self.setting_ = sklearn.get_config()["transform_output"]
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(transform_output="pandas"):
        model = VotingRegressor([(f"m{k}", Asks()) for k in range(6)], n_jobs=3).fit(DIABETES, VALUES)
    assert {member.setting_ for member in model.estimators_} == {"pandas"}
