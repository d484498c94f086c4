"""The running vote of an ensemble over rows: one signed score for two classes, a sum per class for more."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from committee.kernels.boosting.row_weights import tally_votes
from committee.members.member import Predictions


class Votes(Protocol):
    """What the loop keeps of the rows it learns from or is judged on. The scores are changed in place."""

    score: NDArray[np.float64]

    def agreement(self, predictions: Predictions) -> NDArray[np.int8] | NDArray[np.float64]:
        """u = y h(x) in [-1, 1]: +1 where the answer is right, -1 where it is wrong."""
        ...

    def add(self, coefficient: float, predictions: Predictions) -> None: ...

    def wrong(self) -> NDArray[np.bool_]: ...

    def margins(self, total: float) -> NDArray[np.float64]: ...

    def tally(
        self, coefficient: float, predictions: Predictions, total: float, weight: NDArray[np.float64]
    ) -> tuple[float, float]:
        """`add`, then the smallest margin and the weighted error of the vote."""
        ...


class TwoClasses:
    """score = f(x) = sum a h(x) with h in [-1, 1]; class +1 answers where f > 0."""

    def __init__(self, y: NDArray[np.int8], score: NDArray[np.float64] | None = None) -> None:
        self.y = y
        self.score = np.zeros(y.size) if score is None else score.copy()

    def agreement(self, predictions: Predictions) -> NDArray[np.int8] | NDArray[np.float64]:
        return predictions * self.y  # type: ignore[return-value]  # int8 stays int8, float64 float64

    def add(self, coefficient: float, predictions: Predictions) -> None:
        self.score += coefficient * predictions

    def wrong(self) -> NDArray[np.bool_]:
        return (self.score > 0.0) != (self.y > 0)

    def margins(self, total: float) -> NDArray[np.float64]:
        """y f(x) / sum |a|."""
        return self.y * self.score / total if total > 0.0 else np.zeros(self.y.size)

    def tally(
        self, coefficient: float, predictions: Predictions, total: float, weight: NDArray[np.float64]
    ) -> tuple[float, float]:
        """`add`, then the smallest margin and the weighted error of the vote: one pass over the rows for all."""
        out = np.empty(2)
        tally_votes(coefficient, predictions, self.y, weight, self.score, out)
        return (float(out[0]) / total if total > 0.0 else 0.0), float(out[1])


class ManyClasses:
    """score[:, k] = sum of the coefficients of the members that answer k; the largest sum answers."""

    def __init__(self, codes: NDArray[np.int64], n_classes: int, score: NDArray[np.float64] | None = None) -> None:
        self.codes = codes
        self.rows = np.arange(codes.size)
        self.score = np.zeros((codes.size, n_classes)) if score is None else score.copy()

    def agreement(self, predictions: Predictions) -> NDArray[np.int8]:
        return np.where(predictions == self.codes, np.int8(1), np.int8(-1))

    def add(self, coefficient: float, predictions: Predictions) -> None:
        self.score[self.rows, predictions.astype(np.int64, copy=False)] += coefficient

    def wrong(self) -> NDArray[np.bool_]:
        return self.score.argmax(axis=1) != self.codes

    def margins(self, total: float) -> NDArray[np.float64]:
        """(votes for the true class - largest votes for another) / sum |a|."""
        own = self.score[self.rows, self.codes]
        others = self.score.copy()
        others[self.rows, self.codes] = -np.inf
        return (own - others.max(axis=1)) / total if total > 0.0 else np.zeros(self.codes.size)

    def tally(
        self, coefficient: float, predictions: Predictions, total: float, weight: NDArray[np.float64]
    ) -> tuple[float, float]:
        """`add`, then the smallest margin and the weighted error of the vote."""
        self.add(coefficient, predictions)
        return float(self.margins(total).min()), float((weight * self.wrong()).sum())


def make_votes(
    codes: NDArray[np.int64], n_classes: int, score: NDArray[np.float64] | None = None
) -> TwoClasses | ManyClasses:
    """The vote over rows of these classes."""
    if n_classes <= 2:
        return TwoClasses(np.where(codes == 1, np.int8(1), np.int8(-1)), score)
    return ManyClasses(codes, n_classes, score)


def vote_shares(score: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """The share of the vote of either class, from scores [n, 1] in [-1, 1]."""
    if n_classes == 1:
        return np.ones((len(score), 1))
    return _leading(np.clip(np.hstack([0.5 - 0.5 * score, 0.5 + 0.5 * score]), 0.0, 1.0), score)


def vote_probabilities(score: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """The link of the exponential loss: 1 / (1 + exp(-2 f)), or exp(2 votes) over their sum for K classes."""
    from scipy.special import softmax

    if n_classes == 1:
        return np.ones((len(score), 1))
    return _leading(softmax(np.hstack([-score, score]) if n_classes == 2 else 2.0 * score, axis=1), score)


def _leading(shares: NDArray[np.float64], score: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares, one bit larger (in place) for the class that wins where rounding made a tie of its lead."""
    best = (score[:, 0] > 0.0).astype(np.int64) if score.shape[1] == 1 else score.argmax(axis=1)
    rows = np.flatnonzero(shares.argmax(axis=1) != best)
    shares[rows, best[rows]] = np.nextafter(shares[rows].max(axis=1), 1.0)
    return shares
