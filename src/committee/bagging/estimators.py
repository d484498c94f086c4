"""`BaggingClassifier` and `BaggingRegressor`: bagging, pasting, random subspaces and patches as estimators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from committee.bagging._oob import Rule, Tally
from committee.bagging.bagging import Sampling
from committee.bagging.base import BaseBagging
from committee.bagging.base_learners import ClassifierMember
from committee.bagging.prediction import side_by_side
from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import fitted, one_of, param
from committee.calibration.prediction_intervals import PredictionIntervals, gather_residuals
from committee.combine.rules import weighted_median
from committee.ensemble.incremental import TrainingData
from committee.ensemble.oob import Loss
from committee.trees.decision_tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)


def _has_scores(self: Any) -> bool:
    return hasattr(self._weak(), "decision_function")


class BaggingClassifier(ClassifierMixin, BaseBagging):
    """Bagging of classifiers, by default of full decision trees.

    Every member is fitted on a bootstrap sample of the rows; the prediction is the mean of the members' class
    probabilities, or their vote. The rows outside a sample give the out-of-bag error without held-out rows. Pasting,
    random subspaces and random patches are bagging with other samples: `max_samples`, `max_features`, `bootstrap`.

    Notes
    -----
    An integer sample weight w is equivalent to repeating the row w times. The model does not depend on the order of the
    rows.

    References
    ----------
    Breiman, Bagging predictors, Machine Learning 24, 1996.
    Ho, The random subspace method for constructing decision forests, 1998.
    Louppe and Geurts, Ensembles on random patches, 2012.

    Examples
    --------
    >>> from committee import BaggingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = BaggingClassifier(n_estimators=100, random_state=0).fit(sonar.X, sonar.y)
    >>> round(model.oob_error_, 3)
    0.192
    """

    combine: Literal["auto", "mean", "vote"] = param(
        one_of("auto", "mean", "vote"),
        default="auto",
        doc='Whether to average the members\' class probabilities or to count their votes; "auto" averages if the base '
        "estimator has `predict_proba`.",
    )
    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"
    _loss: ClassVar[Loss] = "zero_one"
    _oob_prediction: ClassVar[str] = "oob_decision_function_"
    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()
    oob_decision_function_: Floats = fitted(
        doc="Class probabilities of every row by the members not fitted on it; nan without any."
    )

    def _default_tree(self, **params: Any) -> BaseDecisionTree:
        return DecisionTreeClassifier(**params)

    def _rule(self) -> Rule:
        has_probabilities = hasattr(self._weak(), "predict_proba")
        if self.combine == "mean" and not has_probabilities:
            raise ValueError(
                f"combine='mean' averages probabilities, and {type(self._weak()).__name__} has no predict_proba: "
                "set combine='vote' or 'auto'."
            )
        if self.combine == "auto":
            return "mean" if has_probabilities else "vote"
        return self.combine

    def _member_attributes(self) -> dict[str, Any]:
        return {"classes_": self.classes_, "n_classes_": self.n_classes_}

    # --- predictions ------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest mean probability, or of most votes; of a tie the first one."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_.take(codes)

    def predict_proba(self, X: Any) -> Floats:
        """The members' mean class probabilities, or the fractions of their votes."""
        return self._total(self._read_rows(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` of the first member, of the first two, and so on."""
        yield from self._staged(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` of the first member, of the first two, and so on."""
        for probabilities in self._staged(X):
            yield self.classes_.take(probabilities.argmax(axis=1))

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> Floats:
        """The mean decision function of the members whose sample has every class."""
        table = self._read_rows(X)
        scores: list[Floats] = []
        for member in self.members_:
            assert isinstance(member, ClassifierMember)
            if len(member.estimator.classes_) == self.n_classes_ and hasattr(member.estimator, "decision_function"):
                own = table if member.features is None else table[:, member.features]
                scores.append(np.asarray(member.estimator.decision_function(own), np.float64))
        if not scores:
            raise ValueError(
                "No member has a decision function for all classes, as no sample has every class: increase max_samples "
                "or n_estimators, or use predict_proba."
            )
        return np.sum(scores, axis=0) / len(scores)


class BaggingRegressor(RegressorMixin, PredictionIntervals, BaseBagging):
    """Bagging of regressors, by default of full regression trees.

    Every member is fitted on a bootstrap sample of the rows; the prediction is the mean of the members' predictions,
    their median, or a mean weighted by their out-of-bag errors. `BaggingClassifier` describes the method.

    Examples
    --------
    >>> from committee import BaggingRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = BaggingRegressor(n_estimators=100, random_state=0).fit(ozone.X, ozone.y)
    >>> round(model.oob_error_, 1)
    19.3
    """

    combine: Literal["mean", "median", "weighted"] = param(
        one_of("mean", "median", "weighted"),
        default="mean",
        doc='How to combine the predictions; "weighted" is the mean with weights inverse to the out-of-bag mean '
        "squared error of each member.",
    )
    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _loss: ClassVar[Loss] = "squared_error"
    _oob_prediction: ClassVar[str] = "oob_prediction_"
    _interval_hint: ClassVar[str] = "bootstrap=True, or max_samples below 1.0"
    oob_prediction_: Floats = fitted(doc="Prediction of every row by the members not fitted on it; nan without any.")

    def _default_tree(self, **params: Any) -> BaseDecisionTree:
        return DecisionTreeRegressor(**params)

    def _rule(self) -> Rule:
        return self.combine

    def _oob_attributes(self, oob: Tally, sampling: Sampling, data: TrainingData, n_members: int) -> dict[str, Any]:
        result = super()._oob_attributes(oob, sampling, data, n_members)
        if not sampling.draws_all:
            rows = oob.scored
            result["_residuals"] = gather_residuals(oob.target[rows] - oob.mean[rows, 0], oob.weight[rows])
        return result

    # --- predictions ------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """The mean, the weighted mean or the median of the members' predictions."""
        table = self._read_rows(X)
        if self._combined != "median":
            return self._total(table)[:, 0]
        return np.concatenate([weighted_median(block) for block in side_by_side(self.members_, table, self.n_jobs)])

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` of the first member, of the first two, and so on."""
        check_is_fitted(self, "members_")
        if self._combined != "median":
            for total in self._staged(X):
                yield total[:, 0]
            return
        table = self._read_rows(X)
        predictions = np.hstack(list(side_by_side(self.members_, table, self.n_jobs)))
        for b in range(1, len(predictions) + 1):
            yield weighted_median(predictions[:b])
