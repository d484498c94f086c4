"""The last digits of a small dual problem: a primal active-set method (Nocedal and Wright, chapter 16.5).

With the variables at their bounds held there, the free ones F solve a linear system, b the multipliers of the sums:

    [Q_FF  A'] [d]   [-gradient_F]
    [A     0 ] [b] = [     0     ]        A = y_F', or one row for each class

A step that would leave the box stops at the first bound, which becomes active; at a full step the bound that is
violated most is released. Near the optimum, where SMO leaves off, few steps are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from committee.base.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from committee.svm.smo import Progress

Floats = NDArray[np.float64]

MOST_STEPS = 100
MOST_FREE = 1500
"""Free variables beyond which a step would cost more than the digits are worth."""

RIDGE = 1e-13
"""Times the mean of the diagonal: a singular system has a solution too, and the next step makes up for the ridge."""

SINGULAR, MOST_SINGULAR = 1e-5, 600
"""Ratio of the pivots below which a system of at most so many variables counts as singular."""

ENOUGH = 1e-11
"""Of the size of f: the gap at which rounding is all that is left."""


def polish(run: Progress) -> None:
    """Make the variables of a run optimal to rounding, in place; where that fails they stay as good as they were."""
    problem = run.problem
    best_gap, best_alpha, best_g = run.judge().gap(problem.is_by_class), run.alpha.copy(), run.g.copy()
    with one_blas_thread():
        for _ in range(MOST_STEPS):
            enough = ENOUGH * max(1.0, float(np.abs(run.f).max()))
            if best_gap <= enough or not _step(run):
                break
            gap = run.judge().gap(problem.is_by_class)
            if gap < best_gap:
                best_gap, best_alpha, best_g = gap, run.alpha.copy(), run.g.copy()
    run.alpha[:], run.g[:] = best_alpha, best_g


def _step(run: Progress) -> bool:
    """One step of the method; false where there is none to make."""
    problem, alpha = run.problem, run.alpha
    free = (alpha > 0.0) & (alpha < problem.upper)
    f = run.f
    judged = run.judge()
    spread = _spread(f, free, problem.y, problem.is_by_class)
    if spread <= 0.1 * judged.gap(problem.is_by_class):
        # The free variables are settled: release the bounds that are violated most
        side = int(np.argmax(judged.highest - judged.lowest)) if problem.is_by_class else -1
        of_side = np.full(f.size, True) if side < 0 else (problem.y > 0.0) == (side == 0)
        free[int(np.argmin(np.where(of_side, judged.up, np.inf)))] = True
        free[int(np.argmax(np.where(of_side, judged.low, -np.inf)))] = True
    chosen = np.flatnonzero(free)
    fits = run.rows.capacity == run.rows.n or chosen.size <= run.rows.capacity
    if not (2 <= chosen.size <= MOST_FREE and fits):
        return False
    direction = _direction(run, chosen, f)
    if direction is None or not np.isfinite(direction).all():
        return False
    length = _longest(alpha[chosen], problem.upper[chosen], direction)
    before = alpha[chosen]
    moved = before + length * direction
    size = np.where(np.isfinite(problem.upper[chosen]), problem.upper[chosen], np.maximum(moved, 1.0))
    moved = np.where(moved <= 1e-12 * size, 0.0, np.where(moved >= problem.upper[chosen] - 1e-12 * size,
                                                          problem.upper[chosen], moved))  # fmt: skip
    alpha[chosen] = moved
    run.move(chosen, moved - before)
    return length > 0.0


def _spread(f: Floats, free: NDArray[np.bool_], y: Floats, is_by_class: bool) -> float:
    """The gap among the free variables, which share one f at the optimum."""
    groups = [free & (y > 0.0), free & (y < 0.0)] if is_by_class else [free]
    return max((float(np.ptp(f[group])) for group in groups if group.any()), default=0.0)


def _direction(run: Progress, chosen: NDArray[np.int64], f: Floats) -> Floats | None:
    """The Newton step of the chosen variables; None where the kernel is not positive semi-definite on them."""
    problem = run.problem
    y = problem.y[chosen]
    q = run.rows.block(problem.row[chosen]) * np.outer(y, y)
    sums = np.array([y > 0.0, y < 0.0], np.float64) if problem.is_by_class else y[np.newaxis]
    sums = sums[np.any(sums != 0.0, axis=1)]
    steepest = -f[chosen] * y
    try:
        factor = cho_factor(q + RIDGE * np.mean(np.diagonal(q)) * np.eye(len(q)), lower=True, check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0])
    if float(pivots.min()) < SINGULAR * float(pivots.max()) and len(q) <= MOST_SINGULAR:
        return _smallest_step(q, sums, steepest)
    free_step = cho_solve(factor, np.column_stack([steepest, sums.T]), check_finite=False)
    b = np.linalg.solve(sums @ free_step[:, 1:], sums @ free_step[:, 0])
    return free_step[:, 0] - free_step[:, 1:] @ b


def _smallest_step(q: Floats, sums: Floats, steepest: Floats) -> Floats:
    """The smallest of the steps that solve a singular system, by orthogonal factors."""
    n, m = len(q), len(sums)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = q, sums.T, sums
    found: Any = lstsq(matrix, np.concatenate([steepest, np.zeros(m)]), cond=1e-13, lapack_driver="gelsy")
    return found[0][:n]


def _longest(alpha: Floats, upper: Floats, direction: Floats) -> float:
    """The longest step of at most 1 that stays in the box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0.0, (upper - alpha) / direction, -alpha / direction)
    return float(np.min(np.where(direction == 0.0, 1.0, room), initial=1.0))
