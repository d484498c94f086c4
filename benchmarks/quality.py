"""Quality of predictions, measured on held-out rows, so that no speed is bought with accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from benchmarks.harness import Quality
from benchmarks.tables import Split

Load = Callable[[], Split]


def of_classifier(load: Load) -> Quality:
    """Accuracy, the AUC of two classes, and the size of the tree."""

    def evaluate(model: Any) -> Mapping[str, float]:
        split = load()
        share = model.predict_proba(split.X_test)
        result = {"accuracy": float(np.mean(model.predict(split.X_test) == split.y_test))}
        if share.shape[1] == 2:
            result["AUC"] = float(roc_auc_score(split.y_test == model.classes_[1], share[:, 1]))
        return {**result, "leaves": int(model.get_n_leaves())}

    return evaluate


def of_regressor(load: Load) -> Quality:
    """R2, the mean absolute error, and the size of the tree."""

    def evaluate(model: Any) -> Mapping[str, float]:
        split = load()
        predicted = model.predict(split.X_test)
        return {
            "R2": float(r2_score(split.y_test, predicted)),
            "MAE": float(mean_absolute_error(split.y_test, predicted)),
            "leaves": int(model.get_n_leaves()),
        }

    return evaluate


def of_shares(y: NDArray[np.int64], share: NDArray[Any]) -> Mapping[str, float]:
    """Log-loss, and the AUC of two classes, of the probabilities of the classes 0, 1, 2 ..."""
    result = {"log-loss": smoothed_log_loss(y, share)}
    return {"AUC": float(roc_auc_score(y, share[:, 1])), **result} if share.shape[1] == 2 else result


MIN_SHARE = 1e-7
"""Below it float32, in which some libraries predict, could not hold one minus a probability."""


def smoothed_log_loss(y: NDArray[np.int64], share: NDArray[Any]) -> float:
    """The log-loss with probabilities kept from 0, where one row would decide everything."""
    kept = np.clip(np.asarray(share, np.float64), MIN_SHARE, 1.0)
    return float(log_loss(y, kept / kept.sum(axis=1, keepdims=True), labels=np.arange(kept.shape[1])))


def of_numbers(y: NDArray[np.float64], predicted: NDArray[Any]) -> Mapping[str, float]:
    """The root of the mean squared error."""
    return {"RMSE": root_mean_squared_error(y, predicted)}


def root_mean_squared_error(y: NDArray[np.float64], predicted: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean((y - np.asarray(predicted, np.float64)) ** 2)))
