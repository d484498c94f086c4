"""The nu-machines (Schoelkopf, Smola, Williamson and Bartlett, New support vector algorithms, 2000).

nu in (0, 1] takes the place of C, or of epsilon: at most a share nu of the rows lies beyond the margin (the tube), at
least a share nu are support vectors. The margin rho, or the tube epsilon, is found along with w.

    classes       min 1/2 a'Qa                        y'a = 0, sum a = nu sum w,      0 <= a_i <= w_i
    regression    min 1/2 (a - a*)'K(a - a*) - t'(a - a*)    sum (a + a*) = C nu sum w,  0 <= a, a* <= C w_i

Either way the sums of both signs are fixed by themselves. Classes: the solution is divided by rho, the margin then is
where |f| = 1, and the machine equals that of `svc.py` with C = 1 / rho. (Chang and Lin, Training nu-support vector
classifiers, 2001.)
"""

from __future__ import annotations

import warnings

import numpy as np

from committee.base.array_types import Floats
from committee.base.parameters import fraction, param, positive
from committee.base.stacklevel import level_of_caller
from committee.svm._binary_svm import BinarySVM, make_binary_svm
from committee.svm._kernel_rows import KernelRows
from committee.svm.smo import Problem, Solution
from committee.svm.svc import BaseSVC
from committee.svm.svr import BaseSVR

MAX_OF_CLASS = 0.99
"""The share of the smaller class that may lie beyond the margin where nu asks for more: all would leave no margin."""

NO_MARGIN = 1e-14
"""Of the sum of a times the largest k(x, x): a margin rho that small is rounding, and f / rho would be noise."""


def fill_up(upper: Floats, total: float) -> Floats:
    """Variables at their bounds one after the other until they add up to `total`; one in between."""
    before = np.concatenate([[0.0], np.cumsum(upper)[:-1]])
    return np.clip(total - before, 0.0, upper)


def nu_svc_problem(y: Floats, weight: Floats, nu: float) -> Problem:
    """The dual problem of classes; y is +1 or -1."""
    sides = (y > 0.0, y < 0.0)
    smaller, total = min(float(weight[side].sum()) for side in sides), float(weight.sum())
    share = 0.5 * nu * total
    if smaller < share * (1.0 - 1e-12):
        share = MAX_OF_CLASS * smaller
        warnings.warn(
            f"nu={nu:g} is infeasible where the smaller of two classes has {smaller / total:.3g} of the weight: its "
            f"rows cannot be so large a share of the errors. Lowered to {2.0 * share / total:.4g} for this pair; lower "
            "nu yourself.",
            UserWarning,
            stacklevel=level_of_caller(),
        )
    start = np.zeros(y.size)
    for side in sides:
        start[side] = fill_up(weight[side], share)
    return Problem(y, np.zeros(y.size), weight, np.arange(y.size), start, is_by_class=True)


def nu_svr_problem(target: Floats, upper: Floats, nu: float) -> Problem:
    """The dual problem of regression; the first n variables are a, the others a*."""
    n = target.size
    start = fill_up(upper, 0.5 * nu * float(upper.sum()))
    return Problem(
        np.repeat([1.0, -1.0], n), np.concatenate([-target, target]), np.tile(upper, 2), np.tile(np.arange(n), 2),
        np.tile(start, 2), is_by_class=True,
    )  # fmt: skip


class NuSVC(BaseSVC):
    """Support vector classifier with a bound nu on the fraction of margin errors.

    Instead of the cost C, `nu` bounds the fraction of rows inside the margin from above and the fraction of support
    vectors from below. There is no `class_weight`: both classes have the same sum of coefficients whatever their
    weights.

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
    multi_class : "ovo" or "ovr", default="ovo"
        One binary SVM for each pair of classes, or one for each class against the rest.
    decision_function_shape : "ovo" or "ovr", default="ovr"
        For more than two classes: one value per pair of classes, or one per class.
    break_ties : bool, default=True
        Break ties of the votes of pairs by the decision values, so that `predict` is the largest value of
        `decision_function`. False takes the first class.
    probability : bool, default=False
        Calibrate probabilities by five more fits, for `predict_proba`. Unlike those of scikit-learn, they always agree
        with `predict`.
    random_state : int, Generator, RandomState or None, default=None
        Shuffles the folds of the calibration. None makes folds from the values of the rows, the same in every run.
    nu : float, default=0.5
        Upper bound on the fraction of margin errors and lower bound on the fraction of support vectors, in (0, 1].

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors, multiplied by their labels.
    coef_ : ndarray of shape (n_binary, n_features)
        Weights of the columns, for a linear kernel only.
    intercept_ : ndarray of shape (n_binary,)
        Intercepts of the decision functions.
    kernel_ : Kernel
        The kernel with all its parameters as numbers.
    binary_svms_ : tuple of BinarySVM
        The solution of each binary problem: margin, free and bounded support vectors, objective, duality gap and KKT
        gap.
    class_weight_ : ndarray of shape (n_classes,)
        Factor of the cost of each class.
    platt_ : PlattScaling or None
        Slopes of the calibrated probabilities, None without `probability`.
    probA_ : ndarray
        A of Platt's sigmoid 1 / (1 + exp(A f + B)), one for each slope; empty without `probability`.
    probB_ : ndarray
        B of Platt's sigmoid, always 0.
    history_ : History
        A row for every outer step of the solver: objective, KKT gap and number of support vectors.
    converged_ : bool
        Whether every binary problem reached `tol`.
    kkt_gap_ : float
        Largest violation of the optimality conditions.
    fit_status_ : int
        0 if the solver converged, else 1.
    n_iter_ : ndarray of shape (n_binary,)
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
    Schoelkopf, B., Smola, A. J., Williamson, R. C. and Bartlett, P. L. (2000). New support vector algorithms. Neural
    Computation 12, 1207-1245.

    Examples
    --------
    >>> from committee import NuSVC
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = NuSVC(nu=0.3, scale=True).fit(sonar.X, sonar.y)
    >>> model.n_support_.tolist(), round(model.score(sonar.X, sonar.y), 3)
    ([74, 66], 1.0)
    """

    nu: float = param(fraction, default=0.5)

    def _machine(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        problem = nu_svc_problem(y, weight, self.nu)
        result = self._solve(problem, rows)
        least_rho = NO_MARGIN * float(result.alpha.sum() * np.abs(rows.diagonal).max())
        return make_binary_svm(problem, result, "free", rows.n, least_rho), result


class NuSVR(BaseSVR):
    """Support vector regression with a bound nu on the fraction of rows outside the tube.

    The width of the tube is found in the fit, as `epsilon_`, instead of being given.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond the tube.
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
        Upper bound on the fraction of rows outside the tube and lower bound on the fraction of support vectors, in (0,
        1].

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube that was found.
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
    Schoelkopf, B., Smola, A. J., Williamson, R. C. and Bartlett, P. L. (2000). New support vector algorithms. Neural
    Computation 12, 1207-1245.

    Examples
    --------
    >>> from committee import NuSVR
    >>> from committee.datasets import load_dataset
    >>> import numpy as np
    >>> ozone = load_dataset("ozone")
    >>> rows = ~np.isnan(ozone.X).any(axis=1)
    >>> X, y = ozone.X[rows], ozone.y[rows]
    >>> model = NuSVR(C=10.0, nu=0.5, scale=True).fit(X, y)
    >>> round(model.epsilon_, 3), round(model.score(X, y), 3)
    (1.058, 0.892)
    """

    nu: float = param(fraction, default=0.5)
    C: float = param(positive, default=1.0)

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        return nu_svr_problem(target, self.C * weight, self.nu)

    def _keep_tube(self, machine: BinarySVM) -> None:
        self.epsilon_ = max(-machine.half_width, 0.0) + 0.0  # no negative zero
