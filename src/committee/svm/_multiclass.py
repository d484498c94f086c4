"""More than two classes from machines for two: one against one, or one against the rest (I-6).

One against one trains K (K - 1) / 2 machines, for classes i < j with y = +1 for i (LIBSVM's order). Each has a vote;
ties go to the class with the larger sum of confidences, squeezed into less than half a vote, which makes the votes a
decision function [n, K] (scikit-learn's "ovr" shape). One against the rest trains K machines on all rows, and the
largest value wins.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm._binary_svm import BinarySVM

MultiClass = Literal["ovo", "ovr"]


class TwoSides(NamedTuple):
    """Which classes a machine tells apart: those of y = +1 and of y = -1; None stands for all others."""

    positive: int
    negative: int | None


def machine_plan(n_classes: int, multi_class: MultiClass) -> list[TwoSides]:
    """The machines for K classes; for two classes one machine, positive for the second."""
    if n_classes == 2:
        return [TwoSides(1, 0)]
    if multi_class == "ovr":
        return [TwoSides(k, None) for k in range(n_classes)]
    return [TwoSides(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def vote(values: Floats, n_classes: int) -> Floats:
    """Votes [n, K] of machines one against one, plus the confidences as fractions below one half."""
    votes = np.zeros((len(values), n_classes))
    trust = np.zeros((len(values), n_classes))
    for k, (i, j) in enumerate(machine_plan(n_classes, "ovo")):
        value = values[:, k]
        votes[:, i] += value >= 0.0
        votes[:, j or 0] += value < 0.0
        trust[:, i] += value
        trust[:, j or 0] -= value
    return votes + trust / (3.0 * (np.abs(trust) + 1.0))


class Joined(NamedTuple):
    """The support vectors of all machines together, class by class."""

    support: NDArray[np.int64]  # [m]
    n_support: NDArray[np.int32]  # [K]
    coef: Floats  # [m, M] of each machine
    dual_coef: Floats  # scikit-learn's layout


def join(machines: list[BinarySVM], rows: list[NDArray[np.int64]], codes: NDArray[np.int64], n_classes: int,
         multi_class: MultiClass) -> Joined:  # fmt: skip
    """`rows` are those each machine was trained on."""
    full = np.zeros((codes.size, len(machines)))
    for k, (machine, some) in enumerate(zip(machines, rows, strict=True)):
        full[some[machine.support], k] = machine.coef
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
    for k, (i, j) in enumerate(machine_plan(n_classes, "ovo")):
        first, second = codes == i, codes == j
        layout[(j or 0) - 1, first] = coef[first, k]
        layout[i, second] = coef[second, k]
    return layout
