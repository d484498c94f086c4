"""Weights of members that are >= 0 and sum to one, fitted to held-out predictions.

    minimize  sum_i v_i || y_i - sum_m w_m a_m(x_i) ||^2        over w_m >= 0, sum_m w_m = 1

with v the weights of the rows, and y and a values, or class probabilities, for which it is the Brier score. As the
weights sum to one, the error of the mean is the same mean of the errors e_m = y - a_m, and the problem is to find the
shortest vector E w in the convex hull of the members' errors. Without the constraint on the sum

    minimize  || E w ||^2 + (1 - sum w)^2   over w >= 0

has, along each direction w = t u with u in the simplex, the minimum g / (1 + g), g = || E u ||^2, which increases with
g: its direction is the solution u of the first problem, found by one non-negative least squares problem.

Breiman, Stacked regressions, 1996 (weights >= 0); Wolpert, Stacked generalization, 1992.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller

TOL = 1e-6
"""Tolerance for the squared error above its minimum, as a fraction of the best member's."""


def simplex_weights(predictions: Floats, truth: Floats, weight: Floats | None = None) -> Floats:
    """Fit weights of the members, >= 0 with sum 1, with the smallest squared error of the weighted mean.

    `predictions` [members, n] or [members, n, k], `truth` [n] or [n, k], `weight` [n].

    >>> truth = np.array([1.0, 2.0, 3.0])
    >>> simplex_weights(np.array([truth + 1.0, truth - 3.0, truth + 9.0]), truth).round(6)
    array([0.75, 0.25, 0.  ])
    """
    a, y = np.asarray(predictions, np.float64), np.asarray(truth, np.float64)
    if a.shape[1:] != y.shape or len(a) == 0 or not (np.all(np.isfinite(a)) and np.all(np.isfinite(y))):
        raise ValueError(f"predictions [members, n, ...] must be finite and match truth; got {a.shape} and {y.shape}.")
    errors = (y - a).reshape(len(a), -1).T
    if weight is not None:
        errors = errors * np.sqrt(np.repeat(np.asarray(weight, np.float64), errors.shape[0] // len(y)))[:, np.newaxis]
    errors = errors / (np.abs(errors).max() or 1.0)  # so that squares do not overflow
    length = np.sqrt(np.sum(errors * errors, axis=0))
    if length.min() == 0.0:  # a member without error
        return np.eye(len(a))[int(length.argmin())]
    triangle: Floats = np.asarray(np.linalg.qr(errors / length.min(), mode="r"), np.float64)
    system = np.vstack([triangle, np.ones(len(a))])
    result = _non_negative_least_squares(system)
    if not simplex_gap(triangle, result) <= TOL:
        best = np.eye(len(a))[int(length.argmin())]
        gap, best_gap = simplex_gap(triangle, result), simplex_gap(triangle, best)
        result, gap = (result, gap) if gap <= best_gap else (best, best_gap)
        warnings.warn(
            f"The weights of the members are not optimal: the squared error may exceed its minimum by up to {gap:.2g} "
            f"of the best member's, {TOL:g} was required. Remove members whose predictions are nearly the same.",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )
    return result


def simplex_gap(errors: Floats, weights: Floats) -> float:
    """Bound || E w ||^2 less its minimum over the simplex, as a fraction of the best member's.

    f(w) - f(u) <= grad f(w) (w - u) for convex f and every u; over the simplex its maximum is at a vertex.
    """
    if not np.all(np.isfinite(weights)):
        return np.inf
    mean = errors @ weights
    above = 2.0 * float(mean @ mean - np.min(mean @ errors))
    best = float(np.min(np.sum(errors * errors, axis=0)))
    return max(0.0, above) / max(best, float(np.finfo(np.float64).tiny))


def _non_negative_least_squares(system: Floats) -> Floats:
    """Solve non-negative least squares with (E; 1) and (0; 1) for the weights; nan if it fails."""
    try:
        solution, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    except RuntimeError:  # too many iterations
        return np.full(system.shape[1], np.nan)
    total = float(solution.sum())
    return solution / total if total > 0.0 else np.full(system.shape[1], np.nan)


class SimplexCombination(NamedTuple):
    """A weighted mean of the members as the final estimator of stacking."""

    weights: Floats
    n_classes: int  # 0 for regression

    def predict_proba(self, columns: Floats) -> Floats:
        """Compute mean class probabilities; for two classes the columns are those of the second."""
        mean = np.einsum("nmk,m->nk", columns.reshape(len(columns), len(self.weights), -1), self.weights)
        return np.column_stack([1.0 - mean, mean]) if self.n_classes == 2 else mean

    def predict(self, columns: Floats) -> NDArray[np.int64] | Floats:
        """Compute the mean value, or the code of the largest mean probability."""
        if not self.n_classes:
            return columns @ self.weights
        return self.predict_proba(columns).argmax(axis=1)
