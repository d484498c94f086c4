"""The one-class machine (Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001): where most rows lie.

    min 1/2 |w|^2 + sum_i w_i max(0, rho - w phi(x_i)) - rho nu sum w
    dual: min 1/2 a'Ka,    sum a = nu sum w,  0 <= a_i <= w_i

f(x) = sum a_i k(x_i, x) - rho is negative for at most a share nu of the training rows, and at least a share nu are
support vectors. A row counts as an outlier where f < 0.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from committee.base.array_types import Floats
from committee.base.parameters import fraction, param
from committee.base.transaction import all_or_nothing
from committee.svm._kernel_base import BaseKernelSVM
from committee.svm.nu_svm import fill_up
from committee.svm.smo import Problem

ON_BOUNDARY = {"float64": 1e-12, "float32": 2e-6}
"""Of rho: the rounding within which f counts as zero. Free support vectors lie on the boundary, and are no outliers."""


def one_class_problem(weight: Floats, nu: float) -> Problem:
    """The dual problem: one sum over all rows."""
    n = weight.size
    return Problem(np.ones(n), np.zeros(n), weight, np.arange(n), fill_up(weight, nu * float(weight.sum())))


class OneClassSVM(OutlierMixin, BaseKernelSVM):
    """Outlier detection by a one-class support vector machine.

    The decision function is negative for at most a fraction `nu` of the training rows. Rows on the boundary count as
    inside.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        The kernel: "linear", "poly", "rbf" (or "gaussian"), "laplacian", "sigmoid", "precomputed", an object of
        `committee.svm.kernel_functions` (which can be combined with `+`, `*` and `**`), or a function of two tables
        (their Gram matrix) or of two rows (a number).
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the "rbf", "laplacian", "poly" and "sigmoid" kernels. "scale" is 1 / (n_features * variance of
        X), "auto" 1 / n_features.
    coef0 : float, default=0.0
        Constant term of the "poly" and "sigmoid" kernels.
    shrinking : bool, default=True
        Restrict late steps to the variables that may still change, where the cache is too small for all kernel rows.
        The optimum is the same up to `tol`.
    tol : float, default=0.001
        Tolerance of the optimality (KKT) conditions at which the solver stops.
    cache_size : float, default=200.0
        Memory for kernel rows in megabytes.
    max_iter : int, default=-1
        Largest number of steps of the solver. With -1 it stops after 10,000,000 steps (100 per variable, if that is
        more).
    scale : bool, default=False
        Standardise the columns before fitting. Support vectors, dual coefficients and margins are then in standardised
        columns; `coef_` and `intercept_` of a linear kernel remain in the original ones.
    n_jobs : int or None, default=None
        Number of threads; -1 is all processors, None one thread or what the surrounding code allows. The model is the
        same for any number.
    verbose : int, default=0
        Show progress if larger than 0.
    nu : float, default=0.5
        Upper bound on the fraction of outliers among the training rows and lower bound on the fraction of support
        vectors, in (0, 1].

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        Offset rho of the boundary: `decision_function` is `score_samples` minus it.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the columns, for a linear kernel only.
    intercept_ : ndarray of shape (1,)
        Intercept of the decision function. It is `-offset_`, except for a linear kernel with `scale=True`, where
        `coef_` and `intercept_` are for the original columns.
    kernel_ : Kernel
        The kernel with all its parameters as numbers.
    binary_svms_ : tuple of BinarySVM
        The solution of the problem: free and bounded support vectors, objective, duality gap and KKT gap.
    history_ : History
        A row for every outer step of the solver: objective, KKT gap and number of support vectors.
    converged_ : bool
        Whether the solver reached `tol`.
    kkt_gap_ : float
        Largest violation of the optimality conditions.
    fit_status_ : int
        0 if the solver converged, else 1.
    n_iter_ : int
        Number of steps of the solver.
    shape_fit_ : tuple of int
        Shape of the training table.
    columns_ : Columns
        Names, categories and number of the columns of the training table.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the training table has names that are strings.

    References
    ----------
    Schoelkopf, B., Platt, J. C., Shawe-Taylor, J., Smola, A. J. and Williamson, R. C. (2001). Estimating the support of
    a high-dimensional distribution. Neural Computation 13, 1443-1471.

    Examples
    --------
    >>> from committee import OneClassSVM
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = OneClassSVM(nu=0.1, scale=True).fit(sonar.X)
    >>> float(round((model.predict(sonar.X) < 0).mean(), 3))
    0.014
    """

    nu: float = param(fraction, default=0.5)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn where the rows of X lie; y is not looked at."""
        self._validate_params()
        with all_or_nothing(self):
            table, weight = self._read(X, sample_weight)
            task = self._prepare(table, weight)
            self._train(task, one_class_problem(task.weight, self.nu))
            self.offset_ = -self._expansion.offset
        return self

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n], negative for outliers; zero where rounding cannot tell it from zero."""
        values = self._values(X)[:, 0]
        near = ON_BOUNDARY[self._expansion.points.values.dtype.name] * float(np.abs(self.offset_[0]))
        return np.where(np.abs(values) <= near, 0.0, values)

    def score_samples(self, X: Any) -> Floats:
        """sum a_i k(x_i, x) [n], without the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 inside, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
