"""Bias, variance and noise: what the error of a learner over many training sets is made of (B-2).

Rows x are fixed, training sets S are drawn; h_S(x) is the answer of what was learned from S. Answers come as an array
[sets, n] with a mark (nan for a number, -1 for a class code) where a set must not answer, for it held the row.

Squared error (Geman, Bienenstock and Doursat 1992), f(x) = E[y | x]:

    E (y - h_S(x))^2  =  (E h_S(x) - f(x))^2  +  Var h_S(x)  +  Var(y | x)
          error       =         bias          +   variance   +    noise

0-1 loss (Domingos, A unified bias-variance decomposition, 2000). y* is the most frequent class at x, the main
prediction m the most frequent answer, q_k the share of the sets that answer k, p_k the chance of class k at x:

    bias       [m != y*]
    variance   1 - q_m, how often a set disagrees with the main prediction. It does harm where the main prediction is
               right (unbiased variance), and good where it is wrong and the set hits y* (biased variance, q_y*):
               net variance = unbiased - biased
    noise      the best rule errs with probability 1 - p_y*. What noise does to the error is
               q_y* (1 - p_y*) - sum_{k != y*} q_k p_k: it harms answers y*, and does good to others
    error      sum_k q_k (1 - p_k)  =  bias + net variance + noise

With two classes the biased variance is all of the variance at a biased row and the noise is (2 q_y* - 1)(1 - p_y*), as
in the paper. Where only one y per row is known and no p, y* = y: the noise is then inside the bias and the variance.
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
"""Of the 0-1 loss: variance = unbiased - biased; the best rule's error is what noise would do to that rule."""

HALVES = 64
"""At most so many halves of the training sets tell the standard error of a vote. A power of two."""


class Part(NamedTuple):
    """One part of an error, a mean over rows, with what its standard error is made of."""

    of_row: Floats  # [n]
    replicates: Floats  # [r], values from parts of the training sets, spread as the value is over such sets

    @property
    def value(self) -> float:
        return float(self.of_row.mean())

    @property
    def stderr(self) -> float:
        """Of the value, for other training sets and other rows of the same kind."""
        return float(np.hypot(self.stderr_of_sets, self.stderr_of_rows))

    @property
    def stderr_of_sets(self) -> float:
        """For other training sets and the same rows."""
        return float(self.replicates.std())

    @property
    def stderr_of_rows(self) -> float:
        """For the same training sets and other rows."""
        return float(self.of_row.std(ddof=1) / np.sqrt(self.of_row.size)) if self.of_row.size > 1 else np.nan

    def minus(self, other: Part) -> Part:
        """The difference to the part of another learner, from the same training sets on the same rows."""
        if self.of_row.shape != other.of_row.shape or self.replicates.shape != other.replicates.shape:
            raise ValueError("Parts can be compared that come from the same training sets and rows; these do not.")
        return Part(self.of_row - other.of_row, self.replicates - other.replicates)


class Decomposition(NamedTuple):
    """error = bias + variance + noise, exactly, on every row."""

    loss: Literal["squared", "0-1"]
    parts: dict[str, Part]
    main: NDArray[np.float64 | np.int64]  # [n], the mean of the answers, or the most frequent one
    rows: NDArray[np.intp]  # [n], which of the rows were judged by two training sets or more
    n_sets: int

    @property
    def gap(self) -> float:
        """Largest distance of the error of a row from the sum of its parts: rounding."""
        error, bias, variance, noise = (self.parts[name].of_row for name in PARTS)
        return float(np.max(np.abs(error - bias - variance - noise)))


def decompose_squared_error(predictions: Numbers, truth: Numbers, noise: Numbers | float = 0.0) -> Decomposition:
    """Bias, variance and noise of squared error, without bias of their own for any number of training sets.

    `truth` [n] is f(x) and `noise` the variance of y at x. The square of the mean of m answers overrates the squared
    bias by Var / m: this is taken off, and Var divides by m - 1, so that the sum stays exact. A squared bias may come
    out a little below zero where there is none. If `truth` holds one y per row and `noise` is 0, noise is inside the
    bias.

    >>> found = decompose_squared_error(np.array([[1.0, 2.0], [3.0, 2.0]]), np.array([1.0, 2.0]), 0.5)
    >>> {name: part.value for name, part in found.parts.items()}
    {'error': 1.5, 'bias': 0.0, 'variance': 1.0, 'noise': 0.5}
    """
    h = np.asarray(predictions, np.float64)
    f = np.asarray(truth, np.float64)
    if h.ndim != 2 or f.shape != h.shape[1:] or np.isinf(h).any() or not np.all(np.isfinite(f)):
        raise ValueError(
            f"answers must be numbers [sets, n], nan where a set must not answer, and truth finite [n]; got the "
            f"shapes {h.shape} and {f.shape}."
        )
    rows = _judged_rows(~np.isnan(h))
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
    """Domingos' bias, variance and noise of the 0-1 loss.

    `answers` [sets, n] holds class codes; `truth` the chances [n, K] of the classes at x, or one code per row [n], with
    the noise inside bias and variance then. Of equally frequent answers the smallest code is the main prediction.

    >>> found = decompose_zero_one(np.array([[0, 1], [0, 1], [1, 0]]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    >>> {name: round(part.value, 3) for name, part in found.parts.items()}
    {'error': 0.483, 'bias': 0.5, 'variance': 0.0, 'noise': -0.017, 'unbiased variance': 0.167,
     'biased variance': 0.167, 'best error': 0.15}
    """
    codes = np.asarray(predictions)
    if codes.ndim != 2 or codes.dtype.kind not in "iu" or codes.size == 0 or codes.min() < -1:
        raise ValueError("answers must be class codes [sets, n] >= 0, -1 where a set must not answer.")
    chances = _read_chances(np.asarray(truth), codes)
    rows = _judged_rows(codes >= 0)
    codes, chances = codes[:, rows].astype(np.int64), chances[rows]
    votes = _count(codes, chances.shape[1])
    values = _vote_parts(votes, chances)
    halves = _balanced_halves(len(codes))  # one set alone hardly ever changes a vote
    changes = [_mean_change(_vote_parts(_count(codes[half], votes.shape[1]), chances) - values) for half in halves]
    spread = np.sqrt(halves.sum(axis=1) / (~halves).sum(axis=1))
    main = votes.argmax(axis=1).astype(np.int64)
    return Decomposition("0-1", _parts(VOTE_PARTS, values, np.array(changes), spread), main, rows, len(codes))


def _squared_parts(totals: Floats, offset: Floats, noise: Floats) -> Floats:
    """[4, n] from the number, sum and sum of squares of the answers less their mean; nan where there are not two."""
    m, total, squares = totals
    m = np.where(m >= 2.0, m, np.nan)
    mean = total / m
    variance = (squares - m * mean * mean) / (m - 1.0)
    bias = (offset + mean) ** 2 - variance / m
    return np.array([bias + variance + noise, bias, variance, noise])


def _vote_parts(counts: Floats, chances: Floats) -> Floats:
    """[7, n] from the votes [n, K] of the sets; nan where nobody votes."""
    n_votes = counts.sum(axis=1, keepdims=True)
    q = counts / np.where(n_votes > 0.0, n_votes, np.nan)
    rows, best, main = np.arange(len(q)), chances.argmax(axis=1), counts.argmax(axis=1)
    of_best, best_error = q[rows, best], 1.0 - chances[rows, best]
    agree = np.sum(q * chances, axis=1)  # the chance that an answer is y
    bias = np.where(np.isnan(of_best), np.nan, best != main)
    unbiased = np.where(best == main, 1.0 - of_best, 0.0)
    biased = np.where(best == main, 0.0, of_best)
    noise = of_best * best_error - (agree - of_best * chances[rows, best])
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
    """Mean over the rows that still have the answers they need, nan without any."""
    known = ~np.isnan(change)
    n = known.sum(axis=1)
    return np.where(n > 0, np.where(known, change, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)


def _judged_rows(present: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows = np.flatnonzero(present.sum(axis=0) >= 2)
    if rows.size == 0 or len(present) < 2:
        raise ValueError("No row has the answers of two training sets: take more of them.")
    return rows


def _read_chances(truth: NDArray[np.generic], codes: Codes) -> Floats:
    """[n, K]; a code per row becomes a chance of 1."""
    n, n_classes = codes.shape[1], int(codes.max()) + 1
    if truth.shape == (n,) and truth.dtype.kind in "iu" and np.all(truth >= np.uint8(0)):
        own = truth.astype(np.int64)
        return np.eye(max(n_classes, int(own.max()) + 1))[own]
    chances = np.asarray(truth, np.float64)
    if chances.ndim != 2 or len(chances) != n or chances.shape[1] < n_classes:
        raise ValueError(
            f"truth must be class codes [n], or chances [n, K] with a column for every code up to {n_classes - 1}; got "
            f"the shape {chances.shape} for {n} rows."
        )
    if np.any(chances < 0.0) or not np.allclose(chances.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
        raise ValueError("The chances must be >= 0 and sum to one over the classes: divide them by their sum.")
    return chances


def _count(codes: NDArray[np.int64], n_classes: int) -> Floats:
    n = codes.shape[1]
    place = np.arange(n) * n_classes + codes
    return np.bincount(place[codes >= 0], minlength=n * n_classes).reshape(n, n_classes).astype(np.float64)
