"""The running combination of regressors over rows: sum, mean, median (B-6)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from committee.base.array_types import Floats
from committee.base.stats import TIE
from committee.members.member import Predictions


class Combination(Protocol):
    """The answer of the members so far to a set of rows."""

    value: Floats

    def add(self, predictions: Predictions, coefficient: float) -> None: ...


class RunningSum:
    """start + sum a h(x)."""

    def __init__(self, n_rows: int, start: float) -> None:
        self.value: Floats = np.full(n_rows, start)

    def add(self, predictions: Predictions, coefficient: float) -> None:
        self.value = self.value + coefficient * predictions


class RunningMean:
    """sum a h(x) / sum a."""

    def __init__(self, n_rows: int) -> None:
        self.total, self.sums, self.value = 0.0, np.zeros(n_rows), np.zeros(n_rows)

    def add(self, predictions: Predictions, coefficient: float) -> None:
        self.total += coefficient
        self.sums = self.sums + coefficient * predictions
        self.value = self.sums / self.total


class RunningMedian:
    """Weighted median of the members, kept up to date: a new member moves it to a neighbour at most places."""

    def __init__(self, n_rows: int, capacity: int = 16) -> None:
        self.predictions = np.empty((n_rows, capacity))
        self.coefficients: list[float] = []
        self.value = np.zeros(n_rows)
        self.below, self.at = np.zeros(n_rows), np.zeros(n_rows)  # weight of smaller and of equal answers

    def add(self, predictions: Predictions, coefficient: float) -> None:
        n_held = len(self.coefficients)
        if n_held == self.predictions.shape[1]:
            self.predictions = np.hstack([self.predictions, np.empty_like(self.predictions)])
        self.predictions[:, n_held] = predictions
        self.coefficients.append(coefficient)
        if n_held == 0:
            self.value = np.array(predictions, np.float64)
        self.below += np.where(predictions < self.value, coefficient, 0.0)
        self.at += np.where(predictions == self.value, coefficient, 0.0)
        half = (0.5 - TIE) * float(np.sum(self.coefficients))
        self._move(half, up=True)
        self._move(half, up=False)

    def _move(self, half: float, up: bool) -> None:
        """Step to the next larger or smaller answer where half the weight does not lie at the median."""
        c = np.array(self.coefficients)
        rows = np.flatnonzero(self.below + self.at < half if up else self.below >= half)
        while rows.size:
            held, value = self.predictions[rows, : c.size], self.value[rows, np.newaxis]
            beyond = held > value if up else held < value
            is_left = beyond.any(axis=1)  # not so at the last answer, where rounding asks for another
            rows, held, beyond = rows[is_left], held[is_left], beyond[is_left]
            value = np.where(beyond, held, np.inf).min(axis=1) if up else np.where(beyond, held, -np.inf).max(axis=1)
            at = (held == value[:, np.newaxis]) @ c
            below = self.below[rows] + self.at[rows] if up else self.below[rows] - at
            self.value[rows], self.below[rows], self.at[rows] = value, below, at
            rows = rows[below + at < half] if up else rows[below >= half]


class Untraced:
    """Stands in where following the combination would cost more than the fit: nan."""

    def __init__(self, n_rows: int) -> None:
        self.value = np.full(n_rows, np.nan)

    def add(self, predictions: Predictions, coefficient: float) -> None:
        pass


def root_mean_square(residual: Floats, weight: Floats) -> float:
    """Of the residuals under weights that sum to one."""
    return float(np.sqrt(np.sum(weight * residual**2)))


def mean_absolute(residual: Floats, weight: Floats) -> float:
    """Of the residuals under weights that sum to one."""
    return float(np.sum(weight * np.abs(residual)))
