"""Probabilities of an SVM: Platt scaling with the sigmoid fixed to 1/2 where f = 0 (Platt 1999).

    P(y = +1 | x) = 1 / (1 + exp(-s f(x))),    s > 0 the only parameter

Platt's sigmoid also has an offset, and then gives less than 1/2 to the class that f chooses wherever f lies between 0
and that offset. Without it the probabilities never contradict `predict`.

s minimises the log-loss of values of f at held-out rows: five SVMs, each fitted without a fifth of the rows, over the
kernel rows of the SVM to calibrate (a held-out row has C_i = 0, so that it is not a support vector). Rows with equal
features are held out together, and folds follow from the values of the rows (shuffled by a seed on request): an integer
weight is equivalent to repetition. Targets are Platt's: a class of N rows has (N + 1) / (N + K) instead of 1, so that s
is finite for classes that can be separated.

    two classes     p = (1 / (1 + exp(s f)), 1 / (1 + exp(-s f)))
    one-rest        p_k = exp(s f_k) / sum_j exp(s f_j), one s for all binary SVMs
    one-one         r_ij = 1 / (1 + exp(-s_ij f_ij)), an s for each pair, joined by (Wu, Lin and Weng 2004, method 2)

                        min over p of  sum_{i<j} (r_ji p_i - r_ij p_j)^2,    sum p = 1

Votes and joined pairs may disagree. Then the class of the vote and those above it get equal probabilities: the nearest
point at which the vote is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from committee.base.array_types import Floats
from committee.calibration.slope import fit_slope
from committee.sampling.splits import fold_numbers, k_folds, rows_to_split
from committee.svm._kernel_rows import KernelRows
from committee.svm.binary_svm import BinarySVM
from committee.svm.multiclass import BinaryProblem

Codes = NDArray[np.int64]

N_FOLDS = 5

MIN_PROBABILITY = 1e-7
"""Probabilities of pairs are kept that far from 0 and 1, where their system is singular."""

EXPONENT_STEP = 2.0**-40
"""Exponents are rounded to multiples of it: rows on two margins have equal f, except for rounding."""

ABOVE = 1.0 + 16.0 * np.finfo(np.float64).eps
"""Factor by which the probability of the chosen class is above the others after a tie."""


class PlattScaling(NamedTuple):
    """Slopes of the sigmoids, and their loss on held-out rows."""

    slope: Floats  # one for each pair, or one for all binary SVMs
    log_loss: Floats  # mean of ln(1 / P(y | x)) over the held-out rows, for each slope
    n_folds: int  # 0 if a class has a single row: training rows were used instead of held-out ones

    def probabilities(self, values: Floats, chosen: Codes, n_classes: int) -> Floats:
        """Probabilities [n, K] from the values [n, M] of the binary SVMs; largest for the chosen class."""
        if n_classes == 2:
            result = softmax(_two_sides(_rounded(self.slope[0] * values[:, 0])), axis=1)
        elif self.slope.size == 1:
            result = softmax(_rounded(self.slope[0] * values), axis=1)
        else:
            result = join_pairs(expit(self.slope * values), n_classes)
        return agree(result, chosen)


def fit_platt(
    held_out: Sequence[Floats],
    problems: Sequence[BinaryProblem],
    places: Sequence[Codes],
    codes: Codes,
    weight: Floats,
    n_folds: int,
) -> PlattScaling:
    """Fit slopes to the held-out values of each binary SVM; `places` are the rows of each."""
    if len(problems) > 1 and problems[0].negative is None:
        fits = [fit_slope(np.column_stack(held_out), codes, weight)]
    else:
        fits = [
            fit_slope(_two_sides(values), (codes[some] == problem.positive).astype(np.int64), weight[some])
            for values, problem, some in zip(held_out, problems, places, strict=True)
        ]
    slope, loss = np.array(fits).T
    return PlattScaling(slope, loss, n_folds)


def _rounded(exponents: Floats) -> Floats:
    """To multiples of EXPONENT_STEP: values that differ by rounding are equal, and the logarithms keep the order."""
    return np.rint(exponents / EXPONENT_STEP) * EXPONENT_STEP


def _two_sides(values: Floats) -> Floats:
    """Values of the negative and of the positive side."""
    return np.column_stack([np.zeros_like(values), values])


# --- held-out rows ---------------------------------------------------------------------------------------------------


class Folds(NamedTuple):
    """Which rows are held out together."""

    of_row: Codes
    n: int  # 0 if a class has a single distinct row, which cannot be held out

    def take(self, rows: Codes) -> Folds:
        return Folds(self.of_row[rows], self.n)


def make_folds(X: Floats, codes: Codes, n_folds: int = N_FOLDS, seed: int | None = None) -> Folds:
    """Folds that leave training rows of every class.

    X is not scaled: the last digits of scaled columns depend on the order of the rows.
    """
    splits = k_folds(rows_to_split(X, codes, is_class=True), n_folds, seed, every_class=True)
    return Folds(fold_numbers(splits, codes.size), len(splits))


def held_out_values(
    train: Callable[[Floats], BinarySVM], svm: BinarySVM, rows: KernelRows, weight: Floats, folds: Folds
) -> Floats:
    """f at every row by an SVM fitted without it; by `svm`, fitted on all rows, without folds.

    `train` fits an SVM to weights of the rows; held-out rows have weight 0.
    """
    if folds.n == 0:
        return values_at(rows, svm, np.arange(rows.n))
    values = np.empty(rows.n)
    for k in range(folds.n):
        is_out = folds.of_row == k
        out = np.flatnonzero(is_out)
        if not out.size:  # a pair of classes need not have rows in every fold
            continue
        values[out] = values_at(rows, train(np.where(is_out, 0.0, weight)), out)
    return values


def values_at(rows: KernelRows, svm: BinarySVM, positions: Codes) -> Floats:
    """f at some of the kernel rows that an SVM was fitted with: from cached rows, else from kernel values."""
    if rows.capacity < rows.n:
        return rows.exact_sums(positions, svm.support, svm.coef) + svm.offset
    total = np.zeros(rows.n)
    rows.add(total, rows.fetch(svm.support), svm.coef)
    return total[positions] + svm.offset


# --- probabilities of several classes --------------------------------------------------------------------------------


def join_pairs(pairs: Floats, n_classes: int) -> Floats:
    """Probabilities [n, K] from those of all pairs i < j [n, K (K - 1) / 2] that it is i.

    >>> p = np.array([0.5, 0.3, 0.2])
    >>> pairs = np.array([[p[i] / (p[i] + p[j]) for i, j in ((0, 1), (0, 2), (1, 2))]])
    >>> join_pairs(pairs, 3).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    sure = np.clip(pairs, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    r = np.zeros((len(pairs), n_classes, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    r[:, i, j], r[:, j, i] = sure, 1.0 - sure
    # Q p = b 1, 1'p = 1 with Q_ii = sum_s r_si^2, Q_ij = -r_ji r_ij
    system = np.ones((len(pairs), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, -1, -1] = 0.0
    right = np.zeros((len(pairs), n_classes + 1, 1))
    right[:, -1] = 1.0
    result = np.clip(np.linalg.solve(system, right)[:, :-1, 0], MIN_PROBABILITY**2, None)
    return result / result.sum(axis=1, keepdims=True)


def agree(probabilities: Floats, chosen: Codes) -> Floats:
    """Probabilities that are largest for the chosen class: it is averaged with the classes above it.

    >>> agree(np.array([[0.5, 0.1, 0.4]]), np.array([2])).round(3)
    array([[0.45, 0.1 , 0.45]])
    """
    wrong = np.flatnonzero(probabilities.argmax(axis=1) != chosen)
    if not wrong.size:
        return probabilities
    some, at = probabilities[wrong], (np.arange(wrong.size), chosen[wrong])
    own = some[at].copy()
    others = some.copy()
    others[at] = -np.inf
    largest_first = -np.sort(-others, axis=1)[:, :-1]
    # The mean with the m largest others rises while the next is above it: its maximum is the common level
    means = (own[:, np.newaxis] + np.cumsum(largest_first, axis=1)) / np.arange(2, probabilities.shape[1] + 1)
    level = means.max(axis=1)
    some = np.minimum(some, level[:, np.newaxis])
    some[at] = level * ABOVE
    out = probabilities.copy()
    out[wrong] = some / some.sum(axis=1, keepdims=True)
    return out
