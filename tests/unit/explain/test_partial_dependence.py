"""Partial dependence: against scikit-learn, against sums by hand, on every kind of table."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn import inspection
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor as SklearnBoosting
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from committee import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from committee.datasets import load_dataset
from committee.explain import partial_dependence
from committee.explain.partial_dependence import expected_at
from committee.explain.shap import tree_sum
from tests.naive.shap import random_rows, random_sum, sum_expectation

CLOSE = {"rtol": 0, "atol": 1e-9}


@pytest.fixture(scope="module")
def numbers() -> Any:
    data = load_dataset("ozone")
    return np.nan_to_num(data.X), data.y


@pytest.fixture(scope="module")
def mixed() -> tuple[Any, Any]:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "rare"], 200, p=[0.4, 0.35, 0.2, 0.05])
    X = pd.DataFrame({"colour": pd.Categorical(colour), "size": rng.normal(size=200), "count": rng.integers(0, 6, 200)})
    X.loc[::9, "size"] = np.nan
    X.loc[4, "colour"] = np.nan
    y = np.where(colour == "red", 2.0, 0.0) + np.nan_to_num(X["size"]) * X["count"] + rng.normal(0, 0.1, 200)
    return X, y


# ---- Brute force ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [[0], [3, 8]])
@pytest.mark.parametrize("weighted", [False, True])
def test_brute_force_agrees_with_scikit_learn(numbers, features, weighted):
    X, y = numbers
    model = SklearnBoosting(n_estimators=10, random_state=0).fit(X, y)
    weight = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else None
    theirs = inspection.partial_dependence(
        model, X, features, kind="average", method="brute", sample_weight=weight, grid_resolution=15
    )
    grid = {f: theirs["grid_values"][i] for i, f in enumerate(features)}
    ours = partial_dependence(model, X, features, grid=grid, sample_weight=weight)
    np.testing.assert_allclose(ours.average, theirs["average"][0], **CLOSE)
    assert ours.method == "brute"
    assert ours.names == tuple(f"x[{f}]" for f in features)


def test_individual_curves_agree_with_scikit_learn(numbers):
    X, y = numbers
    model = GradientBoostingRegressor(n_estimators=10, loss="poisson").fit(X, y)
    theirs = inspection.partial_dependence(model, X, [8], kind="both", method="brute", grid_resolution=9)
    ours = partial_dependence(model, X, 8, grid={8: theirs["grid_values"][0]}, kind="both")
    np.testing.assert_allclose(ours.individual, theirs["individual"][0], **CLOSE)
    np.testing.assert_allclose(ours.average, theirs["average"][0], **CLOSE)
    only = partial_dependence(model, X, 8, grid={8: theirs["grid_values"][0]}, kind="individual")
    assert only.average is None
    np.testing.assert_array_equal(only.individual, ours.individual)


def test_probabilities_of_two_and_more_classes():
    glass, sonar = load_dataset("glass"), load_dataset("sonar")
    for data in (glass, sonar):
        model = RandomForestClassifier(5, random_state=0).fit(data.X, data.y)
        theirs = inspection.partial_dependence(model, data.X, [1], method="brute", grid_resolution=6)
        ours = partial_dependence(model, data.X, 1, grid={1: theirs["grid_values"][0]})
        n_outputs = len(model.classes_) if len(model.classes_) > 2 else 1
        assert ours.average.shape == ((6,) if n_outputs == 1 else (6, n_outputs))
        np.testing.assert_allclose(ours.average.reshape(6, -1).T, theirs["average"], **CLOSE)
        assert ours.classes == (() if n_outputs == 1 else tuple(map(str, model.classes_)))
        assert ours.response == "predict_proba"


def test_blocks_change_nothing(numbers, monkeypatch):
    X, y = numbers
    model = DecisionTreeRegressor(max_depth=5).fit(X, y)
    module = sys.modules[expected_at.__module__]
    options = {"features": [8, 1], "grid": 7}
    whole = [partial_dependence(model, X, method=method, **options) for method in ("brute", "recursion")]
    monkeypatch.setattr(module, "BLOCK_ROWS", 3 * len(X) + 1)
    monkeypatch.setattr(module, "BLOCK_CELLS", 50)
    small = [partial_dependence(model, X, method=method, **options) for method in ("brute", "recursion")]
    for a, b in zip(whole, small, strict=True):
        np.testing.assert_allclose(a.average, b.average, rtol=1e-12)


def test_a_weight_means_so_many_rows(mixed):
    X, y = mixed
    model = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = X.iloc[np.repeat(np.arange(len(y)), weight)]
    for features in ("size", ["colour", "count"]):
        a = partial_dependence(model, X, features, sample_weight=weight, grid=20)
        b = partial_dependence(model, repeated, features, method="brute", grid=20)
        for one, other in zip(a.grid, b.grid, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(a.average, b.average, **CLOSE)


# ---- Recursion ------------------------------------------------------------------------------------------------------


def test_recursion_is_the_expectation_of_shap():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = random_sum(rng, 4, 1 + seed % 3, [1, 6, 15])
        rows = random_rows(rng, 9, 4)
        for features in ([0], [2, 1]):
            ours = expected_at(model, features, rows[:, features])
            naive = np.array([sum_expectation(model, row, frozenset(features)) for row in rows])
            np.testing.assert_allclose(ours, naive.reshape(ours.shape), **CLOSE)


def test_recursion_agrees_with_scikit_learns(numbers):
    X, y = numbers
    X = X.astype(np.float32).astype(np.float64)  # scikit-learn's trees see float32
    theirs = inspection.partial_dependence(
        SklearnTree(max_depth=3).fit(X, y), X, [8], kind="average", method="recursion", grid_resolution=12
    )
    result = partial_dependence(DecisionTreeRegressor(max_depth=3).fit(X, y), X, 8, grid={8: theirs["grid_values"][0]})
    assert result.method == "recursion"
    np.testing.assert_allclose(result.average, theirs["average"][0], rtol=1e-9)


def test_without_other_features_the_two_are_the_same(numbers):
    X, y = numbers
    for model in (GradientBoostingRegressor(n_estimators=20), DecisionTreeRegressor(max_depth=4)):
        model.fit(X[:, [8]], y)
        a, b = (partial_dependence(model, X[:, [8]], 0, method=m, grid=30) for m in ("recursion", "brute"))
        np.testing.assert_allclose(a.average, b.average, **CLOSE)
        grid = a.grid[0]
        np.testing.assert_allclose(a.average, model.predict(grid[:, None]), **CLOSE)


def test_categories_and_missing_values_go_the_trees_way(mixed):
    X, y = mixed
    model = GradientBoostingRegressor(n_estimators=15).fit(X, y)
    every = partial_dependence(model, X, ["colour", "size"], grid={"size": [-1.0, np.nan, 1.0]})
    assert every.method == "recursion"
    assert every.grid[0].tolist() == ["blue", "green", "rare", "red"]
    assert every.is_categorical == (True, False)
    both = X.loc[:, ["colour", "size"]]
    two = GradientBoostingRegressor(n_estimators=15).fit(both, y)
    for method in ("recursion", "brute"):
        result = partial_dependence(two, both, ["colour", "size"], grid={"size": [-1.0, np.nan, 1.0]}, method=method)
        rows = {
            "colour": [c for c in every.grid[0] for _ in range(3)],
            "size": [-1.0, np.nan, 1.0] * 4,
        }
        import pandas as pd

        table = pd.DataFrame({**rows, "colour": pd.Categorical(rows["colour"], X["colour"].cat.categories)})
        np.testing.assert_allclose(result.average.ravel(), two.predict(table), **CLOSE)


def test_recursion_is_taken_where_it_is_exact(mixed):
    X, y = mixed
    positive = np.exp(y / 4)
    label = y > 1
    booster = AdaBoostClassifier(n_estimators=5).fit(X, label)
    gamma = GradientBoostingRegressor("gamma", n_estimators=5).fit(X, positive)
    classifier = GradientBoostingClassifier(n_estimators=5).fit(X, label)
    cases = [
        (DecisionTreeRegressor(max_depth=3).fit(X, y), {}, "recursion", "predict"),
        (DecisionTreeClassifier(max_depth=3).fit(X, label), {}, "recursion", "predict_proba"),
        (GradientBoostingRegressor(n_estimators=5).fit(X, y), {}, "recursion", "predict"),
        (GradientBoostingRegressor(n_estimators=5).fit(X, y), {"kind": "both"}, "brute", "predict"),
        (GradientBoostingRegressor(n_estimators=5).fit(X, y), {"sample_weight": np.ones(200)}, "brute", "predict"),
        (gamma, {}, "brute", "predict"),
        (gamma, {"response": "score"}, "recursion", "score"),
        (classifier, {}, "recursion", "decision_function"),
        (classifier, {"response": "predict_proba"}, "brute", "predict_proba"),
        (booster, {}, "brute", "decision_function"),
        (booster, {"method": "recursion"}, "recursion", "decision_function"),
    ]  # fmt: skip
    for model, options, method, response in cases:
        result = partial_dependence(model, X, "count", **options)
        assert (result.method, result.response) == (method, response), (model, options)


def test_recursion_of_a_classification_tree_is_the_second_class(mixed):
    X, y = mixed
    tree = DecisionTreeClassifier(max_depth=3).fit(X[["count"]], y > 1)
    result = partial_dependence(tree, X[["count"]], "count")
    brute = partial_dependence(tree, X[["count"]], "count", method="brute")
    assert result.method == "recursion"
    np.testing.assert_allclose(result.average, brute.average, **CLOSE)


def test_scores_are_the_sum_of_the_trees(mixed):
    X, y = mixed
    model = GradientBoostingRegressor("poisson", n_estimators=8).fit(X, np.exp(y / 4))
    result = partial_dependence(model, X, "size", kind="both", response="score", grid=5)
    answer = partial_dependence(model, X, "size", kind="both", grid=5)
    np.testing.assert_allclose(np.exp(result.individual), answer.individual, rtol=1e-9)


def test_many_classes_by_recursion():
    data = load_dataset("glass")
    model = GradientBoostingClassifier(n_estimators=4).fit(data.X, data.y)
    result = partial_dependence(model, data.X, 2, grid=11)
    assert (result.method, result.average.shape) == ("recursion", (11, 6))
    assert result.classes == tuple(map(str, model.classes_))
    rows = np.full((11, data.X.shape[1]), np.nan)
    rows[:, 2] = result.grid[0]
    naive = np.array([sum_expectation(tree_sum(model), row, frozenset({2})) for row in rows])
    np.testing.assert_allclose(result.average, naive, **CLOSE)


# ---- Grids and tables -----------------------------------------------------------------------------------------------


def test_grid_is_all_values_or_evenly_spaced():
    X = np.column_stack([np.arange(200.0), np.arange(200) % 4])
    X[0, 1] = np.nan
    model = LinearRegression().fit(np.nan_to_num(X), X[:, 0])
    X = np.nan_to_num(X)
    few = partial_dependence(model, X, 1)
    assert few.grid[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    many = partial_dependence(model, X, 0, grid=21, percentiles=(0.1, 0.9))
    np.testing.assert_allclose(many.grid[0], np.linspace(19, 179, 21))
    np.testing.assert_allclose(many.average, many.grid[0], atol=1e-9)
    np.testing.assert_array_equal(many.data[:, 0], X[:, 0])


def test_a_column_with_nearly_one_value_is_shown_in_full():
    X = np.zeros((400, 1))
    X[:10, 0] = np.linspace(1, 2, 10)
    model = LinearRegression().fit(X, X[:, 0])
    assert partial_dependence(model, X, 0, grid=5).grid[0].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_of_many_categories_the_frequent_are_kept(mixed):
    X, y = mixed
    model = DecisionTreeRegressor().fit(X, y)
    result = partial_dependence(model, X, "colour", grid=2, kind="individual")
    assert set(result.grid[0]) == set(X["colour"].value_counts().index[:2])
    named = {place: value for place, value in enumerate(result.grid[0])}
    for place, value in zip(result.data[:, 0], X["colour"], strict=True):
        assert (np.isnan(place) and value not in result.grid[0]) or named[place] == value


@pytest.mark.parametrize("kind", ["polars", "arrow", "ordered", "index"])
def test_frames_of_every_kind_give_the_same(kind, mixed):
    X, y = mixed
    if kind == "polars":
        table = pytest.importorskip("polars").from_pandas(X)
    elif kind == "arrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(X)
    elif kind == "ordered":
        order = ["rare", "red", "green", "blue"]
        table = X.assign(colour=X["colour"].cat.reorder_categories(order, ordered=True))
    else:
        table = X.set_index(np.random.default_rng(0).permutation(len(y)))
    model, base = (DecisionTreeRegressor(max_depth=5).fit(t, y) for t in (table, X))
    for features in (["colour"], ["size"], ["count", "colour"]):
        for method in ("brute", "recursion"):
            a = partial_dependence(model, table, features, method=method, grid=12)
            b = partial_dependence(base, X, features, method=method, grid=12)
            if kind == "ordered" and "colour" in features:
                axis = features.index("colour")
                assert a.grid[axis].tolist() == order
                place = [a.grid[axis].tolist().index(value) for value in b.grid[axis]]
                np.testing.assert_allclose(np.take(a.average, place, axis), b.average, **CLOSE)
            else:
                np.testing.assert_allclose(a.average, b.average, **CLOSE)


def test_a_pipeline_gets_the_strings_it_was_fitted_on(mixed):
    X, y = mixed
    X = X.assign(colour=X["colour"].astype(object).fillna("red")).fillna({"size": 0.0})
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y > 1)
    result = partial_dependence(model, X, "colour", response="predict_proba")
    for place, value in enumerate(result.grid[0]):
        expected = model.predict_proba(X.assign(colour=value))[:, 1].mean()
        assert result.average[place] == pytest.approx(expected, abs=1e-12)
    assert result.is_categorical == (True,)


def test_arrays_of_integers_and_objects():
    X = np.arange(40).reshape(20, 2) % 7
    model = LinearRegression().fit(X, X[:, 0])
    result = partial_dependence(model, X, 0, grid={0: [0.5, 1.5]})
    np.testing.assert_allclose(result.average, [0.5, 1.5])
    mixed = np.array([["a", 1.0], ["b", 2.0], ["a", 3.0]], dtype=object)
    tree = DecisionTreeRegressor(categorical_features=[0]).fit(mixed, [1.0, 5.0, 1.0])
    for method in ("brute", "recursion"):
        assert partial_dependence(tree, mixed, 0, method=method).average.tolist() == [1.0, 5.0]


def test_bad_requests_say_what_to_do(mixed):
    X, y = mixed
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y > 1)
    with pytest.raises(ValueError, match="one or two features, got 3"):
        partial_dependence(model, X, [0, 1, 2])
    with pytest.raises(ValueError, match="X has no column 'weight'"):
        partial_dependence(model, X, "weight")
    with pytest.raises(ValueError, match="grid must be a number of points"):
        partial_dependence(model, X, 0, grid=1)
    with pytest.raises(ValueError, match=r"'colour' has categories.*pink"):
        partial_dependence(model, X, "colour", grid={"colour": ["red", "pink"]})
    with pytest.raises(ValueError, match="a list of at least one value"):
        partial_dependence(model, X, "size", grid={"size": []})
    with pytest.raises(ValueError, match="method='brute'"):
        partial_dependence(model, X, "size", kind="both", method="recursion")
    with pytest.raises(ValueError, match="predict_proba is not the sum of the trees"):
        partial_dependence(model, X, "size", response="predict_proba", method="recursion")
    with pytest.raises(ValueError, match="Labels have no average"):
        partial_dependence(model, X, "size", response="predict")
    with pytest.raises(ValueError, match="kind must be one of average, individual, both; got 'mean'"):
        partial_dependence(model, X, "size", kind="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="percentiles must be"):
        partial_dependence(model, X, "size", percentiles=(0.9, 0.1))
    with pytest.raises(ValueError, match="Column 'size' has only missing values"):
        partial_dependence(model, X.assign(size=np.nan), "size")
    with pytest.raises(ValueError, match="LinearRegression has no decision_function"):
        partial_dependence(LinearRegression().fit([[0.0], [1.0]], [0, 1]), [[0.0]], 0, response="decision_function")
    with pytest.raises(NotFittedError):
        partial_dependence(GradientBoostingRegressor(), X, 0)
