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
