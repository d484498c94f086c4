"""Traversal of trees: from rows to leaves."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part


@part
def step(X, row, node, nodes):
    """The child of the row; that of a leaf is itself. With a negative feature ~f missing values go left."""
    here = nodes[node]
    f = here.feature
    x = X[row, np.uintp(f ^ (f >> np.int32(31)))]
    left = (x <= here.threshold) | ((f < 0) & (x != x))
    return np.uintp(here.left) + np.uintp(not left)


@kernel
def find_leaves(X, nodes, leaves_out):
    """Leaf of every row of X [n, d]. Eight rows proceed in lock step, so that their cache misses overlap."""
    n = X.shape[0]
    last = n // 8 * 8
    zero = np.uintp(0)
    for row in range(np.uintp(0), np.uintp(last), np.uintp(8)):
        a, b, c, d, e, f, g, h = zero, zero, zero, zero, zero, zero, zero, zero
        while True:
            a1 = step(X, row, a, nodes)
            b1 = step(X, row + np.uintp(1), b, nodes)
            c1 = step(X, row + np.uintp(2), c, nodes)
            d1 = step(X, row + np.uintp(3), d, nodes)
            e1 = step(X, row + np.uintp(4), e, nodes)
            f1 = step(X, row + np.uintp(5), f, nodes)
            g1 = step(X, row + np.uintp(6), g, nodes)
            h1 = step(X, row + np.uintp(7), h, nodes)
            moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
            if moved == zero:
                break
        leaves_out[row] = a
        leaves_out[row + np.uintp(1)] = b
        leaves_out[row + np.uintp(2)] = c
        leaves_out[row + np.uintp(3)] = d
        leaves_out[row + np.uintp(4)] = e
        leaves_out[row + np.uintp(5)] = f
        leaves_out[row + np.uintp(6)] = g
        leaves_out[row + np.uintp(7)] = h
    for i in range(last, n):
        node = zero
        while True:
            child = step(X, np.uintp(i), node, nodes)
            if child == node:
                break
            node = child
        leaves_out[i] = node


@kernel
def find_leaves_with_categories(X, feature, threshold, left, missing_left, category_set, categories, leaves_out):
    """Leaf of every row of X [n, d] (float64), category codes in the columns that category sets are about."""
    for row in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            x = X[row, feature[node]]
            if x != x:
                goes_left = missing_left[node]
            elif category_set[node] >= 0:
                code = np.int64(x)
                word = categories[category_set[node], code >> 6]
                goes_left = (word >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)
            else:
                goes_left = x <= threshold[node]
            node = left[node] + (0 if goes_left else 1)
        leaves_out[row] = node


@kernel
def add_leaf_values(X, nodes, roots, depths, values, score_out):
    """Add the values [nodes, k] of the leaves that rows of X [n, d] reach in every tree to score_out [n, k].

    Eight rows proceed in lock step, at most depths[t] steps through tree t.
    """
    n = X.shape[0]
    last = n // 8 * 8
    k = values.shape[1]
    for row in range(np.uintp(0), np.uintp(last), np.uintp(8)):
        for t in range(roots.size):
            a = b = c = d = e = f = g = h = np.uintp(roots[t])
            for _ in range(depths[t]):
                a1 = step(X, row, a, nodes)
                b1 = step(X, row + np.uintp(1), b, nodes)
                c1 = step(X, row + np.uintp(2), c, nodes)
                d1 = step(X, row + np.uintp(3), d, nodes)
                e1 = step(X, row + np.uintp(4), e, nodes)
                f1 = step(X, row + np.uintp(5), f, nodes)
                g1 = step(X, row + np.uintp(6), g, nodes)
                h1 = step(X, row + np.uintp(7), h, nodes)
                moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
                a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
                if moved == np.uintp(0):
                    break
            for j in range(k):
                score_out[row, j] += values[a, j]
                score_out[row + np.uintp(1), j] += values[b, j]
                score_out[row + np.uintp(2), j] += values[c, j]
                score_out[row + np.uintp(3), j] += values[d, j]
                score_out[row + np.uintp(4), j] += values[e, j]
                score_out[row + np.uintp(5), j] += values[f, j]
                score_out[row + np.uintp(6), j] += values[g, j]
                score_out[row + np.uintp(7), j] += values[h, j]
    for i in range(last, n):
        for t in range(roots.size):
            node = np.uintp(roots[t])
            for _ in range(depths[t]):
                node = step(X, np.uintp(i), node, nodes)
            for j in range(k):
                score_out[i, j] += values[node, j]


ROWS_TOGETHER = 256
"""Rows that go through all trees before the next ones: their part of the table, and each tree, stay in the cache."""


@kernel
def add_tree_scores(X, nodes, roots, depths, outputs, values, score_out):
    """Add to score_out [n, k] the values of the leaves that rows of X [n, d] reach; tree t adds to column outputs[t].

    Eight rows proceed in lock step, at most depths[t] steps through tree t.
    """
    n = X.shape[0]
    last = n // 8 * 8
    for block in range(0, last, ROWS_TOGETHER):
        end = np.uintp(min(block + ROWS_TOGETHER, last))
        for t in range(roots.size):
            root = np.uintp(roots[t])
            k = outputs[t]
            for row in range(np.uintp(block), end, np.uintp(8)):
                a = b = c = d = e = f = g = h = root
                for _ in range(depths[t]):
                    a = step(X, row, a, nodes)
                    b = step(X, row + np.uintp(1), b, nodes)
                    c = step(X, row + np.uintp(2), c, nodes)
                    d = step(X, row + np.uintp(3), d, nodes)
                    e = step(X, row + np.uintp(4), e, nodes)
                    f = step(X, row + np.uintp(5), f, nodes)
                    g = step(X, row + np.uintp(6), g, nodes)
                    h = step(X, row + np.uintp(7), h, nodes)
                score_out[row, k] += values[a]
                score_out[row + np.uintp(1), k] += values[b]
                score_out[row + np.uintp(2), k] += values[c]
                score_out[row + np.uintp(3), k] += values[d]
                score_out[row + np.uintp(4), k] += values[e]
                score_out[row + np.uintp(5), k] += values[f]
                score_out[row + np.uintp(6), k] += values[g]
                score_out[row + np.uintp(7), k] += values[h]
    for i in range(last, n):
        for t in range(roots.size):
            node = np.uintp(roots[t])
            for _ in range(depths[t]):
                node = step(X, np.uintp(i), node, nodes)
            score_out[i, outputs[t]] += values[node]


@kernel
def add_category_scores(X, nodes, roots, outputs, category_set, categories, values, score_out):
    """The same for trees with splits of categories: node i has the set categories[category_set[i]], or -1."""
    for i in range(X.shape[0]):
        for t in range(roots.size):
            node = np.uintp(roots[t])
            while True:
                here = nodes[node]
                if np.uintp(here.left) == node:
                    break
                f = here.feature
                x = X[i, np.uintp(f ^ (f >> np.int32(31)))]
                if x != x:
                    left = f < 0
                elif category_set[node] >= 0:
                    code = np.int64(x)
                    word = categories[category_set[node], code >> 6]
                    left = (word >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)
                else:
                    left = x <= here.threshold
                node = np.uintp(here.left) + np.uintp(not left)
            score_out[i, outputs[t]] += values[node]
