"""Statistics of the nodes of a finished tree, computed from the rows in float64."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.trees.ordering import CODE_BITS, POSITION, order_by_code

LARGEST = np.finfo(np.float64).max


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
def read_splits(nodes, used, bins, out):
    """Write what a tree keeps of the node records `used` to `NodeArrays`; return how many splits are category sets.

    A threshold lies half-way between the last value on the left and the first on the right that the node's rows have.
    """
    n_sets = np.int32(0)
    for i in range(used.size):
        node = nodes[used[i]]
        is_inner = node.left >= 0
        is_set = is_inner and node.is_set == 1
        out.left[i] = node.left
        out.feature[i] = node.feature if is_inner else -1
        out.missing_left[i] = is_inner and node.missing_left == 1
        out.gain[i] = node.gain if is_inner else 0.0
        out.n_samples[i] = node.n
        out.category_set[i] = n_sets if is_set else np.int32(-1)
        n_sets += np.int32(is_set)
        out.threshold[i] = split_threshold(node, bins) if is_inner and not is_set else np.nan
    return n_sets


@part
def split_threshold(node, bins):
    """Where only missing values go to one side, every value goes to the other."""
    if node.first_right < 0:
        return LARGEST
    if node.last_left < 0:
        return -LARGEST
    if node.threshold == node.threshold:
        return node.threshold
    offset = bins.offsets[node.feature]
    last_bin = bins.n_bins[node.feature] - 1
    low = bins.upper[offset + min(node.last_left, last_bin)]
    return midpoint(low, bins.lower[offset + min(node.first_right, last_bin)])


@part
def midpoint(low, high):
    """Half-way, or the lower value where half-way rounds to the higher."""
    middle = low / 2.0 + high / 2.0
    return low if middle >= high or middle < low else middle


@kernel
def mark_leaves(nodes, rows, leaf_out):
    """leaf_out[row] = the leaf that the row ended in."""
    for i in range(nodes.size):
        if nodes[i].left < 0:
            for j in range(np.uintp(nodes[i].start), np.uintp(nodes[i].start + nodes[i].n)):
                leaf_out[np.uintp(rows[j])] = i


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
def medians(nodes, rows, rank, ranked_target, weight, scratch, out):
    """Weight, weighted median and sum of absolute deviations of every node: out[node, :3].

    rank holds the rank of each row's target among ranked_target. scratch is column, keys and counters as in `Work`.
    """
    column, keys, counters = scratch
    for node in range(nodes.size):
        inside = rows[nodes[node].start : nodes[node].start + nodes[node].n]
        total = 0.0
        for i in range(inside.size):
            column[i] = np.uint32(rank[inside[i]])
            total += weight[inside[i]]
        ordered = keys[order_by_code(column, inside.size, ranked_target.size, keys, counters)]
        below = 0.0
        i = -1
        while 2.0 * below < total and i + 1 < inside.size:
            i += 1
            below += weight[inside[np.int64(ordered[i] & POSITION)]]
        median = ranked_target[np.int64(ordered[i] >> CODE_BITS)]
        if 2.0 * below == total and i + 1 < inside.size:
            median = 0.5 * (median + ranked_target[np.int64(ordered[i + 1] >> CODE_BITS)])
        distance = 0.0
        for j in range(inside.size):
            distance += weight[inside[j]] * abs(ranked_target[rank[inside[j]]] - median)
        out[node, 0] = total
        out[node, 1] = median
        out[node, 2] = distance
