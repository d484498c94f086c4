"""Prediction intervals from out-of-bag errors: the prediction plus the order statistics between which errors lie.

With n errors e_(1) <= ... <= e_(n) and j = floor((n + 1) (1 - coverage) / 2) a new error lies between e_(j) and
e_(n + 1 - j) with a probability of at least `coverage`, if it is exchangeable with these. Under weights an error counts
as so many, and n is the sum of the weights.

Zhang, Zimmerman, Nettleton and Nordman, Random forest prediction intervals, 2020.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.parts.resampling import are_whole

Floats = NDArray[np.float64]


class Residuals(NamedTuple):
    """Errors in ascending order, and how many rows each one is."""

    value: Floats
    n_each: Floats

    @classmethod
    def of(cls, errors: Floats, weight: Floats) -> Residuals:
        """Weights that are no numbers of rows get the mean one."""
        order = np.argsort(errors, kind="stable")
        count = weight if are_whole(weight) else weight / weight.mean()
        return cls(errors[order], count[order])

    def ends(self, coverage: float) -> Floats:
        """The lower and the upper end, relative to a prediction."""
        outside = (self.n_each.sum() + 1.0) * 0.5 * (1.0 - coverage)
        low, high = (_place(np.cumsum(count), outside) for count in (self.n_each, self.n_each[::-1]))
        return self.value[[low, self.value.size - 1 - high]]


def _place(total: Floats, outside: float) -> int:
    """Where the row of number floor(outside) stands, for rows counted up to each place; rounding aside."""
    return int(np.searchsorted(total, np.floor(outside * (1.0 + 1e-12)) * (1.0 - 1e-12)))
