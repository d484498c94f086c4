"""The error of a majority vote.

K voters are right with probability p each. The vote is wrong if fewer than half of them are right, and at a tie of an
even K by the rule for ties (by default with probability 1/2):

    error = P(X < K / 2) + t P(X = K / 2)        X the number of voters that are right, t = 1/2 by default

    independent   X ~ binomial(K, p)
    correlated    X ~ beta-binomial(K, a, b): each row has its own probability p_i ~ Beta(a, b), with mean
                  p = a / (a + b); two voters are right together with correlation rho = 1 / (a + b + 1)

Condorcet (1785): as K grows the error of independent voters goes to 0 if p > 1/2, to 1 if p < 1/2, and stays 1/2 at
p = 1/2. With correlation it goes to P(p_i < 1/2) instead: rows that most voters get wrong stay wrong for any K.

Williams, The analysis of binary responses from toxicological experiments, 1975 (beta-binomial).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.stats import betabinom

from committee.base.array_types import Floats

__all__ = [
    "VoteTable", "VoterModel", "condorcet_limit", "fit_voter_model", "majority_vote_error", "majority_vote_table",
    "voters_needed",
]  # fmt: skip

Ties = Literal["half", "wrong", "right"]

TIE_ERROR = {"half": 0.5, "wrong": 1.0, "right": 0.0}

MAX_VOTERS = 2**40
"""`voters_needed` gives up here."""


def majority_vote_error(
    n_voters: ArrayLike, accuracy: ArrayLike, *, correlation: float = 0.0, ties: Ties = "half"
) -> Floats:
    """Compute the probability that most voters are wrong; arrays are broadcast.

    Parameters
    ----------
    n_voters : array-like of int
        Number K of voters, at least 1.
    accuracy : array-like of float
        Probability p in [0, 1] that a voter is right.
    correlation : float, default=0.0
        Correlation rho in [0, 1] of being right between two voters.
    ties : {"half", "wrong", "right"}, default="half"
        How a tie of an even number counts.

    Returns
    -------
    ndarray
        The error of the vote.

    Examples
    --------
    >>> majority_vote_error([11, 21, 51, 101], 0.6).round(3)
    array([0.247, 0.174, 0.074, 0.021])
    >>> float(majority_vote_error(2, 0.6).round(12)), float(majority_vote_error(2, 0.6, ties="wrong").round(12))
    (0.4, 0.64)
    """
    k, p = _read(n_voters, accuracy, correlation, ties)
    below = np.ceil(k / 2.0) - 1.0  # largest number of right voters with which the vote is wrong
    is_even = k % 2.0 == 0.0
    if correlation == 0.0:
        lost, tied = special.bdtr(below, k.astype(np.int64), p), _binomial(k, k / 2.0, p)
    elif correlation == 1.0:
        lost, tied = 1.0 - p, np.zeros(p.shape)
    else:
        lost, tied = _correlated(k, p, below, correlation)
    return np.clip(lost + TIE_ERROR[ties] * np.where(is_even, tied, 0.0), 0.0, 1.0)


def condorcet_limit(accuracy: ArrayLike, *, correlation: float = 0.0) -> Floats:
    """Compute the error of a vote of infinitely many voters.

    Parameters
    ----------
    accuracy : array-like of float
        Probability p in [0, 1] that a voter is right.
    correlation : float, default=0.0
        Correlation rho in [0, 1] of being right between two voters.

    Returns
    -------
    ndarray
        The limit; with correlation it is the fraction of rows on which most voters are wrong.

    Examples
    --------
    >>> condorcet_limit([0.4, 0.5, 0.6])
    array([1. , 0.5, 0. ])
    >>> float(condorcet_limit(0.7, correlation=0.2).round(3))
    0.182
    """
    _, p = _read(1, accuracy, correlation, "half")
    if correlation == 0.0:
        return np.where(p == 0.5, 0.5, (p < 0.5).astype(np.float64))
    if correlation == 1.0:
        return 1.0 - p
    inside = (p > 0.0) & (p < 1.0)
    a, b = _shapes(np.where(inside, p, 0.5), correlation)
    return np.where(inside, special.betainc(a, b, 0.5), 1.0 - p)


def voters_needed(accuracy: float, error: float, *, correlation: float = 0.0) -> int | None:
    """Find the smallest odd number of voters whose vote has at most a given error.

    Parameters
    ----------
    accuracy : float
        Probability p that a voter is right.
    error : float
        Largest error of the vote.
    correlation : float, default=0.0
        Correlation rho in [0, 1] of being right between two voters.

    Returns
    -------
    int or None
        The number of voters, None if no number suffices.

    Examples
    --------
    >>> voters_needed(0.6, 0.05), voters_needed(0.6, 0.05, correlation=0.1)
    (67, None)
    """
    if error >= 1.0 - accuracy:
        return 1
    if accuracy <= 0.5 or not float(condorcet_limit(accuracy, correlation=correlation)) < error:
        return None
    low, high = 0, 1  # of (K - 1) / 2: the error falls with K where p > 1/2
    while float(majority_vote_error(2 * high + 1, accuracy, correlation=correlation)) > error:
        low, high = high, 2 * high
        if high > MAX_VOTERS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = float(majority_vote_error(2 * middle + 1, accuracy, correlation=correlation)) <= error
        low, high = (low, middle) if is_enough else (middle, high)
    return 2 * high + 1


class VoteTable(NamedTuple):
    """Errors of votes of several sizes, for several accuracies and one correlation.

    Attributes
    ----------
    n_voters : ndarray of shape (n_sizes,)
        Numbers of voters.
    accuracies : ndarray of shape (n_accuracies,)
        Accuracies of a voter.
    correlation : float
        Correlation of two voters.
    errors : ndarray of shape (n_accuracies, n_sizes)
        Errors of the votes.
    limits : ndarray of shape (n_accuracies,)
        Errors of votes of infinitely many voters.
    """

    n_voters: NDArray[np.int64]
    accuracies: Floats
    correlation: float
    errors: Floats
    limits: Floats


def majority_vote_table(
    accuracies: Sequence[float] | float = 0.6,
    n_voters: Sequence[int] | NDArray[np.int64] = (11, 21, 51, 101, 501),
    *,
    correlation: float = 0.0,
) -> VoteTable:
    """Tabulate the error of majority votes.

    Parameters
    ----------
    accuracies : float or sequence of float, default=0.6
        Accuracies of a voter.
    n_voters : sequence of int, default=(11, 21, 51, 101, 501)
        Numbers of voters.
    correlation : float, default=0.0
        Correlation rho in [0, 1] of being right between two voters.

    Returns
    -------
    VoteTable
        The errors, which `committee.plots.MajorityVoteDisplay` draws.

    Examples
    --------
    >>> majority_vote_table().errors.round(3)
    array([[0.247, 0.174, 0.074, 0.021, 0.   ]])
    """
    p = np.atleast_1d(np.asarray(accuracies, np.float64))
    k = np.asarray(n_voters, np.int64)
    errors = majority_vote_error(k[np.newaxis, :], p[:, np.newaxis], correlation=correlation)
    return VoteTable(k, p, correlation, errors, condorcet_limit(p, correlation=correlation))


class VoterModel(NamedTuple):
    """Voters described as independent and as beta-binomial ones, with the error of their vote and those of both models.

    Attributes
    ----------
    n_voters : int
        Number of voters.
    accuracy : float
        Mean accuracy over voters and rows.
    correlation : float
        Correlation of being right between two voters, in [0, 1].
    error : float
        Fraction of the rows on which fewer than half are right; ties count by half.
    independent_error : float
        Error of independent voters of this accuracy.
    correlated_error : float
        Error of beta-binomial voters of this accuracy and correlation.
    limit : float
        Error of infinitely many such voters.
    n_rows : int
        Number of rows.
    """

    n_voters: int
    accuracy: float
    correlation: float
    error: float
    independent_error: float
    correlated_error: float
    limit: float
    n_rows: int


def fit_voter_model(is_right: NDArray[np.bool_]) -> VoterModel:
    """Estimate accuracy and correlation of voters from the variance of the number of them that are right.

        var(X) = K p (1 - p) (1 + (K - 1) rho)

    Parameters
    ----------
    is_right : ndarray of bool, of shape (n_voters, n_samples)
        Whether each voter is right on each row. With more than two classes a vote can be won with fewer than half of
        the voters right: its error is then smaller.

    Returns
    -------
    VoterModel
        The estimates and the errors that follow from them.

    Examples
    --------
    >>> model = fit_voter_model(np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0]], bool))
    >>> round(model.accuracy, 3), round(model.correlation, 3), model.error
    (0.667, 0.0, 0.25)
    """
    right = np.asarray(is_right, np.bool_)
    if right.ndim != 2 or right.size == 0:
        raise ValueError(f"is_right must be [voters, n] and not empty, got the shape {right.shape}.")
    k, n = right.shape
    count = right.sum(axis=0)
    p = float(right.mean())
    alone = k * p * (1.0 - p)
    rho = 0.0 if k == 1 or alone == 0.0 else (float(count.var()) / alone - 1.0) / (k - 1)
    rho = min(max(rho, 0.0), 1.0)
    error = float(np.mean(count < k / 2.0) + 0.5 * np.mean(count == k / 2.0))
    independent, correlated = (float(majority_vote_error(k, p, correlation=r)) for r in (0.0, rho))
    return VoterModel(k, p, rho, error, independent, correlated, float(condorcet_limit(p, correlation=rho)), n)


def _read(n_voters: ArrayLike, accuracy: ArrayLike, correlation: float, ties: str) -> tuple[Floats, Floats]:
    k, p = np.broadcast_arrays(np.asarray(n_voters, np.float64), np.asarray(accuracy, np.float64))
    if not np.all((k >= 1.0) & (k == np.floor(k))):
        raise ValueError("n_voters must be integers >= 1.")
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("accuracy must lie in [0, 1].")
    if not 0.0 <= correlation <= 1.0:
        raise ValueError(f"correlation must lie in [0, 1], got {correlation}.")
    if ties not in TIE_ERROR:
        raise ValueError(f"ties must be one of {sorted(TIE_ERROR)}, got {ties!r}.")
    return k, p


def _binomial(k: Floats, j: Floats, p: Floats) -> Floats:
    """C(k, j) p^j (1 - p)^(k - j)."""
    logarithm = special.gammaln(k + 1.0) - special.gammaln(j + 1.0) - special.gammaln(k - j + 1.0)
    return np.exp(logarithm + special.xlogy(j, p) + special.xlog1py(k - j, -p))


def _shapes(p: Floats, correlation: float) -> tuple[Floats, Floats]:
    total = 1.0 / correlation - 1.0
    return p * total, (1.0 - p) * total


def _correlated(k: Floats, p: Floats, below: Floats, correlation: float) -> tuple[Floats, Floats]:
    inside = (p > 0.0) & (p < 1.0)
    a, b = _shapes(np.where(inside, p, 0.5), correlation)
    lost = np.where(inside, betabinom.cdf(below, k, a, b), 1.0 - p)
    tied = np.where(inside, betabinom.pmf(np.floor(k / 2.0), k, a, b), 0.0)
    return lost, tied
