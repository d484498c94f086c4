"""The accumulated votes for rows: one signed score for two classes, a sum for each class for more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.kernels.boosting.row_weights import tally_votes
from committee.members.member import Predictions


class BinaryVotes:
    """score = f(x) = sum a h(x) with h in [-1, 1]; the prediction is +1 where f > 0."""

    def __init__(self, y: NDArray[np.int8], score: NDArray[np.float64] | None = None) -> None:
        self.y = y
        self.score = np.zeros(y.size) if score is None else score.copy()

    def agreement(self, predictions: Predictions) -> NDArray[np.int8] | NDArray[np.float64]:
        """Compute u = y h(x) in [-1, 1]."""
        return predictions * self.y  # type: ignore[return-value]  # int8 stays int8, float64 float64

    def add(self, coefficient: float, predictions: Predictions) -> None:
        self.score += coefficient * predictions

    def wrong(self) -> NDArray[np.bool_]:
        return (self.score > 0.0) != (self.y > 0)

    def margins(self, total: float) -> NDArray[np.float64]:
        """Compute y f(x) / sum |a|."""
        return self.y * self.score / total if total > 0.0 else np.zeros(self.y.size)

    def tally(
        self, coefficient: float, predictions: Predictions, total: float, weight: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Add a member, then compute the smallest margin and the weighted error, in one pass over the rows."""
        out = np.empty(2)
        tally_votes(coefficient, predictions, self.y, weight, self.score, out)
        return (float(out[0]) / total if total > 0.0 else 0.0), float(out[1])


class MulticlassVotes:
    """score[:, k] = sum of the coefficients of the members that predict k; the prediction is the largest sum."""

    def __init__(self, codes: NDArray[np.int64], n_classes: int, score: NDArray[np.float64] | None = None) -> None:
        self.codes = codes
        self.rows = np.arange(codes.size)
        self.score = np.zeros((codes.size, n_classes)) if score is None else score.copy()

    def agreement(self, predictions: Predictions) -> NDArray[np.int8]:
        """Compute u: +1 where the prediction is right, -1 where it is wrong."""
        return np.where(predictions == self.codes, np.int8(1), np.int8(-1))

    def add(self, coefficient: float, predictions: Predictions) -> None:
        self.score[self.rows, predictions.astype(np.int64, copy=False)] += coefficient

    def wrong(self) -> NDArray[np.bool_]:
        return self.score.argmax(axis=1) != self.codes

    def margins(self, total: float) -> NDArray[np.float64]:
        """Compute (votes for the true class - largest votes for another class) / sum |a|."""
        own = self.score[self.rows, self.codes]
        others = self.score.copy()
        others[self.rows, self.codes] = -np.inf
        return (own - others.max(axis=1)) / total if total > 0.0 else np.zeros(self.codes.size)

    def tally(
        self, coefficient: float, predictions: Predictions, total: float, weight: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Add a member, then compute the smallest margin and the weighted error."""
        self.add(coefficient, predictions)
        return float(self.margins(total).min()), float((weight * self.wrong()).sum())


Votes = BinaryVotes | MulticlassVotes
"""The scores are changed in place."""


def make_votes(codes: NDArray[np.int64], n_classes: int, score: NDArray[np.float64] | None = None) -> Votes:
    """Make the votes for rows of these classes."""
    if n_classes <= 2:
        return BinaryVotes(np.where(codes == 1, np.int8(1), np.int8(-1)), score)
    return MulticlassVotes(codes, n_classes, score)


def vote_fractions(score: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Compute the fractions of the vote for both classes from scores [n, 1] in [-1, 1]."""
    if n_classes == 1:
        return np.ones((len(score), 1))
    return _resolve_ties(np.clip(np.hstack([0.5 - 0.5 * score, 0.5 + 0.5 * score]), 0.0, 1.0), score)


def vote_probabilities(score: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Apply the link of the exponential loss: 1 / (1 + exp(-2 f)), for K classes softmax(2 votes)."""
    from scipy.special import softmax

    if n_classes == 1:
        return np.ones((len(score), 1))
    return _resolve_ties(softmax(np.hstack([-score, score]) if n_classes == 2 else 2.0 * score, axis=1), score)


def _resolve_ties(p: NDArray[np.float64], score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Increase, in place, the probability of the predicted class by one bit where rounding made it a tie."""
    best = (score[:, 0] > 0.0).astype(np.int64) if score.shape[1] == 1 else score.argmax(axis=1)
    rows = np.flatnonzero(p.argmax(axis=1) != best)
    p[rows, best[rows]] = np.nextafter(p[rows].max(axis=1), 1.0)
    return p
