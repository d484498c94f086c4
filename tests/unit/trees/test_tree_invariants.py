"""What holds in every grown tree: leaves hold their rows, gains are true, no size is special, one leaf is enough."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from committee import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from committee.records.tree import check_tree
from committee.trees.export import export_graphviz, export_text
from tests.bad_input import (
    CONSTANT_TABLES,
    MISSING_TABLES,
    N,
    X,
    nan,
)
from tests.catalog import among, every, make, takes, target_of

TREES = among("committee.trees")

SPLITTERS = ["best", "binned", "random"]


every_splitter = pytest.mark.parametrize("splitter", SPLITTERS)


@pytest.mark.parametrize("features", [case.values[0] for case in CONSTANT_TABLES + MISSING_TABLES])
@every_splitter
@every(TREES)
def test_nothing_to_split_on_gives_one_leaf(cls: type[Any], splitter: str, features: Any) -> None:
    y = target_of(cls)[: len(features)]
    model = make(cls, splitter="best" if cls is DecisionStump and splitter == "random" else splitter)
    model.fit(features, y)
    expected = np.bincount(y).argmax() if is_classifier(model) else y.mean()
    assert model.get_n_leaves() == 1
    assert model.get_depth() == 0
    assert np.all(model.apply(features) == 0)
    assert model.decision_path(features).shape == (len(y), 1)
    np.testing.assert_allclose(model.predict(features), expected)
    np.testing.assert_array_equal(model.feature_importances_, 0.0)
    assert model.cost_complexity_pruning_path(features, y).ccp_alphas.tolist() == [0.0]
    assert "all" in export_text(model)


@every(TREES)
def test_one_class_or_one_value_gives_one_leaf(cls: type[Any]) -> None:
    for params in ({}, {"splitter": "binned"}, {"ccp_alpha": "cv"}, {"criterion": "absolute_error"}):
        if not takes(cls, **params):
            continue
        model = cls(**params).fit(X, np.full(N, 7))
        assert model.get_n_leaves() == 1
        np.testing.assert_array_equal(model.predict(X), 7)
        assert model.tree_.impurity.tolist() == [0.0]


WAYS_TO_GROW = [
    (cls, criterion)
    for cls, criteria in (
        (DecisionTreeClassifier, ["gini", "entropy", "log_loss"]),
        (DecisionTreeRegressor, ["squared_error", "friedman_mse", "absolute_error", "poisson"]),
    )
    for criterion in criteria
]


@pytest.mark.parametrize("n", [40, 6000])
@every_splitter
@pytest.mark.parametrize(("cls", "criterion"), WAYS_TO_GROW)
def test_leaves_hold_the_rows_and_splits_the_gains_they_claim(
    cls: type[Any], criterion: str, splitter: str, n: int
) -> None:
    rng = np.random.default_rng(0)
    features = np.c_[np.exp(3 * rng.normal(size=(n, 2))), rng.integers(0, 250, (n, 2))]  # small nodes below large ones
    features[rng.random(features.shape) < 0.1] = nan
    y, weight = rng.poisson(2.0, n), rng.integers(0, 3, n)
    for limits in ({}, {"max_leaf_nodes": 12}, {"max_features": 1}, {"min_samples_leaf": 3}):
        model = cls(criterion=criterion, splitter=splitter, categorical_features=[2], random_state=0, **limits)
        tree = check_tree(model.fit(features, y, sample_weight=weight).tree_.arrays, 4)
        leaves = np.bincount(model.apply(features), weight > 0, minlength=tree.n_nodes)
        np.testing.assert_array_equal(leaves[tree.is_leaf], tree.n_samples[tree.is_leaf])
        inner, cost = np.flatnonzero(~tree.is_leaf), tree.impurity * tree.weight / tree.weight[0]
        decrease = cost[inner] - cost[tree.left[inner]] - cost[tree.left[inner] + 1]
        np.testing.assert_allclose(tree.gain[inner], decrease, atol=1e-9)


def test_small_nodes_of_many_categories_below_large_ones() -> None:
    for seed in range(10):  # out of bounds shows only in a run with bounds checks
        rng = np.random.default_rng(seed)
        features = np.c_[rng.integers(0, 250, 6000), np.exp(3 * rng.normal(size=6000))]
        model = DecisionTreeRegressor(splitter="random", categorical_features=[0], random_state=seed)
        tree = check_tree(model.fit(features, rng.normal(size=6000)).tree_.arrays, 2)
        np.testing.assert_array_equal(np.bincount(model.apply(features))[tree.is_leaf], tree.n_samples[tree.is_leaf])


THRESHOLDS_OF_THE_ENGINE = [1, 2, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097]


@pytest.mark.parametrize("n", THRESHOLDS_OF_THE_ENGINE)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sizes_at_which_the_engine_changes_its_ways(n: int, missing: float) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 3))
    features[rng.random(features.shape) < missing] = nan
    y = np.nan_to_num(features[:, 0]) + rng.normal(size=n)
    model = DecisionTreeRegressor(splitter="best", max_depth=5).fit(features, y)
    expected = SklearnRegressor(max_depth=5, random_state=0).fit(features, y)
    np.testing.assert_allclose(model.predict(features), expected.predict(features))
    for splitter in SPLITTERS:
        grown = check_tree(DecisionTreeRegressor(splitter=splitter, random_state=0).fit(features, y).tree_.arrays, 3)
        assert grown.n_samples[grown.is_leaf].sum() == n


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_tree_as_deep_as_it_has_rows(cls: type[Any]) -> None:
    n = 5000  # past the rows that one kernel call grows; a recursion would end at 1000
    column, y = np.arange(n, dtype=np.float64)[:, np.newaxis], np.arange(n) % 2
    model = cls(splitter="best").fit(column, y)
    assert model.get_n_leaves() == n
    assert model.get_depth() > n // 2 - 2
    np.testing.assert_array_equal(model.predict(column), y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(column), y)
    assert deepcopy(model).get_depth() == model.get_depth()
    assert model.decision_path(column[:3]).shape == (3, 2 * n - 1)
    assert len(export_text(model)) < 10_000
    assert len(export_graphviz(model, max_depth=20)) < 50_000
    assert model.feature_importances_.tolist() == [1.0]
    path = cls(splitter="best", max_depth=2000).cost_complexity_pruning_path(column, y)
    assert path.impurities[-1] == pytest.approx(0.5 if is_classifier(model) else 0.25)


@every(TREES)
def test_a_rejected_fit_or_a_pruning_path_leaves_a_fitted_tree_as_it_was(cls: type[Any]) -> None:
    frame, y = pd.DataFrame(X, columns=list("abc")), target_of(cls)
    model = cls().fit(frame, y)
    before, predictions = dict(vars(model)), model.predict(frame)
    with pytest.raises(ValueError, match="pass one"):
        model.fit(X[:, :2], y[1:])
    model.cost_complexity_pruning_path(pd.DataFrame(X[:, :2], columns=list("pq")), y)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(frame), predictions)
