"""Functions that a user wrote in Python, as loops of machine code over arrays.

A compiled function that calls another one cannot be kept on disk, so each of these is compiled once in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ArrayLoop = Callable[[NDArray[np.float64], NDArray[np.float64]], None]
"""loop(values, out): fills out, which is changed in place, from values of the same length; both contiguous."""

_njit: Any = numba.njit
_SIGNATURE = "void(float64[::1], float64[::1])"


def compile_elementwise(function: Callable[[float], float]) -> ArrayLoop:
    """Compile out[i] = function(values[i]) for all i, without the GIL; 1 / 0 is infinite, as in NumPy.

    What the function reads from outside itself is a constant of the compiled code: as it was at the first call.

    >>> def square(x): return x * x
    >>> out = np.empty(3)
    >>> compile_elementwise(square)(np.array([1.0, 2.0, 3.0]), out)
    >>> out.tolist()
    [1.0, 4.0, 9.0]
    """
    if not isinstance(function, FunctionType) and not hasattr(function, "py_func"):  # numba's own have a py_func
        raise ValueError(
            f"{function!r} is not a plain Python function: wrap it, as in `def loss(m): return math.exp(-m)`."
        )
    return _compile(function)


@lru_cache(maxsize=64)
def _compile(function: Any) -> ArrayLoop:
    one = function if hasattr(function, "py_func") else _njit(nogil=True, error_model="numpy")(function)

    def loop(values: Any, out: Any) -> None:
        for i in range(values.size):
            out[i] = one(values[i])

    compiled = _njit(nogil=True, error_model="numpy")(loop)
    try:
        compiled.compile(_SIGNATURE)
    except Exception as error:  # numba refuses code with exceptions of many kinds; the user's code does not run here
        first_lines = " ".join(str(error).split())[:300]
        raise ValueError(
            f"numba cannot compile {getattr(function, '__name__', function)!r} as a function of one float that returns "
            "a float: use only arithmetic, `math` and NumPy functions of numbers, comparisons and if; no objects, "
            f"strings or array methods. Numba says: {first_lines}"
        ) from error
    return compiled


class OwnLoss:
    """A user's loss of (y, score) as compiled loops.

    value, gradient and hessian are functions of two floats; gradient and hessian are those of the loss by the score.
    Without them they are taken by central differences of the value, in the same loop.
    """

    def __init__(self, value: LossFunction, gradient: LossFunction | None, hessian: LossFunction | None) -> None:
        self.name = getattr(value, "__name__", "own")
        given = [function for function in (value, gradient, hessian) if function is not None]
        for function in given:
            if not isinstance(function, FunctionType) and not hasattr(function, "py_func"):
                raise ValueError(
                    f"{function!r} is not a plain Python function of (y, score): wrap it, as in "
                    "`def loss(y, score): return (y - score) ** 2`."
                )
        if (gradient is None) != (hessian is None):
            raise ValueError("A loss of your own is a function, or three: (value, gradient, hessian).")
        self._fill, self._total = _compile_loss(value, gradient, hessian)

    def fill(
        self,
        y: NDArray[np.float64],
        score: NDArray[np.float64],
        weight: NDArray[np.float64],
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> None:
        """Negative gradients and hessians into g and h; weighted sums of loss, |g| and h by blocks into sums."""
        self._fill(y, score, weight, g, h, sums)

    def total(
        self,
        y: NDArray[np.float64],
        score: NDArray[np.float64],
        weight: NDArray[np.float64],
        rows: NDArray[np.uint32],
        step: float,
    ) -> float:
        """Weighted loss of some rows when every score moves by `step`."""
        return self._total(y, score, weight, rows, step)


LossFunction = Callable[[float, float], float]
LOSS_STEP = 1e-4
"""Relative step of the differences: the second one then errs by about 1e-8 of the loss."""

LOSS_BLOCK = 4096
"""Rows summed by themselves, in the losses of the library (kernels/derivatives.py) as in a user's own."""


@lru_cache(maxsize=64)
def _compile_loss(value: Any, gradient: Any, hessian: Any) -> tuple[Any, Any]:
    def compiled(function: Any) -> Any:
        return function if hasattr(function, "py_func") else _njit(nogil=True, error_model="numpy")(function)

    loss = compiled(value)
    if gradient is None:

        def slopes(y: Any, s: Any) -> Any:
            e = LOSS_STEP * max(abs(s), 1.0)
            here, above, below = loss(y, s), loss(y, s + e), loss(y, s - e)
            return here, (below - above) / (2.0 * e), max((above - here) + (below - here), 0.0) / (e * e)
    else:
        first, second = compiled(gradient), compiled(hessian)

        def slopes(y: Any, s: Any) -> Any:
            return loss(y, s), -first(y, s), max(second(y, s), 0.0)

    one = _njit(nogil=True, error_model="numpy")(slopes)

    def fill(y: Any, score: Any, weight: Any, g: Any, h: Any, sums: Any) -> None:
        for block in range(sums.shape[0]):
            total = size = bend = 0.0
            for i in range(block * LOSS_BLOCK, min((block + 1) * LOSS_BLOCK, y.size)):
                loss_here, g_here, h_here = one(y[i], score[i])
                w = weight[i] if weight.size > 0 else 1.0
                g[i] = g_here
                h[i] = h_here
                total += w * loss_here
                size += w * abs(g_here)
                bend += w * h_here
            sums[block, 0] = total
            sums[block, 1] = size
            sums[block, 2] = bend

    def total(y: Any, score: Any, weight: Any, rows: Any, step: Any) -> Any:
        summed = 0.0
        for i in range(rows.size):
            row = rows[i]
            w = weight[row] if weight.size > 0 else 1.0
            summed += w * loss(y[row], score[row] + step)
        return summed

    floats = "float64[::1]"
    loops = _njit(nogil=True, error_model="numpy")(fill), _njit(nogil=True, error_model="numpy")(total)
    try:
        loops[0].compile(f"void({floats}, {floats}, {floats}, {floats}, {floats}, float64[:, ::1])")
        loops[1].compile(f"float64({floats}, {floats}, {floats}, uint32[::1], float64)")
    except Exception as error:
        first_lines = " ".join(str(error).split())[:300]
        raise ValueError(
            f"numba cannot compile {getattr(value, '__name__', value)!r} and its derivatives as functions of two "
            "floats (y, score) that return a float: use only arithmetic, `math` and NumPy functions of numbers, "
            f"comparisons and if; no objects, strings or array methods. Numba says: {first_lines}"
        ) from error
    return loops
