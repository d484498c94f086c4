"""The held-out rows and the folds of a comparison: by class, by group, or forward in time.

by class   rows are shuffled and distributed class by class: all parts have similar class frequencies
by group   rows of one group (a patient, a shop) stay together, so that methods are evaluated on new groups
in time    rows are cut into periods; methods are fitted on earlier rows and evaluated on the next period, and the last
           period is held out
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.sampling.splits import NOT_TESTED, fold_numbers, forward_stretches, group_folds, shuffle_by_class

Rows = NDArray[np.intp]
Codes = NDArray[np.int64]


class RowSplit(NamedTuple):
    """The rows that are compared on, with their folds, and the held-out rows."""

    rows: Rows  # [n]
    fold: Rows  # [n], `NOT_TESTED` for rows that are only trained on
    held_out: Rows
    n_folds: int
    forward: bool  # models for fold k are fitted on the folds before it

    def train_of(self, k: int) -> Rows:
        """The training rows for fold k."""
        return self.rows[self.fold < k if self.forward else self.fold != k]

    def test_of(self, k: int) -> Rows:
        return self.rows[self.fold == k]


def split_rows(
    codes: Codes | None, n: int, *, cv: int, held_out: float, groups: Any = None, times: Any = None, seed: int = 0
) -> RowSplit:
    """Hold out a fraction of n rows and split the others into `cv` folds; `codes` are classes, None for regression.

    >>> split = split_rows(np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), 10, cv=4, held_out=0.2)
    >>> split.held_out.tolist(), np.bincount(split.fold).tolist()
    ([3, 5], [2, 2, 2, 2])
    """
    if groups is not None and times is not None:
        raise ValueError("groups and time cannot be combined: pass one of them.")
    if times is not None:
        stretch = forward_stretches(_ranks(times, n, "time"), cv, held_out)
        return _split(stretch, stretch >= cv, cv, forward=True)
    if groups is not None:
        return _by_group(codes, _ranks(groups, n, "groups"), cv, held_out, seed)
    return _by_class(np.zeros(n, np.int64) if codes is None else codes, cv, held_out, seed)


def _split(fold: Codes, is_held_out: NDArray[np.bool_], cv: int, forward: bool = False) -> RowSplit:
    rows = np.flatnonzero(~is_held_out)
    return RowSplit(rows, fold[rows], np.flatnonzero(is_held_out), cv, forward)


def _ranks(values: Any, n: int, what: str) -> Codes:
    """The position of each value among the distinct ones."""
    ranks = np.unique(np.asarray(values), return_inverse=True)[1].ravel().astype(np.int64)
    if ranks.size != n:
        raise ValueError(f"{what} has {ranks.size} values for {n} rows: pass one per row.")
    return ranks


def _by_class(codes: Codes, cv: int, held_out: float, seed: int) -> RowSplit:
    order = shuffle_by_class(codes, seed)
    is_held_out, fold = np.zeros(codes.size, np.bool_), np.full(codes.size, NOT_TESTED)
    is_held_out[order] = np.diff(np.floor(np.arange(codes.size + 1) * held_out + 0.5)) > 0
    rest = order[~is_held_out[order]]
    if rest.size < cv:
        raise ValueError(f"{rest.size} rows are too few for {cv} folds.")
    fold[rest] = np.arange(rest.size) % cv
    return _split(fold, is_held_out, cv)


def _by_group(codes: Codes | None, groups: Codes, cv: int, held_out: float, seed: int) -> RowSplit:
    n_groups = int(groups.max()) + 1
    if n_groups < cv + (held_out > 0):
        there = "There is 1 group" if n_groups == 1 else f"There are {n_groups} groups"
        raise ValueError(f"{there}, too few for {cv} folds and held-out rows: use fewer folds, or no groups.")
    is_held_out, fold = np.zeros(groups.size, np.bool_), np.full(groups.size, NOT_TESTED)
    if held_out > 0:
        n_parts = min(max(2, round(1 / held_out)), n_groups)
        is_held_out[group_folds(groups, n_parts, seed, codes)[0].test] = True
    rows = np.flatnonzero(~is_held_out)
    fold[rows] = fold_numbers(group_folds(groups[rows], cv, seed, None if codes is None else codes[rows]), rows.size)
    return _split(fold, is_held_out, cv)
