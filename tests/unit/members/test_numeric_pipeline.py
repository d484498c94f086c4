"""Tables of any columns for methods that read numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from committee.members.numeric_pipeline import NumericPipelineClassifier, NumericPipelineRegressor

FRAME = pl.DataFrame(
    {
        "size": [1.0, 3.0, None, 5.0, 100.0],
        "colour": pl.Series(["red", "blue", "red", None, "green"]).cast(pl.Categorical),
        "same": [2.0] * 5,
    }
)


def test_unknown_categories_and_huge_numbers_are_harmless():
    model = NumericPipelineClassifier(LogisticRegression()).fit(FRAME, [0, 1, 0, 1, 1])
    new = pl.DataFrame({"size": [1e300], "colour": pl.Series(["violet"]).cast(pl.Categorical), "same": [None]})
    assert np.isfinite(model.encode(new.cast({"same": pl.Float64}))).all()


def test_regression_is_the_same_in_any_unit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    one = NumericPipelineRegressor(LinearRegression()).fit(X, y)
    other = NumericPipelineRegressor(LinearRegression()).fit(X * [1e6, 1e-6], 1e5 * y + 7.0)
    np.testing.assert_allclose(one.predict(X), LinearRegression().fit(X, y).predict(X))
    np.testing.assert_allclose(other.predict(X * [1e6, 1e-6]), 1e5 * one.predict(X) + 7.0)


def test_an_estimator_without_weights_says_so():
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        NumericPipelineRegressor(KNeighborsRegressor()).fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=[1.0, 2.0])
