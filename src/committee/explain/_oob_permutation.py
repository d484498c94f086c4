"""Importance 1: how much the answers to out-of-bag rows suffer when a feature's values are exchanged (D-3).

The rows are shuffled. Those out of the bag of tree t stand in that order on a ring, and for feature j the ring is
turned by a random number of places: every row takes the value of another one. With h_t(i) the vote of tree t on row i,
h_tj(i) that with the other value, and Q(i, k), Q_j(i, k) the shares of the votes for class k of the trees that did not
see row i:

    forest   mean_i (m(i) - m_j(i)),   m(i) = Q(i, y_i) - max_{k != y_i} Q(i, k)            fall of the margin
    tree     mean_t mean_{i unseen by t} ([h_t(i) = y_i] - [h_tj(i) = y_i])                 fall of the accuracy

The first is the one of the documents (Breiman 2001, section 10), the second that of Breiman's program, "mean decrease
accuracy" of randomForest and ranger. For numbers both are rises of the squared error, of the mean of the trees that
did not see the row, or of every tree for itself. Means over rows are weighted, and a row gives its value away in
proportion to its weight.

The squared error of a mean is not linear in the trees: if every tree took the value of a row of its own choice, the
choices would average out and the error would rise less than it does when one value is replaced. So for the first form
of numbers all trees use one ring of all rows.

The standard error of a mean over trees is their deviation over the root of their number; that of the margin, which is
no mean over trees, comes from leaving out one of ten groups of trees after the other (jackknife).

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
from committee.explain._oob_forest import JudgedForest, Predictions, depth_of, mean_of
from committee.kernels.predict.forest_walk import LANES
from committee.kernels.predict.permuted_walk import find_detours

Codes = NDArray[np.int64]
Sums = NDArray[Any]
"""Of votes (int32) or of numbers (float64)."""

GROUPS = 10
"""Of trees, for the jackknife: its error is then known to about a quarter, at the price of ten more means."""

BLOCK_NUMBERS = 1 << 22
"""Numbers of rows, features, classes and groups that are held at a time; it decides the rows of a block."""


class Ring(NamedTuple):
    """The unseen rows of a tree in a circle, and how far it is turned for each feature."""

    rows: Codes  # [m], sorted
    place: Codes  # [m], of each row on the ring
    givers: Codes  # [m or more], the row whose value is handed out at each place
    shift: Codes  # [d]


class OobPermutation(NamedTuple):
    """Falls of margins and accuracies, or rises of squared errors; columns are all rows, then those of each class."""

    forest: Floats  # [d, 1 + K]
    forest_error: Floats  # [d, 1 + K], standard errors
    tree: Floats  # [d, 1 + K]
    tree_error: Floats  # [d, 1 + K]
    local: Floats  # [n, d], of every row by the forest, nan where no tree is left to judge it; empty if not wanted


class _Shared(NamedTuple):
    """What all blocks read."""

    forest: JudgedForest
    columns: NDArray[np.floating]  # [d, n], the rows again
    predictions: Predictions  # [nodes]
    depths: Sequence[int]
    groups: int


class _Sums(NamedTuple):
    """What a block of rows adds: weighted falls and weights, by the forest without each group, and by every tree."""

    forest: Floats  # [1 + groups, d, 1 + K]
    forest_weight: Floats  # [1 + groups, 1 + K]
    tree: Floats  # [trees, d, 1 + K]
    tree_weight: Floats  # [trees, 1 + K]
    local: Floats  # [rows, d]


def oob_permutation(
    forest: JudgedForest,
    seeds: Sequence[Sequence[int]],
    *,
    shares_ring: bool = False,
    keeps_local: bool = False,
    n_jobs: int | None = None,
) -> OobPermutation:
    """Both forms, means over `seeds` [repeats, trees]; the seed of a tree decides how its rows exchange values.

    With `shares_ring` a row takes the same value in all trees; the seed of the first tree decides.
    """
    n, d = forest.X.shape
    of_forest, of_tree, local = [], [], np.zeros((n, d) if keeps_local else (0, d))
    for of_repeat in seeds:
        order = np.random.default_rng(of_repeat[0]).permutation(n)
        shuffled = in_order(forest, order)
        rings = make_rings(shuffled, of_repeat, shares_ring)
        sums, result = _over_blocks(shuffled, rings, keeps_local, n_jobs)
        of_forest.append(_ratio(sums.forest, sums.forest_weight))
        of_tree.append(_ratio(sums.tree, sums.tree_weight))
        if keeps_local:
            local[order] += result / len(seeds)
    by_forest, by_tree = np.mean(of_forest, axis=0), np.mean(of_tree, axis=0)
    return OobPermutation(
        by_forest[0], _jackknife(by_forest[1:]), mean_of(by_tree), standard_error(by_tree), local
    )  # fmt: skip


def in_order(forest: JudgedForest, order: Codes) -> JudgedForest:
    """The rows in another order."""
    n = order.size
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    unseen: list[Codes] = []
    for rows in forest.unseen:
        is_unseen = np.zeros(n, np.bool_)
        is_unseen[place[rows]] = True
        unseen.append(np.flatnonzero(is_unseen))
    return forest._replace(X=forest.X[order], target=forest.target[order], weight=forest.weight[order], unseen=unseen)


def make_ring(unseen: Codes, weight: Floats, n_features: int, seed: int) -> Ring:
    """Rows in their order and a random turn for every feature."""
    rng, m = np.random.default_rng(seed), unseen.size
    place, givers, w = np.arange(m), unseen, weight[unseen]
    if m and np.any(w != w[0]):  # systematic draws: a row stands on the ring as often as its weight asks, on average
        ends = np.cumsum(w)
        at = (np.arange(m) + rng.random()) / m * ends[-1]
        givers = givers[np.minimum(np.searchsorted(ends, at, side="right"), m - 1)]
    shift = 1 + rng.integers(0, m - 1, n_features) if m > 1 else np.zeros(n_features, np.int64)
    return Ring(unseen, place, givers, shift)


def make_rings(forest: JudgedForest, seeds: Sequence[int], shares_ring: bool) -> list[Ring]:
    """One for each tree, or one of all rows on which every tree has its places."""
    if not shares_ring:
        pairs = zip(forest.unseen, seeds, strict=True)
        return [make_ring(unseen, forest.weight, forest.n_features, seed) for unseen, seed in pairs]
    ring = make_ring(np.flatnonzero(forest.weight > 0.0), forest.weight, forest.n_features, seeds[0])
    place = np.full(len(forest.X), -1, np.int64)
    place[ring.rows] = ring.place
    return [ring._replace(rows=unseen, place=place[unseen]) for unseen in forest.unseen]


def _over_blocks(
    forest: JudgedForest, rings: Sequence[Ring], keeps_local: bool, n_jobs: int | None
) -> tuple[_Sums, Floats]:
    """Sums over blocks of rows, added in their order: threads change no bit."""
    n, d = forest.X.shape
    groups = min(GROUPS, forest.n_trees)
    size = max(1, BLOCK_NUMBERS // (d * forest.n_columns * (groups + 1)))
    depths = [depth_of(tree) for tree in forest.trees]
    shared = _Shared(forest, np.ascontiguousarray(forest.X.T), forest.predictions(), depths, groups)
    calls = [(shared, rings, slice(i, min(i + size, n))) for i in range(0, n, size)]
    threads = n_threads(n_jobs, n * d * forest.n_trees)
    total, local = _Sums(*[np.zeros(())] * 5), []
    for first in range(0, len(calls), 2 * threads):
        for part in run(_judge_block, calls[first : first + 2 * threads], threads):
            added = [a + b for a, b in zip(total[:4], part[:4], strict=True)]
            total = _Sums(added[0], added[1], added[2], added[3], total.local)
            local += [part.local] if keeps_local else []
    return total, np.concatenate(local) if local else np.zeros((0, d))


def _judge_block(shared: _Shared, rings: Sequence[Ring], block: slice) -> _Sums:
    """All trees on the rows of a block."""
    forest, groups = shared.forest, shared.groups
    b, d, k = block.stop - block.start, forest.n_features, forest.n_columns
    kind: Any = np.int32 if forest.n_classes else np.float64
    predicted = np.zeros((groups, b, k), kind)  # sums of the answers of each group
    moved = np.zeros((groups, b, d, k), kind)  # what the exchange of a feature changes in them
    n_judges = np.zeros((groups, b), np.int64)
    of_tree = np.zeros((forest.n_trees, d, 1 + forest.n_classes))
    of_tree_weight = np.zeros((forest.n_trees, 1 + forest.n_classes))
    for t, ring in enumerate(rings):
        g = t * groups // forest.n_trees
        begin, end = np.searchsorted(ring.rows, [block.start, block.stop])
        rows = ring.rows[begin:end]
        old, taker, feature, new = _detours(shared, ring, begin, end, t)
        n_judges[g, rows - block.start] += 1
        _add(predicted[g], (rows - block.start,), old, 1)
        at = (rows[taker] - block.start, feature)
        _add(moved[g], at, new, 1)
        _add(moved[g], at, old[taker], -1)
        harm = forest.losses(rows[taker], new) - forest.losses(rows[taker], old[taker])
        of_tree[t] = _by_class(forest, rows[taker], feature, harm, d)
        of_tree_weight[t] = _by_class(forest, rows, np.zeros(rows.size, np.int64), np.ones(rows.size), 1)[0]
    everywhere = np.arange(block.start, block.stop)
    sums, weights, local = _judge_forest(forest, everywhere, predicted, moved, n_judges)
    return _Sums(sums, weights, of_tree, of_tree_weight, local)


def _detours(
    shared: _Shared, ring: Ring, begin: int, end: int, t: int
) -> tuple[Predictions, Codes, Codes, Predictions]:
    """Answers of tree t to the rows begin..end of a ring; takers, features and answers where another one is given."""
    forest, predictions, depth = shared.forest, shared.predictions, shared.depths[t]
    d, packed = forest.n_features, forest.packed
    most = (end - begin) * min(depth, d) + 1  # one place to write to beyond the last
    own, value = np.empty(end - begin, predictions.dtype), np.empty(most, forest.X.dtype)
    taker, feature, node = (np.empty(most, np.int64) for _ in range(3))
    tile, path = np.empty((LANES, d), forest.X.dtype), np.empty((depth + 1, LANES), np.uintp)
    n_found = find_detours(
        forest.X, shared.columns, ring.rows[begin:end], ring.place[begin:end], ring.givers, ring.shift, packed.roots[t],
        packed.nodes, packed.category_set, packed.categories, predictions, tile, path, np.empty(d, np.int64), own,
        taker, feature, value, node,
    )  # fmt: skip
    return own, taker[:n_found], feature[:n_found], predictions[node[:n_found]]


def _add(to: Sums, at: tuple[Codes, ...], predictions: Predictions, sign: int) -> None:
    """Add votes (one at the place of the class) or numbers to `to` [..., k], modified in place."""
    place = np.ravel_multi_index(at, to.shape[:-1]) * to.shape[-1]
    if predictions.dtype.kind == "f":
        np.add.at(to.reshape(-1), place, sign * predictions)
    else:
        np.add.at(to.reshape(-1), place + predictions, to.dtype.type(sign))


def _by_class(forest: JudgedForest, rows: Codes, feature: Codes, harm: Floats, d: int) -> Floats:
    """Weighted sums [d, 1 + K] of harm over all rows, and over those of each class."""
    weighted = forest.weight[rows] * harm
    k = forest.n_classes
    sums = np.empty((d, 1 + k))
    sums[:, 0] = np.bincount(feature, weighted, d)
    if k:
        sums[:, 1:] = np.bincount(feature * k + forest.target[rows], weighted, d * k).reshape(d, k)
    return sums


def _judge_forest(
    forest: JudgedForest,
    rows: Codes,
    predicted: NDArray[np.int32] | Floats,
    moved: NDArray[np.int32] | Floats,
    n_judges: Codes,
) -> tuple[Floats, Floats, Floats]:
    """Weighted falls and weights of the rows, by all trees and without each group; the falls of every row."""
    everything = predicted.sum(axis=0), moved.sum(axis=0), n_judges.sum(axis=0)
    local = _decreases(forest, rows, *everything)
    sums, weights = [], []
    for g in range(-1, len(predicted)):
        left = (
            everything if g < 0 else (a - b[g] for a, b in zip(everything, (predicted, moved, n_judges), strict=True))
        )
        decreases = local if g < 0 else _decreases(forest, rows, *left)
        is_in = _memberships(forest, rows) * ~np.isnan(decreases[:, :1])
        sums.append(np.nan_to_num(decreases).T @ is_in)
        weights.append(is_in.sum(axis=0))
    return np.array(sums), np.array(weights), local


def _decreases(forest: JudgedForest, rows: Codes, predicted: Sums, moved: Sums, n_judges: Codes) -> Floats:
    """Fall of the margin, or rise of the squared error, of every row and feature; nan without a judge."""
    n = np.where(n_judges > 0, n_judges, np.nan)[:, np.newaxis]
    target = forest.target[rows]
    if not forest.n_classes:
        error = target[:, np.newaxis] - predicted / n
        return (error - moved[:, :, 0] / n) ** 2 - error**2
    before = _lead(predicted[:, np.newaxis], target)
    return (before - _lead(predicted[:, np.newaxis] + moved, target)) / n


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


def _memberships(forest: JudgedForest, rows: Codes) -> Floats:
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
    """Standard error from what is found without each of the groups [groups, ...]; nan with a single one."""
    g = len(left_out)
    if g < 2:
        return np.full(left_out.shape[1:], np.nan)
    return np.sqrt((g - 1.0) / g * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
