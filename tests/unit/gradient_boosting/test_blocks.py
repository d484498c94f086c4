"""Boosting on rows in blocks has the bits of boosting on rows in memory: every array of the trees, and the history."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.blocks import trees as block_trees
from committee.blocks.steps import CHUNK, LocalBlocks
from committee.gradient_boosting.block_rows import BlockProblem, BlockRows, BoostedBlock
from committee.gradient_boosting.gradient_boosting import BoostingRound, Plan, Problem, gradient_boosting
from committee.gradient_boosting.memory_rows import MemoryRows
from committee.gradient_boosting.trees import RowTotals, TreePlan, TreeStack, max_leaves, number_of_rows
from committee.kernels.trees.histogram_tree import FEW_CATEGORIES
from committee.losses.classification import EXPONENTIAL, LOG_LOSS
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.losses.regression import REGRESSION_LOSSES
from committee.records.binned import BinnedMatrix
from committee.records.ensemble import BoostedTrees
from committee.records.growth import Constraints
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.histograms import make_tiles

N_ROWS, N_FEATURES = 150_000, 6
SQUARED = REGRESSION_LOSSES["squared_error"]
N_ROUNDS = 3
FREE = np.full(N_FEATURES, 2**64 - 1, np.uint64)
ANY = np.zeros(N_FEATURES, np.int64)

TREE = TreePlan(
    max_leaf_nodes=15, max_depth=2**30, min_samples_leaf=20, min_hessian=1e-3, min_gain=0.0, l1=0.0, l2=0.0,
    max_features=N_FEATURES, category_smoothing=10.0, category_rows=100.0, category_penalty=0.7, second_order=True,
)  # fmt: skip


class Case(NamedTuple):
    """A fit."""

    losses: tuple[Loss, ...]
    y: NDArray[Any]
    weight: NDArray[np.float64] = NO_WEIGHTS
    counts: NDArray[np.float64] = NO_WEIGHTS
    is_multinomial: bool = False
    constraints: Constraints = Constraints(ANY, FREE)
    tree: TreePlan = TREE
    learning_rate: float = 0.1
    subsample: float = 1.0
    colsample: float = 1.0

    @property
    def plan(self) -> Plan:
        return Plan(self.tree, self.learning_rate, self.subsample, self.colsample, 0.0, 1)


class Layout(NamedTuple):
    """Where the blocks begin, in chunks of rows, and how they are asked."""

    begins: tuple[int, ...] = (0, 1, 2)
    threads: int = 2
    n_ahead: int = 4


class Fit(NamedTuple):
    trees: BoostedTrees
    rounds: list[BoostingRound]


# --- the table --------------------------------------------------------------------------------------------------------


def make_table() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Few and many categories, missing values, a constant column, few distinct values, and a twin of a column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X[:, 0] = rng.integers(0, 3, N_ROWS)
    X[:, 1] = np.floor(40 * rng.random(N_ROWS) ** 2)
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = X[:, 2]
    X[rng.random(X.shape) < 0.04] = np.nan
    X[:, 5] = np.where(rng.random(N_ROWS) < 0.5, np.nan, 1.0)
    return X, np.array([True, True, False, False, False, False])


X, IS_CATEGORICAL = make_table()
RNG = np.random.default_rng(1)
SIGNAL = (
    np.nan_to_num(X[:, 2])
    + np.isin(X[:, 1], [1, 4, 7, 20, 33]) * np.nan_to_num(X[:, 3])
    + 0.5 * (X[:, 0] == 1.0)
    + 0.3 * np.isnan(X[:, 5])
)
VALUES = SIGNAL + RNG.normal(size=N_ROWS)
BINARY = (VALUES > 0.5).astype(np.float64)
WHOLE = RNG.integers(1, 4, N_ROWS).astype(np.float64)
FRACTIONS = RNG.exponential(size=N_ROWS)
CLASSES = np.digitize(VALUES, [-0.5, 1.0])
POSITIVE = RNG.gamma(1.0, np.exp(SIGNAL / 2)) + 1e-3
COUNTS = RNG.poisson(np.exp(SIGNAL / 2)).astype(np.float64)
ZEROS = COUNTS * RNG.gamma(2.0, 2.0, N_ROWS)
RARE = (RNG.random(N_ROWS) < 1e-4 * np.exp(SIGNAL)).astype(np.float64)
MONOTONE = Constraints(np.array([0, 0, 1, -1, 0, 0]), FREE)
GROUPS = Constraints(ANY, np.array([1, 3, 1, 2, 2, 1], np.uint64))

_binned: dict[int, BinnedMatrix] = {}


def matrix_of(case: Case) -> BinnedMatrix:
    key = id(case.weight)
    if key not in _binned:
        weight = case.weight if case.weight.size else None
        _binned[key] = BinMapper(255).fit_transform(X, weight, IS_CATEGORICAL, 1)
    return _binned[key]


# --- fits -------------------------------------------------------------------------------------------------------------


def make_stack(case: Case, matrix: BinnedMatrix) -> TreeStack:
    n = number_of_rows(N_ROWS, case.counts if case.counts.size else case.weight)
    return TreeStack(matrix, 2 * max_leaves(case.tree, n) - 1, None, len(case.losses))


def fit_in_memory(case: Case, n_rounds: int) -> Fit:
    matrix = matrix_of(case)
    stack = make_stack(case, matrix)
    problem = Problem(
        matrix, case.y, case.weight, case.losses, case.losses, case.is_multinomial, case.constraints, case.counts
    )
    rows = MemoryRows(problem, case.plan, np.zeros((len(case.losses), N_ROWS)), stack)
    rounds = list(gradient_boosting(rows, range(n_rounds)))
    return Fit(stack.trees(), rounds)


def problem_of(case: Case) -> BlockProblem:
    matrix = matrix_of(case)
    return BlockProblem(
        matrix._replace(codes=np.empty((N_FEATURES, 0), np.uint8)), case.losses, case.is_multinomial, case.constraints,
        case.plan, RowTotals.of(N_ROWS, case.weight, case.counts), np.zeros(len(case.losses)), N_ROWS,
    )  # fmt: skip


def blocks_of(case: Case, problem: BlockProblem, layout: Layout) -> LocalBlocks:
    matrix, states = matrix_of(case), []
    for first, last in pairwise([*(CHUNK * begin for begin in layout.begins), N_ROWS]):
        tiles = make_tiles(np.ascontiguousarray(matrix.codes[:, first:last]))
        parts = (each[first:last] for each in (case.y, case.weight, case.counts))
        states.append(BoostedBlock(problem, tiles, *parts, first))
    return LocalBlocks(states, layout.threads, layout.n_ahead)


def fit_in_blocks(case: Case, layout: Layout, n_rounds: int) -> Fit:
    problem = problem_of(case)
    stack = make_stack(case, problem.matrix)
    rows = BlockRows(blocks_of(case, problem, layout), problem, stack)
    rounds = list(gradient_boosting(rows, range(n_rounds)))
    return Fit(stack.trees(), rounds)


def assert_same(expected: Fit, result: Fit) -> None:
    for name in BoostedTrees._fields:
        np.testing.assert_array_equal(getattr(result.trees, name), getattr(expected.trees, name), err_msg=name)
    assert [each.train_loss for each in result.rounds] == [each.train_loss for each in expected.rounds]
    assert [each.n_halved for each in result.rounds] == [each.n_halved for each in expected.rounds]


def check(case: Case, layout: Layout = Layout(), n_rounds: int = N_ROUNDS) -> Fit:  # noqa: B008 (immutable)
    expected = fit_in_memory(case, n_rounds)
    assert expected.trees.n_trees == n_rounds * len(case.losses)
    assert np.all(np.diff(expected.trees.offsets) > 1)  # no tree is a single leaf
    assert_same(expected, fit_in_blocks(case, layout, n_rounds))
    return expected


LOGISTIC = Case((LOG_LOSS,), BINARY)
LEAST_SQUARES = Case((SQUARED,), VALUES)

# --- layouts ----------------------------------------------------------------------------------------------------------

LAYOUTS = (
    Layout((0,), 1, 1), Layout((0, 1, 2), 3, 1), Layout((0, 2), 2, 64), Layout((0, 1), 1, 4), Layout((0, 1, 2), 2, 2),
)  # fmt: skip


@pytest.fixture(scope="module")
def expected() -> dict[str, Fit]:
    return {"logistic": fit_in_memory(LOGISTIC, N_ROUNDS), "squares": fit_in_memory(LEAST_SQUARES, N_ROUNDS)}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize(("name", "case"), [("logistic", LOGISTIC), ("squares", LEAST_SQUARES)], ids=["log", "sq"])
def test_any_layout(name, case, layout, expected):
    assert_same(expected[name], fit_in_blocks(case, layout, N_ROUNDS))


# --- losses -----------------------------------------------------------------------------------------------------------

LOSSES = {
    "multinomial": Case((LOG_LOSS,) * 3, CLASSES, is_multinomial=True),
    "exponential": Case((EXPONENTIAL,), 2.0 * BINARY - 1.0),
    "poisson": Case((REGRESSION_LOSSES["poisson"],), COUNTS),
    "gamma": Case((REGRESSION_LOSSES["gamma"],), POSITIVE),
    "tweedie": Case((REGRESSION_LOSSES["tweedie"]._replace(parameter=1.5),), ZEROS),
    "expectiles": Case(tuple(REGRESSION_LOSSES["expectile"]._replace(parameter=p) for p in (0.2, 0.9)), VALUES),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    check(LOSSES[name])


SMALL_LEAVES = TREE._replace(min_samples_leaf=1, min_hessian=0.0, max_leaf_nodes=31)
OVERSHOOTING = {
    "rare class": Case((LOG_LOSS,), RARE),
    "poisson": Case((REGRESSION_LOSSES["poisson"],), 100.0 * COUNTS),
    "gamma": Case((REGRESSION_LOSSES["gamma"],), 1e-3 * POSITIVE),
    "gamma of weights": Case((REGRESSION_LOSSES["gamma"],), 1e-3 * POSITIVE, FRACTIONS),
    "gamma of a sample": Case((REGRESSION_LOSSES["gamma"],), 1e-3 * POSITIVE, subsample=0.5),
    "monotone": Case((REGRESSION_LOSSES["poisson"],), 100.0 * COUNTS, constraints=MONOTONE),
    "monotone sample": Case((REGRESSION_LOSSES["poisson"],), 100.0 * COUNTS, constraints=MONOTONE, subsample=0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OVERSHOOTING)
def test_steps_that_are_halved(name):
    """With a learning rate of 1 a Newton step overshoots where the scores are far from the best ones."""
    result = check(OVERSHOOTING[name]._replace(learning_rate=1.0, tree=SMALL_LEAVES), n_rounds=4)
    assert sum(each.n_halved for each in result.rounds) > 0


@pytest.mark.slow
def test_a_multinomial_round_that_is_halved():
    """Steps of three classes together may increase the loss: the round is taken back in part, on the blocks too."""
    result = check(LOSSES["multinomial"]._replace(learning_rate=4.0, tree=SMALL_LEAVES), n_rounds=4)
    assert sum(each.n_halved for each in result.rounds) > 0


# --- weights ----------------------------------------------------------------------------------------------------------

BY_CLASS = np.where(BINARY == 1.0, 1.7, 0.6)
WEIGHTED = {
    "whole": (WHOLE, NO_WEIGHTS),
    "fractions": (FRACTIONS, NO_WEIGHTS),
    "class weights": (BY_CLASS, np.ones(N_ROWS)),
    "class weights of repeated rows": (BY_CLASS * WHOLE, WHOLE),
    "class weights of fractions": (BY_CLASS * FRACTIONS, FRACTIONS),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name):
    weight, counts = WEIGHTED[name]
    result = check(LOGISTIC._replace(weight=weight, counts=counts))
    assert result.trees.weight[0] == pytest.approx(weight.sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole", "fractions"])
def test_weights_of_least_squares(name):
    check(LEAST_SQUARES._replace(weight=WEIGHTED[name][0]))


@pytest.mark.slow
def test_weights_of_a_multinomial_loss():
    check(LOSSES["multinomial"]._replace(weight=FRACTIONS), n_rounds=2)


# --- trees ------------------------------------------------------------------------------------------------------------

TREES = {
    "constraints": LEAST_SQUARES._replace(constraints=MONOTONE),
    "monotone log-loss": LOGISTIC._replace(constraints=MONOTONE),
    "interactions": LEAST_SQUARES._replace(constraints=GROUPS),
    "drawn features": LOGISTIC._replace(tree=TREE._replace(max_features=2)),
    "subsample": LOGISTIC._replace(subsample=0.3),
    "subsample of weights": LEAST_SQUARES._replace(subsample=0.5, weight=WHOLE),
    "monotone subsample": LEAST_SQUARES._replace(subsample=0.4, constraints=MONOTONE),
    "colsample": LEAST_SQUARES._replace(colsample=0.5),
    "both samples": LOSSES["multinomial"]._replace(subsample=0.5, colsample=0.5),
    "depth": LOGISTIC._replace(tree=TREE._replace(max_depth=3, max_leaf_nodes=100)),
    "depth 1": LEAST_SQUARES._replace(tree=TREE._replace(max_depth=1)),
    "two leaves": LOGISTIC._replace(tree=TREE._replace(max_leaf_nodes=2)),
    "many leaves": LEAST_SQUARES._replace(tree=TREE._replace(max_leaf_nodes=300, min_samples_leaf=1)),
    "l1": LOGISTIC._replace(tree=TREE._replace(l1=20.0)),
    "l2": LEAST_SQUARES._replace(tree=TREE._replace(l2=50.0)),
    "min_hessian": LOGISTIC._replace(tree=TREE._replace(min_hessian=2000.0)),
    "min_gain": LEAST_SQUARES._replace(tree=TREE._replace(min_gain=0.002, max_leaf_nodes=100)),
    "first order": LOGISTIC._replace(tree=TREE._replace(second_order=False)),
    "first order of weights": LOSSES["poisson"]._replace(tree=TREE._replace(second_order=False), weight=FRACTIONS),
    "free categories": LEAST_SQUARES._replace(
        tree=TREE._replace(category_smoothing=0.0, category_rows=0.0, category_penalty=0.0)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_trees(name):
    check(TREES[name])


def test_the_table_has_few_and_many_categories():
    matrix = matrix_of(LOGISTIC)
    assert matrix.n_bins[0] <= FEW_CATEGORIES < matrix.n_bins[1]
    assert len(np.unique(fit_in_memory(LOGISTIC, 1).trees.feature)) > 2


TAIL = np.nan_to_num(X[:, 2]) > 2.2  # the best splits leave these few rows alone
COUNTED = TREE._replace(min_samples_leaf=6000)
REJECTED = {
    "fractions": LEAST_SQUARES._replace(y=VALUES + 30.0 * TAIL, weight=FRACTIONS, tree=COUNTED),
    "log-loss": LOGISTIC._replace(y=np.where(TAIL, 1.0, RARE), tree=COUNTED),
    "rare class": Case((LOG_LOSS,), RARE, learning_rate=0.5, tree=COUNTED),
    "repeated rows": LOGISTIC._replace(
        y=np.where(TAIL, 1.0, RARE), weight=BY_CLASS * WHOLE, counts=WHOLE, tree=COUNTED
    ),
    "sample": LOGISTIC._replace(
        y=np.where(TAIL, 1.0, RARE), tree=COUNTED._replace(min_samples_leaf=3000), subsample=0.5
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_ahead", [1, 4, 64])
@pytest.mark.parametrize("name", REJECTED)
def test_splits_that_leave_too_few_rows(name, n_ahead, monkeypatch):
    """Without unit weights rows are counted when a split is made; one with too few on a side is searched again."""
    rejected: list[int] = []
    kept = block_trees._Growth._search

    def search(self, i, histogram, is_counted=False):
        if is_counted:
            rejected.append(i)
        kept(self, i, histogram, is_counted)

    monkeypatch.setattr(block_trees._Growth, "_search", search)
    check(REJECTED[name], Layout(n_ahead=n_ahead))
    assert rejected


# --- steps ------------------------------------------------------------------------------------------------------------


class Repeated:
    """Blocks that take the last step of every request twice, as after an answer that was lost."""

    def __init__(self, blocks: LocalBlocks) -> None:
        self.blocks, self.n_ahead = blocks, blocks.n_ahead

    def ask(self, *steps):
        first, again = self.blocks.ask(*steps), self.blocks.ask(steps[-1])
        np.testing.assert_array_equal(first.total, again.total)
        np.testing.assert_array_equal(first.chunks, again.chunks)
        return again


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subsample of weights", "both samples", "drawn features"])
def test_the_last_step_may_be_repeated(name):
    case = TREES[name]
    problem = problem_of(case)
    stack = make_stack(case, problem.matrix)
    rows = BlockRows(Repeated(blocks_of(case, problem, Layout())), problem, stack)  # type: ignore[arg-type]
    rounds = list(gradient_boosting(rows, range(2)))
    assert_same(fit_in_memory(case, 2), Fit(stack.trees(), rounds))


@pytest.mark.slow
def test_children_are_asked_for_ahead():
    """Asking for more children at once takes fewer requests."""
    n_requests = []
    for n_ahead in (1, 16):
        problem = problem_of(LOGISTIC)
        blocks = blocks_of(LOGISTIC, problem, Layout(n_ahead=n_ahead))
        asked: list[Any] = []
        original = blocks.ask
        blocks.ask = lambda *steps, original=original, asked=asked: asked.append(steps) or original(*steps)  # type: ignore[method-assign]
        list(gradient_boosting(BlockRows(blocks, problem, make_stack(LOGISTIC, problem.matrix)), range(2)))
        n_requests.append(len(asked))
    assert n_requests[1] < 0.6 * n_requests[0]
