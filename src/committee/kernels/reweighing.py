"""The weights of the rows from one round of boosting to the next."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel


@kernel
def multiply_weights(weight, agreement, factors):
    """weight *= factors[1] where the agreement is positive, factors[0] elsewhere (in place); return the new sum.

    The factor is looked up: a branch would be mispredicted at every other row. Four sums side by side, added in a fixed
    order: one would wait for itself at every row.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = weight.size
    last = n // 4 * 4
    for i in range(np.uintp(0), np.uintp(last), np.uintp(4)):
        w0 = weight[i] * factors[np.uintp(agreement[i] > 0)]
        w1 = weight[i + np.uintp(1)] * factors[np.uintp(agreement[i + np.uintp(1)] > 0)]
        w2 = weight[i + np.uintp(2)] * factors[np.uintp(agreement[i + np.uintp(2)] > 0)]
        w3 = weight[i + np.uintp(3)] * factors[np.uintp(agreement[i + np.uintp(3)] > 0)]
        weight[i] = w0
        weight[i + np.uintp(1)] = w1
        weight[i + np.uintp(2)] = w2
        weight[i + np.uintp(3)] = w3
        a += w0
        b += w1
        c += w2
        d += w3
    for i in range(last, n):
        weight[i] *= factors[np.uintp(agreement[i] > 0)]
        a += weight[i]
    return (a + b) + (c + d)
