"""The kernel expansion f_m(x) = sum_i c_im k(s_i, x) + b_m over support vectors s_i, for many rows at a time.

Rounding of float32 grows with the coefficients, and with C. The fastest sufficient precision is used:

    float32 kernel values and sums       if k is at most 1 and sum_i |c_i| eps at most TOLERANCE of the margin
    float32 kernel values, float64 sums  otherwise
    float64                              if the points are float64: `choose_precision` measures the error of float32
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.threads import n_threads, run
from committee.svm.kernel_algebra import Kernel, Points
from committee.svm.kernel_functions import Gaussian, Laplacian, Sigmoid

ROWS, COLUMNS = 256, 1024
"""A tile of the Gram matrix; fixed, so that threads change no bit."""

TOLERANCE = 1e-4
"""Maximum error of f, of the margin (|f| = 1): a tenth of the tolerance that SVMs are trained to."""

SAMPLE, SAFETY = 64, 4.0
"""Training rows on which float32 kernel values are compared, and the factor by which other rows may be worse."""


class Expansion(NamedTuple):
    """Support vectors as points of a settled kernel, and the coefficients of M sums over them."""

    kernel: Kernel
    points: Points  # [m]
    coef: Floats  # [m, M]
    offset: Floats  # [M]

    def values(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """f(x) of every row, [n, M]."""
        out = np.empty((len(X), self.offset.size))
        coef = np.ascontiguousarray(self.coef, self._sums())
        points = self.points
        if not points.place.flags.writeable:  # of a model in mapped memory: kernels would be compiled again for it
            points = points.take(np.arange(points.n))
        rights = [points.take(slice(start, start + COLUMNS)) for start in range(0, points.n, COLUMNS)]
        calls = [(X[start : start + ROWS], rights, coef, out[start : start + ROWS]) for start in range(0, len(X), ROWS)]
        work = len(X) * max(self.points.n, 1) * (8 + self.offset.size)
        with one_blas_thread():
            run(self._fill, calls, n_threads(n_jobs, work))
        return out

    def _sums(self) -> Any:
        """The dtype of the sums of products with coefficients."""
        dtype = self.points.values.dtype
        if dtype == np.float64 or not self.points.n:
            return dtype
        if not isinstance(self.kernel, Gaussian | Laplacian | Sigmoid):  # others may exceed 1
            return np.float64
        total = float(np.abs(self.coef).sum(axis=0).max())
        return dtype if total * float(np.finfo(np.float32).eps) <= TOLERANCE else np.float64

    def _fill(self, X: Floats, rights: list[Points], coef: NDArray[Any], out: Floats) -> None:
        dtype: Any = self.points.values.dtype.type
        left = self.kernel.points(X, dtype)
        out[:] = self.offset
        room = np.empty(left.n * COLUMNS, left.values.dtype)
        for k, right in enumerate(rights):
            block = room[: left.n * right.n].reshape(left.n, right.n)
            self.kernel.fill(left, right, block)
            out += block.astype(coef.dtype, copy=False) @ coef[k * COLUMNS : k * COLUMNS + right.n]


def choose_precision(exact: Expansion, single: Points, X: Floats, unit: float, n_jobs: int | None) -> Expansion:
    """The expansion over float32 points if it differs from the exact one by little of `unit` on training rows X."""
    some = X[:: -(-len(X) // SAMPLE)]
    fast = exact._replace(points=single)
    error = float(np.abs(fast.values(some, n_jobs) - exact.values(some, n_jobs)).max(initial=0.0))
    return fast if SAFETY * error <= TOLERANCE * unit else exact
