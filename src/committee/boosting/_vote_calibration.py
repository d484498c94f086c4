"""How sure a vote may be: the slope s in P(y = +1 | x) = 1 / (1 + exp(-2 s f(x))).

The minimiser of the exponential loss is half the log-odds (Friedman, Hastie and Tibshirani 2000), so s = 1 if f were
known. But f is fitted: on the rows it was fitted to it is surer than on others, the more so the more was fitted. On
real data (docs/boosting.md) the slope that suits new rows follows a shrinkage law,

    s = n / (n + c S),        S = sum of |a_t h_t(leaf)| over all leaves of all members

with n rows and a constant c of the data: about 12 for two classes, near 0 without noise and more with much of it. Short
trial runs on half of the rows, judged on the other half, give c; where S is small beside n its usual value will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import log_losses
from committee.calibration.slope import minimize_log_loss
from committee.members.member import Member, TreeMember
from committee.sampling.splits import rows_to_split

Rows = NDArray[np.int64]
Probabilities = Callable[[Floats], Floats]
"""From scores to a probability of every class."""

USUAL = 12.0
"""c where there are too few rows to measure it, or so many that it hardly matters."""

NEGLIGIBLE = 1.0 / 200.0
"""S / n up to which the usual c will do: the slope is 0.94 or more, and with a c four times as large still 0.8."""

MAX_ROWS = 2000
"""Distinct rows in either half: more would cost time and change c little."""

MIN_ROWS = 20
"""Fewer distinct rows than this measure nothing."""

MIN_ROUNDS = 10
"""A trial has a quarter of the rounds of the run it is for, but no fewer than this where that run has so many."""


class HeldOutScores(NamedTuple):
    """Scores of rows that were not learned from."""

    score: Floats
    codes: Rows
    weight: Floats


class Trial(NamedTuple):
    """What a vote learned from one half of the rows says of the other half."""

    held_out: HeldOutScores
    n_rows: float  # of the half that was learned from, whole weights counted as rows
    size: float  # S


def vote_size(members: Sequence[Member], coefficients: Sequence[float] | Floats, n_features: int) -> float:
    """S: how much was fitted, in votes."""
    return float(np.abs(coefficients) @ np.array([_leaf_votes(member, n_features) for member in members]))


def _leaf_votes(member: Member, n_features: int) -> float:
    """Sum of |h| over the leaves; what is no tree counts as a linear rule, a number for each feature and one more."""
    if not isinstance(member, TreeMember):
        return n_features + 1.0
    predictions = member.node_predictions[member.tree.is_leaf]
    return float(
        predictions.size if predictions.dtype == np.int64 else np.abs(predictions).sum()
    )  # int64: codes of classes


def shrinkage(c: float, n_rows: float, size: float) -> float:
    """s = n / (n + c S)."""
    return n_rows / (n_rows + c * size)


def halves(X: NDArray[np.floating], codes: Rows) -> tuple[Rows, Rows] | None:
    """Two halves of every class, in the order of their content; None if there are too few rows."""
    rows = rows_to_split(X, codes, is_class=True)
    if rows.n_distinct < MIN_ROWS:
        return None
    some = rows.take(rows.content < 2 * MAX_ROWS)
    is_odd = some.places(None) % 2 == 1
    return some.row[~is_odd], some.row[is_odd]


def log_loss(held_out: HeldOutScores, slope: float, probabilities: Probabilities) -> float:
    """Sum of w ln(1 / P(y | x))."""
    return float(
        np.sum(held_out.weight * log_losses(probabilities(slope * held_out.score), held_out.codes, floor=1e-300))
    )


def fit_slope(held_out: HeldOutScores, probabilities: Probabilities) -> float:
    """The slope that makes the held_out rows likeliest; 1 if the search ends with a larger loss."""

    def loss(log_slope: float) -> float:
        return log_loss(held_out, float(np.exp(log_slope)), probabilities)

    return float(np.exp(minimize_log_loss(loss, (-7.0, 3.0), 0.0, "slope of the probabilities")))


def fit_shrinkage(trials: Sequence[Trial], probabilities: Probabilities) -> float:
    """The c that makes the held_out rows likeliest, to three digits: rounding of the scores must not show in it."""

    def loss(log_c: float) -> float:
        slopes = [shrinkage(np.exp(log_c), trial.n_rows, trial.size) for trial in trials]
        return sum(log_loss(trial.held_out, slope, probabilities) for trial, slope in zip(trials, slopes, strict=True))

    log_c = minimize_log_loss(loss, (-4.0, 7.0), float(np.log(USUAL)), "shrinkage of the probabilities")
    return float(f"{np.exp(log_c):.3g}")
