"""exp and log as short polynomials, which the compiler turns into vector code; both are right to about 1e-15.

The library's own exp and log are calls, one number at a time; a round of boosting has one or two for every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from committee.base.jit import part

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # the leading bits of ln 2, so that k * LN2_HIGH is exact
LN2_LOW = 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2**52: added to a number, it leaves the nearest integer in the last bits
ROUND_BITS = np.int64(0x4338000000000000)
ONE_BITS = np.int64(1023)
MANTISSA = np.int64(52)
LN2 = 0.6931471805599453
SQRT_HALF = 0.70710678118654752440


@intrinsic
def _as_bits(typing_context, x):
    """The 64 bits of a float64 as an integer."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context, bits):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


as_bits: Any = _as_bits
from_bits: Any = _from_bits


@part
def nearest(x):
    """The nearest integer to x, |x| < 2**51."""
    return as_bits(x + ROUND) - ROUND_BITS


@part
def exp(x):
    """e^x, with x cut to [-700, 700]: exp(x) = 2^k exp(r), |r| <= ln(2) / 2."""
    x = min(max(x, -700.0), 700.0)
    rounded = x * LOG2_E + ROUND
    k = rounded - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * from_bits((as_bits(rounded) + ONE_BITS) << MANTISSA)


@part
def log_1_to_2(x):
    """ln x for 1 <= x <= 2, by ln x = 2 artanh(s), s = (x - 1) / (x + 1), after a division by sqrt(2) for large x."""
    is_large = x > 1.4142135623730951
    y = x * SQRT_HALF if is_large else x
    offset = 0.34657359027997264 if is_large else 0.0
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 0.2
    p = p * z + 1.0 / 3.0
    return 2.0 * (s + s * z * p) + offset
