"""A member of an ensemble: a tree with a prediction at every node, or another estimator."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.journal import open_stream
from committee.members.estimators import predicted_codes, predicted_probabilities
from committee.records.tree import Tree
from committee.tree_engine.predict.apply import apply_tree

Predictions = NDArray[np.int8] | NDArray[np.int64] | NDArray[np.float64]
"""Two classes: votes -1, +1 (int8) or confidences in [-1, 1] (float64). More classes: class codes (int64)."""


class Member(Protocol):
    """A fitted model that predicts for each row of an encoded table."""

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions: ...


class TreeMember(NamedTuple):
    """A tree of the engine with its prediction at every node."""

    tree: Tree
    node_predictions: Predictions

    def predictions(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Predictions:
        return self.node_predictions[apply_tree(self.tree, X, n_jobs)]


class EstimatorMember(NamedTuple):
    """A fitted scikit-learn classifier; with `is_soft` it predicts confidences in [-1, 1].

    They are 2 p - 1 with p its probability of the second class, or else its decision function cut to [-1, 1].
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
    """A fitted member and its predictions for the training rows.

    If the predictions are log-odds divided by the largest of them, `scale` is this largest one.
    """

    member: Member
    predictions: Predictions
    scale: float = 1.0


class WeakLearner(Protocol):
    """Fits one hypothesis under weights that sum to one."""

    @property
    def resamples(self) -> bool:
        """Whether it is fitted on a new sample of the rows every time."""
        ...

    def __call__(self, weight: NDArray[np.float64], seed: int) -> WeakHypothesis: ...


def kept_learner(learner: Any, X: NDArray[np.floating]) -> Any:
    """The same weak learner for training rows X, with its members in the checkpoint if there is one."""
    return KeptLearner(learner, X)


class KeptLearner:
    """Takes the members of a weak learner from a checkpoint; the arguments of a call end with the seed."""

    def __init__(self, learner: Any, X: NDArray[np.floating]) -> None:
        self.learner, self.X, self.stream = learner, X, open_stream()
        self.resamples: bool = getattr(learner, "resamples", True)

    def __call__(self, *arguments: Any) -> WeakHypothesis:
        return self.stream.keep(arguments[-1], lambda: self.learner(*arguments), _without_predictions, self._restored)

    def _restored(self, kept: tuple[Member, float]) -> WeakHypothesis:
        member, scale = kept
        return WeakHypothesis(member, member.predictions(self.X), scale)


def _without_predictions(hypothesis: WeakHypothesis) -> tuple[Member, float]:
    return hypothesis.member, hypothesis.scale
