"""Fit one parameter of class probabilities by the log-loss of held-out rows.

    softmax(s f)               s > 0, of scores f: Platt scaling without an offset, temperature scaling with 1 / s
    any other probabilities    a parameter between bounds, such as the slope of a boosted vote

`calibration/power.py` fits two parameters to probabilities.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller

MIN_SLOPE = 1e-3
"""Minimum slope, in units of 1 / the mean spread of f, for held-out rows that f predicts worse than chance."""


def fit_slope(scores: Floats, codes: NDArray[np.integer], weight: Floats) -> tuple[float, float]:
    """Return the s > 0 for which softmax(s scores) [n, K] has the smallest log-loss, and this loss.

    Targets are Platt's (1999): a class of N rows has (N + 1) / (N + K) instead of 1, so that s is finite for classes
    that can be separated. The loss is convex in s: its derivative, sum w (p - t) f, changes sign once.

    >>> f = np.array([[0.0, -2.0], [0.0, -1.0], [0.0, 1.0], [0.0, 2.0], [0.0, -0.5]])
    >>> slope, loss = fit_slope(f, np.array([0, 0, 1, 1, 1]), np.ones(5))
    >>> round(slope, 3), round(loss, 3)
    (0.651, 0.438)
    """
    n_classes = scores.shape[1]
    total = np.bincount(codes, weight, n_classes)
    target = np.repeat(1.0 / (total[codes] + n_classes), n_classes).reshape(-1, n_classes)
    target[np.arange(codes.size), codes] *= total[codes] + 1.0
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = float(np.average(np.abs(centred).max(axis=1), weights=weight))

    def derivative(slope: float) -> float:
        return float(weight @ ((softmax(slope * centred, axis=1) - target) * centred).sum(axis=1))

    slope = 1.0
    if spread > 0.0:
        low, high = MIN_SLOPE / spread, 1.0 / spread
        while derivative(high) < 0.0:
            high *= 2.0
        root: Any = brentq(derivative, low, high, xtol=1e-12 / spread) if derivative(low) < 0.0 else low
        slope = float(root)
    own = log_softmax(slope * centred, axis=1)[np.arange(codes.size), codes]
    return slope, -float(np.average(own, weights=weight))


def minimize_log_loss(loss: Callable[[float], float], bounds: tuple[float, float], default: float, name: str) -> float:
    """Return the parameter of smallest log-loss between bounds, or the `default` if that has a smaller loss.

    `name` is the name of the parameter in the warning that Brent's search did not converge.

    >>> minimize_log_loss(lambda s: (s - 2.0) ** 2, (0.0, 3.0), 1.0, "slope")
    2.0
    """
    result: Any = minimize_scalar(loss, bounds=bounds, method="bounded")
    if not result.success:
        warn_not_converged(f"search for the {name}", f"{result.nfev} evaluations gave the log-loss {result.fun:.6g}")
    return float(result.x) if result.fun <= loss(default) else default


def warn_not_converged(fit: str, reason: str) -> None:
    """Warn that a fit of probabilities did not converge."""
    warnings.warn(
        f"The {fit} did not converge: {reason}. Probabilities may be inaccurate, predictions are not affected: use "
        "more rows, or probabilities without calibration.",
        ConvergenceWarning,
        stacklevel=level_of_caller(),
    )
