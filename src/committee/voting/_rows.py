"""Training data of voting and stacking; the table is passed on to the members unchanged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.members.estimators import repeated_rows
from committee.sampling.resampling import are_whole, without_common_factor
from committee.sampling.splits import Split, read_splits
from committee.tabular.rows import take_rows

Indices = NDArray[np.int64]


class Task(NamedTuple):
    """The table as passed by the user, class codes or values, and weights."""

    X: Any
    target: NDArray[np.int64] | Floats
    weight: Floats | None
    n_classes: int  # 0 for regression

    @property
    def n_rows(self) -> int:
        return int(self.target.size)

    def splits(self, cv: Any) -> list[Split]:
        """Split the rows by a number of folds, a splitter or an iterable."""
        return read_splits(cv, self.X, self.target, self.weight, is_class=self.n_classes > 0)

    def take(self, rows: Indices) -> Task:
        weight = None if self.weight is None else self.weight[rows]
        return Task(take_rows(self.X, rows), self.target[rows], weight, self.n_classes)

    def take_whole(self, seed: int, name: str) -> Task:
        """Replace the weights by rows: repeated by integer weights, else drawn by the weights.

        `name` is that of the estimator, for the error if memory is insufficient.
        """
        if self.weight is None:
            return self
        counts = without_common_factor(self.weight)
        if are_whole(counts):
            rows = repeated_rows(counts, int(self.X.shape[1]), name)
        else:
            rng = np.random.default_rng(seed)
            rows = np.sort(rng.choice(self.n_rows, self.n_rows, p=self.weight / self.weight.sum()))
        return Task(take_rows(self.X, rows), self.target[rows], None, self.n_classes)
