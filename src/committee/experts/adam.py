"""Adam (Kingma and Ba, Adam: a method for stochastic optimization, 2015).

    m <- b1 m + (1 - b1) g           mean of the gradients,        b1 = 0.9
    v <- b2 v + (1 - b2) g^2         mean of their squares,        b2 = 0.999
    theta <- theta - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

for the gradient g of step t: every parameter moves by about the rate, whatever the size of its derivatives.
"""

from __future__ import annotations

import numpy as np

from committee.base.array_types import Floats

MEAN_DECAY, SQUARE_DECAY, EPS = 0.9, 0.999, 1e-8


class Adam:
    """The moments of the gradients seen so far.

    >>> theta = np.array([3.0, -2.0])
    >>> adam = Adam(theta.size)
    >>> for _ in range(500):
    ...     adam.step(theta, 2.0 * theta, 0.05)  # downhill on theta^2
    >>> bool(np.abs(theta).max() < 1e-3)
    True
    """

    def __init__(self, n_parameters: int) -> None:
        self._mean = np.zeros(n_parameters)
        self._square = np.zeros(n_parameters)
        self._work = np.empty(n_parameters)
        self._t = 0

    def step(self, theta: Floats, gradient: Floats, rate: float) -> None:
        """Change theta in place; the gradient is used up as workspace."""
        self._t += 1
        self._mean *= MEAN_DECAY
        np.multiply(gradient, 1.0 - MEAN_DECAY, out=self._work)
        self._mean += self._work
        self._square *= SQUARE_DECAY
        gradient *= gradient
        gradient *= 1.0 - SQUARE_DECAY
        self._square += gradient
        np.divide(self._square, 1.0 - SQUARE_DECAY**self._t, out=self._work)
        np.sqrt(self._work, out=self._work)
        self._work += EPS
        np.divide(self._mean, self._work, out=self._work)
        self._work *= rate / (1.0 - MEAN_DECAY**self._t)
        theta -= self._work
