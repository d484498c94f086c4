"""The stump of largest edge over all rows: one sweep over presorted columns, or over a histogram of bins.

A cut with signed weight g = sum w y on its left has the edge |g| + |G - g| for the better polarity on each side. That
is convex in g, so the best cut of a feature is one where the running sum is largest or smallest: two numbers to keep.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, kernel
from committee.kernels.trees.histogram import TILE, WORDS, add_word

LAST_OF_VALUE = np.uint32(1 << 31)
"""Set in a presorted column where the next row has another value: only there is a cut."""

ROW_BITS = np.uint32((1 << 31) - 1)

LOW, LOW_AT, HIGH, HIGH_AT, MISSING = range(5)
"""Columns of what a sweep finds: smallest and largest sum and where, and the sum of the missing rows."""


@kernel
def presort(codes, n_codes, counters, order_out):
    """Rows of codes [n] in order of their code, missing (n_codes) last; return how many are missing.

    Every code below n_codes occurs. counters [n_codes + 2] is overwritten.
    """
    n = codes.size
    for c in range(n_codes + 2):
        counters[c] = 0
    for i in range(n):
        counters[np.int64(codes[i]) + 1] += 1
    for c in range(n_codes + 1):
        counters[c + 1] += counters[c]
    for i in range(n):
        c = np.int64(codes[i])
        order_out[counters[c]] = i
        counters[c] += 1
    for c in range(n_codes):  # counters[c] is now where the rows of code c end
        order_out[counters[c] - 1] |= LAST_OF_VALUE
    return n - counters[n_codes - 1] if n_codes > 0 else n


@kernel
def sweep_orders(first, last, orders, n_missing, signed, found_out):
    """Extremes of the running sums of `signed` along the presorted columns first:last, as found_out[f, :5]."""
    n = orders.shape[1]
    for f in range(first, last):
        order = orders[f]
        n_present = n - n_missing[f]
        g = 0
        low, high = 0, 0
        low_at, high_at = -1, -1
        for i in range(n_present):
            g += signed[np.uintp(order[i] & ROW_BITS)]
            if (order[i] & LAST_OF_VALUE) != np.uint32(0):
                if g < low:
                    low = g
                    low_at = i
                if g > high:
                    high = g
                    high_at = i
        missing = 0
        for i in range(n_present, n):
            missing += signed[np.uintp(order[i] & ROW_BITS)]
        found_out[f, LOW], found_out[f, LOW_AT], found_out[f, MISSING] = low, low_at, missing
        found_out[f, HIGH], found_out[f, HIGH_AT] = high, high_at


@inlined
def add_signed(n_words, tile, base, first, last, signed, histogram_out):
    """One tile; the number of its words, where it is a constant, makes straight code."""
    for i in range(np.uintp(first), np.uintp(last)):
        g = signed[i]
        for w in range(np.uintp(n_words)):
            add_word(histogram_out, base + w * np.uintp(1024), tile[i, w], g)


@kernel
def sum_bins(words, n_features, first, last, signed, histogram_out):
    """Add `signed` of the rows first:last by feature and bin to histogram_out [features * 256]."""
    for t in range(words.shape[0]):
        n_words = min(WORDS, (n_features - t * TILE + 3) // 4)
        base = np.uintp(t * TILE * 256)
        if n_words == 8:
            add_signed(8, words[t], base, first, last, signed, histogram_out)
        elif n_words == 7:
            add_signed(7, words[t], base, first, last, signed, histogram_out)
        else:
            add_signed(n_words, words[t], base, first, last, signed, histogram_out)


@kernel
def sweep_bins(histogram, n_bins, found_out):
    """Extremes of the running sums along the bins of every feature, as found_out[f, :5]."""
    for f in range(n_bins.size):
        g = 0
        low, high = 0, 0
        low_at, high_at = -1, -1
        for c in range(n_bins[f]):
            g += histogram[f * 256 + c]
            if g < low:
                low = g
                low_at = c
            if g > high:
                high = g
                high_at = c
        found_out[f, LOW], found_out[f, LOW_AT], found_out[f, MISSING] = low, low_at, histogram[f * 256 + n_bins[f]]
        found_out[f, HIGH], found_out[f, HIGH_AT] = high, high_at


@kernel
def sign_weights(y, weight, per_unit, signed_out):
    """Weights as whole numbers, `per_unit` of them to one, with the sign of the class; return their sum."""
    total = np.int64(0)
    for i in range(np.uintp(y.size)):
        whole = np.int64(weight[i] * per_unit + 0.5)
        against = np.int64(y[i] <= 0)
        signed_out[i] = (whole ^ -against) + against  # its negative where the class is the first
        total += signed_out[i]
    return total


@kernel
def pick_cut(result, total, best_out):
    """The first best of four candidates per feature: the extreme cuts, with missing rows right, then left.

    Written to best_out: the feature, -1 if no cut has a larger edge than a constant prediction; the place of the cut;
    whether missing rows go left; and the sum on the left.
    """
    best = abs(total)
    best_out[0] = -1
    for f in range(result.shape[0]):
        for missing_left in range(2 if result[f, MISSING] != 0 else 1):
            for at in (LOW_AT, HIGH_AT):
                where = result[f, at]
                left = result[f, at - 1] + missing_left * result[f, MISSING]
                edge = abs(left) + abs(total - left)
                is_first = edge == best and best_out[0] == f and best_out[2] == missing_left and where < best_out[1]
                if where >= 0 and (edge > best or is_first):
                    best = edge
                    best_out[0], best_out[1], best_out[2], best_out[3] = f, where, missing_left, left


@kernel
def divide_rows(codes, n_codes, stump, y, weight, predictions_out, sums_out):
    """The predictions of a `Stump` for the rows it was found on; `codes` are those of its feature (missing: n_codes).

    sums_out[side, class, :2] gets the weight and the number of the rows.

    Free of branches, which would be mispredicted at every other row: side and class are the place of the sums.
    """
    sums_out[:] = 0.0
    flat = sums_out.reshape(8)
    last = np.uint32(stump.code)
    missing = np.uint32(n_codes)
    right_if_missing = np.uint32(not stump.missing_left)
    difference = np.int8(stump.right - stump.left)
    for i in range(np.uintp(codes.size)):
        c = np.uint32(codes[i])
        is_missing = np.uint32(c == missing)
        right = (np.uint32(c > last) & (is_missing ^ np.uint32(1))) | (is_missing & right_if_missing)
        predictions_out[i] = np.int8(stump.left) + np.int8(right) * difference
        place = np.uintp(right) * np.uintp(4) + np.uintp(y[i] > 0) * np.uintp(2)
        flat[place] += weight[i]
        flat[place + np.uintp(1)] += 1.0
