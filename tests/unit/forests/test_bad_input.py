"""Bad and extreme input: forests answer right or say what to do.

The tables of tests/bad_input.py, which trees and boosters run too, and those of forests: their parameters, samples and
out-of-bag evidence.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.explain import partial_dependence, shap_values, tree_importances
from tests.bad_input import (
    BAD_LABELS,
    BAD_TABLES,
    BAD_TARGETS,
    BAD_VALUES,
    BAD_WEIGHTS,
    LABEL_KINDS,
    LABELS,
    MAX,
    OTHER_TABLES,
    SAME_TABLES,
    VALUES,
    WEIGHTS,
    N,
    X,
    changed,
    has_params,
    inf,
    nan,
    table,
    target_of,
)

CLASSIFIERS: list[type[Any]] = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS: list[type[Any]] = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
METHODS = [
    "predict", "predict_proba", "predict_log_proba", "apply", "decision_path", "member_answers", "predict_interval",
    "predict_quantiles",
]  # fmt: skip
STAGED = ["staged_predict", "staged_predict_proba"]
FRAME = pd.DataFrame(X, columns=list("abc"))


def each(classes: list[type[Any]]) -> Any:
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


def make(cls: type[Any], **params: Any) -> Any:
    """A few trees on bootstrap samples, extra-trees too."""
    return cls(**{"n_estimators": 8, "bootstrap": True, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls, **({} if is_classifier(cls()) else {"keep_leaf_samples": True})).fit(X, target_of(cls))


def answers_of(model: Any, rows: Any = X) -> Any:
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


def assert_refused(
    model: Any, error: type[Exception] | tuple[type[Exception], ...], text: str, *rows: Any, **more: Any
) -> None:
    """fit refuses with this text and leaves the model as it was."""
    before = dict(vars(model))
    with pytest.raises(error, match=text):
        model.fit(*rows, **more)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "error", "text"), BAD_TABLES)
@each(FORESTS)
def test_a_bad_table_is_refused(cls: type[Any], bad: Any, error: type[Exception], text: str) -> None:
    n_rows = len(bad) if isinstance(bad, list) and bad else N
    y = np.resize(target_of(cls), n_rows)
    assert_refused(cls(), error, text, bad, y)
    assert_refused(cls(), error, text, bad, np.column_stack([y, y]))
    model = fitted(cls)
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(error, match=text):
                getattr(model, method)(bad)
    for method in STAGED:
        if hasattr(model, method):
            with pytest.raises(error, match=text):
                next(getattr(model, method)(bad))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("other", "text"), OTHER_TABLES)
@each(FORESTS)
def test_another_table_than_in_fit_is_refused(cls: type[Any], other: Any, text: str) -> None:
    y = target_of(cls)
    for target in (y, np.column_stack([y, y])):
        model = make(cls, n_estimators=2).fit(FRAME, target)
        with pytest.raises(ValueError, match=text):
            model.predict(other)


@pytest.mark.parametrize(("y", "text"), [case for case in BAD_TARGETS if case.id != "two columns"])
@each(FORESTS)
def test_a_bad_target_is_refused(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(cls(), (ValueError, TypeError), text, X, y)


@pytest.mark.parametrize(("y", "text"), BAD_LABELS)
@each(CLASSIFIERS)
def test_bad_labels_are_refused(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(cls(), ValueError, text, X, y)


@pytest.mark.parametrize(("y", "text"), BAD_VALUES)
@each(REGRESSORS)
def test_bad_values_are_refused(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(cls(), ValueError, text, X, y)


BAD_OUTPUTS = table(
    ("ragged", [[0, 1]] * (N - 1) + [[1]], "y holds lists of different lengths"),
    ("too short", np.ones((N - 1, 2)), f"X has {N} rows, y has {N - 1}: pass one"),
    ("nan in the second", np.column_stack([LABELS, np.full(N, nan)]), "contains NaN"),
    ("inf in the second", np.column_stack([LABELS, np.full(N, inf)]), "contains infinity"),
    ("no column", np.empty((N, 0)), r"y has no column|0 outputs"),
)


@pytest.mark.parametrize(("y", "text"), BAD_OUTPUTS)
@each(FORESTS)
def test_bad_outputs_are_refused(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(make(cls), ValueError, text, X, y)


@pytest.mark.parametrize(("weight", "text"), BAD_WEIGHTS)
@each(FORESTS)
def test_bad_weights_are_refused(cls: type[Any], weight: Any, text: str) -> None:
    assert_refused(cls(), ValueError, text, X, target_of(cls), sample_weight=weight)


@each(FORESTS)
def test_not_fitted(cls: type[Any]) -> None:
    for method in METHODS:
        if hasattr(cls(), method):
            with pytest.raises(NotFittedError, match="Call 'fit'"):
                getattr(cls(), method)(X)
    for method in STAGED:
        if hasattr(cls(), method):
            with pytest.raises(NotFittedError):
                next(getattr(cls(), method)(X))
    looks: list[Callable[[Any], Any]] = [
        len, lambda m: m[0], lambda m: m.estimators_, lambda m: m.estimators_samples_, lambda m: m.feature_importances_,
        lambda m: m.out_of_bag_(0), lambda m: m.tree_sum_(), list, shap_of,
    ]  # fmt: skip
    for look in looks:
        with pytest.raises(NotFittedError, match="Call 'fit'"):
            look(cls())


def shap_of(model: Any) -> Any:
    return shap_values(model, X)


@each(REGRESSORS)
def test_poisson_is_for_targets_that_are_not_negative(cls: type[Any]) -> None:
    model = cls(criterion="poisson")
    assert_refused(model, ValueError, "negative", X, np.r_[-1.0, np.ones(N - 1)])
    assert_refused(model, ValueError, "Poisson", X, np.zeros(N))


@each(CLASSIFIERS)
def test_monotone_constraints_are_for_two_classes(cls: type[Any]) -> None:
    text = "Monotonicity constraints are not supported with multiclass"
    assert_refused(cls(monotonic_cst=[1, 0, 0]), ValueError, text, X, np.arange(N) % 3)


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("no trees", {"n_estimators": 0}, r"'n_estimators' .* \[1, inf\).*Got 0"),
    ("half a tree", {"n_estimators": 1.5}, "'n_estimators' parameter of .* Got 1.5"),
    ("trees by word", {"n_estimators": "many"}, "'n_estimators' parameter of .*'auto'"),
    ("trees by bool", {"n_estimators": True, "bootstrap": None}, "'bootstrap' parameter of"),
    ("criterion", {"criterion": "mse"}, "'criterion' parameter of .* a str among"),
    ("max_depth", {"max_depth": 0}, r"'max_depth' .* \[1, inf\)"),
    ("min_samples_split", {"min_samples_split": 1}, r"'min_samples_split' .* \[2, inf\)"),
    ("min_samples_leaf", {"min_samples_leaf": 0}, r"'min_samples_leaf' .* \[1, inf\)"),
    ("min_samples_leaf nan", {"min_samples_leaf": nan}, "'min_samples_leaf' .* Got nan"),
    ("min_weight_fraction_leaf", {"min_weight_fraction_leaf": 0.6}, "'min_weight_fraction_leaf' .* Got 0.6"),
    ("max_features 0", {"max_features": 0}, r"'max_features' .* \[1, inf\)"),
    ("max_features 0.0", {"max_features": 0.0}, r"'max_features' .* \(0.0, 1.0\]"),
    ("max_features word", {"max_features": "auto"}, "'max_features' .* a str among"),
    ("max_features 4 of 3", {"max_features": 4}, "max_features"),
    ("max_leaf_nodes", {"max_leaf_nodes": 1}, r"'max_leaf_nodes' .* \[2, inf\)"),
    ("min_impurity_decrease", {"min_impurity_decrease": -1.0}, "'min_impurity_decrease' .* Got -1.0"),
    ("bootstrap", {"bootstrap": "all"}, "'bootstrap' parameter of"),
    ("oob_score", {"oob_score": 3.0}, "'oob_score' parameter of"),
    ("oob_score word", {"oob_score": "acuracy", "bootstrap": True}, "'?acuracy'? is not a valid|acuracy"),
    ("oob_score without bags", {"oob_score": True, "bootstrap": False}, "only available if bootstrap=True"),
    ("auto without bags", {"n_estimators": "auto", "bootstrap": False}, "needs bootstrap=True, or max_samples below 1"),
    ("calibration", {"calibration": "sigmoid"}, "'calibration' parameter of"),
    ("calibration without bags", {"calibration": "oob", "bootstrap": False}, "needs rows out of bag: bootstrap=True"),
    ("tune", {"tune": "cv"}, "'tune' parameter of"),
    ("tune without bags", {"tune": "oob", "bootstrap": False}, "needs rows out of bag: bootstrap=True"),
    ("n_jobs 0", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
    ("random_state", {"random_state": -1}, "'random_state' parameter"),
    ("verbose", {"verbose": -1}, "'verbose' parameter"),
    ("warm_start", {"warm_start": "yes"}, "'warm_start' parameter of"),
    ("class_weight", {"class_weight": "even"}, "'class_weight' parameter of"),
    ("class_weight negative", {"class_weight": {0: -1.0, 1: 1.0}}, "[Nn]egative"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "all weights are zero|zero"),
    ("class_weight nan", {"class_weight": {0: nan, 1: 1.0}}, "NaN"),
    ("class_weight stranger", {"class_weight": {7: 1.0}}, "7"),
    ("ccp_alpha", {"ccp_alpha": -1.0}, "'ccp_alpha' .* Got -1.0"),
    ("ccp_alpha cv", {"ccp_alpha": "cv"}, "'ccp_alpha' parameter of"),
    ("max_samples 0", {"max_samples": 0}, r"'max_samples' .* \[1, inf\)"),
    ("max_samples 0.0", {"max_samples": 0.0}, r"'max_samples' .* \(0.0, 1.0\]"),
    ("max_samples 1.5", {"max_samples": 1.5}, r"'max_samples' .* Got 1.5"),
    ("max_samples nan", {"max_samples": nan}, r"'max_samples' .* Got nan"),
    ("more draws than rows", {"max_samples": N + 1, "bootstrap": True}, "max_samples=41 is more than the 40 rows"),
    ("more than all rows", {"max_samples": N + 1, "bootstrap": False}, "max_samples=41 is more than the 40 rows"),
    ("monotonic_cst word", {"monotonic_cst": "up"}, "'monotonic_cst' parameter of"),
    ("monotonic_cst short", {"monotonic_cst": [1]}, r"monotonic_cst has shape \(1,\) but the input data X has 3"),
    ("monotonic_cst 2", {"monotonic_cst": [2, 0, 0]}, "monotonic_cst must contain only -1, 0 or 1; got 2"),
    ("interaction_cst index", {"interaction_cst": [[5]]}, "interaction_cst names feature 5, but the table has 3"),
    ("categorical_features", {"categorical_features": [7]}, "categorical_features"),
    ("splitter", {"splitter": "random"}, "'splitter' parameter of .* a str among"),
    ("max_bins 1", {"max_bins": 1}, "'max_bins' parameter of"),
    ("max_bins 256", {"max_bins": 256}, "'max_bins' parameter of"),
    ("tol", {"tol": -1.0}, "'tol' .* Got -1.0"),
    ("tol nan", {"tol": nan}, "'tol' .* Got nan"),
    ("keep_leaf_samples", {"keep_leaf_samples": "yes"}, "'keep_leaf_samples' parameter of"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(FORESTS)
def test_bad_parameters_are_refused(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    assert_refused(cls(**{"n_estimators": 3, **params}), ValueError, text, X, target_of(cls))


@each(FORESTS)
def test_every_parameter_is_in_the_table(cls: type[Any]) -> None:
    tried = {name for case in BAD_PARAMETERS for name in case.values[0]}
    assert set(cls().get_params()) <= tried
