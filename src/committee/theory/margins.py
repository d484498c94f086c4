"""Margins and edges of a weighted vote.

An agreement matrix holds u_it = y_i h_t(x_i), in [-1, 1], for every row i and hypothesis t: +1 where it is right, -1
where it is wrong. A margin is the sum of a row weighted by the coefficients of the hypotheses, an edge the sum of a
column weighted by the weights of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tabular.validation import read_weights

__all__ = [
    "MarginDistribution",
    "class_margins",
    "edges",
    "fraction_below",
    "margin_distribution",
    "margins",
    "minimum_margin",
]  # fmt: skip

Numbers = NDArray[np.floating | np.integer]

ROUNDING = 1e-9
"""How far beyond [-1, 1] a value may lie that was computed and not read."""


class MarginDistribution(NamedTuple):
    """The cumulative distribution of margins, a step function.

    Attributes
    ----------
    value : ndarray of shape (n_values,)
        The distinct margins in ascending order.
    fraction : ndarray of shape (n_values,)
        Fraction of the rows whose margin is at most `value`.
    """

    value: Floats
    fraction: Floats


def margins(agreement: Numbers, coefficients: Numbers) -> Floats:
    """Compute the normalised margins y_i f(x_i) = sum_t a_t u_it / sum_t |a_t|, in [-1, 1] (Schapire et al. 1998).

    Parameters
    ----------
    agreement : ndarray of shape (n_samples, n_hypotheses)
        y_i h_t(x_i), in [-1, 1].
    coefficients : ndarray of shape (n_hypotheses,)
        Coefficients a_t of the vote.

    Returns
    -------
    ndarray of shape (n_samples,)
        The margins.

    Examples
    --------
    >>> margins(np.array([[1, 1, -1], [-1, 1, 1]]), np.array([3.0, 2.0, 1.0]))
    array([0.66666667, 0.        ])
    """
    u, a = read_agreement(agreement), np.asarray(coefficients, np.float64)
    if a.shape != (u.shape[1],):
        raise ValueError(f"agreement has {u.shape[1]} columns, coefficients the shape {a.shape}: pass one per column.")
    size = float(np.abs(a).sum())
    if not 0.0 < size < np.inf:
        raise ValueError("coefficients must be finite and not all zero: cap the coefficient of a perfect hypothesis.")
    return u @ a / size


def class_margins(votes: Numbers, y: NDArray[np.integer]) -> Floats:
    """Compute the margins of K classes: (v_iy - max_{k != y} v_ik) / sum_k v_ik, in [-1, 1] (Schapire et al. 1998).

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_classes)
        Total weight of the votes for every class.
    y : ndarray of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    ndarray of shape (n_samples,)
        The margins.

    Examples
    --------
    >>> class_margins(np.array([[3, 1, 0], [1, 1, 2]]), np.array([0, 1]))
    array([ 0.5 , -0.25])
    """
    v, total = np.asarray(votes, np.float64), np.asarray(votes, np.float64).sum(axis=1)
    if v.shape[1] < 2 or y.shape != (v.shape[0],) or not np.all((y >= 0) & (y < v.shape[1])):
        raise ValueError("votes must be [n, K] with K >= 2, and y one class code of 0..K-1 per row.")
    if not (np.all(v >= 0.0) and np.all(np.isfinite(total)) and np.all(total > 0.0)):
        raise ValueError("votes must be finite and >= 0, with a vote in every row: drop rows without a vote.")
    is_true = np.arange(v.shape[1]) == y[:, None]
    return (v[is_true] - np.where(is_true, -np.inf, v).max(axis=1)) / total


def margin_distribution(margins: Numbers, weight: Numbers | None = None) -> MarginDistribution:
    """Compute the cumulative distribution of margins.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins of the rows.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the rows; None weights all equally.

    Returns
    -------
    MarginDistribution
        The distribution.

    Examples
    --------
    >>> margin_distribution(np.array([0.5, -0.1, 0.5, 0.9])).fraction
    array([0.25, 0.75, 1.  ])
    """
    m, w = _margins_and_weights(margins, weight)
    value, place = np.unique(m, return_inverse=True)
    increased = np.cumsum(np.bincount(place, w))
    return MarginDistribution(value, increased / increased[-1])


def minimum_margin(margins: Numbers) -> float:
    """Return the smallest margin: it is above 0 if the vote makes no training error.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins of the rows.

    Returns
    -------
    float
        Their minimum.

    Examples
    --------
    >>> minimum_margin(np.array([0.5, -0.1, 0.9]))
    -0.1
    """
    return float(_margins_and_weights(margins, None)[0].min())


def fraction_below(margins: Numbers, theta: float, weight: Numbers | None = None) -> float:
    """Compute the weighted fraction of margins that are at most theta; for theta = 0 it is the training error.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins of the rows.
    theta : float
        Threshold.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the rows; None weights all equally.

    Returns
    -------
    float
        The fraction.

    Examples
    --------
    >>> fraction_below(np.array([0.5, -0.1, 0.5, 0.9]), 0.5)
    0.75
    """
    m, w = _margins_and_weights(margins, weight)
    return float(w[m <= theta].sum() / w.sum())


def edges(agreement: Numbers, weight: Numbers) -> Floats:
    """Compute the edges r_t = sum_i w_i u_it / sum_i w_i; with predictions in {-1, +1} the error is (1 - r_t) / 2.

    Parameters
    ----------
    agreement : ndarray of shape (n_samples, n_hypotheses)
        y_i h_t(x_i), in [-1, 1].
    weight : ndarray of shape (n_samples,) or (n_samples, n_hypotheses)
        Weights of the rows, or those of every round.

    Returns
    -------
    ndarray of shape (n_hypotheses,)
        The edges.

    Examples
    --------
    >>> edges(np.array([[1, 1], [1, -1], [-1, 1]]), np.array([0.25, 0.25, 0.5]))
    array([0. , 0.5])
    """
    u, w = read_agreement(agreement), np.asarray(weight, np.float64)
    if w.ndim == 1:
        w = w[:, None]
    if w.shape[0] != u.shape[0] or w.shape[1] not in (1, u.shape[1]):
        raise ValueError(f"agreement has the shape {u.shape}, weight {w.shape}: pass [n] or [n, T].")
    if not (np.all(w >= 0.0) and np.all(np.isfinite(w)) and np.all(w.any(axis=0))):
        raise ValueError("weight must be finite and >= 0, and not all zero.")
    w = w / w.sum(axis=0)
    return w[:, 0] @ u if w.shape[1] == 1 else np.einsum("it,it->t", w, u)


def read_agreement(agreement: Numbers) -> Floats:
    """Return an agreement matrix as floats; raise ValueError unless it is [n, T], not empty, and within [-1, 1]."""
    u = np.asarray(agreement, np.float64)
    if u.ndim != 2 or u.size == 0:
        raise ValueError(f"agreement must be [n, T] with a row and a column at least, got the shape {u.shape}.")
    if not np.all(np.abs(u) <= 1.0 + ROUNDING):
        raise ValueError("agreement must lie in [-1, 1]: divide a hypothesis by its largest prediction.")
    return u


def _margins_and_weights(margins: Numbers, weight: Numbers | None) -> tuple[Floats, Floats]:
    m = np.asarray(margins, np.float64)
    if m.ndim != 1 or m.size == 0 or np.isnan(m).any():
        raise ValueError(f"margins must be one number per example, none missing; got the shape {m.shape}.")
    w = read_weights(weight, m.size, "weight")
    return m, np.ones(m.size) if w is None else w
