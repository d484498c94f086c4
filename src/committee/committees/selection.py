"""Weights of members from their answers to rows they did not learn from.

Everything is judged by the squared error: of numbers, and of class shares (the Brier score, the sum over the classes of
(P_k - [y = k])^2). The error of a weighted mean is the weighted mean of the errors e_m, so that

    loss(w) = sum_i v_i |sum_m w_m e_m(i)|^2 = w' G w,        G_ml = sum_i v_i e_m(i) . e_l(i),   v the rows' weights

and the matrix G of members against members, computed once, judges any mean of them. A vote or a median is judged by
what it answers.

Greedy ensemble selection with replacement (Caruana, Niculescu-Mizil, Crew and Ksikes, Ensemble selection from libraries
of models, 2004):

    1. begin with nobody
    2. add the member, of all and again and again, that makes the loss of the mean of those chosen smallest
    3. the weight of a member is how often it was chosen, at the step at which the loss was smallest

Bagged selection takes the mean of the weights over selections from a random part of the members, each judged on a
bootstrap sample of the rows: a member that is chosen by luck in one of them does little harm. Where one member is far
ahead of the others, the bags choose from all members instead. Stacked weights are those of smallest loss on the simplex
(`voting.simplex_weights`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Loss = Callable[[Floats], float]
"""The loss of a committee by the weights [M] of its members, whose sum is 1."""

N_STEPS = 30
N_BAGS = 30
PART = 0.7
"""Of the members that a selection of a bag may choose."""


class Judged(NamedTuple):
    """Errors of M members on n rows that they did not learn from, and the rows' weights."""

    errors: Floats  # [M, n, C], one column for numbers and K for classes
    weight: Floats  # [n], sum 1

    def gram(self, weight: Floats | None = None) -> Floats:
        """G [M, M]; under other weights of the rows if given."""
        v = self.weight if weight is None else weight
        flat = (self.errors * np.sqrt(v)[:, np.newaxis]).reshape(len(self.errors), -1)
        return flat @ flat.T

    def row_losses(self, weights: Floats) -> Floats:
        """The loss of a weighted mean on every row."""
        return np.sum(np.einsum("m,mnc->nc", weights, self.errors) ** 2, axis=1)


def predicted_rows(predictions: Floats) -> NDArray[np.bool_]:
    """[n]: the rows that every member has an answer to."""
    first: Floats = predictions.reshape(*predictions.shape[:2], -1)[:, :, 0]
    return np.all(~np.isnan(first), axis=0)


def make_judged(predictions: Floats, y: NDArray[np.generic], weight: Floats) -> Judged:
    """From class shares [M, n, K] or numbers [M, n]; rows that some member has no answer to are left out."""
    if predictions.ndim == 3:
        errors = predictions - np.eye(predictions.shape[2])[np.asarray(y, np.int64)]
    else:
        errors = (predictions - np.asarray(y, np.float64))[:, :, np.newaxis]
    known = predicted_rows(predictions)
    if not known.any():
        raise ValueError("No row was left out by every member: give more rows, or other members.")
    return Judged(errors[:, known], weight[known] / weight[known].sum())


class Step(NamedTuple):
    """A row of `history_`: who was added, and the loss then."""

    step: int
    member: int
    loss: float


class Selection(NamedTuple):
    """Weights [M] with sum 1, and the steps that led there."""

    weights: Floats
    steps: tuple[Step, ...]


def loss_of(weights: Floats, gram: Floats) -> float:
    """w' G w."""
    return float(weights @ gram @ weights)


def greedy_selection(gram: Floats, n_steps: int = N_STEPS) -> Selection:
    """Caruana's selection.

    >>> errors = np.array([[1.0, -1.0, 1.0, -1.0], [-0.8, 0.9, -1.0, 0.9], [3.0, 3.0, 3.0, 3.0]])
    >>> greedy_selection(errors @ errors.T, 2).weights
    array([0.5, 0.5, 0. ])
    """
    own = np.diag(gram)
    counts, product = np.zeros(len(gram)), np.zeros(len(gram))  # product = G counts
    total, best, best_counts = 0.0, np.inf, counts  # total = counts' G counts
    steps: list[Step] = []
    for t in range(1, n_steps + 1):
        losses = (total + 2.0 * product + own) / t**2
        chosen = int(np.argmin(losses))
        total += 2.0 * product[chosen] + own[chosen]
        product = product + gram[chosen]
        counts[chosen] += 1.0
        steps.append(Step(t, chosen, float(losses[chosen])))
        if losses[chosen] < best:
            best, best_counts = float(losses[chosen]), counts.copy()
    return Selection(best_counts / best_counts.sum(), tuple(steps))


def slope_of_loss(judged: Judged) -> tuple[float, float]:
    """How the loss of the greedy committee of the other members begins to change with a weight of the last member.

    With c the committee's error, e the member's and a the member's weight, on every row

        d/da |(1 - a) c + a e|^2 / 2 at a = 0  =  c . (e - c)

    Its mean over the rows, and the standard error of that. The loss is convex in a: where it begins to rise, no weight
    of the member lowers it.

    >>> errors = np.array([[[1.0], [-1.0]], [[2.0], [-2.0]]])
    >>> slope_of_loss(Judged(errors, np.full(2, 0.5)))
    (1.0, 0.0)
    """
    others = Judged(judged.errors[:-1], judged.weight)
    together = np.einsum("m,mnc->nc", greedy_selection(others.gram()).weights, others.errors)
    change = np.sum(together * (judged.errors[-1] - together), axis=1)
    mean = float(judged.weight @ change)
    return mean, float(np.sqrt(np.sum((judged.weight * (change - mean)) ** 2)))


def bagged_selection(judged: Judged, seed: int, n_bags: int = N_BAGS) -> Selection:
    """The mean weights of many selections; the steps are those of one from all members and rows.

    Where one member is far ahead, the bags that lack it do harm: if bags of all members are better by more than a
    standard error of the difference, row by row, theirs are the weights.
    """
    whole = greedy_selection(judged.gram())
    some = _mean_of_bags(judged, PART, seed, n_bags)
    every = _mean_of_bags(judged, 1.0, seed, n_bags)
    if some is None or every is None:
        return whole
    gain = judged.row_losses(some) - judged.row_losses(every)
    mean = float(judged.weight @ gain)
    error = float(np.sqrt(np.sum((judged.weight * (gain - mean)) ** 2)))
    return Selection(every if mean > error else some, whole.steps)


def _mean_of_bags(judged: Judged, part: float, seed: int, n_bags: int) -> Floats | None:
    """Mean weights of selections from a part of the members, each on a bootstrap sample of the rows."""
    n_members, n = judged.errors.shape[:2]
    rng = np.random.default_rng(seed)
    weights = np.zeros(n_members)
    n_some = max(min(2, n_members), round(part * n_members))
    for _ in range(n_bags):
        some = np.sort(rng.choice(n_members, n_some, replace=False))
        copies = judged.weight * np.bincount(rng.integers(0, n, n), minlength=n)
        if copies.any():
            gram = judged.gram(copies / copies.sum())
            weights[some] += greedy_selection(gram[np.ix_(some, some)]).weights
    return weights / weights.sum() if weights.any() else None


def accumulate(loss: Loss, weights: Floats) -> tuple[Step, ...]:
    """Members with a weight, the heaviest first: the loss as they join."""
    order = [m for m in np.argsort(-weights, kind="stable").tolist() if weights[m] > 0.0]
    steps: list[Step] = []
    for t in range(1, len(order) + 1):
        some = np.zeros(len(weights))
        some[order[:t]] = weights[order[:t]]
        steps.append(Step(t, order[t - 1], loss(some / some.sum())))
    return tuple(steps)


def without_idle(weights: Floats, least: float) -> Floats:
    """Weights below `least` are dropped, the others share what they had.

    >>> without_idle(np.array([0.6, 0.39, 0.01]), 0.02).round(3)
    array([0.606, 0.394, 0.   ])
    """
    kept = np.where(weights >= min(least, float(weights.max())), weights, 0.0)
    return kept / kept.sum()


def contributions(loss: Loss, weights: Floats) -> Floats:
    """Rise of the loss when a member is left out and the others share its weight; nan where it is alone."""
    whole = loss(weights)
    increases = np.zeros(len(weights))
    for m in np.flatnonzero(weights):
        others = np.where(np.arange(len(weights)) == m, 0.0, weights)
        increases[m] = loss(others / others.sum()) - whole if others.any() else np.nan
    return increases
