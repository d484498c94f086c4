"""Encoding of any table for estimators that take numeric columns only: imputation, one-hot encoding, standardization.

    number x      (x - mean) / standard deviation, with the median of the column for missing values
    missing       1 where a number is missing, for columns with missing values in `fit`
    category c    1 where the value is c, a column for each category; 0 in all of them for a missing or unknown one

Where most columns come from categories with many values, an estimator that supports it is fitted on a sparse matrix.

Median, mean and standard deviation are weighted by the sample weights. The target of a regression is standardized as
well, and predictions are in its units again: C and epsilon of a support vector machine thus have the same meaning for
every table.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import Estimator, fitted, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals
from committee.members.estimators import check_learner, fit_weighted
from committee.tabular.encoder import EncoderOptions, TableEncoder, fit_encoder, fit_scale
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_training_table,
    read_weights,
)

OPTIONS = EncoderOptions(fill="median", flags_missing=True, limit=1e50)
"""The limit keeps numbers far outside of the training range from overflow in squares."""


def _has(name: str) -> Any:
    """Whether the estimator, fitted or not, has a method of this name."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator) or self._default_estimator(), name)


class BaseNumericPipeline(MetaEstimatorMixin, Estimator):
    """An estimator for numeric columns, fitted on an encoded table."""

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="The estimator to fit on the encoded columns; None is logistic regression, in regression ridge regression.",
    )
    categorical_features: Any = param("array-like", str, None, default="from_dtype")

    columns_: Columns = fitted()
    encoder_: TableEncoder = fitted(doc="The fitted encoding; `encoder_.names` are the names of the encoded columns.")
    estimator_: Any = fitted(doc="The fitted estimator.")
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # pyright: ignore[reportUnknownMemberType]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _fit(self, X: Any, sample_weight: ArrayLike | None, targets: Any) -> Self:
        """Fit encoder and estimator; `targets(n)` reads the n targets."""
        self._validate_params()
        check_learner(self.estimator, "classifier" if is_classifier(self) else "regressor")
        with all_or_nothing(self):
            self.columns_, table = read_training_table(
                self, X, categorical_features=self.categorical_features, sample_weight=sample_weight
            )
            y = targets(len(table))
            weight = read_weights(sample_weight, len(table))
            self.encoder_ = fit_encoder(
                self.columns_, table, np.ones(len(table)) if weight is None else weight, OPTIONS
            )
            self.estimator_ = self._fitted(table, y, weight)
        return self

    def _fitted(self, table: NDArray[np.floating], y: NDArray[Any], weight: Floats | None) -> Any:
        fresh: Any = self._default_estimator() if self.estimator is None else clone(self.estimator)
        return fit_weighted(fresh, self._encoded(fresh, table), y, weight)

    def encode(self, X: Any) -> Floats:
        """Encode a table, [n, p]; `encoder_.names` are the names of the columns."""
        check_is_fitted(self, "encoder_")
        return self.encoder_(read_table(self, X))

    def _encoded(self, estimator: Any, table: NDArray[np.floating]) -> Any:
        """The encoded table, sparse if it is mostly 0 and the estimator supports that."""
        is_sparse = getattr(estimator, "_reads_sparse_numbers", False) and self.encoder_.is_mostly_zero
        return self.encoder_.sparse(table) if is_sparse else self.encoder_(table)

    def _inputs(self, X: Any) -> Any:
        """The encoded table for the fitted estimator."""
        check_is_fitted(self, "encoder_")
        return self._encoded(self.estimator_, read_table(self, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, or values."""
        numbers = self._inputs(X)
        return self.estimator_.predict(numbers)


class NumericPipelineClassifier(ClassifierMixin, BaseNumericPipeline):
    """A classifier for numeric columns on a table with categories and missing values.

    Missing numbers are replaced by the median, with an indicator column; categories are one-hot encoded; numbers are
    standardized. The estimator is fitted on the result.

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

    def _default_estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression  # not needed for predictions

        return LogisticRegression()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the encoding and the classifier on X [n, d] and labels y."""

        def targets(n: int) -> NDArray[Any]:
            classes, codes = read_targets_classification(y, n)
            return classes[codes]

        return self._fit(X, sample_weight, targets)

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in ascending order."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities, [n, K]."""
        numbers = self._inputs(X)
        return self.estimator_.predict_proba(numbers)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Compute the decision function of the estimator."""
        numbers = self._inputs(X)
        return self.estimator_.decision_function(numbers)


class NumericPipelineRegressor(RegressorMixin, PredictionIntervals, BaseNumericPipeline):
    """A regressor for numeric columns on a table with categories and missing values.

    Missing numbers are replaced by the median, with an indicator column; categories are one-hot encoded; numbers and
    the target are standardized. The estimator is fitted on the result.

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

    target_mean_: float | Floats = fitted(doc="Mean of the target, or of each target.")
    target_deviation_: float | Floats = fitted(
        doc="Standard deviation of the target, or of each target; 1 for a constant."
    )

    def _default_estimator(self) -> Any:
        from sklearn.linear_model import Ridge

        return Ridge()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the encoding and the regressor on X [n, d] and targets y."""
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
        """Predict the target, in its original units."""
        return super().predict(X) * self.target_deviation_ + self.target_mean_

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """Return the residuals of a calibration, else those of the fitted estimator in units of the target."""
        own = super().interval_residuals()
        if own or not isinstance(self.estimator_, PredictionIntervals) or np.ndim(self.target_deviation_):
            return own
        scale = float(self.target_deviation_)
        return tuple(known._replace(value=known.value * scale) for known in self.estimator_.interval_residuals())

    def _fitted_quantiles(self) -> Floats:
        inner = self.estimator_
        is_own = isinstance(inner, PredictionIntervals)
        return inner._fitted_quantiles() if is_own else super()._fitted_quantiles()  # pyright: ignore[reportPrivateUsage]
