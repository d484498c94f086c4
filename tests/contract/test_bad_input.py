"""Bad and unusual input, the same for every estimator of the catalogue: a clear error, or the same model.

The cases stand in tests/bad_input.py. What only one family meets (its parameters, its learners, extreme values) is in
tests/unit/<family>/test_bad_input.py.
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
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import committee
from tests.bad_input import (
    BAD_LABELS,
    BAD_TABLES,
    BAD_TARGETS,
    BAD_VALUES,
    BAD_WEIGHTS,
    LABEL_KINDS,
    LABELS,
    OTHER_TABLES,
    SAME_TABLES,
    WEIGHTS,
    N,
    X,
    assert_rejected,
    changed,
    inf,
)
from tests.catalog import (
    CLASSIFIERS,
    ESTIMATORS,
    FRAME,
    REGRESSORS,
    SUPERVISED,
    WEIGHTED,
    every,
    fitted,
    make,
    predictions_of,
    target_of,
)

pytestmark = [
    # Tiny tables end a fit early, which some estimators say in a warning.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]

METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "decision_path", "score_samples",
    "predict_interval", "predict_quantiles", "predict_std", "member_predictions", "gate_proba", "expert_predictions",
    "capacity", "transform", "staged_predict", "staged_predict_proba", "staged_decision_function",
)  # fmt: skip
SEVERAL_TARGETS = [
    committee.RandomForestClassifier, committee.ExtraTreesClassifier, committee.RandomForestRegressor,
    committee.ExtraTreesRegressor, committee.RidgeCV,
]  # fmt: skip


@cache
def with_intervals(cls: type[Any]) -> Any:
    """The fitted model, able to give intervals if it has them."""
    model = deepcopy(fitted(cls))
    return model.set_interval_residuals([-1.0, 0.0, 1.0]) if hasattr(model, "set_interval_residuals") else model


def call(model: Any, method: str, rows: Any) -> Any:
    result = getattr(model, method)(rows)
    return next(result) if method.startswith("staged_") else result


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "error", "text"), BAD_TABLES)
@every(ESTIMATORS)
def test_bad_tables_raise(cls: type[Any], bad: Any, error: type[Exception], text: str) -> None:
    model = make(cls)
    if "Sparse" in text and get_tags(model).input_tags.sparse:
        pytest.skip("takes sparse tables")
    n_rows = len(bad) if isinstance(bad, list) and bad else N
    assert_rejected(model, error, text, bad, np.resize(target_of(cls), n_rows))
    for method in METHODS:
        if hasattr(with_intervals(cls), method):
            with pytest.raises(error, match=text):
                call(with_intervals(cls), method, bad)


@pytest.mark.parametrize(("other", "text"), OTHER_TABLES)
@every(ESTIMATORS)
def test_other_columns_than_in_fit_raise(cls: type[Any], other: Any, text: str) -> None:
    model = make(cls).fit(FRAME, target_of(cls))
    with pytest.raises(ValueError, match=text):
        predictions_of(model, other)


@pytest.mark.parametrize(("y", "text"), BAD_TARGETS)
@every(SUPERVISED)
def test_bad_targets_raise(cls: type[Any], y: Any, text: str) -> None:
    if isinstance(y, np.ndarray) and y.shape == (N, 2) and cls in SEVERAL_TARGETS:
        pytest.skip("takes several targets")
    assert_rejected(make(cls), (ValueError, TypeError), text, X, y)


@pytest.mark.parametrize(("y", "text"), BAD_LABELS)
@every(CLASSIFIERS)
def test_bad_labels_raise(cls: type[Any], y: Any, text: str) -> None:
    assert_rejected(make(cls), ValueError, text, X, y)


@pytest.mark.parametrize(("y", "text"), BAD_VALUES)
@every([cls for cls in REGRESSORS if not cls.__name__.startswith("NumericPipeline")])  # they scale y
def test_bad_regression_targets_raise(cls: type[Any], y: Any, text: str) -> None:
    assert_rejected(make(cls), ValueError, text, X, y)


@pytest.mark.parametrize(("weight", "text"), BAD_WEIGHTS)
@every(WEIGHTED)
def test_bad_weights_raise(cls: type[Any], weight: Any, text: str) -> None:
    assert_rejected(make(cls), ValueError, text, X, target_of(cls), sample_weight=weight)


@every(ESTIMATORS)
def test_an_estimator_that_is_not_fitted_says_so(cls: type[Any]) -> None:
    for method in METHODS:
        if hasattr(make(cls), method):
            with pytest.raises(NotFittedError, match="Call 'fit'"):
                call(make(cls), method, X)


@every(SUPERVISED)
def test_a_fit_that_fails_leaves_the_model_as_it_was(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(FRAME, y)
    before = predictions_of(model, FRAME)
    assert_rejected(model, ValueError, "pass one", X[:, :2], y[1:])
    assert_rejected(model, ValueError, "infinity", changed(inf), y)
    np.testing.assert_array_equal(predictions_of(model, FRAME), before)


# --- the same model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fitted_on", "asked_on"), SAME_TABLES)
@every(ESTIMATORS)
def test_the_form_of_a_table_does_not_matter(cls: type[Any], fitted_on: Any, asked_on: Any) -> None:
    model = make(cls).fit(fitted_on, target_of(cls))
    np.testing.assert_array_equal(predictions_of(model, asked_on), predictions_of(fitted(cls)))


@pytest.mark.parametrize("dtype", ["i1", "u1", ">i4", "u8", "f2", ">f4", "?"])
@every(ESTIMATORS)
def test_tables_of_other_dtypes_are_read_by_value(cls: type[Any], dtype: str) -> None:
    y, other = target_of(cls), (X > 0 if dtype == "?" else 10 * X + 60).astype(dtype)
    model, expected = make(cls).fit(other, y), make(cls).fit(other.astype(np.float64), y)
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(expected, other.astype(np.float64)))


@pytest.mark.parametrize("names", LABEL_KINDS)
@pytest.mark.parametrize("as_input", [np.asarray, list, pd.Series, pd.Categorical], ids=lambda f: f.__name__)
@every(CLASSIFIERS)
def test_labels_come_back_as_they_were(cls: type[Any], as_input: Callable[..., Any], names: Any) -> None:
    if names.dtype.kind == "M" and as_input is not np.asarray:
        pytest.skip("frames have dates of their own")
    model = make(cls).fit(X, as_input(names[LABELS]))
    np.testing.assert_array_equal(model.classes_, names)
    np.testing.assert_array_equal(model.predict(X), names[fitted(cls).predict(X)])


@pytest.mark.parametrize("weight", [case for case in WEIGHTS if case.id in ("bools", "objects", "pandas")])
@every(WEIGHTED)
def test_weights_of_one_are_no_weights(cls: type[Any], weight: Any) -> None:
    model = make(cls).fit(X, target_of(cls), sample_weight=weight)
    np.testing.assert_allclose(predictions_of(model), predictions_of(fitted(cls)), rtol=1e-7, atol=1e-9)


@every(ESTIMATORS)
def test_input_that_cannot_be_written_to_is_taken_and_left_alone(cls: type[Any], tmp_path: Path) -> None:
    rows, y = X.copy(), target_of(cls).copy()
    rows.flags.writeable = y.flags.writeable = False
    np.testing.assert_array_equal(predictions_of(make(cls).fit(rows, y), rows), predictions_of(fitted(cls)))
    np.testing.assert_array_equal(rows, X)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(predictions_of(make(cls).fit(mapped, y), mapped), predictions_of(fitted(cls)))


@every(ESTIMATORS)
def test_the_index_of_a_frame_does_not_matter(cls: type[Any]) -> None:
    y, odd = target_of(cls), np.arange(N)[::-1] // 2
    model = make(cls).fit(FRAME.set_index(odd), pd.Series(y, index=odd + 7))
    np.testing.assert_array_equal(predictions_of(model, FRAME), predictions_of(fitted(cls)))


@every(ESTIMATORS)
def test_copies_predict_the_same(cls: type[Any]) -> None:
    model: Any = fitted(cls)
    unfitted: Any = clone(model)
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), unfitted.fit(X, target_of(cls))):
        np.testing.assert_array_equal(predictions_of(copy), predictions_of(model))
        assert getattr(copy, "history_", None) == getattr(model, "history_", None)


@every(ESTIMATORS)
def test_fitting_again_forgets_the_first_fit(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(FRAME, y).fit(X[:, :2], y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(predictions_of(model, X[:, :2]), predictions_of(make(cls).fit(X[:, :2], y), X[:, :2]))
