"""Stacks: the columns scikit-learn makes, simplex weights that are optimal, folds that no copy of a row leaves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.sampling.splits import NOT_TESTED, fold_numbers
from committee.tabular.identity import row_keys
from committee.voting._rows import Task
from committee.voting.simplex_weights import simplex_weights
from committee.voting.stacking import StackingClassifier, StackingRegressor

WINE, KINDS = load_wine(return_X_y=True)
CANCER, GROWTHS = (part[:180] for part in load_breast_cancer(return_X_y=True))
DIABETES, VALUES = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(0)
CV = KFold(4, shuffle=True, random_state=0)


def classifiers() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]


def regressors() -> list[tuple[str, Any]]:
    return [("tree", DecisionTreeRegressor(max_depth=3)), ("line", Ridge()), ("near", KNeighborsRegressor())]


# --- beside scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "predict"])
@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize(("X", "y"), [(WINE, KINDS), (CANCER, GROWTHS)], ids=["three classes", "two"])
def test_classes_as_scikit_learn_stacks(X: Any, y: Any, method: Any, passthrough: bool) -> None:
    params: dict[str, Any] = {"stack_method": method, "passthrough": passthrough, "cv": CV}
    final = GaussianNB()  # exact: no iterations whose ends differ
    labels = np.array(["x", "y", "z"])[y]
    ours = StackingClassifier(classifiers(), final, **params).fit(X, labels)
    theirs = sklearn.ensemble.StackingClassifier(classifiers(), final, **params).fit(X, labels)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.stack_method_ == theirs.stack_method_
    assert not hasattr(ours, "decision_function")


def test_decision_functions_and_defaults_as_scikit_learn_stacks() -> None:
    for X, y in ((WINE, KINDS), (CANCER, GROWTHS)):
        members = [("bayes", GaussianNB()), ("line", LogisticRegression(max_iter=10_000))]
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        ours = StackingClassifier([members[0], ("svm", LinearSVC())], cv=CV).fit(scaled, y)
        theirs = sklearn.ensemble.StackingClassifier([members[0], ("svm", LinearSVC())], cv=CV).fit(scaled, y)
        assert ours.stack_method_ == ["predict_proba", "decision_function"]
        np.testing.assert_allclose(
            ours.decision_function(scaled), theirs.decision_function(scaled), rtol=1e-3, atol=1e-3
        )
        assert np.isfinite(ours.history_.error).all()


def test_numbers_as_scikit_learn_stacks() -> None:
    for passthrough in (False, True):
        ours = StackingRegressor(regressors(), cv=CV, passthrough=passthrough).fit(DIABETES, VALUES)
        theirs = sklearn.ensemble.StackingRegressor(regressors(), cv=CV, passthrough=passthrough).fit(DIABETES, VALUES)
        np.testing.assert_allclose(ours.predict(DIABETES), theirs.predict(DIABETES), rtol=1e-9)
    named = StackingRegressor(regressors(), cv=3, passthrough=True).fit(pd.DataFrame(DIABETES).add_prefix("c"), VALUES)
    assert named.get_feature_names_out()[:4].tolist() == [
        "stackingregressor_tree", "stackingregressor_line", "stackingregressor_near", "c0",
    ]  # fmt: skip


def test_members_that_are_fitted_already_know_labels() -> None:
    labels = np.array(["x", "y", "z"])[KINDS]
    members = [(name, clone(member).fit(WINE, labels)) for name, member in classifiers()]
    for method in ("auto", "predict"):
        model = StackingClassifier(members, GaussianNB(), cv="prefit", stack_method=method).fit(WINE[::2], labels[::2])
        assert model.estimators_[0] is members[0][1]
        assert (model.predict(WINE) == labels).mean() > 0.9
    simplex = StackingClassifier(members, "simplex", cv="prefit").fit(WINE, labels)
    model.set_params(cv=3)
    assert simplex.predict(WINE)[0] in labels
    with pytest.raises(NotFittedError):
        StackingClassifier(classifiers(), cv="prefit").fit(WINE, labels)
    with pytest.raises(ValueError, match="was fitted on the labels"):
        StackingClassifier(members, cv="prefit").fit(WINE, KINDS.astype(str))


# --- weights on the simplex ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(50,), (40, 3)])
@pytest.mark.parametrize("is_weighed", [False, True])
def test_simplex_weights_meet_the_conditions_of_the_optimum(shape: tuple[int, ...], is_weighed: bool) -> None:
    """The slope along every member is at least the Lagrange multiplier, and equal to it where the weight is > 0."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=shape)
        predictions = (
            truth + rng.normal(size=(6, *shape)) * np.linspace(0.3, 3.0, 6).reshape(6, *[1] * len(shape)) + 0.2
        )
        v = rng.uniform(size=shape[0]) if is_weighed else np.ones(shape[0])
        w = simplex_weights(predictions, truth, v if is_weighed else None)
        assert w.min() >= 0.0
        assert w.sum() == pytest.approx(1.0, abs=1e-12)
        errors = (truth - predictions).reshape(6, shape[0], -1)
        mixed = np.einsum("m,mnk->nk", w, errors)
        slope = np.einsum("n,nk,mnk->m", v, mixed, errors)
        level = slope[w > 0].min()
        np.testing.assert_allclose(slope[w > 0], level, rtol=1e-8)
        assert np.all(slope >= level * (1 - 1e-8))


def test_simplex_weights_of_special_members() -> None:
    truth = RNG.normal(size=20)
    np.testing.assert_array_equal(simplex_weights(np.array([truth + 1, truth, truth]), truth), [0, 1, 0])
    assert simplex_weights(np.array([truth + 1]), truth).tolist() == [1.0]
    predictions = np.array([truth + 1.0, truth - 3.0, truth + 9.0])
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(simplex_weights(scale * predictions, scale * truth), [0.75, 0.25, 0.0], atol=1e-12)
    twins = simplex_weights(np.array([truth + 1, truth + 1]), truth)
    assert twins.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="must be finite"):
        simplex_weights(np.array([truth[1:]]), truth)


@pytest.mark.parametrize(("X", "y"), [(WINE, KINDS), (CANCER, GROWTHS)], ids=["three classes", "two"])
def test_a_simplex_stack_is_the_best_mean_out_of_fold(X: Any, y: Any) -> None:
    model = StackingClassifier([*classifiers(), ("svm", LinearSVC(dual=False))], "simplex", cv=CV).fit(X, y)
    assert model.stack_method_ == ["predict_proba"] * 3 + ["predict"]
    assert model.weights_.sum() == pytest.approx(1.0)
    shares = model.out_of_fold_.reshape(len(y), 4, -1)
    truth = (y[:, None] == np.arange(3))[:, : shares.shape[2]].astype(float) if shares.shape[2] > 1 else y[:, None]
    scores = [np.sum((shares[:, m] - truth) ** 2) for m in range(4)]
    assert np.sum((np.einsum("nmk,m->nk", shares, model.weights_) - truth) ** 2) <= min(scores)
    np.testing.assert_array_equal(model.history_.weight, model.weights_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    expected = sum(w * m.predict_proba(X) for w, m in zip(model.weights_, model.estimators_[:3], strict=False))
    expected = expected + model.weights_[3] * np.eye(len(model.classes_))[model.estimators_[3].predict(X)]
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)


def test_a_simplex_stack_of_numbers() -> None:
    model = StackingRegressor(regressors(), "simplex").fit(DIABETES, VALUES)
    assert model.weights_.min() >= 0.0
    np.testing.assert_allclose(model.predict(DIABETES), model.transform(DIABETES) @ model.weights_)
    rmse = np.sqrt(np.mean((model.out_of_fold_ - VALUES[:, None]) ** 2, axis=0))
    np.testing.assert_allclose(model.history_.rmse, rmse)
    assert np.sqrt(np.mean((model.out_of_fold_ @ model.weights_ - VALUES) ** 2)) < rmse.min()


# --- folds -----------------------------------------------------------------------------------------------------------


def folds_by_row(task: Task, n_folds: int) -> Any:
    return fold_numbers(task.splits(n_folds), task.n_rows)


def test_equal_rows_share_a_fold_and_the_order_is_no_matter() -> None:
    table = np.round(RNG.normal(size=(90, 2)), 1)
    y = (RNG.uniform(size=90) < 0.3).astype(int)
    rows = np.r_[np.arange(90), RNG.integers(0, 90, 60)]
    fold = folds_by_row(Task(table[rows], y[rows], None, 2), 5)
    np.testing.assert_array_equal(fold[90:], fold[rows[90:]])
    order = RNG.permutation(150)
    np.testing.assert_array_equal(folds_by_row(Task(table[rows][order], y[rows][order], None, 2), 5), fold[order])
    counts = np.bincount(rows, minlength=120)
    weighed = Task(np.vstack([table, table[:30] + 9]), np.r_[y, y[:30]], counts[:120].astype(float), 2)
    result = folds_by_row(weighed, 5)
    np.testing.assert_array_equal(result[:90], fold[:90])
    assert np.all(result[90:] == NOT_TESTED)  # rows of weight 0
    for label in (0, 1):
        shares = np.bincount(fold[:90][y == label], minlength=5)
        assert np.ptp(shares) <= 2  # copies among the first 90


def test_keys_of_frames_sparse_tables_and_arrays() -> None:
    y = np.zeros(4)
    table = np.array([[0.0, 1.5], [2.0, 0.0], [-0.0, 1.5], [np.nan, 0.0]])
    keys = row_keys(table, y)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
    for frame in (pd.DataFrame(table, columns=["a", "b"]), pl.DataFrame(table, ["a", "b"])):
        np.testing.assert_array_equal(row_keys(frame, y), keys)
    flat = np.nan_to_num(table, nan=7.0)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
        result = row_keys(kind(flat), y)
        assert result[0] == result[2]
        assert len(set(result.tolist())) == 3
    words = pd.DataFrame({"a": ["x", "y", "x", None]})
    assert row_keys(words, y)[0] == row_keys(words, y)[2]
    assert len(set(row_keys(words, y).tolist())) == 3


def test_folds_that_lack_a_class() -> None:
    y = np.where(np.arange(178) == 5, 2, (KINDS > 0).astype(int))  # one row of the last class
    members = [*classifiers(), ("svm", LinearSVC(dual=False))]
    model = StackingClassifier(members, cv=3).fit(WINE, y)
    assert np.isfinite(model.out_of_fold_).all()
    assert model.predict_proba(WINE).shape == (178, 3)
    few = StackingClassifier([("bayes", GaussianNB())], GaussianNB(), cv=2).fit(WINE[:6], [0, 0, 0, 0, 0, 1])
    assert np.isfinite(few.out_of_fold_).all()  # one training fold has a single class
    with pytest.raises(ValueError, match="two rows with different features"):
        StackingClassifier().fit(np.ones((5, 2)), np.ones(5))


def test_rows_that_no_fold_tests_are_left_out() -> None:
    model = StackingRegressor(regressors(), Ridge(), cv=TimeSeriesSplit(4)).fit(DIABETES, VALUES)
    n_first = int(np.isnan(model.out_of_fold_[:, 0]).sum())
    assert n_first == len(VALUES) - 4 * (len(VALUES) // 5)
    expected = Ridge().fit(model.out_of_fold_[n_first:], VALUES[n_first:])
    np.testing.assert_allclose(model.final_estimator_.coef_, expected.coef_)


# --- tables, weights, errors -----------------------------------------------------------------------------------------


def test_frames_stay_frames_for_the_final_estimator() -> None:
    town = RNG.choice(["Bonn", "Ulm", "Kiel"], 150)
    size = RNG.normal(size=150)
    y = 2.0 * (town == "Ulm") + size
    frame = pd.DataFrame({"town": pd.Categorical(town), "size": np.where(size > 1.5, np.nan, size)})
    members = [("deep", DecisionTreeRegressor()), ("flat", DecisionTreeRegressor(max_depth=2))]
    predictions: list[Any] = []
    for table in (frame, pl.from_pandas(frame)):
        model = StackingRegressor(members, DecisionTreeRegressor(max_depth=4), cv=3, passthrough=True).fit(table, y)
        assert type(model.transform(table)) is type(table)
        names = ["stackingregressor_deep", "stackingregressor_flat", "town", "size"]
        assert list(model.final_estimator_.feature_names_in_) == list(model.get_feature_names_out()) == names
        predictions.append(model.predict(table))
    np.testing.assert_array_equal(*predictions)
    with pytest.raises(ValueError, match="rename them or the members"):
        model.fit(pl.from_pandas(frame).rename({"size": "stackingregressor_deep"}), y)


def test_sparse_tables_where_all_members_take_them() -> None:
    table = sparse.random(120, 8, 0.4, format="coo", random_state=0)
    y = np.asarray(table.toarray() @ np.arange(8.0))
    line = Ridge(solver="sparse_cg", tol=1e-12)
    members = [("line", line), ("near", KNeighborsRegressor(algorithm="brute"))]
    model = StackingRegressor(members, line, cv=KFold(3), passthrough=True)
    assert model.__sklearn_tags__().input_tags.sparse
    dense = clone(model).fit(table.toarray(), y)
    assert sparse.issparse(model.fit(table, y).transform(table))
    np.testing.assert_allclose(model.predict(table), dense.predict(table.toarray()), rtol=1e-6)
    assert np.isfinite(clone(model).set_params(cv=3).fit(table, y).predict(table)).all()


def test_whole_weights_are_repeated_rows() -> None:
    whole = RNG.integers(0, 3, len(KINDS))
    rows = RNG.permutation(np.repeat(np.arange(len(KINDS)), whole))
    members = [("tree", DecisionTreeClassifier(max_depth=3)), ("near", KNeighborsClassifier())]
    for final in (DecisionTreeClassifier(max_depth=2), "simplex"):
        weighed = StackingClassifier(members, final, cv=4).fit(WINE, KINDS, whole)
        repeated = StackingClassifier(members, final, cv=4).fit(WINE[rows], KINDS[rows])
        np.testing.assert_allclose(weighed.predict_proba(WINE), repeated.predict_proba(WINE), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(weighed.history_.error, repeated.history_.error, rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"final_estimator": "simplex", "passthrough": True}, ValueError, "passthrough=True"),
        ({"final_estimator": Ridge()}, ValueError, "'final_estimator' parameter should be a classifier. Got Ridge"),
        ({"final_estimator": GaussianNB}, TypeError, "is the class GaussianNB: pass an instance"),
        ({"final_estimator": "mean"}, ValueError, "'final_estimator' parameter"),
        ({"stack_method": "decision_function"}, ValueError, "does not implement the method 'decision_function'"),
        ({"estimators": [("svm", LinearSVC())], "stack_method": "predict_proba"}, ValueError, "'svm', LinearSVC, does"),
        ({"cv": "all"}, ValueError, "'cv' parameter"),
    ],
)
def test_bad_parameters_are_rejected(params: dict[str, Any], error: type[Exception], text: str) -> None:
    model = StackingClassifier(**params)
    before = dict(vars(model))
    with pytest.raises(error, match=text):
        model.fit(WINE, KINDS)
    assert vars(model) == before


def test_a_class_without_weight_keeps_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    weight = np.where(KINDS == 1, 0, 2)  # whole: nearest neighbours see no row of that class
    for final in (KNeighborsClassifier(), DecisionTreeClassifier(max_depth=2), "simplex"):
        members = [("near", KNeighborsClassifier()), ("tree", DecisionTreeClassifier(max_depth=2))]
        model = StackingClassifier(members, final, cv=3, verbose=1).fit(WINE, KINDS, weight)
        assert model.classes_.tolist() == [0, 1, 2]
        shares = model.predict_proba(WINE)
        np.testing.assert_array_equal(shares[:, 1], 0.0)
        assert set(model.predict(WINE)) == {0, 2}
    assert "StackingClassifier: folds" in capsys.readouterr().out


def test_threads_change_no_bit() -> None:
    fits = [StackingRegressor(regressors(), cv=3, n_jobs=n_jobs).fit(DIABETES, VALUES) for n_jobs in (1, 2, -1)]
    for one, other in pairwise(fits):
        assert one.history_ == other.history_
        np.testing.assert_array_equal(one.predict(DIABETES), other.predict(DIABETES))
