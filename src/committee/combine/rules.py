"""Rules that combine the predictions of members, for all rows at once.

    majority vote        the class that most members predict, the smaller class code at a tie
    mean, weighted mean  sum w_t h_t(x) / sum w_t
    weighted median      the smallest prediction at which the cumulative weight reaches one half
    mean probabilities   P(k | x) = sum w_t P_t(k | x) / sum w_t

Predictions are [members, n], probabilities [members, n, classes], weights [members].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import weighted_quantile

Codes = NDArray[np.integer]


def class_votes(codes: Codes, n_classes: int, weight: Floats | None = None) -> Floats:
    """Sum the weights of the votes for each class, [n, classes]; the code -1 is no vote.

    >>> class_votes(np.array([[0, 1], [2, -1], [0, 1]]), 3)
    array([[2., 0., 1.],
           [0., 2., 0.]])
    """
    w = _read_weight(codes, weight)
    votes = np.zeros((codes.shape[1], n_classes))
    rows = np.arange(codes.shape[1])
    for code, size in zip(codes, w, strict=True):  # a member at a time: no array of [members, n, classes]
        voted = code >= 0
        votes[rows[voted], code[voted]] += size
    return votes


def majority_vote(codes: Codes, n_classes: int, weight: Floats | None = None) -> NDArray[np.int64]:
    """Return the class with the most votes, the smallest code at a tie; -1 without votes.

    >>> majority_vote(np.array([[0, 1, -1], [2, 2, -1], [2, 1, -1]]), 3)
    array([ 2,  1, -1])
    """
    votes = class_votes(codes, n_classes, weight)
    return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)


def mean(predictions: Floats, weight: Floats | None = None) -> Floats:
    """Compute the mean of the members, weighted if weights are given.

    >>> mean(np.array([[1.0, 2.0], [4.0, 8.0]]), np.array([2.0, 1.0]))
    array([2., 4.])
    """
    w = _read_weight(predictions, weight)
    return np.einsum("t,t...->...", w / w.sum(), predictions)


def mean_distribution(probabilities: Floats, weight: Floats | None = None) -> Floats:
    """Compute the mean of the members' class probabilities, [n, classes], each row divided by its sum.

    >>> mean_distribution(np.array([[[0.9, 0.1]], [[0.4, 0.6]]]))
    array([[0.65, 0.35]])
    """
    total = mean(probabilities, weight)
    return total / total.sum(axis=1, keepdims=True)


def weighted_median(predictions: Floats, weight: Floats | None = None, *, half_way: bool = True) -> Floats:
    """Return the smallest prediction at which the cumulative weight reaches half of the total.

    Where it is exactly half, every value up to the next prediction minimizes the weighted absolute error: the median is
    half-way to it, as that of an even number of values, or the smaller prediction with ``half_way=False``.

    >>> predictions = np.array([[1.0], [5.0], [2.0]])
    >>> weighted_median(predictions, np.array([2.0, 1.0, 1.0])), weighted_median(predictions)
    (array([1.5]), array([2.]))
    """
    return weighted_quantile(predictions, _read_weight(predictions, weight), 0.5, half_way=half_way)


def _read_weight(predictions: NDArray[np.generic], weight: Floats | None) -> Floats:
    n_members = len(predictions)
    w = np.ones(n_members) if weight is None else np.asarray(weight, np.float64)
    if w.shape != (n_members,):
        raise ValueError(f"weight has the shape {w.shape}, there are {n_members} members: pass one for each member.")
    if not (np.all(w >= 0.0) and 0.0 < w.sum() < np.inf):
        raise ValueError("weight must be finite, >= 0 and not all zero.")
    return w
