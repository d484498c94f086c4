"""Support vector regression (Drucker et al. 1997; Vapnik, The nature of statistical learning theory, 1995).

    min 1/2 |w|^2 + C sum_i max(0, |t_i - f(x_i)| - epsilon),    f(x) = w phi(x) + b

A tube of width epsilon around f costs nothing. The dual problem has two variables a row, one for each side of the tube,

    min 1/2 (a - a*)'K(a - a*) + sum (epsilon - t_i) a_i + sum (epsilon + t_i) a*_i

with sum a = sum a*, 0 <= a, a* <= C w_i and f(x) = sum (a_i - a*_i) k(x_i, x) + b: the problem of `smo.py` with y = +1
for a and -1 for a*, both sharing a kernel row.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from committee.base.array_types import Floats
from committee.base.parameters import non_negative, one_of, param, positive_or_infinite
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.svm._binary_svm import BinarySVM, Offset
from committee.svm._kernel_base import BaseKernelSVM, Task
from committee.svm.smo import Problem
from committee.tabular.validation import read_one_target


def svr_problem(target: Floats, upper: Floats, epsilon: float, start: Floats | None = None) -> Problem:
    """The dual problem of the tube; the first n variables are a, the others a*."""
    n = target.size
    return Problem(
        np.repeat([1.0, -1.0], n),
        np.concatenate([epsilon - target, epsilon + target]),
        np.tile(upper, 2),
        np.tile(np.arange(n), 2),
        np.zeros(2 * n) if start is None else start,
    )


class BaseSVR(RegressorMixin, PredictionIntervals, BaseKernelSVM):
    """A machine whose answer is a number."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] (the Gram matrix [n, n] where kernel="precomputed") and numbers y.

        `sample_weight` counts rows: 2 is a row that is there twice.
        """
        self._validate_params()
        with all_or_nothing(self):
            table, weight = self._read(X, sample_weight)
            target = self._read_target(y, len(table))
            task = self._prepare(table, weight)
            self._learn(task, target[task.kept])
        return self

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        raise NotImplementedError

    def _learn(self, task: Task, target: Floats) -> None:
        self._keep_tube(self._train(task, self._problem(target, task.weight)))

    def _keep_tube(self, machine: BinarySVM) -> None:
        """What a machine with a tube of its own reports."""

    def predict(self, X: Any) -> Floats:
        """f(x) [n]."""
        return self._values(X)[:, 0]


class SVR(BaseSVR):
    """Support vector regression with a tube of width epsilon.

    Errors smaller than `epsilon` cost nothing, larger ones in proportion to their size.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond the tube. `inf` allows none; the solver does not converge where that is impossible.
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
    offset : "free" or "both", default="free"
        How the intercept is computed: the mean over all free support vectors, or half the sum of the means over those
        of either class.
    epsilon : float, default=0.1
        Half the width of the tube around the prediction within which errors cost nothing.

    Attributes
    ----------
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
        Intercept of the prediction.
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
    Drucker, H., Burges, C. J. C., Kaufman, L., Smola, A. and Vapnik, V. (1997). Support vector regression machines.
    NIPS 9, 155-161.

    Examples
    --------
    >>> from committee import SVR
    >>> from committee.datasets import load_dataset
    >>> import numpy as np
    >>> ozone = load_dataset("ozone")
    >>> rows = ~np.isnan(ozone.X).any(axis=1)
    >>> X, y = ozone.X[rows], ozone.y[rows]
    >>> model = SVR(C=10.0, epsilon=1.0, scale=True).fit(X, y)
    >>> len(model.support_), round(model.score(X, y), 3)
    (151, 0.892)
    """

    C: float = param(positive_or_infinite, default=1.0)
    epsilon: float = param(non_negative, default=0.1)
    offset: Offset = param(one_of("free", "both"), default="free")

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        return svr_problem(target, self.C * weight, self.epsilon)
