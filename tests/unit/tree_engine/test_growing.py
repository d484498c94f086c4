"""`grow`: what must not change the tree, and what the audit of random trees does not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from committee import DecisionTreeRegressor
from committee.records.tree import Tree
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import free_limits, grow
from committee.tree_engine.response import class_response, value_response
from tests.naive.compare import compare_trees
from tests.unit.tree_engine.test_growing_audit import CRITERIA, exact_codes, grow_tree, make_problem

SPLITS = ("feature", "threshold", "missing_left", "gain", "n_samples")


def differences(a: Tree, b: Tree) -> list[str]:
    """Splits to the last bit; values are summed up in another order of the nodes, hence 1e-12."""
    exact = compare_trees(a, b, tol=0.0).differences
    return [line for line in exact if any(f": {name}" in line for name in SPLITS)] + compare_trees(
        a, b, tol=1e-12
    ).differences


@pytest.mark.parametrize("kind", ["exact", "binned", "one feature", "random"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_kernel_call_or_two_tiers_grow_the_same_tree(
    criterion: str, kind: str, set_subtree_rows: Callable[[int], None]
) -> None:
    changes: dict[str, Any] = {"one feature": {"max_features": 1}, "random": {"random_splits": True}}.get(kind, {})
    for seed in range(8):
        problem = make_problem(seed, criterion, n_rows=(66, 250))
        is_categorical = problem.options["is_categorical"]
        binned = BinMapper(40).fit_transform(problem.X, problem.w, is_categorical)
        matrix = binned if kind == "binned" else exact_codes(problem)
        set_subtree_rows(4096)
        small = grow_tree(problem, matrix, seed, **changes)
        set_subtree_rows(64)
        large = grow_tree(problem, matrix, seed, **changes)
        assert differences(small, large) == [], seed


@pytest.mark.parametrize(("criterion", "seed"), [("squared_error", 138), ("newton", 22)])
def test_tiers_agree_on_missing_values_under_monotone_constraints(
    criterion: str, seed: int, set_subtree_rows: Callable[[int], None]
) -> None:
    """ "Missing | present" with the sides exchanged is no split of its own, whatever bins of a node are empty."""
    problem = make_problem(seed, criterion, n_rows=(66, 200))
    set_subtree_rows(4096)
    small = grow_tree(problem, exact_codes(problem), seed)
    set_subtree_rows(64)
    assert differences(small, grow_tree(problem, exact_codes(problem), seed)) == []


def test_a_row_without_weight_opens_no_new_split() -> None:
    """The value 0 of the row without weight is an empty bin: "missing left, all values right" must not appear."""
    x = np.concatenate([np.repeat([1.0, 2.0], 2000), np.full(2000, np.nan)])
    y = np.concatenate([np.tile([5.0, 6.0], 2000), np.tile([0.0, 1.0], 1000)])
    tree = DecisionTreeRegressor(monotonic_cst=[1], max_depth=1)
    alone = tree.fit(x[:, None], y).tree_.arrays
    w = np.append(0.0, np.ones(6000))
    with_it = tree.fit(np.append(0.0, x)[:, None], np.append(9.0, y), sample_weight=w).tree_.arrays
    np.testing.assert_array_equal(with_it.threshold, alone.threshold)
    np.testing.assert_array_equal(with_it.gain, alone.gain)


@pytest.mark.parametrize("kind", ["exact", "binned"])
def test_the_order_of_rows_does_not_matter(kind: str, set_subtree_rows: Callable[[int], None]) -> None:
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(300, 4)), 1), rng.normal(size=300)
    X[rng.random(X.shape) < 0.1] = np.nan
    order = rng.permutation(300)
    for n_rows in (4096, 64):
        set_subtree_rows(n_rows)
        trees = []
        for rows in (np.arange(300), order):
            matrix = BinMapper(None if kind == "exact" else 32).fit_transform(X[rows])
            response = value_response(np.round(y[rows], 2), np.ones(300), "squared_error")
            trees.append(grow(matrix, response, free_limits(4, True)))
        assert differences(*trees) == []


def test_the_seed_matters_only_for_draws() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    matrix, response = BinMapper(None).fit_transform(X), class_response(y, 3, np.ones(200), "gini")
    limits = free_limits(5, True)
    assert differences(grow(matrix, response, limits, seed=1), grow(matrix, response, limits, seed=2)) == []
    drawn = limits._replace(max_features=2)
    assert differences(grow(matrix, response, drawn, seed=1), grow(matrix, response, drawn, seed=1)) == []
    assert differences(grow(matrix, response, drawn, seed=1), grow(matrix, response, drawn, seed=2)) != []


def test_grow_changes_none_of_its_arguments(set_subtree_rows: Callable[[int], None]) -> None:
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(300, 3)), rng.normal(size=300), rng.random(300)
    matrix, response = BinMapper(None).fit_transform(X), value_response(y, w, "absolute_error")
    arrays = [array for array in (*matrix, *response) if isinstance(array, np.ndarray)]
    before = [array.copy() for array in arrays]
    for n_rows in (4096, 64):
        set_subtree_rows(n_rows)
        grow(matrix, response, free_limits(3, False))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
