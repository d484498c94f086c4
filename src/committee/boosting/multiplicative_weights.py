"""The loop of boosting by multiplicative weights; an algorithm is its rule for the coefficient.

Notation: w the weights of the rows (sum 1), h the hypothesis of the round, u = y h(x) in [-1, 1], its
weighted error e = sum w (1 - u) / 2 and edge r = sum w u = 1 - 2 e, a the coefficient, f = sum a h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.boosting.votes import Votes
from committee.kernels.boosting.row_weights import multiply_weights
from committee.members.member import Member, WeakLearner

ONLY_MEMBER = 1e-9
"""Coefficient of a first hypothesis no better than chance: it alone predicts, with even probabilities."""

ROUNDING = 1e-12


class Round(NamedTuple):
    """The quantities of a round from which a rule computes the coefficient."""

    error: float  # e
    edge: float  # r = 1 - 2 e
    min_edge: float  # of all rounds so far, this one included
    min_margin: float  # of f before this round; 0 before the first
    n_classes: int
    min_start: float  # smallest initial weight
    agreement: NDArray[np.int8] | NDArray[np.float64]  # u
    weight: NDArray[np.float64]
    scale: float = 1.0  # the largest confidence, by which the predictions are divided


class Step(NamedTuple):
    """The result of a rule: the coefficient, the margin target it is computed for, and a reason to stop, if any.

    A stop with coefficient 0 discards the hypothesis, any other keeps it as the last one.
    """

    coefficient: float
    theta: float = 0.0
    stop: str = ""
    is_perfect: bool = False


Rule = Callable[[Round], Step]


class Record(NamedTuple):
    """Measurements of a round: a row of `history_`."""

    round: int
    error: float
    edge: float
    coefficient: float
    theta: float
    normalizer: float  # sum w exp(-a u), Z
    exponential_risk: float  # product of the Z so far = sum w0 exp(-y f(x)) >= training error
    edge_bound: float  # product of sqrt(1 - r^2) so far, nan from the round on in which Z is larger
    train_error: float
    min_margin: float
    max_weight: float
    validation_error: float


class Turn(NamedTuple):
    """The result of one round."""

    record: Any  # Record, or that of another algorithm
    member: Member | None  # None where the round was discarded
    stop: str
    is_perfect: bool = False


class State(NamedTuple):
    """The state after a round, from which a warm start continues."""

    weight: NDArray[np.float64]
    score: NDArray[np.float64]
    start: NDArray[np.float64]  # the initial weights
    fingerprint: tuple[Any, ...]  # of the rows
    members: tuple[Member, ...]
    coefficients: tuple[float, ...]
    records: tuple[Any, ...]
    stop: str  # why the rule ended the run, if it did


def boost(
    weak_learner: WeakLearner,
    votes: Votes,
    state: State,
    rule: Rule,
    seeds: Sequence[int],
    *,
    n_classes: int = 2,
    learning_rate: float = 1.0,
) -> Iterator[Turn]:
    """Boost round by round; `state.weight` and `votes.score` are changed in place."""
    w, w0 = state.weight, state.start
    last = state.records[-1] if state.records else None
    total = float(np.sum(np.abs(state.coefficients)))
    risk, bound = (last.exponential_risk, last.edge_bound) if last else (1.0, 1.0)
    min_edge = min((record.edge for record in state.records), default=1.0)
    min_margin = last.min_margin if last else 0.0
    lightest = float(w0.min())
    for t, seed in enumerate(seeds, start=len(state.records) + 1):
        # Step 1: a hypothesis of large edge under the weights
        h = weak_learner(w, seed)
        u = votes.agreement(h.predictions)
        # Step 2: its weighted error and its edge
        error = weighted_error(w, u)
        edge = 1.0 - 2.0 * error
        min_edge = min(min_edge, edge)
        # Step 3: its coefficient
        step = rule(Round(error, edge, min_edge, min_margin, n_classes, lightest, u, w, h.scale))
        a = learning_rate * step.coefficient
        if a == 0.0 and total == 0.0:
            a = ONLY_MEMBER  # the only hypothesis
        # Step 4: the weights of misclassified rows increase
        z = reweight(w, a, u)
        # Step 5: the record
        total += abs(a)
        min_margin, train_error = votes.tally(a, h.predictions, total, w0)
        risk *= z
        limit = float(np.sqrt(max(1.0 - edge * edge, 0.0))) if a != 0.0 else 1.0
        bound *= limit if z <= limit + ROUNDING else np.nan
        record = Record(t, error, edge, a, step.theta, z, risk, bound, train_error, min_margin, float(w.max()), np.nan)
        # A perfect hypothesis does not change the weights: only another sample of the rows gives another hypothesis.
        stop = "" if step.is_perfect and weak_learner.resamples else step.stop
        yield Turn(record, h.member if a != 0.0 else None, stop, step.is_perfect)
        if stop:
            return


def weighted_error(w: NDArray[np.float64], u: NDArray[np.int8] | NDArray[np.float64]) -> float:
    """Compute e = sum w (1 - u) / 2: the weight of the misclassified rows where u is -1 or +1."""
    if u.dtype == np.int8:
        return float((w * (u < 0)).sum())
    return float(np.sum(w * (0.5 - 0.5 * u)))


def reweight(w: NDArray[np.float64], a: float, u: NDArray[np.int8] | NDArray[np.float64]) -> float:
    """Set w <- w exp(-a u) / Z in place; return Z."""
    with np.errstate(over="ignore", invalid="ignore"):
        if u.dtype == np.int8:
            z = float(multiply_weights(w, u, np.exp(np.array([a, -a]))))
        else:
            w *= np.exp(-a * u)
            z = float(w.sum())
    if not 0.0 < z < np.inf:
        raise ValueError(f"The weights exceed float64 with the coefficient {a:g}: use a smaller learning_rate.")
    w /= z
    return z
