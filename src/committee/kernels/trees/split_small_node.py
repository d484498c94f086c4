"""Nodes of a few rows under the plain squared criterion: many features at once, without sorting.

The cut after row i sends left every row whose code is not larger. With the codes of the node as a block, rows by
features, the sums of all those cuts are loops over features, which vectorise. Most nodes of a deep tree are small.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.kernels.trees.criteria import variance_decrease

FEW_ROWS = 24
TOGETHER = 32
"""Features in a block: with FEW_ROWS rows its codes and sums stay in the first-level cache."""


@part
def search_small_node(n_look, best_possible, node, rules, stat, subtree, work):
    """Search the features subtree.look[:n_look], whose columns of subtree.local are filled.

    Return False where a value is missing: the node must be searched feature by feature. Overwrites work.block and
    work.decreases.
    """
    n = node.n
    look, position = subtree.look, subtree.position
    codes, cut_g, cut_h = work.block[0], work.block[1], work.block[2]
    gain, inverse = work.decreases[0], work.decreases[1]
    for k in range(1, n):
        inverse[k] = np.float64(n) / (np.float64(k) * (np.float64(n) - np.float64(k)))
    inverse[n] = -np.inf  # every row left is no split
    g_unit, h_unit, shift, h_node = rules.g_unit, rules.h_unit, node.shift, node.h
    h_all = h_node * h_unit
    mean = (node.g - shift * h_node) * g_unit / h_all
    for first in range(0, n_look, TOGETHER):
        width = min(TOGETHER, n_look - first)
        for a in range(width):
            f = look[first + a]
            column = subtree.local[f]
            missing = subtree.n_ranks[f]
            n_missing = 0
            difference = np.int64(0)
            for i in range(n):
                c = np.int64(column[position[node.start + i]])
                n_missing += c == missing
                codes[i * width + a] = c
                difference |= c ^ codes[a]
            if n_missing > 0:
                return False
            node.n_searched += difference != 0
        for i in range(n):
            sum_cut(i, n, width, node.start, stat, codes, cut_g, cut_h)
        if rules.unit_weights:
            for k in range(n * width):
                h = cut_h[k]
                centred = (cut_g[k] - shift * h) * g_unit - mean * h
                gain[k] = centred * centred * inverse[h]
        else:
            for k in range(n * width):
                g = (cut_g[k] - shift * cut_h[k]) * g_unit
                decrease = variance_decrease(g, cut_h[k] * h_unit, mean, h_all)
                gain[k] = decrease if cut_h[k] < h_node else -np.inf
        keep_best(n, width, look[first:], best_possible, codes, gain, node)
        if node.score >= best_possible:
            break
    return True


@part
def sum_cut(i, n, width, start, stat, codes, cut_g_out, cut_h_out):
    """Sums of the rows left of the cut after row i, for each feature of the block."""
    here = codes[i * width : (i + 1) * width]
    cut_g = cut_g_out[i * width : (i + 1) * width]
    cut_h = cut_h_out[i * width : (i + 1) * width]
    for a in range(width):
        cut_g[a] = 0
        cut_h[a] = 0
    for j in range(n):
        other = codes[j * width : (j + 1) * width]
        g = stat[start + j, 0]
        h = stat[start + j, 1]
        for a in range(width):
            cut_g[a] += g if other[a] <= here[a] else 0
            cut_h[a] += h if other[a] <= here[a] else 0


@part
def keep_best(n, width, look, best_possible, codes, gain, node):
    """The first best feature, and of its equal cuts the lowest."""
    for a in range(width):
        result = -1
        best = node.score
        for i in range(n):
            k = i * width + a
            if gain[k] > best or (result >= 0 and gain[k] == best and codes[k] < codes[result]):
                best = gain[k]
                result = k
        if result >= 0:
            node.score = best
            node.feature = look[a]
            node.code = codes[result]
            node.missing_left = 0
            node.threshold = np.nan
            node.is_set = 0
            if best >= best_possible:
                break
