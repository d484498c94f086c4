"""One pass of dual coordinate descent over the rows of a linear SVM."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.jit import kernel, part
from committee.kernels.svm.linear_rows import dot_row

Array = NDArray[Any]


class DualProblem(NamedTuple):
    """The dual problem over n rows, with bounds low <= beta <= high."""

    X: Array  # [n, d]
    y: Array  # [n]
    low: Array  # [n]
    high: Array  # [n]
    ridge: Array  # [n]
    curvature: Array  # [n], along each beta
    epsilon: float


class DualState(NamedTuple):
    """The variables, changed in place."""

    beta: Array  # [n]
    w: Array  # [d], sum beta x
    offset: Array  # [2]: the intercept, and by how much a change of beta changes it


@part
def best_beta(beta, g, q, low, high, epsilon):
    """The new beta + t that minimises q t^2 / 2 + g t + epsilon |beta + t| over low <= beta + t <= high."""
    middle = beta - g / q  # for epsilon = 0; the absolute value shrinks it towards 0
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
    """The steepest descent of the dual along one coordinate, inside its bounds."""
    up = g + epsilon if beta >= 0.0 else g - epsilon  # slope to the right
    down = g + epsilon if beta > 0.0 else g - epsilon  # slope to the left
    steepest = 0.0
    if beta < high:
        steepest = max(steepest, -up)
    if beta > low:
        steepest = max(steepest, down)
    return steepest


@kernel
def descend(problem, state, order, shrink, keep_out):
    """One pass over the rows of `order`; return the largest violation.

    Minimises 1/2 |w|^2 + 1/2 ridge beta^2 - (y - offset) beta + epsilon |beta| along one beta after the other. Changes
    `state`; keep_out gets 0 for a row at a bound with a slope beyond `shrink` towards it.
    """
    X, y, low, high, ridge, curvature, epsilon = problem
    beta, w, offset = state
    largest = 0.0
    for p in range(order.size):
        i = np.uintp(order[p])
        old = beta[i]
        g = dot_row(X, i, w) + offset[0] + ridge[i] * old - y[i]
        v = violation(old, g, low[i], high[i], epsilon)
        keep_out[p] = 1
        if v == 0.0:
            # the slope away from beta: if it is large, beta will hardly move
            away = abs(g) - epsilon if old != 0.0 or low[i] == 0.0 or high[i] == 0.0 else epsilon - abs(g)
            if away > shrink:
                keep_out[p] = 0
            continue
        largest = max(largest, v)
        new = best_beta(old, g, curvature[i], low[i], high[i], epsilon)
        change = new - old
        if change != 0.0:
            beta[i] = new
            for k in range(w.size):
                w[k] += change * X[i, k]
            offset[0] += change * offset[1]
    return largest
