"""Out-of-bag: every row is judged by the members that did not learn from it (C-5).

A member answers for the rows outside its sample, about (1 - 1/n)^n = 0.368 of them. Its answers are added to the rows'
totals, and only the losses of these rows are looked at again: a curve over the number of members costs little more
than its last point.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Loss = Literal["zero_one", "squared_error"]


class OutOfBag:
    """Sums of answers to rows by members that did not see them, and the mean loss of their means.

    Answers are class shares [rows, classes] (or votes, as shares 0 and 1) judged by the zero-one loss, or numbers
    [rows, outputs] judged by the squared error. ``error`` is the weighted mean loss over the rows judged so far.
    """

    def __init__(self, target: NDArray[np.integer] | Floats, weight: Floats, n_columns: int, loss: Loss) -> None:
        n = len(target)
        self.target, self.weight, self.loss = target, weight, loss
        self.total = np.zeros((n, n_columns))
        self.n_judges = np.zeros(n, np.int64)
        self.losses = np.zeros(n)
        self._sum = self._weight_sum = 0.0

    def add(self, rows: NDArray[np.integer], predictions: Floats) -> float:
        """Take in one member's answers to `rows`; return the error now, nan as long as no row was judged."""
        self.total[rows] += predictions
        new = rows[self.n_judges[rows] == 0]
        self.n_judges[rows] += 1
        losses, w = self._loss_of(rows), self.weight[rows]
        self._sum += float(np.sum(w * (losses - self.losses[rows])))
        self._weight_sum += float(np.sum(self.weight[new]))
        self.losses[rows] = losses
        return self.error

    def _loss_of(self, rows: NDArray[np.integer]) -> Floats:
        total, target = self.total[rows], self.target[rows]
        if self.loss == "zero_one":
            return (total.argmax(axis=1) != target).astype(np.float64)
        mean = total / self.n_judges[rows, np.newaxis]
        return np.mean((mean - target.reshape(mean.shape)) ** 2, axis=1)

    @property
    def error(self) -> float:
        return max(self._sum, 0.0) / self._weight_sum if self._weight_sum > 0.0 else np.nan

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        return self.n_judges > 0

    @property
    def mean(self) -> Floats:
        """Mean answer for every row, nan where no member was out of bag."""
        judged = np.maximum(self.n_judges, 1)[:, np.newaxis]
        return np.where(self.is_judged[:, np.newaxis], self.total / judged, np.nan)
