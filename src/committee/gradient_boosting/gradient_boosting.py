"""Gradient tree boosting: any loss L(y, s), by steps along trees in the space of functions (G-4, G-5).

Round t, at the scores s_i of the rows:

    g_i = -L'(y_i, s_i), h_i = L''(y_i, s_i)
    a tree whose splits maximise the fall of the loss, G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)
    the value of every leaf minimises the loss of its rows: the median for the absolute error, the quantile for the
    quantile loss, else one Newton step G / (H + l2)
    s_i <- s_i + rate * value of the leaf of x_i

In the first-order form (Friedman 2001) the tree is the least-squares fit to the negative gradients (h_i = 1 while it
grows), in the second-order form (Chen and Guestrin 2016) the hessians take part in the splits too. A Newton step may
overshoot: a step that would raise the loss of its leaf is halved until it does not, and with several scores per row a
whole round is; so without sampling the training loss never rises, but for Huber's, whose bend moves with the residuals,
and with dropout, which shrinks earlier trees.

Friedman, Greedy function approximation: a gradient boosting machine, 2001. Chen and Guestrin, XGBoost, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads
from committee.gradient_boosting._trees import (
    GrownTree,
    TreeGrower,
    TreePlan,
    TreeStack,
    all_rows,
    has_many_categories,
    newton_values,
    quantile_values,
)
from committee.gradient_boosting.dart import Memory
from committee.kernels.boosting import derivatives as d
from committee.kernels.boosting import leaves
from committee.losses.gradient import NO_WEIGHTS, Head, LossError, OwnValues, Slope, mean_loss, weighted_quantile
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints

MOST_HALVINGS = 40
ROUNDING = 1e-12
"""A loss that rises by less than this share is taken to stand still."""


LONGEST_STEP = 30.0
"""Of a class's score: beyond it a share is 0 or 1, and one leaf without curvature would shorten the whole round."""


class Problem(NamedTuple):
    """What is learned: coded rows, targets, weights (empty if equal) and the loss of every score."""

    matrix: BinnedMatrix
    y: NDArray[Any]
    weight: Floats
    heads: tuple[Head, ...]
    judged: tuple[Head, ...]  # the losses that rounds are compared by: those of the heads, with a bend that stays
    is_multinomial: bool
    constraints: Constraints
    counts: Floats = NO_WEIGHTS  # rows that each row is, where the weights hold those of classes too


class Plan(NamedTuple):
    """How it is learned."""

    tree: TreePlan
    learning_rate: float
    subsample: float
    colsample: float  # share of the features that a tree may use
    dropout: float  # probability that an earlier round is left out (dart.py)
    n_jobs: int | None


class Turn(NamedTuple):
    """One round: its trees, one per score, and the mean training loss after it."""

    trees: tuple[GrownTree, ...]
    train_loss: float
    n_halved: int  # steps that were shortened
    rescaled: tuple[tuple[int, float], ...] = ()  # earlier rounds whose trees now count this share of what they did


def gradient_boosting(
    problem: Problem, plan: Plan, score: Floats, seeds: Sequence[int], stack: TreeStack
) -> Iterator[Turn]:
    """Boost from `score` [heads, n], which moves on in place; a round per seed. The trees are put on `stack`."""
    n = problem.y.size
    threads = n_threads(plan.n_jobs, n * 8)
    slope = Slope(problem.heads, problem.y, problem.weight, problem.is_multinomial)
    grower = TreeGrower(problem.matrix, problem.constraints, plan.tree, problem.weight, plan.n_jobs, problem.counts)
    memory = Memory() if plan.dropout > 0.0 else None
    is_sampled = plan.subsample < 1.0 or memory is not None
    is_monotone = bool(np.any(problem.constraints.monotone))
    everyone = all_rows(n)
    judge = Slope(problem.judged, problem.y, problem.weight, False) if problem.judged != problem.heads else None
    loss = _update(slope, problem, score, threads)
    for seed in seeds:
        rng = np.random.default_rng(seed) if is_sampled or plan.colsample < 1.0 else None
        sample = _sample_rows(rng, everyone, plan.subsample)
        features = _sample_features(rng, problem.matrix.n_features, plan.colsample)
        dropped = memory.draw(rng, plan.dropout) if memory is not None and rng is not None else []
        if memory is not None and dropped:
            for earlier in dropped:
                memory.add(earlier, -1.0, score)
            _update(slope, problem, score, threads)
        grown: list[GrownTree] = []
        n_halved = 0
        for k, head in enumerate(slope.heads):
            # Step 1: a tree that follows the negative gradients
            nodes, value, weight_out = stack.room()
            tree = _grow(grower, slope, k, head, plan, sample.copy(), nodes, value, features, seed)
            # Step 2: leaves that minimise the loss
            n_halved += _optimise_leaves(tree, slope, k, head, problem, plan, score[k], is_monotone)
            if problem.weight.size:
                leaves.sum_leaf_weights(tree.nodes, tree.nodes.size, tree.rows, problem.weight, weight_out)
            stack.keep(tree.nodes.size, k)
            grown.append(tree)
        rescaled = ()
        if memory is not None:
            rescaled = _share_out(memory, dropped, grown, grower, stack, score)
        # Step 3: a step along the trees, halved as long as it raises the loss
        _step(grown, score, grower, n, 1.0)
        new_loss = _update(slope, problem, score, threads)
        while problem.is_multinomial and not is_sampled and new_loss > loss * (1.0 + ROUNDING):
            if n_halved > MOST_HALVINGS:
                break
            share = 0.5 if n_halved < MOST_HALVINGS else 1.0  # at last the whole step is taken back
            _step(grown, score, grower, n, -share)
            for tree in grown:
                tree.value[:] *= 1.0 - share
            n_halved += 1
            new_loss = _update(slope, problem, score, threads)
        loss = new_loss
        yield Turn(tuple(grown), loss if judge is None else judge.update(score, threads), n_halved, rescaled)


class Run:
    """Rounds of gradient boosting, one at a time; how trees are grown may change between two of them."""

    def __init__(self, problem: Problem, plan: Plan, score: Floats, seeds: Sequence[int], stack: TreeStack) -> None:
        """`score` moves on in place."""
        self.problem, self.plan, self.score, self.seeds, self.stack = problem, plan, score, seeds, stack
        self.n_done = 0
        self.turns = gradient_boosting(problem, plan, score, seeds, stack)

    def next_turn(self) -> Turn:
        turn = next(self.turns)
        self.n_done += 1
        return turn

    def frees_categories(self) -> bool:
        """Go on without the penalty on splits of many categories; False if there is none or it changes nothing.

        It takes two columns of many categories for their pairs to tell what neither tells by itself.
        """
        plan = self.plan
        if plan.tree.category_penalty == 0.0 or plan.dropout > 0.0 or not has_many_categories(self.problem.matrix, 2):
            return False
        self.plan = plan._replace(tree=plan.tree._replace(category_penalty=0.0))
        self.turns = gradient_boosting(self.problem, self.plan, self.score, self.seeds[self.n_done :], self.stack)
        return True


def _share_out(
    memory: Memory, dropped: list[int], grown: list[GrownTree], grower: TreeGrower, stack: TreeStack, score: Floats
) -> tuple[tuple[int, float], ...]:
    """Divide the step between the new trees and the dropped ones, which come back; what was rescaled, and how."""
    n_dropped = len(dropped)
    factor = n_dropped / (n_dropped + 1.0)
    for tree in grown:
        tree.value[:] /= n_dropped + 1.0
    for earlier in dropped:
        memory.rescale(earlier, factor)
        memory.add(earlier, 1.0, score)
        stack.rescale(earlier * len(grown), (earlier + 1) * len(grown), factor)
    memory.remember([grower.place(tree.nodes) for tree in grown], [tree.value for tree in grown])
    return tuple((earlier, factor) for earlier in dropped)


def _update(slope: Slope, problem: Problem, score: Floats, threads: int) -> float:
    """Derivatives at the scores; Huber's bend moves with them."""
    slope.heads[:] = bent_heads(problem.heads, problem.y, problem.weight, score)
    return slope.update(score, threads)


def bent_heads(heads: tuple[Head, ...], y: NDArray[Any], weight: Floats, score: Floats) -> tuple[Head, ...]:
    """The losses at these scores: Huber's bend is a quantile of the residuals' sizes.

    Rounds are compared at the bend of the first scores: a smaller bend makes every loss smaller, so that a bend which
    moves would let the loss of new rows fall for as long as the residuals of the old ones do.
    """

    def bent(k: int, head: Head) -> Head:
        if head.code != d.HUBER or head.own is not None:
            return head
        return head._replace(p=max(weighted_quantile(np.abs(y - score[k]), weight, head.p), 1e-300))

    return tuple(bent(k, head) for k, head in enumerate(heads))


def _sample_rows(rng: np.random.Generator | None, everyone: NDArray[np.uint32], share: float) -> NDArray[np.uint32]:
    if rng is None or share >= 1.0:
        return everyone
    n = everyone.size
    return np.sort(rng.choice(n, max(1, round(share * n)), replace=False, shuffle=False)).astype(np.uint32)


def _sample_features(rng: np.random.Generator | None, n_features: int, share: float) -> NDArray[np.int64] | None:
    if rng is None or share >= 1.0:
        return None
    return np.sort(rng.choice(n_features, max(1, round(share * n_features)), replace=False, shuffle=False))


def _grow(
    grower: TreeGrower,
    slope: Slope,
    k: int,
    head: Head,
    plan: Plan,
    rows: NDArray[np.uint32],
    nodes: NDArray[np.void],
    value: Floats,
    features: NDArray[np.int64] | None,
    seed: int,
) -> GrownTree:
    size_g, size_h = slope.sizes[k]
    is_first_order = not plan.tree.second_order or not size_h > 0.0
    h = grower.ones if is_first_order else slope.h[k]
    size_h = grower.total_weight if is_first_order else size_h
    grower.prepare(slope.g[k], h, size_g, size_h, head.has_unit_hessian or is_first_order)
    nodes["key"][0] = seed + k
    n_nodes = grower.grow(rows, nodes, features)
    return GrownTree(nodes[:n_nodes], rows, value[:n_nodes])


def _optimise_leaves(
    tree: GrownTree, slope: Slope, k: int, head: Head, problem: Problem, plan: Plan, score: Floats, is_monotone: bool
) -> int:
    """Values of the leaves; return how many steps had to be shortened."""
    n_unsafe = 0
    if head.leaf != "newton":
        quantile_values(tree, head, problem.y, score, problem.weight, plan.learning_rate)
    else:
        n_unsafe = newton_values(tree, head, slope.g[k], slope.h[k], problem.weight, plan.tree, plan.learning_rate)
    if problem.is_multinomial:
        np.clip(tree.value, -LONGEST_STEP, LONGEST_STEP, out=tree.value)
    if is_monotone:
        return _halve_tree(tree, head, problem, score)
    if not n_unsafe or problem.is_multinomial:
        return 0
    own_values = slope.own_values[k]
    if own_values is not None and not _mark_risen(tree, own_values, problem, score):
        return 0
    unsafe = np.flatnonzero(tree.nodes["score"] == 1.0)
    return sum(_halve_leaf(tree, int(i), head, problem, score) for i in unsafe)


def _mark_risen(tree: GrownTree, own_values: OwnValues, problem: Problem, score: Floats) -> int:
    """How many leaves raise the loss of their rows; all at once in vector code, and the next round knows the values."""
    moved = score.copy()
    leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, tree.value, moved)
    before = own_values(score)
    try:
        after = own_values(moved)
    except LossError:  # too far for the user's code: leaf by leaf then
        return 1
    return leaves.mark_risen(tree.nodes, tree.nodes.size, tree.rows, before, after, problem.weight, ROUNDING)


def _halve_leaf(tree: GrownTree, i: int, head: Head, problem: Problem, score: Floats) -> int:
    """Halve the step of leaf i until the loss of its rows does not rise; whether it had to be."""
    start, n = int(tree.nodes["start"][i]), int(tree.nodes["n"][i])
    rows = tree.rows[start : start + n]
    before = _leaf_loss(head, problem, score, rows, 0.0)
    for halvings in range(MOST_HALVINGS):
        after = _leaf_loss(head, problem, score, rows, float(tree.value[i]))
        if after <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        tree.value[i] *= 0.5
    tree.value[i] = 0.0
    return 1


def _halve_tree(tree: GrownTree, head: Head, problem: Problem, score: Floats) -> int:
    """The same for all leaves together: halving one by itself could break the order that a constraint demands."""
    before = _leaf_loss(head, problem, score, tree.rows, 0.0)
    for halvings in range(MOST_HALVINGS):
        moved = score.copy()
        leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, tree.value, moved)
        if _leaf_loss(head, problem, moved, tree.rows, 0.0) <= before + ROUNDING * abs(before):
            return int(halvings > 0)
        tree.value[:] *= 0.5
    tree.value[:] = 0.0
    return 1


def _leaf_loss(head: Head, problem: Problem, score: Floats, rows: NDArray[np.uint32], step: float) -> float:
    if head.own is not None:
        try:
            return float(head.own.total(problem.y, score, problem.weight, rows, step))
        except Exception:  # the user's code may raise anything: too far; if it raises at every step, the round says so
            return math.inf
    weight = problem.weight[rows] if problem.weight.size else NO_WEIGHTS
    return mean_loss(head, problem.y[rows], score[rows] + step, weight)


def _step(grown: Sequence[GrownTree], score: Floats, grower: TreeGrower, n: int, share: float) -> None:
    """Move the scores of all rows by a share of the trees' values; rows outside the sample go down by their codes."""
    for k, tree in enumerate(grown):
        value = tree.value if share == 1.0 else share * tree.value
        if tree.rows.size == n:
            leaves.add_leaf_steps(tree.nodes, tree.nodes.size, tree.rows, value, score[k])
        else:
            score[k] += value[grower.place(tree.nodes)]
