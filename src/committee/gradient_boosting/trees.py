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
    """Node records, the rows in an order that keeps those of every node together, and the value of every node."""

    nodes: NDArray[np.void]
    rows: NDArray[np.uint32]
    value: Floats


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
        self.is_whole = bool(weight.size and are_whole(weight))
        repeats = counts if counts.size else weight
        self.has_repeats = bool(repeats.size and are_whole(repeats))
        self.n_counted = number_of_rows(n, repeats)
        most = max_leaves(plan, self.n_counted)
        self.records = feature_records(matrix, constraints)
        ones = repeats.astype(np.int64) if self.has_repeats else np.ones(n, np.int64)
        is_counted = plan.min_samples_leaf > 1 or plan.category_rows > 0.0 or plan.category_smoothing > 0.0
        threads = n_threads(n_jobs, n * matrix.n_features)
        self.histograms = HistogramGrower(matrix, self.records, most, ones if is_counted else None, threads)
        self.total_weight = float(weight.sum()) if weight.size else float(n)
        self.amounts = np.empty(n, np.int64)
        self.ones = np.ones(n)
        self.noise_weight: Floats | None = None  # of g^2 in the variance of a sum of g
        if plan.category_penalty > 0.0 and has_many_categories(matrix):
            self.noise_weight = weight * weight / (repeats if self.has_repeats else 1.0) if weight.size else self.ones
        self.rules = self._rules(bool(np.any(constraints.monotone)), most)
        names = ("g_unit", "h_unit", "min_gain", "unit_weights", "min_weight_leaf", "category_noise")
        self.rule = {name: self.rules[name] for name in names}  # views, as access by name is slow

    def _rules(self, is_monotone: bool, most_leaves: int) -> NDArray[np.void]:
        plan = self.plan
        goal = Goal(
            scores.SQUARED, 1, 1.0, 1.0, plan.l1, plan.l2, 0.5, self.total_weight,
            category_smoothing=plan.category_smoothing,
            category_rows=plan.category_rows,
        )  # fmt: skip
        limits = Limits(
            max_depth=min(plan.max_depth, NO_LIMIT),
            max_splits=most_leaves - 1,
            min_samples_split=2 * plan.min_samples_leaf,
            min_samples_leaf=plan.min_samples_leaf,
            min_weight_leaf=0,
            min_gain=plan.min_gain,
            stop_if_pure=False,
            unit_weights=False,
            max_features=plan.max_features,
            random_splits=False,
            best_first=True,
            is_monotone=is_monotone,
            has_groups=False,
            whole_weights=self.has_repeats,
        )
        return np.array([(*goal, *limits)], RULES)

    def prepare(self, g: Floats, h: Floats, size_g: float, size_h: float, has_unit_hessian: bool) -> None:
        """Gradients and hessians as packed integers, on scales that use the 31 bits of each sum."""
        is_counted = has_unit_hessian and (self.weight.size == 0 or self.is_whole)
        is_counted &= self.total_weight < 2**PACKED_BITS
        h_scale = 1.0 if is_counted else packing_scale(size_h, self.n_counted)
        g_scale = packing_scale(size_g, self.n_counted)
        quantise(g, h, self.weight, self.is_whole, g_scale, h_scale, self.amounts)
        rule = self.rule
        rule["g_unit"][0], rule["h_unit"][0] = 1.0 / g_scale, 1.0 / h_scale
        possible = size_g / self.total_weight * (size_g / size_h) if size_h > 0.0 else 0.0
        rule["min_gain"][0] = max(self.plan.min_gain, MIN_GAIN * possible, 1e-300)
        if self.noise_weight is not None and size_h > 0.0:
            noise = float(np.sum(self.noise_weight * g * g)) / size_h
            rule["category_noise"][0] = rounded(self.plan.category_penalty * noise)
        rule["unit_weights"][0] = is_counted  # the sums of h are counts
        rule["min_weight_leaf"][0] = math.ceil(min(self.plan.min_hessian * h_scale, 2.0**40) * (1.0 - 1e-12))

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
    step = leaves.NewtonStep(plan.l1, plan.l2, rate, loss.curvature_bound)
    return leaves.newton_leaves(grown.nodes, grown.nodes.size, grown.rows, g, h, weight, step, grown.value)


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


def unpack_tree(
    packed: PackedTree, n_features: int, nodes: NDArray[np.void], value: Floats, weight: Floats
) -> GrownTree:
    """Write a tree to `nodes`, `value` and `weight`. It has no rows: those of its sample are placed by their codes."""
    words, values, weights = packed
    n = len(words)
    if n > nodes.size or words.shape != (n, nodes.itemsize // 8) or not values.shape == weights.shape == (n,):
        raise CheckpointError(f"The checkpoint is damaged: it has a tree of {n} nodes, {nodes.size} are possible.")
    used = nodes[:n]
    used.view(np.uint64)[:] = words.reshape(-1)
    value[:n], weight[:n] = values, weights
    left, feature = used["left"], used["feature"]
    is_after = (left > np.arange(n)) & (left < n - 1)
    if not np.all((left == LEAF) | (is_after & (feature >= 0) & (feature < n_features))):
        raise CheckpointError("The checkpoint is damaged: a tree in it has no valid splits.")
    return GrownTree(used, all_rows(0), value[:n])


class TreeStack:
    """A list of trees. Node records are converted to arrays in chunks."""

    def __init__(
        self, matrix: BinnedMatrix, max_nodes: int, done: BoostedTrees | None = None, n_outputs: int = 1
    ) -> None:
        self.matrix, self.max_nodes = matrix, max_nodes
        self.capacity = max(CHUNK // (n_outputs * max_nodes), 1) * n_outputs  # the trees of a round stay together
        self.parts = [] if done is None else [done]
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
        """Empty nodes, values and weights of the next tree."""
        if len(self.sizes) == self.capacity:
            self._close_chunk()
        if not self.is_open:
            self._open_chunk()
        t = len(self.sizes)
        return self.nodes[t], self.value[t], self.weight[t]

    @property
    def n_trees(self) -> int:
        return sum(part.n_trees for part in self.parts) + len(self.sizes)

    def keep(self, n_nodes: int, output: int) -> None:
        """Append the tree that was written to `room`."""
        self.sizes.append(n_nodes)
        self.outputs.append(output)

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


def all_rows(n: int) -> NDArray[np.uint32]:
    return np.arange(n, dtype=ROW)
