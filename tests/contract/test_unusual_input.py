"""Input with little or odd information has one right prediction, the same for every estimator that accepts it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier

from tests.bad_input import (
    CONSTANT_TABLES,
    LABELS,
    MAX,
    MISSING_TABLES,
    VALUES,
    N,
    X,
    assert_rejected,
    changed,
    nan,
)
from tests.catalog import (
    CLASSIFIERS,
    ESTIMATORS,
    FRAME,
    MISSING_VALUES,
    REGRESSORS,
    SUPERVISED,
    among,
    assert_alike,
    every,
    except_for,
    fitted,
    has_params,
    make,
    predictions_of,
    target_of,
)

# Tiny tables end a fit early and leave a member of a committee without one of the classes.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The committee goes on without"),
]

NEEDS_TWO_CLASSES = among("SVC", "NuSVC", "LinearSVC", "NystroemSVC", "LogisticRegressionCV")
HOLDS_ROWS_OUT = among("Stacking", "Committee")
"""They evaluate members on other rows than those of their fits, of which there are none if all rows are the same."""

UNSCALED = among("committee.svm", "committee.linear", "OnlineBagging", "OnlineBoosting")
"""Sums of products of the columns as they are: values beyond their squares raise."""

LINEAR = among("committee.experts", "committee.members")
MEANS = among("committee.trees", "committee.forests", "committee.bagging.estimators", "GradientBoosting")
"""They predict the mean of the target, or the frequencies of the classes, of the rows that they cannot separate."""

CATEGORIES = [cls for cls in SUPERVISED if cls in MISSING_VALUES or has_params(cls, categorical_features=None)]


@pytest.mark.parametrize(("features", "n_rows"), CONSTANT_TABLES)
@every(except_for(SUPERVISED, HOLDS_ROWS_OUT, among("NuSVC")))  # NuSVC: no margin
def test_features_without_information_give_a_constant(cls: type[Any], features: Any, n_rows: int) -> None:
    y = target_of(cls)[:n_rows]
    model = make(cls, bootstrap=False)
    if n_rows == 1 and cls in NEEDS_TWO_CLASSES:
        assert_rejected(model, ValueError, "class", features, y)
    elif isinstance(features, pd.DataFrame) and cls not in CATEGORIES:
        assert_rejected(model, ValueError, "categor", features, y)
    elif np.max(np.asarray(features == MAX)) and cls in UNSCALED:
        assert_rejected(model, ValueError, "large|overflow", features, y)
    else:
        predictions = predictions_of(model.fit(features, y), features)
        assert np.isfinite(predictions).all()
        np.testing.assert_allclose(predictions, predictions[:1].repeat(n_rows, axis=0), atol=1e-9)
        if cls in MEANS:
            expected = y.mean() if cls in REGRESSORS else (y == y.max()).mean()
            np.testing.assert_allclose(predictions[:, -1] if cls in CLASSIFIERS else predictions, expected)
        if hasattr(model, "feature_importances_"):
            np.testing.assert_array_equal(model.feature_importances_, 0.0)


@pytest.mark.parametrize("value", [7, 0, -3])
@every(except_for(SUPERVISED, NEEDS_TWO_CLASSES, among("OnlineBaggingRegressor")))  # which has seen too few rows
def test_one_class_or_one_value_is_predicted(cls: type[Any], value: int) -> None:
    model = make(cls, epsilon=0.0).fit(X, np.full(N, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-7, atol=1e-9)
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
    if hasattr(model, "staged_predict"):
        assert all(np.allclose(predictions, value) for predictions in model.staged_predict(X))


@every(NEEDS_TWO_CLASSES)
def test_one_class_raises_where_two_are_needed(cls: type[Any]) -> None:
    assert_rejected(make(cls), ValueError, "class", X, np.ones(N, int))


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@every(except_for(SUPERVISED, HOLDS_ROWS_OUT, NEEDS_TWO_CLASSES))
def test_few_rows(cls: type[Any], n_rows: int) -> None:
    assert np.isfinite(predictions_of(make(cls).fit(X[:n_rows], target_of(cls)[:n_rows]))).all()


@pytest.mark.parametrize(
    "values", [[-MAX, MAX], [-1e308, 1e308], [0.0, MAX], [1e-300, 3e-300], [0.0, 5e-324]], ids=lambda v: f"{v[1]:.0e}"
)
@every(except_for(SUPERVISED, HOLDS_ROWS_OUT, UNSCALED, among("SparselyGated", "Stagewise")))  # which need more steps
def test_two_extreme_values_are_separated(cls: type[Any], values: list[float]) -> None:
    column, y = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1], 10)
    predictions = make(cls).fit(column, y).predict(column)
    if cls in LINEAR and values[1] == 5e-324:
        assert np.ptp(predictions) <= 1e-9  # no coefficient in float64 separates them
    else:
        np.testing.assert_allclose(predictions, y, atol=0.05)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300], ids=["small", "large"])
@every(except_for(REGRESSORS, among("committee.svm", "OnlineBagging")))  # tolerances in units of the target
def test_the_scale_of_the_target_does_not_matter(cls: type[Any], scale: float) -> None:
    params = {"bootstrap": False, "weighting": "reweight", "min_hessian": 0.0, "n_experts": 1, "top_k": 1}
    model, expected = make(cls, **params).fit(X, VALUES * scale), make(cls, **params).fit(X, VALUES)
    if cls in among("Stacking", "Committee", "Hierarchical", "SparselyGated"):  # draws depend on the values
        assert model.score(X, VALUES * scale) == pytest.approx(expected.score(X, VALUES), abs=0.2)
    else:
        np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-6)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**100], ids=["small", "large"])
@every(except_for(SUPERVISED, UNSCALED))
def test_the_scale_of_the_features_does_not_matter(cls: type[Any], scale: float) -> None:
    model, y = make(cls, bootstrap=False, weighting="reweight").fit(X * scale, target_of(cls)), target_of(cls)
    assert np.isfinite(predictions_of(model, X * scale)).all()
    assert model.score(X * scale, y) == pytest.approx(fitted(cls).score(X, y), abs=0.3)


@every(except_for(SUPERVISED, UNSCALED, HOLDS_ROWS_OUT, among("SparselyGatedMixtureClassifier")))
def test_duplicated_rows_with_contradicting_labels(cls: type[Any]) -> None:
    features, y = np.repeat([[1.0], [2.0]], 8, axis=0), np.r_[np.arange(8) >= 6, np.arange(8) < 6].astype(int)
    model = make(cls, bootstrap=False, n_estimators=200).fit(features, y)
    if is_classifier(model):
        assert model.predict([[1.0], [2.0]]).tolist() == [0, 1]
    if cls in MEANS:
        predictions = predictions_of(model, [[1.0], [2.0]])
        np.testing.assert_allclose(predictions[:, 1] if cls in CLASSIFIERS else predictions, [0.25, 0.75], atol=1e-5)


@every(SUPERVISED)
def test_more_columns_than_rows(cls: type[Any]) -> None:
    wide, y = np.hstack([X[:20], np.random.default_rng(0).normal(size=(20, 200))]), target_of(cls)[:20]
    model = make(cls, n_estimators=30).fit(wide, y)
    assert np.isfinite(predictions_of(model, wide)).all()
    assert model.score(wide, y) > (0.9 if cls in MEANS else 0.0)


@every(ESTIMATORS)
def test_duplicated_and_constant_columns(cls: type[Any]) -> None:
    twice = np.column_stack([X, X, np.full(N, 7.0), np.zeros(N)])
    assert np.isfinite(predictions_of(make(cls).fit(twice, target_of(cls)), twice)).all()


@pytest.mark.parametrize("n_estimators", [2000])
@every(among("committee.boosting.a", "committee.boosting.c", "committee.boosting.f", "GradientBoosting"))
def test_thousands_of_members_on_three_rows(cls: type[Any], n_estimators: int) -> None:
    features, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    model = make(cls, n_estimators=n_estimators, min_samples_leaf=1).fit(features, y)
    np.testing.assert_allclose(model.predict(features), y, atol=1e-5)
    for name in ("coefficient", "train_error", "train_loss"):
        assert name not in model.history_ or np.isfinite(model.history_[name]).all()


# --- frames and categories -------------------------------------------------------------------------------------------


@every(ESTIMATORS)
def test_frames_of_bools_integers_and_missing_values(cls: type[Any]) -> None:
    x = np.where(X[:, 2] > 1, nan, X[:, 2]) if cls in MISSING_VALUES else X[:, 2]
    columns = {"flag": X[:, 0] > 0, "count": (10 * X[:, 1]).astype(int), "x": x}
    y = target_of(cls)
    plain = np.column_stack(list(columns.values())).astype(float)
    expected = predictions_of(make(cls).fit(plain, y), plain)
    for frame in (pd.DataFrame(columns), pl.DataFrame({**columns, "x": pl.Series(x).fill_nan(None)})):
        model = make(cls).fit(frame, y)
        assert list(model.feature_names_in_) == list(columns)
        np.testing.assert_array_equal(predictions_of(model, frame), expected)


@pytest.mark.parametrize("n_levels", [1, 2, 40, 300])
@every(CATEGORIES)
def test_categories_of_any_number_and_unseen_ones(cls: type[Any], n_levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, 400)
    effect = rng.normal(size=n_levels)[code]
    frame = pd.DataFrame({"c": pd.Categorical(code.astype(str)), "x": rng.normal(size=400)})
    y: Any = np.asarray(frame["x"] if n_levels == 1 else effect)
    y = y > 0.0 if cls in CLASSIFIERS else y
    model = make(cls, n_estimators=20).fit(frame, y)
    if n_levels < 256:  # of more each has too few rows
        assert model.score(frame, y) > (0.8 if cls in MEANS else 0.3)
    other = frame.assign(c=pd.Categorical(["unseen"] * 400))
    missing = frame.assign(c=pd.Categorical([None] * 400, ["0"]))
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(model, missing))
    as_polars = pl.from_pandas(frame.assign(c=frame["c"].astype(str))).with_columns(pl.col("c").cast(pl.Categorical))
    np.testing.assert_array_equal(predictions_of(model, as_polars), predictions_of(model, frame))


@every([cls for cls in SUPERVISED if cls not in CATEGORIES])
def test_categories_raise_where_they_are_not_accepted(cls: type[Any]) -> None:
    frame = FRAME.assign(d=pd.Categorical(np.where(LABELS, "u", "v")))
    assert_rejected(make(cls), ValueError, r"'d'(.|\n)*categor", frame, target_of(cls))


# --- missing values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", MISSING_TABLES)
@every(except_for(MISSING_VALUES, HOLDS_ROWS_OUT))
def test_missing_values_alone_give_a_constant(cls: type[Any], features: Any) -> None:
    predictions = predictions_of(make(cls).fit(features, target_of(cls)), features)
    assert np.isfinite(predictions).all()
    np.testing.assert_allclose(predictions, predictions[:1].repeat(N, axis=0))


@every(except_for(MISSING_VALUES, HOLDS_ROWS_OUT, among("Bagging")))  # draws that depend on the values
def test_a_column_of_missing_values_does_not_matter(cls: type[Any]) -> None:
    y, holes = target_of(cls), X.copy()
    holes[:, 1] = nan
    params: dict[str, Any] = {"weighting": "reweight", "bootstrap": False}
    if cls in among("committee.forests"):
        params["max_features"] = None
    model, expected = make(cls, **params).fit(holes, y), make(cls, **params).fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(model.predict(holes), expected.predict(X[:, [0, 2]]))


@every(MISSING_VALUES)
def test_missing_values_in_predict_only(cls: type[Any]) -> None:
    for rows in (np.full((2, 3), nan), changed(nan)):
        assert np.isfinite(predictions_of(fitted(cls), rows)).all()


@every([cls for cls in ESTIMATORS if cls not in MISSING_VALUES])
def test_missing_values_raise_by_name_where_they_are_not_accepted(cls: type[Any]) -> None:
    named = FRAME.assign(b=None).astype({"b": "Float64"})
    for rows, column in ((changed(nan), r"x\[1\]"), (changed(None, dtype=object), r"x\[1\]"), (named, r"\bb\b")):
        assert_rejected(make(cls), ValueError, rf"NaN(.|\n)*{column}", rows, target_of(cls))
    with pytest.raises(ValueError, match=r"NaN(.|\n)*x\[1\]"):
        predictions_of(fitted(cls), changed(nan))
    assert_alike(fitted(cls), make(cls).fit(X, target_of(cls)))
