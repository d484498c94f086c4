"""User-defined Python functions, compiled to loops over arrays.

A compiled function that calls another one cannot be cached on disk, so each of these is compiled once in every process.
The exp, log and log1p of `math` and NumPy in it become those of exp_log.py: a loop with calls into the C library
is not turned into vector code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from committee.base.jit import compiled_whole, part
from committee.kernels.boosting.derivatives import BLOCK, total_of, total_sizes
from committee.kernels.exp_log import exp_of_any, log1p_of_any, log_of_any

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


@part
def log_to_base(x, base=math.e):
    """math.log, which takes a base too."""
    return log_of_any(x) if base == math.e else log_of_any(x) / log_of_any(base)


VECTOR_FORMS: dict[Any, Any] = {
    math.exp: exp_of_any, math.log: log_to_base, math.log1p: log1p_of_any,
    np.exp: exp_of_any, np.log: log_of_any, np.log1p: log1p_of_any,
}  # fmt: skip


@cache
def _with_vector_forms(module: ModuleType) -> ModuleType:
    """A copy of `math` or NumPy whose exp, log and log1p are the engine's."""
    copy = ModuleType(module.__name__)
    copy.__dict__.update(module.__dict__)
    copy.__dict__.update({name: VECTOR_FORMS[getattr(module, name)] for name in ("exp", "log", "log1p")})
    return copy


def _compile_function(function: Any) -> Any:
    """A user's function as numba's, unless it is one already."""
    if hasattr(function, "py_func"):
        return function
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        result = scope.get(name)
        if result is math or result is np:
            scope[name] = _with_vector_forms(result)
        elif getattr(result, "__hash__", None) and result in VECTOR_FORMS:  # from math import exp
            scope[name] = VECTOR_FORMS[result]
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    return _njit(nogil=True, error_model="numpy", forceinline=True)(copy)


@lru_cache(maxsize=64)
def _compile(function: Any) -> ArrayLoop:
    one = _compile_function(function)

    def loop(values: Any, out: Any) -> None:
        for i in range(values.size):
            out[i] = one(values[i])

    compiled = compiled_whole(_njit(nogil=True, error_model="numpy")(loop))
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


class UserLoss:
    """A user's loss of (y, score) as compiled loops.

    value, gradient and hessian are functions of two floats; gradient and hessian are those of the loss by the score.
    Without them they are taken by central differences of the value, in the same loop.
    """

    def __init__(self, value: LossFunction, gradient: LossFunction | None, hessian: LossFunction | None) -> None:
        self.name = getattr(value, "__name__", "custom")
        given = [function for function in (value, gradient, hessian) if function is not None]
        for function in given:
            if not isinstance(function, FunctionType) and not hasattr(function, "py_func"):
                raise ValueError(
                    f"{function!r} is not a plain Python function of (y, score): wrap it, as in "
                    "`def loss(y, score): return (y - score) ** 2`."
                )
        if (gradient is None) != (hessian is None):
            raise ValueError("A custom loss must be a function, or three functions: (value, gradient, hessian).")
        self._values, self._fill, self._total = _compile_loss(value, gradient, hessian)

    def values(self, y: NDArray[np.float64], score: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """The loss of every row."""
        self._values(y, score, out)

    def fill(
        self,
        y: NDArray[np.float64],
        score: NDArray[np.float64],
        values: NDArray[np.float64],
        weight: NDArray[np.float64],
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        sums: NDArray[np.float64],
    ) -> None:
        """Negative gradients and hessians into g and h; weighted sums of `values`, |g| and h by blocks into sums."""
        self._fill(y, score, values, weight, g, h, sums)

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


def _given(first: Any, second: Any) -> Any:
    """A loop that fills negative gradients and hessians by the user's functions."""

    def slopes(y: Any, score: Any, values: Any, g: Any, h: Any) -> None:
        for i in range(y.size):
            g[i] = -first(y[i], score[i])
            h[i] = max(second(y[i], score[i]), 0.0)

    return _njit(nogil=True, error_model="numpy")(slopes)


def _differences(loss: Any) -> Any:
    """The same by central differences of the loss, with its values in `values`."""

    def slopes(y: Any, score: Any, values: Any, g: Any, h: Any) -> None:
        for i in range(y.size):
            e = LOSS_STEP * max(abs(score[i]), 1.0)
            g[i] = loss(y[i], score[i] + e)
            h[i] = loss(y[i], score[i] - e)
        for i in range(y.size):
            e = LOSS_STEP * max(abs(score[i]), 1.0)
            above, here, below = g[i], values[i], h[i]
            g[i] = (below - above) / (2.0 * e)
            h[i] = max((above - here) + (below - here), 0.0) / (e * e)

    return _njit(nogil=True, error_model="numpy")(slopes)


LossFunction = Callable[[float, float], float]
LOSS_STEP = 1e-4
"""Relative step of the differences: the second one then errs by about 1e-8 of the loss."""


@lru_cache(maxsize=64)
def _compile_loss(value: Any, gradient: Any, hessian: Any) -> tuple[Any, ...]:
    loss = _compile_function(value)
    slopes = _differences(loss) if gradient is None else _given(_compile_function(gradient), _compile_function(hessian))

    # Few arrays in a loop: each is checked for overlap with the others before vector code may run.
    def values(y: Any, score: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = loss(y[i], score[i])

    def fill(y: Any, score: Any, values: Any, weight: Any, g: Any, h: Any, sums: Any) -> None:
        scratch = np.empty(BLOCK)
        for block in range(sums.shape[0]):
            first, last = block * BLOCK, min((block + 1) * BLOCK, y.size)
            g_here, h_here, w = g[first:last], h[first:last], weight[first:last]
            slopes(y[first:last], score[first:last], values[first:last], g_here, h_here)
            sums[block, 0] = total_of(values[first:last], w)
            total_sizes(g_here, h_here, w, scratch, sums[block])

    def total(y: Any, score: Any, weight: Any, rows: Any, step: Any) -> Any:
        summed = 0.0
        for i in range(rows.size):
            row = rows[i]
            w = weight[row] if weight.size > 0 else 1.0
            summed += w * loss(y[row], score[row] + step)
        return summed

    floats = "float64[::1]"
    signatures = (
        f"void({', '.join([floats] * 3)})",
        f"void({', '.join([floats] * 6)}, float64[:, ::1])",
        f"float64({floats}, {floats}, {floats}, uint32[::1], float64)",
    )
    loops = tuple(compiled_whole(_njit(nogil=True, error_model="numpy")(loop)) for loop in (values, fill, total))
    try:
        for loop, signature in zip(loops, signatures, strict=True):
            loop.compile(signature)
    except Exception as error:
        first_lines = " ".join(str(error).split())[:300]
        raise ValueError(
            f"numba cannot compile {getattr(value, '__name__', value)!r} and its derivatives as functions of two "
            "floats (y, score) that return a float: use only arithmetic, `math` and NumPy functions of numbers, "
            f"comparisons and if; no objects, strings or array methods. Numba says: {first_lines}"
        ) from error
    return loops
