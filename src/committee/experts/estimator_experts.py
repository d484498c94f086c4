"""Any scikit-learn estimator that takes sample weights as expert: trees of the engine among them.

A regressor f_k has the density N(y; f_k(x), s_k^2), with a variance as that of linear experts; a classifier has its
probabilities, mixed with equal ones of weight EPS: with a probability of 0, an expert could never be responsible for a
row again.

The M-step fits a new copy with the responsibilities as weights. Its likelihood need not be larger than that of the old
one; EM keeps the old one if it is not, so that the bound does not decrease with such experts either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.experts.linear_experts import LOG_2PI, MIN_VARIANCE
from committee.members.estimators import fit_constant, predicted_probabilities, predicted_values, unfitted

Codes = NDArray[np.int64]

EPS = 1e-3
MIN_FRACTION = 1e-9
"""Of the total weight of an expert: rows of less weight are left out of its fit."""


class FittedExperts(NamedTuple):
    members: tuple[Any, ...]  # fitted estimators, None before the first fit
    variance: Floats  # [K], of regressors


def _fitted(estimator: Any, seed: int, X: Floats, y: NDArray[Any], weight: Floats) -> Any:
    """A copy fitted on the rows with weight; a constant for a single class."""
    rows = np.flatnonzero(weight > MIN_FRACTION * weight.sum())
    rows = rows if rows.size else np.arange(len(X))
    w = weight[rows] if weight[rows].sum() > 0.0 else np.ones(rows.size)
    if y.dtype.kind == "i" and np.all(y[rows] == y[rows[0]]):
        return fit_constant(y[rows])
    return unfitted(estimator, seed).fit(X[rows, :-1], y[rows], sample_weight=w * (rows.size / w.sum()))


class EstimatorRegressors(NamedTuple):
    """Copies of a regressor; they do not see the last column of X, the 1 of the intercept."""

    estimator: Any
    seed: int = 0
    variance_rows: float = 1.0
    variance_scale: float = 1e-3

    def start(self, n_experts: int, n_columns: int) -> FittedExperts:
        return FittedExperts((None,) * n_experts, np.ones(n_experts))

    def means(self, params: FittedExperts, X: Floats) -> Floats:
        return np.array([self._predictions(member, X) for member in params.members])

    def log_likelihood(self, params: FittedExperts, X: Floats, y: Floats) -> Floats:
        variance = params.variance[:, np.newaxis]
        return -0.5 * ((self.means(params, X) - y) ** 2 / variance + LOG_2PI + np.log(variance))

    def log_prior(self, params: FittedExperts) -> Floats:
        return -0.5 * self.variance_rows * (self.variance_scale / params.variance + np.log(params.variance))

    def m_step(
        self,
        params: FittedExperts,
        X: Floats,
        y: Floats,
        weights: Floats,
        at: Floats | None = None,
        *,
        exact: bool = False,
    ) -> FittedExperts:
        members = tuple(_fitted(self.estimator, self.seed, X, y, line) for line in weights)
        residual = np.array([self._predictions(member, X) for member in members]) - y
        squares = np.einsum("kn,kn->k", weights, residual**2) + self.variance_rows * self.variance_scale
        load = weights.sum(axis=1) + self.variance_rows
        variance = np.divide(squares, load, out=params.variance.copy(), where=load > 0.0)
        return FittedExperts(members, np.maximum(variance, MIN_VARIANCE))

    def scaled_gradient(self, params: FittedExperts, X: Floats, y: NDArray[Any], weights: Floats) -> Floats:
        return _no_gradient(params)

    def between(self, old: FittedExperts, new: FittedExperts, fraction: Floats) -> FittedExperts:
        return _full_steps(old, new, fraction)

    def _predictions(self, member: Any, X: Floats) -> Floats:
        if member is None:
            return np.zeros(len(X))
        return predicted_values(member, X[:, :-1])


class EstimatorClassifiers(NamedTuple):
    """Copies of a classifier with `predict_proba`."""

    estimator: Any
    n_classes: int
    seed: int = 0

    def start(self, n_experts: int, n_columns: int) -> FittedExperts:
        return FittedExperts((None,) * n_experts, np.ones(n_experts))

    def log_proba(self, params: FittedExperts, X: Floats) -> Floats:
        """ln q_k(c | x), [K, C, n]."""
        return np.array([np.log(self._proba(member, X)).T for member in params.members])

    def log_likelihood(self, params: FittedExperts, X: Floats, y: Codes) -> Floats:
        rows = np.arange(len(X))
        return np.array([np.log(self._proba(member, X)[rows, y]) for member in params.members])

    def log_prior(self, params: FittedExperts) -> Floats:
        return np.zeros(len(params.members))

    def m_step(
        self,
        params: FittedExperts,
        X: Floats,
        y: Codes,
        weights: Floats,
        at: Floats | None = None,
        *,
        exact: bool = False,
    ) -> FittedExperts:
        return FittedExperts(tuple(_fitted(self.estimator, self.seed, X, y, w) for w in weights), params.variance)

    def scaled_gradient(self, params: FittedExperts, X: Floats, y: NDArray[Any], weights: Floats) -> Floats:
        return _no_gradient(params)

    def between(self, old: FittedExperts, new: FittedExperts, fraction: Floats) -> FittedExperts:
        return _full_steps(old, new, fraction)

    def _proba(self, member: Any, X: Floats) -> Floats:
        """Probabilities [n, C]; classes that a member was not fitted on have probability EPS / C."""
        even = np.full((len(X), self.n_classes), 1.0 / self.n_classes)
        if member is None:
            return even
        p = predicted_probabilities(member, X[:, :-1], np.arange(self.n_classes))
        return even * EPS + (1.0 - EPS) * p


def _no_gradient(params: FittedExperts) -> Floats:
    """The gradient of a fitted estimator is unknown: convergence is that of the gate alone."""
    return np.zeros((len(params.members), 1))


def _full_steps(old: FittedExperts, new: FittedExperts, fraction: Floats) -> FittedExperts:
    """Fitted estimators cannot be interpolated: anything but a full step keeps the old one."""
    pairs = zip(old.members, new.members, fraction, strict=True)
    members = tuple(b if s >= 1.0 else a for a, b, s in pairs)
    return FittedExperts(members, np.where(fraction >= 1.0, new.variance, old.variance))
