"""The nu-SVMs (Schoelkopf, Smola, Williamson and Bartlett, New support vector algorithms, 2000).

nu in (0, 1] takes the place of C, or of epsilon: at most a fraction nu of the rows lies beyond the margin (the tube),
at least a fraction nu are support vectors. The margin rho, or the tube epsilon, is optimised along with w.

    classes       min 1/2 a'Qa                        y'a = 0, sum a = nu sum w,      0 <= a_i <= w_i
    regression    min 1/2 (a - a*)'K(a - a*) - t'(a - a*)    sum (a + a*) = C nu sum w,  0 <= a, a* <= C w_i

with sample weights w. Either way the sums of both signs are fixed. Classes: the solution is divided by rho, so that the
margin is where |f| = 1, and the model equals that of `svc.py` with C = 1 / rho. (Chang and Lin, Training nu-support
vector classifiers, 2001.)
"""

from __future__ import annotations

import warnings

import numpy as np

from committee.base.array_types import Floats
from committee.base.parameters import fitted, fraction, param, positive
from committee.base.stacklevel import level_of_caller
from committee.svm._kernel_base import TrainingData
from committee.svm._kernel_rows import KernelRows
from committee.svm.binary_svm import BinarySVM, make_binary_svm
from committee.svm.smo import Problem, Solution
from committee.svm.svc import BaseSVC
from committee.svm.svr import BaseSVR

MAX_OF_CLASS = 0.99
"""The fraction of the smaller class that may lie beyond the margin if nu requires more: all would leave no margin."""

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
    half = 0.5 * nu * total
    if smaller < half * (1.0 - 1e-12):
        half = MAX_OF_CLASS * smaller
        warnings.warn(
            f"nu={nu:g} is infeasible for a pair of classes of which the smaller has {smaller / total:.3g} of the "
            f"weight. nu={2.0 * half / total:.4g} is used for this pair; set a smaller nu.",
            UserWarning,
            stacklevel=level_of_caller(),
        )
    start = np.zeros(y.size)
    for side in sides:
        start[side] = fill_up(weight[side], half)
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

    nu: float = param(
        fraction,
        default=0.5,
        doc="Upper bound on the fraction of margin errors and lower bound on the fraction of support vectors.",
    )

    def _solve_binary(self, y: Floats, weight: Floats, rows: KernelRows) -> tuple[BinarySVM, Solution]:
        problem = nu_svc_problem(y, weight, self.nu)
        result = self._solve(problem, rows)
        min_rho = NO_MARGIN * float(result.alpha.sum() * np.abs(rows.diagonal).max())
        return make_binary_svm(problem, result, "free", rows.n, min_rho), result


class NuSVR(BaseSVR):
    """Support vector regression with a bound nu on the fraction of rows outside the tube.

    The width of the tube is fitted, as `epsilon_`, instead of being given.

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

    nu: float = param(
        fraction,
        default=0.5,
        doc="Upper bound on the fraction of rows outside the tube and lower bound on the fraction of support vectors.",
    )
    C: float = param(positive, default=1.0, doc="Cost of an error beyond the tube.")

    epsilon_: float = fitted(doc="Half the width of the fitted tube.")

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        return nu_svr_problem(target, self.C * weight, self.nu)

    def _fit_target(self, data: TrainingData, target: Floats) -> BinarySVM:
        svm = super()._fit_target(data, target)
        self.epsilon_ = max(-svm.half_width, 0.0) + 0.0  # no negative zero
        return svm
