"""The gate of a mixture of experts: softmax regression on the row, or constant probabilities.

    g_k(x) = e^(v_k'x) / sum_j e^(v_j'x),        prior: -l2/2 sum_k |v_k|^2

Its part of the bound is the log-likelihood of a softmax regression with the responsibilities r as (soft) labels,
concave, with the gradient sum_i w_i (r_ik - g_ik) x_i for v_k. In the scores of one row its curvature is
diag(g) - g g', which is at most diag(g); so

    v_k  <-  v_k + (sum_i w_i g_ik x_i x_i' + l2 I)^-1 (sum_i w_i (r_ik - g_ik) x_i - l2 v_k)

is an ascent step, one weighted regression for each expert, at a cost that is linear in K (the full Newton step couples
all pairs of experts). This is Newton's step wherever g does not depend on x, for diag(1/g) inverts diag(g) - g g' on
vectors whose sum is 0. The mean of all v_k changes no g; it is subtracted, which increases the prior.

With constant probabilities the maximum is g_k = mean responsibility.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.experts._weighted_least_squares import scaled_slopes, weighted_ridge
from committee.experts.em import interpolate
from committee.kernels.mixture.em import BLOCK, log_softmax, softmax_slopes


def log_softmax_scores(coef: Floats, X: Floats) -> Floats:
    """ln softmax of coef @ x for every row: [K, n] from coef [K, p] and X [n, p]."""
    score = coef @ X.T
    log_softmax(score, np.empty((2, BLOCK)))
    return score


def softmax_step(coef: Floats, X: Floats, weights: Floats, log_p: Floats, l2: float, *, exact: bool = False) -> Floats:
    """Coefficients of softmax regression after one ascent step: weights [K, n] count the (soft) labels of each row.

    With `exact` the matrix of the step comes from all rows, else from a sample if there are many.
    """
    if len(coef) == 1:  # one expert has every row
        return np.zeros_like(coef)
    slope, curvature = _softmax_slopes(weights, log_p)
    new = coef + weighted_ridge(X, curvature, slope @ X - l2 * coef, l2, sample=not exact)
    return new - new.mean(axis=0)


def softmax_scaled_gradient(coef: Floats, X: Floats, weights: Floats, log_p: Floats, l2: float) -> Floats:
    """Gradient of the same log-likelihood with its prior over the root of the curvature (bound), [K, p]."""
    if len(coef) == 1:
        return np.zeros_like(coef)
    slope, curvature = _softmax_slopes(weights, log_p)
    return scaled_slopes(X, slope, curvature, coef, l2)


def _softmax_slopes(weights: Floats, log_p: Floats) -> tuple[Floats, Floats]:
    slope, curvature = np.empty_like(log_p), np.empty_like(log_p)
    softmax_slopes(log_p, weights, weights.sum(axis=0), slope, curvature)
    return slope, curvature


class SoftmaxGate(NamedTuple):
    """Softmax regression with a prior; its parameters are an array [K, p], rows of X hold a 1 for the intercept."""

    l2: float = 1e-2

    def start(self, n_experts: int, n_columns: int) -> Floats:
        """Every expert is equally probable everywhere."""
        return np.zeros((n_experts, n_columns))

    def log_proba(self, params: Floats, X: Floats) -> Floats:
        return log_softmax_scores(params, X)

    def log_prior(self, params: Floats) -> float:
        return -0.5 * self.l2 * float(np.vdot(params, params))

    def m_step(
        self, params: Floats, X: Floats, weights: Floats, at: Floats | None = None, *, exact: bool = False
    ) -> Floats:
        log_p = self.log_proba(params, X) if at is None else at
        return softmax_step(params, X, weights, log_p, self.l2, exact=exact)

    def scaled_gradient(self, params: Floats, X: Floats, weights: Floats) -> Floats:
        return softmax_scaled_gradient(params, X, weights, self.log_proba(params, X), self.l2)

    def between(self, old: Floats, new: Floats, fraction: float) -> Floats:
        return interpolate(old, new, fraction)

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return (n_experts - 1) * n_columns


class ConstantGate(NamedTuple):
    """The same probabilities for every row; the parameters are their logarithms [K]."""

    def start(self, n_experts: int, n_columns: int) -> Floats:
        return np.full(n_experts, -np.log(n_experts))

    def log_proba(self, params: Floats, X: Floats) -> Floats:
        return np.repeat(params[:, np.newaxis], len(X), axis=1)

    def log_prior(self, params: Floats) -> float:
        return 0.0

    def m_step(
        self, params: Floats, X: Floats, weights: Floats, at: Floats | None = None, *, exact: bool = False
    ) -> Floats:
        load = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
        return np.log(load / load.sum())

    def scaled_gradient(self, params: Floats, X: Floats, weights: Floats) -> Floats:
        """(load - expected load) / sqrt(expected load), the expected one at least a row's: Pearson's residuals."""
        expected = np.exp(params) * weights.sum()
        return (weights.sum(axis=1) - expected) / np.sqrt(np.maximum(expected, 1.0))

    def between(self, old: Floats, new: Floats, fraction: float) -> Floats:
        """The step is exact: a decrease is a rounding error, and the old probabilities are kept."""
        return new if fraction >= 1.0 else old

    def n_parameters(self, n_experts: int, n_columns: int) -> int:
        return n_experts - 1
