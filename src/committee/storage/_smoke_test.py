"""A model answers one row: the last check that its parts fit together."""

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
    """Ask the model about a row of zeros; whatever it raises is raised."""
    row = np.zeros((1, model.n_features_in_))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in PREDICTIONS:
            if hasattr(model, name):
                getattr(model, name)(row)


def predictions_a_row(model: Any) -> bool:
    """Does it? A model of tables with texts, say, may not take a row of zeros."""
    if not can_be_tried(model):
        return False
    try:
        try_out(model)
    except Exception:
        return False
    return True
