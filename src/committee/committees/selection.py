"""Weights of members from their held-out predictions.

The loss is the squared error, of values or of class probabilities (the Brier score, the sum over the classes of
(P_k - [y = k])^2). The error of a weighted mean is the weighted mean of the errors e_m, so that

    loss(w) = sum_i v_i |sum_m w_m e_m(i)|^2 = w' G w,        G_ml = sum_i v_i e_m(i) . e_l(i),   v the rows' weights

and the matrix G of the members, computed once, gives the loss of any weighted mean. The loss of a vote or a median is
computed from its predictions.

Greedy ensemble selection with replacement (Caruana, Niculescu-Mizil, Crew and Ksikes, Ensemble selection from libraries
of models, 2004):

    1. start with an empty committee
    2. add, with replacement, the member for which the loss of the mean of the selected members is smallest
    3. the weights are the counts of the members at the step of smallest loss

Bagged selection is the mean of the weights over selections from a random part of the members, each on a bootstrap
sample of the rows, which reduces overfitting. If one member is far better than the others, the bags select from all
members instead. Stacked weights are those of smallest loss on the simplex (`voting.simplex_weights`).
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
"""Fraction of the members in a bag."""


class HeldOutErrors(NamedTuple):
    """Errors of M members on n held-out rows, and the weights of the rows."""

    errors: Floats  # [M, n, C], C = 1 for regression, K for classes
    weight: Floats  # [n], sum 1

    def gram(self, weight: Floats | None = None) -> Floats:
        """Compute G [M, M], with other weights of the rows if given."""
        v = self.weight if weight is None else weight
        flat = (self.errors * np.sqrt(v)[:, np.newaxis]).reshape(len(self.errors), -1)
        return flat @ flat.T

    def row_losses(self, weights: Floats) -> Floats:
        """Compute the loss of a weighted mean on each row."""
        return np.sum(np.einsum("m,mnc->nc", weights, self.errors) ** 2, axis=1)


def predicted_rows(predictions: Floats) -> NDArray[np.bool_]:
    """Whether all members have predictions for each row, [n]."""
    first: Floats = predictions.reshape(*predictions.shape[:2], -1)[:, :, 0]
    return np.all(~np.isnan(first), axis=0)


def held_out_errors(predictions: Floats, y: NDArray[np.generic], weight: Floats) -> HeldOutErrors:
    """Compute the errors of probabilities [M, n, K] or values [M, n] on the rows with predictions of all members."""
    if predictions.ndim == 3:
        errors = predictions - np.eye(predictions.shape[2])[np.asarray(y, np.int64)]
    else:
        errors = (predictions - np.asarray(y, np.float64))[:, :, np.newaxis]
    rows = predicted_rows(predictions)
    if not rows.any():
        raise ValueError("No row was held out by every member: pass more rows, or other members.")
    return HeldOutErrors(errors[:, rows], weight[rows] / weight[rows].sum())


class Step(NamedTuple):
    """A row of `history_`: the added member, and the loss after it."""

    step: int
    member: int
    loss: float


class Selection(NamedTuple):
    """Weights [M] with sum 1, and the steps of the selection."""

    weights: Floats
    steps: tuple[Step, ...]


def loss_of(weights: Floats, gram: Floats) -> float:
    """Compute w' G w."""
    return float(weights @ gram @ weights)


def greedy_selection(gram: Floats, n_steps: int = N_STEPS) -> Selection:
    """Select members greedily with replacement (Caruana et al. 2004).

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


def loss_derivative(held_out: HeldOutErrors) -> tuple[float, float]:
    """Compute the derivative of the loss of the greedy committee by the weight of the last member, at weight 0.

    With c the committee's error, e the member's and a the member's weight, on each row

        d/da |(1 - a) c + a e|^2 / 2 at a = 0  =  c . (e - c)

    Returns its mean over the rows and the standard error. The loss is convex in a: if the derivative is positive, no
    weight of the member decreases the loss.

    >>> errors = np.array([[[1.0], [-1.0]], [[2.0], [-2.0]]])
    >>> loss_derivative(HeldOutErrors(errors, np.full(2, 0.5)))
    (1.0, 0.0)
    """
    others = HeldOutErrors(held_out.errors[:-1], held_out.weight)
    together = np.einsum("m,mnc->nc", greedy_selection(others.gram()).weights, others.errors)
    change = np.sum(together * (held_out.errors[-1] - together), axis=1)
    mean = float(held_out.weight @ change)
    return mean, float(np.sqrt(np.sum((held_out.weight * (change - mean)) ** 2)))


def bagged_selection(held_out: HeldOutErrors, seed: int, n_bags: int = N_BAGS) -> Selection:
    """Average the weights of many selections; the steps are those of the selection from all members and rows.

    If bags of all members have a loss that is smaller by more than a standard error, their weights are used.
    """
    whole = greedy_selection(held_out.gram())
    some = _mean_of_bags(held_out, PART, seed, n_bags)
    every = _mean_of_bags(held_out, 1.0, seed, n_bags)
    if some is None or every is None:
        return whole
    gain = held_out.row_losses(some) - held_out.row_losses(every)
    mean = float(held_out.weight @ gain)
    error = float(np.sqrt(np.sum((held_out.weight * (gain - mean)) ** 2)))
    return Selection(every if mean > error else some, whole.steps)


def _mean_of_bags(held_out: HeldOutErrors, part: float, seed: int, n_bags: int) -> Floats | None:
    """Mean weights of selections from a fraction of the members, each on a bootstrap sample of the rows."""
    n_members, n = held_out.errors.shape[:2]
    rng = np.random.default_rng(seed)
    weights = np.zeros(n_members)
    n_some = max(min(2, n_members), round(part * n_members))
    for _ in range(n_bags):
        some = np.sort(rng.choice(n_members, n_some, replace=False))
        copies = held_out.weight * np.bincount(rng.integers(0, n, n), minlength=n)
        if copies.any():
            gram = held_out.gram(copies / copies.sum())
            weights[some] += greedy_selection(gram[np.ix_(some, some)]).weights
    return weights / weights.sum() if weights.any() else None


def accumulate(loss: Loss, weights: Floats) -> tuple[Step, ...]:
    """Compute the loss as the members are added in the order of decreasing weight."""
    order = [m for m in np.argsort(-weights, kind="stable").tolist() if weights[m] > 0.0]
    steps: list[Step] = []
    for t in range(1, len(order) + 1):
        some = np.zeros(len(weights))
        some[order[:t]] = weights[order[:t]]
        steps.append(Step(t, order[t - 1], loss(some / some.sum())))
    return tuple(steps)


def drop_small_weights(weights: Floats, min_weight: float) -> Floats:
    """Set weights below `min_weight` to 0 and rescale the others to sum 1.

    >>> drop_small_weights(np.array([0.6, 0.39, 0.01]), 0.02).round(3)
    array([0.606, 0.394, 0.   ])
    """
    kept = np.where(weights >= min(min_weight, float(weights.max())), weights, 0.0)
    return kept / kept.sum()


def contributions(loss: Loss, weights: Floats) -> Floats:
    """Compute the increase of the loss without each member, with the other weights rescaled; nan for a single one."""
    whole = loss(weights)
    increases = np.zeros(len(weights))
    for m in np.flatnonzero(weights):
        others = np.where(np.arange(len(weights)) == m, 0.0, weights)
        increases[m] = loss(others / others.sum()) - whole if others.any() else np.nan
    return increases
