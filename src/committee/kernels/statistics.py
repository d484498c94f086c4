"""What a finished tree knows of its nodes, computed once from the rows in float64."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part


@kernel
def class_weights(nodes, rows, target, weight, sums_out):
    """Weight of each class in every node; target holds class numbers."""
    sums_out[:] = 0.0
    for i in range(nodes.size - 1, -1, -1):  # children come after their parents
        left = nodes[i].left
        if left >= 0:
            for k in range(sums_out.shape[1]):
                sums_out[i, k] = sums_out[left, k] + sums_out[left + 1, k]
        else:
            for j in range(nodes[i].start, nodes[i].start + nodes[i].n):
                sums_out[i, np.int64(target[rows[j]])] += weight[rows[j]]


@kernel
def moments(nodes, rows, target, weight, out):
    """Weight, mean, sum of squared deviations and sum of y log y of every node: out[node, :4]."""
    for i in range(nodes.size - 1, -1, -1):
        left = nodes[i].left
        if left >= 0:
            merge_moments(out[left], out[left + 1], out[i])
        else:
            leaf_moments(nodes[i].start, nodes[i].start + nodes[i].n, rows, target, weight, out[i])


@part
def leaf_moments(start, end, rows, target, weight, out):
    """Deviations are taken from the first target, so that a pure leaf has exactly its value."""
    first = target[rows[start]]
    total = 0.0
    deviation = 0.0
    for i in range(start, end):
        total += weight[rows[i]]
        deviation += weight[rows[i]] * (target[rows[i]] - first)
    mean = first + deviation / total
    squares = 0.0
    entropy = 0.0
    for i in range(start, end):
        y = target[rows[i]]
        squares += weight[rows[i]] * (y - mean) * (y - mean)
        if y > 0.0:
            entropy += weight[rows[i]] * y * np.log(y)
    out[0] = total
    out[1] = mean
    out[2] = squares
    out[3] = entropy


@part
def merge_moments(a, b, out):
    """Moments of two sets of rows together (Chan, Golub and LeVeque 1979)."""
    total = a[0] + b[0]
    delta = b[1] - a[1]
    out[0] = total
    out[1] = a[1] + delta * b[0] / total
    out[2] = a[2] + b[2] + delta * delta * a[0] * b[0] / total
    out[3] = a[3] + b[3]


@kernel
def medians(nodes, rows, target, weight, out):
    """Weight, weighted median and sum of absolute deviations of every node: out[node, :3]."""
    for node in range(nodes.size):
        inside = rows[nodes[node].start : nodes[node].start + nodes[node].n]
        y = target[inside]
        order = np.argsort(y)
        total = 0.0
        for i in range(inside.size):
            total += weight[inside[i]]
        median = y[order[-1]]
        below = 0.0
        for i in range(order.size):
            below += weight[inside[order[i]]]
            if 2.0 * below > total or i + 1 == order.size:
                median = y[order[i]]
                break
            if 2.0 * below == total:
                median = 0.5 * (y[order[i]] + y[order[i + 1]])
                break
        distance = 0.0
        for i in range(inside.size):
            distance += weight[inside[i]] * abs(y[i] - median)
        out[node, 0] = total
        out[node, 1] = median
        out[node, 2] = distance
