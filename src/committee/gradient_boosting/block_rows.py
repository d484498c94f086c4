"""The training rows of gradient boosting in blocks: on disk, or on the workers of a cluster.

The driver has the trees, the blocks have the rows. A round asks the blocks for

    the derivatives           sums of the loss, of |g| and of h
    the splits of the tree    integer sums, see blocks/trees.py
    the leaves                sums of g, h and the weights

and for the loss of a leaf whose step may be too long. All of it is added up as for rows in memory, so the model has the
same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.journal import open_stream
from committee.blocks.steps import NO_PARTS, Blocks, Integers, Step, in_order
from committee.blocks.trees import BlockTree, BlockTreeGrower, histogram_width
from committee.gradient_boosting.dart import Rescaled
from committee.gradient_boosting.gradient_boosting import MAX_STEP, Plan, halve_leaf, halve_tree
from committee.gradient_boosting.trees import (
    GrownTree,
    RowTotals,
    Scales,
    TreeRules,
    TreeStack,
    chunk_sums,
    draw_sorted,
    has_many_categories,
    noise_weights,
    place_rows,
)
from committee.kernels.boosting import leaves
from committee.kernels.boosting.derivatives import quantise
from committee.losses.derivatives import Derivatives, column_sums, total_loss
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints
from committee.records.tree import LEAF
from committee.tree_engine.subtrees import feature_records


class BlockProblem(NamedTuple):
    """What every block of a fit knows: the bins (their codes are in the blocks), the losses and the settings."""

    matrix: BinnedMatrix
    losses: tuple[Loss, ...]
    is_multinomial: bool
    constraints: Constraints
    plan: Plan
    totals: RowTotals
    base: Floats  # the scores before the first round
    n_rows: int


class BoostedBlock:
    """The rows of one block and the state of their fit, a function of the rows and the steps so far."""

    def __init__(
        self,
        problem: BlockProblem,
        tiles: NDArray[np.uint8],
        y: NDArray[Any],
        weight: Floats,
        counts: Floats,
        first_row: int,
        allocate: Any = np.empty,
    ) -> None:
        """`allocate` makes the large arrays."""
        n, n_outputs = y.size, len(problem.losses)
        self.problem, self.tiles, self.y, self.weight, self.first_row = problem, tiles, y, weight, first_row
        repeats = (counts if counts.size else weight) if problem.totals.has_repeats else NO_WEIGHTS
        matrix, plan = problem.matrix, problem.plan
        self.tree = BlockTree(tiles, matrix.n_features, repeats.astype(np.int64), allocate)
        self.records = feature_records(matrix, problem.constraints)
        self.derivatives = Derivatives(problem.losses, y, weight, problem.is_multinomial, allocate)
        self.score = allocate((n_outputs, n), np.float64)
        self.score[:] = problem.base[:, np.newaxis]
        self.leaf = allocate((n_outputs, n), np.int32)
        self.noise_weight = noise_weights(plan.tree, matrix, weight, repeats, n)
        self.placed_round = -1  # the round whose trees `leaf` is of
        self.rows: NDArray[np.integer] | None = None  # of the round's sample

    def draw(self, seed: int) -> None:
        """Draw the rows of a round from all rows of the table."""
        drawn = _drawn_rows(seed, self.problem.n_rows, self.problem.plan.subsample)
        a, b = np.searchsorted(drawn, (self.first_row, self.first_row + self.y.size))
        self.rows = drawn[a:b] - self.first_row

    def quantise(self, k: int, scales: Scales, is_first_order: bool) -> None:
        g = self.derivatives.g[k]
        h = np.ones(g.size) if is_first_order else self.derivatives.h[k]
        quantise(g, h, self.weight, self.problem.totals.is_whole, scales.g, scales.h, self.tree.amounts)

    def sum_leaves(self, k: int, segments: Integers, leaf_numbers: Integers, n_nodes: int) -> Floats:
        """Place the rows of output k in the leaves of the tree; sums of g, h and weights [chunks, nodes, 3]."""
        leaf = self.leaf[k]
        if self.rows is not None:
            leaf.fill(-1)
        self.tree.place(segments, leaf_numbers, leaf)
        sums = np.zeros((-(-self.y.size // leaves.CHUNK), n_nodes, 3))
        leaves.sum_placed_rows(leaf, self.derivatives.g[k], self.derivatives.h[k], self.weight, sums)
        return sums

    def losses_of(self, k: int, loss: Loss, moved: Floats, rows: NDArray[np.integer]) -> Floats:
        """The loss of some rows, ascending, at their scores `moved`, chunk by chunk."""
        ends = np.searchsorted(rows, np.arange(0, self.y.size + leaves.CHUNK, leaves.CHUNK))
        out = np.zeros(ends.size - 1)
        for chunk, (a, b) in enumerate(pairwise(ends.tolist())):
            if a < b:
                part = rows[a:b]
                weight = self.weight[part] if self.weight.size else NO_WEIGHTS
                out[chunk] = total_loss(loss, self.y[part], moved[a:b], weight)
        return out


@lru_cache(maxsize=2)
def _drawn_rows(seed: int, n: int, fraction: float) -> NDArray[np.int64]:
    """As `MemoryRows.begin_round` draws them; the blocks of a process share them."""
    return draw_sorted(np.random.default_rng(seed), n, fraction)


# --- steps ------------------------------------------------------------------------------------------------------------


class Differentiate(NamedTuple):
    """The derivatives at the scores; sums of blocks of rows [blocks, sums]: the loss, |g| and h of the outputs."""

    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        block.derivatives.update(block.score)
        if block.problem.is_multinomial:
            return block.derivatives.all_sums.copy()
        return np.ascontiguousarray(block.derivatives.sums.transpose(1, 0, 2))


class DrawRows(NamedTuple):
    """Draw the rows of a round."""

    seed: int
    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        block.draw(self.seed)
        return NO_PARTS


class SumSquares(NamedTuple):
    """The weighted sum of squared gradients of output k."""

    k: int
    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        g = block.derivatives.g[self.k]
        return np.array(chunk_sums(block.noise_weight * g * g))


class BeginTree(NamedTuple):
    """Quantise the derivatives of output k and begin a tree: the sums of its root."""

    k: int
    scales: Scales
    is_first_order: bool
    width: int

    @property
    def size(self) -> int:
        return self.width + 2

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        block.quantise(self.k, self.scales, self.is_first_order)
        block.tree.begin(block.rows, total)
        return NO_PARTS


class SumLeaves(NamedTuple):
    """Place the rows in the leaves of the tree of output k; sums of g, h and weights [chunks, nodes, 3]."""

    k: int
    segments: Integers
    leaves: Integers
    n_nodes: int
    number: int  # of the round
    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        block.placed_round = self.number
        return block.sum_leaves(self.k, self.segments, self.leaves, self.n_nodes)


class LossOfLeaf(NamedTuple):
    """The loss of the rows in leaf i of output k after a step."""

    k: int
    loss: Loss
    i: int
    step: float
    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        rows = np.flatnonzero(block.leaf[self.k] == self.i)
        return block.losses_of(self.k, self.loss, block.score[self.k][rows] + self.step, rows)


class LossOfTree(NamedTuple):
    """The loss of the rows of the tree of output k after the steps of its leaves."""

    k: int
    loss: Loss
    value: Floats
    size: int = 0

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        leaf = block.leaf[self.k]
        rows = np.flatnonzero(leaf >= 0)
        return block.losses_of(self.k, self.loss, block.score[self.k][rows] + self.value[leaf[rows]], rows)


class AddTrees(NamedTuple):
    """Add trees, one for every output, to the scores."""

    nodes: tuple[NDArray[np.void], ...]
    values: tuple[Floats, ...]
    number: int  # of the round
    size: int = 0

    @property
    def is_kept(self) -> bool:
        """The scores depend on the trees of all rounds."""
        return True

    def run(self, block: BoostedBlock, total: Integers) -> Floats:
        for k, (nodes, value) in enumerate(zip(self.nodes, self.values, strict=True)):
            leaf = block.leaf[k]
            if block.rows is not None or block.placed_round != self.number:
                leaf = place_rows(block.tiles, nodes, block.records)
            block.score[k] += value[leaf]
        return NO_PARTS


# --- the rows of a fit ------------------------------------------------------------------------------------------------


class BlockRows:
    """Rows in blocks of `BoostedBlock`. Trees are appended to a stack."""

    def __init__(self, blocks: Blocks, problem: BlockProblem, stack: TreeStack) -> None:
        self.blocks, self.problem, self.stack = blocks, problem, stack
        self.rules = TreeRules(problem.plan.tree, problem.constraints, problem.totals)
        records = feature_records(problem.matrix, problem.constraints)
        self.width = histogram_width(records.size)
        self.grower = BlockTreeGrower(blocks, records, self.rules.max_leaves)
        self.has_noise = problem.plan.tree.category_penalty > 0.0 and has_many_categories(problem.matrix)
        self.sizes: list[tuple[float, float]] = []
        self.pending: list[Step] = []  # sent with the next request, to save a round trip
        self.seed, self.number = 0, 0
        self.stream = open_stream()  # of the trees, for a checkpoint
        self.features: NDArray[np.int64] | None = None

    @property
    def is_damped(self) -> bool:
        return self.problem.is_multinomial and self.problem.plan.subsample == 1.0

    def differentiate(self) -> float:
        problem = self.problem
        sums = self._ask(Differentiate())
        if problem.is_multinomial:
            loss, *sizes = column_sums(sums)
            self.sizes = list(zip(sizes[::2], sizes[1::2], strict=True))
            return loss / problem.totals.total_weight
        loss, self.sizes = 0.0, []
        for k in range(len(problem.losses)):
            sum_loss, size_g, size_h = column_sums(np.ascontiguousarray(sums[:, k]))
            loss += sum_loss
            self.sizes.append((size_g, size_h))
        return loss / problem.totals.total_weight

    def recorded_loss(self, loss: float) -> float:
        return loss

    def begin_round(self, seed: int) -> None:
        plan = self.problem.plan
        self.seed = seed
        self.number += 1
        if plan.subsample < 1.0:
            self.pending.append(DrawRows(seed))
        if plan.colsample < 1.0:
            rng = np.random.default_rng(seed)
            if plan.subsample < 1.0:
                draw_sorted(rng, self.problem.n_rows, plan.subsample)
            self.features = draw_sorted(rng, self.problem.matrix.n_features, plan.colsample)

    def end_dropout(self, trees: Sequence[GrownTree]) -> Rescaled:
        return ()

    def add_trees(self, trees: Sequence[GrownTree], factor: float = 1.0) -> None:
        values = tuple(tree.value.copy() if factor == 1.0 else factor * tree.value for tree in trees)
        self.pending.append(AddTrees(tuple(tree.nodes for tree in trees), values, self.number))

    def fit_trees(self) -> tuple[tuple[GrownTree, ...], int]:
        n_outputs = len(self.problem.losses)
        return self.stream.keep(
            self.seed,
            self._fit_trees,
            pack=lambda new: (self.stack.last(n_outputs), new[1]),
            unpack=lambda kept: (tuple(self.stack.restore(each, k) for k, each in enumerate(kept[0])), kept[1]),
        )

    def _fit_trees(self) -> tuple[tuple[GrownTree, ...], int]:
        trees: list[GrownTree] = []
        n_halved = 0
        for k in range(len(self.problem.losses)):
            tree = self._grow(k)
            n_halved += self._optimize_leaves(k, tree)
            self.stack.keep(tree.nodes.size, k, self.problem.totals.has_weights)
            trees.append(tree)
        return tuple(trees), n_halved

    def _ask(self, *steps: Step) -> Floats:
        return self.blocks.ask(*self._with_pending(*steps)).chunks

    def _with_pending(self, *steps: Step) -> list[Step]:
        pending, self.pending = self.pending, []
        return [*pending, *steps]

    def _grow(self, k: int) -> GrownTree:
        """Grow a tree of output k, with the sums of its leaves."""
        problem = self.problem
        size_g, size_h = self.sizes[k]
        is_first_order = not problem.plan.tree.second_order or not size_h > 0.0
        size_h = problem.totals.total_weight if is_first_order else size_h
        has_unit_hessian = problem.losses[k].has_unit_hessian or is_first_order
        scales = self.rules.set_sizes(size_g, size_h, has_unit_hessian)
        if self.has_noise and size_h > 0.0:
            self.rules.set_noise(sum(self._ask(SumSquares(k)).tolist()), size_h)
        nodes, value, sums = self.stack.room()
        nodes["key"][0] = self.seed + k
        begin = self._with_pending(BeginTree(k, scales, is_first_order, self.width))
        n_nodes, segments = self.grower.grow(begin, self.rules.record, nodes, self.features)
        nodes = nodes[:n_nodes]
        leaf_numbers = np.flatnonzero(nodes["left"] == LEAF)
        sums[:n_nodes] = in_order(self._ask(SumLeaves(k, segments[leaf_numbers], leaf_numbers, n_nodes, self.number)))
        return GrownTree(nodes, np.empty(0, np.uint32), value[:n_nodes], sums[:n_nodes])

    def _optimize_leaves(self, k: int, tree: GrownTree) -> int:
        """Set the values of the leaves; return the number of shortened steps."""
        problem, plan, loss = self.problem, self.problem.plan, self.problem.losses[k]
        step = leaves.NewtonStep(plan.tree.l1, plan.tree.l2, plan.learning_rate, loss.curvature_bound)
        n_unsafe = leaves.newton_leaves(tree.nodes, tree.nodes.size, tree.sums, step, tree.value)
        if problem.is_multinomial:
            np.clip(tree.value, -MAX_STEP, MAX_STEP, out=tree.value)
        if np.any(problem.constraints.monotone):
            return halve_tree(tree.value, lambda value: self._loss(LossOfTree(k, loss, value.copy())))
        if not n_unsafe or problem.is_multinomial:
            return 0
        unsafe = np.flatnonzero(tree.nodes["score"] == 1.0).tolist()
        return sum(halve_leaf(tree.value, i, lambda v, i=i: self._loss(LossOfLeaf(k, loss, i, v))) for i in unsafe)

    def _loss(self, step: Step) -> float:
        total = 0.0
        for part in self._ask(step).tolist():
            total += part
        return total
