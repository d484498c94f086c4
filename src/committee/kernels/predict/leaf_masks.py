"""Scores of small trees without branches: nodes remove leaves from a bit mask of the row.

The leaves of a tree are numbered from left to right, one bit each. The mask of a row starts with all of them. A node at
which the row goes right removes the leaves of its left side; the order of the nodes does not matter. The leaf of the
row is the lowest remaining bit: a leaf further left is on the left side of a node of the path where the row went right.

All nodes of a tree are compared in place of one path, but without branches, so that eight or more rows are compared at
once.

Lucchese et al., QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees, 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from committee.base.jit import kernel, part


@intrinsic
def _lowest_bit(typing_context, bits):
    """Number of the lowest bit that is set."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


lowest_bit: Any = _lowest_bit


@part
def all_ones(like):
    return ~(like ^ like)


@part
def turn_table(X, begin, n, source, block_out):
    """Rows begin:begin + n of X as columns of block_out [2 c, rows], eight at a time; whether a value is missing.

    Row j of block_out is feature source[j]. If there are holes, rows c: are the same with missing values smaller than
    any threshold; a nan is greater than all.
    """
    c = np.uintp(source.size)
    has_holes = False
    for first in range(np.uintp(0), np.uintp(n), np.uintp(8)):
        last = min(first + np.uintp(8), np.uintp(n))
        for j in range(c):
            f = np.uintp(source[j])
            for r in range(first, last):
                x = X[np.uintp(begin) + r, f]
                block_out[j, r] = x
                has_holes |= x != x
    if has_holes:
        for j in range(c):
            for r in range(np.uintp(n)):
                x = block_out[j, r]
                block_out[c + j, r] = -np.inf if x != x else x
    return has_holes


@part
def strike_out(block, shift, trees, t, mask_out):
    """Remove leaves of tree t from the masks, by four nodes at a time, to load and store masks less often."""
    column, holes_left, threshold, kept = trees.column, trees.holes_left, trees.threshold, trees.kept
    ones = all_ones(kept[0])
    n = np.uintp(mask_out.size)
    j, last = trees.first[t], trees.first[t + 1]
    while j + 4 <= last:
        a, b = block[column[j] + shift * holes_left[j]], block[column[j + 1] + shift * holes_left[j + 1]]
        c, d = block[column[j + 2] + shift * holes_left[j + 2]], block[column[j + 3] + shift * holes_left[j + 3]]
        ta, tb, tc, td = threshold[j], threshold[j + 1], threshold[j + 2], threshold[j + 3]
        ka, kb, kc, kd = kept[j], kept[j + 1], kept[j + 2], kept[j + 3]
        for r in range(n):
            of_two = (ones if a[r] <= ta else ka) & (ones if b[r] <= tb else kb)
            mask_out[r] &= of_two & (ones if c[r] <= tc else kc) & (ones if d[r] <= td else kd)
        j += 4
    while j < last:
        a, ta, ka = block[column[j] + shift * holes_left[j]], threshold[j], kept[j]
        for r in range(n):
            mask_out[r] &= ones if a[r] <= ta else ka
        j += 1


@kernel
def add_masked_scores(X, trees, block, mask, score_out):
    """Add to score_out [n, k] the values of the leaves of `MaskedTrees` that rows of X [n, d] reach.

    block [2 * trees.source.size, m] and mask [m] are scratch for m rows at a time.
    """
    source, outputs = trees.source, trees.output
    n, m = X.shape[0], mask.size
    ones = all_ones(mask[0])
    for begin in range(0, n, m):
        n_here = min(m, n - begin)
        shift = source.size if turn_table(X, begin, n_here, source, block) else 0
        here = mask[:n_here]
        for t in range(outputs.size):
            for r in range(np.uintp(n_here)):
                here[r] = ones
            strike_out(block, shift, trees, t, here)
            k, leaf = outputs[t], np.uintp(trees.leaf_first[t])
            for r in range(np.uintp(n_here)):
                score_out[np.uintp(begin) + r, k] += trees.value[leaf + np.uintp(lowest_bit(here[r]))]
