"""A binary SVM from a solved dual problem, f(x) = sum_i c_i k(x_i, x) + b, and the proof that it is optimal.

Offset. Every free support vector (0 < a < C) lies on its margin and gives the offset exactly at the optimum:

    "free"    the mean over all free support vectors (LIBSVM's)
    "both"    b = -1/2 [mean over class +1 of (w x_i - 1) + mean over class -1 of (w x_i + 1)], free vectors of
              either class: for one of each, b = -1/2 (w x_+ + w x_-)

Without free support vectors any b between two bounds is optimal, and the middle is taken.

Duality gap. With the multipliers nu of the sums and the reduced gradient r = Qa + p - A'nu, the dual of the dual
problem has the value 1/2 a'Qa + p'a less

    sum_i a_i r_i + C_i max(0, -r_i) >= 0,

an upper bound of the distance to the optimum, zero at the optimum.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.svm.smo import Problem, Solution

Offset = Literal["free", "both"]


class BinarySVM(NamedTuple):
    """A trained binary SVM; positions are those of the rows it was trained on."""

    support: NDArray[np.int64]  # [m] rows with a coefficient
    coef: Floats  # [m] their coefficients, sum a y of a row
    is_bounded: NDArray[np.bool_]  # [m] a support vector at the bound C
    offset: float  # b
    scale: float  # by which a nu-SVM divided its coefficients, 1 for others
    half_width: float  # half the distance of the levels of both signs: rho, or -epsilon, of nu-SVMs
    squared_norm: float  # |w|^2
    objective: float  # 1/2 a'Qa + p'a at the end, before that division
    duality_gap: float
    kkt_gap: float
    n_steps: int
    is_optimal: bool

    @property
    def margin(self) -> float:
        """Width 2 / |w| of the margin."""
        return 2.0 / np.sqrt(self.squared_norm) if self.squared_norm > 0.0 else np.inf

    @property
    def n_free(self) -> int:
        return int(np.count_nonzero(~self.is_bounded))

    @property
    def n_bounded(self) -> int:
        return int(np.count_nonzero(self.is_bounded))


def make_binary_svm(
    problem: Problem, result: Solution, offset: Offset, n_rows: int, min_rho: float | None = None
) -> BinarySVM:
    """The binary SVM of a solution; that of a nu-SVM is divided by its margin rho, which must be above `min_rho`."""
    nu = multipliers(problem, result, offset)
    by = result.alpha * problem.y
    coef = np.bincount(problem.row, by, minlength=n_rows)
    at_bound = np.bincount(problem.row, result.alpha >= problem.upper, minlength=n_rows) > 0
    support = np.flatnonzero(coef)
    norm = float(by @ (result.f - problem.y * problem.p))
    b, half_width = -float(nu.mean()), 0.5 * float(nu[0] - nu[1])
    scale = 1.0 if min_rho is None else half_width
    if min_rho is not None and not scale > min_rho:
        raise ValueError(
            "The classes leave no margin under this kernel and nu: raise nu, or choose another kernel or gamma."
        )
    return BinarySVM(
        support, coef[support] / scale, at_bound[support], b / scale, scale, half_width, max(norm, 0.0) / scale**2,
        result.objective, duality_gap(problem, result, nu), result.gap, result.n_steps, result.is_optimal,
    )  # fmt: skip


def multipliers(problem: Problem, result: Solution, offset: Offset) -> Floats:
    """The value f has on the margin, for y = +1 and for y = -1; the same where only y'a is fixed."""
    is_free = (result.alpha > 0.0) & (result.alpha < problem.upper)
    sides = [problem.y > 0.0, problem.y < 0.0]
    if problem.is_by_class:
        return np.array([_level(result, is_free & side, k) for k, side in enumerate(sides)])
    counts = [np.count_nonzero(is_free & side) for side in sides]
    if offset == "both" and all(counts):
        return np.full(2, 0.5 * sum(float(result.f[is_free & side].mean()) for side in sides))
    return np.full(2, _level(result, is_free, None))


def _level(result: Solution, is_free: NDArray[np.bool_], side: int | None) -> float:
    """The mean f of the free variables; without any, the middle of the interval of optimal values."""
    if is_free.any():
        return float(result.f[is_free].mean())
    low = result.lowest.min() if side is None else result.lowest[side]
    high = result.highest.max() if side is None else result.highest[side]
    ends = [float(end) for end in (low, high) if abs(end) < 1e37]
    return float(np.mean(ends)) if ends else 0.0


def duality_gap(problem: Problem, result: Solution, nu: Floats) -> float:
    """An upper bound of the distance of the objective from the optimum."""
    r = problem.y * (result.f - np.where(problem.y > 0.0, nu[0], nu[1]))
    lacking = np.maximum(-r, 0.0)
    is_hard = np.isinf(problem.upper)
    if is_hard.any():
        # The primal point becomes feasible when w is divided by 1 - the largest violation
        worst = float(lacking[is_hard].max())
        norm = float((result.alpha * problem.y) @ (result.f - problem.y * problem.p))
        return 0.5 * norm / (1.0 - worst) ** 2 + result.objective if worst < 1.0 else np.inf
    return float(np.sum(result.alpha * r + problem.upper * lacking))
