"""What rows that a member did not see say of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import log_losses
from committee.voting._rows import Task


def class_scores(task: Task, codes: NDArray[np.int64], shares: Floats | None) -> dict[str, float]:
    """Share of wrong answers and, of class distributions, the log loss; rows by their weights."""
    scores = {"error": float(np.average(codes != task.target, weights=task.weight)), "log_loss": np.nan}
    if shares is not None:
        loss = log_losses(shares, task.target.astype(np.int64))
        scores["log_loss"] = float(np.average(loss, weights=task.weight))
    return scores


def number_scores(task: Task, predicted: Floats) -> dict[str, float]:
    """Root of the mean squared error, and the mean absolute error; rows by their weights."""
    error = predicted - task.target
    mean_square = float(np.average(error * error, weights=task.weight))
    return {"rmse": float(np.sqrt(mean_square)), "mae": float(np.average(np.abs(error), weights=task.weight))}
