"""Base estimators of bagged models, fitted on one sample after the other.

Trees of the library are grown on a table that is encoded once. Any other estimator is fitted on the rows of the sample,
with their counts as sample weights if it takes weights and `set_fit_request` does not forbid it, else on repeated rows.
Members predict an array [n, k]: class probabilities (votes are 0 and 1), or one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from committee.bagging.bagging import Learner
from committee.base.array_types import Floats
from committee.ensemble.incremental import TrainingData
from committee.members.estimators import (
    fit_constant,
    metadata_of_rows,
    predicted_codes,
    predicted_probabilities,
    predicted_values,
    rejects_weights,
    repeated_rows,
    unfitted,
)
from committee.members.member import Member, Predictions, TreeMember
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints
from committee.records.tree import Tree
from committee.sampling.row_samples import Indices
from committee.sampling.splits import k_folds, rows_to_split
from committee.tabular.class_weight import reweighed
from committee.tabular.identity import distinct_rows
from committee.tabular.schema import Columns
from committee.tree_engine.predict.apply import apply_tree
from committee.trees.decision_tree import BaseDecisionTree
from committee.trees.pruning import cross_validate, prune, pruning_path
from committee.trees.training import Training

# --- members ----------------------------------------------------------------------------------------------------------


class SubspaceTree(NamedTuple):
    """A tree on some of the features; its nodes refer to the columns of the whole table."""

    tree: Tree
    node_predictions: Floats
    features: Indices

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        return self.node_predictions[apply_tree(self.tree, X, n_jobs)]

    @property
    def own_tree(self) -> Tree:
        """The tree for the table of its features alone."""
        local = np.searchsorted(self.features, np.maximum(self.tree.feature, 0))
        return self.tree._replace(feature=np.where(self.tree.is_leaf, self.tree.feature, local).astype(np.int32))


class ClassifierMember(NamedTuple):
    """A fitted classifier; classes that are not in its sample have probability 0."""

    estimator: Any
    classes: NDArray[Any]
    is_soft: bool
    features: Indices | None

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        table = X if self.features is None else X[:, self.features]
        if not self.is_soft:
            return np.eye(len(self.classes))[predicted_codes(self.estimator, table, self.classes)]
        hint = " Set combine='vote' to use its classes alone."
        return predicted_probabilities(self.estimator, table, self.classes, hint)


class RegressorMember(NamedTuple):
    """A fitted regressor."""

    estimator: Any
    features: Indices | None

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        table = X if self.features is None else X[:, self.features]
        return predicted_values(self.estimator, table)[:, np.newaxis]


# --- learners ---------------------------------------------------------------------------------------------------------


def make_learner(estimator: Any, data: TrainingData, is_soft: bool, n_jobs: int | None) -> Learner:
    """The learner for this estimator on these rows.

    With `is_soft` its members predict class probabilities, else votes. `data.extra` is the metadata for its `fit`;
    arrays with a value for each row are passed for the rows of the sample.
    """
    if isinstance(estimator, BaseDecisionTree):
        return TreeLearner(estimator, data, is_soft, n_jobs)
    return EstimatorLearner(estimator, data, is_soft)


class TreeLearner:
    """Decision trees of the library, pruned by `ccp_alpha`; "cv" cross-validates inside the sample."""

    def __init__(self, estimator: BaseDecisionTree, data: TrainingData, is_soft: bool, n_jobs: int | None) -> None:
        prototype: Any = clone(estimator)
        prototype._validate_params()
        described, target = prototype._read_target(data.labels, len(data.X))
        own = prototype._class_weight(described, target, data.weight)
        self.extra: Floats | None = own
        weight = data.weight if own is None else data.weight * own
        prototype.n_jobs = n_jobs
        self.training = Training(prototype, data.columns, data.X, target, weight)
        self.training.params["n_jobs"] = 1  # members are fitted in parallel, not the nodes of one
        self.training.expect_many()
        self.training.series = None  # its memory is for one thread
        self.data, self.is_soft, self.prototype = data, is_soft, prototype
        if prototype.ccp_alpha == "cv":
            self._prepare_folds()

    def _prepare_folds(self) -> None:
        """Number the distinct rows: cross-validation inside a sample keeps copies of a row together."""
        if not isinstance(self.prototype.cv, Integral):
            raise ValueError("A tree with ccp_alpha='cv' draws folds in every sample: set its cv to a number of folds.")
        target = np.asarray(self.training.target, np.float64)
        self.distinct = distinct_rows(self.data.X, target)
        first = self.distinct.first
        self.to_split = rows_to_split(self.data.X[first], target[first], is_class=is_classifier(self.prototype))

    def __call__(self, counts: Floats, features: Indices | None, seed: int) -> Member:
        sample = self.training if features is None else subspace(self.training, features)
        weight = counts if self.extra is None else reweighed(counts, self.extra)
        tree = sample.grow_placed(weight, seed)[0]
        if self.prototype.ccp_alpha != 0.0:
            tree = self._pruned(tree, sample, weight, seed)
        if features is None:
            return TreeMember(tree, self._node_predictions(tree))
        feature = np.where(tree.is_leaf, tree.feature, features[tree.feature]).astype(np.int32)
        return SubspaceTree(tree._replace(feature=feature), self._node_predictions(tree), features)

    def _node_predictions(self, tree: Tree) -> Floats:
        if self.data.classes is None or self.is_soft:
            return tree.value
        return np.eye(len(self.data.classes))[tree.value.argmax(axis=1)]

    def _pruned(self, tree: Tree, sample: Training, weight: Floats, seed: int) -> Tree:
        if self.prototype.ccp_alpha != "cv":
            return prune(tree, float(self.prototype.ccp_alpha))
        first, to_split = self.distinct.first, self.to_split
        merged = np.zeros_like(weight)
        merged[first] = self.distinct.total(weight)
        sample = copy(sample)
        sample.weight, sample.seed = merged, seed
        target = np.asarray(sample.target, np.float64)
        splits = k_folds(to_split.take(merged[first][to_split.row] > 0.0), int(self.prototype.cv), seed)
        if not splits:
            return tree
        folds = [(first[train], first[test]) for train, test in splits]
        scoring = self.prototype._prediction, self.prototype._loss_name()
        curve = cross_validate(pruning_path(tree), sample.X, target, merged, folds, sample.grow_on, *scoring)
        return prune(tree, float(curve.alpha[curve.chosen]))


def subspace(training: Training, features: Indices) -> Training:
    """The same rows with these features alone, from the same codes."""
    part = copy(training)
    known = training.columns
    names = None if known.names is None else tuple(known.names[f] for f in features)
    part.columns = Columns(features.size, names, tuple(known.categories[f] for f in features))
    part.X = training.X[:, features]
    part.matrix = _columns_of(training.matrix, features)
    part.constraints = Constraints(training.constraints.monotone[features], training.constraints.groups[features])
    return part


def _columns_of(matrix: BinnedMatrix, features: Indices) -> BinnedMatrix:
    pieces = [slice(matrix.offsets[f], matrix.offsets[f + 1]) for f in features]
    return BinnedMatrix(
        codes=matrix.codes[features],
        n_bins=matrix.n_bins[features],
        offsets=np.concatenate([[0], np.cumsum(np.diff(matrix.offsets)[features])]).astype(np.int64),
        lower=np.concatenate([matrix.lower[piece] for piece in pieces]),
        upper=np.concatenate([matrix.upper[piece] for piece in pieces]),
        is_categorical=matrix.is_categorical[features],
    )


class EstimatorLearner:
    """Any scikit-learn estimator, fitted with weights or on repeated rows."""

    def __init__(self, estimator: Any, data: TrainingData, is_soft: bool) -> None:
        self.estimator, self.data, self.labels, self.is_soft = estimator, data, data.labels, is_soft
        self.metadata: Mapping[str, Any] = data.extra or {}
        self.takes_weights = has_fit_parameter(estimator, "sample_weight") and not rejects_weights(estimator)
        self.settings = get_config()  # those of this thread: other threads have their own

    def __call__(self, counts: Floats, features: Indices | None, seed: int) -> Member:
        with config_context(**self.settings):
            return self._fit_member(counts, features, seed)

    def _fit_member(self, counts: Floats, features: Indices | None, seed: int) -> Member:
        rows = np.flatnonzero(counts > 0.0)
        fresh = unfitted(self.estimator, seed)
        if self.data.classes is not None and np.ptp(self.data.target[rows]) == 0:
            fresh = fit_constant(self.labels[rows])
        elif self.takes_weights:
            metadata = metadata_of_rows(self.metadata, rows, len(self.data.X))
            fresh.fit(self._table(rows, features), self.labels[rows], sample_weight=counts[rows], **metadata)
        else:
            rows = self._repeated(counts)
            metadata = metadata_of_rows(self.metadata, rows, len(self.data.X))
            fresh.fit(self._table(rows, features), self.labels[rows], **metadata)
        if self.data.classes is None:
            return RegressorMember(fresh, features)
        return ClassifierMember(fresh, self.data.classes, self.is_soft, features)

    def _repeated(self, counts: Floats) -> Indices:
        if not np.array_equal(counts, np.rint(counts)):
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight, and weights that are not integers cannot be "
                "replaced by repeated rows: set bootstrap=True, which draws rows by their weights."
            )
        return repeated_rows(counts, self.data.columns.n_features, type(self.estimator).__name__)

    def _table(self, rows: Indices, features: Indices | None) -> NDArray[np.floating]:
        return self.data.X[rows] if features is None else self.data.X[np.ix_(rows, features)]
