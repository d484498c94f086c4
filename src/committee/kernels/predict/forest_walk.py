"""Sums of the predictions of deep trees."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part

LANES = 8
"""Rows of a tile, which proceed in lock step, so that their cache misses overlap."""

TILES_TOGETHER = 512
"""Number of tiles that are traversed together: they and a tree fit the second-level cache."""


@part
def category_step(X, row, node, nodes, category_set, categories):
    """The child of a row; that of a leaf is itself. Codes outside 0..255 follow missing values."""
    here = nodes[node]
    f = here.feature
    x = X[row, np.uintp(f ^ (f >> np.int32(31)))]
    left = (x <= here.threshold) | ((f < 0) & (x != x))
    s = category_set[node] if category_set.size > 0 else np.int32(-1)
    if s >= 0:
        left = f < 0
        if x >= 0.0 and x < 256.0:
            c = np.int64(x)
            left = (categories[s, c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(1)
    return np.uintp(here.left) + np.uintp(not left)


@kernel
def add_row_predictions(X, nodes, roots, value_index, category_set, categories, values, score_out):
    """Add to score_out [n, k] the values of the leaves that rows of X [n, d] (float64) reach in every tree.

    Row by row, for few rows and for splits by sets of categories (codes in such columns).
    """
    for t in range(roots.size):
        for i in range(X.shape[0]):
            node = np.uintp(roots[t])
            child = category_step(X, np.uintp(i), node, nodes, category_set, categories)
            while child != node:
                node = child
                child = category_step(X, np.uintp(i), node, nodes, category_set, categories)
            for k in range(values.shape[1]):
                score_out[i, k] += values[value_index[node], k]


@part
def short_step(tiles, tile, lane, nodes, root, node, n_bits):
    """The child, numbered within the tree, that a row of a tile goes to; a leaf leads to itself."""
    here = nodes[root + node]
    link = here.link
    left = link >> n_bits
    x = tiles[tile, np.uintp(link ^ (left << n_bits)), lane]
    return np.uintp(left) + np.uintp(x > here.threshold)


@kernel
def add_tile_predictions(tiles, nodes, n_bits, roots, value_index, values, score_out):
    """The same for tiles [n / 8, columns, 8] without missing values; `nodes` and `n_bits` are those of ShortNodes."""
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    five, six, seven = np.uintp(5), np.uintp(6), np.uintp(7)
    zero = np.uintp(0)
    for block in range(0, tiles.shape[0], TILES_TOGETHER):
        end = np.uintp(min(block + TILES_TOGETHER, tiles.shape[0]))
        for t in range(roots.size):
            r = np.uintp(roots[t])
            for i in range(np.uintp(block), end):
                a = b = c = d = e = f = g = h = zero
                while True:
                    a1 = short_step(tiles, i, zero, nodes, r, a, n_bits)
                    b1 = short_step(tiles, i, one, nodes, r, b, n_bits)
                    c1 = short_step(tiles, i, two, nodes, r, c, n_bits)
                    d1 = short_step(tiles, i, three, nodes, r, d, n_bits)
                    e1 = short_step(tiles, i, four, nodes, r, e, n_bits)
                    f1 = short_step(tiles, i, five, nodes, r, f, n_bits)
                    g1 = short_step(tiles, i, six, nodes, r, g, n_bits)
                    h1 = short_step(tiles, i, seven, nodes, r, h, n_bits)
                    moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
                    a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
                    if moved == zero:
                        break
                row = i * np.uintp(LANES)
                for k in range(values.shape[1]):
                    score_out[row, k] += values[value_index[r + a], k]
                    score_out[row + one, k] += values[value_index[r + b], k]
                    score_out[row + two, k] += values[value_index[r + c], k]
                    score_out[row + three, k] += values[value_index[r + d], k]
                    score_out[row + four, k] += values[value_index[r + e], k]
                    score_out[row + five, k] += values[value_index[r + f], k]
                    score_out[row + six, k] += values[value_index[r + g], k]
                    score_out[row + seven, k] += values[value_index[r + h], k]
