"""Prediction intervals from out-of-bag errors: the prediction plus the order statistics between which errors lie.

With n errors e_(1) <= ... <= e_(n) and j = floor((n + 1) (1 - coverage) / 2) a new error lies between e_(j) and
e_(n + 1 - j) with a probability of at least `coverage`, if it is exchangeable with these and j >= 1, so for
n >= 2 / (1 - coverage) - 1: 19 errors at 90 %, 39 at 95 %. Of fewer errors the smallest and the largest are the ends,
and a new error lies between them with probability (n - 1) / (n + 1) only, whatever was asked for: 0.85 for n = 12.
Under weights an error counts as so many, and n is the sum of the weights.

Zhang, Zimmerman, Nettleton and Nordman, Random forest prediction intervals, 2020.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def n_errors_needed(coverage: float) -> int:
    """The fewest errors whose order statistics can promise `coverage`.

    >>> n_errors_needed(0.9), n_errors_needed(0.95)
    (19, 39)
    """
    return math.ceil((2.0 / (1.0 - coverage) - 1.0) * (1.0 - 1e-12))  # rounding aside


def _place(total: Floats, outside: float) -> int:
    """Where the row of number floor(outside) stands, for rows counted up to each place; rounding aside."""
    return int(np.searchsorted(total, np.floor(outside * (1.0 + 1e-12)) * (1.0 - 1e-12)))
