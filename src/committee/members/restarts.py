"""Restarts of a local search, of which the best is kept or all are combined (Dietterich, Ensemble methods in machine
learning, 2000: the computational reason for ensembles).

    best:  h = argmin over restarts r of sum w_i [h_r(x_i) != y_i]
    vote:  h(x) = the class that most of the h_r predict
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import RANDOM_STATE, Estimator, at_least, fitted, one_of, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.members.estimators import (
    MAX_SEED,
    check_learner,
    fit_weighted,
    predicted_codes,
    resampled_rows,
    unfitted,
)
from committee.members.perceptron import TIE, PocketPerceptron
from committee.sampling.resampling import number_of_draws
from committee.tabular.identity import content_order
from committee.tabular.rows import open_rows, take_rows
from committee.tabular.validation import read_targets_classification, read_weights


def restart(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None, seed: int) -> Any:
    """Fit from the start given by the seed; an estimator without sample weights is fitted on a sample of the rows."""
    fresh = unfitted(estimator, seed)
    if weight is None or has_fit_parameter(fresh, "sample_weight"):
        return fit_weighted(fresh, X, y, weight)
    codes = np.unique(y, return_inverse=True)[1]
    rows = resampled_rows(weight, codes, content_order(X, codes), number_of_draws(weight), seed)
    return fresh.fit(take_rows(X, rows), y[rows])


def weighted_error(member: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> float:
    """Compute the weighted error of a member."""
    classes, codes = np.unique(y, return_inverse=True)
    return float(np.average(predicted_codes(member, X, classes) != codes, weights=weight))


def _has_scores(self: RestartClassifier) -> bool:
    return self.combine == "best" and hasattr(getattr(self, "best_", self.base()), "decision_function")


def _has_probabilities(self: RestartClassifier) -> bool:
    return self.combine == "vote" or hasattr(getattr(self, "best_", self.base()), "predict_proba")


class RestartClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier fitted from several random starts: the best one, or the vote of all.

    A local search ends in a local optimum that depends on its start. The fit with the smallest weighted training error
    is kept, or all fits vote.

    References
    ----------
    Dietterich, T. G. (2000). Ensemble methods in machine learning. Multiple Classifier Systems, 1-15.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.restarts import RestartClassifier
    >>> sonar = load_dataset("sonar")
    >>> model = RestartClassifier(n_restarts=10, random_state=0).fit(sonar.X, sonar.y)
    >>> model.errors_[:4].round(3)
    array([0.101, 0.082, 0.125, 0.091])
    """

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="A classifier whose `random_state` determines the start; None is `PocketPerceptron(n_restarts=1)`.",
    )
    n_restarts: int = param(at_least(1), default=10, doc="Number of fits.")
    combine: Literal["best", "vote"] = param(
        one_of("best", "vote"), default="best", doc="Whether to keep the best fit or to combine all by majority vote."
    )
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    classes_: NDArray[Any] = fitted()
    members_: list[Any] = fitted(doc="The fitted classifiers that are kept.")
    errors_: Floats = fitted(doc="Weighted training error of each fit.")
    best_: Any = fitted(doc="The fit with the smallest error.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base: Any = self.base()
        if hasattr(base, "__sklearn_tags__"):
            tags.input_tags = base.__sklearn_tags__().input_tags
        return tags

    def base(self) -> Any:
        """Return the estimator that is fitted from each start."""
        return PocketPerceptron(n_restarts=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit from each start on X [n, d] and labels y, with weights `sample_weight`."""
        self._validate_params()
        check_learner(self.base(), "classifier")
        with all_or_nothing(self):
            table = open_rows(X, self, takes_sparse=True)
            n_rows = table.shape[0]
            self.classes_, codes = read_targets_classification(y, n_rows)
            weight = read_weights(sample_weight, n_rows)
            labels = self.classes_[codes]
            seeds = [int(seed % MAX_SEED) for seed in member_seeds(self.random_state, self.n_restarts)]
            members = [restart(self.base(), table, labels, weight, seed) for seed in seeds]
            self.errors_ = np.array([weighted_error(member, table, labels, weight) for member in members])
            best = int(np.argmax(self.errors_ <= self.errors_.min() + TIE))
            self.best_ = members[best]
            self.members_ = members if self.combine == "vote" else [self.best_]
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X in `fit`."""
        check_is_fitted(self, "best_")
        return self.best_.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns of X in `fit`, if all of them are strings."""
        return self.best_.feature_names_in_

    def _votes(self, X: Any) -> Floats:
        """Fractions of the votes for each class, [n, K]."""
        codes = np.array([np.searchsorted(self.classes_, member.predict(X)) for member in self.members_])
        return np.mean(codes[:, :, np.newaxis] == np.arange(len(self.classes_)), axis=0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class by the best member, or by majority vote."""
        check_is_fitted(self, "best_")
        if self.combine == "best":
            return self.best_.predict(X)
        return self.classes_[self._votes(X).argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Predict the class probabilities of the best member, or the fractions of the votes."""
        check_is_fitted(self, "best_")
        return self.best_.predict_proba(X) if self.combine == "best" else self._votes(X)

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function of the best member."""
        check_is_fitted(self, "best_")
        return self.best_.decision_function(X)
