"""Metrics as losses, the smaller the better, with their standard errors.

Scores are converted to losses: accuracy to "error", AUC to "1 - auc", R^2 to "1 - r2". `find_metric` finds them by the
names of scikit-learn and other usual names.
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
"""Smaller probabilities are replaced by this one in the log-loss."""

RATES = ("error", "balanced error")
"""Metrics shown in percent."""

N_RESAMPLES = 100
"""Bootstrap samples for the standard error of a metric that is not a mean over rows."""


class Predictions(NamedTuple):
    """Predictions for some rows."""

    labels: Codes | None  # codes of the predicted classes; None for regression
    values: Floats  # [n, K] probabilities, or [n] numbers
    has_probabilities: bool  # whether the probabilities are not derived from scores or labels

    def of(self, rows: Any) -> Predictions:
        return Predictions(
            None if self.labels is None else self.labels[rows], self.values[rows], self.has_probabilities
        )


Metric = Callable[[NDArray[Any], Predictions, Floats], float]


def predictions_of(model: Any, X: Any, classes: NDArray[Any] | None, predicted: NDArray[Any]) -> Predictions:
    """Predictions of a model for X, with the labels `predicted`; classes unknown to it have probability 0."""
    if classes is None:
        return Predictions(None, np.asarray(predicted, np.float64), has_probabilities=True)
    labels = np.searchsorted(classes, predicted)
    values = np.zeros((labels.size, classes.size))
    values[:, np.searchsorted(classes, model.classes_)] = raw_probabilities(model, X)
    return Predictions(labels, values, has_probabilities=hasattr(model, "predict_proba"))


# --- losses of single rows, and metrics that are their means ----------------------------------------------------------


def _error(truth: Codes, predictions: Predictions) -> Floats:
    return (predictions.labels != truth).astype(np.float64)


def log_losses(truth: Codes, predictions: Predictions) -> Floats:
    """Log-loss of every row."""
    return stats.log_losses(predictions.values / predictions.values.sum(axis=1, keepdims=True), truth, floor=SMALLEST)


def _brier(truth: Codes, predictions: Predictions) -> Floats:
    wanted = np.zeros_like(predictions.values)
    wanted[np.arange(truth.size), truth] = 1.0
    return np.sum((predictions.values - wanted) ** 2, axis=1)


def _square(truth: Floats, predictions: Predictions) -> Floats:
    return (predictions.values - truth) ** 2


def _absolute(truth: Floats, predictions: Predictions) -> Floats:
    return np.abs(predictions.values - truth)


ROW_LOSSES: dict[str, Callable[[Any, Predictions], Floats]] = {
    "error": _error,
    "log loss": log_losses,
    "brier score": _brier,
    "rmse": _square,
    "mse": _square,
    "mae": _absolute,
}


# --- other metrics ----------------------------------------------------------------------------------------------------


def _balanced_error(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    """Mean over the classes of the error within each."""
    total = np.bincount(truth, weight)
    wrong = np.bincount(truth, weight * (predictions.labels != truth), total.size)
    return float(np.mean(wrong[total > 0] / total[total > 0]))


def _one_minus_auc(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    """1 - AUC of the second class; the mean over one class against the rest for more than two."""
    return _per_class(lambda is_one, p: float(roc_auc_score(is_one, p, sample_weight=weight)), truth, predictions)


def _one_minus_average_precision(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    return _per_class(
        lambda is_one, p: float(average_precision_score(is_one, p, sample_weight=weight)), truth, predictions
    )


def _per_class(score: Callable[[NDArray[np.bool_], Floats], float], truth: Codes, predictions: Predictions) -> float:
    """1 - the score of the second of two classes, or of the mean over more classes."""
    n_classes = predictions.values.shape[1]
    present = [
        k for k in ([1] if n_classes == 2 else range(n_classes)) if 0 < np.count_nonzero(truth == k) < truth.size
    ]
    if not present:
        return np.nan
    return 1.0 - float(np.mean([score(truth == k, predictions.values[:, k]) for k in present]))


def _one_minus_f1(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    """1 - F1 of the second of two classes, or of the mean over more classes."""
    return _f1(truth, predictions, weight, "binary" if predictions.values.shape[1] == 2 else "macro")


def _one_minus_f1_macro(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    return _f1(truth, predictions, weight, "macro")


def _one_minus_f1_weighted(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    return _f1(truth, predictions, weight, "weighted")


def _f1(truth: Codes, predictions: Predictions, weight: Floats, average: Any) -> float:
    score: Any = f1_score  # its stubs declare zero_division as a string
    return 1.0 - float(score(truth, predictions.labels, average=average, sample_weight=weight, zero_division=0.0))


def _one_minus_mcc(truth: Codes, predictions: Predictions, weight: Floats) -> float:
    return 1.0 - float(matthews_corrcoef(truth, predictions.labels, sample_weight=weight))


def _unexplained(truth: Floats, predictions: Predictions, weight: Floats) -> float:
    """1 - R^2: the mean squared error divided by the variance."""
    variance = np.average((truth - np.average(truth, weights=weight)) ** 2, weights=weight)
    return float(np.average(_square(truth, predictions), weights=weight) / variance) if variance > 0 else np.nan


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
"""Usual names of metrics and the losses they are converted to."""


def metric_names(task: Task) -> tuple[str, ...]:
    """The metrics that are shown for a task; the first is the default.

    >>> metric_names("regression")
    ('rmse', 'mae', '1 - r2')
    """
    return SHOWN[task]


def find_metric(name: str, task: Task) -> str:
    """The loss of a metric of this name; raises a ValueError with similar names if there is none.

    >>> find_metric("roc_auc", "classification"), find_metric("accuracy", "classification")
    ('1 - auc', 'error')
    """
    losses = (*SHOWN[task], *ON_REQUEST[task])
    if name == "auto":
        return losses[0]
    by_name = {_plain(loss): loss for loss in losses}
    by_name |= {_plain(alias): loss for alias, loss in ALIASES.items() if loss in losses}
    if _plain(name) in by_name:
        return by_name[_plain(name)]
    usual = {loss: loss for loss in losses} | {alias.replace(" ", "_"): loss for alias, loss in ALIASES.items()}
    usual = {shown: loss for shown, loss in usual.items() if loss in losses}
    near = get_close_matches(name.lower(), list(usual), n=3, cutoff=0.6)
    advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Available: {', '.join(usual)}."
    raise ValueError(f"No metric {name!r} for {task}. {advice}")


def _plain(name: str) -> str:
    """Letters and digits in lower case."""
    return "".join(character for character in name.lower() if character.isalnum())


def loss_of(metric: str, truth: NDArray[Any], predictions: Predictions, weight: Floats) -> float:
    """Value of a metric, nan if it is undefined."""
    if metric in OTHER_METRICS:
        return OTHER_METRICS[metric](truth, predictions, weight)
    mean = float(np.average(ROW_LOSSES[metric](truth, predictions), weights=weight))
    return float(np.sqrt(mean)) if metric == "rmse" else mean


def standard_error(
    metric: str, truth: NDArray[Any], predictions: Predictions, weight: Floats, groups: Codes, seed: int
) -> float:
    """Standard error of `loss_of` over rows of these groups (rows of one group are not independent)."""
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        return np.nan
    if metric in OTHER_METRICS:
        return _bootstrapped(metric, truth, predictions, weight, groups, seed)
    mean, stderr = grouped_mean(ROW_LOSSES[metric](truth, predictions), weight, groups)
    return stderr / max(2.0 * float(np.sqrt(mean)), np.finfo(np.float64).tiny) if metric == "rmse" else stderr


def _bootstrapped(
    metric: str, truth: NDArray[Any], predictions: Predictions, weight: Floats, groups: Codes, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    n_groups = int(groups.max()) + 1
    result: list[float] = []
    for _ in range(N_RESAMPLES):
        counts = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)[groups]
        rows = np.flatnonzero(counts)
        result.append(loss_of(metric, truth[rows], predictions.of(rows), weight[rows] * counts[rows]))
    return float(np.nanstd(result, ddof=1)) if np.isfinite(result).sum() > 1 else np.nan


def format_loss(metric: str, value: float, *, stderr: float = np.nan) -> str:
    """Format an error rate in percent and any other loss with four digits, with its standard error if given.

    >>> format_loss("error", 0.1234), format_loss("log loss", 0.47312, stderr=0.0124)
    ('12.3%', '0.4731 ± 0.012')
    """
    if metric in RATES:
        return format_percent(value, stderr=stderr)
    return format_number(value, 4, stderr=stderr)
