"""Rows divided into those to learn from and those to judge on.

The rows stand in a line, equal ones side by side, a row of whole weight w in w places. With k folds the place t belongs
to fold t mod k; of a held-out share s the places where floor(s t + 1/2) rises. So copies of a row are dealt out as any
other rows are, as new rows would repeat old ones, and a whole weight means exactly so many equal rows: the row may then
be on both sides, with a part of its weight on each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.boosting.judging import Rows
from committee.parts.resampling import are_whole, content_groups

Counts = NDArray[np.int64]


class Division(NamedTuple):
    """Rows to learn from and rows to judge on."""

    train: Rows
    test: Rows


class Line:
    """The rows in their places, in an order that depends on their values and the seed alone; classes one by one."""

    def __init__(self, rows: Rows, seed: int, is_class: bool) -> None:
        group = content_groups(rows.X, np.asarray(rows.y, np.float64))
        self.n_distinct = int(group.max()) + 1
        rank = np.random.default_rng(seed).permutation(self.n_distinct)[group]
        order = np.lexsort((rank, rows.y)) if is_class else np.argsort(rank, kind="stable")
        repeats = rows.repeats
        self.is_counted = bool(repeats.size and are_whole(repeats))
        self.rows, self.count = rows, repeats.astype(np.int64) if self.is_counted else np.ones(group.size, np.int64)
        self.end = np.empty(group.size, np.int64)
        self.end[order] = np.cumsum(self.count[order])
        self.begin = self.end - self.count
        self.length = int(self.count.sum())

    def folds(self, n_folds: int) -> list[Division]:
        return [self._divide(-(-(self.end - k) // n_folds) + (-(self.begin - k) // n_folds)) for k in range(n_folds)]

    def hold_out(self, share: float) -> Division | None:
        """None if one side would be empty."""
        share = max(share, 1.0 / self.length)
        held_out = np.floor(share * self.end + 0.5) - np.floor(share * self.begin + 0.5)
        n_held_out = int(held_out.sum())
        return self._divide(held_out.astype(np.int64)) if 0 < n_held_out < self.length else None

    def _divide(self, n_test: Counts) -> Division:
        return Division(self._take(self.count - n_test), self._take(n_test))

    def _take(self, count: Counts) -> Rows:
        chosen = np.flatnonzero(count)
        taken = self.rows.take(chosen)
        return taken.repeated(count[chosen].astype(np.float64)) if self.is_counted else taken
