"""One pass over the rows of a linear machine with a squared loss."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part


@part
def dot_row(X, i, w):
    """w x_i, as eight sums side by side: one would wait for itself at every column."""
    d, one, eight = np.uintp(w.size), np.uintp(1), np.uintp(8)
    last = d - d % eight
    a = b = c = e = p = q = r = s = 0.0
    for k in range(np.uintp(0), last, eight):
        a += w[k] * X[i, k]
        b += w[k + one] * X[i, k + one]
        c += w[k + np.uintp(2)] * X[i, k + np.uintp(2)]
        e += w[k + np.uintp(3)] * X[i, k + np.uintp(3)]
        p += w[k + np.uintp(4)] * X[i, k + np.uintp(4)]
        q += w[k + np.uintp(5)] * X[i, k + np.uintp(5)]
        r += w[k + np.uintp(6)] * X[i, k + np.uintp(6)]
        s += w[k + np.uintp(7)] * X[i, k + np.uintp(7)]
    for k in range(last, d):
        a += w[k] * X[i, k]
    return ((a + p) + (b + q)) + ((c + r) + (e + s))


@kernel
def measure_rows(X, y, up, down, epsilon, w, b, f_out, c_out, pull_out):
    """Answers f = X w + b, and what they cost: return sum up low^2 + down high^2.

    low and high are how far f is below and above the tube y -+ epsilon. c_out gets 2 up or 2 down where f is outside.
    The sums over rows of up low - down high times (x, 1) are added to pull_out [d + 1]: a row is in the cache already.
    """
    value = 0.0
    d = w.size
    for row in range(X.shape[0]):
        i = np.uintp(row)
        f = dot_row(X, i, w) + b
        f_out[i] = f
        low = y[i] - f - epsilon
        high = f - y[i] - epsilon
        pull = 0.0
        c_out[i] = 0.0
        if low > 0.0:
            pull = up[i] * low
            value += pull * low
            c_out[i] = 2.0 * up[i]
        elif high > 0.0:
            pull = -down[i] * high
            value -= pull * high
            c_out[i] = 2.0 * down[i]
        if pull != 0.0:
            for k in range(d):
                pull_out[k] += pull * X[i, k]
            pull_out[d] += pull
    return value
