"""Plain twins of the linear machines: the problems as a textbook states them, solved by general methods of SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def hinge(X: Floats, y: Floats, cost: Floats, w: Floats, b: float, power: int = 1) -> float:
    """1/2 |w|^2 + sum cost max(0, 1 - y f)^power."""
    return 0.5 * float(w @ w) + float(cost @ np.maximum(0.0, 1.0 - y * (X @ w + b)) ** power)


def tube(X: Floats, y: Floats, cost: Floats, w: Floats, b: float, epsilon: float, power: int = 1) -> float:
    """1/2 |w|^2 + sum cost max(0, |y - f| - epsilon)^power."""
    return 0.5 * float(w @ w) + float(cost @ np.maximum(0.0, np.abs(y - X @ w - b) - epsilon) ** power)


def smooth_minimum(objective: Any, n_columns: int) -> tuple[Floats, float, float]:
    """w, b and the value of the minimum of objective(w, b), which must have a gradient."""
    result = minimize(
        lambda v: objective(v[:-1], v[-1]), np.zeros(n_columns + 1), method="BFGS", options={"gtol": 1e-7}
    )
    return result.x[:-1], float(result.x[-1]), float(result.fun)


def hinge_dual(X: Floats, y: Floats, cost: Floats) -> tuple[Floats, float]:
    """w and the value of the dual: max sum a - 1/2 |sum a y x|^2, 0 <= a <= cost, sum a y = 0."""
    Z = X * y[:, None]
    result = minimize(
        lambda a: 0.5 * float((a @ Z) @ (a @ Z)) - a.sum(),
        np.zeros(y.size),
        jac=lambda a: Z @ (a @ Z) - 1.0,
        bounds=[(0.0, each) for each in cost],
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return result.x @ Z, -float(result.fun)


def tube_dual(X: Floats, y: Floats, cost: Floats, epsilon: float) -> tuple[Floats, float]:
    """w and the value of the dual: max y (a - c) - epsilon (a + c) - 1/2 |sum (a - c) x|^2, sum a = sum c."""
    n = y.size
    both = np.vstack([X, -X])
    gain = np.concatenate([y - epsilon, -y - epsilon])
    sign = np.repeat([1.0, -1.0], n)
    result = minimize(
        lambda a: 0.5 * float((a @ both) @ (a @ both)) - float(gain @ a),
        np.zeros(2 * n),
        jac=lambda a: both @ (a @ both) - gain,
        bounds=[(0.0, each) for each in np.tile(cost, 2)],
        constraints={"type": "eq", "fun": lambda a: a @ sign, "jac": lambda a: sign},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return result.x @ both, -float(result.fun)


def descend(
    X: Floats, y: Floats, low: Floats, high: Floats, ridge: Floats, epsilon: float, order: Any, lift: float, b: float,
    beta: Floats,
) -> tuple[Floats, float]:  # fmt: skip
    """One pass of coordinate descent: beta and b after it. Along each beta the minimum is looked for, not computed."""
    beta = beta.copy()
    for i in order:
        slope = float(X[i] @ (X.T @ beta)) + b + ridge[i] * beta[i] - y[i]
        q = float(X[i] @ X[i]) + lift + ridge[i]
        # A convex function of one number: the best of its kinks, walls and smooth minima
        tries = [0.0, low[i], high[i], beta[i] - (slope + epsilon) / q, beta[i] - (slope - epsilon) / q]
        tries = [float(np.clip(each, low[i], high[i])) for each in tries if np.isfinite(each)]
        cost = [0.5 * q * (t - beta[i]) ** 2 + slope * (t - beta[i]) + epsilon * abs(t) for t in tries]
        best = tries[int(np.argmin(cost))]
        b += lift * (best - beta[i])
        beta[i] = best
    return beta, b


def measure_rows(
    X: Floats, y: Floats, up: Floats, down: Floats, epsilon: float, w: Floats, b: float
) -> tuple[float, Floats, Floats, Floats]:
    """Cost of squared distances from the tube, answers, curvatures of the rows, and the pull on (w, b)."""
    f = X @ w + b
    low, high = np.maximum(y - f - epsilon, 0.0), np.maximum(f - y - epsilon, 0.0)
    pull = up * low - down * high
    c = np.where(low > 0.0, 2.0 * up, np.where(high > 0.0, 2.0 * down, 0.0))
    return float(np.sum(up * low**2 + down * high**2)), f, c, np.append(pull @ X, pull.sum())
