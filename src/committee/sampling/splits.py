"""Splits of rows into training and test rows: folds, hold-outs, by class, by group, forward in time.

One rule for all of them. A split depends on the values of the rows and the seed, never on the order of the rows:

1.  Rows of weight zero are in no part. The others are numbered by their content (`tabular.identity`).
2.  They form units that are never divided:
        "together"   rows with equal features are one unit, also with different targets: no training row has a copy
                     among the test rows, and an integer weight w is equivalent to w equal rows
        "apart"      every row is a unit, also one of weight w
3.  The units are ordered by class, within a class by rank: by content, or shuffled by the seed.
        k folds      place t is tested in fold t mod k
        hold-out     place t is tested where floor(s (t + 1) + 1/2) exceeds floor(s t + 1/2), for a fraction s of the
                     units; a class keeps at least one unit for training

"together" is the default: a model that is stopped, weighted or calibrated on test rows must not be fitted on copies of
them. In a table of few distinct rows it is pessimistic, since test rows are combinations of values that no training row
has, while new rows repeat old ones. So folds that choose the complexity of a model, or estimate its error on new rows,
are "apart": the rounds of gradient boosting (docs/gradient_boosting_experiments.md has the
measurements), cost-complexity pruning, committees and `compare`.

Rows that differ in the target only are one unit too: if (x, 0) were a test row and (x, 1) a training row, the training
target of x would be the opposite of the test target. (On 2,000 rows of 24 distinct x the error of a tree would be 0.72
in place of 0.21.)

By group (a patient, a shop), and forward in time, rows of one group or one time stay together instead.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tabular.identity import distinct_keys, extend_keys, row_keys

Indices = NDArray[np.int64]
EqualRows = Literal["together", "apart"]

NOT_TESTED = -1
"""The fold of rows that are in no test part."""


class Split(NamedTuple):
    """Positions of training and test rows, each ascending."""

    train: Indices
    test: Indices


class RowsToSplit(NamedTuple):
    """What a split of n rows depends on."""

    row: Indices  # [m], those with weight, in the order of their content
    content: Indices  # [m], number of the distinct row (features and target), ascending
    unit: Indices  # [m], number of the distinct features
    stratum: Indices  # [m], class codes, zeros for regression
    n_rows: int

    @property
    def n_units(self) -> int:
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_distinct(self) -> int:
        return int(self.content.max(initial=-1)) + 1

    def places(self, seed: int | None, equal_rows: EqualRows = "together") -> Indices:
        """The place of each of the m rows in the order; all rows of a unit have the same."""
        if equal_rows == "apart":
            rank = _ranks(self.n_distinct, seed)[self.content]
            return _inverse(np.lexsort((rank, self.stratum)))
        low, high = np.full(self.n_units, np.iinfo(np.int64).max), np.full(self.n_units, -1, np.int64)
        np.minimum.at(low, self.unit, self.stratum)
        np.maximum.at(high, self.unit, self.stratum)
        return _inverse(np.lexsort((_ranks(self.n_units, seed), high, low)))[self.unit]

    def take(self, some: NDArray[Any]) -> RowsToSplit:
        """Some of the m rows, by position or mask; the units are numbered again without gaps."""
        content, unit = (np.unique(numbers[some], return_inverse=True)[1] for numbers in (self.content, self.unit))
        return self._replace(row=self.row[some], content=content.ravel(), unit=unit.ravel(), stratum=self.stratum[some])

    def divide(self, is_test: NDArray[np.bool_]) -> Split:
        return Split(np.sort(self.row[~is_test]), np.sort(self.row[is_test]))


def rows_to_split(X: Any, target: NDArray[Any], weight: Floats | None = None, *, is_class: bool) -> RowsToSplit:
    """Read what splits of these rows depend on: a table of any kind, targets (class codes) and weights."""
    keys = row_keys(X)
    both, order = extend_keys(keys, *target.reshape(len(target), -1).T), np.arange(len(target))
    if weight is not None:
        order = np.flatnonzero(weight > 0.0)
        order = order[np.argsort(weight[order], kind="stable")]  # equal rows by weight
    order = order[np.argsort(both[order], kind="stable")]
    content = distinct_keys(both[order]).of_row
    features = distinct_keys(keys[order])
    unit = _inverse(np.argsort(features.first, kind="stable"))[features.of_row]  # by the first of their rows
    stratum = np.asarray(target[order], np.int64) if is_class else np.zeros(order.size, np.int64)
    return RowsToSplit(order, content, unit, stratum, len(target))


def k_folds(
    rows: RowsToSplit, n_folds: int, seed: int | None = None, *, equal_rows: EqualRows = "together",
    every_class: bool = False,
) -> list[Split]:  # fmt: skip
    """Split the rows into k test parts of about equal size.

    There are at most as many folds as units; none if there are fewer than two.
    With `every_class` there are fewer folds, or none, if otherwise a training part would lack a class.

    >>> X, y = np.arange(6.0).reshape(6, 1), np.array([0, 0, 0, 1, 1, 1])
    >>> [sorted(y[split.test].tolist()) for split in k_folds(rows_to_split(X, y, is_class=True), 3)]
    [[0, 1], [0, 1], [0, 1]]
    """
    place = rows.places(seed, equal_rows)
    n_folds = min(n_folds, int(place.max(initial=-1)) + 1)
    while every_class and n_folds > 1 and not _keeps_classes(place % n_folds, rows.stratum, n_folds):
        n_folds -= 1
    return [rows.divide(place % n_folds == k) for k in range(n_folds)] if n_folds > 1 else []


def hold_out(
    rows: RowsToSplit, fraction: float, seed: int | None = None, *, equal_rows: EqualRows = "together"
) -> Split | None:
    """Split off a fraction of the units, at least one; None if there are no rows to spare.

    >>> X, y = np.arange(10.0).reshape(10, 1), np.repeat([0, 1], 5)
    >>> hold_out(rows_to_split(X, y, is_class=True), 0.2, seed=0).test.tolist()
    [2, 5]
    """
    place = rows.places(seed, equal_rows)
    s = max(fraction, 1.0 / (int(place.max(initial=0)) + 1))
    is_test = np.floor(s * (place + 1) + 0.5) > np.floor(s * place + 0.5)
    for code in np.setdiff1d(rows.stratum, rows.stratum[~is_test]):
        of_class = np.flatnonzero(rows.stratum == code)
        is_test[place == place[of_class].min()] = False
    return rows.divide(is_test) if 0 < np.count_nonzero(is_test) < is_test.size else None


def fold_numbers(splits: list[Split], n_rows: int) -> Indices:
    """Return the number of the split that tests each row, `NOT_TESTED` for rows that none tests."""
    fold = np.full(n_rows, NOT_TESTED, np.int64)
    for k, split in enumerate(splits):
        fold[split.test] = k
    return fold


def group_folds(groups: Indices, n_folds: int, seed: int, codes: Indices | None = None) -> list[Split]:
    """Split whole groups into k test parts, with similar class frequencies where `codes` are given."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if codes is None or np.bincount(codes).min() < n_folds:  # with too few rows of a class, scikit-learn warns
        codes = np.zeros_like(groups) if codes is not None else None
    made: Any = GroupKFold if codes is None else StratifiedGroupKFold
    splitter = made(n_folds, shuffle=True, random_state=seed)
    return [Split(*map(_as_indices, pair)) for pair in splitter.split(groups, codes, groups)]


def shuffle_by_class(codes: Indices, seed: int) -> Indices:
    """All rows in random order, class by class: every k-th of them has the class frequencies of all.

    >>> shuffle_by_class(np.array([0, 1, 0, 1]), 0).tolist()
    [2, 0, 1, 3]
    """
    shuffled = np.random.default_rng(seed).permutation(codes.size)
    return shuffled[np.argsort(codes[shuffled], kind="stable")]


def forward_stretches(times: NDArray[Any], n_folds: int, fraction: float = 0.0) -> Indices:
    """Cut the rows into stretches of time with about as many rows each; rows of one time stay together.

    Returns the stretch of each row: `NOT_TESTED` for the first, which is only fitted on, then 0 .. n_folds - 1, to be
    tested by what is fitted on earlier ones, and n_folds for the last `fraction` of the rows.

    >>> forward_stretches(np.array([5, 1, 2, 3, 4, 6]), 2).tolist()
    [1, -1, -1, 0, 0, 1]
    """
    ranks = np.unique(times, return_inverse=True)[1].ravel()
    order = np.argsort(ranks, kind="stable")
    cuts = np.linspace(0, ranks.size - round(fraction * ranks.size), n_folds + 2).round().astype(int)[1:]
    starts = np.append(np.flatnonzero(np.diff(ranks[order], prepend=-1)), ranks.size)  # the first row of every time
    cuts = np.array([starts[np.searchsorted(starts, cut)] for cut in cuts])
    if np.any(np.diff(cuts) == 0) or cuts[0] == 0:
        raise ValueError(f"There are {int(ranks.max()) + 1} times, too few for {n_folds} stretches: take fewer folds.")
    stretch = np.empty(ranks.size, np.int64)
    stretch[order] = np.searchsorted(cuts, np.arange(ranks.size), side="right") - 1
    return stretch


def read_splits(
    cv: Any, X: Any, target: NDArray[Any], weight: Floats | None = None, *, is_class: bool, seed: int | None = None,
    equal_rows: EqualRows = "together",
) -> list[Split]:  # fmt: skip
    """Return `k_folds` for a number, `given_splits` for a splitter or an iterable."""
    if isinstance(cv, Integral):
        return k_folds(rows_to_split(X, target, weight, is_class=is_class), int(cv), seed, equal_rows=equal_rows)
    return given_splits(cv, X, target, weight)


def given_splits(
    cv: Any, X: Any, target: NDArray[Any], weight: Floats | None = None, groups: Any = None
) -> list[Split]:
    """Read the splits of a scikit-learn splitter or an iterable of (train, test), without rows of weight zero.

    Splits that test no row of positive weight are left out.
    """
    from sklearn.model_selection import check_cv

    splitter: Any = check_cv(cv)
    rows = np.arange(len(target))
    counts = np.full(len(target), True) if weight is None else weight > 0.0
    splits: list[Split] = []
    for train, test in splitter.split(X, target, groups):
        train, test = rows[train], rows[test]
        if not test.size:
            raise ValueError("A split of cv has no test rows: pass splits with rows to test.")
        if not counts[train].any():
            raise ValueError("A split of cv has no training rows of positive weight: use fewer or shuffled splits.")
        splits.append(Split(train[counts[train]], test[counts[test]]))
    splits = [split for split in splits if split.test.size]
    if not splits:
        raise ValueError("cv tests no rows of positive weight: pass splits with rows to test.")
    return splits


def _as_indices(rows: Any) -> Indices:
    return np.asarray(rows, np.int64)


def _ranks(n: int, seed: int | None) -> Indices:
    return np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)


def _inverse(order: NDArray[np.integer]) -> Indices:
    """The place of each number in an order."""
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return place


def _keeps_classes(fold: Indices, codes: Indices, n_folds: int) -> bool:
    """Whether the rows outside each fold are of all classes."""
    n_classes = int(codes.max()) + 1
    table = np.bincount(codes * n_folds + fold, minlength=n_classes * n_folds).reshape(n_classes, n_folds)
    total = table.sum(axis=1, keepdims=True)
    return bool(np.all((table < total) | (total == 0)))
