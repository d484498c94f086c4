"""Cuts drawn at random, one for each feature that a node looks at (extremely randomised trees).

The threshold is uniform between the least and the largest value of the feature in the node.

Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, part
from committee.kernels.trees.criteria import FIRST_CLASS_CRITERION, variance_decrease
from committee.kernels.trees.local_codes import count_translated
from committee.kernels.trees.paths import MANY_CLASSES, TWO_CLASSES
from committee.kernels.trees.sampling import draw, draw_unit
from committee.kernels.trees.split import search_classes, search_cuts
from committee.kernels.trees.split_binary import keep, score_sums
from committee.kernels.trees.split_multiclass import CLASS, CLASS_BITS, begin_cuts, score_classes
from committee.records.growth import CODES, LEFT_G, LEFT_H, LEFT_N, MARK_EVERY, SUMS, WEIGHTS_OF_CLASSES

TWO_SIDES = np.int64(2)  # codes of a drawn cut
ONE_CUT = np.int64(1)

FEW_ROWS = 32
"""Rows up to which their values are compared with the threshold one by one; else it is looked for among the codes."""


@part
def draw_threshold(f, low, high, node, code_of, table):
    """Draw a threshold between the values of the codes low < high, nan in bins; also the last code at or below it."""
    feature, upper = table.features[f], table.upper
    threshold = draw_between(f, low, high, node, code_of, table)
    if code_of.size == 0:
        code = last_below(threshold, feature.offset + low, feature.offset + high, upper, table.marks) - feature.offset
    else:
        code = low
        above = high
        while code + 1 < above:
            middle = (code + above) // 2
            if upper[feature.offset + np.int64(code_of[middle])] <= threshold:
                code = middle
            else:
                above = middle
    # A threshold inside a bin would separate rows that the bin holds together.
    return np.nan if is_binned(table) else threshold, code


@part
def is_binned(table):
    return table.bytes.shape[0] > 0


@part
def last_below(threshold, first, last, upper, marks):
    """The last place from `first` on, and before `last`, whose value is at most the threshold, by bisection.

    The marks, every MARK_EVERY-th value, stay in the cache; the values do not.
    """
    low = first // MARK_EVERY
    high = (last + MARK_EVERY - 1) // MARK_EVERY
    while low + 1 < high:
        middle = (low + high) // 2
        if marks[middle] <= threshold:
            low = middle
        else:
            high = middle
    low = max(first, low * MARK_EVERY)
    high = min(last, high * MARK_EVERY)
    while low + 1 < high:
        middle = (low + high) // 2
        if upper[middle] <= threshold:
            low = middle
        else:
            high = middle
    return low


@part
def draw_between(f, low, high, node, code_of, table):
    """Draw a number between the values of two codes."""
    offset, is_local = table.features[f].offset, code_of.size > 0
    first = table.upper[offset + (np.int64(code_of[low]) if is_local else low)]
    last = table.lower[offset + (np.int64(code_of[high]) if is_local else high)]
    fraction = draw_unit(node.key, 6 * f + 1)
    threshold = (1.0 - fraction) * first + fraction * last
    if not first <= threshold < last:  # neighbouring floats
        threshold = first
    return threshold


@part
def draw_among_rows(f, low, high, node, code_of, table, codes):
    """Do the same for few rows: to look at their values is quicker than a search among all codes."""
    offset, is_local = table.features[f].offset, code_of.size > 0
    threshold = draw_between(f, low, high, node, code_of, table)
    code = low
    for i in range(np.uintp(node.n)):
        c = np.int64(codes[i])
        value = table.upper[offset + (np.int64(code_of[c]) if is_local else c)]
        code = max(code, c if value <= threshold else low)
    return np.nan if is_binned(table) else threshold, code


@inlined
def search_drawn_cut(f, n_codes, path, node, search):
    """Draw a cut of feature f, the node's codes in work.packed[CODES], none missing; keep it if it is the best yet."""
    rules, table, work = search.rules, search.table, search.work
    codes = work.packed[CODES]
    all_codes = search.subtree.code_of
    n_translated = count_translated(table.features[f], all_codes)
    code_of = all_codes[f if n_translated > 0 else 0, :n_translated]
    low, high = range_of(node.n, codes)
    if node.n <= FEW_ROWS:
        threshold, code = draw_among_rows(f, low, high, node, code_of, table, codes)
    else:
        threshold, code = draw_threshold(f, low, high, node, code_of, table)
    if path == TWO_CLASSES:
        work.packed[SUMS, 0] = sum_left(node.n, np.int32(code), codes, work.packed[WEIGHTS_OF_CLASSES])
        score_sums(1, node, rules, work.packed[SUMS], work.gain)
        score = work.gain[0]
    elif path == MANY_CLASSES:
        score = score_left(node.n, node.h, np.int32(code), codes, work.packed[WEIGHTS_OF_CLASSES], work.of_class)
    else:
        g, h = sum_left_stat(node, np.int32(code), codes, search.stat)
        h_all = node.h * rules.h_unit
        mean = (node.g - node.shift * node.h) * rules.g_unit / h_all
        score = variance_decrease((g - node.shift * h) * rules.g_unit, h * rules.h_unit, mean, h_all)
    if score > node.score:
        keep(f, code, score, node)
        node.threshold = threshold


@part
def range_of(n, codes):
    """The least and the largest code."""
    low = high = codes[0]
    for i in range(np.uintp(n)):
        low = min(low, codes[i])
        high = max(high, codes[i])
    return np.int64(low), np.int64(high)


@part
def sum_left(n, code, codes, weights):
    total = np.int32(0)
    for i in range(np.uintp(n)):
        total = np.int32(total + (weights[i] if codes[i] <= code else np.int32(0)))
    return total


@part
def score_left(n, h_node, code, codes, weights, of_class):
    """The score of one cut for many classes."""
    squares = begin_cuts(of_class)
    on_left = of_class[1]
    h = np.int64(0)
    for i in range(np.uintp(n)):
        w = np.int64(weights[i] >> CLASS_BITS if codes[i] <= code else np.int32(0))
        on_left[np.uintp(weights[i] & CLASS)] += w
        h += w
    left = np.int64(0)
    both = np.int64(0)
    for k in range(of_class.shape[1]):
        left += on_left[k] * on_left[k]
        both += on_left[k] * of_class[0, k]
    return score_classes(np.float64(left), np.float64(both), squares, np.float64(h), np.float64(h_node))


@part
def sum_left_stat(node, code, codes, stat):
    """Sums of g and h of the rows at or below a code."""
    g = np.int64(0)
    h = np.int64(0)
    start = np.uintp(node.start)
    for i in range(np.uintp(node.n)):
        kept = -np.int64(codes[i] <= code)  # all bits, or none
        g += stat[start + i, 0] & kept
        h += stat[start + i, 1] & kept
    return g, h


def search_random_cut(search_column):
    """Make the search of one random cut of a feature of any kind, from the search of the cut between codes 0 and 1."""

    @inlined
    def search_codes(f, n_codes, node, search):
        rules, table, work = search.rules, search.table, search.work
        before, feature = node.score, table.features[f]
        all_codes = search.subtree.code_of
        n_translated = count_translated(feature, all_codes)
        code_of = all_codes[f if n_translated > 0 else 0, :n_translated]
        threshold, code, high, missing_left = draw_cut(f, n_codes, node, code_of, table, work.column)
        search_column(f, TWO_SIDES, feature.monotone, node, rules, search.stat, work)
        if node.score > before:
            keep_drawn_cut(f, node, feature.is_categorical, threshold, code, high, missing_left)

    return search_codes


@inlined
def search_two_sides(f, n_codes, monotone, node, rules, stat, work):
    """Search the only cut between the codes of a drawn cut, under any criterion of sums; no code is missing."""
    if rules.criterion < FIRST_CLASS_CRITERION:
        sum_drawn_cut(node, stat, work.column, work.cuts)
        search_cuts(f, ONE_CUT, node.n, monotone, node, rules, work.cuts, work.gain)
    else:
        search_classes(f, n_codes, node, rules, stat, work)


@part
def draw_cut(f, n_codes, node, code_of, table, column):
    """Draw a cut of feature f (extra-trees): column becomes 0 for rows that would go left and 1 for the others.

    code_of translates the codes in column to the table's; empty, they are the table's. Return the drawn threshold, the
    last code on the left, the largest code, and whether missing goes left.
    """
    missing = np.uint32(n_codes)
    lowest = missing
    highest = np.uint32(0)
    n_missing = np.uint32(0)
    for i in range(node.n):
        c = column[i]
        lowest = min(lowest, c)
        highest = max(highest, c if c != missing else np.uint32(0))
        n_missing += np.uint32(c == missing)
    low, high = np.int64(lowest), np.int64(highest)
    missing_left = n_missing > 0 and low < high and draw(node.key, 6 * f) & np.uint64(1) == np.uint64(1)
    threshold = np.nan
    code = low
    if table.features[f].is_categorical == 1:
        for i in range(node.n):  # each category at random, but the lowest goes left and the highest right
            c = np.int64(column[i])
            toss = (draw(node.key, 6 * f + 2 + (c >> 6)) >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(0)
            right = (toss or c == high) and c != low
            column[i] = np.uint32(not missing_left if c == n_codes else right)
        return threshold, code, high, missing_left
    if low < high:
        threshold, code = draw_threshold(f, low, high, node, code_of, table)
    last_left = np.uint32(code)
    kept_left = missing if missing_left else np.uint32(0xFFFFFFFF)  # the one larger code that goes left
    for i in range(node.n):
        column[i] = np.uint32((column[i] > last_left) & (column[i] != kept_left))
    return threshold, code, high, missing_left


@part
def sum_drawn_cut(node, stat, column, cuts_out):
    """The sums of the rows that a drawn cut sends left, as the only cut in cuts_out."""
    g = 0
    h = 0
    n_right = 0
    start = np.uintp(node.start)
    for i in range(np.uintp(node.n)):
        right = np.int64(column[i])
        n_right += right
        g += stat[start + i, 0] & (right - 1)  # all bits, or none
        h += stat[start + i, 1] & (right - 1)
    cuts_out[LEFT_G, 0], cuts_out[LEFT_H, 0], cuts_out[LEFT_N, 0] = g, h, node.n - n_right
    cuts_out[LEFT_N, 1] = 0


@part
def keep_drawn_cut(f, node, is_categorical, threshold, code, high, missing_left):
    """Write what was drawn into the node's record, after the drawn cut has become its best split."""
    node.threshold = threshold
    node.code = code
    node.missing_left = np.int64(missing_left)
    node.is_set = is_categorical
    if is_categorical == 1:
        for word in range(4):
            node.set[word] = draw(node.key, 6 * f + 2 + word)
        node.set[high >> 6] &= ~(np.uint64(1) << np.uint64(high & 63))
        node.set[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
