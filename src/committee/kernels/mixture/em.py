"""The passes over the rows that EM makes for a mixture of experts: logarithms of probabilities, responsibilities.

Arrays are [K, n], a line for each expert, so that the loops run along the rows and become vector code. Products with
the table are left to BLAS.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.exp_log import LN2, MANTISSA, ONE_BITS, as_bits, exp, from_bits, log_1_to_2

BLOCK = 512
"""Rows worked on at a time: the lines of all experts for them stay in the cache."""


FRACTION = np.int64((1 << 52) - 1)


@part
def log(x):
    """ln x for a normal x > 0: ln(2^e m) = e ln 2 + ln m, 1 <= m < 2."""
    bits = as_bits(x)
    e = np.float64((bits >> MANTISSA) - ONE_BITS)
    return e * LN2 + log_1_to_2(from_bits((bits & FRACTION) | (ONE_BITS << MANTISSA)))


@kernel
def log_softmax(score, scratch):
    """score[k] - ln sum_j e^(score[j]), in place; scratch [2, BLOCK] is overwritten."""
    n_experts, n_rows = score.shape
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        n = np.uintp(last - first)
        largest, total = scratch[0, : last - first], scratch[1, : last - first]
        for i in range(n):
            largest[i] = score[0, first + i]
            total[i] = 0.0
        for k in range(1, n_experts):
            line = score[k, first:last]
            for i in range(n):
                largest[i] = max(largest[i], line[i])
        for k in range(n_experts):
            line = score[k, first:last]
            for i in range(n):
                total[i] += exp(line[i] - largest[i])
        for i in range(n):
            largest[i] += log(total[i])
        for k in range(n_experts):
            line = score[k, first:last]
            for i in range(n):
                line[i] -= largest[i]


@kernel
def compute_responsibilities(log_gate, log_density, weight, cooling, weights_out, log_p_out, scratch):
    """The E-step: shares_out[k] = weight * r[k] with r[k] proportional to (g[k] q[k])^cooling.

    log_p_out gets ln sum_k g[k] q[k] where cooling is 1; scratch [2, BLOCK] is overwritten.
    """
    n_experts, n_rows = log_gate.shape
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        n = np.uintp(last - first)
        largest, total = scratch[0, : last - first], scratch[1, : last - first]
        for i in range(n):
            largest[i] = -np.inf
            total[i] = 0.0
        for k in range(n_experts):
            gate, density, out = log_gate[k, first:last], log_density[k, first:last], weights_out[k, first:last]
            for i in range(n):
                out[i] = cooling * (gate[i] + density[i])
                largest[i] = max(largest[i], out[i])
        for k in range(n_experts):
            out = weights_out[k, first:last]
            for i in range(n):
                out[i] = exp(out[i] - largest[i])
                total[i] += out[i]
        w, log_p = weight[first:last], log_p_out[first:last]
        for i in range(n):
            log_p[i] = largest[i] + log(total[i])
            total[i] = w[i] / total[i]
        for k in range(n_experts):
            out = weights_out[k, first:last]
            for i in range(n):
                out[i] *= total[i]


@part
def exp_of(values, out):
    """In a loop of its own: with more arrays in it the compiler would give up on vector code."""
    for i in range(np.uintp(values.size)):
        out[i] = exp(values[i])


@part
def log_sigmoid_of(values):
    """ln(1 / (1 + e^-m)) in place."""
    for i in range(np.uintp(values.size)):
        m = values[i]
        values[i] = min(m, 0.0) - log_1_to_2(1.0 + exp(-abs(m)))


@kernel
def log_sigmoid(score, y):
    """ln(1 / (1 + e^(-score))) in place where y [n] is 1, ln(1 / (1 + e^score)) where it is 0."""
    n_experts, n_rows = score.shape
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        label = y[first:last]
        for k in range(n_experts):
            line = score[k, first:last]
            for i in range(np.uintp(last - first)):
                line[i] = line[i] if label[i] > 0 else -line[i]
            log_sigmoid_of(line)


@kernel
def logistic_slopes(log_q, y, weights, slope_out, curvature_out):
    """First and (minus the) second derivative of weights * ln q with respect to the score, from ln q."""
    n_experts, n_rows = log_q.shape
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        label = y[first:last]
        for k in range(n_experts):
            share, slope, curvature = weights[k, first:last], slope_out[k, first:last], curvature_out[k, first:last]
            exp_of(log_q[k, first:last], curvature)
            for i in range(np.uintp(last - first)):
                s = share[i] * (1.0 - curvature[i])
                slope[i] = s if label[i] > 0 else -s
                curvature[i] *= s


@kernel
def softmax_slopes(log_p, weights, weight, slope_out, curvature_out):
    """The same of sum_k weights[k] ln p[k], sum_k weights[k] = weight: weights - weight p, and weight p in place of the
    curvature, of which it is a bound (gate.py)."""
    n_experts, n_rows = log_p.shape
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        w = weight[first:last]
        for k in range(n_experts):
            share, slope, curvature = weights[k, first:last], slope_out[k, first:last], curvature_out[k, first:last]
            exp_of(log_p[k, first:last], curvature)
            for i in range(np.uintp(last - first)):
                p = w[i] * curvature[i]
                slope[i] = share[i] - p
                curvature[i] = p


@kernel
def weigh_rows(X, weight, first, last, out):
    """out[i, k] = weight[k, first + i] * X[first + i] up to the row `last`: X [n, p], weight [K, n], out [m, K, p]."""
    n_experts, n_columns = np.uintp(weight.shape[0]), np.uintp(X.shape[1])
    start = np.uintp(first)
    for i in range(np.uintp(last - first)):
        for k in range(n_experts):
            w = weight[k, start + i]
            for j in range(n_columns):
                out[i, k, j] = w * X[start + i, j]
