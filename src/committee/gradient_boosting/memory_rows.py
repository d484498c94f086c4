"""The training rows of gradient boosting in memory, where a tree is grown by one call of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.journal import open_stream
from committee.base.threads import n_threads
from committee.gradient_boosting.cells import CellGrower, forms_cells, is_cell_round
from committee.gradient_boosting.dart import Dropout, Rescaled
from committee.gradient_boosting.gradient_boosting import MAX_STEP, ROUNDING, Plan, Problem, halve_leaf, halve_tree
from committee.gradient_boosting.trees import (
    GrownTree,
    TreeGrower,
    TreeStack,
    all_rows,
    draw_sorted,
    newton_values,
    quantile_values,
)
from committee.kernels.boosting import leaves
from committee.losses.derivatives import Derivatives, UserValues, total_loss
from committee.losses.loss import NO_WEIGHTS, Loss, LossError
from committee.losses.regression import at_scores


class Sample(NamedTuple):
    """The rows and features of one round's trees."""

    rows: NDArray[np.uint32]
    features: NDArray[np.int64] | None  # None: all
    seed: int


class MemoryRows:
    """Rows in memory, with their scores [outputs, n], which are updated in place. Trees are appended to a stack."""

    def __init__(self, problem: Problem, plan: Plan, score: Floats, stack: TreeStack) -> None:
        self.problem, self.plan, self.score, self.stack = problem, plan, score, stack
        n = problem.y.size
        self.derivatives = Derivatives(problem.losses, problem.y, problem.weight, problem.is_multinomial)
        self.recorded: Derivatives | None = None
        if problem.recorded != problem.losses:
            self.recorded = Derivatives(problem.recorded, problem.y, problem.weight, False)
        constraints, weight, counts = problem.constraints, problem.weight, problem.counts
        self.grower = TreeGrower(problem.matrix, constraints, plan.tree, weight, plan.n_jobs, counts)
        self.cells: CellGrower | None = None
        if plan.tree.cell_leaves > 1 and plan.dropout == 0.0 and np.any(forms_cells(problem.matrix)):
            self.cells = CellGrower(self.grower, constraints, weight, counts, plan.n_jobs)
        self.rows, self.threads = all_rows(n), n_threads(plan.n_jobs, n * 8)
        self.dropout = Dropout(plan.dropout)
        self.stream = open_stream()  # of the trees, for a checkpoint
        self.sample = Sample(self.rows, None, 0)

    @property
    def is_damped(self) -> bool:
        return self.problem.is_multinomial and self.plan.subsample == 1.0 and self.plan.dropout == 0.0

    def differentiate(self) -> float:
        """Derivatives at the scores, and the mean loss; Huber's delta follows the residuals."""
        problem = self.problem
        self.derivatives.losses = at_scores(problem.losses, problem.y, problem.weight, self.score)
        return self.derivatives.update(self.score, self.threads)

    def recorded_loss(self, loss: float) -> float:
        return loss if self.recorded is None else self.recorded.update(self.score, self.threads)

    def begin_round(self, seed: int) -> None:
        plan, rows, features = self.plan, self.rows, None
        if plan.subsample == 1.0 and plan.colsample == 1.0 and plan.dropout == 0.0:
            self.sample = Sample(rows, None, seed)
            return
        rng = np.random.default_rng(seed)
        if plan.subsample < 1.0:
            rows = draw_sorted(rng, rows.size, plan.subsample).astype(np.uint32)
        if plan.colsample < 1.0:
            features = draw_sorted(rng, self.problem.matrix.n_features, plan.colsample)
        self.sample = Sample(rows, features, seed)
        if self.dropout.before_round(rng, self.score):
            self.differentiate()

    def end_dropout(self, trees: Sequence[GrownTree]) -> Rescaled:
        return self.dropout.after_round(trees, self.grower, self.stack, self.score)

    def add_trees(self, trees: Sequence[GrownTree], factor: float = 1.0) -> None:
        """Add a multiple of the trees to the scores; rows outside the sample are placed by their codes."""
        for k, tree in enumerate(trees):
            value = tree.value if factor == 1.0 else factor * tree.value
            if tree.rows.size == self.problem.y.size:
                leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, value, self.score[k])
            else:
                self.score[k] += value[self.grower.place(tree.nodes)]

    # --- trees --------------------------------------------------------------------------------------------------------

    def fit_trees(self) -> tuple[tuple[GrownTree, ...], int]:
        """Fit a tree for every output and append it to the stack; return them and the number of shortened steps."""
        n_outputs = len(self.problem.losses)
        return self.stream.keep(
            self.sample.seed,
            self._fit_trees,
            pack=lambda new: (self.stack.last(n_outputs), new[1]),
            unpack=lambda kept: (tuple(self.stack.restore(each, k) for k, each in enumerate(kept[0])), kept[1]),
        )

    def _fit_trees(self) -> tuple[tuple[GrownTree, ...], int]:
        trees: list[GrownTree] = []
        n_halved, n_outputs = 0, len(self.problem.losses)
        has_cells = self.cells is not None and is_cell_round(self.stack.n_trees // n_outputs)
        for k in range(n_outputs):
            result = self._fit_cells(k) if has_cells else None
            tree, n = result or self._fit_tree(k)
            self.stack.keep(tree.nodes.size, k, bool(self.problem.weight.size))
            trees.append(tree)
            n_halved += n
        return tuple(trees), n_halved

    def _fit_tree(self, k: int) -> tuple[GrownTree, int]:
        """Fit a tree to the derivatives of output k; return the number of shortened steps too."""
        derivatives, grower = self.derivatives, self.grower
        size_g, size_h = derivatives.sizes[k]
        is_first_order = not self.plan.tree.second_order or not size_h > 0.0
        h = grower.ones if is_first_order else derivatives.h[k]
        size_h = grower.totals.total_weight if is_first_order else size_h
        has_unit_hessian = derivatives.losses[k].has_unit_hessian or is_first_order
        grower.prepare(derivatives.g[k], h, size_g, size_h, has_unit_hessian)
        tree = self._grow(grower, k, self.sample.features)
        return tree, self._optimize_leaves(k, tree)

    def _fit_cells(self, k: int) -> tuple[GrownTree, int] | None:
        """As `_fit_tree`, for a cell round; None if no cells have an effect or leaves are not Newton steps."""
        problem, derivatives, cells = self.problem, self.derivatives, self.cells
        loss, h = derivatives.losses[k], derivatives.h[k]
        if cells is None or loss.leaf != "newton":
            return None
        found = cells.estimate(derivatives.g[k], h, self.sample.features, self.sample.seed + k)
        if found is None:
            return None
        g, grower = found.effect * h, cells.grower
        size_g = float(np.abs(g * problem.weight if problem.weight.size else g).sum())
        grower.prepare(g, h, size_g, derivatives.sizes[k][1], loss.has_unit_hessian)
        tree = self._grow(grower, k, found.features)
        rate = min(found.factor * self.plan.learning_rate, 1.0)
        newton_values(tree, loss, g, h, problem.weight, cells.plan, rate)
        if problem.is_multinomial:
            np.clip(tree.value, -MAX_STEP, MAX_STEP, out=tree.value)
            return tree, 0
        return tree, self._halve_tree(k, tree)

    def _grow(self, grower: TreeGrower, k: int, features: NDArray[np.int64] | None) -> GrownTree:
        """Grow a tree of output k on the derivatives that the grower has, on some features or all."""
        nodes, value, sums = self.stack.room()
        nodes["key"][0] = self.sample.seed + k
        rows = self.sample.rows.copy()
        n_nodes = grower.grow(rows, nodes, features)
        return GrownTree(nodes[:n_nodes], rows, value[:n_nodes], sums[:n_nodes])

    # --- leaves -------------------------------------------------------------------------------------------------------

    def _optimize_leaves(self, k: int, tree: GrownTree) -> int:
        """Set the values of the leaves; return the number of shortened steps."""
        problem, plan, derivatives, score = self.problem, self.plan, self.derivatives, self.score[k]
        loss, n_unsafe = derivatives.losses[k], 0
        g, h = derivatives.g[k], derivatives.h[k]
        if loss.leaf != "newton":
            quantile_values(tree, loss, problem.y, score, problem.weight, plan.learning_rate)
            if problem.weight.size:
                leaves.sum_leaves(tree.nodes, tree.nodes.size, tree.rows, g, h, problem.weight, tree.sums)
        else:
            n_unsafe = newton_values(tree, loss, g, h, problem.weight, plan.tree, plan.learning_rate)
        if problem.is_multinomial:
            np.clip(tree.value, -MAX_STEP, MAX_STEP, out=tree.value)
        if np.any(problem.constraints.monotone):
            return self._halve_tree(k, tree)
        if not n_unsafe or problem.is_multinomial:
            return 0
        user_values = derivatives.user_values[k]
        if user_values is not None and not self._mark_increased(tree, user_values, score):
            return 0
        unsafe = np.flatnonzero(tree.nodes["score"] == 1.0).tolist()
        return sum(halve_leaf(tree.value, i, self._loss_of_leaf(k, tree, i)) for i in unsafe)

    def _mark_increased(self, tree: GrownTree, user_values: UserValues, score: Floats) -> int:
        """Number of leaves that increase the loss of their rows; the next round reuses the values."""
        moved = score.copy()
        leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, tree.value, moved)
        before = user_values(score)
        try:
            after = user_values(moved)
        except LossError:  # scores beyond the domain of the user's code: leaf by leaf
            return 1
        weight = self.problem.weight
        return leaves.mark_increased(tree.nodes, tree.nodes.size, tree.rows, before, after, weight, ROUNDING)

    def _loss_of_leaf(self, k: int, tree: GrownTree, i: int) -> Callable[[float], float]:
        """The loss of the rows of leaf i as a function of its step."""
        start, n = int(tree.nodes["start"][i]), int(tree.nodes["n"][i])
        rows, loss, score = tree.rows[start : start + n], self.derivatives.losses[k], self.score[k]
        return lambda step: _loss_of_rows(loss, self.problem, score, rows, step)

    def _halve_tree(self, k: int, tree: GrownTree) -> int:
        loss, score = self.derivatives.losses[k], self.score[k]
        rows = np.sort(tree.rows)

        def loss_at(value: Floats) -> float:
            moved = score.copy()
            leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, value, moved)
            return _loss_of_rows(loss, self.problem, moved, rows, 0.0)

        return halve_tree(tree.value, loss_at)


def _loss_of_rows(loss: Loss, problem: Problem, score: Floats, rows: NDArray[np.uint32], step: float) -> float:
    """The summed loss of some rows, ascending, in `leaves.CHUNK` rows of the table at a time."""
    if loss.functions is not None:
        try:
            return float(loss.functions.total(problem.y, score, problem.weight, rows, step))
        except Exception:  # the user's code may raise anything; if it raises for every step, so does the round
            return math.inf
    ends = np.searchsorted(rows, np.arange(0, problem.y.size + leaves.CHUNK, leaves.CHUNK))
    total = 0.0
    for a, b in pairwise(ends.tolist()):
        if a < b:
            part = rows[a:b]
            weight = problem.weight[part] if problem.weight.size else NO_WEIGHTS
            total += total_loss(loss, problem.y[part], score[part] + step, weight)
    return total
