"""Weak learners of boosted classifiers, made from the parameter `estimator`.

Trees of this library are grown on a table that is binned once. Any other classifier with `fit` and `predict` is fitted
with sample weights if its `fit` accepts them, else on a sample of the rows drawn by the weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.ensemble.warm_start import data_fingerprint
from committee.members.estimators import fit_constant, resampled_rows, unfitted
from committee.members.member import EstimatorMember, Predictions, TreeMember, WeakHypothesis, WeakLearner, kept_learner
from committee.records.tree import Tree
from committee.sampling.resampling import draw, number_of_draws
from committee.tabular.class_weight import class_weights
from committee.tabular.identity import content_order
from committee.tabular.schema import Columns
from committee.tree_engine.memory_guard import reject_too_many_copies
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.stumps import StumpSearch
from committee.trees.decision_stump import DecisionStump
from committee.trees.decision_tree import DecisionTreeClassifier
from committee.trees.training import Training

PredictionKind = Literal["votes", "confidence", "log_odds"]


class TrainingRows:
    """Training rows: an encoded table, class codes, weights that sum to one."""

    def __init__(self, columns: Columns, X: NDArray[np.floating], codes: NDArray[np.int64], classes: NDArray[Any],
                 weight: NDArray[np.float64], seed: int = 0) -> None:  # fmt: skip
        self.columns, self.X, self.codes, self.classes, self.seed = columns, X, codes, classes, seed
        self.weight = weight / weight.sum()
        self.n_effective = max(float(weight.sum()), float(weight.size))  # rows, where integer weights repeat them
        self.n_draws = number_of_draws(weight)
        self.n_classes = len(classes)

    def fingerprint(self) -> tuple[Any, ...]:
        """A fingerprint of the rows, compared by a warm start."""
        return data_fingerprint(self.X, self.codes, self.weight, settings=tuple(self.classes.tolist()))

    @property
    def counts(self) -> NDArray[np.float64]:
        """The weights as given; if these are integers without rounding error, so that their sums are exact."""
        counts = self.weight * self.n_effective
        whole = np.rint(counts)
        return whole if np.allclose(counts, whole, rtol=1e-9, atol=0.0) else counts

    @cached_property
    def y(self) -> NDArray[np.int8]:
        """+1 for the second of two classes, -1 for the first."""
        return np.where(self.codes == 1, np.int8(1), np.int8(-1))


def make_learner(
    estimator: Any, rows: TrainingRows, *, weighting: str, kind: PredictionKind, n_jobs: int | None
) -> WeakLearner:
    """Make the weak learner of an estimator for these rows."""
    return kept_learner(_fitting_learner(estimator, rows, weighting, kind, n_jobs), rows.X)


def _fitting_learner(
    estimator: Any, rows: TrainingRows, weighting: str, kind: PredictionKind, n_jobs: int | None
) -> WeakLearner:
    if isinstance(estimator, DecisionTreeClassifier) and estimator.ccp_alpha == 0.0:
        learner = _tree_learner(estimator, rows, kind, n_jobs)
        return Resampling(learner, rows) if weighting == "resample" else learner
    takes_weights = weighting == "reweight" and has_fit_parameter(estimator, "sample_weight")
    return EstimatorLearner(estimator, rows, kind, takes_weights)


def _tree_learner(estimator: Any, rows: TrainingRows, kind: PredictionKind, n_jobs: int | None) -> WeakLearner:
    unfitted: Any = clone(estimator)
    prototype = unfitted.set_params(n_jobs=estimator.n_jobs if n_jobs is None else n_jobs)
    training = Training(prototype, rows.columns, rows.X, rows.codes, _with_class_weight(prototype, rows))
    is_free = prototype.min_samples_leaf == 1 and prototype.min_weight_fraction_leaf == 0.0
    is_plain = is_free and prototype.class_weight is None and not rows.columns.is_categorical.any()
    if isinstance(estimator, DecisionStump) and rows.n_classes <= 2 and is_plain and kind == "votes":
        return StumpLearner(StumpSearch(training.matrix, prototype.n_jobs), rows.y)
    return TreeLearner(training, rows, kind)


def _with_class_weight(estimator: Any, rows: TrainingRows) -> NDArray[np.float64]:
    if estimator.class_weight is None:
        return rows.weight
    return rows.weight * class_weights(estimator.class_weight, rows.codes, rows.classes, rows.weight)[rows.codes]


class StumpLearner:
    """The stump of largest edge, or a constant if that has a larger one."""

    def __init__(self, search: StumpSearch, y: NDArray[np.int8]) -> None:
        self.search, self.y, self.resamples = search, y, False

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis:
        stump = self.search.find(self.y, weight)
        predictions, sums = self.search.divide(stump, self.y, weight)
        tree = self.search.as_tree(stump, sums)
        sides = [stump.left] if tree.n_nodes == 1 else [1 if sums[:, 1, 0].sum() > 0.5 else -1, stump.left, stump.right]
        return WeakHypothesis(TreeMember(tree, np.array(sides, np.int8)), predictions)


class TreeLearner:
    """A tree of the engine that predicts the class of the leaf, a confidence, or log-odds."""

    def __init__(self, training: Training, rows: TrainingRows, kind: PredictionKind) -> None:
        training.expect_many()
        self.training, self.rows, self.kind = training, rows, kind
        self.extra = training.weight / rows.weight  # class weights of the tree itself
        self.smoothing = 0.5 / rows.n_effective
        self.resamples = False

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis:
        tree, leaf = self.training.grow_placed(weight * self.extra, seed)
        if np.any(leaf < 0):  # rows without weight
            rows = np.flatnonzero(leaf < 0)
            leaf[rows] = apply_tree(tree, self.rows.X[rows])
        predictions = self._node_predictions(tree)
        scale = float(np.abs(predictions).max()) if self.kind == "log_odds" else 1.0
        if scale not in (0.0, 1.0):
            predictions = predictions / scale
        return WeakHypothesis(TreeMember(tree, predictions), predictions[leaf], scale)

    def _node_predictions(self, tree: Tree) -> Predictions:
        if self.kind == "confidence":
            return 2.0 * tree.value[:, -1] - 1.0 if self.rows.n_classes == 2 else -np.ones(tree.n_nodes)
        if self.kind == "log_odds":
            return self._log_odds(tree)
        codes = tree.value.argmax(axis=1)
        return np.where(codes == 1, np.int8(1), np.int8(-1)) if self.rows.n_classes <= 2 else codes.astype(np.int64)

    def _log_odds(self, tree: Tree) -> NDArray[np.float64]:
        """Compute 1/2 ln((W+ + s) / (W- + s)), smoothed by half the mean weight of a row."""
        fraction = tree.weight / tree.weight[0]
        positive = tree.value[:, 1] * fraction if self.rows.n_classes == 2 else np.zeros(tree.n_nodes)
        negative = tree.value[:, 0] * fraction
        return 0.5 * np.log((positive + self.smoothing) / (negative + self.smoothing))


class Resampling:
    """Another weak learner on a sample of the rows drawn by the weights, as a count for each row."""

    def __init__(self, learner: WeakLearner, rows: TrainingRows) -> None:
        self.learner, self.n_draws, self.resamples = learner, rows.n_draws, True
        self.order = content_order(rows.X, rows.codes.astype(np.float64))

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis:
        counts = draw(weight, self.order, self.n_draws, seed)
        return self.learner(counts / self.n_draws, seed)


class EstimatorLearner:
    """Any scikit-learn classifier, fitted with sample weights or on a sample of the rows."""

    def __init__(self, estimator: Any, rows: TrainingRows, kind: PredictionKind, takes_weights: bool) -> None:
        self.estimator, self.rows, self.kind, self.takes_weights = estimator, rows, kind, takes_weights
        self.labels, self.resamples = rows.classes[rows.codes], not takes_weights
        if self.resamples:
            self.order = content_order(rows.X, rows.codes.astype(np.float64))

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis:
        fresh = unfitted(self.estimator, seed)
        codes = self.rows.codes[weight > 0.0]
        if np.ptp(codes) == 0:
            return self._constant(codes[0])
        if self.takes_weights:
            fresh.fit(self.rows.X, self.labels, sample_weight=weight * self.rows.n_draws)
        else:
            reject_too_many_copies(self.rows.n_draws, self.rows.columns.n_features, type(self.estimator).__name__)
            rows = resampled_rows(weight, self.rows.codes, self.order, self.rows.n_draws, seed)
            fresh.fit(self.rows.X[rows], self.labels[rows])
        has_scores = hasattr(fresh, "predict_proba") or hasattr(fresh, "decision_function")
        member = EstimatorMember(fresh, self.rows.classes, self.kind != "votes" and has_scores)
        return WeakHypothesis(member, member.predictions(self.rows.X))

    def _constant(self, code: int) -> WeakHypothesis:
        """A constant, where one class has all the weight."""
        member = EstimatorMember(fit_constant(self.rows.classes[[code]]), self.rows.classes)
        return WeakHypothesis(member, member.predictions(self.rows.X))
