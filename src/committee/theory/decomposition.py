"""Bias, variance and noise: the parts of the error of a learner over many training sets.

Rows x are fixed, training sets S are drawn; h_S(x) is the prediction of the model fitted on S. Predictions are an array
[sets, n] with a mark (nan for a number, -1 for a class code) where a set contains the row.

Squared error (Geman, Bienenstock and Doursat 1992), f(x) = E[y | x]:

    E (y - h_S(x))^2  =  (E h_S(x) - f(x))^2  +  Var h_S(x)  +  Var(y | x)
          error       =         bias          +   variance   +    noise

0-1 loss (Domingos, A unified bias-variance decomposition, 2000). y* is the most frequent class at x, the main
prediction m the most frequent prediction, q_k the fraction of the sets that predict k, p_k the probability of class k:

    bias       [m != y*]
    variance   1 - q_m, how often a set disagrees with the main prediction. It increases the error where the main
               prediction is right (unbiased variance), and decreases it where it is wrong and the set predicts y*
               (biased variance, q_y*): net variance = unbiased - biased
    noise      the Bayes rule errs with probability 1 - p_y*. The contribution of noise to the error is
               q_y* (1 - p_y*) - sum_{k != y*} q_k p_k: positive where y* is predicted, negative elsewhere
    error      sum_k q_k (1 - p_k)  =  bias + net variance + noise

With two classes the biased variance is all of the variance at a biased row and the noise is (2 q_y* - 1)(1 - p_y*), as
in the paper. Where only one y per row is known and no p, y* = y: bias and variance then include the noise.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from committee.base.array_types import Floats
from committee.theory.margins import Numbers

__all__ = ["Decomposition", "Part", "decompose_squared_error", "decompose_zero_one"]

Codes = NDArray[np.integer]
PARTS = ("error", "bias", "variance", "noise")
"""Of both losses: the first is the sum of the others."""

VOTE_PARTS = (*PARTS, "unbiased variance", "biased variance", "best error")
"""Of the 0-1 loss: variance = unbiased - biased; the best error is that of the Bayes rule."""

HALVES = 64
"""Maximum number of halves of the training sets for the standard error of a vote. A power of two."""


class Part(NamedTuple):
    """One part of an error: its mean over rows and the values that its standard error is computed from.

    Attributes
    ----------
    of_row : ndarray of shape (n_samples,)
        The part on every row.
    replicates : ndarray of shape (n_replicates,)
        Values from subsets of the training sets, with the spread of the value over training sets.
    """

    of_row: Floats
    replicates: Floats

    @property
    def value(self) -> float:
        return float(self.of_row.mean())

    @property
    def stderr(self) -> float:
        """Standard error for other training sets and other rows of the same kind."""
        return float(np.hypot(self.stderr_of_sets, self.stderr_of_rows))

    @property
    def stderr_of_sets(self) -> float:
        """Standard error for other training sets and the same rows."""
        return float(self.replicates.std())

    @property
    def stderr_of_rows(self) -> float:
        """Standard error for the same training sets and other rows."""
        return float(self.of_row.std(ddof=1) / np.sqrt(self.of_row.size)) if self.of_row.size > 1 else np.nan

    def minus(self, other: Part) -> Part:
        """Return the difference to the part of another learner, from the same training sets and rows."""
        if self.of_row.shape != other.of_row.shape or self.replicates.shape != other.replicates.shape:
            raise ValueError("Parts can be compared that come from the same training sets and rows; these do not.")
        return Part(self.of_row - other.of_row, self.replicates - other.replicates)


class Decomposition(NamedTuple):
    """Parts of an error, with error = bias + variance + noise on every row.

    Attributes
    ----------
    loss : {"squared", "0-1"}
        The loss.
    parts : dict of str to Part
        The parts by name; for the 0-1 loss also unbiased and biased variance and the error of the Bayes rule.
    main : ndarray of shape (n_samples,)
        The mean of the predictions, or the most frequent one.
    rows : ndarray of int
        Rows that two training sets or more have a prediction for.
    n_sets : int
        Number of training sets.
    """

    loss: Literal["squared", "0-1"]
    parts: dict[str, Part]
    main: NDArray[np.float64 | np.int64]
    rows: NDArray[np.intp]
    n_sets: int

    @property
    def gap(self) -> float:
        """The largest difference of the error of a row from the sum of its parts: rounding."""
        error, bias, variance, noise = (self.parts[name].of_row for name in PARTS)
        return float(np.max(np.abs(error - bias - variance - noise)))


def decompose_squared_error(predictions: Numbers, truth: Numbers, noise: Numbers | float = 0.0) -> Decomposition:
    """Decompose the squared error without bias of the estimates for any number of training sets.

    Parameters
    ----------
    predictions : ndarray of shape (n_sets, n_samples)
        Predictions, nan where the set contains the row.
    truth : ndarray of shape (n_samples,)
        f(x), or one y for each row; bias then includes the noise.
    noise : float or ndarray of shape (n_samples,), default=0.0
        Variance of y given x.

    Returns
    -------
    Decomposition
        The parts.

    Notes
    -----
    The square of the mean of m predictions exceeds the squared bias by Var / m on average: this is subtracted, and Var
    divides by m - 1, so that the sum stays exact. An estimated squared bias may be slightly below zero.

    Examples
    --------
    >>> result = decompose_squared_error(np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([1.0, 2.0]), 0.5)
    >>> {name: part.value for name, part in result.parts.items()}
    {'error': 1.5, 'bias': 0.0, 'variance': 1.0, 'noise': 0.5}
    """
    h = np.asarray(predictions, np.float64)
    f = np.asarray(truth, np.float64)
    if h.ndim != 2 or f.shape != h.shape[1:] or np.isinf(h).any() or not np.all(np.isfinite(f)):
        raise ValueError(
            f"predictions must be numbers [sets, n], nan where a set contains the row, and truth finite [n]; got the "
            f"shapes {h.shape} and {f.shape}."
        )
    rows = _predicted_rows(~np.isnan(h))
    h, f = h[:, rows], f[rows]
    s2 = np.broadcast_to(np.asarray(noise, np.float64), len(truth))[rows]
    present = ~np.isnan(h)
    m = present.sum(axis=0)
    centre = np.where(present, h, 0.0).sum(axis=0) / m
    d = np.where(present, h - centre, 0.0)  # sums of squares of these do not cancel
    sums = np.array([present, d, d * d], np.float64)  # [3, sets, n]

    def of_rows(totals: Floats) -> Floats:
        return _squared_parts(totals, centre - f, s2)

    total = sums.sum(axis=1)
    values = of_rows(total)
    changes = [_mean_change(of_rows(total - sums[:, s]) - values) for s in range(len(h))]
    spread = np.full(len(h), np.sqrt(len(h) - 1.0))  # the jackknife's
    return Decomposition("squared", _parts(PARTS, values, np.array(changes), spread), centre, rows, len(h))


def decompose_zero_one(predictions: Codes, truth: Numbers) -> Decomposition:
    """Decompose the 0-1 loss into Domingos' bias, variance and noise.

    Parameters
    ----------
    predictions : ndarray of int, of shape (n_sets, n_samples)
        Class codes, -1 where the set contains the row. Of equally frequent ones the smallest is the main prediction.
    truth : ndarray of shape (n_samples, n_classes) or (n_samples,)
        Probabilities of the classes at x, or one class code for each row; bias and variance then include the noise.

    Returns
    -------
    Decomposition
        The parts.

    Examples
    --------
    >>> result = decompose_zero_one(np.array([[0, 1], [0, 1], [1, 0]]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    >>> {name: round(part.value, 3) for name, part in result.parts.items()}
    {'error': 0.483, 'bias': 0.5, 'variance': 0.0, 'noise': -0.017, 'unbiased variance': 0.167,
     'biased variance': 0.167, 'best error': 0.15}
    """
    codes = np.asarray(predictions)
    if codes.ndim != 2 or codes.dtype.kind not in "iu" or codes.size == 0 or codes.min() < -1:
        raise ValueError("predictions must be class codes [sets, n] >= 0, -1 where a set contains the row.")
    probabilities = _read_probabilities(np.asarray(truth), codes)
    rows = _predicted_rows(codes >= 0)
    codes, probabilities = codes[:, rows].astype(np.int64), probabilities[rows]
    votes = count_votes(codes, probabilities.shape[1])
    values = _vote_parts(votes, probabilities)
    halves = _balanced_halves(len(codes))  # one set alone hardly ever changes a vote
    changes = [
        _mean_change(_vote_parts(count_votes(codes[half], votes.shape[1]), probabilities) - values) for half in halves
    ]
    spread = np.sqrt(halves.sum(axis=1) / (~halves).sum(axis=1))
    main = votes.argmax(axis=1).astype(np.int64)
    return Decomposition("0-1", _parts(VOTE_PARTS, values, np.array(changes), spread), main, rows, len(codes))


def _squared_parts(totals: Floats, offset: Floats, noise: Floats) -> Floats:
    """[4, n] from the number, sum and sum of squares of the predictions less their mean; nan for fewer than two."""
    m, total, squares = totals
    m = np.where(m >= 2.0, m, np.nan)
    mean = total / m
    variance = (squares - m * mean * mean) / (m - 1.0)
    bias = (offset + mean) ** 2 - variance / m
    return np.array([bias + variance + noise, bias, variance, noise])


def _vote_parts(counts: Floats, probabilities: Floats) -> Floats:
    """[7, n] from the votes [n, K] of the sets; nan where there are none."""
    n_votes = counts.sum(axis=1, keepdims=True)
    q = counts / np.where(n_votes > 0.0, n_votes, np.nan)
    rows, best, main = np.arange(len(q)), probabilities.argmax(axis=1), counts.argmax(axis=1)
    of_best, best_error = q[rows, best], 1.0 - probabilities[rows, best]
    agree = np.sum(q * probabilities, axis=1)  # the probability that a prediction is y
    bias = np.where(np.isnan(of_best), np.nan, best != main)
    unbiased = np.where(best == main, 1.0 - of_best, 0.0)
    biased = np.where(best == main, 0.0, of_best)
    noise = of_best * best_error - (agree - of_best * probabilities[rows, best])
    return np.array([1.0 - agree, bias, unbiased - biased, noise, unbiased, biased, best_error])


def _parts(names: tuple[str, ...], values: Floats, changes: Floats, spread: Floats) -> dict[str, Part]:
    """From the parts of every row [parts, n], and what the means change with some training sets only [r, parts].

    `spread` [r] makes deviations between such means as large as between those of other training sets.
    """
    replicates = values.mean(axis=1) + spread[:, np.newaxis] * (changes - changes.mean(axis=0))
    return {name: Part(values[k], replicates[:, k]) for k, name in enumerate(names)}


def _balanced_halves(n_sets: int) -> NDArray[np.bool_]:
    """[r, sets]: halves of the sets, any two sets together in half of those that hold one (a Hadamard matrix).

    The deviation of an estimate over them is its standard error (McCarthy, Pseudo-replication: half samples, 1969).
    """
    order = min(2 ** int(np.ceil(np.log2(n_sets + 1))), HALVES)
    group = 1 + np.arange(n_sets) % (order - 1)
    halves = hadamard(order)[1:, group] > 0
    return halves[halves.any(axis=1) & ~halves.all(axis=1)]  # one of those of two sets is empty


def _mean_change(change: Floats) -> Floats:
    """Mean over the rows that still have enough predictions, nan without any."""
    known = ~np.isnan(change)
    n = known.sum(axis=1)
    return np.where(n > 0, np.where(known, change, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)


def _predicted_rows(present: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows = np.flatnonzero(present.sum(axis=0) >= 2)
    if rows.size == 0 or len(present) < 2:
        raise ValueError("No row has predictions of two training sets: take more of them.")
    return rows


def _read_probabilities(truth: NDArray[np.generic], codes: Codes) -> Floats:
    """[n, K]; a code per row becomes a chance of 1."""
    n, n_classes = codes.shape[1], int(codes.max()) + 1
    if truth.shape == (n,) and truth.dtype.kind in "iu" and np.all(truth >= np.uint8(0)):
        own = truth.astype(np.int64)
        return np.eye(max(n_classes, int(own.max()) + 1))[own]
    probabilities = np.asarray(truth, np.float64)
    if probabilities.ndim != 2 or len(probabilities) != n or probabilities.shape[1] < n_classes:
        raise ValueError(
            f"truth must be class codes [n], or probabilities [n, K] with a column for every code up to "
            f"{n_classes - 1}; got the shape {probabilities.shape} for {n} rows."
        )
    if np.any(probabilities < 0.0) or not np.allclose(probabilities.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
        raise ValueError("The probabilities must be >= 0 and sum to one over the classes: divide them by their sum.")
    return probabilities


def count_votes(codes: NDArray[np.int64], n_classes: int) -> Floats:
    """Votes per row and class, without the votes marked -1."""
    n = codes.shape[1]
    place = np.arange(n) * n_classes + codes
    return np.bincount(place[codes >= 0], minlength=n * n_classes).reshape(n, n_classes).astype(np.float64)
