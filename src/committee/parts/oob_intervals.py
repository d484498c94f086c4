"""Prediction intervals from out-of-bag errors: the prediction plus the order statistics between which errors lie.

With n errors e_(1) <= ... <= e_(n) and j = floor((n + 1) (1 - coverage) / 2) a new error lies between e_(j) and
e_(n + 1 - j) with a probability of at least `coverage`, if it is exchangeable with these and j >= 1, so for
n >= 2 / (1 - coverage) - 1: 19 errors at 90 %, 39 at 95 %. Of fewer errors the smallest and the largest are the ends,
and a new error lies between them with probability (n - 1) / (n + 1) only, whatever was asked for: 0.85 for n = 12.
Under weights an error counts as so many, and n is the sum of the weights.

Zhang, Zimmerman, Nettleton and Nordman, Random forest prediction intervals, 2020. Nothing in it asks what the members
are, so every ensemble of numbers that is judged out of bag has them.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.callers import level_of_caller
from committee.parts.resampling import are_whole, without_common_factor

Floats = NDArray[np.float64]


class Residuals(NamedTuple):
    """Errors in ascending order, and how many rows each one is."""

    value: Floats
    n_each: Floats

    @classmethod
    def of(cls, errors: Floats, weight: Floats) -> Residuals:
        """Weights that are no numbers of rows get the mean one."""
        order = np.argsort(errors, kind="stable")
        count = without_common_factor(weight)
        count = count if are_whole(count) else count / count.mean()
        return cls(errors[order], count[order])

    def ends(self, coverage: float) -> Floats:
        """The lower and the upper end, relative to a prediction."""
        outside = (self.n_each.sum() + 1.0) * 0.5 * (1.0 - coverage)
        low, high = (_place(np.cumsum(count), outside) for count in (self.n_each, self.n_each[::-1]))
        return self.value[[low, self.value.size - 1 - high]]

    def promised(self, coverage: float) -> float:
        """The coverage that these ends can promise: what was asked for, or less if the errors are too few for it.

        >>> twelve = Residuals.of(np.arange(12.0), np.ones(12))
        >>> twelve.promised(0.8), round(twelve.promised(0.95), 3)
        (0.8, 0.846)
        """
        n = float(self.n_each.sum())
        return coverage if n >= n_errors_needed(coverage) else min(coverage, (n - 1.0) / (n + 1.0))

    def too_few(self, coverage: float) -> str:
        """What is to be said of ends that promise less than was asked for; nothing if they promise it."""
        if self.promised(coverage) >= coverage:
            return ""
        return (
            f"{100 * coverage:.4g} % intervals need the errors of {n_errors_needed(coverage)} rows, and there are "
            f"{self.n_each.sum():.4g}: the ends are the smallest and the largest of them, which promise "
            f"{100 * self.promised(coverage):.3g} % only. Fit on more rows, or ask for less coverage."
        )


class OutOfBagIntervals:
    """`predict_interval` of an ensemble of numbers, whose `fit` leaves ``_residuals`` where rows were judged."""

    _to_judge: ClassVar[str]  # what makes a fit judge rows out of bag

    if TYPE_CHECKING:

        def predict(self, X: Any) -> Floats: ...

    def _need_members(self) -> None:
        """Refuse what is not fitted."""
        raise NotImplementedError

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Lower and upper ends (n_samples, 2): the prediction plus quantiles of the out-of-bag errors.

        Zhang, Zimmerman, Nettleton and Nordman, Random forest prediction intervals, 2020. The share of new rows inside
        is about `coverage` on average over all rows; it is not adapted to each row. That takes n >= 2 / (1 - coverage)
        - 1 rows judged out of bag (19 for 90 %, 39 for 95 %); with fewer the ends are the extreme errors, which promise
        (n - 1) / (n + 1) only, and a UserWarning says so. Out of bag a row is judged by about a third of the members,
        so that intervals of few members are too wide rather than too narrow.
        """
        self._need_members()
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage}.")
        residuals = self.oob_residuals()
        if residuals is None:
            raise ValueError(f"Intervals come from out-of-bag errors: fit with {self._to_judge}.")
        if words := residuals.too_few(coverage):
            warnings.warn(words, UserWarning, stacklevel=level_of_caller())
        return self.predict(X)[:, np.newaxis] + residuals.ends(coverage)

    def oob_residuals(self) -> Residuals | None:
        """Errors of the rows judged out of bag, which `predict_interval` is made of; None if fewer than two were."""
        self._need_members()
        residuals: Residuals | None = getattr(self, "_residuals", None)
        return None if residuals is None or residuals.value.size < 2 else residuals


def n_errors_needed(coverage: float) -> int:
    """The fewest errors whose order statistics can promise `coverage`.

    >>> n_errors_needed(0.9), n_errors_needed(0.95)
    (19, 39)
    """
    return math.ceil((2.0 / (1.0 - coverage) - 1.0) * (1.0 - 1e-12))  # rounding aside


def _place(total: Floats, outside: float) -> int:
    """Where the row of number floor(outside) stands, for rows counted up to each place; rounding aside."""
    return int(np.searchsorted(total, np.floor(outside * (1.0 + 1e-12)) * (1.0 - 1e-12)))
