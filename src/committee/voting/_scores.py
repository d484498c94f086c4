"""Weighted scores of out-of-fold predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import log_losses
from committee.voting._rows import Task


def class_scores(task: Task, codes: NDArray[np.int64], probabilities: Floats | None) -> dict[str, float]:
    """Compute the error and, from probabilities, the log-loss."""
    scores = {"error": float(np.average(codes != task.target, weights=task.weight)), "log_loss": np.nan}
    if probabilities is not None:
        loss = log_losses(probabilities, task.target.astype(np.int64))
        scores["log_loss"] = float(np.average(loss, weights=task.weight))
    return scores


def regression_scores(task: Task, predicted: Floats) -> dict[str, float]:
    """Compute the root mean squared error and the mean absolute error."""
    error = predicted - task.target
    mean_square = float(np.average(error * error, weights=task.weight))
    return {"rmse": float(np.sqrt(mean_square)), "mae": float(np.average(np.abs(error), weights=task.weight))}
