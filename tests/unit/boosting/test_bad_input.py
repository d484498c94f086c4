"""Bad and extreme input: the boosters and the weak learners beside trees answer right or say what to do.

Gradient boosting, which has no base learner and other parameters, has tables of its own beside this file; so have
bagging, forests and online ensembles in their folders.

The tables of tests/bad_input.py, which the trees run too, and those of the boosters: their parameters, weak learners
and rows to validate on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

import committee
from committee import AdaBoostClassifier, DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from committee.catalog import CATALOG
from tests.bad_input import (
    LABEL_KINDS,
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    changed,
    each,
    has_params,
    inf,
    nan,
    table,
    target_of,
    with_params,
)

# Tiny and extreme tables end a run early, which the boosters say in a warning.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ESTIMATORS: list[type[Any]] = [
    getattr(committee, entry.name)
    for entry in CATALOG
    if entry.module.startswith(("committee.boosting", "committee.members"))
    and not entry.module.startswith(
        (
            "committee.boosting.online",
            "committee.members.numeric_pipeline",
        )
    )
]
CLASSIFIERS = [cls for cls in ESTIMATORS if is_classifier(cls())]
REGRESSORS = [cls for cls in ESTIMATORS if not is_classifier(cls())]
BOOSTERS = [cls for cls in ESTIMATORS if cls.__module__.startswith("committee.boosting")]
OTHERS = [cls for cls in ESTIMATORS if cls not in BOOSTERS]
ENSEMBLES = [cls for cls in ESTIMATORS if has_params(cls, estimator=None)]

METHODS = ["predict", "predict_proba", "decision_function"]
STAGED = ["staged_predict", "staged_predict_proba", "staged_decision_function"]


def make(cls: type[Any], **params: Any) -> Any:
    """An estimator with those of the parameters that it has, the same at every fit."""
    return with_params(cls, random_state=0, **params)


@cache
def fitted(cls: type[Any], **params: Any) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls, **params).fit(X, target_of(cls))


def plain_learner(cls: type[Any]) -> Any:
    """A weak learner of scikit-learn that takes no missing values."""
    return LogisticRegression() if is_classifier(cls()) else LinearRegression()


def assert_same_answers(model: Any, expected: Any, rows: Any = X) -> None:
    predictions, right = model.predict(rows), expected.predict(rows)
    if is_classifier(expected):
        np.testing.assert_array_equal(predictions, right)
    else:
        np.testing.assert_allclose(predictions, right, rtol=1e-9, atol=1e-12)


# --- refused everywhere ----------------------------------------------------------------------------------------------


@each(ESTIMATORS)
def test_missing_values_are_rejected_where_the_learner_does_not_take_them(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, estimator=plain_learner(cls)) if cls in BOOSTERS else make(cls)
    with pytest.raises(ValueError, match=r"contains NaN in column x\[1\], which .* does not accept: fill the missing"):
        model.fit(changed(nan), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"contains NaN in column x\[1\], which .* does not accept: fill the missing"):
        model.predict(changed(nan))


@each([cls for cls in CLASSIFIERS if "Only binary" in (cls.__doc__ or "") or "two classes (" in (cls.__doc__ or "")])
def test_three_classes_are_rejected_by_boosters_for_two(cls: type[Any]) -> None:
    with pytest.raises(ValueError, match=f"Only binary classification is supported by {cls.__name__}; y has 3 classes"):
        cls().fit(X, np.arange(N) % 3)


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("loss", {"loss": "huber"}, "'loss' parameter of .* a str among"),
    ("early_stopping bool", {"early_stopping": True}, "'early_stopping' parameter of .* Got True"),
    ("max_iter", {"max_iter": 0}, r"'max_iter' .* \[1, inf\)"),
    ("n_jobs 0", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(ESTIMATORS)
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    model = cls(**params)
    with pytest.raises(ValueError, match=text):
        model.fit(X, target_of(cls))
    assert vars(model).keys() == vars(cls()).keys()


@pytest.mark.parametrize("thetas", [[], [0.0, 1.0], [nan], [-2.0]])
def test_bad_candidates_of_theta(thetas: list[float]) -> None:
    model = committee.AdaBoostThetaClassifier(theta="validation", thetas=thetas)
    with pytest.raises(ValueError, match=r"thetas must be .* in \(-1, 1\)"):
        model.fit(X, LABELS, X_val=X, y_val=LABELS)


# --- weak learners ---------------------------------------------------------------------------------------------------


class Learner(BaseEstimator):
    """A learner with one answer for everything."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.predictions(len(X)))


class Failing(Learner):
    """Cannot be fitted."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        raise RuntimeError("the third row is not to my taste")


class Failing2(Failing):
    """Can be fitted twice, to fail in the third round."""

    n_fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        type(self).n_fits += 1
        return super().fit(X, y) if self.n_fits > 2 else Learner.fit(self, X, y)


class Interrupted(Learner):
    """The user presses Ctrl-C."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        raise KeyboardInterrupt


class Unclonable:
    """fit and predict, but no parameters."""

    def fit(self, X: Any, y: Any) -> None: ...

    def predict(self, X: Any) -> None: ...


BAD_PREDICTIONS = table(
    ("too few", lambda n: np.zeros(3)),
    ("too many", lambda n: np.zeros(n + 1)),
    ("two columns", lambda n: np.zeros((n, 2))),
    ("nan", lambda n: np.full(n, nan)),
    ("inf", lambda n: np.full(n, inf)),
)


@pytest.mark.parametrize("predictions", BAD_PREDICTIONS)
@each(ENSEMBLES)
def test_bad_answers_of_a_learner_are_rejected(cls: type[Any], predictions: Callable[[int], Any]) -> None:
    with pytest.raises(ValueError, match="Learner must predict "):
        make(cls, estimator=Learner(predictions)).fit(X, target_of(cls))


@pytest.mark.parametrize("n_classes", [2, 3])
@each([AdaBoostClassifier, committee.AdaBoostM1Classifier, committee.RestartClassifier])
def test_labels_that_nobody_asked_for_are_rejected(cls: type[Any], n_classes: int) -> None:
    with pytest.raises(
        ValueError, match=r"must predict for every row a class of the labels .*returned \[7, 7, 7, 7, 7\]"
    ):
        cls(Learner(lambda n: np.full(n, 7))).fit(X, np.arange(N) % n_classes)


@each(ENSEMBLES)
def test_learners_of_the_wrong_kind_are_rejected(cls: type[Any]) -> None:
    others: list[Any] = [LinearRegression(), SklearnRegressor(), DecisionTreeRegressor()]
    kind, other = "classifier", "regressor"
    if not is_classifier(cls()):
        others, kind, other = [LogisticRegression(), SklearnClassifier(), DecisionTreeClassifier()], other, kind
    for learner in others:
        with pytest.raises(ValueError, match=f"estimator must be a {kind}, {type(learner).__name__} is a {other}"):
            cls(learner).fit(X, LABELS)
    for learner in (DecisionStump, DecisionTreeRegressor, LinearRegression):
        with pytest.raises(TypeError, match=f"estimator is the class {learner.__name__}: pass an instance of it"):
            cls(learner).fit(X, LABELS)
    with pytest.raises(TypeError, match=r"Cannot clone object .* does not implement a 'get_params' method"):
        cls(Unclonable()).fit(X, target_of(cls))


@each(ENSEMBLES)
def test_errors_of_a_learner_come_through_and_leave_the_model_as_it_was(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    predictions = model.predict(X)
    for learner, error in ((Failing(), RuntimeError), (Interrupted(), KeyboardInterrupt)):
        model.set_params(estimator=learner)
        before = dict(vars(model))
        with pytest.raises(error):
            model.fit(X, y)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.set_params(estimator=None).predict(X), predictions)


@each(REGRESSORS)
def test_a_learner_that_fails_in_the_third_round(cls: type[Any]) -> None:
    Failing2.n_fits = 0
    model = make(cls, estimator=Failing2(lambda n: np.linspace(0.1, 1.0, n)), on_worse_than_chance="restart")
    with pytest.raises(RuntimeError, match="not to my taste"):
        model.fit(X, VALUES)
    assert Failing2.n_fits == 3
    assert not hasattr(model, "history_")


# --- rows to validate on ---------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=list("abc"))
BAD_VALIDATION = table(
    ("no table", {"X_val": None}, "both X_val and y_val: pass both, or neither"),
    ("no target", {"y_val": None}, "both X_val and y_val: pass both, or neither"),
    ("fewer columns", {"X_val": X[:, :2]}, "X has 2 features, but .* is expecting 3"),
    ("no rows", {"X_val": X[:0]}, r"Found array with 0 sample\(s\)"),
    ("inf", {"X_val": changed(inf)}, r"infinity .* in column x\[1\]"),
    ("strings", {"X_val": changed("a", dtype=object)}, r"Column x\[1\] holds strings such as 'a'"),
    ("1-d", {"X_val": X[:, 0]}, "Expected 2D array"),
    ("too short", {"y_val": LABELS[1:]}, f"X has {N} rows, y has {N - 1}: pass one"),
    ("nan target", {"y_val": np.r_[nan, VALUES[1:]]}, "Input y contains NaN"),
    (
        "other strings",
        {"y_val": np.where(LABELS, "a", "b")},
        "y_val has labels that y in fit does not have|holds strings such as",
    ),
    ("weights of zero", {"sample_weight_val": np.zeros(N)}, "all weights are zero.*sample_weight_val=None"),
    ("weights of nan", {"sample_weight_val": np.full(N, nan)}, "sample_weight_val contains NaN"),
    ("weights below zero", {"sample_weight_val": -np.ones(N)}, "Negative values in sample_weight_val"),
    ("weights too short", {"sample_weight_val": np.ones(3)}, "sample_weight_val has 3: pass one weight per row"),
)


@pytest.mark.parametrize(("arguments", "text"), BAD_VALIDATION)
@each(BOOSTERS)
def test_bad_rows_to_validate_on_are_rejected(cls: type[Any], arguments: dict[str, Any], text: str) -> None:
    y, model = target_of(cls), cls()
    with pytest.raises(ValueError, match=text):
        model.fit(X, y, **{"X_val": X, "y_val": y, **arguments})
    assert vars(model) == vars(cls())


@each(BOOSTERS)
def test_rows_to_validate_on_have_the_columns_of_the_training_table(cls: type[Any]) -> None:
    y = target_of(cls)
    for other, text in ((FRAME[["b", "a", "c"]], "same order"), (FRAME.rename(columns={"c": "z"}), "unseen at fit")):
        with pytest.raises(ValueError, match=text):
            make(cls).fit(FRAME, y, X_val=other, y_val=y)
    with pytest.raises(ValueError, match=r"contains NaN in column x\[\d\], which the base learner"):
        make(cls, estimator=plain_learner(cls)).fit(X, y, X_val=changed(nan), y_val=y)
    by_array = make(cls).fit(X, y, X_val=X[::2], y_val=y[::2])
    by_frame = make(cls).fit(FRAME, y, X_val=FRAME.iloc[::2].set_index(np.arange(N // 2) % 3), y_val=pd.Series(y[::2]))
    np.testing.assert_array_equal(by_array.history_.validation_error, by_frame.history_.validation_error)
    assert np.isfinite(by_array.history_.validation_error).all()


@each([cls for cls in CLASSIFIERS if cls in BOOSTERS])
def test_labels_to_validate_on_are_those_of_the_training_rows(cls: type[Any]) -> None:
    with pytest.raises(ValueError, match=r"y_val has labels that y in fit does not have: \[5\]"):
        cls().fit(X, LABELS, X_val=X, y_val=np.where(LABELS, 5, 0))
    model = make(cls).fit(X, LABELS, X_val=X[LABELS == 1], y_val=LABELS[LABELS == 1])  # some classes are enough
    wrong = model.predict(X[LABELS == 1]) != 1
    assert model.history_.validation_error[-1] == pytest.approx(wrong.mean())


@each([cls for cls in BOOSTERS if has_params(cls, early_stopping=None)])
def test_too_few_rows_to_hold_any_out(cls: type[Any]) -> None:
    with pytest.raises(ValueError, match=r"1 rows (leave none|cannot be divided).*: pass X_val and y_val"):
        cls(early_stopping="validation").fit(X[:1], target_of(cls)[:1])


# --- unusual input with one right answer -----------------------------------------------------------------------------

NOTHING_TO_LEARN_FROM = table(
    ("one row", X[:1], slice(1)),
    ("one row of float32", X[:1].astype(np.float32), slice(1)),
    ("one of two rows", X[:2], slice(1)),
    ("constant features", np.ones((N, 3)), slice(None)),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), slice(None)),
    ("constant and huge", np.full((N, 3), MAX), slice(None)),
)
NOTHING_BUT_HOLES = table(
    ("all missing", np.full((N, 3), nan)),
    ("all missing objects", np.full((N, 3), None)),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])})),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)})),
)


def assert_constant(model: Any, features: Any, y: Any) -> None:
    predictions = model.predict(features)
    assert len(set(predictions.tolist())) == 1
    if is_classifier(model):
        assert predictions[0] == np.bincount(y).argmax()
    elif type(model).__name__ == "StagewiseRegressor":
        np.testing.assert_allclose(predictions, y.mean())
    else:
        assert y.min() <= predictions[0] <= y.max()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(features).sum(axis=1), 1.0)


@pytest.mark.parametrize(("features", "rows"), NOTHING_TO_LEARN_FROM)
@each(ESTIMATORS)
def test_nothing_to_learn_from_gives_a_constant(cls: type[Any], features: Any, rows: slice) -> None:
    y = target_of(cls)[rows]
    assert_constant(make(cls).fit(features[rows], y), features, y)


@pytest.mark.parametrize("features", NOTHING_BUT_HOLES)
@each(BOOSTERS)
def test_nothing_but_holes_gives_a_constant(cls: type[Any], features: Any) -> None:
    y = target_of(cls)
    assert_constant(make(cls).fit(features, y), features, y)


@each(BOOSTERS)
def test_a_column_of_missing_values_does_not_matter(cls: type[Any]) -> None:
    y, holes = target_of(cls), X.copy()
    holes[:, 1] = nan
    model = make(cls, weighting="reweight").fit(holes, y)  # a resample depends on the values of the rows
    expected = make(cls, weighting="reweight").fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(model.predict(holes), expected.predict(X[:, [0, 2]]))
    assert np.isfinite(make(cls).fit(X, y).predict(np.full((2, 3), nan))).all()


@pytest.mark.parametrize("value", [7, 0, -3])
@each(ESTIMATORS)
def test_one_class_or_one_value(cls: type[Any], value: int) -> None:
    model = make(cls).fit(X, np.full(N, value))
    np.testing.assert_array_equal(model.predict(X), value)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
    if hasattr(model, "staged_predict"):
        assert all(np.all(predictions == value) for predictions in model.staged_predict(X))


@pytest.mark.parametrize("names", LABEL_KINDS)
@pytest.mark.parametrize("learner", [GaussianNB(), KNeighborsClassifier(3)], ids=["by weights", "by resampling"])
def test_labels_of_other_learners_come_back_as_they_were(learner: Any, names: Any) -> None:
    if names.dtype.kind == "M":
        pytest.skip("scikit-learn takes no dates as labels")
    model = AdaBoostClassifier(learner, random_state=0, n_estimators=5).fit(X, names[LABELS])
    expected = AdaBoostClassifier(learner, random_state=0, n_estimators=5).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])


@pytest.mark.parametrize("weight", WEIGHTS)
@each(ESTIMATORS)
def test_equal_weights_change_no_answer(cls: type[Any], weight: Any) -> None:
    model = make(cls, weighting="reweight")  # a whole weight repeats a row, also in a resample
    assert_same_answers(model.fit(X, target_of(cls), sample_weight=weight), fitted(cls, weighting="reweight"))


@each(ESTIMATORS)
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    assert_same_answers(make(cls).fit(X, y, sample_weight=weight), make(cls).fit(X[weight], y[weight]))


@pytest.mark.parametrize("decades", [10, 40, 90])
@each(ESTIMATORS)
def test_weights_of_many_decades(cls: type[Any], decades: int) -> None:
    y, weight = target_of(cls), np.logspace(-decades, 0, N)
    model = make(cls).fit(X, y, sample_weight=weight)
    predictions = model.predict(X)
    assert np.isfinite(predictions).all()
    if is_classifier(model):  # rows with nearly all of the weight come out right
        assert weight[predictions != y].sum() <= 0.5 * weight.sum()
        assert weight[predictions != y].max(initial=0.0) < weight[-1]


@each(ESTIMATORS)
def test_weights_too_small_to_divide_by_count_as_zero(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.where(np.arange(N) % 3 > 0, 1.0, 5e-324)
    model = make(cls).fit(X, y, sample_weight=weight)
    assert_same_answers(model, make(cls).fit(X, y, sample_weight=np.floor(weight)))


TOO_FAR = table(
    ("AdaBoost", AdaBoostClassifier(learning_rate=1e4), "exceed float64.*learning_rate"),
    ("R2", committee.AdaBoostRegressor(learning_rate=1e3, random_state=0), "learning_rate=1000 all weights are 0"),
    (
        "stagewise",
        committee.StagewiseRegressor(learning_rate=1e3),
        "exceed float64 with learning_rate=1000",
    ),
)


@pytest.mark.parametrize(("model", "text"), TOO_FAR)
def test_steps_that_leave_float64_are_rejected(model: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        model.fit(X, target_of(type(model)))


@pytest.mark.parametrize("values", [[-MAX, MAX], [-1e308, 1e308], [0.0, 5e-324], [1e-300, 3e-300], [0.0, MAX]])
@each(CLASSIFIERS)
def test_two_extreme_values_are_told_apart(cls: type[Any], values: list[float]) -> None:
    column, labels = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1], 10)
    predictions = make(cls).fit(column, labels).predict(column)
    if cls in OTHERS and values[1] == 5e-324:
        assert np.ptp(predictions) == 0  # no coefficient in float64 tells them apart: a constant column
    else:
        np.testing.assert_array_equal(predictions, labels)


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
@each(REGRESSORS)
def test_the_scale_of_the_target_does_not_matter(cls: type[Any], scale: float) -> None:
    model = make(cls, weighting="reweight").fit(X, VALUES * scale)  # a resample depends on the values of the rows
    expected = fitted(cls, weighting="reweight")
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-9)


@each(CLASSIFIERS)
def test_duplicated_rows_with_contradicting_labels(cls: type[Any]) -> None:
    features, labels = np.repeat([[1.0], [2.0]], 8, axis=0), np.r_[np.arange(8) >= 6, np.arange(8) < 6].astype(int)
    model = make(cls).fit(features, labels)
    assert model.predict([[1.0], [2.0]]).tolist() == [0, 1]
    if hasattr(model, "history_"):
        assert all(np.isfinite(model.history_[name]).all() for name in ("error", "train_error"))


@each([cls for cls in BOOSTERS if has_params(cls, n_estimators=1)])
def test_thousands_of_rounds_on_three_rows(cls: type[Any]) -> None:
    features, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    model = make(cls, n_estimators=2000).fit(features, y)
    np.testing.assert_allclose(model.predict(features), y, atol=1e-6)
    assert all(np.isfinite(model.history_[name]).all() for name in ("coefficient", "train_error")
               if name in model.history_)  # fmt: skip


# --- one fit after another -------------------------------------------------------------------------------------------


@each([cls for cls in BOOSTERS if has_params(cls, warm_start=True)])
def test_a_warm_start_rejects_other_rows_and_fewer_rounds(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True, n_estimators=5).fit(X, y)
    predictions = model.predict(X)
    with pytest.raises(
        ValueError, match="requires the training rows of the previous fit: it had 40 rows, X and y have 39"
    ):
        model.fit(X[1:], y[1:])
    with pytest.raises(ValueError, match=r"n_estimators=1 must be larger or equal to the \d+ "):
        model.set_params(n_estimators=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), predictions)


@each([cls for cls in BOOSTERS if has_params(cls, warm_start=True)])
def test_a_warm_start_rejects_other_columns_and_classes(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True, n_estimators=5).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"columns of the previous fit: the 3 columns .* and the 2 of X differ"):
        model.fit(X[:, :2], y)
    if is_classifier(model):
        with pytest.raises(
            ValueError, match=r"requires the classes of the previous fit: it had \[0, 1\], y has \[5, 6\]"
        ):
            model.fit(X, y + 5)
    assert all(vars(model)[name] is value for name, value in before.items())


@each([cls for cls in BOOSTERS if has_params(cls, warm_start=True)])
def test_a_warm_start_rejects_other_values_and_takes_the_same_ones_in_another_form(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True, n_estimators=5).fit(X, y)
    before = dict(vars(model))
    one_cell = X.copy()
    one_cell[7, 1] += 1.0
    weight = np.where(np.arange(N) == 7, 2.0, 1.0)
    for arguments in ((one_cell, y), (X[:, ::-1], y), (X[::-1], y[::-1]), (X, np.roll(y, 1)), (X, y, weight)):
        with pytest.raises(ValueError, match="X, y or sample_weight changed"):
            model.fit(*arguments)
    assert all(vars(model)[name] is value for name, value in before.items())
    for same in (np.asfortranarray(X), np.where(X == 0.0, -0.0, X), X.tolist()):
        model.fit(same, y)


@each(BOOSTERS)
def test_another_learner_set_after_the_fit_changes_no_answer(cls: type[Any]) -> None:
    holes, y = changed(nan), target_of(cls)
    model = make(cls).fit(holes, y)
    predictions = model.predict(holes)
    model.set_params(estimator=plain_learner(cls))
    np.testing.assert_array_equal(model.predict(holes), predictions)
    assert model.estimators_[0].predict(holes).shape == (N,)


@each(ESTIMATORS)
def test_parameters_set_after_the_fit_change_no_answer(cls: type[Any]) -> None:
    model = make(cls).fit(X, target_of(cls))
    predictions = model.predict(X)
    for params in ({"n_estimators": 1}, {"learning_rate": 0.01}, {"nu": 0.9}, {"n_jobs": 2}, {"depth": 3}):
        if has_params(cls, **params):
            model.set_params(**params)
    np.testing.assert_array_equal(model.predict(X), predictions)


@each([cls for cls in ESTIMATORS if has_params(cls, n_jobs=2)])
def test_two_threads_answer_as_one(cls: type[Any]) -> None:
    y = target_of(cls)
    model, expected = make(cls, n_jobs=2).fit(X, y), make(cls, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@each([cls for cls in ESTIMATORS if has_params(cls, verbose=1)])
def test_verbose_talks_and_changes_nothing(cls: type[Any], capfd: pytest.CaptureFixture[str]) -> None:
    y = target_of(cls)
    model = make(cls, verbose=1).fit(X, y)
    printed = capfd.readouterr()
    assert cls.__name__ in printed.out + printed.err
    np.testing.assert_array_equal(model.predict(X), make(cls).fit(X, y).predict(X))
