"""Plain twins of the kernel machines: formulas in NumPy, SMO on the worst pair, a quadratic programme by scipy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def gaussian(X: Floats, Z: Floats, gamma: float) -> Floats:
    return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


def laplacian(X: Floats, Z: Floats, gamma: float) -> Floats:
    return np.exp(-gamma * np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))


class Dual(NamedTuple):
    """min 1/2 a'Qa + p'a, A a = A start, 0 <= a <= upper, Q = y y' * gram."""

    gram: Floats
    y: Floats
    p: Floats
    upper: Floats
    start: Floats
    is_by_class: bool = False

    @property
    def matrix(self) -> Floats:
        return self.gram * np.outer(self.y, self.y)

    def objective(self, a: Floats) -> float:
        return float(0.5 * a @ self.matrix @ a + self.p @ a)

    def sums(self) -> Floats:
        return np.array([self.y > 0, self.y < 0], float) if self.is_by_class else self.y[np.newaxis]

    def gap(self, a: Floats) -> float:
        """The KKT gap, from the definition."""
        f = self.y * (self.matrix @ a + self.p)
        up = np.where(self.y > 0, a < self.upper, a > 0)
        low = np.where(self.y > 0, a > 0, a < self.upper)
        sides = [self.y > 0, self.y < 0] if self.is_by_class else [self.y != 0]
        pairs = [(f[low & side], f[up & side]) for side in sides]
        return max((float(a.max() - b.min()) for a, b in pairs if a.size and b.size), default=0.0)


def smo(dual: Dual, tol: float = 1e-10, max_steps: int = 200_000) -> Floats:
    """Two variables at a time: the pair that violates most (Keerthi et al. 2001)."""
    a, y, Q = dual.start.copy(), dual.y, dual.matrix
    for _ in range(max_steps):
        f = y * (Q @ a + dual.p)
        up = np.where(np.where(y > 0, a < dual.upper, a > 0), f, np.inf)
        low = np.where(np.where(y > 0, a > 0, a < dual.upper), f, -np.inf)
        if dual.is_by_class:
            gaps = [np.where(side, low, -np.inf).max() - np.where(side, up, np.inf).min() for side in (y > 0, y < 0)]
            side = (y > 0, y < 0)[int(np.argmax(gaps))]
            up, low = np.where(side, up, np.inf), np.where(side, low, -np.inf)
        i, j = int(up.argmin()), int(low.argmax())
        if low[j] - up[i] <= tol:
            break
        bend = max(dual.gram[i, i] + dual.gram[j, j] - 2 * dual.gram[i, j], 1e-12)
        room_i = dual.upper[i] - a[i] if y[i] > 0 else a[i]
        room_j = a[j] if y[j] > 0 else dual.upper[j] - a[j]
        step = min((f[j] - f[i]) / bend, room_i, room_j)
        a[i] += y[i] * step
        a[j] -= y[j] * step
        a[[i, j]] = np.clip(a[[i, j]], 0.0, dual.upper[[i, j]])
    return a


def quadratic_programme(dual: Dual) -> Floats:
    """By scipy's SLSQP, which knows nothing of support vectors."""
    sums = dual.sums()
    fixed = sums @ dual.start
    result: Any = minimize(
        dual.objective,
        dual.start,
        jac=lambda a: dual.matrix @ a + dual.p,
        bounds=[(0.0, None if np.isinf(c) else c) for c in dual.upper],
        constraints={"type": "eq", "fun": lambda a: sums @ a - fixed, "jac": lambda a: sums},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return result.x
