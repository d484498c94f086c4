"""Stratified folds and seeded copies of estimators, for experiments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from committee.base.rng import RandomState, member_seeds
from committee.sampling.splits import shuffle_by_class

Rows = NDArray[np.int64]


class Fold(NamedTuple):
    """Training rows, test rows, and the seed of the model."""

    train: Rows
    test: Rows
    seed: int  # below 2^31, as scikit-learn requires


def draw_folds(codes: NDArray[np.int64], n_folds: int, random_state: RandomState, n_repeats: int = 1) -> list[Fold]:
    """Stratified folds of shuffled rows, `n_repeats` times.

    >>> [fold.test.tolist() for fold in draw_folds(np.array([0, 0, 0, 1, 1, 1]), 3, 0)]
    [[0, 3], [2, 4], [1, 5]]
    """
    if not 2 <= n_folds <= codes.size:
        raise ValueError(f"n_folds must lie in 2..{codes.size}, the number of rows; got {n_folds}.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1; got {n_repeats}.")
    seeds = [int(seed) for seed in member_seeds(random_state, n_repeats * (n_folds + 1))]
    everything = np.arange(codes.size)
    folds: list[Fold] = []
    for first in range(0, len(seeds), n_folds + 1):
        order = shuffle_by_class(codes, seeds[first])
        for k in range(n_folds):
            test = np.sort(order[k::n_folds])
            folds.append(Fold(np.setdiff1d(everything, test), test, seeds[first + 1 + k] % 2**31))
    return folds


def read_labels(y: Any) -> NDArray[np.int64]:
    """Labels as codes 0, 1, ..."""
    labels = np.ravel(np.asarray(y))
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size < 2:
        raise ValueError(f"y must have at least 2 classes; got {classes.size} class.")
    return codes.astype(np.int64)


def unfitted(estimator: Any, **parameters: Any) -> Any:
    """A copy with those of the parameters that it has, and without progress bars."""
    copy: Any = clone(estimator)
    has = copy.get_params(deep=False)
    quiet = {"verbose": type(has["verbose"])(0)} if "verbose" in has else {}  # a pipeline's is a bool
    return copy.set_params(**{name: value for name, value in parameters.items() if name in has}, **quiet)


def seeded(estimator: Any, seed: int, threads: int = 1) -> Any:
    """Such a copy with this `random_state` everywhere; on one thread if others are fitted in parallel."""
    copy = unfitted(estimator, **({"n_jobs": 1} if threads > 1 else {}))
    return copy.set_params(**{name: seed for name in copy.get_params() if name.rsplit("__", 1)[-1] == "random_state"})
