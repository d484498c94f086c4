"""Columns as members take them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from committee.committees._representations import LIMIT, MAX_CATEGORIES, fit_representation

RNG = np.random.default_rng(0)
nan = np.nan


def numbers(*columns: object) -> np.ndarray:
    return np.column_stack([np.asarray(column, np.float64) for column in columns])


def test_codes_stay_as_they_are() -> None:
    X = numbers([1.0, nan], [0.0, 1.0])
    assert fit_representation("codes", X, np.array([False, True]))(X) is X


def test_scaled_numbers_have_mean_0_and_deviation_1_and_are_cut() -> None:
    x = RNG.normal(5.0, 3.0, 500)
    scaled = fit_representation("scaled", x[:, None], np.array([False]))
    np.testing.assert_allclose([scaled(x[:, None]).mean(), scaled(x[:, None]).std()], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(scaled(np.array([[1e9], [-1e9], [nan]])), [[LIMIT], [-LIMIT], [0.0]])


@pytest.mark.parametrize("kind", ["scaled", "ranked"])
def test_a_missing_number_has_a_column_of_its_own_where_some_were_missing_in_fit(kind: str) -> None:
    X = numbers([1.0, 2.0, nan, 4.0])
    out = fit_representation(kind, X, np.array([False]))(X)  # type: ignore[arg-type]
    np.testing.assert_array_equal(out[:, 1], [0.0, 0.0, 1.0, 0.0])
    assert out[2, 0] == 0.0


def test_constants_are_left_out_and_extremes_stay_finite() -> None:
    huge = np.finfo(np.float64).max
    X = numbers([3.0, 3.0, 3.0], [huge, -huge, 0.0], [1e-300, 2e-300, 3e-300])
    out = fit_representation("scaled", X, np.zeros(3, bool))(X)
    assert out.shape == (3, 2)
    assert np.all(np.isfinite(out))
    nothing = fit_representation("scaled", X[:, :1], np.zeros(1, bool))
    np.testing.assert_array_equal(nothing(X[:, :1]), np.zeros((3, 1)))


def test_ranks_are_normal_whatever_the_scale() -> None:
    x = RNG.exponential(size=400)
    one, other = (fit_representation("ranked", v[:, None], np.array([False]))(v[:, None]) for v in (x, x**3 + 7.0))
    np.testing.assert_allclose(one, other)
    ordered = norm.ppf((np.arange(400) + 0.5) / 400)
    np.testing.assert_allclose(np.sort(one[:, 0]), ordered, atol=1e-12)


def test_categories_have_a_column_each_and_new_ones_none() -> None:
    X = numbers([0.0, 1.0, 1.0, 2.0])
    rep = fit_representation("scaled", X, np.array([True]))
    out = rep(numbers([1.0, nan, 9.0]))
    np.testing.assert_allclose(out, np.array([[0.0, 1.0, 0.0], [0.0] * 3, [0.0] * 3]) - [0.25, 0.5, 0.25])


def test_only_the_most_frequent_categories_have_columns() -> None:
    codes = np.r_[np.arange(100.0), np.repeat(7.0, 10)]
    rep = fit_representation("scaled", codes[:, None], np.array([True]))
    out = rep(codes[:, None])
    assert out.shape[1] == MAX_CATEGORIES
    assert out[7].max() > 0.5  # the frequent one is among them


def test_landmark_features_give_the_kernel_back() -> None:
    """With every row a landmark, products of features are the gaussian kernel of the scaled rows."""
    X = RNG.normal(size=(25, 2))
    landmarks = fit_representation("landmarks", X, np.zeros(2, bool), n_landmarks=25, seed=1)
    scaled = fit_representation("scaled", X, np.zeros(2, bool))(X)
    features = landmarks(X)
    gamma = 1.0 / (2 * scaled.var())
    distance = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(features @ features.T, np.exp(-gamma * distance), atol=1e-6)
