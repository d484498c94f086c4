"""Blocks of a Gram matrix: the exponential after the matrix product, and sums of absolute differences.

Gaussian: with u = x sqrt(2 gamma) the exponent -gamma |x - z|^2 is u v - |u|^2 / 2 - |v|^2 / 2. The product is BLAS's,
the rest is one pass here. In float32 the tables come scaled by sqrt(log2 e) more, so that the power is one of 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from committee.base.jit import kernel, part
from committee.kernels.exp_log import exp

F32 = np.float32
ROUND = F32(12582912.0)  # 1.5 * 2**23: added to a number, it leaves the nearest integer in the last bits
LOWEST = F32(-126.0)  # 2**-126 is the smallest normal float32
MANTISSA = np.int32(23)

# 2^r on [-1/2, 1/2] to 2e-9: the best polynomial of degree 6 with 1 at 0
C1 = F32(6.9314720286e-01)
C2 = F32(2.4022647913e-01)
C3 = F32(5.5503324672e-02)
C4 = F32(9.6184373905e-03)
C5 = F32(1.3398875666e-03)
C6 = F32(1.5353356216e-04)


@intrinsic
def _as_bits(typing_context, x):
    """The 32 bits of a float32 as an integer."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def _from_bits(typing_context, bits):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def _fused(typing_context, a, b, c):
    """a * b + c with one rounding, in one instruction if the processor has it."""

    def generate(context, builder, signature, args):
        return builder.fma(*args)

    return a(a, a, a), generate


as_bits: Any = _as_bits
from_bits: Any = _from_bits
fused: Any = _fused


@part
def power_of_two(x):
    """2^x in float32 to about 1e-7, x cut to [-126, 0]."""
    x = min(max(x, LOWEST), F32(0.0))
    rounded = x + ROUND
    r = x - (rounded - ROUND)
    p = fused(C6, r, C5)
    p = fused(p, r, C4)
    p = fused(p, r, C3)
    p = fused(p, r, C2)
    p = fused(p, r, C1)
    p = fused(p, r, F32(1.0))
    return from_bits(as_bits(p) + (as_bits(rounded) << MANTISSA))


@kernel
def raise_two(block, left, right):
    """block[a, j] = 2^(block[a, j] - left[a] - right[j]), in place, float32."""
    for a in range(block.shape[0]):
        row = block[a]
        half = left[a]
        for j in range(row.size):
            row[j] = power_of_two(row[j] - (half + right[j]))


@kernel
def raise_two_into(block, left, right, out, rows, start):
    """out[rows[a], start + j] = 2^(block[a, j] - left[a] - right[j]), float32; out must not be the block: the compiled
    loop is not vectorised if they overlap."""
    n = block.shape[1]
    for a in range(block.shape[0]):
        row, to = block[a], out[rows[a], start : start + n]
        half = left[a]
        for j in range(n):
            to[j] = power_of_two(row[j] - (half + right[j]))


@kernel
def raise_e(block, left, right):
    """block[a, j] = e^(block[a, j] - left[a] - right[j]), at most 1, in place, float64."""
    for a in range(block.shape[0]):
        row = block[a]
        half = left[a]
        for j in range(row.size):
            row[j] = exp(min(row[j] - (half + right[j]), 0.0))


@kernel
def copy_rows(block, out, rows, start):
    """out[rows[a], start + j] = block[a, j]."""
    n = block.shape[1]
    for a in range(block.shape[0]):
        row, to = block[a], out[rows[a], start : start + n]
        for j in range(n):
            to[j] = row[j]


@kernel
def subtract_distances(left, right, out):
    """out[a, j] = -sum_k |left[a, k] - right[k, j]|; four columns at a time, so that out is read a quarter as often."""
    d = left.shape[1]
    fours = d // 4 * 4
    for a in range(out.shape[0]):
        row = out[a]
        point = left[a]
        row[:] = 0
        for k in range(0, fours, 4):
            x0, x1, x2, x3 = point[k], point[k + 1], point[k + 2], point[k + 3]
            z0, z1, z2, z3 = right[k], right[k + 1], right[k + 2], right[k + 3]
            for j in range(row.size):
                row[j] -= (abs(x0 - z0[j]) + abs(x1 - z1[j])) + (abs(x2 - z2[j]) + abs(x3 - z3[j]))
        for k in range(fours, d):
            x0, z0 = point[k], right[k]
            for j in range(row.size):
                row[j] -= abs(x0 - z0[j])
