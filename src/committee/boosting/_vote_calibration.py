"""Calibration of the probabilities of a vote: the slope s in P(y = +1 | x) = 1 / (1 + exp(-2 s f(x))).

The minimizer of the expected exponential loss is half the log-odds (Friedman, Hastie and Tibshirani 2000), with s = 1.
A fitted f is more confident on its training rows than on others, and the more so the larger the model. On real data
(docs/boosting.md) the slope that fits new rows follows a shrinkage rule,

    s = n / (n + c S),        S = sum of |a_t h_t(leaf)| over all leaves of all members

with n rows and a constant c of the data: about 12 for two classes, near 0 without noise, larger with more noise. c is
estimated by short trial fits on half of the rows, evaluated on the other half; if S is small compared with n the
default is used.
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
"""From scores to class probabilities."""

DEFAULT_C = 12.0
"""c where there are too few rows to estimate it, or so many that it has little effect."""

NEGLIGIBLE = 1.0 / 200.0
"""S / n up to which the default c is used: the slope is at least 0.94, and 0.8 for a c four times as large."""

MAX_ROWS = 2000
"""Maximum number of distinct rows in each half."""

MIN_ROWS = 20
"""Minimum number of distinct rows for a trial."""

MIN_ROUNDS = 10
"""A trial has a quarter of the rounds of the fit, and at least this number, or as many as the fit."""


class HeldOutScores(NamedTuple):
    """Scores of held-out rows."""

    score: Floats
    codes: Rows
    weight: Floats


class Trial(NamedTuple):
    """The scores of one half of the rows by a vote fitted on the other half."""

    held_out: HeldOutScores
    n_rows: float  # training rows of the trial, integer weights counted as rows
    size: float  # S


def vote_size(members: Sequence[Member], coefficients: Sequence[float] | Floats, n_features: int) -> float:
    """Compute S, the size of the model."""
    return float(np.abs(coefficients) @ np.array([_leaf_votes(member, n_features) for member in members]))


def _leaf_votes(member: Member, n_features: int) -> float:
    """Sum |h| over the leaves; a member that is no tree counts as a linear model with an intercept."""
    if not isinstance(member, TreeMember):
        return n_features + 1.0
    predictions = member.node_predictions[member.tree.is_leaf]
    is_codes = predictions.dtype == np.int64
    return float(predictions.size if is_codes else np.abs(predictions).sum())


def shrinkage(c: float, n_rows: float, size: float) -> float:
    """Compute s = n / (n + c S)."""
    return n_rows / (n_rows + c * size)


def halves(X: NDArray[np.floating], codes: Rows) -> tuple[Rows, Rows] | None:
    """Split every class into two halves by the values of the rows; None if there are too few."""
    rows = rows_to_split(X, codes, is_class=True)
    if rows.n_distinct < MIN_ROWS:
        return None
    some = rows.take(rows.content < 2 * MAX_ROWS)
    is_odd = some.places(None) % 2 == 1
    return some.row[~is_odd], some.row[is_odd]


def log_loss(held_out: HeldOutScores, slope: float, probabilities: Probabilities) -> float:
    """Compute sum w ln(1 / P(y | x))."""
    return float(
        np.sum(held_out.weight * log_losses(probabilities(slope * held_out.score), held_out.codes, floor=1e-300))
    )


def fit_slope(held_out: HeldOutScores, probabilities: Probabilities) -> float:
    """Fit the slope by maximum likelihood of the held-out rows; 1 if the search ends with a larger loss."""

    def loss(log_slope: float) -> float:
        return log_loss(held_out, float(np.exp(log_slope)), probabilities)

    return float(np.exp(minimize_log_loss(loss, (-7.0, 3.0), 0.0, "slope of the probabilities")))


def fit_shrinkage(trials: Sequence[Trial], probabilities: Probabilities) -> float:
    """Fit c by maximum likelihood of the held-out rows, to three digits, so that rounding of scores has no effect."""

    def loss(log_c: float) -> float:
        slopes = [shrinkage(np.exp(log_c), trial.n_rows, trial.size) for trial in trials]
        return sum(log_loss(trial.held_out, slope, probabilities) for trial, slope in zip(trials, slopes, strict=True))

    log_c = minimize_log_loss(loss, (-4.0, 7.0), float(np.log(DEFAULT_C)), "shrinkage of the probabilities")
    return float(f"{np.exp(log_c):.3g}")
