"""Weak learners of boosted regressors, made from the parameter `estimator`.

Trees of this library are grown on a table that is binned once. Any other regressor is fitted with sample weights if its
`fit` accepts them, else on a sample of the rows drawn by the weights: a count for each row (`sampling/resampling.py`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.ensemble.warm_start import data_fingerprint
from committee.members.estimators import predicted_values, repeated_rows, unfitted
from committee.members.member import Predictions, TreeMember, WeakHypothesis, kept_learner
from committee.sampling.resampling import are_whole, draw, number_of_draws
from committee.tabular.identity import content_order
from committee.tabular.schema import Columns
from committee.tree_engine.predict.apply import apply_tree
from committee.trees.decision_tree import DecisionTreeRegressor
from committee.trees.training import Training

Weighting = Literal["resample", "reweight", "fixed"]
"""Fit on a sample drawn by the weights, under the weights, or under weights that do not change."""


class TrainingRows:
    """Training rows; `counts` are the sample weights as given, `weight` the same with sum one."""

    def __init__(self, columns: Columns, X: NDArray[np.floating], y: Floats, counts: Floats) -> None:
        self.columns, self.X, self.y, self.counts = columns, X, y, counts
        self.weight = counts / counts.sum()
        self.is_whole = are_whole(counts)
        self.n_draws = number_of_draws(counts)

    def fingerprint(self) -> tuple[Any, ...]:
        """A fingerprint of the rows, compared by a warm start."""
        return data_fingerprint(self.X, self.y, self.counts)


class WeakRegressor(Protocol):
    """Fits a regressor to a target under weights of any scale."""

    def __call__(self, target: Floats, weight: Floats, seed: int) -> WeakHypothesis: ...


class RegressorMember(NamedTuple):
    """A fitted scikit-learn regressor."""

    estimator: Any

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        return predicted_values(self.estimator, X)


def make_regressor(estimator: Any, rows: TrainingRows, *, weighting: Weighting, n_jobs: int | None) -> WeakRegressor:
    """Make the weak learner of an estimator for these rows."""
    return kept_learner(_fitting_learner(estimator, rows, weighting, n_jobs), rows.X)


def _fitting_learner(estimator: Any, rows: TrainingRows, weighting: Weighting, n_jobs: int | None) -> WeakRegressor:
    on_engine = isinstance(estimator, DecisionTreeRegressor) and estimator.ccp_alpha == 0.0
    if on_engine and estimator.criterion != "poisson":  # for which the tree rejects negative targets itself
        learner = TreeRegression(estimator, rows, n_jobs)
        return Resampling(learner, rows) if weighting == "resample" else learner
    if weighting != "resample" and has_fit_parameter(estimator, "sample_weight"):
        return EstimatorRegression(estimator, rows, takes_weights=True)
    learner = EstimatorRegression(estimator, rows, takes_weights=False)
    can_repeat = weighting == "fixed" and rows.is_whole
    return learner if can_repeat else Resampling(learner, rows)


class TreeRegression:
    """A regression tree of the engine."""

    def __init__(self, estimator: DecisionTreeRegressor, rows: TrainingRows, n_jobs: int | None) -> None:
        prototype: Any = clone(estimator)
        prototype.set_params(n_jobs=estimator.n_jobs if n_jobs is None else n_jobs)
        self.training = Training(prototype, rows.columns, rows.X, rows.y, rows.counts)
        self.training.expect_many()
        self.n_jobs = prototype.n_jobs

    def __call__(self, target: Floats, weight: Floats, seed: int) -> WeakHypothesis:
        self.training.target = target
        tree, leaf = self.training.grow_placed(weight, seed)
        rows = np.flatnonzero(leaf < 0)  # not in the sample
        if rows.size:
            leaf[rows] = apply_tree(tree, self.training.X[rows], self.n_jobs)
        values = tree.value[:, 0].copy()
        return WeakHypothesis(TreeMember(tree, values), values[leaf])


class EstimatorRegression:
    """Any scikit-learn regressor, fitted with sample weights or on rows repeated by integer weights."""

    def __init__(self, estimator: Any, rows: TrainingRows, takes_weights: bool) -> None:
        self.estimator, self.rows, self.takes_weights = estimator, rows, takes_weights

    def __call__(self, target: Floats, weight: Floats, seed: int) -> WeakHypothesis:
        fresh = unfitted(self.estimator, seed)
        X = self.rows.X
        if self.takes_weights:
            fresh.fit(X, target, sample_weight=weight * (self.rows.n_draws / weight.sum()))
        else:
            rows = repeated_rows(np.rint(weight), X.shape[1], type(self.estimator).__name__)
            fresh.fit(X[rows], target[rows])
        member = RegressorMember(fresh)
        return WeakHypothesis(member, member.predictions(X))


class Resampling:
    """Another weak learner on a sample of the rows drawn by the weights, as a count for each row."""

    def __init__(self, learner: WeakRegressor, rows: TrainingRows) -> None:
        self.learner, self.n_draws = learner, rows.n_draws
        self.order = content_order(rows.X, rows.y)

    def __call__(self, target: Floats, weight: Floats, seed: int) -> WeakHypothesis:
        return self.learner(target, draw(weight, self.order, self.n_draws, seed), seed)
