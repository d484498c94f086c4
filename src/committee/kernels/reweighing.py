"""The weights of the rows from one round of boosting to the next."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel


@kernel
def multiply_weights(weight, agreement, right, wrong):
    """weight *= right where the agreement is positive, wrong elsewhere (in place); return the new sum.

    Four sums side by side, added in a fixed order: one would wait for itself at every row.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = weight.size
    last = n // 4 * 4
    for i in range(np.uintp(0), np.uintp(last), np.uintp(4)):
        w0 = weight[i] * (right if agreement[i] > 0 else wrong)
        w1 = weight[i + np.uintp(1)] * (right if agreement[i + np.uintp(1)] > 0 else wrong)
        w2 = weight[i + np.uintp(2)] * (right if agreement[i + np.uintp(2)] > 0 else wrong)
        w3 = weight[i + np.uintp(3)] * (right if agreement[i + np.uintp(3)] > 0 else wrong)
        weight[i] = w0
        weight[i + np.uintp(1)] = w1
        weight[i + np.uintp(2)] = w2
        weight[i + np.uintp(3)] = w3
        a += w0
        b += w1
        c += w2
        d += w3
    for i in range(last, n):
        weight[i] *= right if agreement[i] > 0 else wrong
        a += weight[i]
    return (a + b) + (c + d)
