"""Votes and averages of many members: strength, correlation, variance, uncertainty.

    Breiman (2001)   P(error) <= rho (1 - s^2) / s^2,   s the strength, rho the mean correlation of the members
    average of K     rho s^2 + (1 - rho) s^2 / K,       s^2 the variance of a member, rho their correlation
    uncertainty      H(mean p) = mean H(p) + I,         noise, and the disagreement of the members

All functions take plain arrays: predictions of the members [members, n], with a mark (-1 for a class code, nan for a
number) where a member was fitted on the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.theory.decomposition import count_votes
from committee.theory.margins import Numbers

__all__ = [
    "AverageVariance",
    "Strength",
    "Uncertainty",
    "regression_uncertainty",
    "strength_and_correlation",
    "uncertainty",
    "variance_of_average",
    "variance_over_training_sets",
]  # fmt: skip

Codes = NDArray[np.integer]
Mask = NDArray[np.bool_]

# --- strength and correlation ----------------------------------------------------------------------------------------


class Strength(NamedTuple):
    """Strength and correlation of a voting ensemble, and the bounds of its error that follow.

    Attributes
    ----------
    strength : float
        s, the mean margin of the vote over the rows.
    margin_variance : float
        Variance of the margin over the rows.
    correlation : float
        rho, the margin variance / the squared mean deviation of the members.
    error : float
        Fraction of the rows with a margin <= 0: a tie counts as an error.
    chebyshev_bound : float
        margin variance / s^2, the tighter bound.
    bound : float
        rho (1 - s^2) / s^2.
    ratio : float
        rho / s^2, Breiman's c/s2: the smaller the better.
    is_vacuous : bool
        Whether `bound` is at least 1.
    n_rows : int
        Rows with a vote.
    note : str
        The bound in words.
    """

    strength: float
    margin_variance: float
    correlation: float
    error: float
    chebyshev_bound: float
    bound: float
    ratio: float
    is_vacuous: bool
    n_rows: int
    note: str


def strength_and_correlation(votes: Codes, y: Codes) -> Strength:
    """Compute strength, correlation and the bound of the error of a vote (Breiman, Random forests, 2001, theorem 2.3).

    With Q(x, k) the fraction of votes for k among the members that vote on x, and j(x) the class other than y with the
    largest:

        margin  mr(x) = Q(x, y) - Q(x, j(x)),          s = mean mr
        member  rmg_t = [h_t = y] - [h_t = j],         sd_t^2 = p1 + p2 - (p1 - p2)^2
        rho = var(mr) / (mean_t sd_t)^2,               P(mr <= 0) <= var(mr) / s^2 <= rho (1 - s^2) / s^2

    where p1 and p2 are the fractions of the rows on which member t predicts y and j: rmg_t is +1, -1 and else 0.

    Parameters
    ----------
    votes : ndarray of int, of shape (n_members, n_samples)
        Predicted class codes, -1 where a member was fitted on the row.
    y : ndarray of int, of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    Strength
        Strength, correlation and bounds.

    Notes
    -----
    If every member votes on every row the inequalities hold exactly, for these rows. From out-of-bag votes they are
    estimates: about a third of the members votes on a row, so the margins vary a little more than those of the whole
    forest, and rho is overestimated.

    Examples
    --------
    >>> votes = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 0]])
    >>> result = strength_and_correlation(votes, np.array([0, 0, 1, 1]))
    >>> round(result.strength, 3), round(result.correlation, 3), round(result.bound, 3), result.is_vacuous
    (0.667, 0.333, 0.417, False)
    """
    codes, truth = _read_votes(votes, y)
    voted = (codes >= 0).any(axis=0)
    codes, truth = codes[:, voted], truth[voted]
    # The vote: fractions of the classes, the margin, the best class that is wrong
    rows, counts = np.arange(truth.size), count_votes(codes, int(max(codes.max(), truth.max(), 1)) + 1)
    fractions = counts / counts.sum(axis=1, keepdims=True)
    own = fractions[rows, truth]
    fractions[rows, truth] = -1.0
    rival = fractions.argmax(axis=1)
    margin = own - fractions[rows, rival]
    # The members: deviations of their own margins
    n_votes = (codes >= 0).sum(axis=1)
    is_member = n_votes > 0
    p1 = (codes == truth).sum(axis=1)[is_member] / n_votes[is_member]
    p2 = (codes == rival).sum(axis=1)[is_member] / n_votes[is_member]
    deviation = float(np.mean(np.sqrt(np.maximum(p1 + p2 - (p1 - p2) ** 2, 0.0))))
    return _bounds(margin, deviation)


def _bounds(margin: Floats, deviation: float) -> Strength:
    s, variance = float(margin.mean()), float(margin.var())
    rho = variance / deviation**2 if deviation > 0.0 else 0.0  # members that never differ from their mean
    error = float(np.mean(margin <= 0.0))
    if s <= 0.0:
        note = f"the strength is {s:.3g}: the members are no better than chance, and the theorem guarantees nothing"
        return Strength(s, variance, rho, error, np.inf, np.inf, np.inf, True, margin.size, note)
    bound = rho * (1.0 - s * s) / s**2
    is_vacuous = bound >= 1.0
    note = (
        f"the bound is {bound:.3g}, which is vacuous: stronger or less correlated members are needed"
        if is_vacuous
        else f"the error is at most {bound:.3g}; on these rows it is {error:.3g}"
    )
    return Strength(s, variance, rho, error, variance / s**2, bound, rho / s**2, is_vacuous, margin.size, note)


def _read_votes(votes: Codes, y: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    codes, truth = np.asarray(votes), np.asarray(y)
    if (
        codes.ndim != 2
        or truth.shape != codes.shape[1:]
        or codes.dtype.kind not in "iu"
        or truth.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"votes must be class codes [members, n] and y codes [n], got the shapes {codes.shape} and {truth.shape} "
            f"of {codes.dtype} and {truth.dtype}."
        )
    codes, truth = codes.astype(np.int64), truth.astype(np.int64)
    if codes.size == 0 or codes.min() < -1 or codes.max() < 0 or truth.min() < 0:
        raise ValueError("votes must hold class codes >= 0, -1 where a member does not vote, and at least one vote.")
    return codes, truth


# --- variance of an average ------------------------------------------------------------------------------------------


class AverageVariance(NamedTuple):
    """Variance rho s^2 + (1 - rho) s^2 / K of an average: the part that all members share, and what averaging removes.

    Attributes
    ----------
    n_members : int
        K.
    variance : float
        s^2, of one member.
    correlation : float
        rho, between two members; nan if s^2 is zero.
    shared : float
        rho s^2, the limit for K -> infinity.
    removable : float
        (1 - rho) s^2.
    of_average : float
        rho s^2 + (1 - rho) s^2 / K.
    gain_left : float
        (1 - rho) s^2 / K, what infinitely many more members would remove.
    n_rows : int
        Number of rows.
    """

    n_members: int
    variance: float
    correlation: float
    shared: float
    removable: float
    of_average: float
    gain_left: float
    n_rows: int

    def with_members(self, n_members: int) -> float:
        """Return the variance of an average of `n_members` members.

        >>> variance_of_average(np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([0.0, 0.0])).with_members(10)
        4.05
        """
        return self.shared + self.removable / n_members

    @property
    def note(self) -> str:
        """Whether more members would help, in words."""
        if self.of_average <= 0.0:
            return "nothing is left to remove"
        fraction = self.gain_left / self.of_average
        return (
            f"with {self.n_members} members {self.of_average:.4g} is left of {self.variance:.4g}; infinitely many more "
            f"would remove another {self.gain_left:.3g} ({100.0 * fraction:.2g} %)"
        )


def variance_of_average(predictions: Numbers, y: Numbers | None = None) -> AverageVariance:
    """Split the mean square of an average of members into a part shared by all and one that averaging removes.

    Deviations d_t(x) are predictions minus `y` if it is given, else minus the member's mean over the rows. With means
    over rows and over pairs of different members

        s^2 = mean d_t^2,    rho s^2 = mean d_t d_u  (t != u),    mean (average of K)^2 = rho s^2 + (1 - rho) s^2 / K

    which is an identity if every member predicts every row.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples)
        Predictions, nan where a member was fitted on the row; rows with fewer than two are left out.
    y : ndarray of shape (n_samples,), default=None
        The target.

    Returns
    -------
    AverageVariance
        Both parts.

    Notes
    -----
    All members come from one training set. Given that set they are independent draws of the same random procedure, so

        (1 - rho) s^2   is the mean over x of the variance of a member at x, given the training set. It alone shows
                        whether more members would help; averaged over training sets it is the textbook's (1 - rho) s^2.
        rho s^2         is what all members of this training set have in common. With y it includes noise and squared
                        bias besides the variance over training sets, so it is the mean squared error that no number
                        of members goes below, and rho is the correlation of their errors. Without y, rho is the
                        correlation of their predictions over the rows.

    The rho of the textbook, over training sets at a fixed x, cannot be estimated from one training set: see
    `variance_over_training_sets`.

    Examples
    --------
    >>> result = variance_of_average(np.array([[1.0, 3.0, 2.0], [2.0, 2.0, 4.0]]), np.array([1.0, 2.0, 2.0]))
    >>> result.variance, result.shared, round(result.of_average, 3), round(result.gain_left, 3)
    (1.0, 0.0, 0.5, 0.5)
    """
    d = _read_predictions(predictions)
    if y is not None:
        target = np.asarray(y, np.float64)
        if target.shape != d.shape[1:] or not np.all(np.isfinite(target)):
            raise ValueError(f"y must hold one finite number per row, {d.shape[1]} of them; got shape {target.shape}.")
        d = d - target
    present = ~np.isnan(d)
    if y is None:
        n_predicted = present.sum(axis=1, keepdims=True)
        d = d - np.where(present, d, 0.0).sum(axis=1, keepdims=True) / np.maximum(n_predicted, 1)
    m = present.sum(axis=0)
    used = m >= 2
    if not used.any():
        raise ValueError("No row has predictions of two members: pass more members, or rows outside more bags.")
    d, m = np.where(present, d, 0.0)[:, used], m[used]
    sums, squares = d.sum(axis=0), np.sum(d * d, axis=0)
    variance = float(np.mean(squares / m))
    shared = float(np.mean((sums * sums - squares) / (m * (m - 1))))
    return _average(len(predictions), variance, shared, int(m.size))


def variance_over_training_sets(predictions: Numbers) -> AverageVariance:
    """Split the variance of an average over training sets, at fixed rows.

    See Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 15.4.1. The variance of a member
    on a row is the sum of that of its mean over training sets and that within them,

        (1 - rho) s^2 = mean within,     rho s^2 = variance of the sets' means - (1 - rho) s^2 / K

    estimated without bias and averaged over rows. A shared part below zero is noise: take more training sets.

    Parameters
    ----------
    predictions : ndarray of shape (n_sets, n_members, n_samples)
        Predictions of K members fitted on each of several independent training sets.

    Returns
    -------
    AverageVariance
        Both parts.

    Examples
    --------
    >>> sets = np.array([[[0.0], [2.0]], [[3.0], [5.0]]])
    >>> result = variance_over_training_sets(sets)
    >>> result.shared, result.removable, result.of_average
    (3.5, 2.0, 4.5)
    """
    h = np.asarray(predictions, np.float64)
    if h.ndim != 3 or min(h.shape) < 1 or h.shape[0] < 2 or h.shape[1] < 2 or not np.all(np.isfinite(h)):
        raise ValueError(
            f"predictions must be finite, [sets, members, n] with two sets and two members at least; got shape "
            f"{h.shape}."
        )
    removable = float(np.mean(h.var(axis=1, ddof=1)))
    shared = float(np.mean(h.mean(axis=1).var(axis=0, ddof=1))) - removable / h.shape[1]
    return _average(h.shape[1], shared + removable, shared, h.shape[2])


def _average(n_members: int, variance: float, shared: float, n_rows: int) -> AverageVariance:
    removable = variance - shared
    left = removable / n_members
    rho = shared / variance if variance > 0.0 else np.nan
    return AverageVariance(n_members, variance, rho, shared, removable, shared + left, left, n_rows)


# --- uncertainty -----------------------------------------------------------------------------------------------------


class Uncertainty(NamedTuple):
    """Uncertainty of the prediction of every row, total = aleatoric + epistemic.

    Attributes
    ----------
    total : ndarray of shape (n_samples,)
        The sum.
    aleatoric : ndarray of shape (n_samples,)
        Noise that every member expects.
    epistemic : ndarray of shape (n_samples,)
        Disagreement of the members, which more data would reduce.
    """

    total: Floats
    aleatoric: Floats
    epistemic: Floats


def uncertainty(probabilities: Numbers) -> Uncertainty:
    """Compute entropies, in nats, of the predictive distribution over members (Depeweg et al. 2018).

        total      H(mean_t p_t)              of the mean distribution
        aleatoric  mean_t H(p_t)              of the members' own
        epistemic  mean_t KL(p_t || mean p)   the mutual information of the class and the member

    Parameters
    ----------
    probabilities : ndarray of shape (n_members, n_samples, n_classes)
        Class probabilities, nan where a member was fitted on the row; a row without predictions gets nan.

    Returns
    -------
    Uncertainty
        The entropies of every row.

    Examples
    --------
    >>> result = uncertainty(np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]))
    >>> result.aleatoric.round(3), result.epistemic.round(3)
    (array([0.   , 0.693]), array([0.693, 0.   ]))
    """
    p = np.asarray(probabilities, np.float64)
    if p.ndim != 3 or p.size == 0:
        raise ValueError(f"probabilities must be [members, n, classes], got the shape {p.shape}.")
    present: Mask = np.asarray(~np.isnan(p).any(axis=2))
    predicted = p[present]
    if np.any(predicted < 0.0) or not np.allclose(predicted.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
        raise ValueError("probabilities must be >= 0 and sum to one over the classes: divide them by their sum.")
    total = _entropy(_mean_present(p, present))
    aleatoric = _mean_present(_entropy(p), present)
    return Uncertainty(total, aleatoric, np.maximum(total - aleatoric, 0.0))


def regression_uncertainty(means: Numbers, variances: Numbers | None = None) -> Uncertainty:
    """Apply the law of total variance over members: the mean of their variances + the variance of their means.

    Parameters
    ----------
    means : ndarray of shape (n_members, n_samples)
        Means of the members' predictive distributions, for a tree those of its leaves; nan where a member was fitted on
        the row.
    variances : ndarray of shape (n_members, n_samples), default=None
        Variances of these distributions; None counts them as zero.

    Returns
    -------
    Uncertainty
        The variances of every row.

    Examples
    --------
    >>> regression_uncertainty(np.array([[1.0], [3.0]]), np.array([[0.5], [1.5]]))
    Uncertainty(total=array([2.]), aleatoric=array([1.]), epistemic=array([1.]))
    """
    h = _read_predictions(means)
    v = np.zeros_like(h) if variances is None else np.asarray(variances, np.float64)
    if v.shape != h.shape or np.any(v < 0.0):
        raise ValueError(f"variances must be >= 0 and as many as means, {h.shape}; got the shape {v.shape}.")
    present = ~np.isnan(h) & ~np.isnan(v)
    aleatoric = _mean_present(v, present)
    epistemic = _mean_present((h - _mean_present(h, present)) ** 2, present)
    return Uncertainty(aleatoric + epistemic, aleatoric, epistemic)


def _read_predictions(predictions: Numbers) -> Floats:
    h = np.asarray(predictions, np.float64)
    if h.ndim != 2 or h.size == 0 or np.isinf(h).any():
        raise ValueError(f"predictions must be [members, n], finite or nan, and not empty; got the shape {h.shape}.")
    return h


def _mean_present(values: Floats, present: Mask) -> Floats:
    """Mean over the members that predict the row, nan without any."""
    mask = present if values.ndim == 2 else present[:, :, np.newaxis]
    n = mask.sum(axis=0)
    return np.where(n > 0, np.where(mask, values, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)


def _entropy(p: Floats) -> Floats:
    return -np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=-1)
