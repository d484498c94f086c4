"""One round of dual coordinate descent over the rows of a linear machine."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.svm.linear_rows import dot_row


@part
def best_change(beta, g, q, low, high, epsilon):
    """The minimum over low <= beta + t <= high of q t^2 / 2 + g t + epsilon |beta + t|, as the new beta."""
    middle = beta - g / q  # without epsilon; the absolute value pulls it towards 0
    pull = epsilon / q
    if middle > pull:
        middle -= pull
    elif middle < -pull:
        middle += pull
    else:
        middle = 0.0
    return min(max(middle, low), high)


@part
def violation(beta, g, low, high, epsilon):
    """How steeply the dual still falls along one coordinate, inside its walls."""
    up = g + epsilon if beta >= 0.0 else g - epsilon  # slope to the right
    down = g + epsilon if beta > 0.0 else g - epsilon  # slope to the left
    most = 0.0
    if beta < high:
        most = max(most, -up)
    if beta > low:
        most = max(most, down)
    return most


@kernel
def descend(X, y, low, high, ridge, q, epsilon, order, shrink, offset, beta, w, keep_out):
    """One pass over the rows of `order`; return the largest violation met.

    Minimises 1/2 |w|^2 + 1/2 ridge beta^2 - (y - offset) beta + epsilon |beta| along one beta after the other, with
    w = sum beta x. beta and w are changed; keep_out gets 0 for a row at a wall with a slope beyond `shrink` into it.
    """
    most = 0.0
    for p in range(order.size):
        i = np.uintp(order[p])
        old = beta[i]
        g = dot_row(X, i, w) + offset[0] + ridge[i] * old - y[i]
        v = violation(old, g, low[i], high[i], epsilon)
        keep_out[p] = 1
        if v == 0.0:
            # the slope away from where beta sits; far from 0 it will hardly leave
            away = abs(g) - epsilon if old != 0.0 or low[i] == 0.0 or high[i] == 0.0 else epsilon - abs(g)
            if away > shrink:
                keep_out[p] = 0
            continue
        most = max(most, v)
        new = best_change(old, g, q[i], low[i], high[i], epsilon)
        change = new - old
        if change != 0.0:
            beta[i] = new
            for k in range(w.size):
                w[k] += change * X[i, k]
            offset[0] += change * offset[1]
    return most
