"""Calibrate class probabilities by two parameters, fitted by the log-loss of held-out rows.

A mean of many trees is underconfident, pure leaves give 0 and 1, boosting and unpenalized linear models are
overconfident. With the probabilities p_k of held-out (or out-of-bag) rows, a power a and a mixture e are fitted:

    m_k = (1 - e) p_k + e / K,        q_k = m_k^a / sum_j m_j^a

For scores f_k with p = softmax(f) and e = 0 this is temperature scaling (Guo, Pleiss, Sun and Weinberger 2017),
q = softmax(a f); the mixture excludes probabilities of 0. The order of the classes, and so the predictions, do not
change. Out-of-bag rows are predicted by a third of the trees: in a small forest their probabilities are noisier than
those of new rows.

As in Platt's method the log-loss is that of smoothed targets: a row of a class of N rows counts as (N + 1) / (N + 2) of
a row of its class and as 1 / (N + 2) of one of the others. Without that, a few rows that are all predicted correctly
would be calibrated to probabilities of 0 and 1. For the same reason `smoothed_log_losses`, not the log-loss, compare
probabilities before and after a calibration: N rows without an error do not show that there are none among new ones.

Platt, Probabilistic outputs for support vector machines, 1999.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.stats import MIN_PROBABILITY, log_losses
from committee.calibration.slope import warn_not_converged
from committee.sampling.resampling import are_whole, without_common_factor

POWERS, MIXTURES = (-5.0, 5.0), (-30.0, 5.0)
"""Bounds of ln a and of the log-odds of e."""

START = (0.0, -4.0)

MAX_GRADIENT = 1e-3
"""Tolerance for the gradient of the mean log-loss by ln a and the log-odds of e."""

MAX_RESTARTS = 5


class Calibration(NamedTuple):
    """The power and the mixture, and the log-loss of the rows they were fitted to without and with them.

    With few rows the log-loss may be larger with them, since they minimize that of smoothed targets.
    """

    power: float
    mixture: float
    log_loss_before: float
    log_loss: float

    def apply(self, probabilities: Floats) -> Floats:
        """Calibrate probabilities [n, K]."""
        return _transform(probabilities, self.power, self.mixture)


def calibrate(probabilities: Floats, codes: NDArray[np.integer], weight: Floats) -> Calibration:
    """Fit power and mixture to probabilities [n, K], class codes and weights of held-out rows.

    >>> sure = np.array([[0.99, 0.01]] * 4 + [[0.01, 0.99]] * 4)
    >>> found = calibrate(sure, np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.ones(8))
    >>> found.apply(sure)[0].round(2).tolist()
    [0.67, 0.33]
    """
    from scipy.optimize import minimize  # here: `committee predict` starts without it

    w = weight / weight.sum()
    by_class = np.ascontiguousarray(probabilities.T)  # sums over few classes are faster along the first axis
    targets = _smoothed_targets(codes, weight, probabilities.shape[1])

    def loss(point: Floats) -> tuple[float, Floats]:
        return _loss_and_gradient(point, by_class, targets, w)

    options: dict[str, Any] = {
        "jac": True, "method": "L-BFGS-B", "bounds": (POWERS, MIXTURES), "options": {"ftol": 1e-10, "gtol": 1e-5},
    }  # fmt: skip
    with one_blas_thread():  # L-BFGS-B multiplies 2 x 2 matrices; threads that wait for them cost four times the fit
        result: Any = minimize(loss, np.array(START), **options)
        for _ in range(MAX_RESTARTS):  # in the curved valley of large powers and mixtures near 1 it stops too early
            if _projected_gradient(result.x, loss(result.x)[1]) <= MAX_GRADIENT:
                break
            result = minimize(loss, result.x, **options)
    _certify(_projected_gradient(result.x, loss(result.x)[1]))
    power, mixture = _read(result.x)
    if not result.fun <= w @ _cross_entropies(by_class, targets):  # never worse than without calibration
        power, mixture = 1.0, 0.0
    before = float(w @ log_losses(probabilities, codes))
    is_same = power == 1.0 and mixture == 0.0
    after = before if is_same else float(w @ log_losses(_transform(probabilities, power, mixture), codes))
    return Calibration(power, mixture, before, after)


def smoothed_log_losses(probabilities: Floats, codes: NDArray[np.integer], weight: Floats) -> Floats:
    """Compute the log-loss of the smoothed targets of every row, which `calibrate` minimizes.

    >>> sure = np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    >>> smoothed_log_losses(sure, np.array([0, 1] * 10), np.ones(20))[:2].round(2)
    array([2.88, 2.88])
    """
    return _cross_entropies(probabilities.T, _smoothed_targets(codes, weight, probabilities.shape[1]))


def _cross_entropies(by_class: Floats, targets: Floats) -> Floats:
    return -np.sum(targets * np.log(np.maximum(by_class, MIN_PROBABILITY)), axis=0)


def is_beyond_evidence(probabilities: Floats, weight: Floats) -> bool:
    """Whether a probability is below 1 / (N + 2), the rule of succession for what did not occur in N rows.

    >>> [is_beyond_evidence(np.array([[0.99, 0.01]] * n), np.ones(n)) for n in (50, 200)]
    [True, False]
    """
    return bool(probabilities[weight > 0.0].min() < 1.0 / (_row_counts(weight).sum() + 2.0))


def _row_counts(weight: Floats) -> Floats:
    """How many rows each row stands for: integer weights are numbers of rows, others have the sum of their number."""
    rows = without_common_factor(weight)
    return rows if are_whole(rows) else rows * (np.count_nonzero(rows) / rows.sum())


def _smoothed_targets(codes: NDArray[np.integer], weight: Floats, n_classes: int) -> Floats:
    """The fraction of every row that counts for each class [K, n]."""
    n: Floats = np.bincount(codes, _row_counts(weight), n_classes)[codes].astype(np.float64)
    targets = np.tile(1.0 / ((n + 2.0) * max(n_classes - 1, 1)), (n_classes, 1))
    targets[codes, np.arange(codes.size)] = (n + 1.0) / (n + 2.0)
    return targets


def _projected_gradient(point: Floats, gradient: Floats) -> float:
    """Largest component of the gradient, without what points out of the bounds."""
    low, high = np.array([POWERS, MIXTURES]).T
    return float(np.abs(np.clip(point - gradient, low, high) - point).max())


def _certify(norm: float) -> None:
    """Warn unless the projected gradient is small."""
    if not norm <= MAX_GRADIENT:
        warn_not_converged(
            "calibration of the probabilities",
            f"the gradient of the log-loss is {norm:.2g}, at most {MAX_GRADIENT:g} was required",
        )


def _loss_and_gradient(point: Floats, probabilities: Floats, targets: Floats, w: Floats) -> tuple[float, Floats]:
    """Compute the mean log-loss at (ln a, log-odds of e) and its derivatives; probabilities and targets t [K, n].

    With l = ln m and the change d = 1 / K - p of m by e:  -sum_k t_k ln q_k = ln sum_k exp(a l_k) - a sum_k t_k l_k.
    """
    power, mixture = _read(point)
    n_classes = len(probabilities)
    mixed = np.maximum((1.0 - mixture) * probabilities + mixture / n_classes, MIN_PROBABILITY)
    log_mixed = np.log(mixed)
    scaled = power * log_mixed
    top = scaled.max(axis=0)
    q = np.exp(scaled - top)
    total = q.sum(axis=0)
    q /= total
    loss = float(w @ (top + np.log(total) - (targets * scaled).sum(axis=0)))
    change = (1.0 / n_classes - probabilities) / mixed
    excess = q - targets
    by_power = w @ (excess * log_mixed).sum(axis=0)
    by_mixture = power * (w @ (excess * change).sum(axis=0))
    return loss, np.array([power * by_power, mixture * (1.0 - mixture) * by_mixture])


def _read(point: Floats) -> tuple[float, float]:
    """Convert two unbounded parameters to a power above 0 and a mixture in (0, 1)."""
    return math.exp(float(point[0])), 1.0 / (1.0 + math.exp(-float(point[1])))


def _transform(probabilities: Floats, power: float, mixture: float) -> Floats:
    mixed = (1.0 - mixture) * probabilities + mixture / probabilities.shape[1]
    scaled = (mixed / mixed.max(axis=1, keepdims=True)) ** power  # the largest is 1, so that not all underflow
    return scaled / scaled.sum(axis=1, keepdims=True)
