"""Out-of-bag predictions: every row is predicted by the members that were not fitted on it.

A row is outside about (1 - 1/n)^n = 0.368 of the bootstrap samples. The predictions of a member are added to the totals
of the rows outside its sample, and only the losses of these rows are computed again: the curve of the error over the
number of members costs little more than its last point.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Loss = Literal["zero_one", "squared_error"]


class OutOfBag:
    """Sums of out-of-bag predictions, and the mean loss of their means.

    Predictions are class probabilities [rows, classes] (or votes 0 and 1) with the zero-one loss, or values
    [rows, outputs] with the squared error. ``error`` is the weighted mean loss over the rows predicted so far.
    """

    def __init__(self, target: NDArray[np.integer] | Floats, weight: Floats, n_columns: int, loss: Loss) -> None:
        n = len(target)
        self.target, self.weight, self.loss = target, weight, loss
        self.total = np.zeros((n, n_columns))
        self.n_predictions = np.zeros(n, np.int64)
        self.losses = np.zeros(n)
        self._sum = self._weight_sum = 0.0

    def add(self, rows: NDArray[np.integer], predictions: Floats) -> float:
        """Add one member's predictions of `rows`; return the error, nan before the first prediction."""
        self.total[rows] += predictions
        new = rows[self.n_predictions[rows] == 0]
        self.n_predictions[rows] += 1
        losses, w = self._loss_of(rows), self.weight[rows]
        self._sum += float(np.sum(w * (losses - self.losses[rows])))
        self._weight_sum += float(np.sum(self.weight[new]))
        self.losses[rows] = losses
        return self.error

    def _loss_of(self, rows: NDArray[np.integer]) -> Floats:
        if self.loss == "zero_one":
            return (self.total[rows].argmax(axis=1) != self.target[rows]).astype(np.float64)
        mean = self._mean_of(rows)
        return np.mean((mean - self.target[rows].reshape(mean.shape)) ** 2, axis=1)

    def _mean_of(self, rows: NDArray[np.integer]) -> Floats:
        return self.total[rows] / self.n_predictions[rows, np.newaxis]

    @property
    def error(self) -> float:
        return max(self._sum, 0.0) / self._weight_sum if self._weight_sum > 0.0 else np.nan

    @property
    def has_prediction(self) -> NDArray[np.bool_]:
        return self.n_predictions > 0

    @property
    def scored(self) -> NDArray[np.int64]:
        """The rows of positive weight with an out-of-bag prediction."""
        return np.flatnonzero(self.has_prediction & (self.weight > 0.0))

    @property
    def mean(self) -> Floats:
        """Mean prediction of every row, nan without any."""
        result = np.full(self.total.shape, np.nan)
        rows = np.flatnonzero(self.has_prediction)
        result[rows] = self._mean_of(rows)
        return result
