"""The problem of every linear SVM, with one cost for a prediction too low and one for a prediction too high.

    P(w, b) = 1/2 |w|^2 + p/2 b^2 + sum_i up_i max(0, y_i - f_i - e)^q + down_i max(0, f_i - y_i - e)^q  ->  min

with f_i = w x_i + b and q = 1 or 2. Regression has up = down = C. A class y in {-1, +1} is a target with a cost
on one side: hinge(1 - y f) = max(0, y - f) for y = +1 and max(0, f - y) for y = -1, so up = C (y > 0), down = C (y < 0)
and e = 0. p = 0 leaves the intercept without penalty; LIBLINEAR uses p = 1 / intercept_scaling^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from committee.base.array_types import Floats

BLOCK_ROWS = 2048
"""Number of rows of a partial product: a block of 50 columns stays in the second-level cache."""


class LinearProblem(NamedTuple):
    """Rows, targets and costs of one binary problem."""

    X: Any  # [n, d] floats in C order; for `primal_newton` also a sparse array in rows (CSR)
    y: Floats  # [n]
    up: Floats  # [n], cost of a prediction below y - epsilon
    down: Floats  # [n], cost of a prediction above y + epsilon
    epsilon: float
    has_intercept: bool
    intercept_penalty: float  # p


class Plane(NamedTuple):
    """f(x) = w x + b."""

    w: Floats  # [d]
    b: float

    @property
    def margin(self) -> float:
        """Width 2 / |w| of the strip |f| <= 1; infinite if w = 0."""
        norm = float(np.linalg.norm(self.w))
        return 2.0 / norm if norm > 0.0 else np.inf


def flat_plane(d: int) -> Plane:
    return Plane(np.zeros(d), 0.0)


def predictions(problem: LinearProblem, plane: Plane) -> Floats:
    return problem.X @ plane.w + plane.b


def size(problem: LinearProblem, plane: Plane) -> float:
    """1/2 |w|^2 + p/2 b^2."""
    return 0.5 * float(plane.w @ plane.w) + 0.5 * problem.intercept_penalty * plane.b**2


def excess(y: Floats, f: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """The distances of predictions f below and above the tube around y."""
    r = y - f
    return np.maximum(r - epsilon, 0.0), np.maximum(-r - epsilon, 0.0)


def objective(problem: LinearProblem, plane: Plane, f: Floats, power: int) -> float:
    """P(w, b) for predictions f."""
    low, high = excess(problem.y, f, problem.epsilon)
    if power == 1:
        return size(problem, plane) + float(problem.up @ low) + float(problem.down @ high)
    return size(problem, plane) + float(problem.up @ low**2) + float(problem.down @ high**2)


def dual_objective(problem: LinearProblem, beta: Floats, v: Floats, power: int) -> float:
    """A lower bound of P from -down <= beta <= up (q = 1), with v = sum beta x and sum beta = 0 where p = 0.

    y beta - e |beta| - 1/2 |v|^2 - (sum beta)^2 / 2p - [q = 2] sum beta^2 / 4 cost
    """
    bound = float(problem.y @ beta) - problem.epsilon * float(np.abs(beta).sum()) - 0.5 * float(v @ v)
    if problem.has_intercept and problem.intercept_penalty > 0.0:
        bound -= 0.5 * float(beta.sum()) ** 2 / problem.intercept_penalty
    if power == 2:
        cost = np.where(beta > 0.0, problem.up, problem.down)
        bound -= 0.25 * float(np.sum(np.divide(beta**2, cost, out=np.zeros_like(beta), where=beta != 0.0)))
    return bound


def balanced(beta: Floats) -> Floats:
    """beta with its larger side scaled down, so that it sums to zero."""
    above, below = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
    if above > below:
        return np.where(beta > 0.0, beta * (below / above), beta)
    return np.where(beta < 0.0, beta * (above / below), beta) if below > 0.0 else beta


def lower_bound(problem: LinearProblem, beta: Floats, power: int) -> float:
    """A lower bound of P from any -down <= beta <= up (q = 1), made to sum to zero where p = 0."""
    if problem.has_intercept and problem.intercept_penalty == 0.0:
        beta = balanced(beta)
    return dual_objective(problem, beta, np.asarray(problem.X.T @ beta, np.float64), power)


def squared_loss_gap(problem: LinearProblem, plane: Plane) -> float:
    """Duality gap of a plane for q = 2: P less the bound from beta = 2 (up low - down high), the slopes of the loss.

    At the minimum sum beta x = w, and the gap is zero.
    """
    f = predictions(problem, plane)
    low, high = excess(problem.y, f, problem.epsilon)
    beta = 2.0 * (problem.up * low - problem.down * high)
    return objective(problem, plane, f, 2) - lower_bound(problem, beta, 2)


def relative_gap(gap: float, value: float) -> float:
    """A duality gap as a fraction of the objective; rounding may leave a gap just below zero."""
    return max(gap, 0.0) / max(abs(value), float(np.finfo(float).tiny))


def add_gram(H: Floats, X: Floats, c: Floats, has_intercept: bool) -> None:
    """H += A' diag(c) A for the rows A = (x, 1) with c other than 0; changes H [d + 1, d + 1]."""
    for sign in (1.0, -1.0):  # a product of a matrix with itself is half the work: take the roots of one sign
        rows = np.flatnonzero(c * sign > 0.0)
        root = np.sqrt(sign * c[rows])
        is_even = rows.size > 0 and bool(np.all(root == root[0]))
        for start in range(0, rows.size, BLOCK_ROWS):
            block, here = X[rows[start : start + BLOCK_ROWS]], root[start : start + BLOCK_ROWS]
            if not is_even:
                block *= here[:, np.newaxis]
            factor = sign * (here[0] ** 2 if is_even else 1.0)
            H[:-1, :-1] += factor * (block.T @ block)
            if has_intercept:
                total = factor * ((here / here[0] if is_even else here) @ block)
                H[:-1, -1] += total
                H[-1, :-1] += total
        if has_intercept:
            H[-1, -1] += sign * float(root @ root)


def solve_positive(H: Floats, g: Floats) -> Floats:
    """H^-1 g for a positive definite H; by its large eigenvalues if rounding made it indefinite."""
    try:
        result = cho_solve(cho_factor(H, check_finite=False), g, check_finite=False)
        if np.all(np.isfinite(result)):
            return result
    except LinAlgError:
        pass
    values, vectors = np.linalg.eigh(H)
    sound = values > 1e-14 * values[-1]
    return vectors[:, sound] @ ((vectors[:, sound].T @ g) / values[sound])
