"""Any table for methods that read numbers only: missing ones filled in, categories as 0 and 1, one scale for all.

    number x      (x - mean) / deviation, the median of its column where it is missing
    missing       1 where a number is missing, for columns that had missing values in fit
    category c    1 where the value is c, one column for each category; a missing or unknown one is 0 in all of them

Where most columns come from categories with many values, an estimator that asks for it gets a sparse table.

Median, mean and deviation are those of the training rows, counted by their weights. The target of a regression is
brought to mean 0 and deviation 1 as well, and its predictions back: C and epsilon of a support vector machine then mean
the same for every table.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import Estimator, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals
from committee.members.estimators import fit_weighted
from committee.tabular.encoder import EncoderOptions, fit_encoder, fit_scale
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_training_table,
    read_weights,
)

OPTIONS = EncoderOptions(fill="median", flags_missing=True, limit=1e50)
"""A number far outside of the training range must not overflow the squares of the methods behind."""


def _has(name: str) -> Any:
    """Has the estimator, fitted or not, a method of this name?"""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator) or self._usual_estimator(), name)


class BaseNumericPipeline(MetaEstimatorMixin, Estimator):
    """An estimator that reads numbers, on a table of any columns."""

    estimator: Any = param(HasMethods(["fit", "predict"]), None, default=None, kw_only=False)
    categorical_features: Any = param("array-like", str, None, default="from_dtype")

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # pyright: ignore[reportUnknownMemberType]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags

    def _usual_estimator(self) -> Any:
        raise NotImplementedError

    def _fit(self, X: Any, sample_weight: ArrayLike | None, targets: Any) -> Self:
        """`targets(n)` reads the n targets."""
        self._validate_params()
        with all_or_nothing(self):
            chosen = self.categorical_features
            self.columns_, table = read_training_table(
                self, X, categorical_features=chosen, sample_weight=sample_weight
            )
            y = targets(len(table))
            weight = read_weights(sample_weight, len(table))
            self.encoder_ = fit_encoder(
                self.columns_, table, np.ones(len(table)) if weight is None else weight, OPTIONS
            )
            self.estimator_ = self._fitted(table, y, weight)
        return self

    def _fitted(self, table: NDArray[np.floating], y: NDArray[Any], weight: Floats | None) -> Any:
        fresh: Any = self._usual_estimator() if self.estimator is None else clone(self.estimator)
        return fit_weighted(fresh, self._coded(fresh, table), y, weight)

    def encode(self, X: Any) -> Floats:
        """The numbers that the estimator sees, [n, p]; `encoder_.names` says what they are."""
        check_is_fitted(self, "encoder_")
        return self.encoder_(read_table(self, X))

    def _coded(self, estimator: Any, table: NDArray[np.floating]) -> Any:
        """The numbers for an estimator: sparse if they are mostly 0 and it asks for that, else dense."""
        is_sparse = getattr(estimator, "_reads_sparse_numbers", False) and self.encoder_.is_mostly_zero
        return self.encoder_.sparse(table) if is_sparse else self.encoder_(table)

    def _inputs(self, X: Any) -> Any:
        """The numbers as the fitted estimator reads them."""
        check_is_fitted(self, "encoder_")
        return self._coded(self.estimator_, read_table(self, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions of the estimator for the numbers."""
        numbers = self._inputs(X)
        return self.estimator_.predict(numbers)


class NumericPipelineClassifier(ClassifierMixin, BaseNumericPipeline):
    """A classifier that reads numbers, on a table of any columns.

    Parameters
    ----------
    estimator : a classifier such as `SVC` or `MixtureOfExpertsClassifier`; None takes logistic regression
    categorical_features : as of the trees of this library

    ``encoder_`` says what the columns become (``encoder_.names``), ``estimator_`` is the fitted classifier.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.numeric_pipeline import NumericPipelineClassifier
    >>> from committee.svm.svc import SVC
    >>> sample = load_dataset("ionosphere")
    >>> model = NumericPipelineClassifier(SVC(), categorical_features=[0]).fit(sample.X, sample.y)
    >>> round(model.score(sample.X, sample.y), 3)
    0.963
    """

    def _usual_estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression  # at its first use: predictions do not need it

        return LogisticRegression()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] and labels y, rows counted by `sample_weight`."""

        def targets(n: int) -> NDArray[Any]:
            classes, codes = read_targets_classification(y, n)
            return classes[codes]

        return self._fit(X, sample_weight, targets)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, [n, K]."""
        numbers = self._inputs(X)
        return self.estimator_.predict_proba(numbers)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes, as of the estimator."""
        numbers = self._inputs(X)
        return self.estimator_.decision_function(numbers)


class NumericPipelineRegressor(RegressorMixin, PredictionIntervals, BaseNumericPipeline):
    """A regressor that reads numbers, on a table of any columns (by default ridge regression).

    `NumericPipelineClassifier` describes the parameters.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.numeric_pipeline import NumericPipelineRegressor
    >>> from committee.svm.svr import SVR
    >>> ozone = load_dataset("ozone")
    >>> model = NumericPipelineRegressor(SVR(), categorical_features=[0, 2]).fit(ozone.X, ozone.y)
    >>> round(model.score(ozone.X, ozone.y), 3)
    0.887
    """

    def _usual_estimator(self) -> Any:
        from sklearn.linear_model import Ridge

        return Ridge()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] and numbers y, rows counted by `sample_weight`."""
        with all_or_nothing(self):
            self._fit(X, sample_weight, lambda n: self._scaled(read_targets_regression(y, n), sample_weight))
        return self

    def _scaled(self, target: Floats, sample_weight: ArrayLike | None) -> Floats:
        weight = read_weights(sample_weight, len(target))
        scales = np.array([fit_scale(output, weight) for output in target.reshape(len(target), -1).T])
        self.target_mean_, deviation = scales.T.reshape(2, *target.shape[1:])
        self.target_deviation_ = np.where(np.isfinite(deviation), deviation, 1.0)
        return (target - self.target_mean_) / self.target_deviation_

    def predict(self, X: Any) -> Floats:
        """What the estimator answers to the numbers, in units of the target."""
        return super().predict(X) * self.target_deviation_ + self.target_mean_

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """Those of a calibration of this model, else those of the estimator inside, in units of the target."""
        own = super().interval_residuals()
        if own or not isinstance(self.estimator_, PredictionIntervals) or np.ndim(self.target_deviation_):
            return own
        scale = float(self.target_deviation_)
        return tuple(known._replace(value=known.value * scale) for known in self.estimator_.interval_residuals())

    def _fitted_quantiles(self) -> Floats:
        inner = self.estimator_
        is_own = isinstance(inner, PredictionIntervals)
        return inner._fitted_quantiles() if is_own else super()._fitted_quantiles()  # pyright: ignore[reportPrivateUsage]
