"""Online bagging (Oza and Russell, Online bagging and boosting, 2001).

A bootstrap sample of n rows contains row i k times, k ~ Binomial(n, 1/n). For a long stream this becomes Poisson(1),
which does not depend on n:

    for every row (x, y) of the stream and every member h_t
        k ~ Poisson(1)
        fit h_t on (x, y), k times

The prediction is the vote of the members, or their mean. A row of weight w counts as w rows: k ~ Poisson(w).
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
    """Fit the members, in place, on rows that come after `n_before` others; return the counts of each."""
    all_counts: list[Floats] = []
    for member in members:
        counts = member.counts(n_before, weight)  # k ~ Poisson(w)
        member.partial_fit(X, y, counts)
        all_counts.append(counts)
    return all_counts


class OnlineBaggingClassifier(ClassifierMixin, BaseOnlineClassifier):
    """Bagging of classifiers on a stream of rows, with Poisson counts in place of bootstrap samples.

    `fit` takes a table in one pass, `partial_fit` the next rows of a stream. Every row is first predicted, then fitted
    on, so the prequential error needs no held-out rows.

    References
    ----------
    Oza and Russell, Online bagging and boosting, 2001.

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

    vote: Literal["majority", "mean"] = param(
        one_of("majority", "mean"),
        default="majority",
        doc="Whether to count the members' votes or to average their class probabilities.",
    )

    def _default_estimator(self) -> Any:
        return default_classifier()

    def _check(self) -> None:
        super()._check()
        if self.vote == "mean" and not hasattr(self._weak(), "predict_proba"):
            raise ValueError(
                f"vote='mean' averages probabilities, and {type(self._weak()).__name__} has no predict_proba: pass a "
                "base estimator with predict_proba, or set vote='majority'."
            )

    def _update_members(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_bagging(members, rows.X, rows.target, rows.weight, n_before)

    def _votes(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, NDArray[np.int64]]:
        if self.vote == "majority":
            predictions = np.array([member.predictions(X) for member in members], np.int64)
            return class_votes(predictions, self.n_classes_), predictions
        is_fitted = np.array([member.is_fitted for member in members])
        probabilities = np.array([member.distribution(X) for member in members])
        predictions = np.where(is_fitted[:, np.newaxis], probabilities.argmax(axis=2), -1)
        return np.einsum("t,tnk->nk", is_fitted.astype(np.float64), probabilities), predictions


class OnlineBaggingRegressor(RegressorMixin, PredictionIntervals, BaseOnlineRegressor):
    """Bagging of regressors on a stream of rows, with Poisson counts in place of bootstrap samples.

    `OnlineBaggingClassifier` describes the method.

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

    def _update_members(self, members: Sequence[OnlineMember], rows: Rows, n_before: int) -> None:
        online_bagging(members, rows.X, rows.target, rows.weight, n_before)

    def _mean(self, members: Sequence[OnlineMember], X: Floats) -> tuple[Floats, Floats]:
        """Mean of the fitted members, nan without any, and the predictions of all."""
        predictions = np.array([member.predictions(X) for member in members], np.float64)
        is_fitted = np.array([member.is_fitted for member in members])
        combined = mean(predictions[is_fitted]) if is_fitted.any() else np.full(len(X), np.nan)
        return combined, predictions

    def _losses(self, members: Sequence[OnlineMember], rows: Rows) -> Floats:
        combined, predictions = self._mean(members, rows.X)
        return (np.vstack([combined, predictions]) - rows.target) ** 2

    def predict(self, X: Any) -> Floats:
        """The mean prediction of the fitted members, 0 without any."""
        table = self._read_floats(X)
        return np.nan_to_num(self._mean(self._online_members(), table)[0])
