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
from committee.svm._kernel_base import BaseKernelMachine
from committee.svm.nu_svm import fill_up
from committee.svm.smo import Problem

ON_BOUNDARY = {"float64": 1e-12, "float32": 2e-6}
"""Of rho: the rounding within which f counts as zero. Free support vectors lie on the boundary, and are no outliers."""


def one_class_problem(weight: Floats, nu: float) -> Problem:
    """The dual problem: one sum over all rows."""
    n = weight.size
    return Problem(np.ones(n), np.zeros(n), weight, np.arange(n), fill_up(weight, nu * float(weight.sum())))


class OneClassSVM(OutlierMixin, BaseKernelMachine):
    """Outliers by a one-class support vector machine.

    Parameters have scikit-learn's names and meanings; `kernel`, `scale`, `shrinking`, `max_iter` and `n_jobs`
    are those of `SVC`.
    ``offset_`` is rho; -``intercept_`` is the same but for a linear kernel with scale=True, where ``coef_`` and
    ``intercept_`` are for the columns as they come.

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
