"""Linear experts with noise: q_k(y | x) = N(y; b_k'x, s_k^2).

The prior keeps coefficients finite where columns are collinear, and variances from 0 where an expert fits few rows:

    ln prior(k) = -(l2 |b_k|^2 + nu s0^2) / (2 s_k^2) - nu/2 ln s_k^2

as if there were nu more rows with residuals of variance s0^2. The M-step has a closed form, weighted least squares:

    b_k = (sum_i w_i r_ik x_i x_i' + l2 I)^-1 sum_i w_i r_ik y_i x_i
    s_k^2 = (sum_i w_i r_ik (y_i - b_k'x_i)^2 + l2 |b_k|^2 + nu s0^2) / (sum_i w_i r_ik + nu)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.experts._weighted_least_squares import scaled_slopes, weighted_ridge
from committee.experts.em import interpolate

LOG_2PI = float(np.log(2.0 * np.pi))
MIN_VARIANCE = 1e-300
"""Without a prior an expert may fit its rows exactly."""

ROUNDING = 1e-24
"""Variance of a standardised target below which residuals are rounding errors: their gradient is meaningless."""


class LinearParams(NamedTuple):
    coef: Floats  # [K, p]
    variance: Floats  # [K]


class LinearExperts(NamedTuple):
    """Weighted least squares; rows of X hold a 1 for the intercept."""

    l2: float = 1e-2
    variance_rows: float = 1.0  # nu
    variance_scale: float = 1e-3  # s0^2

    def start(self, n_experts: int, n_columns: int) -> LinearParams:
        return LinearParams(np.zeros((n_experts, n_columns)), np.ones(n_experts))

    def means(self, params: LinearParams, X: Floats) -> Floats:
        """b_k'x, [K, n]."""
        return params.coef @ X.T

    def log_likelihood(self, params: LinearParams, X: Floats, y: Floats) -> Floats:
        values = self.means(params, X)
        values -= y
        values *= values
        values *= (-0.5 / params.variance)[:, np.newaxis]
        values -= (0.5 * (LOG_2PI + np.log(params.variance)))[:, np.newaxis]
        return values

    def log_prior(self, params: LinearParams) -> Floats:
        b2 = np.einsum("kp,kp->k", params.coef, params.coef)
        size = self.l2 * b2 + self.variance_rows * self.variance_scale
        return -0.5 * (size / params.variance + self.variance_rows * np.log(params.variance))

    def m_step(
        self,
        params: LinearParams,
        X: Floats,
        y: Floats,
        weights: Floats,
        at: Floats | None = None,
        *,
        exact: bool = False,
    ) -> LinearParams:
        coef = weighted_ridge(X, weights, (weights * y) @ X, self.l2)
        return LinearParams(coef, self._best_variance(params._replace(coef=coef), X, y, weights))

    def _best_variance(self, params: LinearParams, X: Floats, y: Floats, weights: Floats) -> Floats:
        """s^2 for these coefficients."""
        coef = params.coef
        squares = np.einsum("kn,kn->k", weights, (coef @ X.T - y) ** 2)
        squares += self.l2 * np.einsum("kp,kp->k", coef, coef) + self.variance_rows * self.variance_scale
        load = weights.sum(axis=1) + self.variance_rows
        ratio = np.divide(squares, load, out=params.variance.copy(), where=load > 0.0)
        return np.maximum(ratio, MIN_VARIANCE)

    def scaled_gradient(self, params: LinearParams, X: Floats, y: Floats, weights: Floats) -> Floats:
        """Of the coefficients, then of ln s^2 (gradient load/2 (best/s^2 - 1), curvature load/2), [K, p + 1]."""
        slope = weights * (y - self.means(params, X))
        variance = np.maximum(params.variance, ROUNDING)
        of_coef = scaled_slopes(X, slope, weights, params.coef, self.l2) / np.sqrt(variance)[:, np.newaxis]
        load = weights.sum(axis=1) + self.variance_rows
        moved = self._best_variance(params, X, y, weights) - params.variance
        of_variance = np.sqrt(load / 2.0) * (moved / variance)
        return np.column_stack([of_coef, of_variance])

    def between(self, old: LinearParams, new: LinearParams, fraction: Floats) -> LinearParams:
        """Variances are averaged as logarithms."""
        coef = interpolate(old.coef, new.coef, fraction[:, np.newaxis])
        return LinearParams(coef, np.exp(interpolate(np.log(old.variance), np.log(new.variance), fraction)))

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return n_experts * (n_columns + 1)
