"""Proximities against their definition; the training rows behind a prediction give it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.datasets import load_dataset
from committee.explain.proximities import (
    BLOCK,
    neighbours,
    outlier_measure,
    proximities,
    proximity_blocks,
    weight_blocks,
)
from tests.naive import forest_importances as naive


@pytest.fixture(scope="module")
def small() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 3)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1]), [-0.5, 0.5])
    return RandomForestClassifier(9, max_leaf_nodes=8, random_state=0).fit(X, y), X, y


def test_proximities_are_fractions_of_trees(small):
    forest, X, _ = small
    expected = naive.proximity(forest.trees_, X, X, lambda t, i, j: True)
    result = proximities(forest, X)
    np.testing.assert_allclose(result.toarray(), expected)
    np.testing.assert_allclose(result.diagonal(), 1.0)
    other = naive.proximity(forest.trees_, X[:7], X[5:], lambda t, i, j: True)
    np.testing.assert_allclose(proximities(forest, X[:7], X[5:]).toarray(), other)


def test_out_of_bag_proximities_count_trees_that_saw_neither(small):
    forest, X, _ = small
    unseen = [set(forest.oob_indices(t).tolist()) for t in range(9)]
    expected = naive.proximity(forest.trees_, X, X, lambda t, i, j: i in unseen[t] and j in unseen[t])
    np.testing.assert_allclose(proximities(forest, X, out_of_bag=True).toarray(), expected)


def test_blocks_make_up_the_whole(small):
    forest, X, _ = small
    for options in ({}, {"out_of_bag": True}):
        whole = proximities(forest, X, **options).toarray()
        seen = []
        for rows, block in proximity_blocks(forest, X, block=7, **options):
            np.testing.assert_array_equal(block.toarray(), whole[rows])
            seen += range(rows.start, rows.stop)
        assert seen == list(range(40))


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestRegressor(20, random_state=0),
        RandomForestRegressor(8, random_state=0, max_leaf_nodes=6, max_samples=0.5),
        RandomForestRegressor(8, random_state=0, max_depth=4, ccp_alpha=0.5),
        ExtraTreesRegressor(8, random_state=0, min_samples_leaf=4),
    ],
    ids=str,
)
def test_a_prediction_is_the_mean_of_the_rows_behind_it(forest):
    X, y = load_dataset("ozone")[:2]
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y))
    for w in (None, weight):
        forest.fit(X, y, sample_weight=w)
        parts = np.concatenate([part.toarray() for part in weight_blocks(forest, X, X[::5], block=30)])
        np.testing.assert_allclose(parts.sum(axis=1), 1.0)
        np.testing.assert_allclose(parts @ y, forest.predict(X[::5]), rtol=1e-9)


def test_class_probabilities_are_the_weights_of_the_rows_behind_them():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(10, random_state=0, min_samples_leaf=3).fit(X, y)
    parts = next(weight_blocks(forest, X, X)).toarray()
    np.testing.assert_allclose(parts @ (y[:, np.newaxis] == forest.classes_), forest.predict_proba(X), atol=1e-12)


def test_neighbours_are_the_largest_parts():
    X, y = load_dataset("ozone")[:2]
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    parts = np.concatenate([part.toarray() for part in weight_blocks(forest, X, X[:9])])
    result = neighbours(forest, X, X[:9], k=4)
    np.testing.assert_allclose(result.weight, -np.sort(-parts, axis=1)[:, :4])
    np.testing.assert_allclose(np.take_along_axis(parts, result.rows, axis=1), result.weight)
    every = neighbours(forest, X, X[:9], k=400)  # more than have a part
    assert np.all((every.rows >= 0) == (every.weight > 0.0))
    np.testing.assert_allclose(every.weight.sum(axis=1), 1.0)
    frame = every.to_pandas()
    assert len(frame) == np.count_nonzero(parts)
    assert frame["weight"].sum() == pytest.approx(9.0)


def test_outlier_measure_by_hand(small):
    forest, X, y = small
    near = proximities(forest, X, out_of_bag=True).toarray()
    raw = np.array([
        40 / (np.sum(near[i, y == y[i]] ** 2) or 1.0) for i in range(40)
    ])  # fmt: skip
    expected = np.empty(40)
    for k in range(3):
        away = raw[y == k] - np.median(raw[y == k])
        expected[y == k] = away / np.median(np.abs(away))
    np.testing.assert_allclose(outlier_measure(forest, X, y), expected)


def test_a_planted_outlier_is_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (80, 4)), rng.normal(4, 1, (80, 4))])
    y = np.repeat(["a", "b"], 80)
    y[0] = "b"  # a row of the other cloud
    forest = RandomForestClassifier(100, random_state=0, min_samples_leaf=3).fit(X, y)
    far = outlier_measure(forest, X, y)
    assert far.argmax() == 0
    assert far[0] > 10.0


def test_numbers_have_one_class_and_equal_rows_lie_alike():
    X, y = load_dataset("ozone")[:2]
    forest = RandomForestRegressor(10, random_state=0, min_samples_leaf=5).fit(X, y)
    assert np.median(outlier_measure(forest, X, y, out_of_bag=False)) == 0.0
    constant = RandomForestRegressor(3, random_state=0).fit(np.zeros((9, 1)), np.arange(9.0))
    assert outlier_measure(constant, np.zeros((9, 1)), np.arange(9.0), out_of_bag=False).tolist() == [0.0] * 9


def test_a_large_table_is_never_held_whole(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    forest = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    largest = max(block.shape[0] for _, block in proximity_blocks(forest, X, out_of_bag=True))
    assert largest == BLOCK


def test_bad_arguments_are_rejected(small):
    forest, X, y = small
    with pytest.raises(ValueError, match="between training rows"):
        proximities(forest, X, X, out_of_bag=True)
    with pytest.raises(ValueError, match="fitted on 40 rows, X has 10"):
        proximities(forest, X[:10], out_of_bag=True)
    with pytest.raises(ValueError, match="fitted on 40 rows, X_train has 10"):
        neighbours(forest, X[:10], X)
    with pytest.raises(ValueError, match="k must be at least 1"):
        neighbours(forest, X, X, 0)
    with pytest.raises(ValueError, match="not the 40 rows"):
        outlier_measure(forest, X[::-1], y[::-1])
    full = ExtraTreesRegressor(3).fit(np.arange(9.0)[:, np.newaxis], np.arange(9.0))
    with pytest.raises(ValueError, match="bootstrap=True"):
        proximities(full, np.arange(9.0)[:, np.newaxis], out_of_bag=True)
    with pytest.raises(TypeError, match="not dict"):
        proximities({}, X)  # type: ignore[arg-type]


def test_the_package_offers_the_function():
    """`committee.explain.proximities` was the module, beside functions such as `neighbours`."""
    import committee.explain

    assert committee.explain.proximities is proximities
    assert "proximities" in committee.explain.__all__
