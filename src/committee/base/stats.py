"""Means with their standard errors, weighted quantiles and medians, the log-loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

TIE = 1e-12
"""A cumulative weight this close to the quantile, in units of the total weight, is at it."""


MIN_PROBABILITY = 1e-15
"""A model that gives the observed class less than this loses no more than 34.5 nats."""


class Mean(NamedTuple):
    """A mean and its standard error."""

    value: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.stderr:.4f}"


def standard_error(values: Floats, axis: int = 0) -> Floats:
    """Standard error of the mean of independent values along an axis, nan left out; nan for fewer than two values.

    >>> standard_error(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, np.nan]])).round(4)
    array([0.5774, 0.    ])
    """
    known = ~np.isnan(values)
    n = known.sum(axis=axis, keepdims=True)
    mean = np.where(known, values, 0.0).sum(axis=axis, keepdims=True) / np.maximum(n, 1)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=axis)
    n = n.squeeze(axis)
    return np.where(n > 1, np.sqrt(squares / np.maximum(n * (n - 1.0), 1.0)), np.nan)


def mean_over_folds(values: Floats) -> Mean:
    """Mean and standard error of one number per fold, [n_repeats, n_folds].

    >>> print(mean_over_folds(np.array([[0.1, 0.2, 0.3]])))
    0.2000 ± 0.0913
    """
    return Mean(float(values.mean()), float(standard_error_of_folds(values)))


def standard_error_of_folds(values: Floats) -> Floats:
    """Standard error of the mean over the first two axes, [n_repeats, n_folds, ...].

    Folds share training rows and repeats share all rows, so J errors carry less information than J independent ones:
    the variance of their mean is about (1 / J + n_test / n_train) times theirs (Nadeau and Bengio 2003).
    """
    n_repeats, n_folds = values.shape[:2]
    factor = 1.0 / (n_repeats * n_folds) + 1.0 / (n_folds - 1)
    return np.sqrt(factor * values.reshape(n_repeats * n_folds, *values.shape[2:]).var(axis=0, ddof=1))


def grouped_mean(values: Floats, weight: Floats, groups: NDArray[np.int64]) -> Mean:
    """Weighted mean of values whose groups, not rows, are independent; the standard error is nan for a single group.

    The mean is a ratio of two sums over groups; this is the linearised variance of it.
    """
    mean, n_groups = float(np.average(values, weights=weight)), int(groups.max()) + 1
    if n_groups < 2:
        return Mean(mean, np.nan)
    deviations = np.bincount(groups, weight * (values - mean)) / weight.sum()
    return Mean(mean, float(np.sqrt(n_groups / (n_groups - 1) * np.sum(deviations**2))))


def weighted_quantile(values: Floats, weight: Floats | None, q: float, *, half_way: bool = True) -> Floats:
    """Smallest values with at least a fraction q of the weight at or below them, along the first axis [n, ...].

    Where the cumulative weight is q of the total exactly, every value up to the next one with weight is a quantile: the
    result is half-way to it, as the median of an even number of values, or the smaller one with ``half_way=False``.

    >>> values = np.array([[1.0], [5.0], [2.0]])
    >>> weighted_quantile(values, np.array([2.0, 1.0, 1.0]), 0.5), weighted_quantile(values, None, 0.5)
    (array([1.5]), array([2.]))
    """
    order = np.argsort(values, axis=0, kind="stable")
    w = np.ones(len(values)) if weight is None or not weight.size else weight
    reached, total = np.cumsum(w[order], axis=0), float(w.sum())
    lower = _first(values, order, reached >= (q - TIE) * total)
    if not half_way:
        return lower
    beyond = reached > (q + TIE) * total
    upper = _first(values, order, beyond)
    return np.where(beyond.any(axis=0), 0.5 * lower + 0.5 * upper, lower)


def _first(values: Floats, order: NDArray[np.intp], is_there: NDArray[np.bool_]) -> Floats:
    """In the order of each column, the first value for which something holds."""
    place = np.expand_dims(is_there.argmax(axis=0), 0)
    return np.take_along_axis(values, np.take_along_axis(order, place, 0), 0)[0]


def log_losses(probabilities: Floats, codes: NDArray[np.integer], floor: float = MIN_PROBABILITY) -> Floats:
    """ln(1 / P(observed class)) of every row, from probabilities [n, K] and class codes [n].

    >>> log_losses(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1])).round(2)
    array([ 0.69, 34.54])
    """
    return -np.log(np.maximum(probabilities[np.arange(codes.size), codes], floor))
