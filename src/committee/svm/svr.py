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
from committee.svm._base import EPSILON
from committee.svm._kernel_base import OFFSET, BaseKernelSVM, TrainingData
from committee.svm.binary_svm import BinarySVM, Offset
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
    """Base class of the kernel regressors."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, d] (the Gram matrix [n, n] with kernel="precomputed") and continuous targets y.

        An integer `sample_weight` w is equivalent to repeating the row w times.
        """
        self._validate_params()
        with all_or_nothing(self):
            table, weight = self._read_training(X, sample_weight)
            target = self._read_target(y, len(table))
            data = self._prepare(table, weight)
            self._fit_target(data, target[data.kept])
        return self

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def _fit_target(self, data: TrainingData, target: Floats) -> BinarySVM:
        return self._train(data, self._problem(target, data.weight))

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """f(x) [n]."""
        return self._values(X)[:, 0]


class SVR(BaseSVR):
    """Support vector regression with a tube of width epsilon.

    Errors smaller than `epsilon` cost nothing, larger ones in proportion to their size.

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

    C: float = param(
        positive_or_infinite,
        default=1.0,
        doc="Cost of an error beyond the tube. `inf` allows none; the solver does not converge where that is "
        "impossible.",
    )
    epsilon: float = param(non_negative, default=0.1, doc=EPSILON)
    offset: Offset = param(one_of("free", "both"), default="free", doc=OFFSET)

    def _problem(self, target: Floats, weight: Floats) -> Problem:
        return svr_problem(target, self.C * weight, self.epsilon)
