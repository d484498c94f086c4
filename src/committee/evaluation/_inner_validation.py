"""Validation inside a method, if rows belong to groups or are in time order.

Methods split their training rows to choose the iterations of gradient boosting, a penalty, the size of a tree, or the
weights of a committee. On dependent rows, shuffled splits select models that are too complex. If `compare` keeps groups
together or validates forward in time, methods with a parameter `cv` get such splits too:

    groups   whole groups, in as many folds
    time     contiguous blocks of time; each is predicted by a fit on the rows before and after it

With blocks, unlike splits forward in time, every fit has most of the rows (Bergmeir and Benitez, On the use of
cross-validation for time series predictor evaluation, 2012). docs/command.md has measurements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from committee.base.array_types import Floats
from committee.evaluation.row_order import Folding
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.sampling.splits import Indices, Split, group_folds

N_FOLDS = 5
"""Maximum number of inner folds."""


def inner_splits(
    folding: Folding, rows: NDArray[np.intp], codes: NDArray[Any] | None, weight: Floats, seed: int
) -> list[tuple[Indices, Indices]] | None:
    """Training and test positions within these rows; None if they are independent, or too few for such splits.

    Splits whose training rows lack a class are left out. `codes` are the classes, None for regression.
    """
    if folding.groups is not None:
        labels = np.unique(np.asarray(folding.groups)[rows], return_inverse=True)[1].ravel().astype(np.int64)
        n_folds = min(N_FOLDS, int(labels.max()) + 1)
        splits = group_folds(labels, n_folds, seed, codes) if n_folds > 1 else []
    elif folding.times is not None:
        splits = _blocks(np.asarray(folding.times)[rows])
    else:
        return None
    n_classes = 0 if codes is None else np.unique(codes[weight > 0.0]).size
    kept = [split for split in splits if _is_usable(split, codes, weight, n_classes)]
    return [(split.train, split.test) for split in kept] if len(kept) > 1 else None


def _blocks(times: NDArray[Any]) -> list[Split]:
    """Blocks of about as many rows each; rows of one time stay together."""
    ranks = np.unique(times, return_inverse=True)[1].ravel()
    first_place = np.concatenate(([0], np.cumsum(np.bincount(ranks))[:-1]))
    block = np.unique(first_place[ranks] * N_FOLDS // ranks.size, return_inverse=True)[1].ravel()
    return [Split(np.flatnonzero(block != k), np.flatnonzero(block == k)) for k in range(int(block.max()) + 1)]


def _is_usable(split: Split, codes: NDArray[Any] | None, weight: Floats, n_classes: int) -> bool:
    train = split.train[weight[split.train] > 0.0]
    has_test = bool(np.any(weight[split.test] > 0.0))
    return has_test and train.size > 0 and (codes is None or np.unique(codes[train]).size == n_classes)


def set_inner_splits(model: Any, splits: list[tuple[Indices, Indices]]) -> list[tuple[Any, Any]]:
    """Set `cv` of the model, or of the last step of a pipeline; returns the changed estimators with their old values.

    A splitter of the user is kept.
    """
    changed: list[tuple[Any, Any]] = []
    for estimator in _validating(model):
        own = estimator.get_params(deep=False).get("cv", "none")
        if own is None or isinstance(own, int | np.integer) or own == "auto":
            estimator.set_params(cv=splits)
            changed.append((estimator, own))
    return changed


def restore_cv(model: Any, changed: list[tuple[Any, Any]]) -> None:
    """Undo `set_inner_splits` after fit: the positions are those of one table."""
    for estimator, own in changed:
        estimator.set_params(cv=own)
        if isinstance(model, BaseNumericPipeline) and estimator is model.estimator:
            model.estimator_.set_params(cv=own)


def _validating(model: Any) -> list[Any]:
    """The model or the estimator inside it that is fitted on the same rows."""
    if isinstance(model, BaseNumericPipeline):
        return [] if model.estimator is None else [model.estimator]
    if isinstance(model, Pipeline):
        return _validating(model.steps[-1][1])
    return [model] if hasattr(model, "get_params") else []
