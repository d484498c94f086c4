"""Out-of-bag permutation importance (Breiman 2001, section 10; Breiman and Cutler 2003).

Breiman: "In every tree grown in the forest, put down the oob cases and count the number of votes cast for the correct
class. Now randomly permute the values of variable m in the oob cases and put these cases down the tree." With h_t(i)
the prediction of tree t for its out-of-bag row i, h_tj(i) the prediction after feature j is permuted, and Q(i, k),
Q_j(i, k) the fractions of votes for class k among the trees for which row i is out-of-bag:

    forest   mean_i (m(i) - m_j(i)),   m(i) = Q(i, y_i) - max_{k != y_i} Q(i, k)         decrease of the margin
    tree     mean_t mean_{i oob of t} ([h_t(i) = y_i] - [h_tj(i) = y_i])                 decrease of the accuracy

The first is that of the 2001 paper, the second that of Breiman's program: "mean decrease accuracy" of randomForest and
ranger. For regression both are increases of the squared error: of the out-of-bag mean, or of every tree alone. Means
over rows are weighted, and a row donates its value with a probability proportional to its weight.

The permutation of a tree: its out-of-bag rows stand in one random order, and for feature j every row gets the value of
the row a random number of positions ahead of it, counted around the end (`Permutation`).

The squared error of a mean is not linear in the trees: if a row got another donor in every tree, the donated values
would average out, and the error would increase less than it does when one value is replaced. The first form of
regression therefore uses one permutation of all rows for all trees.

The standard error of a mean over trees is their standard deviation divided by the root of their number. The margin is
not a mean over trees: its standard error is the jackknife over ten groups of trees.

Breiman, Random forests, 2001. Breiman and Cutler, Random forests manual, 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import standard_error
from committee.base.threads import n_threads, run
from committee.explain.oob_forest import OobForest, Predictions, depth_of, mean_of
from committee.kernels.predict.forest_walk import LANES
from committee.kernels.predict.permuted_walk import Permutation, PermutedPredictions, WalkMemory, predict_permuted

Codes = NDArray[np.int64]
Sums = NDArray[Any]
"""Sums of votes (int32) or of predicted values (float64)."""

GROUPS = 10
"""Groups of trees of the jackknife: its standard error then has a relative error of about a quarter."""

BLOCK_SIZE = 1 << 22
"""Values (rows by features by classes by groups) that are held at a time; it decides the rows of a block."""


class OobPermutation(NamedTuple):
    """Decreases of margin and accuracy, or increases of squared errors; columns are all rows, then each class."""

    forest: Floats  # [d, 1 + K]
    forest_error: Floats  # [d, 1 + K], standard errors
    tree: Floats  # [d, 1 + K]
    tree_error: Floats  # [d, 1 + K]
    local: Floats  # [n, d], of every row by the forest, nan where it is out-of-bag for no tree; empty unless asked for


class _Shared(NamedTuple):
    """What all blocks read."""

    forest: OobForest
    columns: NDArray[np.floating]  # [d, n], the rows again
    predictions: Predictions  # [nodes]
    depths: Sequence[int]
    groups: int


class _Sums(NamedTuple):
    """What a block of rows adds: weighted changes and weights, of the forest without each group, and of every tree."""

    forest: Floats  # [1 + groups, d, 1 + K]
    forest_weight: Floats  # [1 + groups, 1 + K]
    tree: Floats  # [trees, d, 1 + K]
    tree_weight: Floats  # [trees, 1 + K]
    local: Floats  # [rows, d]


class _Predicted(NamedTuple):
    """Sums of the predictions of trees for the rows of a block that are out-of-bag, by groups of trees."""

    original: Sums  # [groups, rows, K or 1]
    change: Sums  # [groups, rows, d, K or 1] by permuting a feature
    n_trees: Codes  # [groups, rows] that the row is out-of-bag for


def oob_permutation(
    forest: OobForest,
    seeds: Sequence[Sequence[int]],
    *,
    one_permutation: bool = False,
    local: bool = False,
    n_jobs: int | None = None,
) -> OobPermutation:
    """Compute both forms, means over `seeds` [repeats, trees]; the seed of a tree decides its permutation.

    With `one_permutation` a row gets the same donors in all trees; the seed of the first tree decides.
    """
    n, d = forest.X.shape
    of_forest, of_tree, of_rows = [], [], np.zeros((n, d) if local else (0, d))
    for of_repeat in seeds:
        order = np.random.default_rng(of_repeat[0]).permutation(n)
        shuffled = reorder_rows(forest, order)
        permutations = draw_permutations(shuffled, of_repeat, one_permutation)
        sums, result = _over_blocks(shuffled, permutations, local, n_jobs)
        of_forest.append(_ratio(sums.forest, sums.forest_weight))
        of_tree.append(_ratio(sums.tree, sums.tree_weight))
        if local:
            of_rows[order] += result / len(seeds)
    by_forest, by_tree = np.mean(of_forest, axis=0), np.mean(of_tree, axis=0)
    error = _jackknife(by_forest[1:])
    return OobPermutation(by_forest[0], error, mean_of(by_tree), standard_error(by_tree), of_rows)


def reorder_rows(forest: OobForest, order: Codes) -> OobForest:
    """Return the same rows in another order."""
    n = order.size
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    oob = [np.sort(position[rows]) for rows in forest.oob]
    return forest._replace(X=forest.X[order], target=forest.target[order], weight=forest.weight[order], oob=oob)


def draw_permutation(oob: Codes, weight: Floats, n_features: int, seed: int) -> Permutation:
    """Draw a random shift for every feature; the rows keep their order."""
    rng, m = np.random.default_rng(seed), oob.size
    position, donors, w = np.arange(m), oob, weight[oob]
    if m and np.any(w != w[0]):  # systematic sampling: a row is a donor in proportion to its weight, on average
        ends = np.cumsum(w)
        at = (np.arange(m) + rng.random()) / m * ends[-1]
        donors = donors[np.minimum(np.searchsorted(ends, at, side="right"), m - 1)]
    shift = 1 + rng.integers(0, m - 1, n_features) if m > 1 else np.zeros(n_features, np.int64)
    return Permutation(oob, position, donors, shift)


def draw_permutations(forest: OobForest, seeds: Sequence[int], one_permutation: bool) -> list[Permutation]:
    """Draw one permutation for each tree, or one of all rows of which every tree takes those of its own."""
    if not one_permutation:
        pairs = zip(forest.oob, seeds, strict=True)
        return [draw_permutation(oob, forest.weight, forest.n_features, seed) for oob, seed in pairs]
    common = draw_permutation(np.flatnonzero(forest.weight > 0.0), forest.weight, forest.n_features, seeds[0])
    position = np.full(len(forest.X), -1, np.int64)
    position[common.rows] = common.position
    return [common._replace(rows=oob, position=position[oob]) for oob in forest.oob]


def _over_blocks(
    forest: OobForest, permutations: Sequence[Permutation], local: bool, n_jobs: int | None
) -> tuple[_Sums, Floats]:
    """Sums over blocks of rows, added in their order: the number of threads changes no bit."""
    n, d = forest.X.shape
    groups = min(GROUPS, forest.n_trees)
    size = max(1, BLOCK_SIZE // (d * forest.n_outputs * (groups + 1)))
    depths = [depth_of(tree) for tree in forest.trees]
    shared = _Shared(forest, np.ascontiguousarray(forest.X.T), forest.node_predictions(), depths, groups)
    calls = [(shared, permutations, slice(i, min(i + size, n))) for i in range(0, n, size)]
    threads = n_threads(n_jobs, n * d * forest.n_trees)
    total, of_rows = _Sums(*[np.zeros(())] * 5), []
    for first in range(0, len(calls), 2 * threads):
        for block in run(_sum_block, calls[first : first + 2 * threads], threads):
            added = [a + b for a, b in zip(total[:4], block[:4], strict=True)]
            total = _Sums(added[0], added[1], added[2], added[3], total.local)
            of_rows += [block.local] if local else []
    return total, np.concatenate(of_rows) if local else np.zeros((0, d))


def _sum_block(shared: _Shared, permutations: Sequence[Permutation], block: slice) -> _Sums:
    """Put the out-of-bag rows of a block down every tree, as they are and permuted."""
    forest, groups = shared.forest, shared.groups
    b, d, k = block.stop - block.start, forest.n_features, forest.n_outputs
    kind: Any = np.int32 if forest.n_classes else np.float64
    predicted = _Predicted(
        np.zeros((groups, b, k), kind), np.zeros((groups, b, d, k), kind), np.zeros((groups, b), np.int64)
    )
    of_tree = np.zeros((forest.n_trees, d, 1 + forest.n_classes))
    of_tree_weight = np.zeros((forest.n_trees, 1 + forest.n_classes))
    for t, permutation in enumerate(permutations):
        g = t * groups // forest.n_trees
        begin, end = np.searchsorted(permutation.rows, [block.start, block.stop])
        here = permutation._replace(rows=permutation.rows[begin:end], position=permutation.position[begin:end])
        rows, (old, changed, feature, new) = here.rows, _predict(shared, here, t)
        predicted.n_trees[g, rows - block.start] += 1
        _add(predicted.original[g], (rows - block.start,), old, 1)
        at = (rows[changed] - block.start, feature)
        _add(predicted.change[g], at, new, 1)
        _add(predicted.change[g], at, old[changed], -1)
        increase = forest.losses(rows[changed], new) - forest.losses(rows[changed], old[changed])
        of_tree[t] = _by_class(forest, rows[changed], feature, increase, d)
        of_tree_weight[t] = _by_class(forest, rows, np.zeros(rows.size, np.int64), np.ones(rows.size), 1)[0]
    sums, weights, local = _sum_forest(forest, np.arange(block.start, block.stop), predicted)
    return _Sums(sums, weights, of_tree, of_tree_weight, local)


def _predict(shared: _Shared, permutation: Permutation, t: int) -> tuple[Predictions, Codes, Codes, Predictions]:
    """Predictions of tree t for the rows; where permuting a feature changes one: row number, feature, prediction."""
    forest, predictions, depth = shared.forest, shared.predictions, shared.depths[t]
    m, d, packed = permutation.rows.size, forest.n_features, forest.packed
    n_max = m * min(depth, d) + 1  # one more place to write to
    row, feature, node = (np.empty(n_max, np.int64) for _ in range(3))
    result = PermutedPredictions(np.empty(m, predictions.dtype), row, feature, np.empty(n_max), node)
    tile, path = np.empty((LANES, d)), np.empty((depth + 1, LANES), np.uintp)
    n = predict_permuted(
        forest.X, shared.columns, permutation, packed.roots[t], packed, predictions,
        WalkMemory(tile, path, np.empty(d, np.int64)), result,
    )  # fmt: skip
    return result.original, row[:n], feature[:n], predictions[node[:n]]


def _add(to: Sums, at: tuple[Codes, ...], predictions: Predictions, sign: int) -> None:
    """Add votes (one at the position of the class) or values to `to` [..., k], modified in place."""
    position = np.ravel_multi_index(at, to.shape[:-1]) * to.shape[-1]
    if predictions.dtype.kind == "f":
        np.add.at(to.reshape(-1), position, sign * predictions)
    else:
        np.add.at(to.reshape(-1), position + predictions, to.dtype.type(sign))


def _by_class(forest: OobForest, rows: Codes, feature: Codes, increase: Floats, d: int) -> Floats:
    """Weighted sums [d, 1 + K] of increases over all rows, and over those of each class."""
    weighted = forest.weight[rows] * increase
    k = forest.n_classes
    sums = np.empty((d, 1 + k))
    sums[:, 0] = np.bincount(feature, weighted, d)
    if k:
        sums[:, 1:] = np.bincount(feature * k + forest.target[rows], weighted, d * k).reshape(d, k)
    return sums


def _sum_forest(forest: OobForest, rows: Codes, predicted: _Predicted) -> tuple[Floats, Floats, Floats]:
    """Weighted decreases and weights of the rows, by all trees and without each group; the decreases of every row."""
    everything = [of_groups.sum(axis=0) for of_groups in predicted]
    local = _decreases(forest, rows, *everything)
    sums, weights = [], []
    for g in range(-1, len(predicted.n_trees)):
        left = [a - of_groups[g] for a, of_groups in zip(everything, predicted, strict=True)] if g >= 0 else everything
        decreases = local if g < 0 else _decreases(forest, rows, *left)
        is_in = _memberships(forest, rows) * ~np.isnan(decreases[:, :1])
        sums.append(np.nan_to_num(decreases).T @ is_in)
        weights.append(is_in.sum(axis=0))
    return np.array(sums), np.array(weights), local


def _decreases(forest: OobForest, rows: Codes, original: Sums, change: Sums, n_trees: Codes) -> Floats:
    """Decrease of the margin, or increase of the squared error, of every row and feature; nan without a tree."""
    n = np.where(n_trees > 0, n_trees, np.nan)[:, np.newaxis]
    target = forest.target[rows]
    if not forest.n_classes:
        error = target[:, np.newaxis] - original / n
        return (error - change[:, :, 0] / n) ** 2 - error**2
    before = _lead(original[:, np.newaxis], target)
    return (before - _lead(original[:, np.newaxis] + change, target)) / n


def _lead(votes: Sums, target: Codes) -> Sums:
    """Votes [rows, features, K] for the true class minus those for the best other one."""
    if votes.shape[2] == 1:
        return votes[:, :, 0]
    rows = np.arange(target.size)
    own = votes[rows, :, target]
    if votes.shape[2] == 2:
        return own - votes[rows, :, 1 - target]
    others = votes.copy()
    others[rows, :, target] = -1
    return own - others.max(axis=2)


def _memberships(forest: OobForest, rows: Codes) -> Floats:
    """Weights of rows in the columns all, class 0, class 1, ..."""
    w = forest.weight[rows][:, np.newaxis]
    if not forest.n_classes:
        return w
    return w * np.hstack([np.ones((rows.size, 1)), forest.target[rows][:, np.newaxis] == np.arange(forest.n_classes)])


def _ratio(sums: Floats, weights: Floats) -> Floats:
    """Weighted means; nan where there is no weight."""
    w = weights[:, np.newaxis, :]
    return np.divide(sums, w, out=np.full(sums.shape, np.nan), where=w > 0.0)


def _jackknife(left_out: Floats) -> Floats:
    """Standard error from the values without each of the groups [groups, ...]; nan with a single one."""
    g = len(left_out)
    if g < 2:
        return np.full(left_out.shape[1:], np.nan)
    return np.sqrt((g - 1.0) / g * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
