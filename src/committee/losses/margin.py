"""Losses L(m) of the margin m = y f(x), with their derivatives.

    name            L(m)                      -L'(m)                       p = P(y = +1 | f) at the minimum
    exponential     exp(-m)                   exp(-m)                      1 / (1 + exp(-2 f))
    logistic        ln(1 + exp(-2 m))         2 / (1 + exp(2 m))           1 / (1 + exp(-2 f))
    squared_hinge   max(0, 1 - m)^2           2 max(0, 1 - m)              (1 + f) / 2, cut to [0, 1]
    savage          1 / (1 + exp(2 m))^2      4 q^2 (1 - q), q = sqrt(L)   1 / (1 + exp(-2 f))
    tangent         (2 arctan(m) - 1)^2       -4 (2 arctan(m) - 1) / (1 + m^2)   1/2 + arctan(f), cut to [0, 1]

The logistic and the Savage loss have 2 m where some papers have m, so that f is half the log-odds, as in AdaBoost. The
last column solves p L'(f) = (1 - p) L'(-f), that is p = L'(-f) / (L'(f) + L'(-f)), for any differentiable loss (Savage:
Masnadi-Shirazi and Vasconcelos 2008; tangent: Masnadi-Shirazi, Mahadevan and Vasconcelos 2010). Savage and tangent are
not convex: a row far on the wrong side loses its weight, so a wrong label does little harm. The tangent loss rises
again beyond m = tan(1/2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from committee.kernels.boosting.user_functions import compile_elementwise

Elementwise = Callable[[NDArray[np.float64]], NDArray[np.float64]]
OwnFunction = Callable[[float], float]

EPS = float(np.finfo(np.float64).eps)
STEP = EPS ** (1 / 3)
"""Step of a central difference: truncation and rounding then err alike, by about 1e-10."""

FARTHEST = 300.0
"""Scores beyond it count as this: exp(2 * 300) is still a number, and the probabilities are 0 and 1 long before."""


class MarginLoss(NamedTuple):
    """A loss and its derivative, on arrays of margins."""

    name: str
    value: Elementwise
    derivative: Elementwise
    is_shift_free: bool = False  # L(m + c) is a multiple of L(m): only differences of margins count

    def pull(self, m: NDArray[np.float64]) -> NDArray[np.float64]:
        """-L'(m), for a shift-free loss up to a common factor that keeps it from under- and overflow."""
        return -self.derivative(m - m.min() if self.is_shift_free else m)

    def probability(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(y = +1 | f) = L'(-f) / (L'(f) + L'(-f)), with rising pieces of L counted as flat."""
        near = np.clip(f, -FARTHEST, FARTHEST)
        down, up = np.maximum(-self.derivative(near), 0.0), np.maximum(-self.derivative(-near), 0.0)
        both = down + up
        undecided = both == 0.0  # L is flat on both sides
        return np.where(undecided, 0.5 + 0.5 * np.sign(f), up / np.where(undecided, 1.0, both))


def exponential(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-m)


def exponential_derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return -np.exp(-m)


def logistic(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(0.0, -2.0 * m)


def logistic_derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return -2.0 * expit(-2.0 * m)


def squared_hinge(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(1.0 - m, 0.0) ** 2


def squared_hinge_derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return -2.0 * np.maximum(1.0 - m, 0.0)


def savage(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return expit(-2.0 * m) ** 2


def savage_derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return -4.0 * expit(-2.0 * m) ** 2 * expit(2.0 * m)


def tangent(m: NDArray[np.float64]) -> NDArray[np.float64]:
    return (2.0 * np.arctan(m) - 1.0) ** 2


def tangent_derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
    distance = 2.0 * np.arctan(m) - 1.0
    distance[np.abs(distance) <= 4.0 * EPS] = 0.0  # at the minimum a rounding error must not pass for a slope
    return 4.0 * distance / (1.0 + m * m)


MARGIN_LOSSES: dict[str, MarginLoss] = {
    loss.name: loss
    for loss in (
        MarginLoss("exponential", exponential, exponential_derivative, is_shift_free=True),
        MarginLoss("logistic", logistic, logistic_derivative),
        MarginLoss("squared_hinge", squared_hinge, squared_hinge_derivative),
        MarginLoss("savage", savage, savage_derivative),
        MarginLoss("tangent", tangent, tangent_derivative),
    )
}


def make_loss(loss: str | OwnFunction, derivative: OwnFunction | None = None) -> MarginLoss:
    """The loss of this name, or the user's own function of one margin, compiled and checked."""
    if isinstance(loss, str):
        if derivative is not None:
            raise ValueError(f"The loss {loss!r} brings its own derivative: leave loss_derivative at None.")
        return MARGIN_LOSSES[loss]
    value = _on_arrays(loss)
    slope = central_difference(value) if derivative is None else _on_arrays(derivative)
    own = MarginLoss(getattr(loss, "__name__", "own"), value, slope)
    if derivative is not None:
        _check_derivative(own)
    check_margin_loss(own)
    return own


def _on_arrays(function: OwnFunction) -> Elementwise:
    loop = compile_elementwise(function)

    def apply(m: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.empty(m.size)
        loop(np.ascontiguousarray(m, np.float64), out)
        return out

    return apply


def central_difference(value: Elementwise) -> Elementwise:
    """(L(m + h) - L(m - h)) / 2 h; a difference within rounding error is no difference."""

    def derivative(m: NDArray[np.float64]) -> NDArray[np.float64]:
        h = STEP * np.maximum(np.abs(m), 1.0)
        right, left = m + h, m - h
        above, below = value(right), value(left)
        rise = above - below
        rise[np.abs(rise) <= 4.0 * EPS * np.maximum(np.abs(above), np.abs(below))] = 0.0
        return rise / (right - left)

    return derivative


def check_margin_loss(loss: MarginLoss) -> None:
    """Refuse a function that is not finite for margins in [-1, 1], or does not fall around margin zero."""
    wide, near = np.linspace(-1.0, 1.0, 41), np.linspace(-0.05, 0.05, 11)
    for what, at in (("value", loss.value(wide)), ("derivative", loss.derivative(wide))):
        if not np.isfinite(at).all():
            margin = float(wide[~np.isfinite(at)][0])
            raise ValueError(
                f"{loss.name!r} is not a margin loss: its {what} at margin {margin:g} is not finite. Give a function "
                "that is defined for every margin."
            )
    values = loss.value(near)
    rises = np.diff(values) > 4.0 * EPS * np.abs(values).max()
    if rises.any() or not loss.derivative(np.zeros(1))[0] < 0.0:
        raise ValueError(
            f"{loss.name!r} is not a margin loss: it does not fall around margin zero. Give L(m) with m = y f(x), "
            "small where the answer is right (m > 0); a score to be maximised needs a minus sign."
        )


def _check_derivative(loss: MarginLoss) -> None:
    """Refuse a derivative that is not that of the loss; margins where a kink is likely are left out."""
    m = np.linspace(-0.93, 0.87, 7)
    given, measured = loss.derivative(m), central_difference(loss.value)(m)
    off = np.abs(given - measured) > 1e-3 * (1.0 + np.abs(measured))
    if off.any():
        i = int(np.flatnonzero(off)[0])
        raise ValueError(
            f"loss_derivative is not the derivative of {loss.name!r}: at margin {m[i]:g} it gives {given[i]:g}, and "
            f"the loss changes by {measured[i]:g} per unit. Correct it, or leave it out to have it computed."
        )
