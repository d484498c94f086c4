"""Which rows are held out, and the fold of every other: by class, by group, or forward in time.

by class   rows are shuffled, sorted by class and dealt out: every part has its share of every class
by group   rows of one group (a patient, a shop) stay together, so that a method is judged on groups it never saw
in time    rows are cut into stretches of time; a method learns from the past and is judged on the next stretch,
           and the last stretch is held out
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

Rows = NDArray[np.intp]
Codes = NDArray[np.int64]

ONLY_LEARNED = -1
"""The fold of rows that no method is judged on: the first stretch of time."""


class RowSplit(NamedTuple):
    """Rows compared with the fold of each, and rows held out."""

    rows: Rows  # [n]
    fold: Rows  # [n], `ONLY_LEARNED` for those that are never judged
    held_out: Rows
    n_folds: int
    forward: bool  # fold k is judged by what learned from the folds before it

    def train_of(self, k: int) -> Rows:
        """The rows to learn from before fold k is judged."""
        return self.rows[self.fold < k if self.forward else self.fold != k]

    def test_of(self, k: int) -> Rows:
        return self.rows[self.fold == k]


def split_rows(
    codes: Codes | None, n: int, *, cv: int, held_out: float, groups: Any = None, times: Any = None, seed: int = 0
) -> RowSplit:
    """Hold out a share of n rows and deal the others into `cv` folds; `codes` are classes, None for regression.

    >>> split = split_rows(np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), 10, cv=4, held_out=0.2)
    >>> split.held_out.tolist(), np.bincount(split.fold).tolist()
    ([3, 5], [2, 2, 2, 2])
    """
    if groups is not None and times is not None:
        raise ValueError("groups and time ask for different folds: pass one of them.")
    if times is not None:
        return _forward(_ranks(times, n, "time"), cv, held_out)
    if groups is not None:
        return _by_group(codes, _ranks(groups, n, "groups"), cv, held_out, seed)
    return _by_class(np.zeros(n, np.int64) if codes is None else codes, cv, held_out, seed)


def _ranks(values: Any, n: int, what: str) -> Codes:
    """The position of each value among the distinct ones."""
    ranks = np.unique(np.asarray(values), return_inverse=True)[1].ravel().astype(np.int64)
    if ranks.size != n:
        raise ValueError(f"{what} has {ranks.size} values for {n} rows: pass one per row.")
    return ranks


def _by_class(codes: Codes, cv: int, held_out: float, seed: int) -> RowSplit:
    shuffled = np.random.default_rng(seed).permutation(codes.size)
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    share = np.floor(np.arange(codes.size + 1) * held_out + 0.5)
    is_apart = np.diff(share) > 0
    rest = dealt[~is_apart]
    if rest.size < cv:
        raise ValueError(f"{rest.size} rows cannot be dealt into {cv} folds: take fewer folds.")
    fold = np.arange(rest.size) % cv
    order = np.argsort(rest)
    return RowSplit(rest[order], fold[order], np.sort(dealt[is_apart]), cv, forward=False)


def _by_group(codes: Codes | None, groups: Codes, cv: int, held_out: float, seed: int) -> RowSplit:
    n_groups = int(groups.max()) + 1
    if n_groups < cv + (held_out > 0):
        raise ValueError(
            f"{'There is 1 group' if n_groups == 1 else f'There are {n_groups} groups'}, too few for {cv} folds and "
            "rows held out: take fewer folds, or no groups."
        )
    everything = np.arange(groups.size)
    apart = np.empty(0, np.intp)
    if held_out > 0:
        n_parts = min(max(2, round(1 / held_out)), n_groups)
        apart = _group_parts(codes, groups, n_parts, seed)[0]
    rows = np.setdiff1d(everything, apart)
    fold = np.zeros(rows.size, np.intp)
    for k, test in enumerate(_group_parts(None if codes is None else codes[rows], groups[rows], cv, seed)):
        fold[test] = k
    return RowSplit(rows, fold, apart, cv, forward=False)


def _group_parts(codes: Codes | None, groups: Codes, n_parts: int, seed: int) -> list[Rows]:
    if codes is None:
        parts = GroupKFold(n_parts, shuffle=True, random_state=seed).split(groups, groups=groups)
        return [test for _, test in parts]
    if np.bincount(codes).min() < n_parts:  # scikit-learn warns of it; the folds are as good as they can be
        codes = np.zeros_like(codes)
    parts = StratifiedGroupKFold(n_parts, shuffle=True, random_state=seed).split(groups, codes, groups)
    return [test for _, test in parts]


def _forward(ranks: Codes, cv: int, held_out: float) -> RowSplit:
    """Stretches with about as many rows each; rows of one time stay together."""
    order = np.argsort(ranks, kind="stable")
    n_apart = round(held_out * ranks.size)
    cuts = np.linspace(0, ranks.size - n_apart, cv + 2).round().astype(int)[1:]
    starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))  # the first row of every time
    starts = np.append(starts, ranks.size)
    cuts = np.array([starts[np.searchsorted(starts, cut)] for cut in cuts])
    if np.any(np.diff(cuts) == 0) or cuts[0] == 0:
        raise ValueError(f"There are {int(ranks.max()) + 1} times, too few for {cv} stretches: take fewer folds.")
    stretch = np.searchsorted(cuts, np.arange(ranks.size), side="right") - 1  # -1, 0, ..., cv - 1, then held out
    is_apart = stretch >= cv
    rows = order[~is_apart]
    back = np.argsort(rows)
    return RowSplit(rows[back], stretch[~is_apart][back], np.sort(order[is_apart]), cv, forward=True)
