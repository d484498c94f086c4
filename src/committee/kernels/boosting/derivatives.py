"""Values, negative gradients and hessians of the losses L(y, s) at the scores s; each formula is at its branch.

The target, start, link and leaf rule of a loss are in `losses/`. If the second derivative is zero or negative on whole
intervals (absolute, quantile, Huber, Savage, tangent) the hessian is replaced by one, or cut at zero.
p is the loss's own parameter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.jit import kernel, part
from committee.kernels.exp_log import LN2, exp, exp_of_any, log1p_of_any, log_1_to_2, nearest

(
    SQUARED, ABSOLUTE, HUBER, QUANTILE, EXPECTILE, LOG_LOSS, EXPONENTIAL, POISSON, GAMMA, TWEEDIE, SQUARED_HINGE,
    SAVAGE, TANGENT, LOGISTIC,
) = range(14)  # fmt: skip

ZERO_SLOPE = 4.0 * np.finfo(np.float64).eps
"""Of the tangent loss: so near to its minimum a rounding error must not pass for a gradient."""

HALF, ONE = np.int64(32), np.int64(1)
BLOCK = 4096
"""Rows whose numbers stay in the cache between two loops; sums are kept per block, in an order no thread changes."""


class Derivative(NamedTuple):
    """What a round writes: negative gradients and hessians (without weights) of the rows, and sums of their blocks."""

    g: NDArray[np.float64]  # [n], of several classes [K, n]
    h: NDArray[np.float64]
    sums: NDArray[np.float64]  # [blocks, 1 + 2 K]: weighted sums of the loss, then of |g| and of h of each output


@part
def fill_residual_losses(code, p, y, score, value, g, h):
    """Losses of the residual r = y - s, whose hessian is a constant, or replaced by one."""
    if code == SQUARED:  # r^2 / 2
        for i in range(np.uintp(y.size)):
            r = y[i] - score[i]
            value[i] = 0.5 * r * r
            g[i] = r
            h[i] = 1.0
    elif code == ABSOLUTE:  # |r|
        for i in range(np.uintp(y.size)):
            r = y[i] - score[i]
            value[i] = abs(r)
            g[i] = (1.0 if r > 0.0 else 0.0) - (1.0 if r < 0.0 else 0.0)
            h[i] = 1.0
    elif code == HUBER:  # r^2 / 2 for |r| <= p, else p (|r| - p / 2)
        for i in range(np.uintp(y.size)):
            r = y[i] - score[i]
            near = min(max(r, -p), p)
            value[i] = near * (r - 0.5 * near)
            g[i] = near
            h[i] = 1.0
    elif code == QUANTILE:  # p r for r > 0, else (p - 1) r
        for i in range(np.uintp(y.size)):
            r = y[i] - score[i]
            side = p if r > 0.0 else p - 1.0
            value[i] = side * r
            g[i] = side if r != 0.0 else 0.0
            h[i] = 1.0
    else:  # expectile: p r^2 for r > 0, else (1 - p) r^2
        for i in range(np.uintp(y.size)):
            r = y[i] - score[i]
            side = 2.0 * (p if r > 0.0 else 1.0 - p)
            value[i] = 0.5 * side * r * r
            g[i] = side * r
            h[i] = side


@part
def fill_exponential_losses(code, p, y, score, value, g, h):
    """Losses of e^s; the values of the log-loss come from its total (`total_log_loss`)."""
    if code == LOG_LOSS:  # ln(1 + e^s) - y s, y = 0 or 1
        for i in range(np.uintp(y.size)):
            s = score[i]
            e = exp(-abs(s))
            q = 1.0 / (1.0 + e)
            probability = q if s > 0.0 else e * q
            g[i] = y[i] - probability
            h[i] = e * q * q
    elif code == EXPONENTIAL:  # e^(-y s), y = -1 or +1
        for i in range(np.uintp(y.size)):
            e = exp(-y[i] * score[i])
            value[i] = e
            g[i] = y[i] * e
            h[i] = e
    elif code == POISSON:  # e^s - y s, y >= 0
        for i in range(np.uintp(y.size)):
            e = exp(score[i])
            value[i] = e - y[i] * score[i]
            g[i] = y[i] - e
            h[i] = e
    elif code == GAMMA:  # s + y e^(-s), y > 0
        for i in range(np.uintp(y.size)):
            e = y[i] * exp(-score[i])
            value[i] = score[i] + e
            g[i] = e - 1.0
            h[i] = e
    else:  # Tweedie: e^((2-p) s) / (2-p) - y e^((1-p) s) / (1-p), y >= 0, 1 < p < 2
        for i in range(np.uintp(y.size)):
            a = y[i] * exp((1.0 - p) * score[i])
            b = exp((2.0 - p) * score[i])
            value[i] = b / (2.0 - p) - a / (1.0 - p)
            g[i] = a - b
            h[i] = (2.0 - p) * b - (1.0 - p) * a


@part
def fill_margin_losses(code, y, score, value, g, h):
    """Other losses of the margin m = y s, y = -1 or +1."""
    if code == SQUARED_HINGE:  # max(0, 1 - m)^2
        for i in range(np.uintp(y.size)):
            d = max(1.0 - y[i] * score[i], 0.0)
            value[i] = d * d
            g[i] = 2.0 * y[i] * d
            h[i] = 2.0 if d > 0.0 else 0.0
    elif code == SAVAGE:  # 1 / (1 + e^(2 m))^2
        for i in range(np.uintp(y.size)):
            e = exp(2.0 * y[i] * score[i])
            q = 1.0 / (1.0 + e)
            value[i] = q * q
            g[i] = 4.0 * y[i] * q * q * (1.0 - q)
            h[i] = max(8.0 * q * q * (1.0 - q) * (2.0 - 3.0 * q), 0.0)
    elif code == TANGENT:  # (2 arctan(m) - 1)^2
        for i in range(np.uintp(y.size)):
            m = y[i] * score[i]
            a = 2.0 * np.arctan(m) - 1.0
            if abs(a) <= ZERO_SLOPE:
                a = 0.0
            square = 1.0 + m * m
            value[i] = a * a
            g[i] = -4.0 * y[i] * a / square
            h[i] = max(8.0 * (1.0 - a * m) / (square * square), 0.0)
    else:  # logistic: ln(1 + e^(-2 m))
        for i in range(np.uintp(y.size)):
            m = y[i] * score[i]
            e = exp_of_any(-2.0 * abs(m))
            q = 1.0 / (1.0 + e)
            value[i] = max(-2.0 * m, 0.0) + log1p_of_any(e)
            g[i] = 2.0 * y[i] * (e * q if m > 0.0 else q)
            h[i] = 4.0 * e * q * q


@part
def fill(code, p, y, score, value, g, h):
    if code <= EXPECTILE:
        fill_residual_losses(code, p, y, score, value, g, h)
    elif code <= TWEEDIE:
        fill_exponential_losses(code, p, y, score, value, g, h)
    else:
        fill_margin_losses(code, y, score, value, g, h)


@part
def total_of(values, weight):
    """Weighted sum, in four strands so that one addition need not wait for the other (in a fixed order)."""
    a = b = c = d = 0.0
    n = np.uintp(values.size)
    n4 = n - n % np.uintp(4)
    if weight.size == 0:
        for i in range(np.uintp(0), n4, np.uintp(4)):
            a += values[i]
            b += values[i + np.uintp(1)]
            c += values[i + np.uintp(2)]
            d += values[i + np.uintp(3)]
        for i in range(n4, n):
            a += values[i]
    else:
        for i in range(np.uintp(0), n4, np.uintp(4)):
            a += values[i] * weight[i]
            b += values[i + np.uintp(1)] * weight[i + np.uintp(1)]
            c += values[i + np.uintp(2)] * weight[i + np.uintp(2)]
            d += values[i + np.uintp(3)] * weight[i + np.uintp(3)]
        for i in range(n4, n):
            a += values[i] * weight[i]
    return (a + b) + (c + d)


@part
def log_product(values):
    """Sum of the logarithms of values in [1/2, 1]: one logarithm for the product of 512 of them."""
    total = 0.0
    n = np.uintp(values.size)
    for first in range(np.uintp(0), n, np.uintp(512)):
        last = min(first + np.uintp(512), n)
        n4 = last - (last - first) % np.uintp(4)
        a = b = c = d = 1.0
        for i in range(first, n4, np.uintp(4)):
            a *= values[i]
            b *= values[i + np.uintp(1)]
            c *= values[i + np.uintp(2)]
            d *= values[i + np.uintp(3)]
        for i in range(n4, last):
            a *= values[i]
        total += np.log((a * b) * (c * d))
    return total


@part
def total_log_loss(y, score, weight, g, scratch):
    """ln(1 + e^s) - y s = max(s, 0) - y s - ln q, where q = max(p, 1 - p) and p = y - g is already computed."""
    n = np.uintp(y.size)
    for i in range(n):
        scratch[i] = max(score[i], 0.0) - y[i] * score[i]
    total = total_of(scratch[: y.size], weight)
    for i in range(n):
        probability = y[i] - g[i]
        scratch[i] = max(probability, 1.0 - probability)
    if weight.size == 0:
        return total - log_product(scratch[: y.size])
    for i in range(n):
        scratch[i] = LN2 - log_1_to_2(2.0 * scratch[i])
    return total + total_of(scratch[: y.size], weight)


@part
def total_sizes(g, h, weight, scratch, sums_out):
    for i in range(np.uintp(g.size)):
        scratch[i] = abs(g[i])
    sums_out[1] = total_of(scratch[: g.size], weight)
    sums_out[2] = total_of(h, weight)


@kernel
def evaluate(code, p, y, score, value_out, g_out, h_out):
    """Loss, negative gradient and hessian of every row; the log-loss has no values by row."""
    fill(code, p, y, score, value_out, g_out, h_out)


@kernel
def differentiate(code, p, y, score, weight, blocks, out, scratch_2):
    """The `Derivative` of the rows of blocks[0] : blocks[1].

    weight is empty for equal weights; scratch_2 [2, BLOCK] is overwritten.
    """
    scratch = scratch_2[0]
    for block in range(blocks[0], blocks[1]):
        first = block * BLOCK
        last = min(first + BLOCK, y.size)
        w = weight[first:last]
        g, h = out.g[first:last], out.h[first:last]
        fill(code, p, y[first:last], score[first:last], scratch, g, h)
        if code == LOG_LOSS:
            out.sums[block, 0] = total_log_loss(y[first:last], score[first:last], w, g, scratch)
        else:
            out.sums[block, 0] = total_of(scratch[: last - first], w)
        total_sizes(g, h, w, scratch, out.sums[block])


@kernel
def softmax_derivatives(y, score, weight, factor, blocks, out, scratch):
    """The same for the multinomial log-loss ln(sum_k e^(s_k)) - s_y: y holds classes, score, g, h are [K, n].

    h is factor * p (1 - p). scratch [2, BLOCK] is overwritten.
    """
    n_classes = score.shape[0]
    for block in range(blocks[0], blocks[1]):
        first = block * BLOCK
        last = min(first + BLOCK, y.size)
        n = np.uintp(last - first)
        largest, total = scratch[0, : last - first], scratch[1, : last - first]
        w, label = weight[first:last], y[first:last]
        for i in range(n):
            largest[i] = score[0, first + i]
            total[i] = 0.0
        for k in range(1, n_classes):
            row = score[k, first:last]
            for i in range(n):
                largest[i] = max(largest[i], row[i])
        for k in range(n_classes):
            row, g = score[k, first:last], out.g[k, first:last]
            for i in range(n):
                e = exp(row[i] - largest[i])
                g[i] = e
                total[i] += e
        for k in range(n_classes):
            g, h = out.g[k, first:last], out.h[k, first:last]
            for i in range(n):
                probability = g[i] / total[i]
                g[i] = (1.0 if label[i] == k else 0.0) - probability
                h[i] = factor * probability * (1.0 - probability)
        for i in range(n):
            total[i] = np.log(total[i]) + largest[i] - score[label[i], first + i]
        out.sums[block, 0] = total_of(total, w)
        for k in range(n_classes):
            g, h = out.g[k, first:last], out.h[k, first:last]
            total_sizes(g, h, w, total, out.sums[block, 2 * k : 2 * k + 3])


@kernel
def quantise(g, h, weight, is_whole, g_scale, h_scale, amounts_out):
    """(g << 32) + h as integers in units of 1 / g_scale and 1 / h_scale; h is at least 1.

    Integer weights multiply the rounded numbers: exactly what repeated rows would add up to. In a histogram a sum of
    zero means an empty bin: without the 1, bins of rows with a tiny h (below half a unit) would count as empty.
    """
    n = np.uintp(g.size)
    if weight.size == 0:
        for i in range(n):
            amounts_out[i] = (nearest(g[i] * g_scale) << HALF) + max(nearest(h[i] * h_scale), ONE)
    elif is_whole:
        for i in range(n):
            amount = (nearest(g[i] * g_scale) << HALF) + max(nearest(h[i] * h_scale), ONE)
            amounts_out[i] = nearest(weight[i]) * amount
    else:
        for i in range(n):
            w = weight[i]
            amounts_out[i] = (nearest(g[i] * w * g_scale) << HALF) + max(nearest(h[i] * w * h_scale), ONE)
