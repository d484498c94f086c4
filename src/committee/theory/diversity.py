"""Are the members of an ensemble accurate, and do they err on different rows?

Two members i and j over the same rows, N_ab the fraction of rows on which i is right (a = 1) or wrong (0), j likewise:

    disagreement   fraction of rows with different predictions
    double fault   N_00, both wrong                                   (Giacinto and Roli 2001)
    correlation    (N_11 N_00 - N_01 N_10) / sqrt(e_i (1 - e_i) e_j (1 - e_j)), of their errors
    Q              (N_11 N_00 - N_01 N_10) / (N_11 N_00 + N_01 N_10)  (Yule 1900): 0 independent, 1 the same errors
    kappa          (A - C) / (1 - C), A the fraction of equal predictions, C that expected by chance (Cohen 1960)

The kappa-error diagram has a point for every pair: kappa on the x axis, the mean error of the two on the y axis
(Margineantu and Dietterich 1997). Good ensembles lie low and left: accurate members that differ.

For regression, and for class probabilities, the squared error of a weighted mean is the mean error of its members less
their ambiguity (Krogh and Vedelsby, Neural network ensembles, cross validation, and active learning, 1995):

    (f(x) - y)^2 = sum w_m (h_m(x) - y)^2 - sum w_m (h_m(x) - f(x))^2        f = sum w_m h_m, sum w = 1

so a mean is never worse than its members on average. The variance of a mean by the correlation of its members is in
`committee.theory.forests.variance_of_average`.

Kuncheva and Whitaker, Measures of diversity in classifier ensembles, 2003.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.text import format_percent
from committee.theory.margins import Numbers

__all__ = [
    "AccurateAndDiverse", "Ambiguity", "PairwiseDiversity", "accurate_and_diverse", "accurate_and_diverse_regression",
    "ambiguity", "error_correlation", "pairwise_diversity",
]  # fmt: skip

Codes = NDArray[np.integer]

INDEPENDENT_ENOUGH = 0.5
"""Errors nearer to independent than to identical count as different ones."""

MIN_GAIN = 0.01
"""Regressors whose ambiguity is less than this fraction of their error are not diverse."""

ROUNDING = 1e-9

SIGNIFICANCE_SE = 2.0
"""Standard errors by which a member must be better than chance to count as surely so."""


class PairwiseDiversity(NamedTuple):
    """Measures for every two members; nan on the diagonal and where a measure is not defined.

    Attributes
    ----------
    disagreement : ndarray of shape (n_members, n_members)
        Fraction of rows with different predictions.
    double_fault : ndarray of shape (n_members, n_members)
        Fraction of rows on which both are wrong.
    correlation : ndarray of shape (n_members, n_members)
        Correlation of their errors.
    q : ndarray of shape (n_members, n_members)
        Yule's Q.
    kappa : ndarray of shape (n_members, n_members)
        Cohen's kappa.
    errors : ndarray of shape (n_members,)
        Error of each member.
    pair_errors : ndarray of shape (n_members, n_members)
        Mean error of the two on the rows that both predict.
    nearness : ndarray of shape (n_members, n_members)
        Correlation divided by the largest one that is possible with these errors.
    n_rows : ndarray of shape (n_members, n_members)
        Number of rows that both predict.
    """

    disagreement: Floats
    double_fault: Floats
    correlation: Floats
    q: Floats
    kappa: Floats
    errors: Floats
    pair_errors: Floats
    nearness: Floats
    n_rows: NDArray[np.int64]

    def mean(self, name: str) -> float:
        """Return the mean of a measure over pairs, leaving out those without a value."""
        values: Floats = getattr(self, name)
        upper = values[np.triu_indices(len(values), 1)]
        return float(np.nanmean(upper)) if np.isfinite(upper).any() else np.nan


def pairwise_diversity(codes: Codes, y: Codes) -> PairwiseDiversity:
    """Compute measures of diversity of every two members.

    Parameters
    ----------
    codes : ndarray of int, of shape (n_members, n_samples)
        Predicted class codes, -1 where a member was fitted on the row.
    y : ndarray of int, of shape (n_samples,)
        Codes of the true classes.

    Returns
    -------
    PairwiseDiversity
        The measures.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0]])
    >>> result = pairwise_diversity(codes, np.array([0, 0, 1, 1]))
    >>> result.errors.tolist(), result.disagreement[0].tolist()
    ([0.0, 0.25, 0.5], [nan, 0.25, 0.5])
    >>> round(float(result.correlation[1, 2]), 3), float(result.q[1, 2]), float(result.double_fault[1, 2])
    (-0.577, -1.0, 0.0)
    """
    predictions, truth = _read_codes(codes, y)
    there = predictions >= 0
    right = (predictions == truth) & there
    n = _counts(there, there)
    with np.errstate(invalid="ignore", divide="ignore"):
        n11, n00 = _counts(right, right) / n, _counts(there & ~right, there & ~right) / n
        n10, n01 = _counts(right, there & ~right) / n, _counts(there & ~right, right) / n
        agreement, by_chance = _agreement(predictions, there, n)
        e_i, e_j = n01 + n00, n10 + n00
        product = n11 * n00 - n01 * n10
        spread = np.sqrt(e_i * (1.0 - e_i) * e_j * (1.0 - e_j))
        largest = np.minimum(e_i, e_j) - e_i * e_j  # of `product`: all errors of the better one are shared
        result = PairwiseDiversity(
            disagreement=1.0 - agreement,
            double_fault=n00,
            correlation=product / spread,
            q=product / (n11 * n00 + n01 * n10),
            kappa=(agreement - by_chance) / (1.0 - by_chance),
            errors=1.0 - right.sum(axis=1) / there.sum(axis=1),
            pair_errors=0.5 * (e_i + e_j),
            nearness=product / largest,
            n_rows=n.astype(np.int64),
        )
    return result._replace(**{name: _off_diagonal(getattr(result, name)) for name in PAIRWISE})


PAIRWISE = ("disagreement", "double_fault", "correlation", "q", "kappa", "pair_errors", "nearness")


def _counts(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> Floats:
    """Rows on which both hold, for every pair of members."""
    return a.astype(np.float64) @ b.astype(np.float64).T


def _agreement(predictions: NDArray[np.int64], there: NDArray[np.bool_], n: Floats) -> tuple[Floats, Floats]:
    """Fraction of equal predictions, and that of independent members with the same frequencies of the classes."""
    agreement, by_chance = np.zeros_like(n), np.zeros_like(n)
    for k in np.unique(predictions[there]):
        says = predictions == k
        agreement += _counts(says, says)
        by_chance += _counts(says, there) * _counts(there, says) / n
    return agreement / n, by_chance / n


def _off_diagonal(values: Floats) -> Floats:
    clean = np.where(np.isfinite(values), values, np.nan)
    np.fill_diagonal(clean, np.nan)
    return clean


def _read_codes(codes: Codes, y: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    predictions, truth = np.asarray(codes), np.asarray(y)
    if predictions.ndim != 2 or truth.shape != predictions.shape[1:] or predictions.size == 0:
        raise ValueError(f"codes must be [members, n] and y [n], got the shapes {predictions.shape} and {truth.shape}.")
    if predictions.dtype.kind not in "iu" or truth.dtype.kind not in "iu" or predictions.min() < -1 or truth.min() < 0:
        raise ValueError("codes and y must be class codes 0, 1, ..., and -1 where a member was fitted on the row.")
    if not np.all((predictions >= 0).any(axis=1)):
        raise ValueError("A member has no prediction: leave it out, or pass rows that it was not fitted on.")
    return predictions.astype(np.int64), truth.astype(np.int64)


def error_correlation(predictions: Numbers, y: Numbers) -> Floats:
    """Compute the correlation of the errors of every two regressors.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples)
        Predictions, nan where a member was fitted on the row.
    y : ndarray of shape (n_samples,)
        The target.

    Returns
    -------
    ndarray of shape (n_members, n_members)
        Correlations over the rows that both predict; nan on the diagonal and where a member has no errors.

    Examples
    --------
    >>> error_correlation(np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 2.0]]), np.array([1.0, 1.0, 2.0]))[0].round(3)
    array([nan,  0.])
    """
    h, truth = np.asarray(predictions, np.float64), np.asarray(y, np.float64)
    if h.ndim != 2 or truth.shape != h.shape[1:]:
        raise ValueError(f"predictions must be [members, n] and y [n], got the shapes {h.shape} and {truth.shape}.")
    there = (~np.isnan(h)).astype(np.float64)
    error = np.nan_to_num(h - truth)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = there @ there.T
        mean = error @ there.T / n  # of member i on the rows that j predicts too
        square = (error * error) @ there.T / n - mean * mean
        together = error @ error.T / n - mean * mean.T
        return _off_diagonal(together / np.sqrt(square * square.T))


# --- what the members differ -----------------------------------------------------------------------------------------


class Ambiguity(NamedTuple):
    """Squared error of a mean = mean squared error of its members - ambiguity, on average and on every row.

    Attributes
    ----------
    error : float
        Error of the mean.
    member_error : float
        Weighted mean of the errors of the members.
    ambiguity : float
        Weighted mean squared difference of the members from their mean.
    member_errors : ndarray of shape (n_members,)
        Errors of the members.
    by_row : ndarray of shape (n_samples,)
        Ambiguity on every row.
    n_rows : int
        Number of rows.
    """

    error: float
    member_error: float
    ambiguity: float
    member_errors: Floats
    by_row: Floats
    n_rows: int

    @property
    def gain(self) -> float:
        """The fraction of a member's error that the mean removes."""
        return self.ambiguity / self.member_error if self.member_error > 0.0 else 0.0


def ambiguity(predictions: Numbers, truth: Numbers, weight: Floats | None = None) -> Ambiguity:
    """Decompose the squared error of a weighted mean of regressors, or of class probabilities.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples) or (n_members, n_samples, n_classes)
        Predictions, nan where a member was fitted on the row: there the mean is that of the others. Rows without
        predictions are left out.
    truth : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The target, for classes 1 for the true one and 0 elsewhere.
    weight : ndarray of shape (n_members,), default=None
        Weights of the members; None weights all equally.

    Returns
    -------
    Ambiguity
        The decomposition.

    Examples
    --------
    >>> result = ambiguity(np.array([[1.0, 3.0], [3.0, 3.0]]), np.array([2.0, 2.0]))
    >>> result.error, result.member_error, result.ambiguity
    (0.5, 1.0, 0.5)
    """
    h, y = np.asarray(predictions, np.float64), np.asarray(truth, np.float64)
    if h.ndim not in (2, 3) or y.shape != h.shape[1:] or h.size == 0 or not np.all(np.isfinite(y)):
        raise ValueError(f"predictions must be [members, n] or [members, n, k] and truth like a member's, finite; got "
                         f"{h.shape} and {y.shape}.")  # fmt: skip
    h, y = h.reshape(len(h), y.shape[0], -1), y.reshape(y.shape[0], -1)
    w = np.ones(len(h)) if weight is None else np.asarray(weight, np.float64)
    share = np.where(np.isnan(h[:, :, 0]), 0.0, w[:, np.newaxis])
    used = share.sum(axis=0) > 0.0
    h, y, share = np.nan_to_num(h[:, used]), y[used], share[:, used] / share[:, used].sum(axis=0)
    average = np.einsum("mn,mnk->nk", share, h)
    own = np.sum((h - y) ** 2, axis=2)
    spread = np.sum(share * np.sum((h - average) ** 2, axis=2), axis=0)
    predicted = share > 0.0
    member_errors = np.where(predicted, own, 0.0).sum(axis=1) / np.maximum(predicted.sum(axis=1), 1)
    error = float(np.mean(np.sum((average - y) ** 2, axis=1)))
    return Ambiguity(
        error, float(np.mean(np.sum(share * own, axis=0))), float(spread.mean()), member_errors, spread, int(used.sum())
    )


# --- accurate and diverse --------------------------------------------------------------------------------------------


class AccurateAndDiverse(NamedTuple):
    """The two conditions for an ensemble to be better than its members (Dietterich 2000), and a description.

    Attributes
    ----------
    n_members : int
        Number of members.
    chance : float
        Error of a random class, or of the mean of the target.
    n_accurate : int
        Members with a smaller error.
    n_surely_accurate : int
        Members whose error is smaller by two standard errors.
    nearness : float
        Of the members' errors: 0 independent, 1 identical; for regression 1 - the fraction of a member's error that the
        mean removes.
    is_accurate : bool
        Whether all members are accurate.
    is_diverse : bool
        Whether the members are diverse.
    member_error : float
        Mean error of the members.
    best_error : float
        Error of the best member.
    ensemble_error : float
        Error of the ensemble.
    words : str
        The result in words.
    """

    n_members: int
    chance: float
    n_accurate: int
    n_surely_accurate: int
    nearness: float
    is_accurate: bool
    is_diverse: bool
    member_error: float
    best_error: float
    ensemble_error: float
    words: str

    @property
    def holds(self) -> bool:
        """Whether the members are accurate and diverse."""
        return self.is_accurate and self.is_diverse


def accurate_and_diverse(codes: Codes, y: Codes, combined: Codes, n_classes: int) -> AccurateAndDiverse:
    """Check whether classifiers are accurate and diverse.

    A member is accurate if its error is below that of a random class, 1 - 1 / n_classes. Members are diverse if, on
    average over pairs, their errors are nearer to independent ones than to identical ones.

    Parameters
    ----------
    codes : ndarray of int, of shape (n_members, n_samples)
        Predicted class codes, -1 where a member was fitted on the row.
    y : ndarray of int, of shape (n_samples,)
        Codes of the true classes.
    combined : ndarray of int, of shape (n_samples,)
        Predictions of the ensemble.
    n_classes : int
        Number of classes.

    Returns
    -------
    AccurateAndDiverse
        Both conditions and the errors.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]])
    >>> result = accurate_and_diverse(codes, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> result.holds, result.member_error, result.ensemble_error
    (True, 0.25, 0.0)
    """
    result = pairwise_diversity(codes, y)
    n = (np.asarray(codes) >= 0).sum(axis=1)
    chance = 1.0 - 1.0 / n_classes
    stderr = np.sqrt(result.errors * (1.0 - result.errors) / n)
    nearness = result.mean("nearness")
    error = float(np.mean(np.asarray(combined) != np.asarray(y)))
    is_diverse = bool(nearness < INDEPENDENT_ENOUGH) if np.isfinite(nearness) else bool(result.mean("disagreement") > 0)
    detail = (
        f"two members differ on {format_percent(result.mean('disagreement'))} of the rows and are wrong "
        f"together on {format_percent(result.mean('double_fault'))}, where independent ones would be on "
        f"{format_percent(_independent(result.errors))} and equal ones on {format_percent(float(result.errors.mean()))}"
    )
    return _conditions(result.errors, stderr, chance, nearness, is_diverse, error, detail, "a random class")


def accurate_and_diverse_regression(predictions: Numbers, y: Numbers, combined: Numbers) -> AccurateAndDiverse:
    """Check whether regressors are accurate and diverse.

    A member is accurate if its mean squared error is below the variance of y. Members are diverse if their ambiguity is
    more than a hundredth of their error.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_samples)
        Predictions, nan where a member was fitted on the row.
    y : ndarray of shape (n_samples,)
        The target.
    combined : ndarray of shape (n_samples,)
        Predictions of the ensemble.

    Returns
    -------
    AccurateAndDiverse
        Both conditions and the errors.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> members = y + np.array([[0.3, -0.3, 0.3, -0.3], [-0.3, 0.3, 0.3, -0.3]])
    >>> result = accurate_and_diverse_regression(members, y, members.mean(axis=0))
    >>> result.holds, round(result.member_error, 3), round(result.ensemble_error, 3)
    (True, 0.09, 0.045)
    """
    h, truth = np.asarray(predictions, np.float64), np.asarray(y, np.float64)
    split = ambiguity(h, truth)
    squares = (h - truth) ** 2
    n = np.sum(~np.isnan(h), axis=1)
    stderr = np.nanstd(squares, axis=1) / np.sqrt(n)
    error = float(np.mean((np.asarray(combined, np.float64) - truth) ** 2))
    detail = (
        f"they differ from their mean by {split.ambiguity:.4g} (squared), {format_percent(split.gain)} of a member's "
        "error, and the plain mean errs by exactly that less than a member"
    )
    return _conditions(
        split.member_errors, stderr, float(truth.var()), 1.0 - split.gain, split.gain > MIN_GAIN, error, detail,
        "the mean of y",
    )  # fmt: skip


def _conditions(
    errors: Floats, stderr: Floats, chance: float, nearness: float, is_diverse: bool, error: float, detail: str,
    guess: str,
) -> AccurateAndDiverse:  # fmt: skip
    n_members, n_accurate = errors.size, int(np.sum(errors < chance))
    n_surely = int(np.sum(errors + SIGNIFICANCE_SE * stderr < chance))
    is_accurate = n_accurate == n_members
    member, best = float(errors.mean()), float(errors.min())
    words = (
        f"accurate: {'yes' if is_accurate else 'no'}. {n_accurate} of {n_members} members err less than {guess} "
        f"({chance:.3g}), {n_surely} of them surely; a member errs {member:.3g}, the best {best:.3g}\n"
        f"diverse: {'yes' if is_diverse else 'no'}. {detail}\n"
        f"together: the ensemble errs {error:.3g}, {_against(error, member)} than a member on average and "
        f"{_against(error, best)} than the best one"
    )
    return AccurateAndDiverse(
        n_members, chance, n_accurate, n_surely, nearness, is_accurate, is_diverse, member, best, error, words
    )


def _against(error: float, other: float) -> str:
    if other == 0.0 or abs(error - other) <= ROUNDING * other:
        return "no less"
    return f"{format_percent(abs(1.0 - error / other))} {'less' if error < other else 'more'}"


def _independent(errors: Floats) -> float:
    """Mean over pairs of e_i e_j."""
    m = errors.size
    return float((errors.sum() ** 2 - np.sum(errors**2)) / (m * (m - 1))) if m > 1 else np.nan
