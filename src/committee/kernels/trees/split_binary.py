"""Two classes of small weights under the plain squared (Gini) criterion: the trees of forests.

The weights of a row in the two classes are the halves of one 32-bit integer, so one addition sums both. A cut sends
left every row whose code is not larger. The sums of a feature's cuts come from comparing every row with every other
(few rows), from a histogram (few codes), or from sorting integers that carry code and weight together.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.kernels.trees.criteria import variance_decrease
from committee.records.growth import CODES, LOW_HALVES, SUMS, WEIGHTS_OF_CLASSES

PAIR_ROWS = 64
"""Rows up to which every one is compared with every other, unless the codes are fewer still."""

MAX_WEIGHT = 1 << 15
"""Of a node's rows together: that of each class fits half an integer."""

FEW_CODES = 256
"""With so few codes a histogram is quicker than a sort, however few the rows."""

HALF = np.int32(16)
LOW = np.int32(0xFFFF)
NO_CODE = np.int32(0x7FFFFFFF)
DIGITS = 256


@part
def pack_two_classes(node, rules, stat, packed_out):
    """Weights of the node's rows, those of the second class in the upper half; False where they do not fit.

    For sorting there is a second copy, as weight << 1 | class.
    """
    if rules.n_classes != 2 or node.h >= MAX_WEIGHT:
        return False
    start = np.uintp(node.start)
    for i in range(np.uintp(node.n)):
        w = np.int32(stat[start + i, 1])
        is_first = stat[start + i, 0] < 0
        packed_out[WEIGHTS_OF_CLASSES, i] = w if is_first else w << HALF
        packed_out[LOW_HALVES, i] = np.int32(w + w) + np.int32(0 if is_first else 1)
    return True


@part
def differ(codes, n, missing):
    """Whether int32 codes[:n] differ, whether one is missing: a pass of its own, which vectorises."""
    first = codes[0]
    difference = np.int32(0)
    largest = np.int32(0)
    for i in range(np.uintp(n)):
        difference |= codes[i] ^ first
        largest = max(largest, codes[i])
    return difference != 0, largest == missing


@part
def search_two_classes(f, n_codes, node, rules, work):
    """Search feature f, the node's codes in packed[CODES], its weights in packed[WEIGHTS_OF_CLASSES]; none is missing.

    Overwrites the rest of packed, packed_keys, counters and gain.
    """
    packed, keys, gain = work.packed, work.packed_keys, work.gain
    n = node.n
    codes, weights, sums = packed[CODES], packed[WEIGHTS_OF_CLASSES], packed[SUMS]
    if n <= PAIR_ROWS and n_codes > n:
        sum_pairs(n, codes, weights, sums)
        score_sums(n, node, rules, sums, gain)
        c = lowest_best(n, node.score, codes, gain)
        if c >= 0:
            keep(f, codes[c], gain[c], node)
    elif n_codes <= max(2 * n, FEW_CODES):
        sum_histogram(n, n_codes, codes, weights, sums)
        score_sums(n_codes, node, rules, sums, gain)
        c = first_best(n_codes, node.score, gain)
        if c >= 0:
            keep(f, c, gain[c], node)
    else:
        sort_by_code(n, n_codes, codes, packed[LOW_HALVES], keys, work.counters)
        sum_sorted(n, keys[0], codes, sums)
        score_sums(n, node, rules, sums, gain)
        c = first_best(n, node.score, gain)
        if c >= 0:
            keep(f, codes[c], gain[c], node)


@part
def keep(f, code, score, node):
    node.score = score
    node.feature = f
    node.code = np.int64(code)
    node.missing_left = 0
    node.threshold = np.nan
    node.is_set = 0


@part
def sum_pairs(n, codes, weights, sums_out):
    """The cut after row i, for every i; codes and weights are padded to whole vectors."""
    padded = np.uintp((n + 7) // 8 * 8)
    for i in range(np.uintp(n), padded):
        weights[i] = 0
        codes[i] = NO_CODE
    for i in range(np.uintp(n)):
        here = codes[i]
        total = np.int32(0)
        for j in range(padded):
            total = np.int32(total + (weights[j] if codes[j] <= here else np.int32(0)))
        sums_out[i] = total


@part
def sum_histogram(n, n_codes, codes, weights, sums_out):
    """The cut after code c, for every c."""
    for c in range(np.uintp(n_codes)):
        sums_out[c] = 0
    for i in range(np.uintp(n)):
        sums_out[np.uintp(codes[i])] += weights[i]
    total = np.int32(0)
    for c in range(np.uintp(n_codes)):
        total += sums_out[c]
        sums_out[c] = total


@part
def sort_by_code(n, n_codes, codes, low_halves, keys, counters):
    """Sort `code << 16 | low half` by code, into keys[0] of keys [2, n] (radix sort)."""
    if n_codes <= DIGITS:
        sort_few_codes(n, n_codes, codes, low_halves, counters, keys[0])
        return
    low, high = counters[:DIGITS], counters[DIGITS : 2 * DIGITS]
    for j in range(np.uintp(2 * DIGITS)):
        counters[j] = 0
    source = keys[0]
    for i in range(np.uintp(n)):
        code = np.uint32(codes[i])
        low[np.uintp(code & np.uint32(255))] += np.int32(1)
        high[np.uintp(code >> np.uint32(8))] += np.int32(1)
        source[i] = (code << np.uint32(16)) | np.uint32(low_halves[i])
    radix_pass(n, keys[0], np.uint32(16), low, keys[1])
    radix_pass(n, keys[1], np.uint32(24), high, keys[0])


@part
def sort_few_codes(n, n_codes, codes, low_halves, counters, keys_out):
    """The same for at most DIGITS codes, with no more counters than codes (overwritten)."""
    for c in range(np.uintp(n_codes)):
        counters[c] = 0
    for i in range(np.uintp(n)):
        counters[np.uintp(codes[i])] += np.int32(1)
    begin = np.int32(0)
    for c in range(np.uintp(n_codes)):
        count = counters[c]
        counters[c] = begin
        begin += count
    for i in range(np.uintp(n)):
        code = np.uintp(codes[i])
        keys_out[np.uintp(counters[code])] = (np.uint32(code) << np.uint32(16)) | np.uint32(low_halves[i])
        counters[code] += np.int32(1)


@part
def radix_pass(n, source, shift, counters, target_out):
    """Stable counting sort by eight bits, with their counts in counters (overwritten)."""
    begin = np.int32(0)
    for j in range(np.uintp(DIGITS)):
        count = counters[j]
        counters[j] = begin
        begin += count
    for i in range(np.uintp(n)):
        key = source[i]
        digit = np.uintp((key >> shift) & np.uint32(255))
        target_out[np.uintp(counters[digit])] = key
        counters[digit] += np.int32(1)


@part
def sum_sorted(n, ordered, codes_out, sums_out):
    """The cut after each row in sorted order, none (all rows left) where the next row has the same code."""
    total = np.int32(0)
    for i in range(np.uintp(n)):
        key = ordered[i]
        amount = np.int32((key & np.uint32(0xFFFF)) >> np.uint32(1))
        total += amount << (HALF if key & np.uint32(1) else np.int32(0))
        sums_out[i] = total
        codes_out[i] = np.int32(key >> np.uint32(16))
    for i in range(np.uintp(n - 1)):
        sums_out[i] = total if codes_out[i] == codes_out[i + np.uintp(1)] else sums_out[i]


@part
def score_sums(n_cuts, node, rules, sums, gain_out):
    """Decreases of the impurity by cuts with these weights of the two classes on the left."""
    g_unit, h_unit = rules.g_unit, rules.h_unit
    h_all = node.h * h_unit
    mean = (node.g - node.shift * node.h) * g_unit / h_all
    shift, h_node = np.int32(node.shift), np.int32(node.h)
    for i in range(np.uintp(n_cuts)):
        # 32 bits throughout: there is no vector instruction that turns wider integers into floats
        second = np.int32(sums[i] >> HALF)
        h = np.int32(np.int32(sums[i] & LOW) + second)
        g = np.int32(np.int32(second + second) - np.int32(h + np.int32(shift * h)))
        decrease = variance_decrease(g * g_unit, h * h_unit, mean, h_all)
        gain_out[i] = decrease if (h < h_node) & (h > 0) else -np.inf  # all rows on one side are no split


@part
def first_best(n_cuts, best, gain):
    """The first cut of largest gain if that is above `best`, else -1."""
    result = -1
    for c in range(n_cuts):
        if gain[c] > best:
            best = gain[c]
            result = c
    return result


@part
def lowest_best(n, best, codes, gain):
    """The same, of equal cuts the one of lowest code."""
    result = -1
    for i in range(n):
        if gain[i] > best or (result >= 0 and gain[i] == best and codes[i] < codes[result]):
            best = gain[i]
            result = i
    return result
