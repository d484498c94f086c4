"""A member of an ensemble: a tree with an answer at every node, or another estimator."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

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


def predicted_codes(estimator: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Position among the sorted classes of what the estimator predicts for each row; anything else is refused."""
    predicted, n_rows = np.asarray(estimator.predict(X)), X.shape[0]
    codes = np.searchsorted(classes, predicted)
    if predicted.shape != (n_rows,) or np.any(classes.take(codes, mode="clip") != predicted):
        raise ValueError(
            f"{type(estimator).__name__} must answer every row with a class of the labels it was fitted on, "
            f"{classes[:5].tolist()}; its predict gave {predicted.ravel()[:5].tolist()} and so on, of shape "
            f"{predicted.shape} for {n_rows} rows."
        )
    return codes.astype(np.int64, copy=False)


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
        shares = np.asarray(self.estimator.predict_proba(X), np.float64)
        if shares.shape != (len(X), 2) or not np.all(np.isfinite(shares)):
            raise ValueError(
                f"{type(self.estimator).__name__} must give every row two finite probabilities; its predict_proba gave "
                f"an array of shape {shares.shape} for {len(X)} rows, of which {int(np.isnan(shares).sum())} are NaN."
            )
        return 2.0 * shares[:, 1] - 1.0


def check_learner(estimator: Any, kind: Literal["classifier", "regressor"]) -> None:
    """Refuse as a base learner a class instead of an instance, and a regressor where classes are learned, or v.v."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator is the class {name}: pass an instance of it, such as {name}().")
    if not hasattr(estimator, "__sklearn_tags__"):
        return
    if (is_regressor if kind == "classifier" else is_classifier)(estimator):
        other = "regressor" if kind == "classifier" else "classifier"
        raise ValueError(f"estimator must be a {kind}, {type(estimator).__name__} is a {other}: pass a {kind}.")


def rejects_weights(estimator: Any) -> bool:
    """Did the user say `set_fit_request(sample_weight=False)`?"""
    if "_metadata_request" not in getattr(estimator, "__dict__", {}):  # where such a wish is kept
        return False
    request: Any = getattr(estimator.get_metadata_routing(), "fit", None)
    return request is not None and request.requests.get("sample_weight") is False


class Guess(NamedTuple):
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

    def __call__(self, weight: NDArray[np.float64], seed: int) -> Guess: ...
