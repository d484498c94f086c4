"""Rows divided into those to learn from and those to judge on.

The rows stand in a line, equal ones side by side. With k folds the place t belongs to fold t mod k: equal rows are
dealt out as any other rows are, as new rows would repeat old ones; but a row of weight w stays whole, what learned from
it does not judge it. Of a held-out share s of the distinct rows those are taken where floor(s t + 1/2) rises, with
their copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.gradient_boosting._validation import Rows
from committee.sampling.resampling import content_groups


class Division(NamedTuple):
    """Rows to learn from and rows to judge on."""

    train: Rows
    test: Rows


class Line:
    """The rows in their places, in an order that depends on their values and the seed alone; classes one by one."""

    def __init__(self, rows: Rows, seed: int, is_class: bool) -> None:
        group = content_groups(rows.X, np.asarray(rows.y, np.float64))
        self.rows, self.n_distinct = rows, int(group.max()) + 1
        rank = np.random.default_rng(seed).permutation(self.n_distinct)[group]
        order = np.lexsort((rank, rows.y)) if is_class else np.argsort(rank, kind="stable")
        self.place, self.kind = np.empty((2, group.size), np.int64)
        self.place[order] = np.arange(group.size)
        self.kind[order] = np.cumsum(np.append(0, group[order][1:] != group[order][:-1]))  # equal rows share one

    def folds(self, n_folds: int) -> list[Division]:
        return [self._divide(self.place % n_folds == k) for k in range(n_folds)]

    def hold_out(self, share: float) -> Division | None:
        """None if one side would be empty."""
        share = max(share, 1.0 / self.n_distinct)
        is_test = np.floor(share * (self.kind + 1) + 0.5) > np.floor(share * self.kind + 0.5)
        return self._divide(is_test) if 0 < np.count_nonzero(is_test) < is_test.size else None

    def _divide(self, is_test: np.ndarray) -> Division:
        return Division(self.rows.take(np.flatnonzero(~is_test)), self.rows.take(np.flatnonzero(is_test)))
