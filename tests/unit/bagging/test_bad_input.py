"""Bad and extreme input: bagging and online ensembles answer right or say what to do.

The tables of tests/bad_input.py, which trees and boosters run too, and those of bagging: parameters, base learners,
samples, out-of-bag evidence and streams.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from committee import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    OnlineBaggingClassifier,
    OnlineBaggingRegressor,
    OnlineBoostingClassifier,
)
from committee.explain import shap_values
from tests.bad_input import (
    BAD_TABLES,
    LABEL_KINDS,
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    assert_rejected,
    changed,
    each,
    has_params,
    inf,
    nan,
    predictions_of,
    table,
    target_of,
    with_params,
)

BAGGED: list[type[Any]] = [BaggingClassifier, BaggingRegressor]
ONLINE: list[type[Any]] = [OnlineBaggingClassifier, OnlineBoostingClassifier, OnlineBaggingRegressor]
ESTIMATORS = BAGGED + ONLINE
CLASSIFIERS = [cls for cls in ESTIMATORS if is_classifier(cls())]
ONLINE_CLASSIFIERS = [cls for cls in ONLINE if is_classifier(cls())]
METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"]
STAGED = ["staged_predict", "staged_predict_proba"]
FRAME = pd.DataFrame(X, columns=list("abc"))


def make(cls: type[Any], **params: Any) -> Any:
    """A few members, the same at every fit; those of the parameters that the class has."""
    return with_params(cls, **{"n_estimators": 6, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    model = make(cls).fit(X, target_of(cls))
    return model.calibrate_intervals(X, target_of(cls), cv="prefit") if cls is OnlineBaggingRegressor else model


def plain_learner(cls: type[Any]) -> Any:
    """A learner that takes no missing values and no weights."""
    if cls in ONLINE:
        return Perceptron() if is_classifier(cls()) else SGDRegressor()
    return KNeighborsClassifier(1) if is_classifier(cls()) else KNeighborsRegressor(1)


# --- refused ---------------------------------------------------------------------------------------------------------


@each(ESTIMATORS)
def test_missing_values_are_rejected_where_the_learner_does_not_take_them(cls: type[Any]) -> None:
    text = r"Input X contains NaN in column x\[1\], which .* does not accept: fill the missing values in"
    model = make(cls, estimator=plain_learner(cls))
    assert_rejected(model, ValueError, text, changed(nan), target_of(cls))
    model.fit(X, target_of(cls))
    with pytest.raises(ValueError, match=text):
        model.predict(changed(nan))


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("more than all rows", {"max_samples": N + 1, "bootstrap": False}, "max_samples=41"),
    ("max_features 4 of 3", {"max_features": 4}, "max_features=4 must be at most the number of features, 3"),
    (
        "leaves without a tree",
        {"max_leaf_nodes": 5},
        "tree_size='max_leaf_nodes' requires",
    ),
    (
        "a tree without leaves",
        {"tree_size": "max_leaf_nodes"},
        "tree_size='max_leaf_nodes' requires",
    ),
    ("oob_score word", {"oob_score": "acuracy"}, "'acuracy' is not a valid scoring value"),
    ("oob_score without bags", {"oob_score": True, "bootstrap": False}, "only available if"),
    ("auto without bags", {"n_estimators": "auto", "bootstrap": False}, "n_estimators='auto' .* needs it"),
    ("n_jobs 0", {"n_jobs": 0}, "'n_jobs' .* Got 0"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(ESTIMATORS)
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    assert_rejected(cls(**params), ValueError, text, X, target_of(cls))
    if cls in ONLINE:
        with pytest.raises(ValueError, match=text):
            cls(**params).partial_fit(X, target_of(cls))


# --- base learners ---------------------------------------------------------------------------------------------------


class Learner(BaseEstimator):
    """A learner with one answer for everything."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Learner:
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.predictions(len(X)))


class Failing(Learner):
    """Cannot be fitted."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        raise RuntimeError("the third row is not to my taste")

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Learner:
        raise RuntimeError("the third row is not to my taste")


class Interrupted(Learner):
    """The user presses Ctrl-C."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        raise KeyboardInterrupt

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Learner:
        raise KeyboardInterrupt


BAD_PREDICTIONS = table(
    ("too few", lambda n: np.zeros(3)),
    ("too many", lambda n: np.zeros(n + 1)),
    ("two columns", lambda n: np.zeros((n, 2))),
    ("nan", lambda n: np.full(n, nan)),
    ("inf", lambda n: np.full(n, inf)),
)


@pytest.mark.parametrize("predictions", BAD_PREDICTIONS)
@each(ESTIMATORS)
def test_bad_answers_of_a_learner_are_rejected(cls: type[Any], predictions: Callable[[int], Any]) -> None:
    text = "Learner must predict "
    assert_rejected(make(cls, estimator=Learner(predictions)), ValueError, text, X, target_of(cls))


@pytest.mark.parametrize("n_classes", [2, 3])
@each(CLASSIFIERS)
def test_labels_that_nobody_asked_for_are_rejected(cls: type[Any], n_classes: int) -> None:
    text = r"must predict for every row a class of the labels .*returned \[7, 7"
    assert_rejected(cls(Learner(lambda n: np.full(n, 7))), ValueError, text, X, np.arange(N) % n_classes)


@each(ESTIMATORS)
def test_learners_of_the_wrong_kind_are_rejected(cls: type[Any]) -> None:
    wrong: list[Any] = [SGDRegressor()] if is_classifier(cls()) else [SGDClassifier()]
    kind, other = ("classifier", "regressor") if is_classifier(cls()) else ("regressor", "classifier")
    if cls in BAGGED:
        wrong += [DecisionTreeRegressor() if is_classifier(cls()) else DecisionTreeClassifier()]
    for learner in wrong:
        text = f"estimator must be a {kind}, {type(learner).__name__} is a {other}"
        assert_rejected(cls(learner), ValueError, text, X, LABELS)
    text = "estimator is the class SGDClassifier: pass an instance of it"
    assert_rejected(cls(SGDClassifier), TypeError, text, X, LABELS)


@each(ONLINE)
def test_learners_that_cannot_go_on_are_rejected(cls: type[Any]) -> None:
    learner = LogisticRegression() if is_classifier(cls()) else LinearRegression()
    text = "must be an object implementing 'partial_fit' and 'predict'"
    assert_rejected(cls(learner), ValueError, text, X, target_of(cls))


@each(ESTIMATORS)
def test_errors_of_a_learner_come_through_and_leave_the_model_as_it_was(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    predictions = model.predict(X)
    for learner, error in ((Failing(), RuntimeError), (Interrupted(), KeyboardInterrupt)):
        assert_rejected(model.set_params(estimator=learner), error, None, X, y)
    np.testing.assert_array_equal(model.set_params(estimator=None).predict(X), predictions)


def test_a_mean_needs_probabilities() -> None:
    model = make(BaggingClassifier, estimator=Perceptron(), combine="mean")
    assert_rejected(model, ValueError, "Perceptron has no predict_proba", X, LABELS)
    model = make(OnlineBaggingClassifier, estimator=Perceptron(), vote="mean")
    assert_rejected(model, ValueError, "Perceptron has no predict_proba", X, LABELS)


def test_weights_that_a_learner_cannot_be_told() -> None:
    weight = np.linspace(0.5, 1.5, N)
    for bootstrap, is_taken in ((True, True), (False, False)):
        model = make(BaggingClassifier, estimator=KNeighborsClassifier(3), bootstrap=bootstrap)
        if is_taken:
            assert model.fit(X, LABELS, weight).predict(X).shape == (N,)
        else:
            text = "KNeighborsClassifier takes no sample_weight, .* bootstrap=True"
            assert_rejected(model, ValueError, text, X, LABELS, weight)


# --- rows to validate on ---------------------------------------------------------------------------------------------

BAD_VALIDATION = table(
    ("no table", {"X_val": None}, "both X_val and y_val: pass both, or neither"),
    ("no target", {"y_val": None}, "both X_val and y_val: pass both, or neither"),
    ("fewer columns", {"X_val": X[:, :2]}, "X has 2 features, but .* is expecting 3"),
    ("no rows", {"X_val": X[:0]}, r"Found array with 0 sample\(s\)"),
    ("inf", {"X_val": changed(inf)}, r"infinity .* in column x\[1\]"),
    ("too short", {"y_val": LABELS[1:]}, f"X has {N} rows, y has {N - 1}: pass one"),
    ("nan target", {"y_val": np.r_[nan, VALUES[1:]]}, "Input y contains NaN"),
    (
        "other strings",
        {"y_val": np.where(LABELS, "a", "b")},
        "y_val has labels that y in fit does not have|holds strings such as",
    ),
    ("two columns", {"y_val": np.ones((N, 2), int)}, r"2 outputs|shape \(40, 2\)"),
    ("weights of zero", {"sample_weight_val": np.zeros(N)}, "all weights are zero.*sample_weight_val=None"),
    ("weights too short", {"sample_weight_val": np.ones(3)}, "sample_weight_val has 3: pass one weight per row"),
)


@pytest.mark.parametrize(("arguments", "text"), BAD_VALIDATION)
@each(BAGGED)
def test_bad_rows_to_validate_on_are_rejected(cls: type[Any], arguments: dict[str, Any], text: str) -> None:
    y = target_of(cls)
    assert_rejected(cls(), ValueError, text, X, y, **{"X_val": X, "y_val": y, **arguments})


# --- unusual input with one right answer -----------------------------------------------------------------------------

CONSTANT = table(
    ("one row", X[:1], 1),
    ("one row of float32", X[:1].astype(np.float32), 1),
    ("constant features", np.ones((N, 3)), N),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), N),
)
FOR_TREES_ONLY = table(
    ("constant and huge", np.full((N, 3), MAX), N),
    ("all missing", np.full((N, 3), nan), N),
    ("all missing objects", np.full((N, 3), None), N),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])}), N),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), N),
)


@pytest.mark.parametrize(("features", "n_rows"), CONSTANT)
@each(ESTIMATORS)
def test_nothing_to_learn_from_gives_a_constant(cls: type[Any], features: Any, n_rows: int) -> None:
    model = make(cls).fit(features, target_of(cls)[:n_rows])
    predictions = predictions_of(model, features)
    assert np.isfinite(predictions).all()
    assert len(np.unique(predictions, axis=0)) == 1


@pytest.mark.parametrize(("features", "n_rows"), CONSTANT + FOR_TREES_ONLY)
@each(BAGGED)
def test_nothing_to_learn_from_gives_the_mean(cls: type[Any], features: Any, n_rows: int) -> None:
    y = target_of(cls)[:n_rows]
    model = make(cls, bootstrap=False).fit(features, y)
    predictions = predictions_of(model, features)
    predictions = predictions[:, -1] if is_classifier(model) else predictions
    np.testing.assert_allclose(predictions, 1.0 if is_classifier(model) and n_rows == 1 else y.mean())
    np.testing.assert_array_equal(make(cls).fit(features, y).feature_importances_, 0.0)


@each(BAGGED)
def test_one_row_is_never_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)[:1]
    model = make(cls, n_estimators="auto", patience=5).fit(X[:1], y)
    assert np.isnan(model.oob_error_)
    assert len(model.estimators_) < 100  # nothing will ever be measured
    with pytest.warns(UserWarning, match="1 of 1 rows were in the sample of every member"):
        assert np.isnan(make(cls, oob_score=True).fit(X[:1], y).oob_score_)
    for combine in ("vote", "mean") if is_classifier(cls()) else ("median", "weighted"):
        np.testing.assert_array_equal(make(cls, combine=combine).fit(X[:1], y).predict(X), y[0])


@each(BAGGED)
def test_rows_never_judged_are_nan_and_counted(cls: type[Any]) -> None:
    y = target_of(cls)
    with pytest.warns(UserWarning, match=r"\d+ of 40 rows were in the sample of every member.*more members would"):
        model = make(cls, n_estimators=1, oob_score=True).fit(X, y)
    predictions = model.oob_decision_function_[:, 0] if is_classifier(model) else model.oob_prediction_
    judged = np.setdiff1d(np.arange(N), model.estimators_samples_[0])
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(predictions)), judged)
    assert model.oob_score_ == pytest.approx(model.score(X[judged], y[judged]))


@each(BAGGED)
def test_more_draws_than_rows(cls: type[Any]) -> None:
    model = make(cls, max_samples=10 * N, n_estimators=3).fit(X, target_of(cls))
    assert all(rows.size == 10 * N for rows in model.estimators_samples_)


@pytest.mark.parametrize("value", [7, 0, -3])
@each(ESTIMATORS)
def test_one_class_or_one_value(cls: type[Any], value: int) -> None:
    model = make(cls).fit(X, np.full(N, value))
    if cls is OnlineBaggingRegressor:
        assert np.isfinite(model.predict(X)).all()
        return
    np.testing.assert_array_equal(model.predict(X), value)
    if is_classifier(model):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))


@pytest.mark.parametrize("names", [case for case in LABEL_KINDS if case.id != "dates"])
def test_labels_of_other_learners_come_back_as_they_were(names: Any) -> None:
    for learner in (GaussianNB(), KNeighborsClassifier(3)):
        model = make(BaggingClassifier, estimator=learner).fit(X, names[LABELS])
        expected = make(BaggingClassifier, estimator=learner).fit(X, LABELS)
        np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])


@pytest.mark.parametrize("weight", [case for case in WEIGHTS if case.id != "number"])
@each(ESTIMATORS)
def test_equal_weights_change_no_answer(cls: type[Any], weight: Any) -> None:
    """But for a whole one above 1, which is so many rows: other draws from the same distribution."""
    model = make(cls).fit(X, target_of(cls), weight)
    np.testing.assert_allclose(predictions_of(model), predictions_of(fitted(cls)), rtol=1e-9, atol=1e-12)


@each(ESTIMATORS)
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    every = [{}, {"bootstrap": False, "max_samples": 0.5}, {"tree_size": "pruned"}] if cls in BAGGED else [{}]
    for params in every:
        model, expected = make(cls, **params).fit(X, y, weight), make(cls, **params).fit(X[weight], y[weight])
        np.testing.assert_allclose(predictions_of(model), predictions_of(expected), rtol=1e-9, atol=1e-12)


@each(CLASSIFIERS)
def test_a_class_of_weight_zero_keeps_its_place(cls: type[Any]) -> None:
    y = np.arange(N) % 3
    model = make(cls).fit(X, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("decades", [10, 40, 90, 290])
@each(ESTIMATORS)
def test_weights_of_many_decades(cls: type[Any], decades: int) -> None:
    y, weight = target_of(cls), np.logspace(-decades, 0, N)
    model = make(cls).fit(X, y, sample_weight=weight)
    assert np.isfinite(predictions_of(model)).all()
    if cls in BAGGED:
        assert model.predict(X)[-1] == pytest.approx(y[-1], abs=0.5)  # nearly all of the weight


@pytest.mark.parametrize("values", [[-MAX, MAX], [-1e308, 1e308], [0.0, 5e-324], [1e-300, 3e-300], [0.0, MAX]])
def test_two_extreme_values_are_told_apart(values: list[float]) -> None:
    column, labels = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1], 10)
    model = make(BaggingClassifier).fit(column, labels)
    np.testing.assert_array_equal(model.predict(column), labels)
    assert model.oob_error_ == 0.0


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@pytest.mark.parametrize("combine", ["mean", "median", "weighted"])
def test_the_scale_of_the_target_does_not_matter(combine: str, scale: float) -> None:
    """Nearly: samples depend on the values of the rows, so only the quality stays."""
    model = make(BaggingRegressor, combine=combine, n_estimators=20).fit(X, VALUES * scale)
    expected = make(BaggingRegressor, combine=combine, n_estimators=20).fit(X, VALUES)
    assert model.score(X, VALUES * scale) == pytest.approx(expected.score(X, VALUES), abs=0.1)
    assert np.isfinite(model.history_.oob_error[-1])


@each(BAGGED)
def test_duplicated_rows_with_contradicting_labels(cls: type[Any]) -> None:
    features, y = np.repeat([[1.0], [2.0]], 8, axis=0), np.r_[np.arange(8) >= 6, np.arange(8) < 6].astype(int)
    for bootstrap, tolerance in ((False, 1e-9), (True, 0.06)):
        model = make(cls, bootstrap=bootstrap, n_estimators=300).fit(features, y)
        predictions = predictions_of(model, [[1.0], [2.0]])
        predictions = predictions[:, 1] if is_classifier(model) else predictions
        np.testing.assert_allclose(predictions, [0.25, 0.75], atol=tolerance)


@pytest.mark.parametrize("n_levels", [1, 2, 40, 300])
@each(BAGGED)
def test_categories_of_any_number_and_unseen_ones(cls: type[Any], n_levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, 400)
    effect = rng.normal(size=n_levels)[code]
    frame = pd.DataFrame({"c": pd.Categorical(code.astype(str)), "x": rng.normal(size=400)})
    y: Any = frame["x"] if n_levels == 1 else effect
    y = np.asarray(y > 0.0) if is_classifier(cls()) else np.asarray(y)
    model = make(cls).fit(frame, y)
    assert n_levels > 255 or model.score(frame, y) > 0.8  # more than 255 have too few rows each
    other = frame.assign(c=pd.Categorical(["nobody saw this"] * 400))
    missing = frame.assign(c=pd.Categorical([None] * 400, ["0"]))
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(model, missing))
    as_polars = pl.from_pandas(frame.assign(c=frame["c"].astype(str))).with_columns(pl.col("c").cast(pl.Categorical))
    np.testing.assert_array_equal(predictions_of(model, as_polars), predictions_of(model, frame))


@each(BAGGED)
def test_missing_values_in_predict_only(cls: type[Any]) -> None:
    for rows in (np.full((2, 3), nan), changed(nan)):
        assert np.isfinite(predictions_of(fitted(cls), rows)).all()


@each(BAGGED)
def test_frames_of_bools_integers_and_holes(cls: type[Any]) -> None:
    columns = {"flag": X[:, 0] > 0, "count": (10 * X[:, 1]).astype(int), "x": np.where(X[:, 2] > 1, nan, X[:, 2])}
    y = target_of(cls)
    plain = np.column_stack(list(columns.values())).astype(float)
    expected = predictions_of(make(cls).fit(plain, y), plain)
    for frame in (pd.DataFrame(columns), pl.DataFrame({**columns, "x": pl.Series(columns["x"]).fill_nan(None)})):
        np.testing.assert_array_equal(predictions_of(make(cls).fit(frame, y), frame), expected)


@each(BAGGED)
def test_scores_of_every_kind_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)
    names = ["roc_auc", "neg_log_loss", "balanced_accuracy"] if is_classifier(cls()) else ["neg_max_error", "r2"]
    for name in names:
        assert np.isfinite(make(cls, n_estimators=30, oob_score=name).fit(X, y).oob_score_)

    def fail(truth: Any, predictions: Any) -> float:
        raise RuntimeError("no score for this")

    assert_rejected(make(cls, n_estimators=30, oob_score=fail), RuntimeError, "no score for this", X, y)


# --- one fit after another -------------------------------------------------------------------------------------------


@each(BAGGED)
def test_a_warm_start_rejects_other_data(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True).fit(X, y)
    other = "X, y, sample_weight, .* changed"
    assert_rejected(model, ValueError, "it had 40 rows, X and y have 39", X[1:], y[1:])
    assert_rejected(model, ValueError, "the 3 columns of that fit and the 2 of X", X[:, :2], y)
    assert_rejected(model, ValueError, other, X[::-1], y)
    assert_rejected(model, ValueError, other, X, y, np.arange(N) + 1.0)
    assert_rejected(deepcopy(model).set_params(bootstrap=False), ValueError, other, X, y)
    assert_rejected(deepcopy(model).set_params(max_features=2), ValueError, other, X, y)
    if is_classifier(model):
        assert_rejected(
            model, ValueError, r"the classes of the previous fit: it had \[0, 1\], y has \[5, 6\]", X, y + 5
        )
    model.set_params(n_estimators=2)
    assert_rejected(model, ValueError, "n_estimators=2 must be larger or equal to the 6 members", X, y)


@each(BAGGED)
def test_a_warm_start_rejects_values_changed_a_little(cls: type[Any]) -> None:
    y, nudged = target_of(cls), X.copy()
    nudged[:, 0] = np.round(nudged[:, 0], 2)
    model = make(cls, warm_start=True).fit(X, y)
    assert_rejected(model.set_params(n_estimators=8), ValueError, "requires the training rows", nudged, y)


@each(ESTIMATORS)
def test_copies_answer_alike_and_parameters_set_later_change_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    unfitted: Any = clone(model)
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), unfitted.fit(X, y)):
        np.testing.assert_array_equal(predictions_of(copy), predictions_of(model))
    predictions = predictions_of(model)
    later = {"n_estimators": 1, "max_samples": 3, "bootstrap": False, "n_jobs": 2, "batch_size": 1}
    model.set_params(**{name: value for name, value in later.items() if has_params(cls, **{name: value})})
    np.testing.assert_array_equal(predictions_of(model), predictions)


@pytest.mark.parametrize("combine", ["mean", "vote", "median", "weighted"])
@each(BAGGED)
def test_a_rule_set_after_the_fit_changes_nothing(cls: type[Any], combine: str) -> None:
    if combine not in (["mean", "vote"] if is_classifier(cls()) else ["mean", "median", "weighted"]):
        pytest.skip("has no such rule")
    model = make(cls, combine=combine).fit(X, target_of(cls))
    predictions = predictions_of(model)
    others = ["mean", "vote"] if is_classifier(cls()) else ["mean", "median", "weighted"]
    for other in others:
        np.testing.assert_array_equal(predictions_of(model.set_params(combine=other)), predictions)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@each(BAGGED)
def test_threads_change_no_bit(cls: type[Any], n_jobs: int) -> None:
    wide, y = np.tile(X, (60, 4)), np.tile(target_of(cls), 60)
    wide = wide + np.random.default_rng(0).normal(size=wide.shape)
    one, many = make(cls, n_jobs=1).fit(wide, y), make(cls, n_jobs=n_jobs).fit(wide, y)
    np.testing.assert_array_equal(predictions_of(one, wide), predictions_of(many, wide))
    np.testing.assert_array_equal(one.history_.oob_error, many.history_.oob_error)


@each(BAGGED)
def test_shap_values_add_up_to_the_answers(cls: type[Any]) -> None:
    for params in ({}, {"max_features": 2}, {"combine": "vote" if is_classifier(cls()) else "weighted"}):
        model = make(cls, **params).fit(X, target_of(cls))
        result = shap_values(model, X)
        np.testing.assert_allclose(result.base_values + result.values.sum(axis=1), predictions_of(model), atol=1e-6)


# --- streams ---------------------------------------------------------------------------------------------------------


@each(ONLINE_CLASSIFIERS)
def test_a_stream_must_name_its_classes_first(cls: type[Any]) -> None:
    model = make(cls)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        model.partial_fit(X, LABELS)
    for bad, text in (
        ([], r"classes must list the labels .*, got \[\]"),
        ([0, nan], "NaN"),
        (["a", 1], "mixes strings"),
    ):
        with pytest.raises(ValueError, match=text):
            model.partial_fit(X, LABELS, classes=bad)
    for bad in (3, "ab", None):
        with pytest.raises((ValueError, TypeError), match="class"):
            model.partial_fit(X, LABELS, classes=bad)
    with pytest.raises(ValueError, match=r"labels that are not among the classes of the stream: \[0\]"):
        model.partial_fit(X, LABELS, classes=[1, 2])
    assert vars(model) == before
    model.partial_fit(X, LABELS, classes=[2, 1, 0, 1])  # in any order, more than once
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"classes=\[0, 1\] is not the same as on the last call"):
        model.partial_fit(X, LABELS, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels that are not among the classes of the stream: \[7\]"):
        model.partial_fit(X, np.full(N, 7))
    assert model.n_seen_ == N


@each(ONLINE)
def test_a_stream_of_single_rows_is_the_stream(cls: type[Any]) -> None:
    y = target_of(cls)
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    whole, rows = make(cls, batch_size=1), make(cls, batch_size=1)
    whole.partial_fit(X, y, **known)
    for i in range(N):
        rows.partial_fit(X[i : i + 1], y[i : i + 1], **known)
    np.testing.assert_allclose(predictions_of(rows), predictions_of(whole))
    assert rows.prequential_error_ == pytest.approx(whole.prequential_error_)
    assert rows.n_seen_ == N


@each(ONLINE)
def test_a_piece_that_fails_is_not_learned(cls: type[Any]) -> None:
    y = target_of(cls)
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    model = make(cls).partial_fit(X, y, **known)
    predictions, before = predictions_of(model), dict(vars(model))
    for bad in (changed(inf), changed(nan), X[:, :2]):
        with pytest.raises(ValueError, match=r"infinity|NaN|features"):
            model.partial_fit(bad, y)
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(predictions_of(model), predictions)


@each(ONLINE)
def test_a_stream_in_which_nothing_is_drawn(cls: type[Any]) -> None:
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    model = make(cls).partial_fit(X[:1], target_of(cls)[:1], sample_weight=[1e-9], **known)
    np.testing.assert_array_equal(predictions_of(model), 0.5 if is_classifier(model) else 0.0)
    assert np.isnan(model.prequential_error_)
    assert np.isnan(model.history_.prequential_error).all()


class Unweighted(Learner):
    """Learns repeated rows only."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Learner:  # type: ignore[override]
        return super().partial_fit(X, y, classes)


@each(ONLINE)
def test_huge_weights_are_many_rows_or_rejected(cls: type[Any]) -> None:
    y, heavy = target_of(cls), np.full(N, 1e12)
    model = make(cls, estimator=Unweighted(np.zeros))
    text = r"Unweighted takes no weights, and .* repeated rows are too many: divide sample_weight"
    with pytest.raises(ValueError, match=text):
        model.partial_fit(X, y, sample_weight=heavy, **({"classes": [0, 1]} if is_classifier(model) else {}))
    if is_classifier(model):
        learned = make(cls, estimator=GaussianNB()).partial_fit(X, y, classes=[0, 1], sample_weight=heavy)
        assert learned.score(X, y) > 0.6


def test_a_regressor_that_runs_away_says_what_helps() -> None:
    model = make(OnlineBaggingRegressor)
    assert_rejected(model, ValueError, "overflow occurred .* Scaling input data", X * 1e150, VALUES)


@pytest.mark.parametrize(("bad", "error", "text"), [case for case in BAD_TABLES if case.id in ("1-d", "inf", "string")])
@each(ONLINE)
def test_a_batch_that_cannot_be_read_is_not_counted(
    cls: type[Any], bad: Any, error: type[Exception], text: str
) -> None:
    model = make(cls).fit(X, target_of(cls))
    with pytest.raises(error, match=text):
        model.partial_fit(bad, target_of(cls))
    with pytest.raises(ValueError, match="pass one"):
        model.partial_fit(X, target_of(cls)[1:])
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(X, target_of(cls), sample_weight=-np.ones(N))
    assert model.n_seen_ == N
