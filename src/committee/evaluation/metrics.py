"""What methods are compared by: losses of predictions, the smaller the better, with their standard errors.

Scores of which more is better are taken as losses: accuracy as "error", AUC as "1 - auc", R^2 as "1 - r2".
`find_metric` knows them by the names that scikit-learn and users give them.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, roc_auc_score

from committee.base import stats
from committee.base.array_types import Floats
from committee.base.stats import grouped_mean
from committee.base.text import format_number, format_percent
from committee.voting.calibrated_classifier import raw_probabilities

Codes = NDArray[np.int64]
Task = Literal["classification", "regression"]

SMALLEST = float(np.finfo(np.float64).eps)
"""A probability below it counts as this much, else one row could make a log loss infinite."""

RATES = ("error", "balanced error")
"""Metrics that are fractions of rows, shown in percent."""

N_RESAMPLES = 100
"""Bootstrap samples behind the standard error of a metric that is no mean over rows."""


class Predictions(NamedTuple):
    """What a method said of some rows."""

    labels: Codes | None  # the class it chose, by its position; None for regression
    values: Floats  # [n, K] probabilities, or [n] numbers
    sure: bool  # the probabilities are its own or calibrated, not made of its scores or choice

    def of(self, rows: Any) -> Predictions:
        return Predictions(None if self.labels is None else self.labels[rows], self.values[rows], self.sure)


Metric = Callable[[NDArray[Any], Predictions, Floats], float]


def predictions_of(model: Any, X: Any, classes: NDArray[Any] | None, predicted: NDArray[Any]) -> Predictions:
    """What the model says of X, where it `predicted` these; a class it never saw has the probability 0."""
    if classes is None:
        return Predictions(None, np.asarray(predicted, np.float64), sure=True)
    labels = np.searchsorted(classes, predicted)
    values = np.zeros((labels.size, classes.size))
    values[:, np.searchsorted(classes, model.classes_)] = raw_probabilities(model, X)
    return Predictions(labels, values, sure=hasattr(model, "predict_proba"))


# --- losses of single rows, and metrics that are their means ----------------------------------------------------------


def _error(truth: Codes, said: Predictions) -> Floats:
    return (said.labels != truth).astype(np.float64)


def log_losses(truth: Codes, said: Predictions) -> Floats:
    """Log-loss of every row."""
    return stats.log_losses(said.values / said.values.sum(axis=1, keepdims=True), truth, floor=SMALLEST)


def _brier(truth: Codes, said: Predictions) -> Floats:
    wanted = np.zeros_like(said.values)
    wanted[np.arange(truth.size), truth] = 1.0
    return np.sum((said.values - wanted) ** 2, axis=1)


def _square(truth: Floats, said: Predictions) -> Floats:
    return (said.values - truth) ** 2


def _absolute(truth: Floats, said: Predictions) -> Floats:
    return np.abs(said.values - truth)


ROW_LOSSES: dict[str, Callable[[Any, Predictions], Floats]] = {
    "error": _error,
    "log loss": log_losses,
    "brier score": _brier,
    "rmse": _square,
    "mse": _square,
    "mae": _absolute,
}


# --- metrics that are no means ----------------------------------------------------------------------------------------


def _balanced_error(truth: Codes, said: Predictions, weight: Floats) -> float:
    """Mean over the classes of the error within each."""
    total = np.bincount(truth, weight)
    wrong = np.bincount(truth, weight * (said.labels != truth), total.size)
    return float(np.mean(wrong[total > 0] / total[total > 0]))


def _one_minus_auc(truth: Codes, said: Predictions, weight: Floats) -> float:
    """The chance that a row of the second class is ranked below one of the first; the mean of every class against the
    rest for more than two."""
    return _per_class(lambda is_one, p: float(roc_auc_score(is_one, p, sample_weight=weight)), truth, said)


def _one_minus_average_precision(truth: Codes, said: Predictions, weight: Floats) -> float:
    return _per_class(lambda is_one, p: float(average_precision_score(is_one, p, sample_weight=weight)), truth, said)


def _per_class(score: Callable[[NDArray[np.bool_], Floats], float], truth: Codes, said: Predictions) -> float:
    """1 - the score of the second of two classes, or the mean over all of more."""
    n_classes = said.values.shape[1]
    there = [k for k in ([1] if n_classes == 2 else range(n_classes)) if 0 < np.count_nonzero(truth == k) < truth.size]
    if not there:
        return np.nan
    return 1.0 - float(np.mean([score(truth == k, said.values[:, k]) for k in there]))


def _one_minus_f1(truth: Codes, said: Predictions, weight: Floats) -> float:
    """Of the second of two classes; the mean over the classes for more."""
    return _f1(truth, said, weight, "binary" if said.values.shape[1] == 2 else "macro")


def _one_minus_f1_macro(truth: Codes, said: Predictions, weight: Floats) -> float:
    return _f1(truth, said, weight, "macro")


def _one_minus_f1_weighted(truth: Codes, said: Predictions, weight: Floats) -> float:
    return _f1(truth, said, weight, "weighted")


def _f1(truth: Codes, said: Predictions, weight: Floats, average: Any) -> float:
    score: Any = f1_score  # its stubs take zero_division for a string
    return 1.0 - float(score(truth, said.labels, average=average, sample_weight=weight, zero_division=0.0))


def _one_minus_mcc(truth: Codes, said: Predictions, weight: Floats) -> float:
    return 1.0 - float(matthews_corrcoef(truth, said.labels, sample_weight=weight))


def _unexplained(truth: Floats, said: Predictions, weight: Floats) -> float:
    """1 - R^2: the mean square error in units of the variance."""
    variance = np.average((truth - np.average(truth, weights=weight)) ** 2, weights=weight)
    return float(np.average(_square(truth, said), weights=weight) / variance) if variance > 0 else np.nan


OTHER_METRICS: dict[str, Metric] = {
    "balanced error": _balanced_error,
    "1 - auc": _one_minus_auc,
    "1 - average precision": _one_minus_average_precision,
    "1 - f1": _one_minus_f1,
    "1 - f1 macro": _one_minus_f1_macro,
    "1 - f1 weighted": _one_minus_f1_weighted,
    "1 - mcc": _one_minus_mcc,
    "1 - r2": _unexplained,
}


# --- names ------------------------------------------------------------------------------------------------------------

SHOWN = {
    "classification": ("log loss", "error", "balanced error", "brier score", "1 - auc"),
    "regression": ("rmse", "mae", "1 - r2"),
}
"""Metrics that are always computed; the first is the default."""

ON_REQUEST = {
    "classification": ("1 - average precision", "1 - f1", "1 - f1 macro", "1 - f1 weighted", "1 - mcc"),
    "regression": ("mse",),
}

ALIASES = {
    "accuracy": "error",
    "misclassification": "error",
    "misclassification rate": "error",
    "zero one loss": "error",
    "logloss": "log loss",
    "neg log loss": "log loss",
    "cross entropy": "log loss",
    "deviance": "log loss",
    "balanced accuracy": "balanced error",
    "brier": "brier score",
    "brier loss": "brier score",
    "brier score loss": "brier score",
    "neg brier score": "brier score",
    "auc": "1 - auc",
    "roc auc": "1 - auc",
    "roc auc ovr": "1 - auc",
    "average precision": "1 - average precision",
    "pr auc": "1 - average precision",
    "f1": "1 - f1",
    "f1 score": "1 - f1",
    "f1 binary": "1 - f1",
    "f1 macro": "1 - f1 macro",
    "f1 weighted": "1 - f1 weighted",
    "mcc": "1 - mcc",
    "matthews corrcoef": "1 - mcc",
    "root mean squared error": "rmse",
    "neg root mean squared error": "rmse",
    "mean squared error": "mse",
    "neg mean squared error": "mse",
    "l2": "rmse",
    "mean absolute error": "mae",
    "neg mean absolute error": "mae",
    "l1": "mae",
    "r2": "1 - r2",
    "r2 score": "1 - r2",
}
"""Usual names of the metrics, and the losses they are taken as."""


def metric_names(task: Task) -> tuple[str, ...]:
    """The metrics that are shown for a task; the first is the default.

    >>> metric_names("regression")
    ('rmse', 'mae', '1 - r2')
    """
    return SHOWN[task]


def find_metric(name: str, task: Task) -> str:
    """The loss that a metric of this name is taken as; a ValueError with near names where there is none.

    >>> find_metric("roc_auc", "classification"), find_metric("accuracy", "classification")
    ('1 - auc', 'error')
    """
    losses = (*SHOWN[task], *ON_REQUEST[task])
    if name == "auto":
        return losses[0]
    known = {_plain(loss): loss for loss in losses} | {
        _plain(alias): loss for alias, loss in ALIASES.items() if loss in losses
    }
    if _plain(name) in known:
        return known[_plain(name)]
    usual = {loss: loss for loss in losses} | {alias.replace(" ", "_"): loss for alias, loss in ALIASES.items()}
    usual = {shown: loss for shown, loss in usual.items() if loss in losses}
    near = get_close_matches(name.lower(), list(usual), n=3, cutoff=0.6)
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(usual)}."
    raise ValueError(f"No metric {name!r} for {task}. {advice}")


def _plain(name: str) -> str:
    """Case, spaces, "-" and "_" do not matter."""
    return "".join(character for character in name.lower() if character.isalnum())


def loss_of(metric: str, truth: NDArray[Any], said: Predictions, weight: Floats) -> float:
    """One metric of the answers, nan where it cannot be told."""
    if metric in OTHER_METRICS:
        return OTHER_METRICS[metric](truth, said, weight)
    mean = float(np.average(ROW_LOSSES[metric](truth, said), weights=weight))
    return float(np.sqrt(mean)) if metric == "rmse" else mean


def standard_error(
    metric: str, truth: NDArray[Any], said: Predictions, weight: Floats, groups: Codes, seed: int
) -> float:
    """Standard error of `loss_of` over rows of these groups (rows of one group are not independent)."""
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        return np.nan
    if metric in OTHER_METRICS:
        return _bootstrapped(metric, truth, said, weight, groups, seed)
    mean, stderr = grouped_mean(ROW_LOSSES[metric](truth, said), weight, groups)
    return stderr / max(2.0 * float(np.sqrt(mean)), np.finfo(np.float64).tiny) if metric == "rmse" else stderr


def _bootstrapped(
    metric: str, truth: NDArray[Any], said: Predictions, weight: Floats, groups: Codes, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    n_groups = int(groups.max()) + 1
    result: list[float] = []
    for _ in range(N_RESAMPLES):
        counts = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)[groups]
        rows = np.flatnonzero(counts)
        result.append(loss_of(metric, truth[rows], said.of(rows), weight[rows] * counts[rows]))
    return float(np.nanstd(result, ddof=1)) if np.isfinite(result).sum() > 1 else np.nan


def format_loss(metric: str, value: float, *, stderr: float = np.nan) -> str:
    """Format an error rate in percent and any other loss with four digits, with its standard error if given.

    >>> format_loss("error", 0.1234), format_loss("log loss", 0.47312, stderr=0.0124)
    ('12.3%', '0.4731 ± 0.012')
    """
    if metric in RATES:
        return format_percent(value, stderr=stderr)
    return format_number(value, 4, stderr=stderr)
