"""The weighted-error stump."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from committee import DecisionStump, DecisionTreeClassifier

Floats = NDArray[np.float64]


def make_data(seed: int, n: int = 80, d: int = 4) -> tuple[Floats, NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1)
    y = np.where(X[:, seed % d] * (-1) ** seed + rng.normal(size=n) > 0, 1, -1)
    return X, y, rng.random(n) + 0.1


def least_error(X: Floats, y: NDArray[np.int64], w: Floats) -> float:
    """Every threshold on every feature with both polarities, and the two constant answers."""
    w = w / w.sum()
    errors = [w @ (y != -1), w @ (y != 1)]
    for column in X.T:
        for threshold in np.unique(column):
            wrong = w @ (np.where(column > threshold, 1, -1) != y)
            errors += [wrong, 1 - wrong]
    return float(min(errors))


@pytest.mark.parametrize("seed", range(12))
def test_no_stump_errs_less(seed: int) -> None:
    X, y, w = make_data(seed)
    stump = DecisionStump().fit(X, y, sample_weight=w)
    assert stump.error_ == pytest.approx(least_error(X, y, w), rel=1e-12)
    assert stump.edge_ == pytest.approx(1 - 2 * stump.error_, abs=1e-15)
    assert w @ (stump.predict(X) != y) / w.sum() == pytest.approx(stump.error_, rel=1e-12)
    assert stump.get_depth() == 1


@pytest.mark.parametrize("seed", range(12))
def test_it_predicts_as_its_formula(seed: int) -> None:
    """polarity * sgn(x_j - threshold), both polarities among the seeds."""
    X, y, w = make_data(seed)
    stump = DecisionStump().fit(X, y, sample_weight=w)
    assert stump.polarity_ == (-1) ** seed
    new = make_data(seed + 100)[0]
    signs = np.where(new[:, stump.feature_] > stump.threshold_, 1, -1)
    np.testing.assert_array_equal(stump.predict(new), stump.polarity_ * signs)


def test_the_example_of_the_docstring_by_hand() -> None:
    """Weights 1, 1, 3, 1 on x = 1..4 with signs + + - +: cutting between 2 and 3 errs on the last row alone."""
    stump = DecisionStump().fit([[1.0], [2.0], [3.0], [4.0]], [1, 1, -1, 1], sample_weight=[1, 1, 3, 1])
    assert (stump.feature_, stump.threshold_, stump.polarity_) == (0, 2.5, -1)
    assert stump.error_ == pytest.approx(1 / 6, rel=1e-15)
    np.testing.assert_allclose(stump.predict_proba([[1.0], [4.0]]), [[0.0, 1.0], [0.75, 0.25]], rtol=1e-15)


def test_a_constant_prediction_has_no_polarity() -> None:
    y = [1, 1, 1, 1, -1, 1, 1, 1, 1]  # no cut leaves the one -1 a majority
    stump = DecisionStump().fit(np.arange(9.0)[:, None], y)
    assert stump.polarity_ == 0
    assert stump.error_ == pytest.approx(1 / 9, rel=1e-15)
    assert stump.predict([[0.0], [4.0], [8.0]]).tolist() == [1, 1, 1]


def test_nothing_to_split_on() -> None:
    stump = DecisionStump().fit([[1.0], [1.0], [1.0]], ["a", "b", "a"])
    assert (stump.feature_, stump.threshold_, stump.polarity_) == (None, None, 0)
    assert stump.error_ == pytest.approx(1 / 3, rel=1e-15)
    assert stump.predict([[5.0]]).tolist() == ["a"]


@pytest.mark.parametrize("seed", range(4))
def test_many_classes_predict_with_the_heaviest_on_each_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, w = np.round(rng.normal(size=(60, 3)), 1), rng.integers(0, 4, 60), rng.random(60)
    y = np.where(X[:, 1] > 0.5, 3, y)
    stump = DecisionStump().fit(X, y, sample_weight=w)
    by_class = w[:, None] * (y[:, None] == np.arange(4))
    right = [
        by_class[column <= t].sum(axis=0).max() + by_class[column > t].sum(axis=0).max(initial=0.0)
        for column in X.T
        for t in np.unique(column)
    ]
    assert stump.error_ == pytest.approx(1 - max(right) / w.sum(), rel=1e-12)
    assert w @ (stump.predict(X) != y) / w.sum() == pytest.approx(stump.error_, rel=1e-12)


def test_gini_would_choose_another_cut() -> None:
    """The stump is no tree of depth one under Gini: here Gini gains more from the purer side."""
    x = np.arange(12.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
    w = np.array([1, 1, 1, 3, 1, 2, 1, 1, 1, 1, 1, 2.0])
    stump = DecisionStump().fit(x, y, sample_weight=w)
    gini = DecisionTreeClassifier(max_depth=1).fit(x, y, sample_weight=w)
    error = w @ (gini.predict(x) != y) / w.sum()
    assert stump.error_ <= error
    assert stump.error_ == pytest.approx(least_error(x, 2 * y - 1, w), rel=1e-12)


def test_missing_values_go_where_they_err_least() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [np.nan], [np.nan]])
    stump = DecisionStump().fit(X, [0, 0, 1, 1, 0, 0, 1])
    assert stump.error_ == pytest.approx(1 / 7, rel=1e-15)
    assert stump.predict([[np.nan]]).tolist() == [0]


def test_categories_are_cut_into_two_sets() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(list("abcd" * 5))})
    y = np.array([0, 1, 0, 1] * 5)
    stump = DecisionStump().fit(frame, y)
    assert stump.error_ == 0.0
    np.testing.assert_array_equal(stump.predict(frame), y)


def test_class_weight_and_limits() -> None:
    X, y, _ = make_data(0)
    heavy = np.where(y == 1, 5.0, 1.0)
    by_class = DecisionStump(class_weight={1: 5.0, -1: 1.0}).fit(X, y)
    by_row = DecisionStump().fit(X, y, sample_weight=heavy)
    assert by_class.error_ == by_row.error_ == pytest.approx(least_error(X, y, heavy), rel=1e-12)
    stump = DecisionStump(min_samples_leaf=35).fit(X, y)
    assert stump.tree_.n_node_samples.min() >= 35


def test_binned_stumps_are_exact_on_few_values() -> None:
    X, y, w = make_data(3)
    one, two = DecisionStump().fit(X, y, w), DecisionStump(splitter="binned").fit(X, y, w)
    assert (one.feature_, one.threshold_, one.polarity_) == (two.feature_, two.threshold_, two.polarity_)
    assert one.error_ == two.error_


def test_a_stump_has_few_parameters() -> None:
    assert sorted(DecisionStump().get_params()) == [
        "categorical_features", "class_weight", "max_bins", "min_samples_leaf", "min_weight_fraction_leaf", "n_jobs",
        "splitter",
    ]  # fmt: skip
