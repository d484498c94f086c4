"""One pass over the rows of a linear SVM with a squared loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.jit import kernel, part

Array = NDArray[Any]


class CostRows(NamedTuple):
    """Rows, targets and costs."""

    X: Array  # [n, d]
    y: Array  # [n]
    up: Array  # [n]
    down: Array  # [n]
    epsilon: float


@part
def dot_row(X, i, w):
    """w x_i as eight parallel sums: a single sum would wait for each addition."""
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
def measure_rows(rows, w, b, f_out, c_out, pull_out):
    """Predictions f = X w + b and their cost: return sum up low^2 + down high^2.

    low and high are the distances of f below and above the tube y -+ epsilon. c_out gets 2 up or 2 down outside the
    tube. The sums over rows of (up low - down high) (x, 1) are added to pull_out [d + 1] while the row is in the cache.
    """
    X, y, up, down, epsilon = rows
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
