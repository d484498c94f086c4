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
from committee.svm._binary_svm import Machine, Offset
from committee.svm._kernel_base import BaseKernelMachine, Task
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


class BaseSVR(RegressorMixin, PredictionIntervals, BaseKernelMachine):
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

    def _keep_tube(self, machine: Machine) -> None:
        """What a machine with a tube of its own reports."""

    def predict(self, X: Any) -> Floats:
        """f(x) [n]."""
        return self._values(X)[:, 0]


class SVR(BaseSVR):
    """Support vector regression with a tube of width epsilon (I-6).

    Parameters have scikit-learn's names and meanings; `kernel`, `scale`, `offset`, `shrinking`, `max_iter` and
    `n_jobs` are those of `SVC`. C infinite allows no error beyond the tube, and fails to converge where that cannot be.

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
