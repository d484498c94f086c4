"""From rows to the summed answers of deep trees."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.traverse import step

ROWS_TOGETHER = 4096
"""Rows that go through a tree before the next tree is taken: both stay in the second cache."""


@part
def walk(X, row, root, nodes):
    """The leaf of one row."""
    node = root
    while True:
        child = step(X, row, node, nodes)
        if child == node:
            return node
        node = child


@part
def category_step(X, row, node, nodes, category_set, categories):
    """`step` for nodes that may split by a set of categories; codes outside 0..255 follow missing values."""
    here = nodes[node]
    f = here.feature
    x = X[row, np.uintp(f ^ (f >> np.int32(31)))]
    left = (x <= here.threshold) | ((f < 0) & (x != x))
    s = category_set[node]
    if s >= 0:
        left = f < 0
        if x >= 0.0 and x < 256.0:
            c = np.int64(x)
            left = (categories[s, c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(1)
    return np.uintp(here.left) + np.uintp(not left)


@kernel
def add_forest_answers(X, nodes, roots, answer, values, score_out):
    """Add to score_out [n, k] the values of the leaves that rows of X [n, d] reach in every tree.

    Eight rows walk in lock step until none of them moves: their cache misses overlap.
    """
    n = X.shape[0]
    last = n // 8 * 8
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    five, six, seven = np.uintp(5), np.uintp(6), np.uintp(7)
    for block in range(0, last, ROWS_TOGETHER):
        end = np.uintp(min(block + ROWS_TOGETHER, last))
        for t in range(roots.size):
            root = np.uintp(roots[t])
            for row in range(np.uintp(block), end, np.uintp(8)):
                a = b = c = d = e = f = g = h = root
                while True:
                    a1 = step(X, row, a, nodes)
                    b1 = step(X, row + one, b, nodes)
                    c1 = step(X, row + two, c, nodes)
                    d1 = step(X, row + three, d, nodes)
                    e1 = step(X, row + four, e, nodes)
                    f1 = step(X, row + five, f, nodes)
                    g1 = step(X, row + six, g, nodes)
                    h1 = step(X, row + seven, h, nodes)
                    moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
                    a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
                    if moved == np.uintp(0):
                        break
                for k in range(values.shape[1]):
                    score_out[row, k] += values[answer[a], k]
                    score_out[row + one, k] += values[answer[b], k]
                    score_out[row + two, k] += values[answer[c], k]
                    score_out[row + three, k] += values[answer[d], k]
                    score_out[row + four, k] += values[answer[e], k]
                    score_out[row + five, k] += values[answer[f], k]
                    score_out[row + six, k] += values[answer[g], k]
                    score_out[row + seven, k] += values[answer[h], k]
    for t in range(roots.size):
        for i in range(last, n):
            leaf = walk(X, np.uintp(i), np.uintp(roots[t]), nodes)
            for k in range(values.shape[1]):
                score_out[i, k] += values[answer[leaf], k]


@kernel
def add_forest_category_answers(X, nodes, roots, answer, category_set, categories, values, score_out):
    """The same for trees some of whose splits are sets of categories; X is float64, with codes in such columns."""
    for t in range(roots.size):
        for i in range(X.shape[0]):
            node = np.uintp(roots[t])
            child = category_step(X, np.uintp(i), node, nodes, category_set, categories)
            while child != node:
                node = child
                child = category_step(X, np.uintp(i), node, nodes, category_set, categories)
            for k in range(values.shape[1]):
                score_out[i, k] += values[answer[node], k]
