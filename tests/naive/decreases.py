"""The best cut of a node by trying every one: the decrease of the weighted sum of squares, the first of equals."""

from __future__ import annotations

import numpy as np


def best_cut(codes: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[int, int, float]:
    """Feature, last code on the left and decrease; codes [features, rows]. (-1, -1, -inf) where nothing splits."""
    result = (-1, -1, -np.inf)
    for f, column in enumerate(codes):
        for code in np.unique(column)[:-1]:
            left = column <= code
            decrease = _squares(y, weight) - _squares(y[left], weight[left]) - _squares(y[~left], weight[~left])
            if decrease > result[2] + 1e-9:
                result = (f, int(code), float(decrease))
    return result


def _squares(y: np.ndarray, weight: np.ndarray) -> float:
    mean = np.sum(weight * y) / np.sum(weight)
    return float(np.sum(weight * (y - mean) ** 2))
