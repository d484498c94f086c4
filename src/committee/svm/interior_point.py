"""A primal-dual interior point method for the hinge and the epsilon-insensitive loss (Ferris and Munson 2002).

Every cost of `_linear_problem` is the slack z >= 0 of a constraint with a sign r = +-1 (+1 if the prediction may not be
too low), a threshold t and a price u. A row has one constraint in classification, two in regression:

    min 1/2 v' R v + u' z    r_i f_i + z_i - t_i = s_i >= 0,  z >= 0,     f = A v,  A = (x, 1),  v = (w, b)

    R v = A' (r a),  s a = mu u,  z (u - a) = mu u,   0 <= a <= u         optimal for mu = 0

with the dual variables a. mu multiplies u, so that an integer weight, a factor of u, is equivalent to repetition.
Newton's method on these equations, with all variables except v eliminated:

    (R + A' diag(D) A) dv = residual,   D = 1 / (s / a + z / (u - a))

are d x d systems, as in `primal_newton`. mu follows Mehrotra: a first step with mu = 0 shows how far it may decrease.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.svm._linear_problem import (
    LinearProblem,
    Plane,
    add_gram,
    lower_bound,
    objective,
    predictions,
    solve_positive,
)

BACK_OFF = 0.995
"""Fraction of the way to the boundary that a step may go."""

MIN_LENGTH = 1e-10
"""Minimum step length: shorter ones are rounding."""

LITTLE_WORK = 10_000_000
"""Work n d^2 below which the smaller tolerance costs little."""

FINE, COARSE = 1e-4, 1.0
"""Times tol^2: the gap as a fraction of the objective, on small tables and on others."""

MIN_GAP = 1e-13
"""The smallest gap, as a fraction of the objective, that can be reached in spite of rounding."""


class InteriorRecord(NamedTuple):
    """The measurements of a step: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int
    objective: float
    dual_objective: float  # a lower bound of all objectives
    gap: float  # sum a s + (u - a) z: objective less lower bound where both are feasible
    dual_residual: float  # |R v - A' r a|
    n_support: int  # rows whose dual variable is above a millionth of u
    margin: float  # 2 / |w|


class Constraints(NamedTuple):
    """Constraints [sides, n]: one side for classification, two for regression."""

    sign: Floats
    threshold: Floats
    price: Floats  # u


class Point(NamedTuple):
    """A strictly feasible point, or a step from one to another."""

    v: Floats  # [d + 1]
    a: Floats  # [sides, n]
    rest: Floats  # u - a, stored: close to the boundary the difference would be rounded to zero
    s: Floats
    z: Floats


def constraints(problem: LinearProblem) -> Constraints:
    """The constraints of rows with one cost (classification) or two (regression)."""
    if np.any((problem.up > 0.0) & (problem.down > 0.0)):
        sign = np.stack([np.ones_like(problem.y), -np.ones_like(problem.y)])
        price = np.stack([problem.up, problem.down])
    else:
        sign = np.where(problem.up > 0.0, 1.0, -1.0)[np.newaxis]
        price = (problem.up + problem.down)[np.newaxis]
    return Constraints(sign, sign * problem.y - problem.epsilon, price)


def interior_point(
    problem: LinearProblem, *, tol: float, max_iter: int, number: int = 0
) -> Iterator[tuple[Plane, InteriorRecord, bool]]:
    """Planes step by step, each with its record and whether the gap is closed."""
    d = problem.X.shape[1]
    given = constraints(problem)
    R = np.ones(d + 1)
    R[d] = problem.intercept_penalty if problem.has_intercept else 1.0
    point = _first_point(given, d)
    aim = max(tol**2 * (FINE if problem.X.size * d < LITTLE_WORK else COARSE), MIN_GAP)
    for step in range(max_iter + 1):
        gap = _gap(point)
        # Step 1: compute the residuals
        f, pull = predictions(problem, _plane(point)), _pull(problem, given.sign * point.a)
        residual = pull - R * point.v
        record = _measure(problem, given, point, f, number, step)
        record = record._replace(gap=gap, dual_residual=float(np.linalg.norm(residual)))
        is_done = gap <= aim * (abs(record.objective) + aim) and record.dual_residual <= np.sqrt(aim) * (
            1.0 + float(np.linalg.norm(R * point.v))
        )
        yield _plane(point), record, is_done
        if is_done:
            return
        # Step 2: take a Newton step towards a smaller mu
        after = _advance(problem, given, point, f, gap, residual, R)
        if after is None:  # no further step is possible in float64
            is_done = record.objective - record.dual_objective <= tol * abs(record.objective)
            yield _plane(point), record._replace(step=step + 1), is_done
            return
        point = after


@np.errstate(all="ignore")  # prices of 1e60 overflow; a step that is not finite is not taken
def _advance(
    problem: LinearProblem, given: Constraints, at: Point, f: Floats, gap: float, residual: Floats, R: Floats
) -> Point | None:
    """The next point, or None if no step is possible."""
    # The matrix of both Newton steps, and the residual of the constraints
    D = 1.0 / (at.s / at.a + at.z / at.rest)
    H = np.diag(R)
    add_gram(H, problem.X, D.sum(axis=0), problem.has_intercept)
    if not np.all(np.isfinite(H)):
        return None
    error = given.threshold - given.sign * f - at.z + at.s
    system = NewtonSystem(D, H, residual, error)
    # Predict with mu = 0, measure the decrease of mu, correct
    mean = gap / float(2.0 * np.sum(given.price))
    guess = _newton_step(problem, given, at, system, -at.s * at.a, -at.z * at.rest)
    ahead = _gap(_along(at, guess, _longest(at, guess, 1.0)))
    mu = mean * (ahead / gap) ** 3 * given.price
    by_s = mu - at.s * at.a - guess.s * guess.a
    by_z = mu - at.z * at.rest - guess.z * guess.rest
    move = _newton_step(problem, given, at, system, by_s, by_z)
    # As far as the boundary allows
    length = _longest(at, move, BACK_OFF)
    return _along(at, move, length) if np.isfinite(length) and length > MIN_LENGTH else None


def _first_point(given: Constraints, d: int) -> Point:
    """v = 0, where s - z = -t; dual variables in the middle."""
    unit = max(1.0, float(np.abs(given.threshold).mean()))
    z = np.maximum(given.threshold, 0.0) + unit
    return Point(np.zeros(d + 1), 0.5 * given.price, 0.5 * given.price, z - given.threshold, z)


class NewtonSystem(NamedTuple):
    """The matrices and the residuals of both Newton steps at a point."""

    D: Floats  # [sides, n]
    H: Floats  # [d + 1, d + 1]
    dual_residual: Floats  # [d + 1]
    primal_residual: Floats  # [sides, n]


def _newton_step(
    problem: LinearProblem, given: Constraints, at: Point, system: NewtonSystem, by_s: Floats, by_z: Floats
) -> Point:
    """The step that changes s a and z (u - a) by `by_s` and `by_z` to first order."""
    error = system.primal_residual - by_z / at.rest + by_s / at.a
    dv = solve_positive(system.H, system.dual_residual + _pull(problem, given.sign * system.D * error))
    da = system.D * (error - given.sign * predictions(problem, Plane(dv[:-1], float(dv[-1]))))
    return Point(dv, da, -da, (by_s - at.s * da) / at.a, (by_z + at.z * da) / at.rest)


def _pull(problem: LinearProblem, beta: Floats) -> Floats:
    """A' beta, over all sides."""
    total = beta.sum(axis=0)
    return np.append(problem.X.T @ total, total.sum() if problem.has_intercept else 0.0)


def _longest(at: Point, move: Point, fraction: float) -> float:
    """The largest step length up to 1 that goes at most this fraction of the way to the boundary."""
    steepest = max(float(np.max(-new / old)) for old, new in zip(at[1:], move[1:], strict=True))
    return min(1.0, fraction / steepest) if steepest > 0.0 else 1.0


def _along(at: Point, move: Point, length: float) -> Point:
    return Point(*(old + length * new for old, new in zip(at, move, strict=True)))


def _gap(at: Point) -> float:
    return float(np.sum(at.s * at.a) + np.sum(at.z * at.rest))


def _plane(point: Point) -> Plane:
    return Plane(point.v[:-1], float(point.v[-1]))


def _measure(
    problem: LinearProblem, given: Constraints, point: Point, f: Floats, number: int, step: int
) -> InteriorRecord:
    plane = _plane(point)
    beta = np.sum(given.sign * point.a, axis=0)
    bound = lower_bound(problem, beta, 1)
    n_support = int(np.count_nonzero(np.abs(beta) > 1e-6 * given.price.max(axis=0)))
    value = objective(problem, plane, f, 1)
    return InteriorRecord(number, step, value, bound, np.nan, np.nan, n_support, plane.margin)
