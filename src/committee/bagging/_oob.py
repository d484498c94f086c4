"""Out-of-bag and validation errors of a bagged model while it grows.

Every row is predicted by the members that were not fitted on it; validation rows are predicted by all members. The
usual out-of-bag error is that of the combined prediction; the mean of the members' own errors,
``history_["member_oob_error"]``, is the other estimate.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.ensemble.oob import Loss, OutOfBag
from committee.sampling.row_samples import Indices

Rule = Literal["vote", "mean", "weighted", "median"]

MIN_ERROR = 1e-12
"""Lower limit of a member's error as a fraction of the variance of the target, so that its coefficient is finite."""


class Tally(OutOfBag):
    """The sums of `OutOfBag` with a coefficient for every member: vote, mean and weighted mean."""

    def __init__(self, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> None:
        super().__init__(target, weight, n_columns, loss)
        self.coefficient_sum = np.zeros(len(target))  # of the members that predicted the row

    def take(self, rows: Indices, predictions: Floats, coefficient: float) -> float:
        """Add one member's predictions of `rows`; return the error, nan before a row of positive weight."""
        if not rows.size:
            return self.error
        self.coefficient_sum[rows] += coefficient
        return self.add(rows, coefficient * predictions)

    def _mean_of(self, rows: NDArray[np.integer]) -> Floats:
        return self.total[rows] / self.coefficient_sum[rows, np.newaxis]


class MedianTally(Tally):
    """The median of the predictions of every row: they are kept in ascending order, filled up with infinity."""

    def __init__(self, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> None:
        super().__init__(target, weight, n_columns, loss)
        self.ordered = np.full((len(target), 8), np.inf)

    def take(self, rows: Indices, predictions: Floats, coefficient: float) -> float:
        if rows.size and int(self.n_predictions[rows].max()) == self.ordered.shape[1]:
            self.ordered = np.hstack([self.ordered, np.full_like(self.ordered, np.inf)])
        ordered = self.ordered[rows]
        ordered[np.arange(rows.size), self.n_predictions[rows]] = predictions[:, 0]
        self.ordered[rows] = np.sort(ordered, axis=1, kind="stable")  # one entry is out of order: a single pass
        return super().take(rows, predictions, coefficient)

    def _mean_of(self, rows: NDArray[np.integer]) -> Floats:
        n = self.n_predictions[rows]
        return 0.5 * (self.ordered[rows, (n - 1) // 2] + self.ordered[rows, n // 2])[:, np.newaxis]


def make_tally(rule: Rule, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> Tally:
    """An empty tally for members that are combined by this rule."""
    return (MedianTally if rule == "median" else Tally)(target, weight, n_columns, loss)


def own_error(rows: Indices, predictions: Floats, tally: Tally) -> float:
    """The member's error on the rows outside its sample; nan if none has a positive weight."""
    w, target = tally.weight[rows], tally.target[rows]
    if not np.any(w > 0.0):
        return math.nan
    wrong = predictions.argmax(axis=1) != target if tally.loss == "zero_one" else (predictions[:, 0] - target) ** 2
    return float(np.sum(w * wrong) / np.sum(w))


def inverse_error(error: float, variance: float) -> float:
    """The coefficient of a member in the weighted mean: variance of the target over its error, 1 without an error."""
    if math.isnan(error) or variance == 0.0:
        return 1.0
    return 1.0 / max(error / variance, MIN_ERROR)


class Record(NamedTuple):
    """One row of ``history_``."""

    round: int
    oob_error: float
    member_oob_error: float
    validation_error: float
    n_leaves: int  # -1 if the members are not trees of the library
    coefficient: float  # of the member in the combination


def members_missing(n_rows: int, n_members: int, outside: float) -> int | None:
    """How many more members leave less than one of `n_rows` without a prediction on average; None if no number does.

    With B members a row has no out-of-bag prediction with probability (1 - outside)^B, 0.632^B for bootstrap samples.
    """
    if outside <= 0.0:
        return None
    wanted = math.ceil(math.log(n_rows) / -math.log1p(-outside)) if outside < 1.0 and n_rows > 1 else 1
    return max(1, wanted - n_members)
