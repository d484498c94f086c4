"""How many features a node looks at and how small a leaf may be, chosen by the out-of-bag error: no rows are held out.

First the number of features is chosen with leaves of one row, then the size of a leaf with that number. Every trial
grows TRIAL_TREES trees on the same samples, so that trials differ by what is tried and not by luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from committee.ensemble.oob import OutOfBag
from committee.forests._sampling import Sampler
from committee.forests.random_forest import Ground, random_forest
from committee.records.history import History

TRIAL_TREES = 60
LEAF_SIZES = (1, 2, 5, 10, 20)


class Trial(NamedTuple):
    """What was tried, and how it did."""

    max_features: int
    min_samples_leaf: int
    oob_error: float


class Tuned(NamedTuple):
    """The choice, and all trials."""

    max_features: int
    min_samples_leaf: int
    trials: History


def tune_by_out_of_bag(
    ground: Ground, sampler: Sampler, new_tally: Callable[[], OutOfBag], seeds: Sequence[int], n_jobs: int | None
) -> Tuned:
    """The trial of smallest out-of-bag error; of equal ones the first."""
    d, n = ground.matrix.n_features, ground.matrix.n_rows
    trials: list[Trial] = []

    def judge(max_features: int, min_samples_leaf: int) -> None:
        params = {**ground.params, "max_features": max_features, "min_samples_leaf": min_samples_leaf}
        tally = new_tally()
        members = random_forest(ground._replace(params=params), sampler, seeds, True, n_jobs)
        for member in members:
            tally.add(member.out_of_bag, member.predictions)
        trials.append(Trial(max_features, min_samples_leaf, tally.error))

    for m in numbers_of_features(d):
        judge(m, 1)
    best = min(trials, key=_judged)
    for size in LEAF_SIZES[1:]:
        if 4 * size <= n:
            judge(best.max_features, size)
    best = min(trials, key=_judged)
    return Tuned(best.max_features, best.min_samples_leaf, History.from_records(trials))


def _judged(trial: Trial) -> float:
    """The error; infinity where no row was out of bag."""
    return math.inf if math.isnan(trial.oob_error) else trial.oob_error


def numbers_of_features(d: int) -> list[int]:
    """sqrt(d) first, the usual choice; then half and twice of it, a third of the features, and all."""
    root = math.sqrt(d)
    wanted = [int(root), round(root / 2.0), round(2.0 * root), d // 3, d]
    return list(dict.fromkeys(int(np.clip(m, 1, d)) for m in wanted))
