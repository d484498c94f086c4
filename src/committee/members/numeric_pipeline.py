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

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from committee.base.array_types import Floats
from committee.base.available_if import available_if
from committee.base.parameters import Estimator, param
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals, Residuals
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_training_table,
    read_weights,
)

CONSTANT = 1e-12
"""A column that varies by less, in units of its largest value, says nothing: it becomes zeros."""

MANY_COLUMNS, MAX_FILLED = 64, 0.25
"""A table of at least so many columns, of which at most this fraction is not 0 in a row, is better stored sparse."""


class NumericColumns(NamedTuple):
    """How a coded table becomes numbers that are all there.

    >>> table = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> from committee.tabular.schema import Categories
    >>> columns = Columns(2, ("size", "colour"), (None, Categories(("blue", "red"))))
    >>> numbers = fit_numeric_columns(columns, table, np.ones(3))
    >>> numbers.names
    ('size', 'size is missing', 'colour=blue', 'colour=red')
    >>> numbers(np.array([[3.0, np.nan], [np.nan, 1.0]])).round(2).tolist()
    [[1.41, 0.0, 0.0, 0.0], [-0.71, 1.0, 0.0, 1.0]]
    """

    source: NDArray[np.int64]  # [p], the column of the table that each comes from
    category: Floats  # [p], the code that a column stands for; nan for numbers, -1 for "is missing"
    fill: Floats  # [p], in place of a missing number
    mean: Floats  # [p], 0 for columns of 0 and 1
    deviation: Floats  # [p], 1 for columns of 0 and 1, infinite for a constant number
    names: tuple[str, ...]  # [p]

    def __call__(self, table: NDArray[np.floating]) -> Floats:
        """The columns for this table, [n, p]."""
        raw = np.asarray(table[:, self.source], np.float64)
        is_number, is_flag = np.isnan(self.category), self.category == -1.0
        raw[:, is_flag] = np.isnan(raw[:, is_flag])
        is_code = ~is_number & ~is_flag
        raw[:, is_code] = raw[:, is_code] == self.category[is_code]
        raw = np.where(np.isnan(raw), self.fill, raw)
        # A number far outside of what fit saw must not overflow the squares of the methods behind.
        return np.clip((raw - self.mean) / self.deviation, -1e50, 1e50)

    @property
    def is_mostly_zero(self) -> bool:
        """Do so many columns come from categories that a sparse table saves time and memory?"""
        n_filled = np.count_nonzero(self.category < 0.0) + np.count_nonzero(np.isnan(self.category))
        n_filled += len(self._first_codes())
        return self.category.size >= MANY_COLUMNS and bool(n_filled <= MAX_FILLED * self.category.size)

    def _first_codes(self) -> NDArray[np.int64]:
        """The first column of each category; the others follow by their codes."""
        return np.flatnonzero(self.category == 0.0)

    def sparse(self, table: NDArray[np.floating]) -> Any:
        """The same columns as a sparse table (SciPy's CSR), without the dense one."""
        plain, first = np.flatnonzero(~(self.category >= 0.0)), self._first_codes()
        dense = NumericColumns(
            self.source[plain], self.category[plain], self.fill[plain], self.mean[plain], self.deviation[plain],
            tuple(self.names[j] for j in plain),
        )  # fmt: skip
        numbers = dense(table) if plain.size else np.empty((len(table), 0))
        codes = np.asarray(table[:, self.source[first]], np.float64)
        is_known = np.isfinite(codes)
        column = np.hstack([np.broadcast_to(plain, numbers.shape), first + np.where(is_known, codes, 0.0)])
        value = np.hstack([numbers, is_known])
        order = np.argsort(np.append(plain, first))  # columns of a row ascend
        column, value = column[:, order].astype(np.int32), value[:, order]
        kept = value != 0.0
        ends = np.append(0, np.cumsum(kept.sum(axis=1)))
        return sparse.csr_array((value[kept], column[kept], ends), shape=(len(table), self.category.size))


def fit_numeric_columns(columns: Columns, table: NDArray[np.floating], weight: Floats) -> NumericColumns:
    """Learn medians, means and deviations of the numbers; rows of weight 0 count for nothing."""
    lines = [line for f in range(columns.n_features) for line in _of_column(columns, f, table[:, f], weight)]
    source, category, fill, mean, deviation, names = zip(*lines, strict=True)
    return NumericColumns(
        np.array(source, np.int64),
        np.array(category, np.float64),
        np.array(fill, np.float64),
        np.array(mean, np.float64),
        np.array(deviation, np.float64),
        tuple(names),
    )


def _of_column(columns: Columns, f: int, column: NDArray[np.floating], weight: Floats) -> list[tuple[Any, ...]]:
    """What becomes of one column: a line of `NumericColumns` for each of its own."""
    values = np.asarray(column, np.float64)
    name = columns.name(f)
    if columns.categories[f] is not None:
        labels = columns.category_names(f)
        return [(f, float(code), 0.0, 0.0, 1.0, f"{name}={label}") for code, label in enumerate(labels)] or [
            (f, -1.0, 0.0, 0.0, 1.0, f"{name} is missing")  # all values are missing: one column must stand for it
        ]
    counted = weight > 0.0
    present = counted & ~np.isnan(values)
    flag = [(f, -1.0, 0.0, 0.0, 1.0, f"{name} is missing")] if present.sum() < counted.sum() else []
    if not present.any():
        return flag
    median = _weighted_median(values[present], weight[present])
    filled, share = np.where(present, values, median)[counted], weight[counted] / weight[counted].sum()
    unit = float(np.abs(filled).max()) or 1.0  # squares stay within float64
    mean = float(share @ (filled / unit))
    deviation = float(np.sqrt(share @ (filled / unit - mean) ** 2))
    scale = np.inf if deviation <= CONSTANT or deviation * unit < np.finfo(np.float64).tiny else deviation * unit
    return [(f, np.nan, median, mean * unit, scale, name), *flag]


def _weighted_median(values: Floats, weight: Floats) -> float:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2.0)])


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
            self.numbers_ = fit_numeric_columns(self.columns_, table, np.ones(len(table)) if weight is None else weight)
            self.estimator_ = self._fitted(table, y, weight)
        return self

    def _fitted(self, table: NDArray[np.floating], y: NDArray[Any], weight: Floats | None) -> Any:
        fresh: Any = self._usual_estimator() if self.estimator is None else clone(self.estimator)
        numbers = self._coded(fresh, table)
        if weight is None:
            return fresh.fit(numbers, y)
        if not has_fit_parameter(fresh, "sample_weight"):
            raise ValueError(f"{type(fresh).__name__} takes no weights: fit without sample_weight, or repeat the rows.")
        return fresh.fit(numbers, y, sample_weight=weight)

    def as_numbers(self, X: Any) -> Floats:
        """The numbers that the estimator sees, [n, p]; `numbers_.names` says what they are."""
        check_is_fitted(self, "numbers_")
        return self.numbers_(read_table(self, X))

    def _coded(self, estimator: Any, table: NDArray[np.floating]) -> Any:
        """The numbers for an estimator: sparse if they are mostly 0 and it asks for that, else dense."""
        is_sparse = getattr(estimator, "_reads_sparse_numbers", False) and self.numbers_.is_mostly_zero
        return self.numbers_.sparse(table) if is_sparse else self.numbers_(table)

    def _inputs(self, X: Any) -> Any:
        """The numbers as the fitted estimator reads them."""
        check_is_fitted(self, "numbers_")
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

    ``numbers_`` says what the columns become (``numbers_.names``), ``estimator_`` is the fitted classifier.

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
        unit = max(float(np.abs(target).max()), np.finfo(np.float64).tiny)  # squares stay within float64
        mean = np.average(target / unit, axis=0, weights=weight)
        deviation = np.sqrt(np.average((target / unit - mean) ** 2, axis=0, weights=weight))
        self.target_mean_ = mean * unit
        self.target_deviation_ = np.where(deviation > CONSTANT, deviation * unit, 1.0)
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
