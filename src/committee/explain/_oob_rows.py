"""The rows a forest was fitted on, read again and recognised."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.prediction_only_error import kept_from_fit
from committee.explain._oob_forest import JudgedForest, Predictions
from committee.forests._base import BaseForest
from committee.tabular.identity import content_order
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_weights,
)


class ForestRows(NamedTuple):
    """Training rows as numbers."""

    X: NDArray[np.floating]  # [n, d], C order
    target: Predictions  # class codes or numbers
    weight: Floats
    n_classes: int  # 0 where the target is a number


def check_forest(forest: Any) -> BaseForest:
    """The forest if it is one, fitted on a single target; else an error that says what to pass."""
    if not isinstance(forest, BaseForest):
        raise TypeError(f"This is for random forests and extra-trees, not for {type(forest).__name__}.")
    if hasattr(forest, "output_forests_"):
        raise ValueError("The forest has several targets: pass forest.output_forests_[k] with the k-th column of y.")
    check_is_fitted(forest, "trees_")
    return forest


def training_rows(forest: BaseForest, X: Any, y: Any, sample_weight: Any = None) -> ForestRows:
    """X and y as numbers if they are what the forest was fitted on, in the same order; else an error.

    `sample_weight` None takes the weights of fit.
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
            f"These are not the {sampler.weight.size} rows that the forest was fitted on: pass X and y as they were "
            "given to fit, in the same order."
        )
    weight = read_weights(sample_weight, len(table))
    return ForestRows(table, target, sampler.weight if weight is None else weight, n_classes)


def judged_forest(forest: BaseForest, rows: ForestRows) -> JudgedForest:
    """The forest beside the rows out of the bags of its trees; those of no weight are left out."""
    unseen = [forest.oob_indices(t) for t in range(len(forest.trees_))]
    unseen = [some[rows.weight[some] > 0.0] for some in unseen]
    if not any(some.size for some in unseen):
        raise ValueError(
            "No tree of the forest left rows out, and what is asked needs such rows: fit it with bootstrap=True, or "
            "with max_samples below 1."
        )
    return JudgedForest(
        forest.trees_, forest.packed_, unseen, rows.X, rows.target, rows.weight, rows.n_classes
    )  # fmt: skip
