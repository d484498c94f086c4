"""What methods are judged by: losses of predictions, the smaller the better, with their standard errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Task = Literal["classification", "regression"]

SMALLEST = float(np.finfo(np.float64).eps)
"""A probability below it counts as this much, else one row could make a log loss infinite."""

N_RESAMPLES = 100
"""Bootstrap samples behind the standard error of a metric that is no mean over rows."""


class Answers(NamedTuple):
    """What a method said of some rows."""

    labels: Codes | None  # the class it chose, by its position; None for regression
    values: Floats  # [n, K] probabilities, or [n] numbers
    sure: bool  # the probabilities are its own, not made of its choice

    def of(self, rows: Any) -> Answers:
        return Answers(None if self.labels is None else self.labels[rows], self.values[rows], self.sure)


Metric = Callable[[NDArray[Any], Answers, Floats], float]


def answers_of(model: Any, X: Any, classes: NDArray[Any] | None, predicted: NDArray[Any]) -> Answers:
    """What the model says of X, where it `predicted` these; a class it never saw has the probability 0."""
    if classes is None:
        return Answers(None, np.asarray(predicted, np.float64), sure=True)
    labels = np.searchsorted(classes, predicted)
    values = np.zeros((labels.size, classes.size))
    sure = hasattr(model, "predict_proba")
    if sure:
        values[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    else:
        values[np.arange(labels.size), labels] = 1.0
    return Answers(labels, values, sure)


# --- losses of single rows, and metrics that are their means ----------------------------------------------------------


def _error(truth: Codes, said: Answers) -> Floats:
    return (said.labels != truth).astype(np.float64)


def _log_loss(truth: Codes, said: Answers) -> Floats:
    if not said.sure:
        return np.full(truth.size, np.nan)
    chosen = said.values[np.arange(truth.size), truth] / said.values.sum(axis=1)
    return -np.log(np.clip(chosen, SMALLEST, 1.0))


def _brier(truth: Codes, said: Answers) -> Floats:
    if not said.sure:
        return np.full(truth.size, np.nan)
    wanted = np.zeros_like(said.values)
    wanted[np.arange(truth.size), truth] = 1.0
    return np.sum((said.values - wanted) ** 2, axis=1)


def _square(truth: Floats, said: Answers) -> Floats:
    return (said.values - truth) ** 2


def _absolute(truth: Floats, said: Answers) -> Floats:
    return np.abs(said.values - truth)


ROW_LOSSES: dict[str, Callable[[Any, Answers], Floats]] = {
    "error": _error,
    "log loss": _log_loss,
    "brier score": _brier,
    "rmse": _square,
    "mae": _absolute,
}


# --- metrics that are no means ----------------------------------------------------------------------------------------


def _balanced_error(truth: Codes, said: Answers, weight: Floats) -> float:
    """Mean over the classes of the error within each."""
    total = np.bincount(truth, weight)
    wrong = np.bincount(truth, weight * (said.labels != truth), total.size)
    return float(np.mean(wrong[total > 0] / total[total > 0]))


def _one_minus_auc(truth: Codes, said: Answers, weight: Floats) -> float:
    """The chance that a row of the second class is ranked below one of the first."""
    if not said.sure or np.unique(truth).size < 2:
        return np.nan
    return 1.0 - float(roc_auc_score(truth, said.values[:, 1], sample_weight=weight))


def _unexplained(truth: Floats, said: Answers, weight: Floats) -> float:
    """1 - R^2: the mean square error in units of the variance."""
    variance = np.average((truth - np.average(truth, weights=weight)) ** 2, weights=weight)
    return float(np.average(_square(truth, said), weights=weight) / variance) if variance > 0 else np.nan


OTHER_METRICS: dict[str, Metric] = {
    "balanced error": _balanced_error,
    "1 - auc": _one_minus_auc,
    "1 - r2": _unexplained,
}


def metric_names(task: Task, n_classes: int = 0) -> tuple[str, ...]:
    """The metrics for a task; the first is the default.

    >>> metric_names("regression")
    ('rmse', 'mae', '1 - r2')
    """
    if task == "regression":
        return "rmse", "mae", "1 - r2"
    names = "error", "log loss", "balanced error", "brier score"
    return (*names, "1 - auc") if n_classes == 2 else names


def loss_of(metric: str, truth: NDArray[Any], said: Answers, weight: Floats) -> float:
    """One metric of the answers, nan where it cannot be told."""
    if metric in OTHER_METRICS:
        return OTHER_METRICS[metric](truth, said, weight)
    mean = float(np.average(ROW_LOSSES[metric](truth, said), weights=weight))
    return float(np.sqrt(mean)) if metric == "rmse" else mean


def standard_error(metric: str, truth: NDArray[Any], said: Answers, weight: Floats, groups: Codes, seed: int) -> float:
    """Standard error of `loss_of` over rows of these groups (rows of one group are not independent)."""
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        return np.nan
    if metric in OTHER_METRICS:
        return _bootstrapped(metric, truth, said, weight, groups, seed)
    losses = ROW_LOSSES[metric](truth, said)
    mean = np.average(losses, weights=weight)
    # The mean is a ratio of two sums over groups; this is the linearised variance of it.
    deviations = np.bincount(groups, weight * (losses - mean)) / weight.sum()
    stderr = float(np.sqrt(n_groups / (n_groups - 1) * np.sum(deviations**2)))
    return stderr / max(2.0 * float(np.sqrt(mean)), np.finfo(np.float64).tiny) if metric == "rmse" else stderr


def _bootstrapped(metric: str, truth: NDArray[Any], said: Answers, weight: Floats, groups: Codes, seed: int) -> float:
    rng = np.random.default_rng(seed)
    n_groups = int(groups.max()) + 1
    found: list[float] = []
    for _ in range(N_RESAMPLES):
        counts = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)[groups]
        rows = np.flatnonzero(counts)
        found.append(loss_of(metric, truth[rows], said.of(rows), weight[rows] * counts[rows]))
    return float(np.nanstd(found, ddof=1)) if np.isfinite(found).sum() > 1 else np.nan
