"""Trees: rows are shared out without loss, weights are repetition, and the form of the input changes nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from committee import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from committee.records.tree import Tree, check_tree
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import free_limits, grow
from committee.tree_engine.predict.apply import apply_tree, decision_path
from committee.tree_engine.response import class_response, value_response
from tests.naive.compare import compare_trees, gain_margins
from tests.naive.traverse import naive_apply

Floats = NDArray[np.float64]

CLASSES = ["gini", "entropy"]
NUMBERS = ["squared_error", "poisson", "absolute_error"]


class Data(NamedTuple):
    X: Floats
    y: NDArray[Any]
    times: NDArray[np.int64]
    is_categorical: NDArray[np.bool_]


@st.composite
def tables(draw: st.DrawFn, criterion: str, max_rows: int = 60, n_categories: int = 0) -> Data:
    """A few columns of few or many values, some missing; hypothesis draws the shape, a seed the numbers."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, d))
    digits = draw(st.sampled_from([0, 1, None]))
    X = X if digits is None else np.round(X, digits)
    is_categorical = np.zeros(d, bool)
    if n_categories:
        is_categorical = rng.random(d) < 0.6
        X[:, is_categorical] = rng.integers(0, n_categories, (n, int(is_categorical.sum())))
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y = random_target(rng, criterion, n, draw(st.booleans()))
    times = rng.integers(0, 4, n)
    times[np.unique(y, return_index=True)[1] if criterion in CLASSES else rng.integers(n)] = (
        2  # no class without weight
    )
    return Data(X.astype(np.float32).astype(np.float64), y, times, is_categorical)


def random_target(rng: np.random.Generator, criterion: str, n: int, is_smooth: bool) -> NDArray[Any]:
    if criterion in CLASSES:
        return rng.integers(0, 4 if is_smooth else 2, n)
    if criterion == "poisson":  # sixteenths: of targets closer than that, rounding leaves no gain to compare
        return rng.poisson(2.0, n) + rng.integers(1, 17, n) / 16 if is_smooth else rng.poisson(2.0, n) + 1.0
    return rng.normal(size=n) if is_smooth else rng.integers(-3, 4, n).astype(float)


def grow_tree(data: Data, criterion: str, weight: Floats, max_bins: int | None) -> Tree:
    if criterion in CLASSES:
        response = class_response(data.y, int(data.y.max()) + 1, weight, criterion)
    else:
        response = value_response(data.y, weight, criterion)
    matrix = BinMapper(max_bins).fit_transform(data.X, weight, data.is_categorical)
    limits = free_limits(data.X.shape[1], response.unit_weights)
    return check_tree(grow(matrix, response, limits), data.X.shape[1])


def model_of(criterion: str) -> type[Any]:
    return DecisionTreeClassifier if criterion in CLASSES else DecisionTreeRegressor


def assert_same_tree(a: Tree, b: Tree) -> None:
    for name in a._fields:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


# --- partition -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bins", [None, 4])
@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
@settings(max_examples=40)
@given(st.data())
def test_rows_are_distributed_without_loss(criterion: str, max_bins: int | None, data: st.DataObject) -> None:
    table = data.draw(tables(criterion, n_categories=data.draw(st.sampled_from([0, 5]))))
    weight = table.times.astype(float)
    tree = grow_tree(table, criterion, weight, max_bins)
    paths = decision_path(tree, table.X).toarray().astype(bool)  # [row, node]
    assert paths[:, 0].all()
    for node in np.flatnonzero(~tree.is_leaf):
        left, right = paths[:, tree.left[node]], paths[:, tree.left[node] + 1]
        np.testing.assert_array_equal(paths[:, node], left ^ right)
        np.testing.assert_array_equal(left & right, False)
    np.testing.assert_array_equal(paths[weight > 0].sum(axis=0), tree.n_samples)
    np.testing.assert_allclose(weight @ paths, tree.weight, rtol=1e-15)
    leaves = apply_tree(tree, table.X)
    np.testing.assert_array_equal(np.argmax(paths & tree.is_leaf, axis=1), leaves)


@pytest.mark.parametrize("max_bins", [None, 4])
@settings(max_examples=40)
@given(st.data())
def test_rows_find_the_leaf_of_the_twin(max_bins: int | None, data: st.DataObject) -> None:
    """Rows never seen, on thresholds, with missing values and with categories that no node knows."""
    table = data.draw(tables("squared_error", n_categories=data.draw(st.sampled_from([0, 5]))))
    tree = grow_tree(table, "squared_error", np.ones(len(table.X)), max_bins)
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, table.X.shape[1])), 1)
    X[:, table.is_categorical] = rng.integers(0, 9, (50, int(table.is_categorical.sum())))
    X[rng.random(X.shape) < 0.1] = np.nan
    numeric = np.flatnonzero(tree.category_set < 0)
    for node in numeric[~tree.is_leaf[numeric]]:
        X[rng.integers(50), tree.feature[node]] = tree.threshold[node]
    for rows in (table.X, X):
        np.testing.assert_array_equal(apply_tree(tree, rows), naive_apply(tree, rows))
        np.testing.assert_array_equal(apply_tree(tree, np.asfortranarray(rows)), naive_apply(tree, rows))
        single = np.clip(rows, -1e38, 1e38).astype(np.float32)  # the threshold of "all values | missing" is 1.8e308
        np.testing.assert_array_equal(apply_tree(tree, single), naive_apply(tree, single.astype(np.float64)))


# --- weights ---------------------------------------------------------------------------------------------------------


def assert_same_splits(a: Tree, b: Tree, are_ties_settled: bool = True) -> None:
    """The same splits; values to 1e-9, because their sums have other terms.

    Class weights are small integers, so that even splits that tie are settled alike. A split and its mirror image gain
    the same up to the rounding of targets: there the trees may differ below a tie.
    """
    margins = None if are_ties_settled else gain_margins(a, b)
    result = compare_trees(a, b, margins, tol=1e-9)
    assert result.differences == []


def without_counts(tree: Tree) -> Tree:
    """Rows are counted as they come, and missing values go to the side of more rows at nodes that saw none."""
    return tree._replace(n_samples=np.zeros_like(tree.n_samples), missing_left=np.zeros_like(tree.missing_left))


@pytest.mark.parametrize("splitter", ["best", "binned", "random"])
@pytest.mark.parametrize("criterion", CLASSES + NUMBERS)
@settings(max_examples=40)
@given(st.data())
def test_integer_weights_are_repeated_rows(criterion: str, splitter: str, data: st.DataObject) -> None:
    X, y, times, _ = data.draw(tables(criterion))
    model = model_of(criterion)(criterion=criterion, splitter=splitter, max_bins=8, random_state=0)
    weighted = without_counts(model.fit(X, y, sample_weight=times).tree_.arrays)
    repeated = without_counts(model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).tree_.arrays)
    assert_same_splits(weighted, repeated, are_ties_settled=criterion in CLASSES)


@pytest.mark.parametrize("criterion", CLASSES + NUMBERS)
@settings(max_examples=20)
@given(st.data())
def test_the_scale_of_weights_does_not_matter(criterion: str, data: st.DataObject) -> None:
    X, y, times, _ = data.draw(tables(criterion))
    model = model_of(criterion)(criterion=criterion)
    one = model.fit(X, y, sample_weight=times).tree_.arrays
    other = model.fit(X, y, sample_weight=times * 0.125).tree_.arrays
    assert_same_splits(one, other._replace(weight=8 * other.weight), are_ties_settled=criterion == "gini")


@pytest.mark.parametrize("splitter", ["best", "binned", "random"])
@pytest.mark.parametrize("criterion", CLASSES + NUMBERS)
@settings(max_examples=20)
@given(st.data())
def test_rows_of_no_weight_count_for_nothing(criterion: str, splitter: str, data: st.DataObject) -> None:
    """Not even the rounding changes: the tree is the same in every number."""
    X, y, times, _ = data.draw(tables(criterion))
    kept = times > 0
    model = model_of(criterion)(criterion=criterion, splitter=splitter, max_bins=8, random_state=0)
    with_them = model.fit(X, y, sample_weight=times).tree_.arrays
    without = model.fit(X[kept], y[kept], sample_weight=times[kept]).tree_.arrays
    assert_same_tree(with_them, without)


# --- bins ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CLASSES + NUMBERS)
@settings(max_examples=30)
@given(st.data())
def test_few_distinct_values_make_binned_splits_exact(criterion: str, data: st.DataObject) -> None:
    """At most 60 rows: every distinct value has a bin of its own, and the trees are the same in every number."""
    table = data.draw(tables(criterion, n_categories=data.draw(st.sampled_from([0, 4]))))
    weight = table.times.astype(float)
    assert_same_tree(grow_tree(table, criterion, weight, None), grow_tree(table, criterion, weight, 255))


# --- the form of the input -------------------------------------------------------------------------------------------


def forms(X: Floats) -> dict[str, Any]:
    """The same table in other clothes; its values are float32 numbers."""
    named = {f"c{f}": X[:, f] for f in range(X.shape[1])}
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "float32": X.astype(np.float32),
        "F order": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "read-only": read_only,
        "big-endian": X.astype(">f8"),
        "object": X.astype(object),
        "pandas": pd.DataFrame(named),
        "pandas float32": pd.DataFrame(named).astype(np.float32),
        "polars": pl.DataFrame(named),
        "arrow": pa.table(named),
        "list": X.tolist(),
    }


@pytest.mark.parametrize("splitter", ["best", "binned"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@settings(max_examples=15)
@given(st.data())
def test_the_form_of_the_input_does_not_matter(criterion: str, splitter: str, data: st.DataObject) -> None:
    X, y, _, _ = data.draw(tables(criterion))
    model = model_of(criterion)(splitter=splitter, max_bins=6)
    reference = model.fit(X, y)
    tree, predictions = reference.tree_.arrays, reference.predict(X)
    for name, form in forms(X).items():
        model = model_of(criterion)(splitter=splitter, max_bins=6).fit(form, y)
        assert_same_tree(model.tree_.arrays, tree)
        np.testing.assert_array_equal(model.predict(form), predictions, err_msg=name)


@settings(max_examples=25)
@given(st.data())
def test_a_stump_errs_least(data: st.DataObject) -> None:
    """No threshold with either polarity, and no constant answer, has a smaller weighted error."""
    X, y, times, _ = data.draw(tables("gini", max_rows=30))
    X, y = np.nan_to_num(X), (y > 0).astype(np.int64)
    if np.unique(y).size < 2:
        return
    stump = DecisionStump().fit(X, y, sample_weight=times)
    w = times / times.sum()
    errors = [w @ (y != constant) for constant in (0, 1)]
    for f in range(X.shape[1]):
        for t in X[:, f]:
            wrong = float(w @ ((X[:, f] > t) != y))
            errors += [wrong, 1 - wrong]
    assert stump.error_ == pytest.approx(min(errors), abs=1e-12)
    assert w @ (stump.predict(X) != y) == pytest.approx(stump.error_, abs=1e-12)
