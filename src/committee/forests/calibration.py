"""Probabilities of a forest made honest by its out-of-bag answers.

Shares of votes are drawn towards the middle by the averaging, and are 0 or 1 where all trees agree. With the out-of-bag
shares p_k of every row, two numbers are fitted by the log-loss, a power a and a mixture e:

    q_k = ((1 - e) p_k + e / K)^a / sum_j ((1 - e) p_j + e / K)^a

The order of the classes stays, so predictions do too. Rows out of bag are judged by a third of the trees: in a small
forest their shares are noisier than those of new rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

SMALLEST = 1e-15


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

    found = minimize(loss, np.array([0.0, -4.0]), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7})
    power, mixture = _read(found.x)
    return Calibration(power, mixture, _log_loss(shares, codes, weight), float(found.fun))


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
