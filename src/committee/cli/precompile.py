"""Compile and cache every kernel, so that the first fit does not wait for the compiler."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.dtypes import ROW
from committee.base.kernel_cache import COMPILATION_NOTICE, remove_stale_caches
from committee.blocks.steps import LocalBlocks
from committee.explain.node_permutation import node_permutation
from committee.explain.oob_forest import OobForest
from committee.explain.oob_permutation import oob_permutation
from committee.explain.shap import shap_interaction_values, shap_values
from committee.gradient_boosting.block_rows import BlockProblem, BlockRows, BoostedBlock
from committee.gradient_boosting.cells import CellGrower
from committee.gradient_boosting.gradient_boosting import Plan, gradient_boosting
from committee.gradient_boosting.trees import (
    GrownTree,
    RowTotals,
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
from committee.records.growth import Constraints, Limits
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import free_limits, grow
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.predict.boosted import PackedSum, add_scores
from committee.tree_engine.predict.forest import add_predictions, pack_forest
from committee.tree_engine.response import class_response, value_response
from committee.tree_engine.stumps import StumpSearch
from committee.tree_engine.subtrees import SUBTREE_ROWS
from committee.trees.decision_tree import DecisionTreeRegressor
from committee.trees.pruning import cross_validate, pruning_path


class _Toy(NamedTuple):
    """A table that every kernel can run on."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    exact: BinnedMatrix
    binned: BinnedMatrix
    codes: NDArray[np.float64]
    category: BinnedMatrix

    @classmethod
    def make(cls) -> _Toy:
        rng = np.random.default_rng(0)
        n = SUBTREE_ROWS + 1  # some kernels are only for nodes of many rows
        X = rng.normal(size=(n, 3))
        codes = np.clip(np.floor(2 + X), 0, 4)
        return cls(
            X,
            X[:, 0] + rng.normal(size=n),
            np.ones(n),
            BinMapper(None).fit_transform(X),
            BinMapper(16).fit_transform(X),
            codes,
            BinMapper(None).fit_transform(codes, None, np.ones(3, bool)),
        )


def warmup(echo: Callable[[str], None] | None = None, n_jobs: int = 1) -> float:
    """Run every kernel once on a toy table, in `n_jobs` processes; return the CPU seconds it took."""
    echo = echo or (lambda _: None)
    seconds = 0.0
    if n_jobs == 1:
        for name in STEPS:
            echo(name)
            seconds += _run_step(name)
    else:
        context = multiprocessing.get_context("spawn")  # a forked child would inherit locks of the compiler
        with ProcessPoolExecutor(n_jobs, mp_context=context) as pool:
            for name, taken in zip(STEPS, pool.map(_run_step, STEPS), strict=True):
                echo(name)
                seconds += taken
    remove_stale_caches()
    return seconds


def _run_step(name: str) -> float:
    began = time.process_time()
    COMPILATION_NOTICE.withhold()  # the notice is for compilations that were not requested
    STEPS[name](_Toy.make())
    return time.process_time() - began


def _warm_trees(toy: _Toy) -> None:
    X, y, weight, limits = toy.X, toy.y, toy.weight, _limits()
    trees = [grow(toy.exact, value_response(y, weight, name), limits) for name in ("squared_error", "absolute_error")]
    grow(toy.exact, class_response((y > 0).astype(np.int64), 2, weight, "gini"), limits)
    grow(toy.binned, value_response(y, weight, "squared_error"), limits)
    grow(toy.exact, value_response(y, weight, "squared_error"), limits._replace(max_features=2))
    grow(toy.exact, value_response(y, weight, "squared_error"), limits._replace(random_splits=True))
    grow(toy.exact, class_response(np.digitize(y, [-1.0, 1.0]), 3, weight, "gini"), limits)
    for table in (X, X.astype(np.float32)):
        apply_tree(trees[0], table)
    apply_tree(grow(toy.category, value_response(y, weight, "squared_error"), limits), toy.codes)


def _limits() -> Limits:
    return free_limits(3, True)._replace(max_depth=6)


def _warm_forests(toy: _Toy) -> None:
    X, y, weight = toy.X, toy.y, toy.weight
    trees = [grow(toy.exact, value_response(y, weight, "squared_error"), _limits())]
    rows = np.arange(y.size)
    for table in (X, X.astype(np.float32), X[:1]):
        add_predictions(pack_forest(trees), table, np.zeros((len(table), 1)), None)
    forest = OobForest(trees, pack_forest(trees), [rows[: y.size // 3]], X, y, weight, 0)
    oob_permutation(forest, [[0]])
    node_permutation(forest, [[0]], None)


def _warm_pruning(toy: _Toy) -> None:
    X, y, weight = toy.X, toy.y, toy.weight
    tree = grow(toy.exact, value_response(y, weight, "squared_error"), _limits())
    rows = np.arange(y.size)
    cross_validate(
        pruning_path(tree), X, y, weight, [(rows, rows)], lambda _: tree, lambda t: t.value[:, 0].copy(),
        "squared_error",
    )  # fmt: skip


def _warm_stumps(toy: _Toy) -> None:
    X, y = toy.X, toy.y
    n = y.size
    labels, weight = np.where(y > 0, np.int8(1), np.int8(-1)), np.full(n, 1.0 / n)
    for matrix in (toy.exact, toy.binned):
        search = StumpSearch(matrix, None)
        stump = search.find(labels, weight)
        _, sums = search.divide(stump, labels, weight)
        packed = pack_members([TreeMember(search.as_tree(stump, sums), np.array([1, -1, 1], np.int8))], [1.0], 2)
        if packed is not None:
            score_packed(packed, X, None)
    multiply_weights(weight, labels, np.array([1.0, 2.0]))
    for predictions in (labels, labels.astype(np.float64)):
        tally_votes(1.0, predictions, labels, weight, np.zeros(n), np.empty(2))


def _warm_gradient_boosting(toy: _Toy) -> None:
    _boost(toy.binned, toy.X, toy.y)
    _boost(BinMapper(16).fit_transform(toy.codes, None, np.ones(3, bool)), toy.codes, toy.y)


def _boost(matrix: BinnedMatrix, X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """One tree for each of three classes, on weighted rows, a part of them left out."""
    n = y.size
    labels, weight = np.digitize(y, [-1.0, 1.0]), np.full(n, 2.0)
    plan = TreePlan(3, 4, 2, 1e-3, 0.0, 0.0, 1.0, 3, 10.0, 10.0, 0.7, True, 3)
    constraints = Constraints.none(3)
    grower = TreeGrower(matrix, constraints, plan, weight)
    stack = TreeStack(matrix, 5)
    EXPONENTIAL.value(y)
    Derivatives((REGRESSION_LOSSES["squared_error"],), y, weight, False).update(np.zeros((1, n)))
    derivatives = Derivatives((LOG_LOSS,) * 3, labels, weight, True)
    derivatives.update(np.zeros((3, n)))
    CellGrower(grower, constraints, weight, weight, None).estimate(derivatives.g[0], derivatives.h[0], None, 0)
    for k in range(3):
        grower.prepare(derivatives.g[k], derivatives.h[k], *derivatives.sizes[k], False)
        nodes, value, sums = stack.room()
        rows = np.arange(n - 1, dtype=ROW)
        n_nodes = grower.grow(rows, nodes, None)
        grown = GrownTree(nodes[:n_nodes], rows, value[:n_nodes], sums[:n_nodes])
        newton_values(grown, LOG_LOSS, derivatives.g[k], derivatives.h[k], weight, plan, 0.1)
        quantile_values(grown, REGRESSION_LOSSES["absolute_error"], y, y, weight, 0.1)
        leaves.add_leaf_steps(grown.nodes, n_nodes, rows, grown.value, np.zeros(n))
        grower.place(grown.nodes)
        stack.keep(n_nodes, k, True)
    for table in (X, X.astype(np.float32)):
        add_scores(PackedSum(stack.trees()), table, np.zeros((n, 3)), None)
        add_scores(PackedSum(stack.trees()), table[:1], np.zeros((1, 3)), None)


def _warm_blocks(toy: _Toy) -> None:
    """A round of boosting on rows in one block."""
    n, weight = toy.y.size, np.full(toy.y.size, 2.0)
    constraints, plan = Constraints.none(3), TreePlan(3, 4, 2, 1e-3, 0.0, 0.0, 1.0, 3, 10.0, 10.0, 0.7, True)
    squared_error = REGRESSION_LOSSES["squared_error"]
    problem = BlockProblem(
        toy.binned, (squared_error,), False, constraints, Plan(plan, 0.1, 1.0, 1.0, 0.0, None),
        RowTotals.of(n, weight, weight), np.zeros(1), n,
    )  # fmt: skip
    block = BoostedBlock(problem, make_tiles(toy.binned.codes), toy.y, weight, weight, 0)
    stack = TreeStack(toy.binned, 5)
    next(gradient_boosting(BlockRows(LocalBlocks([block]), problem, stack), [0]))


def _warm_mixtures(_: _Toy) -> None:
    score, y, weight = np.zeros((2, 4)), np.zeros(4, np.int64), np.ones(4)
    scratch, a, b = np.empty((2, mixtures.BLOCK)), np.empty((2, 4)), np.empty((2, 4))
    mixtures.log_softmax(score, scratch)
    mixtures.compute_responsibilities(score, score, weight, 1.0, a, np.empty(4), scratch)
    mixtures.log_sigmoid(score, y)
    mixtures.logistic_slopes(score, y, a, b, a.copy())
    mixtures.softmax_slopes(score, a, weight, b, a.copy())
    mixtures.weigh_rows(np.ones((4, 3)), score, 0, 4, np.empty((4, 2, 3)))


def _warm_linear_svms(toy: _Toy) -> None:
    X, y, weight = toy.X, toy.y, toy.weight
    slope, kept = np.zeros(3), np.empty(y.size, np.uint8)
    measure_rows(CostRows(X, y, weight, weight, 0.0), slope, 0.0, np.empty(y.size), np.empty(y.size), np.zeros(4))
    dual = DualProblem(X, y, -weight, weight, np.zeros(y.size), weight, 0.0)
    descend(dual, DualState(np.zeros(y.size), slope, np.zeros(2)), np.arange(y.size), np.inf, kept)


def _warm_kernel_svms(_: _Toy) -> None:
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


def _warm_explanations(toy: _Toy) -> None:
    X = toy.X[:8]
    tree = DecisionTreeRegressor(max_depth=2).fit(X, toy.y[:8])
    shap_values(tree, X)
    shap_interaction_values(tree, X)


STEPS: dict[str, Callable[[_Toy], None]] = {
    "trees": _warm_trees,
    "gradient boosting": _warm_gradient_boosting,
    "rows in blocks": _warm_blocks,
    "kernel SVMs": _warm_kernel_svms,
    "forests": _warm_forests,
    "boosting of stumps": _warm_stumps,
    "mixtures of experts": _warm_mixtures,
    "pruning": _warm_pruning,
    "linear SVMs": _warm_linear_svms,
    "explanations": _warm_explanations,
}
"""Those that take the longest first, so that parallel processes end together."""
