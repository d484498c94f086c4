"""The error of a bagged model while it grows.

Out of bag, every row is predicted by the members that were not fitted on it; validation rows are predicted by all
members. The usual out-of-bag error is that of the combined prediction; the mean of the members' own errors,
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
"""Share of the variance of the target below which a member's error counts as this share: its weight stays finite."""


class Tally(OutOfBag):
    """The sums of `OutOfBag`, every member with a coefficient: vote, mean and weighted mean."""

    def __init__(self, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> None:
        super().__init__(target, weight, n_columns, loss)
        self.share = np.zeros(len(target))  # of the coefficients, those of the row's judges

    def take(self, rows: Indices, predictions: Floats, coefficient: float) -> float:
        """One member's answers to `rows`; the error now, nan as long as no row of positive weight was judged."""
        if not rows.size:
            return self.error
        self.share[rows] += coefficient
        return self.add(rows, coefficient * predictions)

    def _loss_of(self, rows: NDArray[np.integer]) -> Floats:
        if self.loss == "zero_one":
            return super()._loss_of(rows)
        return np.mean((self._value(rows) - self.target[rows].reshape(len(rows), -1)) ** 2, axis=1)

    def _value(self, rows: NDArray[np.integer]) -> Floats:
        return self.total[rows] / self.share[rows, np.newaxis]

    @property
    def mean(self) -> Floats:
        """The combined answer for every row, nan where no member judged it."""
        value = np.full(self.total.shape, np.nan)
        rows = np.flatnonzero(self.is_judged)
        value[rows] = self._value(rows)
        return value


class MedianTally(Tally):
    """The median of the answers to every row: they are kept, sorted, infinity after the last of each row."""

    def __init__(self, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> None:
        super().__init__(target, weight, n_columns, loss)
        self.held = np.full((len(target), 8), np.inf)

    def take(self, rows: Indices, predictions: Floats, coefficient: float) -> float:
        if rows.size and int(self.n_judges[rows].max()) == self.held.shape[1]:
            self.held = np.hstack([self.held, np.full_like(self.held, np.inf)])
        held = self.held[rows]
        held[np.arange(rows.size), self.n_judges[rows]] = predictions[:, 0]
        self.held[rows] = np.sort(held, axis=1, kind="stable")  # one step from sorted: a single pass
        return super().take(rows, predictions, coefficient)

    def _value(self, rows: NDArray[np.integer]) -> Floats:
        n = self.n_judges[rows]
        return 0.5 * (self.held[rows, (n - 1) // 2] + self.held[rows, n // 2])[:, np.newaxis]


def make_tally(rule: Rule, target: NDArray[Any], weight: Floats, n_columns: int, loss: Loss) -> Tally:
    """No answers yet, for members that are combined by this rule."""
    return (MedianTally if rule == "median" else Tally)(target, weight, n_columns, loss)


def own_error(rows: Indices, predictions: Floats, tally: Tally) -> float:
    """The member's error on the rows outside its sample; nan where there are none of positive weight."""
    w, target = tally.weight[rows], tally.target[rows]
    if not np.any(w > 0.0):
        return math.nan
    wrong = predictions.argmax(axis=1) != target if tally.loss == "zero_one" else (predictions[:, 0] - target) ** 2
    return float(np.sum(w * wrong) / np.sum(w))


def inverse_error(error: float, spread: float) -> float:
    """The coefficient of a member under the weighted rule; 1 is that of the mean target, and of an unknown error."""
    if math.isnan(error) or spread == 0.0:
        return 1.0
    return 1.0 / max(error / spread, MIN_ERROR)


class Record(NamedTuple):
    """One row of ``history_``."""

    round: int
    oob_error: float
    member_oob_error: float
    validation_error: float
    n_leaves: int  # -1 where the members are not trees of the library
    coefficient: float  # of the member in the combination


def members_missing(n_rows: int, n_members: int, outside: float) -> int | None:
    """How many more members leave less than one of `n_rows` unjudged on average; None where none ever judges.

    A row is unjudged by B members with probability (1 - outside)^B, 0.632^B for bootstrap samples.
    """
    if outside <= 0.0:
        return None
    wanted = math.ceil(math.log(n_rows) / -math.log1p(-outside)) if outside < 1.0 and n_rows > 1 else 1
    return max(1, wanted - n_members)
