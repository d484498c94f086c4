"""Diagnostics of the members: errors, diversity, steps of the selection, fit times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.committees.selection import Step, predicted_rows
from committee.records.history import History


class Seconds:
    """Fit times of the members; equality compares the names only, as times differ between equal fits."""

    __slots__ = ("_by_name",)

    def __init__(self, by_name: Mapping[str, float]) -> None:
        self._by_name = dict(by_name)

    def of(self, names: Sequence[str]) -> Floats:
        return np.array([self._by_name[name] for name in names])

    @property
    def total(self) -> float:
        return float(sum(self._by_name.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seconds) and list(self._by_name) == list(other._by_name)

    def __hash__(self) -> int:
        return hash(tuple(self._by_name))

    def __repr__(self) -> str:
        return f"Seconds({self._by_name})"


def error_of(predictions: Floats, y: NDArray[np.generic], weight: Floats) -> float:
    """Compute the error of probabilities [n, K], or the root mean squared error of values [n], without nan rows."""
    is_predicted = ~np.isnan(predictions if predictions.ndim == 1 else predictions[:, 0])
    if not is_predicted.any():
        return np.nan
    predictions, truth, w = predictions[is_predicted], y[is_predicted], weight[is_predicted]
    if predictions.ndim == 2:
        return float(np.average(predictions.argmax(axis=1) != truth, weights=w))
    return float(np.sqrt(np.average((predictions - np.asarray(truth, np.float64)) ** 2, weights=w)))


def diversity(predictions: Floats, y: NDArray[np.generic], weights: Floats) -> Floats:
    """Compute the mean difference of each member from the others of nonzero weight, nan if there are none.

    It is the fraction of rows with different predicted classes, or 1 less the correlation of the errors.
    """
    rows = predicted_rows(predictions)
    if predictions.ndim == 3:
        codes = predictions[:, rows].argmax(axis=2)
        apart = np.array([(codes != code).mean(axis=1) for code in codes])
    else:
        apart = 1.0 - _correlations(predictions[:, rows] - np.asarray(y, np.float64)[rows])
    np.fill_diagonal(apart, np.nan)
    used = apart[:, weights > 0.0]
    counted = ~np.isnan(used)
    n_others = counted.sum(axis=1)
    total = np.where(counted, used, 0.0).sum(axis=1)
    return np.divide(total, n_others, out=np.full(len(predictions), np.nan), where=n_others > 0)


def _correlations(errors: Floats) -> Floats:
    """Correlations of the rows of errors [M, n]; 0 where one of them is constant."""
    centred = errors - errors.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.sum(centred**2, axis=1))
    product = np.outer(norm, norm)
    return np.divide(centred @ centred.T, product, out=np.zeros_like(product), where=product > 0.0)


def selection_history(steps: Sequence[Step], names: Sequence[str]) -> History:
    """Convert the steps of a selection to a history with the names of the members."""
    return History(
        {
            "step": [step.step for step in steps],
            "member": [names[step.member] for step in steps],
            "loss": [step.loss for step in steps],
        }
    )
