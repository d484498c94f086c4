"""User-defined losses: Python functions, compiled and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.kernels.boosting.user_functions import LossFunction, UserLoss, compile_elementwise
from committee.losses.classification import MARGIN_LOSSES
from committee.losses.loss import USER, Link, Loss

LossFunctions = LossFunction | tuple[LossFunction, LossFunction, LossFunction]
"""value(y, score), or with it the gradient and the hessian by the score."""

MarginFunction = Callable[[float], float]
Elementwise = Callable[[Floats], Floats]

EPS = float(np.finfo(np.float64).eps)
STEP = EPS ** (1 / 3)
"""Step of a central difference: truncation and rounding errors are then about equal, 1e-10."""


class MarginFunctions(NamedTuple):
    """A user-defined margin loss and its derivative, on arrays of margins."""

    value: Elementwise
    derivative: Elementwise


def user_loss(loss: LossFunctions, link: Link) -> Loss:
    """A loss of the target and the score."""
    if isinstance(loss, tuple) and len(loss) != 3:
        raise ValueError(
            f"A custom loss must be a function, or three functions: (value, gradient, hessian); got {len(loss)}."
        )
    value, gradient, hessian = loss if isinstance(loss, tuple) else (loss, None, None)
    functions = UserLoss(value, gradient, hessian)
    return Loss(functions.name, USER, link=link, functions=functions)


def margin_loss(loss: str | MarginFunction, derivative: MarginFunction | None = None) -> Loss:
    """The margin loss of this name, or a user's function of one margin, compiled and checked."""
    if isinstance(loss, str):
        if derivative is not None:
            raise ValueError(f"The loss {loss!r} has its own derivative: leave loss_derivative at None.")
        return MARGIN_LOSSES[loss]
    value = _on_arrays(loss)
    functions = MarginFunctions(value, central_difference(value) if derivative is None else _on_arrays(derivative))
    custom = Loss(getattr(loss, "__name__", "custom"), USER, target="sign", link="ratio", functions=functions)
    if derivative is not None:
        _check_derivative(custom)
    _check_margin_loss(custom)
    return custom


def _on_arrays(function: MarginFunction) -> Elementwise:
    loop = compile_elementwise(function)

    def apply(m: Floats) -> Floats:
        out = np.empty(m.size)
        loop(np.ascontiguousarray(m, np.float64), out)
        return out

    return apply


def central_difference(value: Elementwise) -> Elementwise:
    """(L(m + h) - L(m - h)) / 2 h, zero where the difference is within rounding errors."""

    def derivative(m: Floats) -> Floats:
        h = STEP * np.maximum(np.abs(m), 1.0)
        right, left = m + h, m - h
        above, below = value(right), value(left)
        change = above - below
        change[np.abs(change) <= 4.0 * EPS * np.maximum(np.abs(above), np.abs(below))] = 0.0
        return change / (right - left)

    return derivative


def _check_margin_loss(loss: Loss) -> None:
    """Raise ValueError unless the loss is finite for margins in [-1, 1] and decreases around margin zero."""
    wide, near = np.linspace(-1.0, 1.0, 41), np.linspace(-0.05, 0.05, 11)
    for what, at in (("value", loss.value(wide)), ("derivative", loss.derivative(wide))):
        if not np.isfinite(at).all():
            margin = float(wide[~np.isfinite(at)][0])
            raise ValueError(
                f"{loss.name!r} is not a margin loss: its {what} at margin {margin:g} is not finite. Pass a function "
                "that is defined for every margin."
            )
    values = loss.value(near)
    increases = np.diff(values) > 4.0 * EPS * np.abs(values).max()
    if increases.any() or not loss.derivative(np.zeros(1))[0] < 0.0:
        raise ValueError(
            f"{loss.name!r} is not a margin loss: it does not decrease around margin zero. Pass L(m) with m = y f(x), "
            "small where the prediction is right (m > 0); a score to be maximized needs a minus sign."
        )


def _check_derivative(loss: Loss) -> None:
    """Raise ValueError for a derivative that is not that of the loss, at margins away from likely kinks."""
    m = np.linspace(-0.93, 0.87, 7)
    given, measured = loss.derivative(m), central_difference(loss.value)(m)
    off = np.abs(given - measured) > 1e-3 * (1.0 + np.abs(measured))
    if off.any():
        i = int(np.flatnonzero(off)[0])
        raise ValueError(
            f"loss_derivative is not the derivative of {loss.name!r}: at margin {m[i]:g} it gives {given[i]:g}, but "
            f"the loss changes by {measured[i]:g} per unit. Correct it, or omit it to have it computed."
        )


def as_loss(loss: Any, named: dict[str, Loss], link: Link) -> Loss:
    """The loss of this name, or a user's functions."""
    return named[loss] if isinstance(loss, str) else user_loss(loss, link)
