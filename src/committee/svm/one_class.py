"""The one-class SVM (Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001): where most rows lie.

    min 1/2 |w|^2 + sum_i w_i max(0, rho - w phi(x_i)) - rho nu sum w
    dual: min 1/2 a'Ka,    sum a = nu sum w,  0 <= a_i <= w_i

f(x) = sum a_i k(x_i, x) - rho is negative for at most a fraction nu of the training rows, and at least a fraction
nu are support vectors. A row counts as an outlier where f < 0.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from committee.base.array_types import Floats
from committee.base.parameters import fitted, fraction, param
from committee.base.transaction import all_or_nothing
from committee.svm._kernel_base import BaseKernelSVM
from committee.svm.nu_svm import fill_up
from committee.svm.smo import Problem

ON_BOUNDARY = {"float64": 1e-12, "float32": 2e-6}
"""Of rho: rounding within which f is zero. Free support vectors lie on the boundary and are not outliers."""


def one_class_problem(weight: Floats, nu: float) -> Problem:
    """The dual problem: one sum over all rows."""
    n = weight.size
    return Problem(np.ones(n), np.zeros(n), weight, np.arange(n), fill_up(weight, nu * float(weight.sum())))


class OneClassSVM(OutlierMixin, BaseKernelSVM):
    """Outlier detection by a one-class support vector machine.

    The decision function is negative for at most a fraction `nu` of the training rows. Rows on the boundary count as
    inside.

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

    nu: float = param(
        fraction,
        default=0.5,
        doc="Upper bound on the fraction of outliers among the training rows and lower bound on the fraction of "
        "support vectors.",
    )

    intercept_: Floats = fitted(
        doc="Intercept of the decision function. It is `-offset_`, except for a linear kernel with `scale=True`, whose "
        "`coef_` and `intercept_` are for the original columns."
    )
    offset_: Floats = fitted(doc="Offset rho of the boundary: `decision_function` is `score_samples` minus it.")

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, d]; y is ignored."""
        self._validate_params()
        with all_or_nothing(self):
            data = self._prepare(*self._read_training(X, sample_weight))
            self._train(data, one_class_problem(data.weight, self.nu))
            self.offset_ = -self._expansion.offset
        return self

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n], negative for outliers; values within rounding of zero are zero."""
        values = self._values(X)[:, 0]
        near = ON_BOUNDARY[self._expansion.points.values.dtype.name] * float(np.abs(self.offset_[0]))
        return np.where(np.abs(values) <= near, 0.0, values)

    def score_samples(self, X: Any) -> Floats:
        """sum a_i k(x_i, x) [n], without the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows inside the boundary, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
