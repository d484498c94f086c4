"""Combinations of regressors that are updated member by member: sum, mean, weighted median."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from committee.base.array_types import Floats
from committee.base.stats import TIE
from committee.members.member import Predictions


class Combination(Protocol):
    """The combined prediction of the members so far for a set of rows."""

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
    """Weighted median of the members; a new member mostly moves it to a neighbouring prediction."""

    def __init__(self, n_rows: int, capacity: int = 16) -> None:
        self.predictions = np.empty((n_rows, capacity))
        self.coefficients: list[float] = []
        self.value = np.zeros(n_rows)
        self.below, self.at = (
            np.zeros(n_rows),
            np.zeros(n_rows),
        )  # coefficients of smaller and equal ones

    def add(self, predictions: Predictions, coefficient: float) -> None:
        n_members = len(self.coefficients)
        if n_members == self.predictions.shape[1]:
            self.predictions = np.hstack([self.predictions, np.empty_like(self.predictions)])
        self.predictions[:, n_members] = predictions
        self.coefficients.append(coefficient)
        if n_members == 0:
            self.value = np.array(predictions, np.float64)
        self.below += np.where(predictions < self.value, coefficient, 0.0)
        self.at += np.where(predictions == self.value, coefficient, 0.0)
        half = (0.5 - TIE) * float(np.sum(self.coefficients))
        self._move(half, up=True)
        self._move(half, up=False)

    def _move(self, half: float, up: bool) -> None:
        """Move to the next larger or smaller prediction until the median has half of the coefficients."""
        c = np.array(self.coefficients)
        rows = np.flatnonzero(self.below + self.at < half if up else self.below >= half)
        while rows.size:
            all_, value = self.predictions[rows, : c.size], self.value[rows, np.newaxis]
            beyond = all_ > value if up else all_ < value
            has_next = beyond.any(axis=1)  # false only by rounding
            rows, all_, beyond = rows[has_next], all_[has_next], beyond[has_next]
            value = np.where(beyond, all_, np.inf).min(axis=1) if up else np.where(beyond, all_, -np.inf).max(axis=1)
            at = (all_ == value[:, np.newaxis]) @ c
            below = self.below[rows] + self.at[rows] if up else self.below[rows] - at
            self.value[rows], self.below[rows], self.at[rows] = value, below, at
            rows = rows[below + at < half] if up else rows[below >= half]


class NotTracked:
    """A combination of value nan, where updating it would cost more than the fit."""

    def __init__(self, n_rows: int) -> None:
        self.value = np.full(n_rows, np.nan)

    def add(self, predictions: Predictions, coefficient: float) -> None:
        pass


def root_mean_square(residual: Floats, weight: Floats) -> float:
    """Compute the root mean square of residuals under weights that sum to one."""
    return float(np.sqrt(np.sum(weight * residual**2)))


def mean_absolute(residual: Floats, weight: Floats) -> float:
    """Compute the mean absolute residual under weights that sum to one."""
    return float(np.sum(weight * np.abs(residual)))
