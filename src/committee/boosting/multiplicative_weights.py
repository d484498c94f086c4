"""The loop that every multiplicative booster shares; an algorithm is its rule for the coefficient.

Notation: w the weights of the rows (sum 1), h the hypothesis of the round, u = y h(x) in [-1, 1], its
weighted error e = sum w (1 - u) / 2 and edge r = sum w u = 1 - 2 e, a the coefficient, f = sum a h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.boosting._votes import ManyClasses, TwoClasses
from committee.kernels.boosting.row_weights import multiply_weights
from committee.members.member import Member, WeakLearner

ONLY_MEMBER = 1e-9
"""Coefficient of a first hypothesis no better than chance: it answers, and its probabilities stay at even odds."""


ROUNDING = 1e-12


class Round(NamedTuple):
    """What a rule may look at when it chooses the coefficient."""

    error: float  # e
    edge: float  # r = 1 - 2 e
    min_edge: float  # of all rounds so far, this one included
    min_margin: float  # of f before this round; 0 before the first
    n_classes: int
    min_start: float  # smallest initial weight
    agreement: NDArray[np.int8] | NDArray[np.float64]  # u
    weight: NDArray[np.float64]
    scale: float = 1.0  # largest confidence, where answers are confidences divided by it


class Step(NamedTuple):
    """A rule's verdict: the coefficient, the margin target behind it, and why to stop where it is time to.

    A stop with coefficient 0 discards the hypothesis, any other keeps it as the last one.
    """

    coefficient: float
    theta: float = 0.0
    stop: str = ""
    is_perfect: bool = False


Rule = Callable[[Round], Step]


class Record(NamedTuple):
    """What a round measured: a row of `history_`."""

    round: int
    error: float
    edge: float
    coefficient: float
    theta: float
    normalizer: float  # sum w exp(-a u), Z
    exponential_risk: float  # product of the Z so far = sum w0 exp(-y f(x)) >= training error (E-7)
    edge_bound: float  # product of sqrt(1 - r^2) so far (E-7), nan from the round on in which Z is larger
    train_error: float
    min_margin: float
    max_weight: float
    validation_error: float


class Turn(NamedTuple):
    """One round as the loop hands it out."""

    record: Any  # Record, or what another algorithm measures
    member: Member | None  # None where the round was discarded
    stop: str
    is_perfect: bool = False


class State(NamedTuple):
    """Where a run stands; a warm start goes on from here."""

    weight: NDArray[np.float64]
    score: NDArray[np.float64]
    start: NDArray[np.float64]  # the initial weights
    fingerprint: tuple[Any, ...]  # of the rows
    members: tuple[Member, ...]
    coefficients: tuple[float, ...]
    records: tuple[Any, ...]
    stop: str  # why the rule ended the run, if it did


def boost(
    learn: WeakLearner,
    votes: TwoClasses | ManyClasses,
    state: State,
    rule: Rule,
    seeds: Sequence[int],
    *,
    n_classes: int = 2,
    learning_rate: float = 1.0,
) -> Iterator[Turn]:
    """Boost round by round. state.weight and votes.score are changed in place."""
    w, w0 = state.weight, state.start
    last = state.records[-1] if state.records else None
    total = float(np.sum(np.abs(state.coefficients)))
    risk, bound = (last.exponential_risk, last.edge_bound) if last else (1.0, 1.0)
    min_edge = min((record.edge for record in state.records), default=1.0)
    min_margin = last.min_margin if last else 0.0
    lightest = float(w0.min())
    for t, seed in enumerate(seeds, start=len(state.records) + 1):
        # Step 1: a hypothesis that does well under the weights
        guess = learn(w, seed)
        u = votes.agreement(guess.predictions)
        # Step 2: its weighted error and its edge
        error = weighted_error(w, u)
        edge = 1.0 - 2.0 * error
        min_edge = min(min_edge, edge)
        # Step 3: its coefficient
        step = rule(Round(error, edge, min_edge, min_margin, n_classes, lightest, u, w, guess.scale))
        a = learning_rate * step.coefficient
        if a == 0.0 and total == 0.0:
            a = ONLY_MEMBER  # there is no other: it answers alone
        # Step 4: rows it gets wrong gain weight
        z = reweigh(w, a, u)
        # Step 5: put down what is known now
        total += abs(a)
        min_margin, train_error = votes.tally(a, guess.predictions, total, w0)
        risk *= z
        limit = float(np.sqrt(max(1.0 - edge * edge, 0.0))) if a != 0.0 else 1.0
        bound *= limit if z <= limit + ROUNDING else np.nan
        record = Record(t, error, edge, a, step.theta, z, risk, bound, train_error, min_margin, float(w.max()), np.nan)
        # A perfect hypothesis leaves the weights as they are: only another sample of the rows brings a new one.
        stop = "" if step.is_perfect and learn.resamples else step.stop
        yield Turn(record, guess.member if a != 0.0 else None, stop, step.is_perfect)
        if stop:
            return


def weighted_error(w: NDArray[np.float64], u: NDArray[np.int8] | NDArray[np.float64]) -> float:
    """e = sum w (1 - u) / 2: the weight of the wrong answers where u is -1 or +1."""
    if u.dtype == np.int8:
        return float((w * (u < 0)).sum())
    return float(np.sum(w * (0.5 - 0.5 * u)))


def reweigh(w: NDArray[np.float64], a: float, u: NDArray[np.int8] | NDArray[np.float64]) -> float:
    """w <- w exp(-a u) / Z in place; return Z."""
    with np.errstate(over="ignore", invalid="ignore"):
        if u.dtype == np.int8:
            z = float(multiply_weights(w, u, np.exp(np.array([a, -a]))))
        else:
            w *= np.exp(-a * u)
            z = float(w.sum())
    if not 0.0 < z < np.inf:
        raise ValueError(f"The coefficient {a:g} takes the weights of the rows beyond float64: lower learning_rate.")
    w /= z
    return z
