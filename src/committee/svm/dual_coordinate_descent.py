"""Dual coordinate descent for linear SVMs (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and Lin 2012).

The dual of `_linear_problem` has a variable for every row, beta_i, between bounds for q = 1 and with a ridge for q = 2:

    min  1/2 |w|^2 + 1/2 sum r_i beta_i^2 - y beta + e |beta|,   w = sum beta_i x_i
    -down_i <= beta_i <= up_i, r = 0  (q = 1)        r_i = 1 / (2 cost_i)  (q = 2)

Along one beta_i the minimum has a closed form, and w is updated at the cost of one row. The order of the rows is random
in every pass. In a round of ten passes, rows at a bound may be left out of the following passes (shrinking). The run
ends when the duality gap, computed from all rows after each round, is below tol times the objective.

An intercept with the penalty p/2 b^2 is one more column 1/sqrt(p), b = (sum beta) / p. Without a penalty the dual has
the constraint sum beta = 0, which no single coordinate can satisfy: the method of multipliers (a proximal method for b)
solves with the penalty p/2 (b - b0)^2 and moves b0 to b, repeatedly. For the lower bound, beta is made to sum to zero
by scaling its larger side down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.svm._linear_problem import LinearProblem, Plane, lower_bound, objective, predictions

if TYPE_CHECKING:
    from committee.kernels.svm.dual_descent import DualProblem

N_PASSES = 10
"""Number of passes over the rows between two computations of the gap."""


class DescentRecord(NamedTuple):
    """The measurements of a round of ten passes: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int  # passes so far
    objective: float
    dual_objective: float
    gap: float  # objective less lower bound, from all rows
    violation: float  # the steepest slope of the last pass
    n_active: int  # rows of the last pass
    n_support: int
    margin: float  # 2 / |w|


def dual_coordinate_descent(
    problem: LinearProblem, power: int, *, tol: float, max_iter: int, seed: int, number: int = 0
) -> Iterator[tuple[Plane, DescentRecord, bool]]:
    """Planes round by round, each with its record and whether the gap is closed."""
    from committee.kernels.svm.dual_descent import DualState, descend

    n, d = problem.X.shape
    rng = np.random.default_rng(seed)
    lift = _lift(problem)
    dual = _dual_problem(problem, power, lift)
    state = DualState(np.zeros(n), np.zeros(d), np.array([0.0, lift]))
    beta, w, offset = state
    shrink = np.inf
    for done in range(0, max_iter, N_PASSES):
        rows, n_passes = np.arange(n), min(N_PASSES, max_iter - done)
        n_active, steepest = n, 0.0
        for _ in range(n_passes):
            # Step 1: one pass over the active rows, in random order
            order = rng.permutation(rows)
            keep, n_active = np.empty(order.size, np.uint8), order.size
            steepest = descend(dual, state, order, shrink, keep)
            # Step 2: leave out for this round rows at a bound with a slope steeper than the last violation
            rows, shrink = order[keep > 0], steepest
            if rows.size == 0:
                break
        # Step 3: compute the duality gap over all rows
        w[:] = problem.X.T @ beta  # without the rounding of many small changes
        if problem.has_intercept and problem.intercept_penalty == 0.0:
            offset[0] += lift * float(beta.sum())  # b0 <- b
        plane, value, bound = _measure(problem, power, beta, Plane(w.copy(), float(offset[0])))
        record = DescentRecord(
            number, done + n_passes, value, bound, value - bound, steepest, n_active, int(np.count_nonzero(beta)),
            plane.margin,
        )  # fmt: skip
        is_done = record.gap <= tol * abs(value)
        yield plane, record, is_done
        if is_done:
            return


def _lift(problem: LinearProblem) -> float:
    """Square of the column of the intercept; the mean square of the rows if b has no penalty."""
    if not problem.has_intercept:
        return 0.0
    if problem.intercept_penalty > 0.0:
        return 1.0 / problem.intercept_penalty
    return float(np.einsum("ij,ij->", problem.X, problem.X)) / len(problem.X) or 1.0


def _dual_problem(problem: LinearProblem, power: int, lift: float) -> DualProblem:
    from committee.kernels.svm.dual_descent import DualProblem

    squares = np.einsum("ij,ij->i", problem.X, problem.X) + lift
    if power == 1:
        curvature = np.maximum(squares, np.finfo(float).tiny)
        low, high, ridge = -problem.down, problem.up, np.zeros(len(squares))
        return DualProblem(problem.X, problem.y, low, high, ridge, curvature, float(problem.epsilon))
    # Classification has one cost per row, regression twice the same
    ridge = 0.5 / np.maximum(problem.up, problem.down)
    low, high = np.where(problem.down > 0.0, -np.inf, 0.0), np.where(problem.up > 0.0, np.inf, 0.0)
    return DualProblem(problem.X, problem.y, low, high, ridge, squares + ridge, float(problem.epsilon))


def _measure(problem: LinearProblem, power: int, beta: Floats, plane: Plane) -> tuple[Plane, float, float]:
    """The plane, its objective and a lower bound of all objectives."""
    value = objective(problem, plane, predictions(problem, plane), power)
    return plane, value, lower_bound(problem, beta, power)
