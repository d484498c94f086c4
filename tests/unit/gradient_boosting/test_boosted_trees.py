"""Trees as boosting keeps them: grown on quantised gradients, leaves by loss, stacked, walked again by values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from committee.gradient_boosting.trees import (
    GrownTree,
    TreeGrower,
    TreePlan,
    TreeStack,
    all_rows,
    max_leaves,
    number_of_rows,
    quantile_values,
)
from committee.kernels.boosting.leaves import sum_leaves
from committee.losses.loss import NO_WEIGHTS
from committee.losses.regression import REGRESSION_LOSSES
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints
from committee.records.tree import LEAF
from committee.tree_engine.predict.boosted import PackedSum, add_scores

PLAN = TreePlan(
    max_leaf_nodes=8, max_depth=30, min_samples_leaf=3, min_hessian=0.0, min_gain=0.0, l1=0.0, l2=0.0, max_features=4,
    category_smoothing=0.0, category_rows=0.0, category_penalty=0.0, second_order=True,
)  # fmt: skip


def make_table(n: int, seed: int = 0, with_sets: bool = True) -> tuple[BinnedMatrix, NDArray[np.float64]]:
    """Codes, and values with these codes: the code itself, or nan."""
    rng = np.random.default_rng(seed)
    n_bins = np.array([6, 12, 5, 3])
    codes = rng.integers(0, n_bins + np.array([1, 0, 1, 0]), (n, 4)).astype(np.uint8).T.copy()
    X = np.where(codes.T == n_bins, np.nan, codes.T.astype(float))
    offsets = np.append(0, np.cumsum(n_bins))
    edges = np.concatenate([np.arange(k, dtype=float) for k in n_bins])
    is_set = np.array([False, False, with_sets, with_sets])
    return BinnedMatrix(codes, n_bins, offsets, edges, edges, is_set), X


def grow_one(grower: TreeGrower, stack: TreeStack, n: int) -> GrownTree:
    nodes, value, sums = stack.room()
    rows = all_rows(n)
    n_nodes = grower.grow(rows, nodes, None)
    value[:n_nodes] = np.where(nodes["left"][:n_nodes] == LEAF, np.arange(n_nodes) + 1.0, 0.0)
    return GrownTree(nodes[:n_nodes], rows, value[:n_nodes], sums[:n_nodes])


@pytest.mark.parametrize("with_sets", [False, True])
def test_a_stack_predicts_what_growth_said(with_sets):
    """More trees than a chunk holds: each row's leaves by its values are those by its codes and by the partition."""
    n = 150
    matrix, X = make_table(n, with_sets=with_sets)
    rng = np.random.default_rng(1)
    grower = TreeGrower(matrix, Constraints.none(4), PLAN, NO_WEIGHTS)
    stack = TreeStack(matrix, grower.histograms.max_nodes)
    n_trees = stack.capacity + 3
    expected = np.zeros((n, 2))
    for t in range(n_trees):
        g, h = rng.normal(size=n), rng.exponential(size=n)
        grower.prepare(g, h, abs(g).sum(), h.sum(), False)
        tree = grow_one(grower, stack, n)
        assert tree.nodes.size > 1
        placed = grower.place(tree.nodes)
        for i in np.flatnonzero(tree.nodes["left"] == LEAF):
            start, size = tree.nodes["start"][i], tree.nodes["n"][i]
            assert (placed[tree.rows[start : start + size]] == i).all()
        expected[:, t % 2] += tree.value[placed]
        stack.keep(tree.nodes.size, t % 2, False)
    trees = stack.trees()
    assert trees.n_trees == n_trees
    result = np.zeros((n, 2))
    add_scores(PackedSum(trees), X, result, 1)
    np.testing.assert_array_equal(result, expected)
    more = TreeStack(matrix, grower.histograms.max_nodes, trees).trees()  # a warm start begins with what there is
    assert more.n_trees == n_trees


@pytest.mark.parametrize("kind", ["none", "whole", "fractional"])
@pytest.mark.parametrize("is_first_order", [False, True])
def test_prepare_keeps_the_sums_in_31_bits_and_their_units(kind, is_first_order):
    n = 400
    matrix, _ = make_table(n)
    rng = np.random.default_rng(2)
    weight = {"none": NO_WEIGHTS, "whole": rng.integers(1, 5, n).astype(float), "fractional": rng.exponential(size=n)}[
        kind
    ]
    w = weight if weight.size else np.ones(n)
    g, h = rng.normal(size=n) * 1e5, np.ones(n) if is_first_order else rng.exponential(size=n) * 1e-7
    plan = PLAN._replace(min_hessian=float((w * h).sum()) / 7.0)
    grower = TreeGrower(matrix, Constraints.none(4), plan, weight)
    grower.prepare(g, h, (w * abs(g)).sum(), (w * h).sum(), is_first_order)
    low = grower.amounts & 0xFFFFFFFF
    high = (grower.amounts - low) >> 32
    assert abs(high).sum() < 2**31
    assert low.sum() < 2**31
    rules = grower.rules[0]
    np.testing.assert_allclose(high * rules["g_unit"], w * g, atol=rules["g_unit"] * w.max())
    np.testing.assert_allclose(low * rules["h_unit"], w * h, atol=rules["h_unit"] * w.max())
    assert rules["min_weight_leaf"] * rules["h_unit"] == pytest.approx(plan.min_hessian, abs=rules["h_unit"])
    is_counted = is_first_order and kind != "fractional"
    assert bool(rules["unit_weights"]) == is_counted
    if is_counted:
        np.testing.assert_array_equal(low, w)


def test_weights_of_nodes_are_those_of_their_rows():
    n = 90
    matrix, _ = make_table(n)
    rng = np.random.default_rng(3)
    weight = rng.exponential(size=n)
    grower = TreeGrower(matrix, Constraints.none(4), PLAN, weight)
    stack = TreeStack(matrix, grower.histograms.max_nodes)
    g, h = rng.normal(size=n), np.ones(n)
    grower.prepare(g, h, (weight * abs(g)).sum(), weight.sum(), True)
    tree = grow_one(grower, stack, n)
    sum_leaves(tree.nodes, tree.nodes.size, tree.rows, g, h, weight, tree.sums)
    stack.keep(tree.nodes.size, 0, True)
    trees = stack.trees()
    assert trees.weight[0] == pytest.approx(weight.sum())
    leaf = grower.place(tree.nodes)
    for i in np.flatnonzero(trees.left == LEAF):
        assert trees.weight[i] == pytest.approx(weight[leaf == i].sum())
        assert trees.n_samples[i] == (leaf == i).sum()


PINBALL = {"absolute_error": 0.5, "quantile": 0.8}


@pytest.mark.parametrize("name", ["absolute_error", "quantile", "huber"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_quantile_values_minimise_the_loss_of_the_leaf(name, is_weighted):
    n, rate = 120, 0.3
    matrix, _ = make_table(n)
    rng = np.random.default_rng(4)
    y, score = rng.standard_t(2.0, n), rng.normal(size=n)
    weight = rng.exponential(size=n) if is_weighted else NO_WEIGHTS
    w = weight if is_weighted else np.ones(n)
    grower = TreeGrower(matrix, Constraints.none(4), PLAN, weight)
    g, h = np.sign(y - score), np.ones(n)
    grower.prepare(g, h, w.sum(), w.sum(), True)
    tree = grow_one(grower, TreeStack(matrix, grower.histograms.max_nodes), n)
    loss = REGRESSION_LOSSES[name]._replace(parameter=PINBALL.get(name, 0.7))
    bounded = int(np.flatnonzero(tree.nodes["left"] == LEAF)[0])
    tree.nodes["lower"][bounded], tree.nodes["upper"][bounded] = 5.0, 6.0
    quantile_values(tree, loss, y, score, weight, rate)
    assert tree.value[bounded] == pytest.approx(rate * 5.0)
    for i in range(tree.nodes.size):
        if tree.nodes["left"][i] != LEAF:
            assert tree.value[i] == 0.0
        elif i != bounded:
            rows = tree.rows[tree.nodes["start"][i] : tree.nodes["start"][i] + tree.nodes["n"][i]]
            r, u = (y - score)[rows], w[rows]
            check_minimum(name, loss.parameter, r, u, tree.value[i] / rate)


def check_minimum(name: str, p: float, r: NDArray, w: NDArray, result: float) -> None:
    def loss(v: float) -> float:
        e = r - v
        if name == "huber":
            return float(np.sum(w * np.where(abs(e) <= p, e * e / 2, p * (abs(e) - p / 2))))
        return float(np.sum(w * np.where(e > 0, p * e, (p - 1.0) * e)))

    kinks = min(loss(v) for v in r)
    best = minimize_scalar(loss, bounds=(r.min() - 1.0, r.max() + 1.0), method="bounded", options={"xatol": 1e-10})
    assert loss(result) <= min(kinks, best.fun) + 1e-12 * (1.0 + kinks)


def test_numbers_of_rows_and_leaves():
    assert number_of_rows(5, NO_WEIGHTS) == 5
    assert number_of_rows(3, np.array([1.0, 0.0, 4.0])) == 5
    assert number_of_rows(3, np.array([1.0, 0.5, 4.0])) == 3
    assert max_leaves(PLAN, 1000) == 8
    assert max_leaves(PLAN._replace(max_depth=2), 1000) == 4
    assert max_leaves(PLAN, 12) == 5  # of three rows each, and one to spare
    assert max_leaves(PLAN, 1) == 2


def test_monotone_constraints_bound_the_leaves():
    """Every pair of rows that differ in the constrained feature alone; more than one split along it is taken."""
    n = 300
    matrix, X = make_table(n, with_sets=False)
    rng = np.random.default_rng(5)
    g, h = 3.0 + matrix.codes[1] / 4.0 + np.sin(matrix.codes[0]) + rng.normal(size=n), np.ones(n)
    constraints = Constraints.none(4)._replace(monotone=np.array([0, 1, 0, 0]))
    grower = TreeGrower(matrix, constraints, PLAN._replace(max_leaf_nodes=12), NO_WEIGHTS)
    grower.prepare(g, h, abs(g).sum(), float(n), True)
    stack = TreeStack(matrix, grower.histograms.max_nodes)
    tree = grow_one(grower, stack, n)
    assert (tree.nodes["feature"][tree.nodes["left"] != LEAF] == 1).sum() > 1
    leaf = grower.place(tree.nodes)
    for i in np.flatnonzero(tree.nodes["left"] == LEAF):
        mean = g[leaf == i].mean()
        assert tree.nodes["lower"][i] - 1e-6 <= mean <= tree.nodes["upper"][i] + 1e-6
        tree.value[i] = mean
    stack.keep(tree.nodes.size, 0, False)
    packed = PackedSum(stack.trees())
    scores = np.zeros((12, n, 1))
    for code in range(12):
        table = X.copy()
        table[:, 1] = code
        add_scores(packed, table, scores[code], 1)
    assert (np.diff(scores, axis=0) >= -1e-9).all()
