"""A primal active-set method for small dual problems (Nocedal and Wright, Numerical optimization, chapter 16.5).

It computes the last digits, and solves problems on which pairs of variables converge slowly. With the variables at
their bounds held there, the free ones F solve a linear system, b the multipliers of the sums:

    [Q_FF  A'] [d]   [-gradient_F]
    [A     0 ] [b] = [     0     ]        A = y_F', or one row for each class

A step that would leave the box stops at the first bound, which becomes active; at a full step the bounds that are
violated most are released. The objective decreases with every step. Near the optimum, where SMO stops, few steps
remain; if columns differ in scale and C is large, SMO (LIBSVM's too) needs millions of steps, and this method hundreds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from committee.svm.smo import Progress

Rows = NDArray[np.int64]

MAX_FREE, MAX_WORK = 1500, 1e11
"""Maximum number of free variables of a step; maximum sum of their cubes, over all steps."""

MAX_IDLE, DECREASES = 50, 1e-13
"""Maximum number of consecutive steps that neither halve the gap nor decrease the objective by this fraction of it."""

RIDGE = 1e-13
"""Times the mean of the diagonal: makes singular systems solvable; the next step corrects its effect."""

SINGULAR, MAX_SINGULAR = 1e-5, 600
"""Ratio of the pivots below which a system of at most so many variables counts as singular."""

FLAT, BEYOND = 1e-13, 1e-6
"""Of the largest eigenvalue: smaller ones count as zero. Fraction of the gradient outside the range of the system."""

ENOUGH = 1e-11
"""Of the size of f: a gap of the size of rounding errors."""


class Direction(NamedTuple):
    """A step of the variables, and the multiple of it that minimises the objective: about 1 for a Newton step."""

    by: Floats
    best: float  # infinite if the objective is unbounded along it


def polish(run: Progress) -> None:
    """Make the variables of a run optimal to rounding, in place; where that fails they stay as good as they were."""
    problem = run.problem
    best_gap, best_alpha, best_g = run.check_kkt().gap(problem.is_by_class), run.alpha.copy(), run.g.copy()
    with one_blas_thread():
        work, n_idle, best_value = 0.0, 0, run.objective
        while work < MAX_WORK and n_idle < MAX_IDLE:
            enough = ENOUGH * max(1.0, float(np.abs(run.f).max()))
            if best_gap <= enough or not _step(run):
                break
            work += np.count_nonzero((run.alpha > 0.0) & (run.alpha < problem.upper)) ** 3
            gap, value = run.check_kkt().gap(problem.is_by_class), run.objective
            has_moved = gap < 0.5 * best_gap or value < best_value - DECREASES * abs(best_value)
            n_idle, best_value = 0 if has_moved else n_idle + 1, min(value, best_value)
            if gap < best_gap:
                best_gap, best_alpha, best_g = gap, run.alpha.copy(), run.g.copy()
    run.alpha[:], run.g[:] = best_alpha, best_g


def _step(run: Progress) -> bool:
    """One step of the method; false if no step is possible."""
    problem, alpha = run.problem, run.alpha
    free = (alpha > 0.0) & (alpha < problem.upper)
    f = run.f
    kkt = run.check_kkt()
    spread = _spread(f, free, problem.y, problem.is_by_class)
    if spread <= 0.1 * kkt.gap(problem.is_by_class):
        # The free variables are optimal: release the bounds that are violated most
        side = int(np.argmax(kkt.highest - kkt.lowest)) if problem.is_by_class else -1
        of_side = np.full(f.size, True) if side < 0 else (problem.y > 0.0) == (side == 0)
        free[int(np.argmin(np.where(of_side, kkt.up, np.inf)))] = True
        free[int(np.argmax(np.where(of_side, kkt.low, -np.inf)))] = True
    chosen = np.flatnonzero(free)
    fits = run.rows.capacity == run.rows.n or chosen.size <= run.rows.capacity
    while 2 <= chosen.size <= MAX_FREE and fits:
        result = _direction(run, chosen, f)
        if result is None or not np.isfinite(result.by).all():
            return False
        room = _room(alpha[chosen], problem.upper[chosen], result.by)
        length = min(float(room.min()), result.best)
        if length == np.inf:
            return False
        if length > 0.0:
            _move(run, chosen, length * result.by)
            return True
        chosen = chosen[room > 0.0]  # the others stay at the bounds that they would cross
    return False


def _move(run: Progress, chosen: Rows, by: Floats) -> None:
    """alpha += by; values within rounding of a bound are set to it."""
    before, upper = run.alpha[chosen], run.problem.upper[chosen]
    moved = before + by
    size = np.where(np.isfinite(upper), upper, np.maximum(moved, 1.0))
    moved = np.where(moved <= 1e-12 * size, 0.0, np.where(moved >= upper - 1e-12 * size, upper, moved))
    run.alpha[chosen] = moved
    run.move(chosen, moved - before)


def _spread(f: Floats, free: NDArray[np.bool_], y: Floats, is_by_class: bool) -> float:
    """The gap among the free variables, which have the same f at the optimum."""
    groups = [free & (y > 0.0), free & (y < 0.0)] if is_by_class else [free]
    return max((float(np.ptp(f[group])) for group in groups if group.any()), default=0.0)


def _direction(run: Progress, chosen: Rows, f: Floats) -> Direction | None:
    """The Newton step of the chosen variables; None if the kernel is not positive semi-definite on them."""
    problem = run.problem
    y = problem.y[chosen]
    q = run.rows.block(problem.row[chosen]) * np.outer(y, y)
    sums = np.array([y > 0.0, y < 0.0], np.float64) if problem.is_by_class else y[np.newaxis]
    sums = sums[np.any(sums != 0.0, axis=1)]
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    steepest = -f[chosen] * y
    steepest -= sums.T @ (sums @ steepest)  # project onto the fixed sums
    try:
        factor = cho_factor(q + RIDGE * np.mean(np.diagonal(q)) * np.eye(len(q)), lower=True, check_finite=False)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0])
    if float(pivots.min()) < SINGULAR * float(pivots.max()) and len(q) <= MAX_SINGULAR:
        return _downhill(_spectral_step(q, sums, steepest), q, steepest)
    free_step = cho_solve(factor, np.column_stack([steepest, sums.T]), check_finite=False)
    b = np.linalg.solve(sums @ free_step[:, 1:], sums @ free_step[:, 0])
    return _downhill(free_step[:, 0] - free_step[:, 1:] @ b, q, steepest)


def _downhill(by: Floats, q: Floats, steepest: Floats) -> Direction | None:
    """A step and the minimum of the objective along it; None if it is not a descent direction."""
    slope, curvature = float(steepest @ by), float(by @ q @ by)
    if not slope > 0.0:
        return None
    return Direction(by, slope / curvature if curvature > 0.0 else np.inf)


def _spectral_step(q: Floats, sums: Floats, steepest: Floats) -> Floats:
    """The smallest step that solves a singular system; if no step does, a direction.

    The part of the gradient outside the range of the system lies in the null space of Q and A: along it the objective
    is unbounded.
    """
    h = q - sums.T @ (sums @ q)
    h -= (h @ sums.T) @ sums
    values, vectors = eigh(0.5 * (h + h.T), check_finite=False)
    c = vectors.T @ steepest
    is_flat = values <= FLAT * values[-1]
    if np.abs(c[is_flat]).max(initial=0.0) > BEYOND * np.abs(c).max():
        by = vectors[:, is_flat] @ c[is_flat]
    else:
        by = vectors[:, ~is_flat] @ (c[~is_flat] / values[~is_flat])
    return by - sums.T @ (sums @ by)


def _room(alpha: Floats, upper: Floats, direction: Floats) -> Floats:
    """The multiple of the step at which each variable reaches its bound."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(direction > 0.0, (upper - alpha) / direction, -alpha / direction)
    return np.where(direction == 0.0, np.inf, room)
