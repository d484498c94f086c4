"""What the members of votes and stacks are fitted on: rows of a table that is passed on as it came."""

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
    """What members learn from: the table as it came, class codes or numbers, and weights."""

    X: Any
    target: NDArray[np.int64] | Floats
    weight: Floats | None
    n_classes: int  # 0 for numbers

    @property
    def n_rows(self) -> int:
        return int(self.target.size)

    def splits(self, cv: Any) -> list[Split]:
        """Training and test rows by number of folds, a splitter or an iterable."""
        return read_splits(cv, self.X, self.target, self.weight, is_class=self.n_classes > 0)

    def take(self, rows: Indices) -> Task:
        weight = None if self.weight is None else self.weight[rows]
        return Task(take_rows(self.X, rows), self.target[rows], weight, self.n_classes)

    def take_whole(self, seed: int, name: str) -> Task:
        """Rows that say by their number what the weights say: repeated by whole weights, else drawn by them.

        `name` is that of the learner, for the error if there is no room for so many.
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
