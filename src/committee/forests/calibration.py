"""Probabilities of a forest made honest by its out-of-bag answers.

Shares of votes are drawn towards the middle by the averaging, and are 0 or 1 where all trees agree. With the out-of-bag
shares p_k of every row, two numbers are fitted by the log-loss, a power a and a mixture e:

    q_k = ((1 - e) p_k + e / K)^a / sum_j ((1 - e) p_j + e / K)^a

The order of the classes stays, so predictions do too. Rows out of bag are judged by a third of the trees: in a small
forest their shares are noisier than those of new rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from committee.base.callers import level_of_caller

Floats = NDArray[np.float64]

SMALLEST = 1e-15

START, NOTHING = np.array([0.0, -4.0]), np.array([0.0, -30.0])
"""Where the search begins: ln power and log-odds of the mixture. At the second point the shares stay as they are."""

NEAR, FLAT = 0.02, 1e-5
"""Distance of the neighbours that a minimum is compared with, and the gain in log-loss there that counts as none."""


class Calibration(NamedTuple):
    """The power and the mixture, and the out-of-bag log-loss without and with them."""

    power: float
    mixture: float
    log_loss_before: float
    log_loss: float

    def apply(self, shares: Floats) -> Floats:
        """Calibrated probabilities."""
        return _transform(shares, self.power, self.mixture)


def calibrate(shares: Floats, codes: NDArray[np.integer], weight: Floats) -> Calibration:
    """Fit to rows of these out-of-bag shares [n, K] and classes."""

    def loss(point: NDArray[np.float64]) -> float:
        return _log_loss(_transform(shares, *_read(point)), codes, weight)

    point, value, gain = _descend(loss, START)
    if gain > FLAT or value > loss(NOTHING):  # a simplex may collapse before the minimum: begin again from there
        point, value, gain = min(_descend(loss, point), _descend(loss, NOTHING), key=lambda found: found[1])
    if gain > FLAT:
        warnings.warn(
            f"The calibration of the probabilities did not converge: a nearby point lowers the out-of-bag log-loss "
            f"{value:.6g} by {gain:.2g}, at most {FLAT:g} was required. Use calibration=None, or more trees.",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )
    power, mixture = _read(point)
    return Calibration(power, mixture, _log_loss(shares, codes, weight), value)


def _descend(loss: Callable[[Floats], float], start: Floats) -> tuple[Floats, float, float]:
    """A minimum by Nelder and Mead's simplex, its loss, and how much lower the loss is at its best neighbour."""
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7})
    point, value = np.asarray(found.x, np.float64), float(found.fun)
    around = [point + sign * NEAR * axis for axis in np.eye(2) for sign in (-1.0, 1.0)]
    return point, value, value - min(loss(neighbour) for neighbour in around)


def _read(point: NDArray[np.float64]) -> tuple[float, float]:
    """Power above 0 and mixture in (0, 1) from two free numbers."""
    power = math.exp(min(max(float(point[0]), -5.0), 5.0))
    return power, 1.0 / (1.0 + math.exp(-min(max(float(point[1]), -30.0), 30.0)))


def _transform(shares: Floats, power: float, mixture: float) -> Floats:
    mixed = ((1.0 - mixture) * shares + mixture / shares.shape[1]) ** power
    return mixed / mixed.sum(axis=1, keepdims=True)


def _log_loss(shares: Floats, codes: NDArray[np.integer], weight: Floats) -> float:
    own = np.maximum(shares[np.arange(len(codes)), codes], SMALLEST)
    return float(-np.sum(weight * np.log(own)) / np.sum(weight))
