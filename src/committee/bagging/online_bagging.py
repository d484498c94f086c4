"""Online bagging (Oza and Russell, Online bagging and boosting, 2001).

Bagging gives a member a bootstrap sample of the n rows. The row i is in it k times, k ~ Binomial(n, 1/n); as the stream
grows this becomes Poisson(1), for which n need not be known:

    for every row (x, y) of the stream and every member h_t
        k ~ Poisson(1)
        learn (x, y) with h_t, k times

The members vote, or their mean answers. A row of weight w counts as w rows: k ~ Poisson(w).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import SGDRegressor

from committee.base.array_types import Floats
from committee.base.parameters import one_of, param
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.combine.rules import class_votes, mean
from committee.ensemble.online import BaseOnlineClassifier, BaseOnlineRegressor, Rows
from committee.members.online import OnlineMember, default_classifier


def online_bagging(
    members: Sequence[OnlineMember], X: Floats, y: NDArray[Any], weight: Floats, n_before: int
) -> list[Floats]:
    """Teach the members rows that come after `n_before` others; the members are changed. Returns the counts of each."""
    all_counts: list[Floats] = []
    for member in members:
        counts = member.counts(n_before, weight)  # k ~ Poisson(w)
        member.learn(X, y, counts)
        all_counts.append(counts)
    return all_counts


class OnlineBaggingClassifier(ClassifierMixin, BaseOnlineClassifier):
    """Bagging that learns from a stream, row after row, with Poisson counts in place of resamples (C-9).

    Parameters
    ----------
    estimator : the base learner, default logistic regression by `SGDClassifier`, for columns of similar scale
        Any classifier with `partial_fit`. Where that takes no `sample_weight`, it is shown a row k times.
    n_estimators : number of members
    vote : {"majority", "mean"}
        Count the members' answers, or average their class probabilities.
    batch_size : rows that are judged, then learned, at once; 1 goes row by row
        None takes the rows as they come; of the table of `fit` 20 at first, later a tenth of those before.
    random_state : seed of the counts and of the members

    ``prequential_error_`` is the error on rows not learned from yet, ``history_`` follows it over the stream,
    ``n_seen_`` is the number of rows, ``estimators_`` are the members.

    Examples
    --------
    >>> from committee.bagging.online_bagging import OnlineBaggingClassifier
    >>> from committee.datasets import load_dataset
    >>> from sklearn.preprocessing import scale
    >>> sonar = load_dataset("sonar")
    >>> model = OnlineBaggingClassifier(random_state=0).fit(scale(sonar.X), sonar.y)
    >>> round(model.prequential_error_, 3)
    0.277
    """

    vote: Literal["majority", "mean"] = param(one_of("majority", "mean"), default="majority")

    def _default_estimator(self) -> Any:
        return default_classifier()

    def _check(self, kind: Any) -> None:
        super()._check(kind)
        if self.vote == "mean" and not hasattr(self._weak(), "predict_proba"):
            raise ValueError(
                f"vote='mean' averages probabilities, which {type(self._weak()).__name__} has not: take a base learner "
                "with predict_proba, or vote='majority'."
            )

    def _teach(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_bagging(members, rows.X, rows.target, rows.weight, n_before)

    def _shares(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        if self.vote == "majority":
            predictions = np.array([member.predictions(X) for member in members], np.int64)
            return class_votes(predictions, self.n_classes_), predictions
        learned = np.array([member.has_learned for member in members])
        shares = np.array([member.distribution(X) for member in members])
        predictions = np.where(learned[:, np.newaxis], shares.argmax(axis=2), -1)
        return np.einsum("t,tnk->nk", learned.astype(np.float64), shares), predictions


class OnlineBaggingRegressor(RegressorMixin, PredictionIntervals, BaseOnlineRegressor):
    """Bagging of regressors that learns from a stream, row after row, with Poisson counts (C-9).

    Parameters
    ----------
    estimator : the base learner, default ``SGDRegressor(shuffle=False)``, for columns of similar scale
        Any regressor with `partial_fit`. Where that takes no `sample_weight`, it is shown a row k times.
    n_estimators : number of members
    batch_size : rows that are judged, then learned, at once; 1 goes row by row
        None takes the rows as they come; of the table of `fit` 20 at first, later a tenth of those before.
    random_state : seed of the counts and of the members

    ``prequential_error_`` is the mean squared error on rows not learned from yet, ``history_`` follows it over the
    stream, ``n_seen_`` is the number of rows, ``estimators_`` are the members.

    Examples
    --------
    >>> from committee.bagging.online_bagging import OnlineBaggingRegressor
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(2000, 5, noise=10.0, random_state=0)
    >>> model = OnlineBaggingRegressor(random_state=0).fit(X, y)
    >>> model.history_.error[[0, -1]].round(1)  # mean squared error on the first 100 rows, on the last 100
    array([5818.1,  147.6])
    """

    def _default_estimator(self) -> Any:
        return SGDRegressor(shuffle=False)

    def _teach(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_bagging(members, rows.X, rows.target, rows.weight, n_before)

    def _mean(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, Floats]:
        """Mean of the members that have learned, nan without any, and the answers of all."""
        predictions = np.array([member.predictions(X) for member in members], np.float64)
        learned = np.array([member.has_learned for member in members])
        combined = mean(predictions[learned]) if learned.any() else np.full(len(X), np.nan)
        return combined, predictions

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        combined, predictions = self._mean(members, rows.X)
        return (np.vstack([combined, predictions]) - rows.target) ** 2

    def predict(self, X: Any) -> Floats:
        """The mean of the members, 0 before any of them has learned."""
        table = self._read_floats(X)
        return np.nan_to_num(self._mean(self._learners(), table)[0])
