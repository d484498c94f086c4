"""A primal-dual interior point method for the hinge and the epsilon-insensitive loss (Ferris and Munson 2002).

Every cost of `linear_problem` is a slack z >= 0 of a condition with a sign r = +-1 (+1 for an answer that may not be
too low), a threshold t and a price u. A class has one condition, a number two:

    min 1/2 v' R v + u' z    r_i f_i + z_i - t_i = s_i >= 0,  z >= 0,     f = A v,  A = (x, 1),  v = (w, b)

    R v = A' (r a),  s a = mu u,  z (u - a) = mu u,   0 <= a <= u         optimal for mu = 0

with the dual variables a. mu stands beside u, so that a weight, a factor of u, leads along the same path as repetition.
Newton's method on these equations, all but v eliminated:

    (R + A' diag(D) A) dv = residual,   D = 1 / (s / a + z / (u - a))

d x d systems, as in `primal_newton`. mu is aimed as Mehrotra does: a first step with mu = 0 shows how far it may fall.
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
"""Share of the way to the wall that a step may go."""

SHORTEST = 1e-10
"""Step length below which rounding decides."""

LITTLE_WORK = 10_000_000
"""Work n d^2 below which no step is spared."""

FINE, COARSE = 1e-4, 1.0
"""Times tol^2: the gap as a share of the objective, on small tables and on others."""

FINEST = 1e-13
"""The smallest gap, as a share of the objective, that rounding lets it reach for sure."""


class InteriorRecord(NamedTuple):
    """What a step measured: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int
    objective: float
    dual_objective: float  # a lower bound of all objectives
    gap: float  # of the conditions, sum a s + (u - a) z: objective less bound where both are feasible
    dual_residual: float  # |R v - A' r a|
    n_support: int  # rows whose dual variable is above a millionth of u
    margin: float  # 2 / |w|


class Conditions(NamedTuple):
    """Conditions [sides, n]: one a row for classes, two for numbers."""

    sign: Floats
    threshold: Floats
    price: Floats  # u


class Point(NamedTuple):
    """A point inside."""

    v: Floats  # [d + 1]
    a: Floats  # [sides, n]
    rest: Floats  # u - a, kept by itself: close to the wall the difference would be rounded to zero
    s: Floats
    z: Floats


def conditions(problem: LinearProblem) -> Conditions:
    """Of rows of a class with their one cost, or of rows of numbers with both."""
    if np.any((problem.up > 0.0) & (problem.down > 0.0)):
        sign = np.stack([np.ones_like(problem.y), -np.ones_like(problem.y)])
        price = np.stack([problem.up, problem.down])
    else:
        sign = np.where(problem.up > 0.0, 1.0, -1.0)[np.newaxis]
        price = (problem.up + problem.down)[np.newaxis]
    return Conditions(sign, sign * problem.y - problem.epsilon, price)


def interior_point(
    problem: LinearProblem, *, tol: float, max_iter: int, number: int = 0
) -> Iterator[tuple[Plane, InteriorRecord, bool]]:
    """Planes step by step, with what was measured and whether the gap is closed."""
    d = problem.X.shape[1]
    asked = conditions(problem)
    R = np.ones(d + 1)
    R[d] = problem.intercept_penalty if problem.has_intercept else 1.0
    point = _first_point(asked, d)
    aim = max(tol**2 * (FINE if problem.X.size * d < LITTLE_WORK else COARSE), FINEST)
    for step in range(max_iter + 1):
        gap = _gap(point)
        # Step 1: how far are the equations from holding?
        f, pull = predictions(problem, _plane(point)), _pull(problem, asked.sign * point.a)
        dual_rest = pull - R * point.v
        record = _measure(problem, asked, point, f, number, step)
        record = record._replace(gap=gap, dual_residual=float(np.linalg.norm(dual_rest)))
        is_done = gap <= aim * (abs(record.objective) + aim) and record.dual_residual <= np.sqrt(aim) * (
            1.0 + float(np.linalg.norm(R * point.v))
        )
        yield _plane(point), record, is_done
        if is_done:
            return
        # Step 2: Newton's step towards a smaller mu
        after = _advance(problem, asked, point, f, gap, dual_rest, R)
        if after is None:  # rounding allows no further step
            is_done = record.objective - record.dual_objective <= tol * abs(record.objective)
            yield _plane(point), record._replace(step=step + 1), is_done
            return
        point = after


@np.errstate(all="ignore")  # prices of 1e60 overflow; a step that is no number is not taken
def _advance(
    problem: LinearProblem, asked: Conditions, at: Point, f: Floats, gap: float, dual_rest: Floats, R: Floats
) -> Point | None:
    """The next point, or None where no step is possible."""
    # The matrix of both Newton steps, and how far the conditions are from holding
    D = 1.0 / (at.s / at.a + at.z / at.rest)
    H = np.diag(R)
    add_gram(H, problem.X, D.sum(axis=0), problem.has_intercept)
    if not np.all(np.isfinite(H)):
        return None
    error = asked.threshold - asked.sign * f - at.z + at.s
    # Predict with mu = 0, see how far mu falls, correct
    mean = gap / float(2.0 * np.sum(asked.price))
    guess = _newton_step(problem, asked, at, error, dual_rest, D, H, -at.s * at.a, -at.z * at.rest)
    ahead = _gap(_along(at, guess, _longest(at, guess, 1.0)))
    mu = mean * (ahead / gap) ** 3 * asked.price
    by_s = mu - at.s * at.a - guess.s * guess.a
    by_z = mu - at.z * at.rest - guess.z * guess.rest
    move = _newton_step(problem, asked, at, error, dual_rest, D, H, by_s, by_z)
    # As far as the walls allow
    length = _longest(at, move, BACK_OFF)
    return _along(at, move, length) if np.isfinite(length) and length > SHORTEST else None


def _first_point(asked: Conditions, d: int) -> Point:
    """v = 0, where s - z = -t; prices in the middle."""
    unit = max(1.0, float(np.abs(asked.threshold).mean()))
    z = np.maximum(asked.threshold, 0.0) + unit
    return Point(np.zeros(d + 1), 0.5 * asked.price, 0.5 * asked.price, z - asked.threshold, z)


def _newton_step(
    problem: LinearProblem,
    asked: Conditions,
    at: Point,
    error: Floats,
    dual_rest: Floats,
    D: Floats,
    H: Floats,
    by_s: Floats,
    by_z: Floats,
) -> Point:
    """The step that makes s a and z (u - a) change by `by_s` and `by_z` to first order."""
    error = error - by_z / at.rest + by_s / at.a
    dv = solve_positive(H, dual_rest + _pull(problem, asked.sign * D * error))
    da = D * (error - asked.sign * predictions(problem, Plane(dv[:-1], float(dv[-1]))))
    return Point(dv, da, -da, (by_s - at.s * da) / at.a, (by_z + at.z * da) / at.rest)


def _pull(problem: LinearProblem, beta: Floats) -> Floats:
    """A' beta, over all sides."""
    total = beta.sum(axis=0)
    return np.append(problem.X.T @ total, total.sum() if problem.has_intercept else 0.0)


def _longest(at: Point, move: Point, share: float) -> float:
    """The largest step length up to 1 that goes `share` of the way to the nearest wall."""
    steepest = max(float(np.max(-new / old)) for old, new in zip(at[1:], move[1:], strict=True))
    return min(1.0, share / steepest) if steepest > 0.0 else 1.0


def _along(at: Point, move: Point, length: float) -> Point:
    return Point(*(old + length * new for old, new in zip(at, move, strict=True)))


def _gap(at: Point) -> float:
    return float(np.sum(at.s * at.a) + np.sum(at.z * at.rest))


def _plane(point: Point) -> Plane:
    return Plane(point.v[:-1], float(point.v[-1]))


def _measure(
    problem: LinearProblem, asked: Conditions, point: Point, f: Floats, number: int, step: int
) -> InteriorRecord:
    plane = _plane(point)
    beta = np.sum(asked.sign * point.a, axis=0)
    bound = lower_bound(problem, beta, 1)
    n_support = int(np.count_nonzero(np.abs(beta) > 1e-6 * asked.price.max(axis=0)))
    value = objective(problem, plane, f, 1)
    return InteriorRecord(number, step, value, bound, np.nan, np.nan, n_support, plane.margin)
