"""Parameters, fitted attributes and the reading of tables that all support vector machines share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import N_JOBS, Estimator, at_least, between, fitted, non_negative, one_of, param
from committee.records.history import History
from committee.svm._scaling import reject_values
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import NAMES, Gamma, make_kernel
from committee.tabular.schema import Columns
from committee.tabular.validation import read_table, read_training_table, read_weights

EPSILON = "Half the width of the tube around the prediction within which errors cost nothing."


class BaseSVM(Estimator):
    """Base class of all support vector machines."""

    scale: bool = param(
        "boolean",
        default=False,
        doc="Whether to standardise the columns before fitting. Support vectors, Nystroem landmarks, dual coefficients "
        "and margins are then in standardised columns; `coef_` and `intercept_` of a linear kernel remain in the "
        "original ones.",
    )
    verbose: int = param("verbose", default=0)

    columns_: Columns = fitted(doc="Names, categories and number of the columns of the training table.")
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    intercept_: Floats = fitted(doc="Intercepts of the decision functions, one for each binary problem.")
    converged_: bool = fitted(doc="Whether the solver reached `tol` in every binary problem.")
    history_: History = fitted(doc="One row for each iteration of the solver: what it measured.")

    def _read_training(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Any, Floats]:
        """The table as given and the weights; sets `columns_`."""
        columns, result = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
        table = np.ascontiguousarray(result)  # sums over rows in another order have other bits
        reject_values(table, columns, type(self).__name__)
        weight = read_weights(sample_weight, len(table))
        self.columns_ = columns
        return table, np.ones(len(table)) if weight is None else weight

    def _read_table(self, X: Any) -> Any:
        """The table to predict."""
        check_is_fitted(self, "columns_")
        table = np.ascontiguousarray(read_table(self, X))
        reject_values(table, self.columns_, type(self).__name__)
        return table


class BaseKernelParameters(Estimator):
    """The kernel and its parameters."""

    kernel: Any = param(
        one_of(*NAMES),
        callable,
        default="rbf",
        doc="The kernel: a name, an object of `committee.svm.kernel_functions` (kernels can be combined with `+`, `*` "
        "and `**`), or a function of two tables that returns their Gram matrix, or of two rows that returns a number.",
    )
    degree: int = param(at_least(0), default=3, doc='Degree of the "poly" kernel.')
    gamma: Gamma = param(
        one_of("scale", "auto"),
        non_negative,
        default="scale",
        doc='Coefficient of the "rbf", "laplacian", "poly" and "sigmoid" kernels. "scale" is '
        '1 / (n_features * variance of X), "auto" is 1 / n_features.',
    )
    coef0: float = param(
        between(None, None, "neither"), default=0.0, doc='Constant term of the "poly" and "sigmoid" kernels.'
    )
    n_jobs: int | None = param(*N_JOBS, default=None)

    kernel_: Kernel = fitted(doc="The kernel with all its parameters as numbers.")

    def _make_kernel(self) -> Kernel:
        return make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
