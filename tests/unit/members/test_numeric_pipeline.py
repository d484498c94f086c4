"""Tables of any columns for methods that read numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from committee.members.numeric_pipeline import NumericPipelineClassifier, NumericPipelineRegressor, fit_numeric_columns
from committee.tabular.schema import fit_encode

FRAME = pl.DataFrame(
    {
        "size": [1.0, 3.0, None, 5.0, 100.0],
        "colour": pl.Series(["red", "blue", "red", None, "green"]).cast(pl.Categorical),
        "same": [2.0] * 5,
    }
)


def test_numbers_are_filled_and_scaled_and_categories_are_flags():
    columns, table = fit_encode(FRAME)
    numbers = fit_numeric_columns(columns, table, np.ones(5))
    names = ("size", "size is missing", "colour=blue", "colour=green", "colour=red", "same")
    assert numbers.names == names
    made = dict(zip(names, numbers(table).T, strict=True))
    filled = np.array([1.0, 3.0, 3.0, 5.0, 100.0])
    np.testing.assert_allclose(made["size"], (filled - filled.mean()) / filled.std())
    assert made["size is missing"].tolist() == [0, 0, 1, 0, 0]
    assert made["colour=red"].tolist() == [1, 0, 1, 0, 0]
    assert made["same"].tolist() == [0.0] * 5


def test_weights_mean_repetition():
    columns, table = fit_encode(FRAME)
    weight = np.array([1.0, 2.0, 3.0, 0.0, 1.0])
    weighted = fit_numeric_columns(columns, table, weight)
    repeated = fit_numeric_columns(columns, np.repeat(table, weight.astype(int), axis=0), np.ones(7))
    for one, other in zip(weighted[2:5], repeated[2:5], strict=True):
        np.testing.assert_allclose(one, other)


def test_unknown_categories_and_huge_numbers_are_harmless():
    model = NumericPipelineClassifier(LogisticRegression()).fit(FRAME, [0, 1, 0, 1, 1])
    new = pl.DataFrame({"size": [1e300], "colour": pl.Series(["violet"]).cast(pl.Categorical), "same": [None]})
    assert np.isfinite(model.as_numbers(new.cast({"same": pl.Float64}))).all()


def test_regression_is_the_same_in_any_unit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    one = NumericPipelineRegressor(LinearRegression()).fit(X, y)
    other = NumericPipelineRegressor(LinearRegression()).fit(X * [1e6, 1e-6], 1e5 * y + 7.0)
    np.testing.assert_allclose(one.predict(X), LinearRegression().fit(X, y).predict(X))
    np.testing.assert_allclose(other.predict(X * [1e6, 1e-6]), 1e5 * one.predict(X) + 7.0)


def test_an_estimator_without_weights_says_so():
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no weights"):
        NumericPipelineRegressor(KNeighborsRegressor()).fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=[1.0, 2.0])
