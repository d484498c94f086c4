"""Bad and extreme input: every tree of the catalog gives the right answer or an error that says what to do.

Each table, here or in tests/bad_input.py, holds one case a line: a name, the input, then the error (its type and what
its text must say) or the answer. Those of refused input run for every tree, those of tables for every method that
takes a table.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, KFold
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

import committee
from committee import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from committee.catalog import CATALOG
from committee.plots import plot_tree
from committee.records.tree import InvalidTreeError, check_tree
from committee.tree_engine.binning import BinMapper
from committee.trees.export import export_graphviz, export_text
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    has_params,
    nan,
    table,
    target_of,
    with_params,
)

matplotlib.use("Agg")

ESTIMATORS: list[type[Any]] = [
    getattr(committee, entry.name) for entry in CATALOG if entry.module.startswith("committee.trees")
]
CLASSIFIERS = [cls for cls in ESTIMATORS if is_classifier(cls())]
REGRESSORS = [cls for cls in ESTIMATORS if not is_classifier(cls())]
SPLITTERS = ["best", "binned", "random"]

every_estimator = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
every_splitter = pytest.mark.parametrize("splitter", SPLITTERS)


# --- tables that are refused -----------------------------------------------------------------------------------------


# --- targets, weights and parameters that are refused ----------------------------------------------------------------


@pytest.mark.parametrize("y", [-LABELS, np.zeros(N)], ids=["negative", "all zero"])
def test_poisson_rejects(y: Any) -> None:
    with pytest.raises(ValueError, match="negative, or all are zero: criterion='poisson' is for counts"):
        DecisionTreeRegressor(criterion="poisson").fit(X, y)


BAD_PARAMETERS = table(
    ("max_features auto", {"max_features": "auto"}, "'max_features' .*'sqrt'"),
    ("n_jobs 0", {"n_jobs": 0}, r"\[1, inf\), an int in the range \(-inf, -1\] or None. Got 0"),
    ("cv without splits", {"ccp_alpha": "cv", "cv": []}, "cv tests no rows of positive weight"),
    ("cv without training", {"ccp_alpha": "cv", "cv": [([], [0, 1])]}, "no training rows of positive weight"),
    ("cv of groups", {"ccp_alpha": "cv", "cv": GroupKFold(3)}, "'groups' parameter should not be None"),
    ("cv too many", {"ccp_alpha": "cv", "cv": KFold(N + 1)}, "n_splits=41 greater than the number of samples"),
    ("monotonic_cst length", {"monotonic_cst": [1]}, r"has shape \(1,\) but the input data X has 3 features"),
    ("monotonic_cst 2", {"monotonic_cst": [2, 0, 0]}, "must contain only -1, 0 or 1; got 2"),
    ("monotonic_cst 0.5", {"monotonic_cst": [0.5, 0, 0]}, "must contain only -1, 0 or 1; got 0.5"),
    ("monotonic_cst nan", {"monotonic_cst": [nan, 0, 0]}, "must contain only -1, 0 or 1; got nan"),
    ("monotonic_cst string", {"monotonic_cst": ["up", 0, 0]}, "must contain only -1, 0 or 1; got 'up'"),
    ("monotonic_cst None", {"monotonic_cst": {0: None}}, "must contain only -1, 0 or 1; got None"),
    ("monotonic_cst index", {"monotonic_cst": {5: 1}}, "names feature 5, but the table has 3 features"),
    ("monotonic_cst float index", {"monotonic_cst": {1.5: 1}}, "by index or by name; got 1.5"),
    ("monotonic_cst name", {"monotonic_cst": {"a": 1}}, "names .*'a', but the columns of X have no names: use indices"),
    ("monotonic_cst on codes", {"monotonic_cst": [1, 0, 0], "categorical_features": [0]}, "categorical and has no"),
    ("interaction_cst flat", {"interaction_cst": [0, 1]}, r"must hold groups of features, such as .*; got 0"),
    ("interaction_cst word as group", {"interaction_cst": ["ab"]}, "must hold groups of features, .*; got 'ab'"),
    ("interaction_cst index", {"interaction_cst": [[0, 3]]}, "names feature 3, but the table has 3 features"),
    ("interaction_cst float", {"interaction_cst": [[0.5]]}, "by index or by name; got 0.5"),
    ("interaction_cst None", {"interaction_cst": [[None]]}, "by index or by name; got None"),
    ("categorical_features index", {"categorical_features": [3]}, "has no column 3"),
    ("categorical_features name", {"categorical_features": ["a"]}, "has no column 'a'"),
    ("categorical_features mask", {"categorical_features": [True]}, "must have one entry per column: 3, not 1"),
    ("categorical_features mixed", {"categorical_features": [0, "a"]}, "only names, only indices or only bools"),
    ("class_weight list", {"class_weight": [1, 2]}, "'class_weight' .* an instance of 'dict'"),
    ("class_weight unknown", {"class_weight": {7: 1.0}}, r"The classes, \[0, 1\], are not in class_weight"),
    ("class_weight negative", {"class_weight": {0: 1, 1: -1}}, "Negative values in class_weight: weights must be >= 0"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "all weights are zero, .*; pass class_weight=None"),
    ("class_weight nan", {"class_weight": {0: nan}}, "class_weight contains NaN or infinity"),
    ("class_weight 1e300", {"class_weight": {0: 1e300, 1: 1}}, "sum of class_weight is .*, too large"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@every_estimator
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    model = cls(**params)
    with pytest.raises(ValueError, match=text):
        model.fit(X, target_of(cls))
    assert not hasattr(model, "n_features_in_")


def test_monotone_constraints_need_two_classes() -> None:
    with pytest.raises(ValueError, match="not supported with multiclass classification"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, np.arange(N) % 3)


def test_pairs_of_many_features_are_rejected_before_they_are_written_down() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3, 20_000))
    with pytest.raises(ValueError, match="makes 199990000 groups of features; at most 64 are possible"):
        DecisionTreeClassifier(interaction_cst="pairwise").fit(wide, [0, 1, 0])


@every_estimator
def test_cross_validation_needs_two_rows(cls: type[Any]) -> None:
    if not has_params(cls, ccp_alpha="cv"):
        pytest.skip("has no such parameter")
    with pytest.raises(ValueError, match="needs at least two rows of positive weight"):
        cls(ccp_alpha="cv").fit(X, target_of(cls), sample_weight=np.eye(N)[0])
    with pytest.raises(ValueError, match="no training rows of positive weight"):
        cls(ccp_alpha="cv", cv=KFold(2)).fit(X, target_of(cls), sample_weight=np.arange(N) < N // 2)


# --- unusual input with one right answer -----------------------------------------------------------------------------

ONE_LEAF = table(
    ("one row", X[:1], slice(1)),
    ("one row of float32", X[:1].astype(np.float32), slice(1)),
    ("constant features", np.ones((N, 3)), slice(None)),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), slice(None)),
    ("all missing", np.full((N, 3), nan), slice(None)),
    ("all missing objects", np.full((N, 3), None), slice(None)),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])}), slice(None)),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), slice(None)),
)


@pytest.mark.parametrize(("features", "rows"), ONE_LEAF)
@every_splitter
@every_estimator
def test_nothing_to_split_on_gives_one_leaf(cls: type[Any], splitter: str, features: Any, rows: slice) -> None:
    y = target_of(cls)[rows]
    model = with_params(cls, splitter="best" if cls is DecisionStump and splitter == "random" else splitter)
    model.fit(features, y)
    answer = np.bincount(y).argmax() if is_classifier(model) else y.mean()
    assert model.get_n_leaves() == 1
    assert model.get_depth() == 0
    assert np.all(model.apply(features) == 0)
    assert model.decision_path(features).shape == (len(y), 1)
    np.testing.assert_allclose(model.predict(features), answer)
    np.testing.assert_array_equal(model.feature_importances_, 0.0)
    assert model.cost_complexity_pruning_path(features, y).ccp_alphas.tolist() == [0.0]
    assert "all" in export_text(model)


@every_estimator
def test_one_class_or_one_value_gives_one_leaf(cls: type[Any]) -> None:
    for params in ({}, {"splitter": "binned"}, {"ccp_alpha": "cv"}, {"criterion": "absolute_error"}):
        if not has_params(cls, **params) or (is_classifier(cls()) and "criterion" in params):
            continue
        model = cls(**params).fit(X, np.full(N, 7))
        assert model.get_n_leaves() == 1
        np.testing.assert_array_equal(model.predict(X), 7)
        assert model.tree_.impurity.tolist() == [0.0]


NEIGHBOURS = table(
    ("-max and max", [-MAX, MAX]),
    ("huge steps", [-MAX, -1e300, -1.0, 0.0, 1.0, 1e300, MAX]),
    ("next to max", [np.nextafter(MAX, 0), MAX]),
    ("next to -max", [-MAX, np.nextafter(-MAX, 0)]),
    ("neighbours of one", [np.nextafter(1, 0), 1.0, np.nextafter(1, 2)]),
    ("subnormals", [-5e-324, 0.0, 5e-324, 1e-323]),
    ("beyond 2**53", [2.0**53, 2.0**53 + 2, 2.0**53 + 4]),
    ("float32", np.array([1, np.nextafter(np.float32(1), np.float32(2))], np.float32)),
    ("float32 extremes", np.array([-3.4e38, 3.4e38], np.float32)),
)


@pytest.mark.parametrize("values", NEIGHBOURS)
@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_every_two_values_can_be_told_apart(splitter: str, values: Any) -> None:
    column = np.asarray(values)[:, np.newaxis]
    labels = np.arange(len(column)) % 2
    for model in (DecisionTreeClassifier(splitter=splitter), DecisionTreeRegressor(splitter=splitter)):
        model.fit(column, labels)
        np.testing.assert_array_equal(model.predict(column), labels)
        np.testing.assert_array_equal(np.sort(model.apply(column)), np.flatnonzero(model.tree_.arrays.is_leaf))
        assert np.isfinite(model.tree_.threshold).all()
        export_text(model), export_graphviz(model)


@pytest.mark.parametrize("values", NEIGHBOURS)
def test_drawn_thresholds_lie_between_the_values(values: Any) -> None:
    column = np.asarray(values)[:, np.newaxis]
    labels = np.arange(len(column)) % 2
    for seed in range(20):
        model = DecisionTreeClassifier(splitter="random", random_state=seed).fit(column, labels)
        np.testing.assert_array_equal(model.predict(column), labels)


@every_estimator
def test_a_column_of_missing_values_does_not_matter(cls: type[Any]) -> None:
    y, holes = target_of(cls), X.copy()
    holes[:, 1] = nan
    model, expected = cls().fit(holes, y), cls().fit(X[:, [0, 2]], y)
    np.testing.assert_array_equal(model.predict(holes), expected.predict(X[:, [0, 2]]))
    for splitter in ("best", "binned"):
        predictions = (
            cls(splitter=splitter).fit(X, y).predict(np.full((2, 3), nan))
        )  # never seen missing: the larger child
        assert np.isin(predictions, y).all()


def test_missing_values_never_seen_follow_the_larger_child() -> None:
    column, labels = np.arange(10.0)[:, np.newaxis], np.arange(10) >= 8
    for cls in CLASSIFIERS:
        assert cls().fit(column, labels).predict([[nan]]).tolist() == [False]
        assert cls().fit(column, ~labels).predict([[nan]]).tolist() == [True]
        assert cls().fit(-column, labels).predict([[nan]]).tolist() == [False]


@pytest.mark.parametrize("n_levels", [2, 63, 64, 65, 253, 254, 255, 256, 300])
@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_many_categories(splitter: str, n_levels: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(n_levels), rng.integers(0, n_levels, 3 * n_levels)]
    frame = pd.DataFrame({"c": pd.Categorical([f"level {code:03}" for code in codes])})
    height = rng.normal(size=n_levels)
    kept = np.isin(np.char.mod("level %03d", codes), pooled_apart(frame))
    for model, y in (
        (DecisionTreeRegressor(splitter=splitter), height[codes]),
        (DecisionTreeClassifier(splitter=splitter), height[codes] > 0),
        (DecisionTreeClassifier(splitter=splitter), np.digitize(height, [-0.5, 0.5])[codes]),
        (DecisionStump(splitter=splitter), height[codes] > 0),
    ):
        model.fit(frame, y)
        np.testing.assert_allclose(model.predict(frame)[kept].astype(float), y[kept].astype(float))
        unseen = pd.DataFrame({"c": pd.Categorical(["never seen", None])})
        assert len(set(model.predict(unseen))) == 1


def pooled_apart(frame: pd.DataFrame) -> list[str]:
    """The levels that are not pooled with others: all of up to 254, else the most frequent."""
    return frame["c"].value_counts().sort_index().sort_values(ascending=False, kind="stable").index[:254].tolist()


def test_categories_are_known_by_value() -> None:
    fitted_on = pd.DataFrame({"c": pd.Categorical(np.where(LABELS, "a", "b"))})
    model = DecisionTreeClassifier().fit(fitted_on, LABELS)
    other_codes = pd.DataFrame({"c": pd.Categorical(["b", "a", "z", None], ["z", "b", "a"])})
    predictions = model.predict(other_codes)
    assert predictions[:2].tolist() == [0, 1]
    assert predictions[2] == predictions[3]  # unseen is missing
    with pytest.warns(UserWarning, match="'c' held 'a' and the like in fit, now 1: no value is known"):
        model.predict(pd.DataFrame({"c": [1]}))


@pytest.mark.parametrize("weight", WEIGHTS)
@every_estimator
def test_equal_weights_change_nothing(cls: type[Any], weight: Any) -> None:
    y = target_of(cls)
    model, expected = cls().fit(X, y, sample_weight=weight), cls().fit(X, y)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_allclose(model.predict(X), expected.predict(X))
    np.testing.assert_allclose(model.tree_.impurity, expected.tree_.impurity, atol=1e-12)


@every_estimator
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    model, expected = cls().fit(X, y, sample_weight=weight), cls().fit(X[weight], y[weight])
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("decades", [6, 12, 20])
def test_weights_of_many_decades_give_the_best_split(decades: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        weight = 10.0 ** rng.permutation(np.linspace(-decades, decades, N))
        tree = DecisionTreeRegressor(max_depth=1).fit(X, VALUES, sample_weight=weight).tree_
        best = max(exact_score(weight, X[:, f] <= x) for f in range(3) for x in np.sort(X[:, f])[:-1])
        result = exact_score(weight, X[:, tree.feature[0]] <= tree.threshold[0])
        unsplit = exact_score(weight, np.ones(N, bool))
        assert best - result <= (best - unsplit) * Fraction(1, 10**12)


def exact_score(weight: Any, goes_left: Any) -> Fraction:
    """Sum of (sum of w y)^2 / (sum of w) over the two sides, without any rounding."""
    score = Fraction(0)
    for side in (goes_left, ~goes_left):
        w = [Fraction(value) for value in weight[side].tolist()]
        g = sum((a * Fraction(y) for a, y in zip(w, VALUES[side].tolist(), strict=True)), Fraction(0))
        score += g * g / sum(w) if w else 0
    return score


@pytest.mark.parametrize("scale", [2.0**-330, 2.0**-100, 2.0**100, 2.0**325])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_scale_of_the_target_does_not_matter(criterion: str, scale: float) -> None:
    y = np.abs(VALUES) + 0.1
    model = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y * scale)
    expected = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-9)


def test_targets_far_from_zero_are_split_as_those_near_it() -> None:
    steps = np.round(VALUES * 8)  # exact multiples of 1 / 8 stay exact beside 2**40
    near, far = (DecisionTreeRegressor(max_depth=3).fit(X, steps / 8 + offset) for offset in (0.0, 2.0**40))
    np.testing.assert_array_equal(near.tree_.threshold, far.tree_.threshold)


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


@pytest.mark.parametrize("n_values", [254, 255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("max_bins", [255, None], ids=["binned", "exact"])
def test_numbers_of_distinct_values(n_values: int, max_bins: int | None) -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(n_values).astype(np.float64)
    matrix = BinMapper(max_bins).fit_transform(x[:, np.newaxis])
    codes = matrix.codes[0].astype(np.int64)
    assert matrix.n_bins.tolist() == [n_values if max_bins is None else min(n_values, max_bins)]
    assert np.all(np.diff(codes[np.argsort(x)]) >= 0)
    assert np.all((matrix.lower[codes] <= x) & (x <= matrix.upper[codes]))
    assert np.bincount(codes).min() >= 1


def test_duplicated_rows_with_contradicting_labels() -> None:
    features, labels = np.repeat([[1.0], [2.0]], 4, axis=0), [0, 0, 0, 1, 1, 1, 0, 1]
    for cls in CLASSIFIERS:
        model = cls().fit(features, labels)
        assert model.predict_proba([[1.0], [2.0]]).tolist() == [[0.75, 0.25], [0.25, 0.75]]
        assert model.get_n_leaves() == 2


@every_estimator
def test_more_columns_than_anyone_needs(cls: type[Any]) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3, 20_000))
    for splitter in ("best", "binned"):
        model = cls(splitter=splitter).fit(wide, [0, 1, 0])
        assert model.predict(wide).tolist() == [0, 1, 0]
        assert model.feature_importances_.size == 20_000


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


# --- one estimator after another -------------------------------------------------------------------------------------


@every_estimator
def test_a_rejected_fit_or_a_pruning_path_leaves_a_fitted_tree_as_it_was(cls: type[Any]) -> None:
    frame, y = pd.DataFrame(X, columns=list("abc")), target_of(cls)
    model = cls().fit(frame, y)
    before, predictions = dict(vars(model)), model.predict(frame)
    with pytest.raises(ValueError, match="pass one"):
        model.fit(X[:, :2], y[1:])
    model.cost_complexity_pruning_path(pd.DataFrame(X[:, :2], columns=list("pq")), y)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(frame), predictions)


# --- exports, bins and trees from outside ----------------------------------------------------------------------------

BAD_EXPORTS = table(
    ("too few names", {"feature_names": ["a"]}, ValueError, "feature_names has 1 names, the tree needs 3"),
    ("a string of names", {"feature_names": "abc"}, TypeError, "feature_names must be a sequence of names, got 'abc'"),
    ("a number of names", {"feature_names": 3}, TypeError, "feature_names must be a sequence of names, got 3"),
    ("too many classes", {"class_names": list("xyz")}, ValueError, "class_names has 3 names|is for classifiers"),
    ("negative depth", {"max_depth": -1}, ValueError, "max_depth must be at least 0, got -1"),
    ("unknown", {"depth": 1}, TypeError, "unexpected keyword argument 'depth'"),
)
BAD_TEXT = table(
    ("no depth", {"max_depth": None}, "max_depth must be an integer of at least 0, got None"),
    ("half a depth", {"max_depth": 1.5}, "max_depth must be an integer of at least 0, got 1.5"),
    ("decimals", {"decimals": "2"}, "decimals must be an integer of at least 0, got '2'"),
    ("spacing", {"spacing": 2.5}, "spacing must be an integer of at least 1, got 2.5"),
)


@pytest.mark.parametrize(("arguments", "error", "text"), BAD_EXPORTS)
@pytest.mark.parametrize("export", [export_text, export_graphviz, plot_tree], ids=lambda f: f.__name__)
@every_estimator
def test_bad_arguments_of_exports(
    cls: type[Any], export: Callable[..., Any], arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        export(cls().fit(X, target_of(cls)), **arguments)


@pytest.mark.parametrize(("arguments", "text"), BAD_TEXT)
def test_bad_arguments_of_the_text(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        export_text(DecisionStump().fit(X, LABELS), **arguments)


def test_exports_reject_trees_of_others() -> None:
    for export in (export_text, export_graphviz, plot_tree):
        with pytest.raises(TypeError, match="expected a tree estimator of committee"):
            export(SklearnRegressor().fit(X, VALUES))


BAD_BINS = table(
    ("1-d", X[:, 0], {}, TypeError, "two-dimensional array of floats"),
    ("list", X.tolist(), {}, TypeError, "two-dimensional array of floats"),
    ("integers", np.ones((3, 1), int), {}, TypeError, "two-dimensional array of floats"),
    ("weights", X, {"sample_weight": np.ones(3)}, ValueError, "X has 40 rows, sample_weight has 3"),
    ("weights below zero", X, {"sample_weight": -np.ones(N)}, ValueError, "weights must be >= 0"),
    ("weights of zero", X, {"sample_weight": np.zeros(N)}, ValueError, "all weights are zero"),
    ("mask", X, {"is_categorical": np.ones(2, bool)}, ValueError, "but X has 3 columns"),
    ("codes too large", X * 0 + 255, {"is_categorical": np.ones(3, bool)}, ValueError, "whole numbers from 0 to 254"),
    ("codes below zero", X * 0 - 1, {"is_categorical": np.ones(3, bool)}, ValueError, "whole numbers from 0 to 254"),
    ("fractions", X * 0 + 0.5, {"is_categorical": np.ones(3, bool)}, ValueError, "whole numbers from 0 to 254"),
)


@pytest.mark.parametrize(("features", "arguments", "error", "text"), BAD_BINS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_bad_input_of_the_bin_mapper(
    max_bins: int | None, features: Any, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        BinMapper(max_bins).fit_transform(features, **arguments)


@pytest.mark.parametrize("max_bins", [1, 256, 2.5, "255", nan, True])
def test_bad_numbers_of_bins(max_bins: Any) -> None:
    with pytest.raises(ValueError, match="max_bins must be a whole number from 2 to 255, or None for exact codes"):
        BinMapper(max_bins)


BAD_TREES = table(
    ("flat value", lambda tree: {"value": tree.value[:, 0]}, "value must be a 2-dimensional array of float64"),
    ("feature as float", lambda tree: {"feature": tree.feature.astype(float)}, "feature must be .* of int32"),
    ("feature as list", lambda tree: {"feature": tree.feature.tolist()}, "feature must be .* of int32"),
    ("no nodes", lambda tree: {name: getattr(tree, name)[:0] for name in tree._fields}, "at least a root"),
    ("lengths", lambda tree: {"gain": tree.gain[1:]}, "gain has 6 entries for 7 nodes"),
    ("cycle", lambda tree: {"left": np.where(tree.left > 0, 0, -1).astype(np.int32)}, "a child stands before"),
    ("outside", lambda tree: {"left": np.where(tree.left > 0, 6, -1).astype(np.int32)}, "a child lies outside"),
    ("feature 9", lambda tree: {"feature": np.where(tree.left > 0, 9, -1).astype(np.int32)}, r"feature outside 0..2"),
    ("nan threshold", lambda tree: {"threshold": tree.threshold * nan}, "no finite threshold"),
    ("nan value", lambda tree: {"value": tree.value * nan}, "value is not finite everywhere"),
    ("negative weight", lambda tree: {"weight": -tree.weight}, "negative weight or number of rows"),
    ("category set", lambda tree: {"category_set": np.zeros(7, np.int32)}, "points outside the category sets"),
)


@pytest.mark.parametrize(("change", "text"), BAD_TREES)
def test_bad_trees_are_rejected(change: Callable[..., dict[str, Any]], text: str) -> None:
    tree = DecisionTreeRegressor(max_depth=2).fit(X, VALUES).tree_.arrays
    assert check_tree(tree, 3).n_nodes == 7
    with pytest.raises(InvalidTreeError, match=text):
        check_tree(tree._replace(**change(tree)), 3)
