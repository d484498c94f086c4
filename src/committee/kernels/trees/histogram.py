"""Node histograms over row-major tiles: the sums of all features of a node in one sweep over its rows.

A tile holds 32 features of every row, four codes to a word:

    row r:  | f0 f1 f2 f3 | f4 f5 f6 f7 | ... eight words, half a cache line

One row touches one line per tile, fetched ahead of its use; a histogram of a node's smaller child gives the larger
one's by subtraction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from committee.base.jit import kernel, part
from committee.kernels.trees.node import begin_node, end_search, score_node
from committee.kernels.trees.split import search_cuts
from committee.records.growth import CODE, LEFT_G, LEFT_H, LEFT_N

TILE = 32
WORDS = 8
AHEAD = 16
"""Rows between a prefetch and the use of what it fetched."""

BYTE = np.uint32(255)


@intrinsic
def _prefetch(typing_context, array, index):
    """Ask for the cache line of array.flat[index] (contiguous) before it is needed."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        builder.call(function, [address, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = _prefetch


@kernel
def fill_tiles(codes, first, last, tiles_out):
    """Rows first:last of codes [d, n] into tiles_out [tiles, n, 32]."""
    for f in range(codes.shape[0]):
        tile = tiles_out[f // TILE]
        column = codes[f]
        q = f % TILE
        for i in range(first, last):
            tile[i, q] = column[i]


@part
def add_word(histogram, base, word, amount):
    """Add `amount` to the bins of the four codes in `word`."""
    histogram[base + np.uintp(word & BYTE)] += amount
    histogram[base + np.uintp(256) + np.uintp((word >> np.uint32(8)) & BYTE)] += amount
    histogram[base + np.uintp(512) + np.uintp((word >> np.uint32(16)) & BYTE)] += amount
    histogram[base + np.uintp(768) + np.uintp(word >> np.uint32(24))] += amount


@kernel
def build_histogram(words, n_features, rows, stat, is_packed, histogram_out):
    """Add the sums of `rows` by feature and code to histogram_out [1 or 2, features * 256].

    words [tiles, n, 8] are the tiles four codes at a time. Packed, (g << 32) + h makes one addition of two: the caller
    makes sure that neither sum leaves 31 bits. Otherwise the sums of g and of h lie in two rows of histogram_out.
    """
    n = rows.size
    for t in range(words.shape[0]):
        tile = words[t]
        n_words = min(WORDS, (n_features - t * TILE + 3) // 4)
        base = np.uintp(t * TILE * 256)
        for i in range(n):
            row = np.uintp(rows[i])
            prefetch(tile, np.intp(rows[min(i + AHEAD, n - 1)]) * WORDS)
            g = stat[i, 0]
            h = stat[i, 1]
            if is_packed:
                amount = (g << 32) + h
                for w in range(np.uintp(n_words)):
                    add_word(histogram_out[0], base + w * np.uintp(1024), tile[row, w], amount)
            else:
                for w in range(np.uintp(n_words)):
                    add_word(histogram_out[0], base + w * np.uintp(1024), tile[row, w], g)
                    add_word(histogram_out[1], base + w * np.uintp(1024), tile[row, w], h)


@part
def cut_sums(sums, f, n_codes, is_packed, cuts_out):
    """Cuts after every code of feature f from the node's histogram; entry n_codes holds the sums of missing rows.

    LEFT_N is the weight, as there are no counts. Return how many codes occur.
    """
    base = f * 256
    g = 0
    h = 0
    n_present = 0
    for c in range(n_codes + 1):
        if is_packed:
            packed = sums[0, base + c]
            more = packed & 0xFFFFFFFF
            g_here = (packed - more) >> 32
        else:
            more = sums[1, base + c]
            g_here = sums[0, base + c]
        n_present += more > 0
        if c == n_codes:
            g = 0
            h = 0
        g += g_here
        h += more
        cuts_out[CODE, c] = c
        cuts_out[LEFT_G, c] = g
        cuts_out[LEFT_H, c] = h
        cuts_out[LEFT_N, c] = h
    return n_present


@kernel
def search_histogram(nodes, i, features, rules_1, sample, sums, is_packed, work):
    """Write the best split of node i along numeric `features`, in their order, into its record."""
    table = sample.table
    node = nodes[i]
    rules = rules_1[0]
    if not begin_node(node, rules, sample.stat, table.target, sample.rows):
        return
    score_node(node, rules, sample.stat, work.by_class[0])
    for j in range(features.size):
        f = features[j]
        feature = table.features[f]
        if feature.groups & node.groups == np.uint64(0):
            continue
        if cut_sums(sums, f, feature.n_bins, is_packed, work.cuts) > 1:
            node.n_searched += 1
            before = node.score
            search_cuts(f, feature.n_bins, node.h, feature.monotone, node, rules, work.cuts, work.gain)
            if node.score > before:
                node.threshold = np.nan
                node.is_set = 0
    end_search(node, rules)
