"""Rows of a table that is passed on as it came, and how they are dealt into folds.

A fold depends on the values of the rows and not on their order or number: equal rows are in one fold, so none is judged
by a member that saw its copy, and a whole weight deals exactly as so many equal rows would.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple
from zlib import crc32

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from committee.base.array_types import Floats
from committee.sampling.resampling import are_whole, without_common_factor
from committee.tabular.rows import open_rows, take_rows
from committee.tree_engine.memory_guard import refuse_too_many_copies

__all__ = [
    "Fold", "Task", "deal_folds", "open_rows", "row_keys", "take_rows",
]  # fmt: skip

Keys = NDArray[np.uint64]
Indices = NDArray[np.int64]

ODD = np.uint64(0x9E3779B97F4A7C15)


class Fold(NamedTuple):
    """Rows to learn from and rows to judge on."""

    train: Indices
    test: Indices


class Task(NamedTuple):
    """What members learn from: the table as it came, class codes or numbers, and weights."""

    X: Any
    target: NDArray[np.int64] | Floats
    weight: Floats | None
    n_classes: int  # 0 for numbers

    @property
    def n_rows(self) -> int:
        return int(self.target.size)

    def take(self, rows: Indices) -> Task:
        weight = None if self.weight is None else self.weight[rows]
        return Task(take_rows(self.X, rows), self.target[rows], weight, self.n_classes)

    def take_whole(self, seed: int, name: str) -> Task:
        """Rows that say by their number what the weights say (A-7): repeated by whole weights, else drawn by them.

        `name` is that of the learner, for the error if there is no room for so many.
        """
        if self.weight is None:
            return self
        counts = without_common_factor(self.weight)
        if are_whole(counts):
            refuse_too_many_copies(int(counts.sum()), int(self.X.shape[1]), name)
            rows = np.repeat(np.arange(self.n_rows), counts.astype(np.int64))
        else:
            rng = np.random.default_rng(seed)
            rows = np.sort(rng.choice(self.n_rows, self.n_rows, p=self.weight / self.weight.sum()))
        return Task(take_rows(self.X, rows), self.target[rows], None, self.n_classes)


def row_keys(X: Any, target: NDArray[Any]) -> Keys:
    """A number for every row that depends on its values alone.

    >>> keys = row_keys(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([0, 1, 0]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    key = _mixed(np.zeros(target.size, np.uint64), _bits(np.asarray(target, np.float64)))
    if sparse.issparse(X):
        return _mixed(key, _sparse_keys(X.tocsr()))
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    is_frame = isinstance(frame, nw.DataFrame)
    for f in range(X.shape[1]):
        key = _mixed(key, _column_bits(frame[:, f] if is_frame else X[:, f]))
    return key


def _column_bits(column: Any) -> Keys:
    """Numbers by their bits, anything else by its text."""
    is_series = isinstance(column, nw.Series)
    if is_series and (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        column, is_series = column.cast(nw.Float64).to_numpy(), False
    if not is_series and column.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # beyond float64: the estimator says so
            return _bits(np.asarray(column, np.float64))
    values = column.to_list() if is_series else column.tolist()
    if not is_series and all(isinstance(value, Real) for value in values):
        return _bits(np.array(values, np.float64))
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, crc32(text.encode())) for text in map(str, values)], np.uint64)


def _bits(numbers: Floats) -> Keys:
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)  # one nan, one zero


def _mixed(key: Keys, bits: Keys) -> Keys:
    key = (key ^ bits) * ODD
    return key ^ (key >> np.uint64(29))


def _sparse_keys(X: Any) -> Keys:
    """Sums over the cells that are not zero: the order they are stored in is no matter."""
    cells = X.tocoo()
    cells.sum_duplicates()
    is_there = cells.data != 0
    place = _mixed(np.zeros(int(is_there.sum()), np.uint64), cells.col[is_there].astype(np.uint64))
    key = np.zeros(X.shape[0], np.uint64)
    np.add.at(key, cells.row[is_there], _mixed(place, _bits(cells.data[is_there].astype(np.float64))))
    return key


def deal_folds(task: Task, n_folds: int) -> list[Fold]:
    """Folds of different rows, class by class, in the order of their keys; fewer if there are not so many rows.

    >>> task = Task(np.arange(6.0).reshape(6, 1), np.array([0, 0, 0, 1, 1, 1]), None, 2)
    >>> [sorted(task.target[fold.test].tolist()) for fold in deal_folds(task, 3)]
    [[0, 1], [0, 1], [0, 1]]
    """
    keys = row_keys(task.X, task.target)
    counts = np.full(keys.size, True) if task.weight is None else task.weight > 0.0
    distinct, first, group = np.unique(keys[counts], return_index=True, return_inverse=True)
    n_folds = min(n_folds, distinct.size)
    if n_folds < 2:
        raise ValueError(
            f"Found {distinct.size} sample(s) that differ (n_samples={distinct.size}): members cannot be judged on "
            "rows they did not see. Pass at least two different rows."
        )
    by_class = task.target[counts][first] if task.n_classes else np.zeros(distinct.size)
    fold_of_group = np.empty(distinct.size, np.int64)
    fold_of_group[np.lexsort((distinct, by_class))] = np.arange(distinct.size) % n_folds
    fold = (keys % np.uint64(n_folds)).astype(np.int64)  # rows without weight are judged too
    fold[counts] = fold_of_group[group]
    return [Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
