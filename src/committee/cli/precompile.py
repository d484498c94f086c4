"""Compile and cache every kernel, so that the first fit does not wait for the compiler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import ROW
from committee.base.kernel_cache import NOTICE_GIVEN, remove_stale_caches
from committee.explain.node_permutation import node_permutation
from committee.explain.oob_forest import OobForest
from committee.explain.oob_permutation import oob_permutation
from committee.gradient_boosting.trees import (
    GrownTree,
    TreeGrower,
    TreePlan,
    TreeStack,
    newton_values,
    quantile_values,
)
from committee.kernels.boosting import leaves
from committee.kernels.boosting.row_weights import multiply_weights, tally_votes
from committee.kernels.mixture import em as mixtures
from committee.kernels.svm import gram, smo
from committee.kernels.svm.dual_descent import DualProblem, DualState, descend
from committee.kernels.svm.linear_rows import CostRows, measure_rows
from committee.losses.classification import EXPONENTIAL, LOG_LOSS
from committee.losses.derivatives import Derivatives
from committee.losses.regression import REGRESSION_LOSSES
from committee.members.member import TreeMember
from committee.members.vote import pack_members, score_packed
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import free_limits, grow
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.predict.boosted import PackedSum, add_scores
from committee.tree_engine.predict.forest import add_predictions, pack_forest
from committee.tree_engine.response import class_response, value_response
from committee.tree_engine.stumps import StumpSearch
from committee.tree_engine.subtrees import SUBTREE_ROWS
from committee.trees.pruning import cross_validate, pruning_path


def warmup(echo: Callable[[str], None] | None = None) -> float:
    """Run every kernel once on a toy table; return the CPU seconds it took."""
    began = time.process_time()
    NOTICE_GIVEN.set()  # the notice is for compilations that were not requested
    echo = echo or (lambda _: None)
    rng = np.random.default_rng(0)
    n = SUBTREE_ROWS + 1  # some kernels are only for nodes of many rows
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    weight = np.ones(n)
    limits = free_limits(3, True)._replace(max_depth=6)
    echo("binning")
    exact, binned = BinMapper(None).fit_transform(X), BinMapper(16).fit_transform(X)
    codes = np.clip(np.floor(2 + X), 0, 4)
    category = BinMapper(None).fit_transform(codes, None, np.ones(3, bool))
    echo("growing trees")
    trees = [grow(exact, value_response(y, weight, name), limits) for name in ("squared_error", "absolute_error")]
    trees.append(grow(exact, class_response((y > 0).astype(np.int64), 2, weight, "gini"), limits))
    grow(binned, value_response(y, weight, "squared_error"), limits)
    grow(exact, value_response(y, weight, "squared_error"), limits._replace(max_features=2))
    echo("predictions of trees")
    for table in (X, X.astype(np.float32)):
        apply_tree(trees[0], table)
    apply_tree(grow(category, value_response(y, weight, "squared_error"), limits), codes)
    for table in (X, X.astype(np.float32), X[:1]):
        add_predictions(pack_forest(trees[:1]), table, np.zeros((len(table), 1)), None)
    rows = np.arange(n)
    echo("importances")
    for table in (X, X.astype(np.float32)):
        forest = OobForest(trees[:1], pack_forest(trees[:1]), [rows[: n // 3]], table, y, weight, 0)
        oob_permutation(forest, [[0]])
        node_permutation(forest, [[0]], None)
    echo("pruning trees")
    cross_validate(
        pruning_path(trees[0]), X, y, weight, [(rows, rows)], lambda _: trees[0], lambda t: t.value[:, 0].copy(),
        "squared_error",
    )  # fmt: skip
    echo("boosting stumps")
    _warm_stumps((exact, binned), X, y)
    echo("gradient boosting")
    _warm_gradient_boosting(binned, X, y)
    _warm_gradient_boosting(BinMapper(16).fit_transform(codes, None, np.ones(3, bool)), codes, y)
    echo("linear SVMs")
    slope, kept = np.zeros(3), np.empty(n, np.uint8)
    measure_rows(CostRows(X, y, weight, weight, 0.0), slope, 0.0, np.empty(n), np.empty(n), np.zeros(4))
    dual = DualProblem(X, y, -weight, weight, np.zeros(n), weight, 0.0)
    descend(dual, DualState(np.zeros(n), slope, np.zeros(2)), rows, np.inf, kept)
    echo("kernel SVMs")
    _warm_kernel_svms()
    echo("mixtures of experts")
    _warm_mixtures()
    remove_stale_caches()
    return time.process_time() - began


def _warm_stumps(matrices: Iterable[BinnedMatrix], X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    n = y.size
    labels, weight = np.where(y > 0, np.int8(1), np.int8(-1)), np.full(n, 1.0 / n)
    for matrix in matrices:
        search = StumpSearch(matrix, None)
        stump = search.find(labels, weight)
        _, sums = search.divide(stump, labels, weight)
        packed = pack_members([TreeMember(search.as_tree(stump, sums), np.array([1, -1, 1], np.int8))], [1.0], 2)
        if packed is not None:
            score_packed(packed, X, None)
    multiply_weights(weight, labels, np.array([1.0, 2.0]))
    for predictions in (labels, labels.astype(np.float64)):
        tally_votes(1.0, predictions, labels, weight, np.zeros(n), np.empty(2))


def _warm_gradient_boosting(matrix: BinnedMatrix, X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """One tree for each of three classes, on weighted rows, a part of them left out."""
    n = y.size
    labels, weight = np.digitize(y, [-1.0, 1.0]), np.full(n, 2.0)
    plan = TreePlan(3, 4, 2, 1e-3, 0.0, 0.0, 1.0, 3, 10.0, 10.0, 0.7, True)
    grower = TreeGrower(matrix, Constraints.none(3), plan, weight)
    stack = TreeStack(matrix, 5)
    EXPONENTIAL.value(y)
    Derivatives((REGRESSION_LOSSES["squared_error"],), y, weight, False).update(np.zeros((1, n)))
    derivatives = Derivatives((LOG_LOSS,) * 3, labels, weight, True)
    derivatives.update(np.zeros((3, n)))
    for k in range(3):
        grower.prepare(derivatives.g[k], derivatives.h[k], *derivatives.sizes[k], False)
        nodes, value, weights = stack.room()
        rows = np.arange(n - 1, dtype=ROW)
        n_nodes = grower.grow(rows, nodes, None)
        grown = GrownTree(nodes[:n_nodes], rows, value[:n_nodes])
        newton_values(grown, LOG_LOSS, derivatives.g[k], derivatives.h[k], weight, plan, 0.1)
        quantile_values(grown, REGRESSION_LOSSES["absolute_error"], y, y, weight, 0.1)
        leaves.add_leaf_steps(grown.nodes, n_nodes, rows, grown.value, np.zeros(n))
        leaves.sum_leaf_weights(grown.nodes, n_nodes, rows, weight, weights)
        grower.place(grown.nodes)
        stack.keep(n_nodes, k)
    for table in (X, X.astype(np.float32)):
        add_scores(PackedSum(stack.trees()), table, np.zeros((n, 3)), None)
        add_scores(PackedSum(stack.trees()), table[:1], np.zeros((1, 3)), None)


def _warm_mixtures() -> None:
    score, y, weight = np.zeros((2, 4)), np.zeros(4, np.int64), np.ones(4)
    scratch, a, b = np.empty((2, mixtures.BLOCK)), np.empty((2, 4)), np.empty((2, 4))
    mixtures.log_softmax(score, scratch)
    mixtures.compute_responsibilities(score, score, weight, 1.0, a, np.empty(4), scratch)
    mixtures.log_sigmoid(score, y)
    mixtures.logistic_slopes(score, y, a, b, a.copy())
    mixtures.softmax_slopes(score, a, weight, b, a.copy())
    mixtures.weigh_rows(np.ones((4, 3)), score, 0, 4, np.empty((4, 2, 3)))


def _warm_kernel_svms() -> None:
    """Blocks of Gram matrices and SMO, in both precisions."""
    places, y = np.arange(4), np.array([1.0, -1.0, 1.0, -1.0])
    for dtype in (np.float32, np.float64):
        block, halves, cache = np.zeros((4, 4), dtype), np.zeros(4, dtype), np.zeros((4, 8), dtype)
        gram.subtract_distances(block, block, np.zeros((4, 4), dtype))
        gram.copy_rows(block, cache, places, 0)
        if dtype == np.float32:
            gram.raise_two(block, halves, halves)
            gram.raise_two_into(block, halves, halves, cache, places, 0)
            gram.copy_rows(np.zeros((4, 4)), cache, places, 0)
        else:
            gram.raise_e(block, halves, halves)
        problem = smo.BlockProblem(np.eye(4, dtype=dtype), np.ones(4, dtype), y, np.ones(4), 4)
        smo.solve_block(problem, np.zeros(4), (-y).astype(dtype), 1e-3, 100, np.empty((5, 4), dtype))
        smo.add_rows(np.zeros(8), cache, places, halves, 0, 8, np.empty(4, dtype))
    variables = smo.Variables(places, np.zeros(4), y, np.zeros(4), np.ones(4))
    smo.check_kkt(np.zeros(4), variables, np.empty(4), np.empty(4), np.empty(4))
    buckets, counts = np.empty(4, np.int32), np.empty(smo.N_BUCKETS, np.int32)
    smo.choose_extremes(np.zeros(4), np.zeros(4), np.float64(0.0), np.float64(1.0), 1, buckets, counts, places)
