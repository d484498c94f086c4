"""Gradient tree boosting: any loss L(y, s), by steps along trees in the space of functions.

Round t, at the scores s_i of the rows:

    g_i = -L'(y_i, s_i), h_i = L''(y_i, s_i)
    a tree whose splits maximize the decrease of the loss, G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)
    the value of every leaf minimizes the loss of its rows: the median for the absolute error, the quantile for the
    quantile loss, else one Newton step G / (H + l2)
    s_i <- s_i + rate * value of the leaf of x_i

In the first-order form (Friedman 2001) the tree is the least-squares fit to the negative gradients (h_i = 1 while it
grows), in the second-order form (Chen and Guestrin 2016) the hessians take part in the splits too. A Newton step may
overshoot: a step that would increase the loss of its leaf is halved until it does not, and with several scores per row
a whole round is. So without sampling the training loss never increases, except for Huber's, whose delta follows the
residuals, and with dropout (dart.py), which shrinks earlier trees.

Friedman, Greedy function approximation: a gradient boosting machine, 2001. Chen and Guestrin, XGBoost, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.journal import Stream, open_stream
from committee.base.threads import n_threads
from committee.gradient_boosting.cells import CellGrower, forms_cells, is_cell_round
from committee.gradient_boosting.dart import Dropout, Rescaled
from committee.gradient_boosting.trees import (
    GrownTree,
    PackedTree,
    TreeGrower,
    TreePlan,
    TreeStack,
    all_rows,
    newton_values,
    quantile_values,
    unpack_tree,
)
from committee.kernels.boosting import leaves
from committee.losses.derivatives import Derivatives, UserValues, mean_loss
from committee.losses.loss import NO_WEIGHTS, Loss, LossError
from committee.losses.regression import at_scores
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints

MAX_HALVINGS = 40
ROUNDING = 1e-12
"""A loss that increases by less than this fraction counts as unchanged."""

MAX_STEP = 30.0
"""Limit of a step of a class's score, for leaves without curvature."""


class Problem(NamedTuple):
    """Data of a fit: binned rows, targets, weights (empty if equal) and the loss of every output."""

    matrix: BinnedMatrix
    y: NDArray[Any]
    weight: Floats
    losses: tuple[Loss, ...]
    recorded: tuple[Loss, ...]  # the losses of the history: with a fixed Huber delta
    is_multinomial: bool
    constraints: Constraints
    counts: Floats = NO_WEIGHTS  # sample weights, if `weight` includes class weights


class Plan(NamedTuple):
    """Settings of a fit."""

    tree: TreePlan
    learning_rate: float
    subsample: float
    colsample: float  # fraction of the features of each round
    dropout: float  # probability that an earlier round is dropped (dart.py)
    n_jobs: int | None


class BoostingRound(NamedTuple):
    """One round: its trees, one per output, and the mean training loss after it."""

    trees: tuple[GrownTree, ...]
    train_loss: float
    n_halved: int  # number of shortened steps
    rescaled: Rescaled = ()
    stop: str = ""  # the algorithm has no end of its own


class Workspace(NamedTuple):
    """State of a run; its arrays are overwritten in every round."""

    problem: Problem
    plan: Plan
    derivatives: Derivatives
    grower: TreeGrower
    cells: CellGrower | None  # None: no cell rounds
    stack: TreeStack
    rows: NDArray[np.uint32]
    threads: int
    stream: Stream  # of the trees, for a checkpoint

    @classmethod
    def of(cls, problem: Problem, plan: Plan, stack: TreeStack) -> Workspace:
        derivatives = Derivatives(problem.losses, problem.y, problem.weight, problem.is_multinomial)
        grower = TreeGrower(problem.matrix, problem.constraints, plan.tree, problem.weight, plan.n_jobs, problem.counts)
        cells, n = None, problem.y.size
        if plan.tree.cell_leaves > 1 and plan.dropout == 0.0 and np.any(forms_cells(problem.matrix)):
            cells = CellGrower(grower, problem.constraints, problem.weight, problem.counts, plan.n_jobs)
        return cls(
            problem, plan, derivatives, grower, cells, stack, all_rows(n), n_threads(plan.n_jobs, n * 8), open_stream()
        )


class Sample(NamedTuple):
    """The rows and features of one round's trees."""

    rows: NDArray[np.uint32]
    features: NDArray[np.int64] | None  # None: all
    seed: int
    rng: np.random.Generator | None  # None where nothing is random


def gradient_boosting(
    problem: Problem, plan: Plan, score: Floats, seeds: Sequence[int], stack: TreeStack
) -> Iterator[BoostingRound]:
    """Boost from `score` [outputs, n], updated in place, one round per seed. The trees are appended to `stack`."""
    work, dropout = Workspace.of(problem, plan, stack), Dropout(plan.dropout)
    recorded = None
    if problem.recorded != problem.losses:
        recorded = Derivatives(problem.recorded, problem.y, problem.weight, False)
    loss = differentiate(work, score)
    for seed in seeds:
        sample = draw_sample(work, seed)
        if dropout.before_round(sample.rng, score):
            differentiate(work, score)
        # Step 1: for every output a tree that follows the negative gradients, with leaves that minimize the loss
        trees, n_halved = fit_trees(work, sample, score)
        rescaled = dropout.after_round(trees, work.grower, stack, score)
        # Step 2: a step along the trees
        add_trees(work, trees, score)
        # Step 3: the derivatives at the new scores
        loss, n_damped = differentiate_damped(work, trees, score, loss)
        train_loss = loss if recorded is None else recorded.update(score, work.threads)
        yield BoostingRound(trees, train_loss, n_halved + n_damped, rescaled)


# --- the parts of a round ---------------------------------------------------------------------------------------------


def differentiate(work: Workspace, score: Floats) -> float:
    """Derivatives at the scores, and the mean loss; Huber's delta follows the residuals."""
    problem = work.problem
    work.derivatives.losses = at_scores(problem.losses, problem.y, problem.weight, score)
    return work.derivatives.update(score, work.threads)


def differentiate_damped(work: Workspace, trees: Sequence[GrownTree], score: Floats, loss: float) -> tuple[float, int]:
    """Differentiate after a step; return the loss, and how often the step was halved.

    Steps of the multinomial loss are fitted class by class. If together they increase the loss of all rows, they are
    halved until they do not, at most MAX_HALVINGS times, then removed.
    """
    new_loss, n_halved = differentiate(work, score), 0
    is_sampled = work.plan.subsample < 1.0 or work.plan.dropout > 0.0
    if not work.problem.is_multinomial or is_sampled:
        return new_loss, 0
    while new_loss > loss * (1.0 + ROUNDING) and n_halved <= MAX_HALVINGS:
        fraction = 0.5 if n_halved < MAX_HALVINGS else 1.0
        add_trees(work, trees, score, -fraction)
        for tree in trees:
            tree.value[:] *= 1.0 - fraction
        new_loss = differentiate(work, score)
        n_halved += 1
    return new_loss, n_halved


def draw_sample(work: Workspace, seed: int) -> Sample:
    """Rows and features of a round, in ascending order."""
    plan, rows = work.plan, work.rows
    if plan.subsample == 1.0 and plan.colsample == 1.0 and plan.dropout == 0.0:
        return Sample(rows, None, seed, None)
    rng, features = np.random.default_rng(seed), None
    if plan.subsample < 1.0:
        rows = _draw(rng, rows.size, plan.subsample).astype(np.uint32)
    if plan.colsample < 1.0:
        features = _draw(rng, work.problem.matrix.n_features, plan.colsample)
    return Sample(rows, features, seed, rng)


def _draw(rng: np.random.Generator, n: int, fraction: float) -> NDArray[np.int64]:
    return np.sort(rng.choice(n, max(1, round(fraction * n)), replace=False, shuffle=False))


def fit_trees(work: Workspace, sample: Sample, score: Floats) -> tuple[tuple[GrownTree, ...], int]:
    """Fit a tree for every output and append it to the stack; return them and the number of shortened steps."""

    n_outputs = len(work.problem.losses)
    return work.stream.keep(
        sample.seed,
        lambda: _fit_trees(work, sample, score),
        pack=lambda new: (work.stack.last(n_outputs), new[1]),
        unpack=lambda kept: (_restore_trees(work, kept[0]), kept[1]),
    )


def _restore_trees(work: Workspace, packed: Sequence[PackedTree]) -> tuple[GrownTree, ...]:
    """Append the trees of a checkpoint to the stack."""
    trees: list[GrownTree] = []
    for k, each in enumerate(packed):
        trees.append(unpack_tree(each, work.problem.matrix.n_features, *work.stack.room()))
        work.stack.keep(trees[-1].nodes.size, k)
    return tuple(trees)


def _fit_trees(work: Workspace, sample: Sample, score: Floats) -> tuple[tuple[GrownTree, ...], int]:
    trees: list[GrownTree] = []
    n_halved, weight, n_outputs = 0, work.problem.weight, len(work.problem.losses)
    has_cells = work.cells is not None and is_cell_round(work.stack.n_trees // n_outputs)
    for k in range(n_outputs):
        nodes, value, weight_out = work.stack.room()
        result = _fit_cells(work, k, sample, nodes, value, score[k]) if has_cells else None
        tree, n = result or _fit_tree(work, k, sample, nodes, value, score[k])
        if weight.size:
            leaves.sum_leaf_weights(tree.nodes, tree.nodes.size, tree.rows, weight, weight_out)
        work.stack.keep(tree.nodes.size, k)
        trees.append(tree)
        n_halved += n
    return tuple(trees), n_halved


def _fit_tree(
    work: Workspace, k: int, sample: Sample, nodes: NDArray[np.void], value: Floats, score: Floats
) -> tuple[GrownTree, int]:
    """Fit a tree to the derivatives of output k into the given arrays; return the number of shortened steps too."""
    derivatives, grower = work.derivatives, work.grower
    size_g, size_h = derivatives.sizes[k]
    is_first_order = not work.plan.tree.second_order or not size_h > 0.0
    h = grower.ones if is_first_order else derivatives.h[k]
    size_h = grower.total_weight if is_first_order else size_h
    has_unit_hessian = derivatives.losses[k].has_unit_hessian or is_first_order
    grower.prepare(derivatives.g[k], h, size_g, size_h, has_unit_hessian)
    tree = _grow(grower, sample, k, sample.features, nodes, value)
    return tree, _optimize_leaves(work, k, tree, score)


def _fit_cells(
    work: Workspace, k: int, sample: Sample, nodes: NDArray[np.void], value: Floats, score: Floats
) -> tuple[GrownTree, int] | None:
    """As `_fit_tree`, for a tree of a cell round; None if no cells have an effect or leaves are not Newton steps."""
    problem, derivatives, cells = work.problem, work.derivatives, work.cells
    loss, h = derivatives.losses[k], derivatives.h[k]
    if cells is None or loss.leaf != "newton":
        return None
    found = cells.estimate(derivatives.g[k], h, sample.features, sample.seed + k)
    if found is None:
        return None
    g, grower = found.effect * h, cells.grower
    size_g = float(np.abs(g * problem.weight if problem.weight.size else g).sum())
    grower.prepare(g, h, size_g, derivatives.sizes[k][1], loss.has_unit_hessian)
    tree = _grow(grower, sample, k, found.features, nodes, value)
    rate = min(found.factor * work.plan.learning_rate, 1.0)
    newton_values(tree, loss, g, h, problem.weight, cells.plan, rate)
    if problem.is_multinomial:
        np.clip(tree.value, -MAX_STEP, MAX_STEP, out=tree.value)
        return tree, 0
    return tree, _halve_tree(tree, loss, problem, score)


def _grow(
    grower: TreeGrower,
    sample: Sample,
    k: int,
    features: NDArray[np.int64] | None,
    nodes: NDArray[np.void],
    value: Floats,
) -> GrownTree:
    """Grow a tree of output k on the derivatives that the grower has, on some features or all."""
    nodes["key"][0] = sample.seed + k
    rows = sample.rows.copy()
    n_nodes = grower.grow(rows, nodes, features)
    return GrownTree(nodes[:n_nodes], rows, value[:n_nodes])


def add_trees(work: Workspace, trees: Sequence[GrownTree], score: Floats, factor: float = 1.0) -> None:
    """Add a multiple of the trees to the scores of all rows; rows outside the sample are placed by their codes."""
    for k, tree in enumerate(trees):
        value = tree.value if factor == 1.0 else factor * tree.value
        if tree.rows.size == work.problem.y.size:
            leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, value, score[k])
        else:
            score[k] += value[work.grower.place(tree.nodes)]


# --- leaves -----------------------------------------------------------------------------------------------------------


def _optimize_leaves(work: Workspace, k: int, tree: GrownTree, score: Floats) -> int:
    """Set the values of the leaves; return the number of shortened steps."""
    problem, plan, derivatives = work.problem, work.plan, work.derivatives
    loss, n_unsafe = derivatives.losses[k], 0
    if loss.leaf != "newton":
        quantile_values(tree, loss, problem.y, score, problem.weight, plan.learning_rate)
    else:
        g, h = derivatives.g[k], derivatives.h[k]
        n_unsafe = newton_values(tree, loss, g, h, problem.weight, plan.tree, plan.learning_rate)
    if problem.is_multinomial:
        np.clip(tree.value, -MAX_STEP, MAX_STEP, out=tree.value)
    if np.any(problem.constraints.monotone):
        return _halve_tree(tree, loss, problem, score)
    if not n_unsafe or problem.is_multinomial:
        return 0
    user_values = derivatives.user_values[k]
    if user_values is not None and not _mark_increased(tree, user_values, problem, score):
        return 0
    unsafe = np.flatnonzero(tree.nodes["score"] == 1.0)
    return sum(_halve_leaf(tree, int(i), loss, problem, score) for i in unsafe)


def _mark_increased(tree: GrownTree, user_values: UserValues, problem: Problem, score: Floats) -> int:
    """Number of leaves that increase the loss of their rows; the next round reuses the values."""
    moved = score.copy()
    leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, tree.value, moved)
    before = user_values(score)
    try:
        after = user_values(moved)
    except LossError:  # scores beyond the domain of the user's code: leaf by leaf
        return 1
    return leaves.mark_increased(tree.nodes, tree.nodes.size, tree.rows, before, after, problem.weight, ROUNDING)


def _halve_leaf(tree: GrownTree, i: int, loss: Loss, problem: Problem, score: Floats) -> int:
    """Halve the step of leaf i until the loss of its rows does not increase; return 1 if it was halved."""
    start, n = int(tree.nodes["start"][i]), int(tree.nodes["n"][i])
    rows = tree.rows[start : start + n]
    before = _loss_of_rows(loss, problem, score, rows, 0.0)
    for halvings in range(MAX_HALVINGS):
        after = _loss_of_rows(loss, problem, score, rows, float(tree.value[i]))
        if after <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        tree.value[i] *= 0.5
    tree.value[i] = 0.0
    return 1


def _halve_tree(tree: GrownTree, loss: Loss, problem: Problem, score: Floats) -> int:
    """Halve the steps of all leaves together: halving a single one could violate a monotonicity constraint."""
    before = _loss_of_rows(loss, problem, score, tree.rows, 0.0)
    for halvings in range(MAX_HALVINGS):
        moved = score.copy()
        leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, tree.value, moved)
        if _loss_of_rows(loss, problem, moved, tree.rows, 0.0) <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        tree.value[:] *= 0.5
    tree.value[:] = 0.0
    return 1


def _loss_of_rows(loss: Loss, problem: Problem, score: Floats, rows: NDArray[np.uint32], step: float) -> float:
    if loss.functions is not None:
        try:
            return float(loss.functions.total(problem.y, score, problem.weight, rows, step))
        except Exception:  # the user's code may raise anything; if it raises for every step, so does the round
            return math.inf
    weight = problem.weight[rows] if problem.weight.size else NO_WEIGHTS
    return mean_loss(loss, problem.y[rows], score[rows] + step, weight)
