"""A prediction for one row, the last check of a model from a file."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from committee.storage._checks import MAX_TABLE

PREDICTIONS = ("predict", "predict_proba", "decision_function")


def can_be_tried(model: Any) -> bool:
    d = getattr(model, "n_features_in_", None)
    return hasattr(model, "predict") and isinstance(d, int) and 0 < d <= MAX_TABLE


def try_out(model: Any) -> None:
    """Predict a row of zeros; errors are passed on."""
    row = np.zeros((1, model.n_features_in_))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in PREDICTIONS:
            if hasattr(model, name):
                getattr(model, name)(row)


def predictions_a_row(model: Any) -> bool:
    """Whether the model predicts a row of zeros; a model of a table with texts may not."""
    if not can_be_tried(model):
        return False
    try:
        try_out(model)
    except Exception:
        return False
    return True
