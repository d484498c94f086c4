"""Many restarts of a local search, the best one kept or all of them combined (Dietterich, Ensemble methods in machine
learning, 2000: the computational reason for ensembles).

    best:  h = argmin over restarts r of sum w_i [h_r(x_i) != y_i]
    vote:  h(x) = the class that most of the h_r answer
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import RANDOM_STATE, Estimator, at_least, one_of, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.members.member import check_learner, predicted_codes
from committee.members.perceptron import TIE, PocketPerceptron
from committee.tabular.rows import take_rows
from committee.tabular.schema import open_table
from committee.tabular.validation import read_targets_classification, read_weights

REDRAWS = 20
"""Attempts at a resample that holds more than one class."""


def restart(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None, seed: int) -> Any:
    """A fit from another start: every `random_state` is the seed; without weights of its own it sees a resample."""
    fresh: Any = clone(estimator)
    fresh.set_params(**{name: seed for name in fresh.get_params() if name.endswith("random_state")})
    if weight is None:
        return fresh.fit(X, y)
    if has_fit_parameter(fresh, "sample_weight"):
        return fresh.fit(X, y, sample_weight=weight)
    rows = _draw(y, weight, np.random.default_rng(seed))
    return fresh.fit(take_rows(X, rows), y[rows])


def _draw(y: NDArray[Any], weight: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """A resample with at least two classes: many classifiers refuse to learn a single one."""
    rows = np.empty(0, np.int64)
    for _ in range(REDRAWS):
        rows = rng.choice(weight.size, weight.size, p=weight / weight.sum())
        if np.any(y[rows] != y[rows[0]]):
            break
    return rows


def _opened(X: Any, estimator: Any) -> Any:
    """X as it is, lists as an array; what is no table is refused here, what is in it by the base estimator."""
    if sparse.issparse(X):
        return X
    opened = open_table(X, estimator)
    return X if hasattr(X, "shape") else opened


def weighted_error(member: Any, X: Any, y: NDArray[Any], weight: Floats | None) -> float:
    """The weight of the rows it gets wrong."""
    classes, codes = np.unique(y, return_inverse=True)
    return float(np.average(predicted_codes(member, X, classes) != codes, weights=weight))


def _has_scores(self: RestartClassifier) -> bool:
    return self.combine == "best" and hasattr(self.base(), "decision_function")


def _has_probabilities(self: RestartClassifier) -> bool:
    return self.combine == "vote" or hasattr(self.base(), "predict_proba")


class RestartClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """A classifier fitted from many starts: the best under the sample weights, or the vote of all (B-7).

    Parameters
    ----------
    estimator : a classifier whose `random_state` chooses the start, default `PocketPerceptron(n_restarts=1)`
    n_restarts : number of fits
    combine : {"best", "vote"}
    random_state : seed of the starts

    ``members_`` are the fits that are kept, ``errors_`` the weighted training errors of all, ``best_`` the best one.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.restarts import RestartClassifier
    >>> sonar = load_dataset("sonar")
    >>> model = RestartClassifier(n_restarts=10, random_state=0).fit(sonar.X, sonar.y)
    >>> model.errors_[:4].round(3)
    array([0.101, 0.082, 0.125, 0.091])
    """

    estimator: Any = param(HasMethods(["fit", "predict"]), None, default=None, kw_only=False)
    n_restarts: int = param(at_least(1), default=10)
    combine: Literal["best", "vote"] = param(one_of("best", "vote"), default="best")
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base: Any = self.base()
        if hasattr(base, "__sklearn_tags__"):
            tags.input_tags = base.__sklearn_tags__().input_tags
        return tags

    def base(self) -> Any:
        """The estimator that is fitted from every start."""
        return PocketPerceptron(n_restarts=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit from every start on X [n, d] and labels y, rows counted by `sample_weight`."""
        self._validate_params()
        check_learner(self.base(), "classifier")
        with all_or_nothing(self):
            table = _opened(X, self)
            n_rows = table.shape[0]
            self.classes_, codes = read_targets_classification(y, n_rows)
            weight = read_weights(sample_weight, n_rows)
            labels = self.classes_[codes]
            seeds = [int(seed % (2**31 - 1)) for seed in member_seeds(self.random_state, self.n_restarts)]
            members = [restart(self.base(), table, labels, weight, seed) for seed in seeds]
            self.errors_ = np.array([weighted_error(member, table, labels, weight) for member in members])
            best = int(np.argmax(self.errors_ <= self.errors_.min() + TIE))
            self.best_ = members[best]
            self.members_ = members if self.combine == "vote" else [self.best_]
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by the base estimator."""
        check_is_fitted(self, "best_")
        return self.best_.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features seen by the base estimator."""
        return self.best_.feature_names_in_

    def _votes(self, X: Any) -> Floats:
        """The share of the members that answer each class, [n, K]."""
        codes = np.array([np.searchsorted(self.classes_, member.predict(X)) for member in self.members_])
        return np.mean(codes[:, :, np.newaxis] == np.arange(len(self.classes_)), axis=0)

    def predict(self, X: Any) -> NDArray[Any]:
        """The answer of the best member, or of most members."""
        check_is_fitted(self, "best_")
        if self.combine == "best":
            return self.best_.predict(X)
        return self.classes_[self._votes(X).argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Of the best member, where it has probabilities; of a vote the share of the members."""
        check_is_fitted(self, "best_")
        return self.best_.predict_proba(X) if self.combine == "best" else self._votes(X)

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> Floats:
        """Of the best member."""
        check_is_fitted(self, "best_")
        return self.best_.decision_function(X)
