"""Dual coordinate descent for linear machines (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and Lin 2012).

The dual of `linear_problem` has a variable for every row, beta_i, between walls for q = 1 and with a ridge for q = 2:

    min  1/2 |w|^2 + 1/2 sum r_i beta_i^2 - y beta + e |beta|,   w = sum beta_i x_i
    -down_i <= beta_i <= up_i, r = 0  (q = 1)        r_i = 1 / (2 cost_i)  (q = 2)

Along one beta_i the minimum has a closed form, and w follows at the cost of one row. Rows come in a new random order in
every pass. In a turn of ten passes, rows that lean against a wall are left out from one pass to the next (shrinking).
The run ends when the duality gap, computed from all rows after a turn, is below tol times the objective.

An intercept with the penalty p/2 b^2 is one more column 1/sqrt(p), b = (sum beta) / p. Without a penalty the dual has
the condition sum beta = 0, which no single coordinate can keep: the method of multipliers (a proximal method for b)
solves with the penalty p/2 (b - b0)^2 and moves b0 to b, again and again. For the bound, beta is made to sum to zero
by shortening its longer side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.svm._linear_problem import LinearProblem, Plane, lower_bound, objective, predictions

N_PASSES = 10
"""Passes over the rows between two looks at the gap."""


class DescentRecord(NamedTuple):
    """What a turn of ten passes measured: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int  # passes so far
    objective: float
    dual_objective: float
    gap: float  # objective less bound, from all rows
    violation: float  # the steepest slope met in the last pass
    n_active: int  # rows of the last pass
    n_support: int
    margin: float  # 2 / |w|


class Walls(NamedTuple):
    """The dual without its rows."""

    low: Floats  # [n]
    high: Floats  # [n]
    ridge: Floats  # [n]
    q: Floats  # [n], curvature along each beta


def dual_coordinate_descent(
    problem: LinearProblem, power: int, *, tol: float, max_iter: int, seed: int, number: int = 0
) -> Iterator[tuple[Plane, DescentRecord, bool]]:
    """Planes turn by turn, with what was measured and whether the gap is closed."""
    from committee.kernels.svm.dual_descent import descend

    n, d = problem.X.shape
    rng = np.random.default_rng(seed)
    lift = _lift(problem)
    walls = _walls(problem, power, lift)
    beta, w, offset = np.zeros(n), np.zeros(d), np.array([0.0, lift])
    shrink = np.inf
    for turn in range(0, max_iter, N_PASSES):
        rows, n_passes = np.arange(n), min(N_PASSES, max_iter - turn)
        n_active, steepest = n, 0.0
        for _ in range(n_passes):
            # Step 1: one pass over the rows that matter, in random order
            order = rng.permutation(rows)
            keep, n_active = np.empty(order.size, np.uint8), order.size
            steepest = descend(problem.X, problem.y, *walls, problem.epsilon, order, shrink, offset, beta, w, keep)
            # Step 2: leave out for this turn what leans against a wall more than others move
            rows, shrink = order[keep > 0], steepest
            if rows.size == 0:
                break
        # Step 3: where do we stand? Asked of all rows
        w[:] = problem.X.T @ beta  # without the rounding of many small changes
        if problem.has_intercept and problem.intercept_penalty == 0.0:
            offset[0] += lift * float(beta.sum())  # b0 <- b
        plane, value, bound = _measure(problem, power, beta, Plane(w.copy(), float(offset[0])))
        record = DescentRecord(
            number, turn + n_passes, value, bound, value - bound, steepest, n_active, int(np.count_nonzero(beta)),
            plane.margin,
        )  # fmt: skip
        is_done = record.gap <= tol * abs(value)
        yield plane, record, is_done
        if is_done:
            return


def _lift(problem: LinearProblem) -> float:
    """Square of the column that stands for the intercept; one as long as the others where b has no penalty."""
    if not problem.has_intercept:
        return 0.0
    if problem.intercept_penalty > 0.0:
        return 1.0 / problem.intercept_penalty
    return float(np.einsum("ij,ij->", problem.X, problem.X)) / len(problem.X) or 1.0


def _walls(problem: LinearProblem, power: int, lift: float) -> Walls:
    squares = np.einsum("ij,ij->i", problem.X, problem.X) + lift
    if power == 1:
        return Walls(-problem.down, problem.up, np.zeros(len(squares)), np.maximum(squares, np.finfo(float).tiny))
    # Rows of classes have one cost, rows of numbers twice the same
    ridge = 0.5 / np.maximum(problem.up, problem.down)
    low, high = np.where(problem.down > 0.0, -np.inf, 0.0), np.where(problem.up > 0.0, np.inf, 0.0)
    return Walls(low, high, ridge, squares + ridge)


def _measure(problem: LinearProblem, power: int, beta: Floats, plane: Plane) -> tuple[Plane, float, float]:
    """The plane, its objective and a lower bound of all objectives."""
    value = objective(problem, plane, predictions(problem, plane), power)
    return plane, value, lower_bound(problem, beta, power)
