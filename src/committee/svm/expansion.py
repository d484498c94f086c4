"""The kernel expansion f_m(x) = sum_i c_im k(s_i, x) + b_m over support vectors s_i, for many rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.blas_threads import one_blas_thread
from committee.base.threads import n_threads, run
from committee.svm.kernel_functions import Kernel, Points

Floats = NDArray[np.float64]

ROWS, COLUMNS = 256, 1024
"""A tile of the Gram matrix; fixed, so that threads change no bit."""


class Expansion(NamedTuple):
    """Support vectors as points of a settled kernel, and the coefficients of M sums over them."""

    kernel: Kernel
    points: Points  # [m]
    coef: Floats  # [m, M]
    offset: Floats  # [M]

    def values(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """f(x) of every row, [n, M]."""
        out = np.empty((len(X), self.offset.size))
        coef = np.ascontiguousarray(self.coef, self.points.values.dtype)
        points = self.points
        if not points.place.flags.writeable:  # of a model in mapped memory: kernels would be compiled anew for it
            points = points.take(np.arange(points.n))
        rights = [points.take(slice(start, start + COLUMNS)) for start in range(0, points.n, COLUMNS)]
        calls = [(X[start : start + ROWS], rights, coef, out[start : start + ROWS]) for start in range(0, len(X), ROWS)]
        work = len(X) * max(self.points.n, 1) * (8 + self.offset.size)
        with one_blas_thread():
            run(self._fill, calls, n_threads(n_jobs, work))
        return out

    def _fill(self, X: Floats, rights: list[Points], coef: NDArray[Any], out: Floats) -> None:
        dtype: Any = self.points.values.dtype.type
        left = self.kernel.points(X, dtype)
        out[:] = self.offset
        room = np.empty(left.n * COLUMNS, left.values.dtype)
        for k, right in enumerate(rights):
            block = room[: left.n * right.n].reshape(left.n, right.n)
            self.kernel.fill(left, right, block)
            out += block @ coef[k * COLUMNS : k * COLUMNS + right.n]
