"""Newton's method on the primal of a squared loss (Keerthi and DeCoste 2005; Chapelle 2007).

With a squared loss, P of `_linear_problem` has a gradient, and a second derivative except at kinks: a row is part of it
while its prediction is outside the tube. Written with A = (x, 1), v = (w, b) and R = diag(1, ..., 1, p),

    gradient  g = R v - 2 A' (up low - down high)          low, high: distances of f below and above the tube
    Hessian   H = R + A' diag(c) A,  c_i = 2 up_i [low_i > 0] + 2 down_i [high_i > 0]
    step      s = -H^-1 g,  v <- v + t s,  t halved until P decreases by 1e-4 t |g s| (Armijo)

P is a quadratic function while the rows outside the tube stay the same: the last step is exact. Few rows change in a
step, so H is updated by these rows only. A step is one pass over X, which computes predictions, P and g. If it is too
long, the predictions of shorter steps are interpolated. A large table starts with a tenth of its rows. Wide and sparse
tables compute H^-1 g by conjugate gradients, without H.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from committee.base.array_types import Floats
from committee.svm._linear_problem import (
    LinearProblem,
    Plane,
    add_gram,
    excess,
    flat_plane,
    objective,
    predictions,
    size,
    solve_positive,
)

LinearOperator: Any = sparse_linalg.LinearOperator  # its stubs lack matvec

WIDE = 2000
"""Number of columns above which conjugate gradients replace the d x d matrix."""

MANY_ROWS, ROWS_PER_COLUMN = 10_000, 20
"""Number of rows, in all and per column, from which on a tenth of them is solved first."""

LITTLE_WORK = 10_000_000
"""Work n d^2 below which H is formed in every step, so that rounding errors do not accumulate."""

FINE, COARSE = 1e-6, 1e-2
"""Times tol^2: the remaining decrease as a fraction of the objective, on small tables and on others."""

SUFFICIENT = 1e-4
MAX_HALVINGS = 40

TINY = 1e-300
"""An objective of 0 cannot decrease."""


class NewtonRecord(NamedTuple):
    """The measurements of a step: a row of `history_`."""

    problem: int  # which class, for more than two
    step: int
    objective: float
    gradient_norm: float
    excess: float  # half the Newton decrement g' H^-1 g: about how far the objective is above its minimum
    step_length: float  # of the step that led here
    n_support: int  # rows outside the tube, or inside the margin
    margin: float  # 2 / |w|


class NewtonState(NamedTuple):
    """A plane, its predictions, objective and derivatives."""

    plane: Plane
    f: Floats  # [n]
    objective: float
    g: Floats  # [d + 1]
    c: Floats  # [n]


def primal_newton(
    problem: LinearProblem, *, tol: float, max_iter: int, start: Plane | None = None, number: int = 0
) -> Iterator[tuple[Plane, NewtonRecord, bool]]:
    """Planes step by step, each with its record and whether the minimum is reached."""
    n, d = problem.X.shape
    if start is None and n >= max(MANY_ROWS, ROWS_PER_COLUMN * d):
        start = _begin_with_a_tenth(problem, tol, max_iter)
    state = _evaluate(problem, start or flat_plane(d))
    by_products = d > WIDE or sparse.issparse(problem.X)
    solve = _conjugate_gradients(problem) if by_products else _newton_matrix(problem)
    t, aim = 0.0, tol**2 * (FINE if n * d * d < LITTLE_WORK else COARSE)
    for step in range(max_iter + 1):
        # Step 1: compute the direction and the expected decrease
        s = -solve(state, False)
        decrease = -float(state.g @ s)
        is_done = 0.5 * decrease <= aim * abs(state.objective) + TINY
        yield state.plane, _record(state, number, step, decrease, t), is_done
        if is_done:
            return
        # Step 2: take the longest of the steps 1, 1/2, 1/4, ... that decreases the objective enough
        after, t = _line_search(problem, state, s, decrease)
        if after is None:  # the matrix may have accumulated rounding errors: form it again
            s = -solve(state, True)
            decrease = -float(state.g @ s)
            after, t = _line_search(problem, state, s, decrease)
        if after is None:  # rounding hides any decrease; it is the minimum if a small one was expected
            yield (
                state.plane,
                _record(state, number, step + 1, decrease, t),
                abs(0.5 * decrease) <= tol * abs(state.objective),
            )
            return
        state = after


def _begin_with_a_tenth(problem: LinearProblem, tol: float, max_iter: int) -> Plane:
    """The minimum over every tenth row, with ten times its cost."""
    some, y, up, down = (each[::10] for each in problem[:4])
    rows = some if sparse.issparse(some) else np.ascontiguousarray(some)
    part = problem._replace(X=rows, y=y.copy(), up=10.0 * up, down=10.0 * down)
    plane = flat_plane(rows.shape[1])
    for better, record, _ in primal_newton(part, tol=tol, max_iter=max_iter, start=plane):
        plane = better
        if record.excess <= 1e-4 * record.objective:  # closer than the sample is to the whole
            break
    return plane


def _evaluate(problem: LinearProblem, plane: Plane) -> NewtonState:
    """Evaluate a plane in one pass over the rows."""
    from committee.kernels.svm.linear_rows import CostRows, measure_rows

    n, d = problem.X.shape
    if sparse.issparse(problem.X):
        value, f, c, pull = _measure_sparse_rows(problem, plane)
    else:
        f, c, pull = np.empty(n), np.empty(n), np.zeros(d + 1)
        value = measure_rows(CostRows(*problem[:4], float(problem.epsilon)), plane.w, plane.b, f, c, pull)
    g = -2.0 * pull
    g[:d] += plane.w
    g[d] = g[d] + problem.intercept_penalty * plane.b if problem.has_intercept else 0.0
    return NewtonState(plane, f, size(problem, plane) + value, g, c)


def _measure_sparse_rows(problem: LinearProblem, plane: Plane) -> tuple[float, Floats, Floats, Floats]:
    """The results of `measure_rows` for a sparse table."""
    f = predictions(problem, plane)
    low, high = excess(problem.y, f, problem.epsilon)
    up, down = problem.up * low, problem.down * high
    c = 2.0 * (problem.up * (low > 0.0) + problem.down * (high > 0.0))
    return float(up @ low) + float(down @ high), f, c, np.append(problem.X.T @ (up - down), (up - down).sum())


def _line_search(
    problem: LinearProblem, state: NewtonState, s: Floats, decrease: float
) -> tuple[NewtonState | None, float]:
    """The state after the longest step that decreases the objective enough, and its length."""

    def plane_after(t: float) -> Plane:
        return Plane(state.plane.w + t * s[:-1], state.plane.b + t * float(s[-1]))

    full = _evaluate(problem, plane_after(1.0))
    if full.objective <= state.objective - SUFFICIENT * decrease:
        return full, 1.0
    move = full.f - state.f
    for t in 0.5 ** np.arange(1.0, MAX_HALVINGS):
        plane = plane_after(t)
        if objective(problem, plane, state.f + t * move, 2) <= state.objective - SUFFICIENT * t * decrease:
            return _evaluate(problem, plane), float(t)
    return None, 0.0


def _newton_matrix(problem: LinearProblem) -> Callable[[NewtonState, bool], Floats]:
    """H^-1 g with an H that is updated by the rows that changed, or formed again on request."""
    n, d = problem.X.shape
    R = np.eye(d + 1)
    R[d, d] = problem.intercept_penalty if problem.has_intercept else 1.0
    H, c_of_H = R.copy(), np.zeros(n)

    def solve(state: NewtonState, is_new: bool) -> Floats:
        nonlocal c_of_H
        change = state.c - c_of_H
        if is_new or n * d * d < LITTLE_WORK or 2 * np.count_nonzero(change) > np.count_nonzero(state.c):
            H[:] = R
            change = state.c
        add_gram(H, problem.X, change, problem.has_intercept)
        c_of_H = state.c
        H[d, d] = H[d, d] or 1.0  # without rows outside the tube b has no gradient either
        return solve_positive(H, state.g)

    return solve


def _conjugate_gradients(problem: LinearProblem) -> Callable[[NewtonState, bool], Floats]:
    """H^-1 g by products with X, more exact for smaller gradients."""
    X: Any = problem.X
    d = X.shape[1]
    p = problem.intercept_penalty
    first = [0.0]

    def solve(state: NewtonState, is_new: bool) -> Floats:
        norm = float(np.linalg.norm(state.g))
        first[0] = max(first[0], norm)
        if norm == 0.0:
            return state.g
        counts = np.flatnonzero(state.c)
        A, c = X[counts], state.c[counts]

        def times(s: Floats) -> Floats:
            s = s.ravel()
            inner = c * (A @ s[:d] + (s[d] if problem.has_intercept else 0.0))
            last = p * s[d] + inner.sum() if problem.has_intercept else s[d]
            return np.append(s[:d] + A.T @ inner, last)

        squares: Any = A.multiply(A).T @ c if sparse.issparse(A) else np.einsum("ij,ij,i->j", A, A, c)
        diagonal = np.append(1.0 + squares, p + c.sum() if problem.has_intercept else 1.0)
        inverse = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)
        H = LinearOperator((d + 1, d + 1), matvec=times, dtype=np.float64)
        M = LinearOperator((d + 1, d + 1), matvec=lambda s: inverse * s.ravel(), dtype=np.float64)
        result, _ = sparse_linalg.cg(
            H, state.g, rtol=min(0.1, norm / first[0]), atol=0.0, maxiter=2000 if is_new else 200, M=M
        )
        return result

    return solve


def _record(state: NewtonState, number: int, step: int, decrease: float, t: float) -> NewtonRecord:
    return NewtonRecord(
        number, step, state.objective, float(np.linalg.norm(state.g)), 0.5 * decrease, t,
        int(np.count_nonzero(state.c)), state.plane.margin,
    )  # fmt: skip
