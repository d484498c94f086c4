"""Constants of smallest loss: where scores start, what is added to given scores, and values of leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import weighted_quantile
from committee.losses.derivatives import Derivatives, mean_loss
from committee.losses.loss import Loss, LossError


def exact_mean(y: Floats, weight: Floats) -> float:
    """Weighted mean, independent of the order of the rows, and equal for repeated rows and integer weights."""
    if not weight.size:
        return math.fsum(y) / y.size
    mantissa, exponent = np.frexp(y)
    high = np.ldexp(np.rint(mantissa * 2.0**26), exponent - 26)  # half the digits: its product with an integer is exact
    products = np.concatenate([high * weight, (y - high) * weight])
    return math.fsum(products) / math.fsum(weight)


def huber_location(residual: Floats, weight: Floats, delta: float) -> float:
    """The minimizer of the Huber loss: a root of its derivative, by Newton's method kept inside a bracket."""
    low, high = float(residual.min()), float(residual.max())
    v = float(weighted_quantile(residual, weight, 0.5))
    for _ in range(100):
        distance = residual - v
        gradient = float(np.sum(weight * np.clip(distance, -delta, delta)))
        if gradient > 0.0:
            low = v
        elif gradient < 0.0:
            high = v
        else:
            break
        near = float(np.sum(weight[np.abs(distance) <= delta]))
        step = v + gradient / near if near > 0.0 else 0.5 * (low + high)
        step = step if low <= step <= high else 0.5 * (low + high)
        if abs(step - v) <= 1e-12 * max(abs(v), delta):
            return step
        v = step
    return v


# --- the score that all rows start from -------------------------------------------------------------------------------


def start_score(loss: Loss, y: Floats, weight: Floats) -> float:
    """The constant score of smallest loss; for the Huber loss, whose delta depends on the scores, the median."""
    return STARTS[loss.start](loss, y, weight)


def _mean(loss: Loss, y: Floats, weight: Floats) -> float:
    return exact_mean(y, weight)


def _median(loss: Loss, y: Floats, weight: Floats) -> float:
    return float(weighted_quantile(y, weight, 0.5))


def _quantile(loss: Loss, y: Floats, weight: Floats) -> float:
    return float(weighted_quantile(y, weight, loss.parameter))


def _log_mean(loss: Loss, y: Floats, weight: Floats) -> float:
    mean = exact_mean(y, weight)
    return math.log(mean if mean > 0.0 else 1e-12)


def _log_odds(loss: Loss, y: Floats, weight: Floats) -> float:
    """Of y = 1 among zeros and ones."""
    return _logit(exact_mean(y, weight))


def _half_log_odds(loss: Loss, y: Floats, weight: Floats) -> float:
    """Of y = +1 among signs."""
    return 0.5 * _logit(0.5 + 0.5 * exact_mean(y, weight))


def _logit(p: float) -> float:
    p = min(max(p, 1e-12), 1.0 - 1e-12)
    return math.log(p / (1.0 - p))


def _scaled_search(loss: Loss, y: Floats, weight: Floats) -> float:
    """For a minimizer with the scale of y: products of huge numbers would overflow."""
    size = 2.0 ** math.floor(math.log2(max(float(np.abs(y).max()), 1e-300)))
    return size * search_constant(loss, y / size, weight)


def search_constant(loss: Loss, y: Floats, weight: Floats) -> float:
    """The constant score of smallest loss, by Brent's method from a bracket around zero and the targets."""
    from scipy.optimize import minimize_scalar

    def at(s: float) -> float:
        try:
            value = mean_loss(loss, y, np.full(y.size, s), weight)
        except LossError:  # the first round reports it
            return 1e300
        return value if math.isfinite(value) else 1e300

    low, high = float(y.min()), float(y.max())
    result: Any = minimize_scalar(at, bracket=(low - 1e-3, high + 1e-3), options={"maxiter": 60})
    return _polished(loss, y, weight, float(result.x))


def _polished(loss: Loss, y: Floats, weight: Floats, s: float) -> float:
    """Newton steps from a minimum of half precision, as long as the gradient decreases."""
    derivatives = Derivatives((loss,), y, weight, False)
    best, smallest = s, math.inf
    for _ in range(10):
        try:
            derivatives.update(np.full((1, y.size), s))
        except LossError:
            break
        g, h = (exact_mean(part, weight) for part in (derivatives.g[0], derivatives.h[0]))
        if not abs(g) < smallest:
            break
        best, smallest = s, abs(g)
        if not h > 0.0:
            break
        s += g / h
    return best


STARTS: dict[str, Callable[[Loss, Floats, Floats], float]] = {
    "mean": _mean,
    "median": _median,
    "quantile": _quantile,
    "log_mean": _log_mean,
    "log_odds": _log_odds,
    "half_log_odds": _half_log_odds,
    "scaled_search": _scaled_search,
    "search": search_constant,
}


# --- shifts and leaves ------------------------------------------------------------------------------------------------


def best_shift(
    losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats, score: Floats, is_multinomial: bool
) -> Floats:
    """Constants, one per output, whose sum with given scores [outputs, n] has the smallest loss."""
    from scipy.optimize import minimize

    if not is_multinomial and all(loss.is_residual_loss for loss in losses):
        return np.array([start_score(loss, y - s, weight) for loss, s in zip(losses, score, strict=True)])
    derivatives = Derivatives(losses, y, weight, is_multinomial)

    def at(shift: Floats) -> tuple[float, Floats]:
        loss = derivatives.update(score + shift[:, np.newaxis])
        g = -(derivatives.g @ weight if weight.size else derivatives.g.sum(axis=1)) / derivatives.total_weight
        return (loss, g) if math.isfinite(loss) else (1e300, np.zeros(len(losses)))

    result: Any = minimize(at, np.zeros(len(losses)), jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
    return np.asarray(result.x, np.float64)


def residual_location(loss: Loss, residual: Floats, weight: Floats) -> float:
    """The constant prediction of smallest loss for these residuals, of a loss with an exact leaf rule.

    `weight` may be empty; the parameter of the Huber loss is its delta.
    """
    if loss.leaf == "quantile":
        return float(weighted_quantile(residual, weight, loss.parameter))
    return huber_location(residual, weight if weight.size else np.ones(residual.size), loss.parameter)
