"""What a fitted committee shows of its members: errors, diversity, steps of the selection, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.committees.selection import Step, predicted_rows
from committee.records.history import History


class Seconds:
    """How long every member took, by the clock.

    Two fits of the same plan take different times and are the same committee: equality looks at the names alone.
    """

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
    """The share of wrong classes of shares [n, K], or the root mean squared error of numbers [n]; nan rows left out."""
    known = ~np.isnan(predictions if predictions.ndim == 1 else predictions[:, 0])
    if not known.any():
        return np.nan
    predictions, truth, w = predictions[known], y[known], weight[known]
    if predictions.ndim == 2:
        return float(np.average(predictions.argmax(axis=1) != truth, weights=w))
    return float(np.sqrt(np.average((predictions - np.asarray(truth, np.float64)) ** 2, weights=w)))


def diversity(predictions: Floats, y: NDArray[np.generic], weights: Floats) -> Floats:
    """How each member differs from the others that have a weight, nan where there is none.

    For classes the mean share of rows on which the two answer different classes, for numbers 1 less the mean
    correlation of their errors.
    """
    known = predicted_rows(predictions)
    if predictions.ndim == 3:
        codes = predictions[:, known].argmax(axis=2)
        apart = np.array([(codes != code).mean(axis=1) for code in codes])
    else:
        apart = 1.0 - _correlations(predictions[:, known] - np.asarray(y, np.float64)[known])
    np.fill_diagonal(apart, np.nan)
    used = apart[:, weights > 0.0]
    counted = ~np.isnan(used)
    n_others = counted.sum(axis=1)
    total = np.where(counted, used, 0.0).sum(axis=1)
    return np.divide(total, n_others, out=np.full(len(predictions), np.nan), where=n_others > 0)


def _correlations(errors: Floats) -> Floats:
    """Of errors [M, n], pair by pair; 0 where one of them is constant."""
    centred = errors - errors.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.sum(centred**2, axis=1))
    product = np.outer(norm, norm)
    return np.divide(centred @ centred.T, product, out=np.zeros_like(product), where=product > 0.0)


def join_steps(steps: Sequence[Step], names: Sequence[str]) -> History:
    """The steps of a selection as a history, members by name."""
    return History(
        {
            "step": [step.step for step in steps],
            "member": [names[step.member] for step in steps],
            "loss": [step.loss for step in steps],
        }
    )
