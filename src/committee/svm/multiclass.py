"""More than two classes from binary SVMs: one against one, or one against the rest.

One against one trains K (K - 1) / 2 binary SVMs, for classes i < j with y = +1 for i (LIBSVM's order). Each has a vote;
ties go to the class with the larger sum of confidences, squeezed into less than half a vote, which makes the votes a
decision function [n, K] (scikit-learn's "ovr" shape). One against the rest trains K of them on all rows, and the
largest value wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm.binary_svm import BinarySVM

MultiClass = Literal["ovo", "ovr"]


class BinaryProblem(NamedTuple):
    """The classes that a binary SVM separates."""

    positive: int  # y = +1
    negative: int | None  # y = -1; None stands for all other classes


def binary_problems(n_classes: int, multi_class: MultiClass) -> list[BinaryProblem]:
    """The binary problems of K classes; two classes have one, positive for the second class."""
    if n_classes == 2:
        return [BinaryProblem(1, 0)]
    if multi_class == "ovr":
        return [BinaryProblem(k, None) for k in range(n_classes)]
    return [BinaryProblem(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def vote(values: Floats, n_classes: int) -> Floats:
    """Votes [n, K] of the binary SVMs of all pairs, plus the confidences as fractions below one half."""
    votes = np.zeros((len(values), n_classes))
    confidence = np.zeros((len(values), n_classes))
    for k, (i, j) in enumerate(binary_problems(n_classes, "ovo")):
        value = values[:, k]
        votes[:, i] += value >= 0.0
        votes[:, j or 0] += value < 0.0
        confidence[:, i] += value
        confidence[:, j or 0] -= value
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def choose_class(values: Floats, n_classes: int, is_one_rest: bool, break_ties: bool) -> NDArray[np.int64]:
    """The predicted class of each row, from the values [n, M] of all binary SVMs."""
    if n_classes == 2:
        return (values[:, 0] > 0.0).astype(np.int64)
    if is_one_rest:
        return values.argmax(axis=1)
    votes = vote(values, n_classes)
    return (votes if break_ties else np.rint(votes)).argmax(axis=1)


class Joined(NamedTuple):
    """The support vectors of all binary SVMs together, class by class."""

    support: NDArray[np.int64]  # [m]
    n_support: NDArray[np.int32]  # [K]
    coef: Floats  # [m, M], one column for each binary SVM
    dual_coef: Floats  # scikit-learn's layout


def join(svms: Sequence[BinarySVM], rows: Sequence[NDArray[np.int64]], codes: NDArray[np.int64], n_classes: int,
         multi_class: MultiClass) -> Joined:  # fmt: skip
    """`rows` are those that each binary SVM was trained on."""
    full = np.zeros((codes.size, len(svms)))
    for k, (svm, some) in enumerate(zip(svms, rows, strict=True)):
        full[some[svm.support], k] = svm.coef
    used = np.flatnonzero(np.any(full != 0.0, axis=1))
    support = used[np.argsort(codes[used], kind="stable")]
    n_support = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
    coef = full[support]
    if n_classes == 2 or multi_class == "ovr":
        return Joined(support, n_support, coef, coef.T)
    return Joined(support, n_support, coef, _libsvm_layout(coef, codes[support], n_classes))


def _libsvm_layout(coef: Floats, codes: NDArray[np.int64], n_classes: int) -> Floats:
    """[K - 1, m]: a support vector of class c has one coefficient against each of the other classes, in order."""
    layout = np.zeros((n_classes - 1, len(coef)))
    for k, (i, j) in enumerate(binary_problems(n_classes, "ovo")):
        first, second = codes == i, codes == j
        layout[(j or 0) - 1, first] = coef[first, k]
        layout[i, second] = coef[second, k]
    return layout
