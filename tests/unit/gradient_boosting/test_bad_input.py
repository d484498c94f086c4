"""Bad and extreme input of gradient boosting: it answers right, or says what to do and stays as it was."""

from __future__ import annotations

import math
import pickle
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    assert_rejected,
    changed,
    has_params,
    inf,
    nan,
    table,
    target_of,
)

# Tiny and constant tables let no tree split, which the model says in a warning.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BOTH: list[type[Any]] = [GradientBoostingClassifier, GradientBoostingRegressor]
METHODS = ["predict", "predict_proba", "decision_function", "predict_log_proba", "apply"]
STAGED = ["staged_predict", "staged_predict_proba", "staged_decision_function"]
VALUE_LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "expectile", "poisson", "gamma", "tweedie"]
CLASS_LOSSES = ["log_loss", "exponential", "squared_hinge", "savage", "tangent"]

each = pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)


def make(cls: type[Any], **params: Any) -> Any:
    """A few rounds of small trees that can split the few rows here."""
    return cls(**{"n_estimators": 6, "learning_rate": 0.5, "min_samples_leaf": 2, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    return make(cls).fit(X, target_of(cls))


def assert_same_answers(model: Any, expected: Any, rows: Any = X) -> None:
    if is_classifier(expected):
        predictions, right = model.predict_proba(rows), expected.predict_proba(rows)
    else:
        predictions, right = model.predict(rows), expected.predict(rows)
    np.testing.assert_allclose(predictions, right, rtol=1e-9, atol=1e-12)


# --- refused ---------------------------------------------------------------------------------------------------------


NOT_FOR_THE_LOSS = table(
    ("poisson below zero", "poisson", np.r_[-1.0, np.ones(N - 1)], "y are negative: loss='poisson'"),
    ("tweedie below zero", "tweedie", np.r_[-1.0, np.ones(N - 1)], "y are negative: loss='tweedie'"),
    ("poisson all zero", "poisson", np.zeros(N), "All values of y are zero: loss='poisson'"),
    ("gamma zero", "gamma", np.r_[0.0, np.ones(N - 1)], "y are not positive: loss='gamma'"),
)


@pytest.mark.parametrize(("loss", "y", "text"), NOT_FOR_THE_LOSS)
def test_targets_that_a_loss_does_not_allow(loss: str, y: Any, text: str) -> None:
    assert_rejected(GradientBoostingRegressor(loss), ValueError, text, X, y)


@pytest.mark.parametrize("loss", CLASS_LOSSES[1:])
def test_margin_losses_are_for_two_classes(loss: str) -> None:
    text = rf"Only binary classification is supported by loss='{loss}'; y has 3 classes: use loss='log_loss'"
    assert_rejected(GradientBoostingClassifier(loss), ValueError, text, X, np.arange(N) % 3)


def test_monotone_constraints_are_for_two_classes() -> None:
    model = GradientBoostingClassifier(monotonic_cst=[1, 0, 0])
    assert_rejected(
        model, ValueError, "Monotonicity constraints are not supported with multiclass", X, np.arange(N) % 3
    )


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("loss", {"loss": "hinge"}, "'loss' parameter of .* a str among"),
    ("two functions", {"loss": (max, min)}, r"\(value, gradient, hessian\); got 2"),
    ("class_weight negative", {"class_weight": {0: -1.0}}, "Negative values in sample_weight times class_weight"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "all weights are zero"),
    ("class_weight nan", {"class_weight": {0: nan}}, "contains NaN or infinity"),
    ("quantile nan", {"quantile": [0.1, nan], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("quantiles fall", {"quantile": [0.9, 0.1], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("quantile twice", {"quantile": [0.5, 0.5], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("quantile words", {"quantile": ["a", "b"], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("no quantiles", {"quantile": [], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("quantile 1", {"quantile": [0.5, 1.0], "loss": "quantile"}, "between 0 and 1, or several ascending"),
    ("quantiles of another loss", {"quantile": [0.1, 0.9]}, "Several quantiles are for loss='quantile', not 'squared_"),
    ("alpha", {"alpha": 1.0}, r"'alpha' .* \(0.0, 1.0\)"),
    ("dropout with a hold-out", {"dropout": 0.1, "early_stopping": True}, "early_stopping='cv'"),
    ("dropout with a warm start", {"dropout": 0.1, "warm_start": True}, "warm_start=False"),
    ("max_features count", {"max_features": 2}, "'max_features' parameter of"),
    ("categorical_features", {"categorical_features": "all"}, "'categorical_features' parameter of"),
    ("categorical index", {"categorical_features": [7]}, "categorical_features"),
    ("monotonic_cst short", {"monotonic_cst": [1]}, r"monotonic_cst has shape \(1,\) but the input data X has 3"),
    ("monotonic_cst 2", {"monotonic_cst": [2, 0, 0]}, "monotonic_cst must contain only -1, 0 or 1; got 2"),
    ("monotonic_cst name", {"monotonic_cst": {"a": 1}}, "the columns of X have no names: use indices"),
    ("interaction_cst index", {"interaction_cst": [[5]]}, "interaction_cst names feature 5, but the table has 3"),
    ("interaction_cst flat", {"interaction_cst": [0, 1]}, "interaction_cst must hold groups of features"),
    ("a mean with a warm start", {"refit": False, "warm_start": True}, "refit=True, or warm_start=False"),
    ("callback", {"callbacks": [3]}, "callbacks must be functions"),
    ("n_jobs 0", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params) or (is_classifier(cls()) and params.get("quantile")):
        pytest.skip("has no such parameter")
    assert_rejected(cls(**params), (ValueError, TypeError), text, X, target_of(cls))


def test_folds_without_rows_are_rejected() -> None:
    cv = [(np.arange(20), np.arange(20, N)), (np.arange(N), np.arange(0))]
    model = GradientBoostingRegressor(early_stopping="cv", cv=cv)
    assert_rejected(model, ValueError, "no test rows", X, VALUES)


def test_folds_that_lie_in_rows_of_no_weight_are_rejected() -> None:
    model = GradientBoostingRegressor(early_stopping="cv", cv=KFold(2))
    text = "no training rows of positive weight"
    assert_rejected(model, ValueError, text, X, VALUES, sample_weight=np.arange(N) >= N // 2)


@each
def test_too_few_rows_to_hold_any_out(cls: type[Any]) -> None:
    text = r"n_samples = 1, .*cannot be divided.*: pass X_val and y_val, or early_stopping=False"
    assert_rejected(cls(early_stopping=True), ValueError, text, X[:1], target_of(cls)[:1])


# --- initial scores and rows to validate on --------------------------------------------------------------------------

BAD_INIT_SCORES = table(
    ("too short", np.zeros(3), rf"init_score must have 1 finite score\(s\) for each of {N} rows; got shape \(3, 1\)"),
    ("two columns", np.zeros((N, 2)), rf"got shape \({N}, 2\)"),
    ("number", 1.0, r"got shape \(\)"),
    ("nan", np.full(N, nan), "must have 1 finite"),
    ("inf", np.full(N, inf), "must have 1 finite"),
    ("words", ["a"] * N, "init_score must be"),
    ("dict", {0: 1.0}, "init_score must be"),
)


@pytest.mark.parametrize(("init_score", "text"), BAD_INIT_SCORES)
@each
def test_bad_initial_scores_are_rejected(cls: type[Any], init_score: Any, text: str) -> None:
    assert_rejected(cls(), ValueError, text, X, target_of(cls), init_score=init_score)


def test_initial_scores_of_several_classes_have_a_column_each() -> None:
    model, y = make(GradientBoostingClassifier), np.arange(N) % 3
    assert_rejected(model, ValueError, r"must have 3 finite score\(s\)", X, y, init_score=np.zeros(N))
    assert np.isfinite(model.fit(X, y, init_score=np.zeros((N, 3))).decision_function(X)).all()


FRAME = pd.DataFrame(X, columns=list("abc"))
BAD_VALIDATION = table(
    ("no table", {"X_val": None}, "both X_val and y_val: pass both, or neither"),
    ("no target", {"y_val": None}, "both X_val and y_val: pass both, or neither"),
    ("only weights", {"X_val": None, "y_val": None, "sample_weight_val": np.ones(N)}, "need both X_val and y_val"),
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
@each
def test_bad_rows_to_validate_on_are_rejected(cls: type[Any], arguments: dict[str, Any], text: str) -> None:
    y = target_of(cls)
    assert_rejected(cls(), ValueError, text, X, y, **{"X_val": X, "y_val": y, **arguments})


def test_targets_to_validate_on_are_those_of_the_loss() -> None:
    y = np.abs(VALUES)
    assert_rejected(GradientBoostingRegressor("gamma"), ValueError, "not positive", X, y, X_val=X, y_val=0.0 * y)
    model = make(GradientBoostingRegressor, loss="poisson").fit(X, y, X_val=X, y_val=0.0 * y)  # zeros may judge
    assert np.isfinite(model.history_.validation_loss).all()


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_labels_to_validate_on_are_those_of_the_training_rows(loss: str) -> None:
    text = r"y_val has labels that y in fit does not have: \[5\]"
    assert_rejected(
        GradientBoostingClassifier(loss), ValueError, text, X, LABELS, X_val=X, y_val=np.where(LABELS, 5, 0)
    )
    model = make(GradientBoostingClassifier, loss=loss)
    model.fit(X, LABELS, X_val=X[LABELS == 1], y_val=LABELS[LABELS == 1])  # some classes are enough
    assert np.isfinite(model.history_.validation_loss).all()


def test_a_class_may_be_missing_among_three_to_validate_on() -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = make(GradientBoostingClassifier).fit(X, y, X_val=X[y > 0], y_val=y[y > 0])
    shares = model.predict_proba(X[y > 0])
    expected = -np.log(shares[np.arange(len(shares)), y[y > 0]]).mean()
    assert model.history_.validation_loss[model.n_estimators_ - 1] == pytest.approx(expected)


# --- losses of the user's own ----------------------------------------------------------------------------------------


def square(y: float, score: float) -> float:
    return 0.5 * (y - score) ** 2


def slope(y: float, score: float) -> float:
    return score - y


def one(y: float, score: float) -> float:
    return 1.0


def not_a_number(y: float, score: float) -> float:
    return math.nan


def too_far(y: float, score: float) -> float:
    if score > 1.5:
        raise ArithmeticError("further than I can see")
    return 0.5 * (y - score) ** 2


def fails_on_three(y: float, score: float) -> float:
    if y == 3.0:
        raise ArithmeticError("I cannot stand the three")
    return 0.5 * (y - score) ** 2


def never(y: float, score: float) -> float:
    if score < 1e300:
        raise ArithmeticError("not today")
    return 0.0


def slope_to_a_wall(y: float, score: float) -> float:
    if score > 1.5:
        raise ArithmeticError("a wall")
    return score - y


def slope_to_nowhere(y: float, score: float) -> float:
    return score - y if score < 1.5 else math.nan


def of_one(y: float) -> float:
    return y


def pair(y: float, score: float) -> tuple[float, float]:
    return y, score


def word(y: float, score: float) -> str:
    return "far"


class Callable2:
    def __call__(self, y: float, score: float) -> float:
        return y - score


BAD_LOSSES = table(
    ("nan", not_a_number, "^Round 1: the value of the loss 'not_a_number' is not finite"),
    ("nan gradient", (square, not_a_number, one), "^Round 1: the gradient of the loss 'square' is not finite"),
    ("nan hessian", (square, slope, not_a_number), "^Round 1: the hessian of the loss 'square' is not finite"),
    ("raises", never, "^Round 1: the loss 'never' raised ArithmeticError: not today"),
    ("raises later", (square, slope_to_a_wall, one), "^Round [2-9]: the loss 'square' raised ArithmeticError: a wall"),
    ("nan later", (square, slope_to_nowhere, one), "^Round [2-9]: the gradient of the loss 'square' is not finite"),
    ("one argument", of_one, r"numba cannot compile 'of_one' .* two floats \(y, score\) that return a float: use only"),
    ("pair", pair, "numba cannot compile 'pair' .* that return a float"),
    ("word", word, "numba cannot compile 'word' .* that return a float"),
    ("built-in", max, "is not a plain Python function of .*: wrap it"),
    ("object", Callable2(), "is not a plain Python function of .*: wrap it"),
    ("two", (square, slope), "a function, or three"),
    ("half of the derivatives", (square, slope, None), "a function, or three"),
    ("no functions", (1, 2, 3), "is not a plain Python function of"),
)


@pytest.mark.parametrize(("loss", "text"), BAD_LOSSES)
def test_a_bad_loss_is_rejected_and_the_round_named(loss: Any, text: str) -> None:
    model = make(GradientBoostingRegressor, loss=loss, learning_rate=0.3, n_estimators=20)
    assert_rejected(model, ValueError, text, X, VALUES)
    model.set_params(loss="squared_error").fit(X, VALUES)
    predictions = model.predict(X)
    assert_rejected(model.set_params(loss=loss), ValueError, text, X, VALUES)
    np.testing.assert_array_equal(model.predict(X), predictions)


def test_a_loss_that_fails_on_rows_to_validate_on_names_the_round() -> None:
    loss = (too_far, slope, one)
    model = make(GradientBoostingRegressor, loss=loss, n_estimators=20)
    low = VALUES < 0.5  # the scores of these rows do not get that far
    text = r"^Round 1: the loss 'fails_on_three' raised ArithmeticError"
    judged = {"X_val": X, "y_val": np.full(N, 3.0)}
    assert_rejected(
        model.set_params(loss=(fails_on_three, slope, one)), ValueError, text, X[low], VALUES[low], **judged
    )
    model.set_params(loss=loss)
    model.set_params(early_stopping="cv", cv=2)
    assert_rejected(model, ValueError, r"^Round \d+: the loss 'too_far' raised", X, VALUES + 1.0)


def test_an_error_of_a_callback_comes_through() -> None:
    def fail(record: Any) -> None:
        raise RuntimeError(f"no more after round {record.round}")

    assert_rejected(make(GradientBoostingRegressor, callbacks=[fail]), RuntimeError, "no more after round 1", X, VALUES)


# --- unusual input with one right answer -----------------------------------------------------------------------------

NOTHING_TO_LEARN_FROM = table(
    ("one row", X[:1], 1),
    ("one row of float32", X[:1].astype(np.float32), 1),
    ("constant features", np.ones((N, 3)), N),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), N),
    ("constant and huge", np.full((N, 3), MAX), N),
    ("all missing", np.full((N, 3), nan), N),
    ("all missing objects", np.full((N, 3), None), N),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])}), N),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), N),
)


@pytest.mark.parametrize(("features", "n_rows"), NOTHING_TO_LEARN_FROM)
@each
def test_nothing_to_learn_from_gives_a_constant(cls: type[Any], features: Any, n_rows: int) -> None:
    y = target_of(cls)[:n_rows]
    for params in ({}, {"n_estimators": "auto", "learning_rate": "auto"}):
        model = make(cls, **params).fit(features, y)
        if is_classifier(model):
            share = 1.0 if n_rows == 1 else y.mean()
            np.testing.assert_allclose(model.predict_proba(features)[:, -1], share, atol=1e-9)
        else:
            np.testing.assert_allclose(model.predict(features), y.mean())


@each
def test_a_column_of_missing_values_does_not_matter(cls: type[Any]) -> None:
    y, holes = target_of(cls), X.copy()
    holes[:, 1] = nan
    assert_same_answers(make(cls).fit(holes, y), _Narrow(make(cls).fit(X[:, [0, 2]], y)), holes)
    holes = X.copy()
    holes[5] = nan
    model = make(cls).fit(holes, y)
    assert np.isfinite(model.predict(np.full((2, 3), nan))).all()
    assert np.isfinite(fitted(cls).predict(np.full((2, 3), nan))).all()  # missing in predict only


class _Narrow:
    """A model of the first and third column."""

    def __init__(self, model: Any) -> None:
        self._estimator_type = model.__sklearn_tags__().estimator_type
        self.model = model

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def predict(self, rows: Any) -> Any:
        return self.model.predict(rows[:, [0, 2]])

    def predict_proba(self, rows: Any) -> Any:
        return self.model.predict_proba(rows[:, [0, 2]])


@pytest.mark.parametrize("value", [7, 1, 3])
@pytest.mark.parametrize("loss", VALUE_LOSSES + CLASS_LOSSES)
def test_one_class_or_one_value(loss: str, value: int) -> None:
    cls = GradientBoostingClassifier if loss in CLASS_LOSSES else GradientBoostingRegressor
    model = make(cls, loss=loss).fit(X, np.full(N, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9)
    if loss in CLASS_LOSSES:
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
    assert all(np.allclose(predictions, value) for predictions in model.staged_predict(X))


@pytest.mark.parametrize("weight", [case for case in WEIGHTS if case.id != "1e-90"])
@each
def test_equal_weights_change_no_answer(cls: type[Any], weight: Any) -> None:
    """Without limits: min_samples_leaf counts a whole weight as so many rows, min_hessian is a sum of weights."""
    params = {"min_samples_leaf": 1, "min_hessian": 0.0, "max_depth": 2}
    model = make(cls, **params).fit(X, target_of(cls), sample_weight=weight)
    assert_same_answers(model, make(cls, **params).fit(X, target_of(cls)))


@each
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    for params in ({}, {"early_stopping": True}, {"early_stopping": "cv", "cv": 3}):
        model = make(cls, **params).fit(X, y, sample_weight=weight)
        assert_same_answers(model, make(cls, **params).fit(X[weight], y[weight]))


def test_a_class_of_weight_zero_keeps_its_place() -> None:
    y = np.arange(N) % 3
    model = make(GradientBoostingClassifier).fit(X, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X)[:, 2].max() < 1e-6
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("decades", [10, 40, 90, 290])
@pytest.mark.parametrize("min_samples_leaf", [1, 2])
@each
def test_weights_of_many_decades(cls: type[Any], decades: int, min_samples_leaf: int) -> None:
    y, weight = target_of(cls), np.logspace(-decades, 0, N)
    model = make(cls, min_samples_leaf=min_samples_leaf).fit(X, y, sample_weight=weight)
    predictions = model.predict(X)
    assert np.isfinite(predictions).all()
    if is_classifier(model):  # rows with nearly all of the weight come out right
        assert weight[predictions != y].sum() <= 0.5 * weight.sum()


def test_weights_of_1e300_beside_1e_300_are_rejected_with_advice() -> None:
    weight = np.where(np.arange(N) % 2, 1e300, 1e-300)
    assert_rejected(GradientBoostingRegressor(), ValueError, "divide all weights by their maximum", X, VALUES, weight)
    model = make(GradientBoostingRegressor).fit(X, VALUES, weight / weight.max())
    odd = make(GradientBoostingRegressor).fit(X[1::2], VALUES[1::2])
    np.testing.assert_allclose(model.baseline_, odd.baseline_)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("values", [[-MAX, MAX], [-1e308, 1e308], [0.0, 5e-324], [1e-300, 3e-300], [0.0, MAX]])
def test_two_extreme_values_are_told_apart(values: list[float]) -> None:
    column, labels = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1], 10)
    np.testing.assert_array_equal(make(GradientBoostingClassifier).fit(column, labels).predict(column), labels)


@pytest.mark.parametrize("scale", [2.0**-10, 2.0**300])
@pytest.mark.parametrize("loss", VALUE_LOSSES)
def test_the_scale_of_the_target_does_not_matter(loss: str, scale: float) -> None:
    """Nearly: the smallest gain of a split, 1e-12, does not grow with the target."""
    y = VALUES if loss in VALUE_LOSSES[:5] else np.abs(VALUES)
    params: dict[str, Any] = {"loss": loss, "min_hessian": 0.0}
    model = make(GradientBoostingRegressor, **params).fit(X, y * scale)
    expected = make(GradientBoostingRegressor, **params).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("largest", [1e150, 1e-150])
def test_targets_beyond_squares_are_rejected(largest: float) -> None:
    text = r"too (large|small) for sums of squares in float64: divide y by a number of that size"
    assert_rejected(GradientBoostingRegressor(), ValueError, text, X, VALUES * largest)


def test_duplicated_rows_with_contradicting_labels() -> None:
    features, labels = np.repeat([[1.0], [2.0]], 8, axis=0), np.r_[np.arange(8) >= 6, np.arange(8) < 6].astype(int)
    model = make(GradientBoostingClassifier, n_estimators=200).fit(features, labels)
    np.testing.assert_allclose(model.predict_proba([[1.0], [2.0]])[:, 1], [0.25, 0.75], atol=1e-6)


@each
def test_thousands_of_rounds_on_three_rows(cls: type[Any]) -> None:
    features, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    model = make(cls, n_estimators=2000, min_samples_leaf=1).fit(features, y)
    np.testing.assert_allclose(model.predict(features), y, atol=1e-5)  # a split must promise 1e-12
    assert np.isfinite(model.history_.train_loss).all()


@pytest.mark.parametrize("n_levels", [1, 2, 40, 300])
@each
def test_categories_of_any_number(cls: type[Any], n_levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, 600)
    effect = rng.normal(size=n_levels)[code]
    frame = pd.DataFrame({"c": pd.Categorical(code.astype(str)), "x": rng.normal(size=600)})
    y = effect > 0.0 if is_classifier(cls()) else effect
    if n_levels == 1:
        y = frame["x"] > 0.0 if is_classifier(cls()) else frame["x"]
    model = make(cls, n_estimators=30).fit(frame, y)
    if n_levels == 300:  # two rows of a category tell nothing
        assert model.feature_importances_[0] == 0.0
    else:
        assert model.score(frame, y) > 0.8
    other = frame.assign(c=pd.Categorical(["nobody saw this"] * 600))
    missing = frame.assign(c=pd.Categorical([None] * 600, ["0"]))
    np.testing.assert_array_equal(model.predict(other), model.predict(missing))


@each
def test_more_columns_than_rows(cls: type[Any]) -> None:
    wide = np.hstack([X[:20], np.random.default_rng(0).normal(size=(20, 200))])
    model = make(cls, n_estimators=30).fit(wide, target_of(cls)[:20])
    assert model.score(wide, target_of(cls)[:20]) > 0.9


@each
def test_frames_of_bools_integers_and_holes(cls: type[Any]) -> None:
    columns = {"flag": X[:, 0] > 0, "count": (10 * X[:, 1]).astype(int), "x": np.where(X[:, 2] > 1, nan, X[:, 2])}
    y = target_of(cls)
    plain = np.column_stack(list(columns.values())).astype(float)
    expected = make(cls).fit(plain, y).predict(plain)
    for frame in (pd.DataFrame(columns), pl.DataFrame({**columns, "x": pl.Series(columns["x"]).fill_nan(None)})):
        np.testing.assert_array_equal(make(cls).fit(frame, y).predict(frame), expected)


# --- one fit after another -------------------------------------------------------------------------------------------


@each
def test_a_warm_start_rejects_other_data(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True).fit(X, y)
    assert_rejected(
        model, ValueError, "training rows of the previous fit: it had 40 rows, X and y have 39", X[1:], y[1:]
    )
    assert_rejected(model, ValueError, "the 3 columns of that fit and the 2 of X", X[:, :2], y)
    other = "X, y, sample_weight, .* changed"
    assert_rejected(model, ValueError, other, X[::-1], y)
    assert_rejected(model, ValueError, other, X, y[::-1])
    assert_rejected(model, ValueError, other, X, y, np.arange(N) + 1.0)
    assert_rejected(model, ValueError, other, X, y, init_score=np.ones(N))
    if is_classifier(model):
        assert_rejected(
            model, ValueError, r"the classes of the previous fit: it had \[0, 1\], y has \[5, 6\]", X, y + 5
        )
    loss = "exponential" if is_classifier(model) else "quantile"
    assert_rejected(clone_fitted(model).set_params(loss=loss), ValueError, other, X, y)
    model.set_params(n_estimators=2)
    assert_rejected(model, ValueError, "n_estimators=2 must be larger or equal to the 6 members", X, y)


def clone_fitted(model: Any) -> Any:
    return deepcopy(model)


@each
def test_copies_answer_alike_and_parameters_set_later_change_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    unfitted: Any = clone(model)
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), unfitted.fit(X, y)):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    predictions = model.predict(X)
    model.set_params(n_estimators=1, learning_rate=0.01, n_jobs=2, max_bins=2)
    model.set_params(loss="savage" if is_classifier(model) else "poisson")
    np.testing.assert_array_equal(model.predict(X), predictions)


@each
def test_verbose_talks_and_changes_nothing(cls: type[Any], capfd: pytest.CaptureFixture[str]) -> None:
    model = make(cls, verbose=1).fit(X, target_of(cls))
    printed = capfd.readouterr()
    assert cls.__name__ in printed.out + printed.err
    np.testing.assert_array_equal(model.predict(X), fitted(cls).predict(X))
