"""The design matrix of a linear model: dense or sparse (CSR), float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.base.array_types import Floats
from committee.base.parameters import Estimator, fitted, param
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, read_training_table, read_weights, reject_missing_cells

Table = Any
"""A dense array [n, p] or a sparse CSR array of the same shape."""

LARGEST = 1e100
"""Limit of |x|, so that sums of weighted squares do not overflow."""


class BaseLinearModel(Estimator):
    """Base class of linear models f(x) = x coef + intercept."""

    _reads_sparse_numbers = True
    """Numeric pipelines pass a sparse table if most columns come from categories."""

    fit_intercept: bool = param("boolean", default=True, doc="Whether to fit an intercept; it is never penalised.")
    columns_: Columns = fitted()
    coef_: Floats = fitted(doc="Coefficients: [p], or [k, p] for k targets or classes.")
    gradient_norm_: float = fitted(
        doc="Norm of the gradient at the solution relative to that of the constant model, for columns of mean square 1."
    )
    intercept_: Floats | float = fitted(doc="The intercepts.")
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    n_iter_: int = fitted(doc="Number of iterations of the solver.")
    objective_: float = fitted(doc="Penalised mean loss at the solution.")
    start_objective_: float = fitted(doc="Penalised mean loss of the constant model.")

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read_fit(self, X: Any, sample_weight: Any) -> tuple[Table, Floats]:
        """Design matrix and sample weights of `fit`; sets `columns_`."""
        if sparse.issparse(X):
            table: Table = sparse.csr_array(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=True))
            self.columns_ = Columns(table.shape[1], None, (None,) * table.shape[1])
        else:
            self.columns_, result = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
            table = np.ascontiguousarray(result, np.float64)
        self._reject_values(table)
        weight = read_weights(sample_weight, table.shape[0])
        return table, np.ones(table.shape[0]) if weight is None else weight

    def _read(self, X: Any) -> Table:
        """Design matrix to predict, in the format of `_read_fit`."""
        check_is_fitted(self, "columns_")
        if sparse.issparse(X):
            return sparse.csr_array(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        table = np.ascontiguousarray(read_table(self, X), np.float64)
        self._reject_values(table)
        return table

    def _reject_values(self, table: Table) -> None:
        """Raise ValueError for missing values and for values whose squares overflow."""
        values = table.data if sparse.issparse(table) else table
        if values.size == 0 or (-LARGEST <= float(values.min()) and float(values.max()) <= LARGEST):  # nan fails too
            return
        name = type(self).__name__
        if not sparse.issparse(table):
            reject_missing_cells(table, self.columns_, name)
        raise ValueError(
            f"The largest |x| is {np.abs(values).max():.3g}, too large for sums of squares in float64: divide the "
            f"column by a number of that size, or fit {name} inside NumericPipelineClassifier or "
            "NumericPipelineRegressor, which scale the columns."
        )


def weighted_gram(X: Table, weight: Floats) -> Floats:
    """X' diag(weight) X as a dense matrix, for weights >= 0."""
    root = scale_rows(X, np.sqrt(weight))
    gram: Any = root.T @ root
    return gram.toarray() if sparse.issparse(gram) else gram


def column_sums(X: Table, weight: Floats) -> Floats:
    """X' weight."""
    return np.asarray(X.T @ weight, np.float64)


def column_squares(X: Table, weight: Floats) -> Floats:
    """Weighted sums of squares of the columns, [p] or [p, k] for weights [n, k]."""
    if sparse.issparse(X):
        squares = sparse.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
        return np.asarray(squares.T @ weight, np.float64)
    return (X**2).T @ weight


def scale_rows(X: Table, factor: Floats) -> Table:
    """Each row times its factor."""
    if sparse.issparse(X):
        data = X.data * np.repeat(factor, np.diff(X.indptr))
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return X * factor[:, None]


def to_dense(X: Table) -> Floats:
    return X.toarray() if sparse.issparse(X) else X
