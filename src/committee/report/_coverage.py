"""Prediction intervals of the rows of a report, and their coverage.

On rows that the model was not fitted on, the intervals are those of its `predict_interval`. Of a comparison, and out of
bag, an interval is the prediction plus two order statistics of the residuals (`calibration.prediction_intervals`), and
coverage is cross-validated: the ends come from the residuals of all groups of rows but one and are evaluated on that
one. Held-out rows of a comparison are covered by intervals from the out-of-fold residuals.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from committee.base.array_types import Floats
from committee.base.text import format_level, format_percent
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals

LEVELS = (0.5, 0.8, 0.9, 0.95)
SHOWN_LEVEL = 0.9


class Coverage(NamedTuple):
    """Fractions of the targets inside, below and above the intervals of one level, and their mean width."""

    level: float
    inside: float
    below: float
    above: float
    stderr: float  # of `inside`
    sampling_error: float  # standard deviation of `inside` if the level is correct
    width: float

    @classmethod
    def of(cls, level: float, y: Floats, ends: Floats, n_residuals: float = np.inf) -> Coverage:
        """Coverage of y [n] by intervals [n, 2] whose ends come from this number of residuals."""
        n, (low, high) = y.size, ends.T
        below, above, inside = (float(np.mean(each)) for each in (y < low, y > high, (low <= y) & (y <= high)))
        rate = inside if 0.0 < inside < 1.0 else 1.0 / (n + 2.0)  # Laplace
        stderr, sampling = np.sqrt(rate * (1.0 - rate) / n), level * (1.0 - level) * (1.0 / n + 1.0 / n_residuals)
        return cls(level, inside, below, above, float(stderr), float(np.sqrt(sampling)), float(np.mean(high - low)))

    @property
    def is_low(self) -> bool:
        """Whether fewer targets are covered than the level, beyond sampling error."""
        return self.inside < self.level - 2.0 * self.sampling_error

    @property
    def sentence(self) -> str:
        """Coverage beside its level."""
        is_high = self.inside > self.level + 2.0 * self.sampling_error
        relation = "significantly less than" if self.is_low else "more than" if is_high else "consistent with"
        return (
            f"{format_level(self.level)} intervals cover {format_percent(self.inside, stderr=self.stderr)} of the "
            f"targets, {relation} their level ({format_percent(self.below)} below, {format_percent(self.above)} above)."
        )


class Intervals(NamedTuple):
    """Intervals of the evaluated rows."""

    coverages: tuple[Coverage, ...]  # by level
    ends: Floats  # [n, 2], of the shown level
    n_residuals: float  # fewest residuals that an end comes from
    is_own: bool  # whether they are those of `predict_interval`
    held_out: tuple[Coverage, ...] = ()  # by level, of the held-out rows of a comparison

    @property
    def shown(self) -> Coverage:
        """Coverage of the shown level."""
        return self.coverages[LEVELS.index(SHOWN_LEVEL)]


def own_intervals(model: Any, prediction: Floats, y: Floats) -> Intervals | None:
    """Intervals of `predict_interval` around the predictions of new rows; None if the model has no residuals."""
    while isinstance(model, Pipeline):
        model = model[-1]
    if not isinstance(model, PredictionIntervals):
        return None
    residuals = model.interval_residuals()
    n = float(residuals[0].n_each.sum()) if residuals else np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few residuals are described in the notes
        try:
            ends = [model.interval_around(prediction, level) for level in LEVELS]
        except ValueError:  # neither residuals nor fitted quantiles of these levels
            return None
    coverages = tuple(Coverage.of(level, y, each, n) for level, each in zip(LEVELS, ends, strict=True))
    return Intervals(coverages, ends[LEVELS.index(SHOWN_LEVEL)], n, is_own=True)


def cross_validated_intervals(prediction: Floats, y: Floats, group: NDArray[np.int64]) -> Intervals:
    """Intervals from the residuals of the other groups.

    >>> y = np.arange(100.0) - 49.5
    >>> cross_validated_intervals(np.zeros(100), y, np.arange(100) % 5).coverages[1].inside
    0.82
    """
    error = y - prediction
    ends = {level: np.empty((y.size, 2)) for level in LEVELS}
    for one in np.unique(group):
        here = group == one
        residuals = Residuals.of(error[~here], np.ones(int((~here).sum())))
        for level in LEVELS:
            ends[level][here] = prediction[here, np.newaxis] + residuals.ends(level)
    coverages = tuple(Coverage.of(level, y, each) for level, each in ends.items())
    fewest = y.size - int(np.unique(group, return_counts=True)[1].max())
    return Intervals(coverages, ends[SHOWN_LEVEL], fewest, is_own=False)


def held_out_coverages(error: Floats, prediction: Floats, y: Floats) -> tuple[Coverage, ...]:
    """Coverage of held-out targets by intervals from out-of-fold residuals, by level."""
    residuals = Residuals.of(error, np.ones(error.size))
    return tuple(
        Coverage.of(level, y, prediction[:, np.newaxis] + residuals.ends(level), error.size) for level in LEVELS
    )
