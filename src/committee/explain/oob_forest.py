"""A fitted forest with its training rows, and those that are out-of-bag for each tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.prediction_only_error import kept_from_fit
from committee.forests.base import BaseForest
from committee.records.forest import PackedForest
from committee.records.tree import Tree
from committee.tabular.identity import content_order
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_weights,
)

Predictions = NDArray[Any]
"""Class codes (int64), or values of a continuous target (float64)."""


class TrainingRows(NamedTuple):
    """The training rows of a forest, encoded."""

    X: Floats  # [n, d], C order
    target: Predictions  # [n]
    weight: Floats  # [n]
    n_classes: int  # 0 for regression


class OobForest(NamedTuple):
    """Trees, training rows, and for each tree the out-of-bag rows of positive weight, sorted."""

    trees: Sequence[Tree]
    packed: PackedForest
    oob: Sequence[NDArray[np.int64]]
    X: Floats  # [n, d], C order
    target: Predictions  # [n]
    weight: Floats  # [n]
    n_classes: int  # 0 for regression

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_outputs(self) -> int:
        """Number of columns of a sum of predictions: votes for each class, or one value."""
        return max(self.n_classes, 1)

    def node_predictions(self) -> Predictions:
        """Return the prediction of each packed leaf: the most probable class, or the value."""
        values = self.packed.values
        of_values = values[:, : self.n_classes].argmax(axis=1) if self.n_classes else values[:, 0]
        return of_values[self.packed.value_index]

    def losses(self, rows: NDArray[np.int64], predictions: Predictions) -> Floats:
        """Return the zero-one loss or squared error of predictions for rows."""
        target = self.target[rows]
        return (predictions != target).astype(np.float64) if self.n_classes else (predictions - target) ** 2


def check_forest(forest: Any) -> BaseForest:
    """Return the forest if it is one, fitted on a single target; else raise an error."""
    if not isinstance(forest, BaseForest):
        raise TypeError(f"forest must be a random forest or extra-trees, not {type(forest).__name__}.")
    if hasattr(forest, "output_forests_"):
        raise ValueError("The forest has several targets: pass forest.output_forests_[k] with the k-th column of y.")
    check_is_fitted(forest, "trees_")
    return forest


def training_rows(forest: BaseForest, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
    """Encode X and y if they are what the forest was fitted on, in the same order; else raise ValueError.

    With sample_weight=None the weights are those passed to fit.
    """
    table = np.ascontiguousarray(read_table(forest, X))
    n_classes = int(getattr(forest, "n_classes_", 0))
    if n_classes:
        classes, target = read_targets_classification(y, len(table))
        is_same = np.array_equal(classes, np.asarray(forest.classes_))  # type: ignore[attr-defined]
    else:
        target, is_same = read_targets_regression(y, len(table)), True
    sampler: Any = kept_from_fit(forest, "_sampler")
    is_same = is_same and len(table) == sampler.weight.size
    if is_same and sampler.order.size:  # an order by hashes of the values: other rows have another one
        is_same = np.array_equal(sampler.order, content_order(table, np.asarray(target, np.float64)))
    if not is_same:
        raise ValueError(
            f"X and y are not the {sampler.weight.size} rows that the forest was fitted on: pass them as they were "
            "passed to fit, in the same order."
        )
    weight = read_weights(sample_weight, len(table))
    table = table.astype(np.float64, copy=False)  # single precision would need kernels of its own
    return TrainingRows(table, target, sampler.weight if weight is None else weight, n_classes)


def oob_forest(forest: BaseForest, rows: TrainingRows) -> OobForest:
    """Return the forest with the out-of-bag rows of its trees, except those of zero weight."""
    oob = [forest.oob_indices(t) for t in range(len(forest.trees_))]
    oob = [some[rows.weight[some] > 0.0] for some in oob]
    if not any(some.size for some in oob):
        raise ValueError(
            "The forest has no out-of-bag rows, which these importances need: fit it with bootstrap=True, or with "
            "max_samples below 1."
        )
    return OobForest(forest.trees_, forest.packed_, oob, *rows)


def depth_of(tree: Tree) -> int:
    """Return the length of the longest path, level by level."""
    depth, level = 0, np.zeros(1, np.int64)
    while True:
        inner = level[tree.left[level] >= 0]
        if not inner.size:
            return depth
        level = np.concatenate([tree.left[inner], tree.left[inner] + 1]).astype(np.int64)
        depth += 1


def mean_of(of_trees: Floats) -> Floats:
    """Mean over trees [trees, ...], without those that have nan; nan where all have."""
    n = np.sum(~np.isnan(of_trees), axis=0)
    return np.where(n > 0, np.nansum(of_trees, axis=0) / np.maximum(n, 1), np.nan)
