"""Trees as boosting makes them: grown on quantised gradients, leaves optimised for the loss, kept in one stack."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.dtypes import ROW
from committee.base.journal import CheckpointError
from committee.base.threads import n_threads
from committee.kernels.boosting import leaves
from committee.kernels.boosting.derivatives import quantise
from committee.kernels.trees import criteria as scores
from committee.kernels.trees.histogram_tree import FEW_CATEGORIES
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.losses.minimizers import residual_location
from committee.records.binned import BinnedMatrix
from committee.records.ensemble import BoostedTrees
from committee.records.growth import RULES, Constraints, Goal, Limits
from committee.records.tree import LEAF
from committee.sampling.resampling import are_whole
from committee.tree_engine.growing import NO_LIMIT, read_nodes
from committee.tree_engine.histogram_trees import HistogramGrower
from committee.tree_engine.histograms import PACKED_BITS
from committee.tree_engine.subtrees import feature_records, new_nodes

CHUNK = 2048
"""Number of nodes of trees that are converted to arrays together."""

MIN_GAIN = 1e-12
"""Minimum gain of a split as a fraction of (mean |g|)^2 / mean h, the size of the possible gains."""


class TreePlan(NamedTuple):
    """How one tree is grown."""

    max_leaf_nodes: int
    max_depth: int
    min_samples_leaf: int
    min_hessian: float
    min_gain: float
    l1: float
    l2: float
    max_features: int  # searched at a node
    category_smoothing: float
    category_rows: float
    category_penalty: float  # in units of the gain expected by chance from the order of the categories
    second_order: bool
    cell_leaves: int = 0  # maximum number of leaves of the trees of cell rounds (cells.py); 0 for no such rounds


def number_of_rows(n: int, weight: Floats) -> int:
    """Number of rows, with an integer weight w counted as w rows."""
    return round(float(weight.sum())) if weight.size and are_whole(weight) else n


def max_leaves(plan: TreePlan, n: int) -> int:
    """Maximum number of leaves of a tree of n rows."""
    by_depth = 1 << min(plan.max_depth, 30)
    return max(2, min(plan.max_leaf_nodes, by_depth, n // max(plan.min_samples_leaf, 1) + 1))


class GrownTree(NamedTuple):
    """Node records, the rows in an order that keeps those of every node together, values and sums of the nodes."""

    nodes: NDArray[np.void]
    rows: NDArray[np.uint32]
    value: Floats
    sums: Floats  # [nodes, 3] of each leaf: g, h and weight


class RowTotals(NamedTuple):
    """What the growth of trees depends on of all rows together."""

    n_counted: int  # number of rows, with an integer weight w counted as w rows
    total_weight: float
    has_weights: bool
    is_whole: bool  # the weights are integers
    has_repeats: bool  # the sample weights, without class weights, are integers: numbers of rows

    @classmethod
    def of(cls, n: int, weight: Floats, counts: Floats) -> RowTotals:
        """`counts` are the numbers of rows that each row stands for, if they differ from the weights."""
        repeats = counts if counts.size else weight
        return cls(
            number_of_rows(n, repeats),
            float(weight.sum()) if weight.size else float(n),
            bool(weight.size),
            bool(weight.size and are_whole(weight)),
            bool(repeats.size and are_whole(repeats)),
        )


class Scales(NamedTuple):
    """Units of the packed gradients and hessians: g and h are multiplied by them and rounded."""

    g: float
    h: float


class TreeRules:
    """The record `RULES` of the trees of a fit; some of its fields change from tree to tree."""

    def __init__(self, plan: TreePlan, constraints: Constraints, totals: RowTotals) -> None:
        self.plan, self.totals = plan, totals
        self.max_leaves = max_leaves(plan, totals.n_counted)
        goal = Goal(
            scores.SQUARED, 1, 1.0, 1.0, plan.l1, plan.l2, 0.5, totals.total_weight,
            category_smoothing=plan.category_smoothing,
            category_rows=plan.category_rows,
        )  # fmt: skip
        limits = Limits(
            max_depth=min(plan.max_depth, NO_LIMIT),
            max_splits=self.max_leaves - 1,
            min_samples_split=2 * plan.min_samples_leaf,
            min_samples_leaf=plan.min_samples_leaf,
            min_weight_leaf=0,
            min_gain=plan.min_gain,
            stop_if_pure=False,
            unit_weights=False,
            max_features=plan.max_features,
            random_splits=False,
            best_first=True,
            is_monotone=bool(np.any(constraints.monotone)),
            has_groups=False,
            whole_weights=totals.has_repeats,
        )
        self.record = np.array([(*goal, *limits)], RULES)
        names = ("g_unit", "h_unit", "min_gain", "unit_weights", "min_weight_leaf", "category_noise")
        self.field = {name: self.record[name] for name in names}  # views, as access by name is slow

    def set_sizes(self, size_g: float, size_h: float, has_unit_hessian: bool) -> Scales:
        """Set the limits of a tree on g and h of these sizes; return scales that use the 31 bits of each sum."""
        totals, field = self.totals, self.field
        is_counted = has_unit_hessian and (not totals.has_weights or totals.is_whole)
        is_counted &= totals.total_weight < 2**PACKED_BITS
        h_scale = 1.0 if is_counted else packing_scale(size_h, totals.n_counted)
        g_scale = packing_scale(size_g, totals.n_counted)
        field["g_unit"][0], field["h_unit"][0] = 1.0 / g_scale, 1.0 / h_scale
        possible = size_g / totals.total_weight * (size_g / size_h) if size_h > 0.0 else 0.0
        field["min_gain"][0] = max(self.plan.min_gain, MIN_GAIN * possible, 1e-300)
        field["unit_weights"][0] = is_counted  # the sums of h are counts
        field["min_weight_leaf"][0] = math.ceil(min(self.plan.min_hessian * h_scale, 2.0**40) * (1.0 - 1e-12))
        return Scales(g_scale, h_scale)

    def set_noise(self, size_g_squared: float, size_h: float) -> None:
        """Set the variance of the gradients per hessian, given the weighted sum of their squares."""
        self.field["category_noise"][0] = rounded(self.plan.category_penalty * (size_g_squared / size_h))


def noise_weights(plan: TreePlan, matrix: BinnedMatrix, weight: Floats, repeats: Floats, n: int) -> Floats | None:
    """The weight of g^2 in the variance of a sum of g; None if no split is charged for the order of categories.

    `repeats` are the numbers of rows that each row counts for, empty if they are one.
    """
    if plan.category_penalty == 0.0 or not has_many_categories(matrix):
        return None
    return weight * weight / (repeats if repeats.size else 1.0) if weight.size else np.ones(n)


class TreeGrower:
    """Grows trees on one binned table."""

    def __init__(
        self,
        matrix: BinnedMatrix,
        constraints: Constraints,
        plan: TreePlan,
        weight: Floats,
        n_jobs: int | None = None,
        counts: Floats = NO_WEIGHTS,
    ) -> None:
        """`counts` are the numbers of rows that each row stands for, if they differ from the weights."""
        self.matrix, self.plan, self.weight = matrix, plan, weight
        n = matrix.n_rows
        self.totals = RowTotals.of(n, weight, counts)
        self.tree_rules = TreeRules(plan, constraints, self.totals)
        self.rules = self.tree_rules.record
        self.records = feature_records(matrix, constraints)
        repeats = (counts if counts.size else weight) if self.totals.has_repeats else NO_WEIGHTS
        ones = repeats.astype(np.int64) if repeats.size else np.ones(n, np.int64)
        is_counted = plan.min_samples_leaf > 1 or plan.category_rows > 0.0 or plan.category_smoothing > 0.0
        threads, most = n_threads(n_jobs, n * matrix.n_features), self.tree_rules.max_leaves
        self.histograms = HistogramGrower(matrix, self.records, most, ones if is_counted else None, threads)
        self.amounts = np.empty(n, np.int64)
        self.ones = np.ones(n)
        self.noise_weight = noise_weights(plan, matrix, weight, repeats, n)

    def prepare(self, g: Floats, h: Floats, size_g: float, size_h: float, has_unit_hessian: bool) -> None:
        """Gradients and hessians as packed integers."""
        scales = self.tree_rules.set_sizes(size_g, size_h, has_unit_hessian)
        quantise(g, h, self.weight, self.totals.is_whole, scales.g, scales.h, self.amounts)
        if self.noise_weight is not None and size_h > 0.0:
            self.tree_rules.set_noise(sum(chunk_sums(self.noise_weight * g * g)), size_h)

    def grow(self, rows: NDArray[np.uint32], nodes: NDArray[np.void], features: NDArray[np.int64] | None) -> int:
        """Grow a tree of `rows`, which are reordered, into fresh `nodes`; return their number."""
        return self.histograms.grow_into(self.rules, rows, self.amounts, nodes, features)

    def place(self, nodes: NDArray[np.void]) -> NDArray[np.int64]:
        """The leaf of every row of the table, also outside the sample."""
        return place_rows(self.histograms.tiles, nodes, self.records)


def place_rows(tiles: NDArray[np.uint8], nodes: NDArray[np.void], records: NDArray[np.void]) -> NDArray[np.int64]:
    """The leaf of every row of tiles [tiles, n, 32], by its codes."""
    leaf = np.empty(tiles.shape[1], np.int64)
    leaves.place_coded_rows(tiles, nodes, records, leaf)
    return leaf


def has_many_categories(matrix: BinnedMatrix) -> bool:
    """Whether a column has more than FEW_CATEGORIES categories."""
    return bool(np.any(matrix.is_categorical & (matrix.n_bins > FEW_CATEGORIES)))


def chunk_sums(values: Floats) -> list[float]:
    """The sum of each chunk of rows."""
    return [float(values[first : first + leaves.CHUNK].sum()) for first in range(0, values.size, leaves.CHUNK)]


def rounded(number: float) -> float:
    """Round to 24 bits, so that a sum does not depend on the order of its terms."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(mantissa * 2.0**24), exponent - 24)


def packing_scale(size: float, n: int) -> float:
    """The largest power of two that keeps a sum of n rounded numbers, `size` in all, below 2**31."""
    room = 2.0**PACKED_BITS - 2.0 - n
    if not size > 0.0:
        return 1.0
    return 2.0 ** math.floor(math.log2(min(room / size, 2.0**1000)))


def newton_values(
    grown: GrownTree, loss: Loss, g: Floats, h: Floats, weight: Floats, plan: TreePlan, rate: float
) -> int:
    """Write the Newton steps of the leaves to grown.value; return how many might increase the loss of their leaf."""
    nodes, n_nodes = grown.nodes, grown.nodes.size
    leaves.sum_leaves(nodes, n_nodes, grown.rows, g, h, weight, grown.sums)
    step = leaves.NewtonStep(plan.l1, plan.l2, rate, loss.curvature_bound)
    return leaves.newton_leaves(nodes, n_nodes, grown.sums, step, grown.value)


def quantile_values(grown: GrownTree, loss: Loss, y: Floats, score: Floats, weight: Floats, rate: float) -> None:
    """Write leaf values of the absolute, quantile and Huber losses, minimized exactly, times `rate` to grown.value."""
    grown.value[:] = 0.0
    for i in np.flatnonzero(grown.nodes["left"] == LEAF):
        n = int(grown.nodes["n"][i])
        residual, w = np.empty(n), np.empty(n)
        leaves.gather_residuals(grown.nodes, i, grown.rows, y, score, weight, residual, w)
        best = residual_location(loss, residual, w if weight.size else weight)
        low, high = float(grown.nodes["lower"][i]), float(grown.nodes["upper"][i])
        grown.value[i] = rate * min(max(best, low), high)


PackedTree = tuple[NDArray[np.uint64], Floats, Floats]
"""A tree in a checkpoint: the words of its nodes [nodes, words], their values and weights."""


class TreeStack:
    """A list of trees. Node records are converted to arrays in chunks."""

    def __init__(
        self, matrix: BinnedMatrix, max_nodes: int, done: BoostedTrees | None = None, n_outputs: int = 1
    ) -> None:
        self.matrix, self.max_nodes = matrix, max_nodes
        self.capacity = max(CHUNK // (n_outputs * max_nodes), 1) * n_outputs  # the trees of a round stay together
        self.parts = [] if done is None else [done]
        self.sums = np.zeros((max_nodes, 3))
        self.is_open = False
        self.sizes: list[int] = []
        self.outputs: list[int] = []

    def _open_chunk(self) -> None:
        self.nodes = new_nodes(self.capacity * self.max_nodes).reshape(self.capacity, self.max_nodes)
        self.words = self.nodes.view(np.uint64).reshape(self.capacity, self.max_nodes, -1)
        self.value = np.zeros((self.capacity, self.max_nodes))
        self.weight = np.zeros((self.capacity, self.max_nodes))
        self.is_open = True

    def room(self) -> tuple[NDArray[np.void], Floats, Floats]:
        """Empty nodes, values and sums of the next tree."""
        if len(self.sizes) == self.capacity:
            self._close_chunk()
        if not self.is_open:
            self._open_chunk()
        t = len(self.sizes)
        return self.nodes[t], self.value[t], self.sums

    @property
    def n_trees(self) -> int:
        return sum(part.n_trees for part in self.parts) + len(self.sizes)

    def keep(self, n_nodes: int, output: int, has_weights: bool) -> None:
        """Append the tree that was written to `room`; has_weights, with the weights of its sums."""
        t = len(self.sizes)
        if has_weights:
            leaves.sum_leaf_weights(self.nodes[t], n_nodes, self.sums, self.weight[t])
        self.sizes.append(n_nodes)
        self.outputs.append(output)

    def restore(self, packed: PackedTree, output: int) -> GrownTree:
        """Append a tree of a checkpoint. It has no rows: those of its sample are placed by their codes."""
        words, values, weights = packed
        nodes, value, sums = self.room()
        n = len(words)
        if n > nodes.size or words.shape != (n, nodes.itemsize // 8) or not values.shape == weights.shape == (n,):
            raise CheckpointError(f"The checkpoint is damaged: it has a tree of {n} nodes, {nodes.size} are possible.")
        used = nodes[:n]
        used.view(np.uint64)[:] = words.reshape(-1)
        value[:n], self.weight[len(self.sizes), :n] = values, weights
        left, feature = used["left"], used["feature"]
        is_after = (left > np.arange(n)) & (left < n - 1)
        if not np.all((left == LEAF) | (is_after & (feature >= 0) & (feature < self.matrix.n_features))):
            raise CheckpointError("The checkpoint is damaged: a tree in it has no valid splits.")
        self.sizes.append(n)
        self.outputs.append(output)
        return GrownTree(used, all_rows(0), value[:n], sums[:n])

    def last(self, n: int) -> list[PackedTree]:
        """Copies of the last n trees, those of one round."""
        end = len(self.sizes)
        places = [(t, self.sizes[t]) for t in range(end - n, end)]
        return [(self.words[t, :m].copy(), self.value[t, :m].copy(), self.weight[t, :m].copy()) for t, m in places]

    def rescale(self, first: int, last: int, factor: float) -> None:
        """Multiply the values of trees first:last."""
        begin = 0
        for part in self.parts:
            a, b = (min(max(t - begin, 0), part.n_trees) for t in (first, last))
            part.value[part.offsets[a] : part.offsets[b]] *= factor
            begin += part.n_trees
        if last > begin:
            self.value[max(first - begin, 0) : last - begin] *= factor

    def _close_chunk(self) -> None:
        if self.sizes:
            self.parts.append(self._as_arrays())
            self.sizes, self.outputs, self.is_open = [], [], False

    def _as_arrays(self) -> BoostedTrees:
        sizes = np.array(self.sizes)
        is_used = np.arange(self.max_nodes) < sizes[:, np.newaxis]
        used = np.flatnonzero(is_used.ravel()[: sizes.size * self.max_nodes])
        nodes = self.nodes.reshape(-1)
        kept = read_nodes(nodes, used, self.matrix)
        weight = self.weight.reshape(-1)[used]
        return BoostedTrees(
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            output=np.array(self.outputs, np.int64),
            value=self.value.reshape(-1)[used],
            weight=np.where(weight > 0.0, weight, kept.n_samples),
            **kept._asdict(),
        )

    def trees(self) -> BoostedTrees:
        """All trees so far."""
        self._close_chunk()
        return BoostedTrees.join(self.parts)


def draw_sorted(rng: np.random.Generator, n: int, fraction: float) -> NDArray[np.int64]:
    """A random fraction of 0 .. n - 1, at least one, in ascending order."""
    return np.sort(rng.choice(n, max(1, round(fraction * n)), replace=False, shuffle=False))


def all_rows(n: int) -> NDArray[np.uint32]:
    return np.arange(n, dtype=ROW)
