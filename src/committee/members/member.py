"""A member of an ensemble: a tree with an answer at every node, or another estimator."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.members.estimators import predicted_codes, predicted_probabilities
from committee.records.tree import Tree
from committee.tree_engine.predict.apply import apply_tree

Predictions = NDArray[np.int8] | NDArray[np.int64] | NDArray[np.float64]
"""Two classes: votes -1, +1 (int8) or confidences in [-1, 1] (float64). More classes: class codes (int64)."""


class Member(Protocol):
    """Something that answers for every row of a coded table."""

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions: ...


class TreeMember(NamedTuple):
    """A tree of the engine with its answer at every node."""

    tree: Tree
    node_predictions: Predictions

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        return self.node_predictions[apply_tree(self.tree, X, n_jobs)]


class EstimatorMember(NamedTuple):
    """A fitted scikit-learn classifier; soft, it answers with confidences in [-1, 1].

    They are 2 p - 1 of its probabilities p, or its decision function cut to [-1, 1] where it has no probabilities.
    """

    estimator: Any
    classes: NDArray[Any]
    is_soft: bool = False

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        if self.is_soft:
            return self._confidence(X)
        codes = predicted_codes(self.estimator, X, self.classes)
        return np.where(codes == 1, np.int8(1), np.int8(-1)) if len(self.classes) <= 2 else codes

    def _confidence(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        known = list(self.estimator.classes_)
        if len(known) == 1:
            return np.full(len(X), 1.0 if known[0] == self.classes[1] else -1.0)
        if not hasattr(self.estimator, "predict_proba"):
            return np.clip(np.asarray(self.estimator.decision_function(X), np.float64), -1.0, 1.0)
        return 2.0 * predicted_probabilities(self.estimator, X, self.classes)[:, 1] - 1.0


class WeakHypothesis(NamedTuple):
    """What a weak learner hands back: the member, and its answers to the training rows.

    Where the answers are log-odds divided by the largest of them, `scale` is that largest.
    """

    member: Member
    predictions: Predictions
    scale: float = 1.0


class WeakLearner(Protocol):
    """Learns one hypothesis under weights that sum to one; the seed decides whatever is random in it."""

    @property
    def resamples(self) -> bool:
        """Does it learn from a sample of the rows, another one every time?"""
        ...

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis: ...
