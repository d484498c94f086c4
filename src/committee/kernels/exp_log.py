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
SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
MIN_NORMAL = 2.2250738585072014e-308
TWO_54 = 18014398509481984.0


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
def exp_small(r):
    """e^r for |r| <= ln(2) / 2."""
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
    return p * r + 1.0


@part
def exp(x):
    """e^x, with x cut to [-700, 700]: exp(x) = 2^k exp(r), |r| <= ln(2) / 2."""
    x = min(max(x, -700.0), 700.0)
    rounded = x * LOG2_E + ROUND
    k = rounded - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    return exp_small(r) * from_bits((as_bits(rounded) + ONE_BITS) << MANTISSA)


@part
def exp_of_any(x):
    """e^x as the C library has it, 0 and infinity at the ends, NaN for NaN: 2^k is two factors, both normal numbers."""
    cut = min(max(x * 1.0, -746.0), 710.0)
    k = (cut * LOG2_E + ROUND) - ROUND
    r = (cut - k * LN2_HIGH) - k * LN2_LOW
    half = 0.5 * k + ROUND
    rest = (k - (half - ROUND)) + ROUND
    e = exp_small(r) * from_bits((as_bits(half) + ONE_BITS) << MANTISSA)
    e *= from_bits((as_bits(rest) + ONE_BITS) << MANTISSA)
    return e if x == x else np.nan


@part
def log_near_1(m):
    """ln m for sqrt(1/2) <= m <= sqrt(2), by ln m = 2 artanh(s), s = (m - 1) / (m + 1)."""
    s = (m - 1.0) / (m + 1.0)
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
    return 2.0 * (s + s * z * p)


@part
def log_1_to_2(x):
    """ln x for 1 <= x <= 2, after a division by sqrt(2) for large x."""
    is_large = x > 1.4142135623730951
    y = x * SQRT_HALF if is_large else x
    offset = 0.34657359027997264 if is_large else 0.0
    return log_near_1(y) + offset


@part
def log_of_any(x):
    """ln x = k ln 2 + ln m with sqrt(1/2) <= m < sqrt(2); -infinity at 0, NaN below."""
    is_tiny = x < MIN_NORMAL
    bits = as_bits(x * TWO_54 if is_tiny else x * 1.0)
    above = bits - SQRT_HALF_BITS
    k = np.int64(np.uint64(above + (ONE_BITS << MANTISSA)) >> np.uint64(52)) - ONE_BITS
    m = from_bits(bits - (k << MANTISSA))
    exponent = (from_bits(k + ROUND_BITS) - ROUND) - (54.0 if is_tiny else 0.0)
    log = exponent * LN2_HIGH + (exponent * LN2_LOW + log_near_1(m))
    log = log if x < np.inf else x * 1.0  # infinity, NaN
    log = log if x > 0.0 or x != x else np.nan
    return log if x != 0.0 else -np.inf


@part
def log1p_of_any(x):
    """ln(1 + x), with what the sum rounds away put back."""
    u = 1.0 + x
    lost = (x - (u - 1.0)) / u
    return log_of_any(u) + (lost if (u < np.inf) & (u > 0.0) else 0.0)
