"""Choice of the number of features at a node and of the minimum size of a leaf by the out-of-bag error.

First the number of features is chosen with leaves of one row, then the size of a leaf with that number. Every trial
grows TRIAL_TREES trees on the same samples, so that differences between trials are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from committee.ensemble.grower import Grower
from committee.ensemble.oob import OutOfBag
from committee.records.history import History

TRIAL_TREES = 60
LEAF_SIZES = (1, 2, 5, 10, 20)


class Trial(NamedTuple):
    """Parameters and their out-of-bag error."""

    max_features: int
    min_samples_leaf: int
    oob_error: float


class Tuned(NamedTuple):
    """The chosen parameters, and all trials."""

    max_features: int
    min_samples_leaf: int
    trials: History


def tune_by_out_of_bag(
    grower: Grower, seeds: Sequence[int], new_tally: Callable[[], OutOfBag], n: int, d: int
) -> Tuned:
    """Choose the trial of smallest out-of-bag error on [n, d] rows; of equal ones the first."""
    trials: list[Trial] = []

    def evaluate(max_features: int, min_samples_leaf: int) -> None:
        params = {"max_features": max_features, "min_samples_leaf": min_samples_leaf}
        tally = new_tally()
        for tree in grower.grow(seeds, has_oob=True, params=params):
            tally.add(tree.out_of_bag, tree.predictions)
        trials.append(Trial(max_features, min_samples_leaf, tally.error))

    for m in numbers_of_features(d):
        evaluate(m, 1)
    best = min(trials, key=_error)
    for size in LEAF_SIZES[1:]:
        if 4 * size <= n:
            evaluate(best.max_features, size)
    best = min(trials, key=_error)
    return Tuned(best.max_features, best.min_samples_leaf, History.from_records(trials))


def _error(trial: Trial) -> float:
    """The out-of-bag error; infinity without any out-of-bag row."""
    return math.inf if math.isnan(trial.oob_error) else trial.oob_error


def numbers_of_features(d: int) -> list[int]:
    """Candidates: sqrt(d) first, then half and twice of it, d / 3, and d."""
    root = math.sqrt(d)
    wanted = [int(root), round(root / 2.0), round(2.0 * root), d // 3, d]
    return list(dict.fromkeys(int(np.clip(m, 1, d)) for m in wanted))
