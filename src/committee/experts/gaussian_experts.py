"""Gaussian experts: densities q_k(y) = N(y; m_k, S_k) of a numeric row y, without a target.

The prior keeps covariances from being singular where an expert has few rows or columns are collinear:

    ln prior(k) = -nu/2 (s0^2 tr S_k^-1 + ln |S_k|)

as if nu more rows were scattered around m_k with covariance s0^2 I. The M-step has a closed form:

    m_k = sum_i w_i r_ik y_i / N_k,    S_k = (sum_i w_i r_ik (y_i - m_k)(y_i - m_k)' + nu s0^2 I) / (N_k + nu)

A mixture of densities integrates to 1 if its gate is constant, or depends on other columns than the densities.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.experts._weighted_least_squares import row_blocks
from committee.experts.em import interpolate
from committee.experts.linear_experts import LOG_2PI

Shape = Literal["full", "diag"]

SINGULAR = 1e-14
"""Without a prior a covariance may be singular: its eigenvalues are kept above this fraction of the largest."""


class GaussianParams(NamedTuple):
    mean: Floats  # [K, p]
    covariance: Floats  # [K, p, p]


class GaussianExperts(NamedTuple):
    """Gaussian densities with full or diagonal covariances; they ignore the table X of the gate."""

    covariance_type: Shape = "full"
    variance_rows: float = 1.0  # nu
    variance_scale: float = 1e-3  # s0^2

    def start(self, n_experts: int, n_columns: int) -> GaussianParams:
        return GaussianParams(np.zeros((n_experts, n_columns)), np.tile(np.eye(n_columns), (n_experts, 1, 1)))

    def log_likelihood(self, params: GaussianParams, X: Floats, y: Floats) -> Floats:
        lower = np.linalg.cholesky(params.covariance)
        whiten = np.linalg.inv(lower)
        log_det = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        values = np.empty((len(params.mean), len(y)))
        for rows in row_blocks(*y.shape):
            columns = np.ascontiguousarray(y[rows].T)  # long lines: the rows of a density are short
            for k, (mean, W) in enumerate(zip(params.mean, whiten, strict=True)):
                z = W @ (columns - mean[:, np.newaxis])
                np.sum(np.square(z, out=z), axis=0, out=values[k, rows])
        return -0.5 * (values + y.shape[1] * LOG_2PI) - log_det[:, np.newaxis]

    def log_prior(self, params: GaussianParams) -> Floats:
        if self.variance_rows == 0.0:
            return np.zeros(len(params.mean))
        values = np.linalg.eigvalsh(params.covariance)
        return -0.5 * self.variance_rows * np.sum(self.variance_scale / values + np.log(values), axis=1)

    def m_step(
        self,
        params: GaussianParams,
        X: Floats,
        y: Floats,
        weights: Floats,
        at: Floats | None = None,
        *,
        exact: bool = False,
    ) -> GaussianParams:
        p = y.shape[1]
        load = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
        mean = (weights @ y) / load[:, np.newaxis]
        scatter = np.tile(self.variance_rows * self.variance_scale * np.eye(p), (len(mean), 1, 1))
        for rows in row_blocks(*y.shape):
            columns = np.ascontiguousarray(y[rows].T)
            for k, m in enumerate(mean):
                z = columns - m[:, np.newaxis]
                scatter[k] += (z * weights[k, rows]) @ z.T
        covariance = scatter / (load + self.variance_rows)[:, np.newaxis, np.newaxis]
        return GaussianParams(mean, self._shaped(covariance))

    def scaled_gradient(self, params: GaussianParams, X: Floats, y: Floats, weights: Floats) -> Floats:
        """How far the M-step moves mean and covariance, in the units that the covariance gives, [K, p + p p].

        With S = L L' the gradient of the mean is N L'^-1 L^-1 (new - old) and its curvature N S^-1; that of the
        covariance is (N + nu)/2 (L^-1 new L'^-1 - I) in these units, at the new mean.
        """
        new = self.m_step(params, X, y, weights)
        load = weights.sum(axis=1)
        whiten = np.linalg.inv(np.linalg.cholesky(params.covariance))
        by_mean = np.einsum("kpq,kq->kp", whiten, new.mean - params.mean) * np.sqrt(load)[:, np.newaxis]
        moved = whiten @ (new.covariance - params.covariance) @ whiten.transpose(0, 2, 1)
        moved *= np.sqrt((load + self.variance_rows) / 2.0)[:, np.newaxis, np.newaxis]
        return np.column_stack([by_mean, moved.reshape(len(moved), -1)])

    def between(self, old: GaussianParams, new: GaussianParams, fraction: Floats) -> GaussianParams:
        """Covariances further on than the new ones need not be such: the step ends there."""
        fraction = np.minimum(fraction, 1.0)
        covariance = interpolate(old.covariance, new.covariance, fraction[:, np.newaxis, np.newaxis])
        return GaussianParams(interpolate(old.mean, new.mean, fraction[:, np.newaxis]), covariance)

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        n_free = n_columns * (n_columns + 1) // 2 if self.covariance_type == "full" else n_columns
        return n_experts * (n_columns + n_free)

    def _shaped(self, covariance: Floats) -> Floats:
        if self.covariance_type == "diag":
            covariance = covariance * np.eye(covariance.shape[1])
        covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        values, vectors = np.linalg.eigh(covariance)
        least = np.maximum(SINGULAR * values.max(axis=1, keepdims=True), 1e-300)
        if np.all(values >= least):
            return covariance
        return (vectors * np.maximum(values, least)[:, np.newaxis]) @ vectors.transpose(0, 2, 1)
