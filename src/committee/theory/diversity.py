"""Are the members of an ensemble accurate, and do they err on different rows? (B-5; S3, "Ensemble Methods")

Two members i and j over the same rows, N_ab the share of rows on which i is right (a = 1) or wrong (0) and j likewise:

    disagreement   share of rows with different answers
    double fault   N_00, both wrong                                   (Giacinto and Roli 2001)
    correlation    (N_11 N_00 - N_01 N_10) / sqrt(e_i (1 - e_i) e_j (1 - e_j)), of their errors
    Q              (N_11 N_00 - N_01 N_10) / (N_11 N_00 + N_01 N_10)  (Yule 1900): 0 independent, 1 the same errors
    kappa          (A - C) / (1 - C), A the share of equal answers, C what chance would give (Cohen 1960)

The kappa-error diagram has a dot for every pair: kappa across, the mean error of the two up (Margineantu and Dietterich
1997). Good ensembles lie low and left: accurate members that differ.

Numbers, and class shares: the squared error of a weighted mean is that of a member on average, less what the members
differ (Krogh and Vedelsby, Neural network ensembles, cross validation, and active learning, 1995):

    (f(x) - y)^2 = sum w_m (h_m(x) - y)^2 - sum w_m (h_m(x) - f(x))^2        f = sum w_m h_m, sum w = 1

so a mean is never worse than its members on average, and better by exactly their ambiguity. The variance of a mean by
the correlation of its members (B-3) is in `committee.theory.forests.variance_of_average`.

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
    "AccurateAndDiverse", "Ambiguity", "PairwiseDiversity", "accurate_and_diverse", "accurate_and_diverse_numbers",
    "ambiguity", "error_correlation", "pairwise_diversity",
]  # fmt: skip

Codes = NDArray[np.integer]

INDEPENDENT_ENOUGH = 0.5
"""Errors nearer to independent than to identical count as different ones."""

LITTLE = 0.01
"""Numbers: members that differ by less than this share of their error are as good as one."""

ROUNDING = 1e-9

SURE = 2.0
"""Standard errors by which a member must be better than guessing to be surely so."""


class PairwiseDiversity(NamedTuple):
    """Measures for every two members, [members, members]; nan on the diagonal and where one is not defined."""

    disagreement: Floats
    double_fault: Floats
    correlation: Floats
    q: Floats
    kappa: Floats
    errors: Floats  # [members]
    pair_errors: Floats  # mean error of the two on the rows that both answer
    nearness: Floats  # correlation divided by the largest that errors so frequent can have
    n_rows: NDArray[np.int64]  # [members, members] rows that both answer

    def mean(self, name: str) -> float:
        """Mean of a measure over pairs, those without a value left out."""
        values: Floats = getattr(self, name)
        upper = values[np.triu_indices(len(values), 1)]
        return float(np.nanmean(upper)) if np.isfinite(upper).any() else np.nan


def pairwise_diversity(codes: Codes, y: Codes) -> PairwiseDiversity:
    """Measures of diversity of every two members from class codes [members, n], -1 where a member must not answer.

    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 0]])
    >>> found = pairwise_diversity(codes, np.array([0, 0, 1, 1]))
    >>> found.errors.tolist(), found.disagreement[0].tolist()
    ([0.0, 0.25, 0.5], [nan, 0.25, 0.5])
    >>> round(float(found.correlation[1, 2]), 3), float(found.q[1, 2]), float(found.double_fault[1, 2])
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
    """Share of equal answers, and of those that independent members with these habits would give."""
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
        raise ValueError("codes and y must be class codes 0, 1, ..., and -1 where a member does not answer.")
    if not np.all((predictions >= 0).any(axis=1)):
        raise ValueError("A member answers no row: leave it out, or pass rows that it did not see.")
    return predictions.astype(np.int64), truth.astype(np.int64)


def error_correlation(predictions: Numbers, y: Numbers) -> Floats:
    """Correlation of the errors of every two members that answer numbers [members, n]; nan on the diagonal.

    Over the rows that both answer, nan where one does not.

    >>> error_correlation(np.array([[1.0, 2.0, 4.0], [1.0, 2.0, 2.0]]), np.array([1.0, 1.0, 2.0]))[0].round(3)
    array([nan,  0.])
    """
    h, truth = np.asarray(predictions, np.float64), np.asarray(y, np.float64)
    if h.ndim != 2 or truth.shape != h.shape[1:]:
        raise ValueError(f"answers must be [members, n] and y [n], got the shapes {h.shape} and {truth.shape}.")
    there = (~np.isnan(h)).astype(np.float64)
    error = np.nan_to_num(h - truth)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = there @ there.T
        mean = error @ there.T / n  # of member i on the rows that j answers too
        square = (error * error) @ there.T / n - mean * mean
        together = error @ error.T / n - mean * mean.T
        return _off_diagonal(together / np.sqrt(square * square.T))


# --- what the members differ -----------------------------------------------------------------------------------------


class Ambiguity(NamedTuple):
    """Squared error of a mean = mean squared error of its members - ambiguity, over the rows and row by row."""

    error: float  # of the mean
    member_error: float  # of the members, by weight
    ambiguity: float  # what they differ from the mean, by weight
    member_errors: Floats  # [members]
    by_row: Floats  # [n] ambiguity of every row
    n_rows: int

    @property
    def gain(self) -> float:
        """The share of a member's error that the mean removes."""
        return self.ambiguity / self.member_error if self.member_error > 0.0 else 0.0


def ambiguity(predictions: Numbers, truth: Numbers, weight: Floats | None = None) -> Ambiguity:
    """The ambiguity decomposition of a weighted mean of numbers [members, n] or class shares [members, n, k].

    `truth` is [n] or [n, k] (1 for the true class), `weight` one per member. nan where a member must not answer: there
    the mean is that of the others; rows that nobody answers are left out.

    >>> found = ambiguity(np.array([[1.0, 3.0], [3.0, 3.0]]), np.array([2.0, 2.0]))
    >>> found.error, found.member_error, found.ambiguity
    (0.5, 1.0, 0.5)
    """
    h, y = np.asarray(predictions, np.float64), np.asarray(truth, np.float64)
    if h.ndim not in (2, 3) or y.shape != h.shape[1:] or h.size == 0 or not np.all(np.isfinite(y)):
        raise ValueError(f"answers must be [members, n] or [members, n, k] and truth like a member's, finite; got "
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
    """S3's two conditions for an ensemble to be better than its members, and the words for them."""

    n_members: int
    chance: float  # error of guessing: a class drawn by lot, or the mean of the numbers
    n_accurate: int  # members with a smaller error
    n_surely_accurate: int  # smaller by two standard errors
    nearness: float  # of the members' errors: 0 independent, 1 the same ones; for numbers 1 - ambiguity share
    is_accurate: bool  # all members
    is_diverse: bool
    member_error: float  # mean
    best_error: float
    ensemble_error: float
    words: str

    @property
    def holds(self) -> bool:
        return self.is_accurate and self.is_diverse


def accurate_and_diverse(codes: Codes, y: Codes, combined: Codes, n_classes: int) -> AccurateAndDiverse:
    """S3's conditions for members that answer classes; `combined` [n] is what the ensemble answers.

    A member is accurate if it errs less often than a class drawn by lot, 1 - 1 / n_classes. Members are diverse if, on
    average over pairs, their errors are nearer to independent ones than to the same ones.

    >>> codes = np.array([[0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]])
    >>> found = accurate_and_diverse(codes, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> found.holds, found.member_error, found.ensemble_error
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
        f"two members answer differently on {format_percent(result.mean('disagreement'))} of the rows and are wrong "
        f"together on {format_percent(result.mean('double_fault'))}, where independent ones would be on "
        f"{format_percent(_independent(result.errors))} and equal ones on {format_percent(float(result.errors.mean()))}"
    )
    return _conditions(result.errors, stderr, chance, nearness, is_diverse, error, detail, "a class drawn by lot")


def accurate_and_diverse_numbers(predictions: Numbers, y: Numbers, combined: Numbers) -> AccurateAndDiverse:
    """S3's conditions for members that answer numbers [members, n].

    A member is accurate if its mean squared error is below the variance of y. Members are diverse if what they differ
    is more than a hundredth of their error.

    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> members = y + np.array([[0.3, -0.3, 0.3, -0.3], [-0.3, 0.3, 0.3, -0.3]])
    >>> found = accurate_and_diverse_numbers(members, y, members.mean(axis=0))
    >>> found.holds, round(found.member_error, 3), round(found.ensemble_error, 3)
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
        split.member_errors, stderr, float(truth.var()), 1.0 - split.gain, split.gain > LITTLE, error, detail,
        "the mean of y",
    )  # fmt: skip


def _conditions(
    errors: Floats, stderr: Floats, chance: float, nearness: float, is_diverse: bool, error: float, detail: str,
    guess: str,
) -> AccurateAndDiverse:  # fmt: skip
    n_members, n_accurate = errors.size, int(np.sum(errors < chance))
    n_surely = int(np.sum(errors + SURE * stderr < chance))
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
