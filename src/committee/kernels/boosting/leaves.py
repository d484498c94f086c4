"""Leaf values of boosted trees, and what they add to the scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.exp_log import exp

CHUNK = 65_536
"""Rows whose numbers are added up; then the sums of such chunks are added in order."""


class NewtonStep(NamedTuple):
    """The step rate * S(G, l1) / (H + l2) of a leaf, S being the soft threshold."""

    l1: float
    l2: float
    learning_rate: float
    curvature_bound: float  # of `cannot_increase`; 0 for a quadratic loss, negative without a bound


@part
def leaf_sums(node, rows, g, h, weight):
    """Weighted sums of g and h (any two numbers by row) over a leaf's rows, and their weight.

    The rows are in ascending order. Those of a chunk of the table are summed, then the chunks in order: so a table
    whose chunks are in several places has the same sums.
    """
    g_sum = h_sum = w_sum = 0.0
    g_chunk = h_chunk = w_chunk = 0.0
    end = np.uintp(CHUNK)
    for i in range(np.uintp(node.start), np.uintp(node.start + node.n)):
        row = np.uintp(rows[i])
        if row >= end:
            g_sum += g_chunk
            h_sum += h_chunk
            w_sum += w_chunk
            g_chunk = h_chunk = w_chunk = 0.0
            end = (row // np.uintp(CHUNK) + np.uintp(1)) * np.uintp(CHUNK)
        if weight.size == 0:
            g_chunk += g[row]
            h_chunk += h[row]
        else:
            w = weight[row]
            g_chunk += g[row] * w
            h_chunk += h[row] * w
            w_chunk += w
    if weight.size == 0:
        return g_sum + g_chunk, h_sum + h_chunk, np.float64(node.n)
    return g_sum + g_chunk, h_sum + h_chunk, w_sum + w_chunk


@kernel
def sum_leaves(nodes, n_nodes, rows, g, h, weight, sums_out):
    """Write the sums of g and h and the weight of every leaf to sums_out [n_nodes, 3]."""
    for i in range(n_nodes):
        if nodes[i].left < 0:
            sums_out[i, 0], sums_out[i, 1], sums_out[i, 2] = leaf_sums(nodes[i], rows, g, h, weight)


@kernel
def sum_placed_rows(leaf, g, h, weight, sums_out):
    """The same of each chunk of rows, sums_out [chunks, n_nodes, 3], by the leaf of every row (-1: in none)."""
    for row in range(leaf.size):
        i = leaf[row]
        if i >= 0:
            sums = sums_out[row // CHUNK, i]
            w = weight[row] if weight.size > 0 else 1.0
            sums[0] += g[row] * w
            sums[1] += h[row] * w
            sums[2] += w


@part
def cannot_increase(step, h_sum, l2, learning_rate, curvature_bound):
    """Is a Newton step of a convex loss sure not to increase the loss of its leaf?

    Where |L'''| <= b L'' with b the curvature bound, L''(s + t) <= e^(b |t|) L''(s), and the loss at step
    v = rate * G / (H + l2) is at most L - |v|^2 (H + l2) / rate + H (e^a - 1 - a) / b^2 with a = b |v|.
    """
    a = curvature_bound * abs(step)
    if a > 50.0:
        return False
    growth = 0.5 * a * a if a < 1e-4 else exp(a) - 1.0 - a
    return h_sum * growth * learning_rate <= a * a * (h_sum + l2) * (1.0 - 1e-9)


@kernel
def newton_leaves(nodes, n_nodes, sums, newton, value_out):
    """Write the `NewtonStep` of every leaf (0 elsewhere); return how many may increase the loss of their leaf.

    sums [n_nodes, 3] are those of `sum_leaves`. Unsafe leaves are marked by a 1 in the node's `score` field. Without a
    curvature bound, leaves of H = 0 step along the mean gradient. A step that bounds on the values make longer than
    Newton's may increase the loss too; boosting checks all leaves then.
    """
    l1, l2, learning_rate, curvature_bound = newton
    n_unsafe = 0
    for i in range(n_nodes):
        node = nodes[i]
        value_out[i] = 0.0
        node.score = 0.0
        if node.left >= 0:
            continue
        g_sum, h_sum = sums[i, 0], sums[i, 1]
        shrunk = max(abs(g_sum) - l1, 0.0)
        below = h_sum + l2 + node.extra_l2
        if below <= 0.0:
            if curvature_bound >= 0.0:
                continue
            below = sums[i, 2]
        value = (shrunk if g_sum > 0.0 else -shrunk) / below
        value = min(max(value, node.lower), node.upper)
        value_out[i] = learning_rate * value
        if curvature_bound < 0.0 or (
            curvature_bound > 0.0
            and not cannot_increase(value_out[i], h_sum, l2 + node.extra_l2, learning_rate, curvature_bound)
        ):
            node.score = 1.0
            n_unsafe += 1
    return n_unsafe


@kernel
def mark_increased(nodes, n_nodes, rows, before, after, weight, tolerance):
    """Mark the leaves (field `score`, 1 or 0) whose rows have a larger loss after than before; return how many."""
    n_increased = 0
    for i in range(n_nodes):
        node = nodes[i]
        node.score = 0.0
        if node.left < 0:
            loss_before, loss_after, _ = leaf_sums(node, rows, before, after, weight)
            if not loss_after <= loss_before + tolerance * abs(loss_before):  # not a number is a rise too
                node.score = 1.0
                n_increased += 1
    return n_increased


@kernel
def add_leaf_steps(nodes, n_nodes, rows, value, score):
    """score[row] += value of the row's leaf, for the rows that the tree was grown on."""
    for i in range(n_nodes):
        node = nodes[i]
        if node.left < 0:
            step = value[i]
            for j in range(np.uintp(node.start), np.uintp(node.start + node.n)):
                score[np.uintp(rows[j])] += step


@kernel
def gather_residuals(nodes, i, rows, y, score, weight, residual_out, weight_out):
    """y - score and the weights of the rows of leaf i."""
    node = nodes[i]
    for j in range(node.n):
        row = np.uintp(rows[node.start + j])
        residual_out[j] = y[row] - score[row]
        weight_out[j] = weight[row] if weight.size > 0 else 1.0


@kernel
def place_coded_rows(tiles, nodes, records, leaf_out):
    """The leaf of every row of tiles [tiles, n, 32], by its codes."""
    for row in range(tiles.shape[1]):
        i = 0
        while nodes[i].left >= 0:
            node = nodes[i]
            f = node.feature
            c = np.int64(tiles[f >> 5, row, f & 31])
            if c == records[f].n_bins:
                left = node.missing_left == 1
            elif node.is_set == 1:
                left = (node.set[c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(1)
            else:
                left = c <= node.code
            i = node.left + (0 if left else 1)
        leaf_out[row] = i


@kernel
def sum_leaf_weights(nodes, n_nodes, sums, weight_out):
    """Weight of the rows of every node: those of leaves are sums[:, 2], the others add their children."""
    for i in range(n_nodes - 1, -1, -1):
        node = nodes[i]
        if node.left >= 0:
            weight_out[i] = weight_out[node.left] + weight_out[node.left + 1]
        else:
            weight_out[i] = sums[i, 2]
