"""The best cut of a node along one feature, compared with the best split so far; `find_split.py` has the loop.

A cut is a candidate split: the sums of the rows that would go left. Numeric cuts follow the order of the codes,
categorical ones Fisher's order of the categories in the node; both are scored in the same way, with missing values on
the right, then on the left. Every `search_*` part writes a split better than `node.score` to the node's record.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, part
from committee.kernels.trees.criteria import (
    ABSOLUTE,
    CLASS_GINI,
    FIRST_CLASS_CRITERION,
    child_value,
    class_score,
    score_cuts,
)
from committee.kernels.trees.ordering import CODE_BITS, POSITION, order_by_code
from committee.records.growth import CODE, LEFT_G, LEFT_H, LEFT_N

FEW_CATEGORIES = 10
"""Number of categories up to which rare ones have their own rank too: such columns are mostly ordinal, and an order of
few categories fits little noise."""

UNCONSTRAINED = np.int64(0)
"""No monotone constraint. Every caller passes int64: numba would compile the search again for another type."""


def with_categories(search_column):
    """Make the search of a feature that may be categorical from the search of the cuts between codes."""

    @part
    def search_feature(f, n_codes, feature, node, rules, stat, ranked_target, work):
        """Search feature f; the codes of the node's rows are in work.column[:node.n], n_codes means missing.

        Categories are put in order first (Fisher) and then cut like numbers: by mean target, for which the best subset
        is a prefix of the order; for K classes in K orders, by the fraction of each class. Rare categories have equal
        rank.
        """
        if feature.is_categorical == 0:
            search_column(f, n_codes, feature.monotone, node, rules, stat, work)
            return
        for i in range(node.n):
            work.spare_rows[i] = work.column[i]
        has_classes = rules.criterion >= FIRST_CLASS_CRITERION and rules.criterion != ABSOLUTE
        for k in range(rules.n_classes if has_classes else 1):
            before = node.score
            n_common, n_seen = order_categories(k, n_codes, has_classes, node, rules, stat, ranked_target, work)
            search_column(f, n_common + np.int64(n_seen > n_common), UNCONSTRAINED, node, rules, stat, work)
            if node.score > before:
                write_set(node, node.code + 1 if node.code < n_common else n_seen, work.order, work.by_category)

    return search_feature


@inlined
def search_column(f, n_codes, monotone, node, rules, stat, work):
    """Search the cuts between codes under any criterion of sums; the best one so far is kept in the node's record."""
    if rules.criterion >= FIRST_CLASS_CRITERION:
        search_classes(f, n_codes, node, rules, stat, work)
    else:
        search_sums(f, n_codes, monotone, node, rules, stat, work)


@part
def search_sums(f, n_codes, monotone, node, rules, stat, work):
    """The same under the criteria of (G, H)."""
    before = node.score
    has_counts = rules.unit_weights or rules.min_samples_leaf == 1
    is_dense = n_codes < min(2 * node.n, work.histogram.shape[0]) and (node.n > 32 or n_codes <= 4)
    # A histogram needs no sort, but it has no counts unless every weight is one.
    if is_dense and has_counts:
        cut_histogram(n_codes, node, stat, work.column, work.histogram, work.cuts)
        search_cuts(f, n_codes, node.h, monotone, node, rules, work.cuts, work.gain)
    else:
        keys = work.keys[order_by_code(work.column, node.n, n_codes + 1, work.keys, work.counters)]
        n_cuts = cut_order(n_codes, node, stat, keys, work.cuts)
        search_cuts(f, n_cuts, node.n, monotone, node, rules, work.cuts, work.gain)
    if node.score > before:
        node.threshold = np.nan
        node.is_set = 0


@part
def cut_histogram(n_codes, node, stat, column, histogram, cuts_out):
    """Cuts after every code from a histogram of the codes. Empty bins repeat the cut before them, the first of ties.

    LEFT_N is the weight, as there are no counts. Entry n_codes has the sums of missing rows. Overwrites histogram.
    """
    for c in range(n_codes + 1):
        histogram[c, 0] = 0
        histogram[c, 1] = 0
    start = np.uintp(node.start)
    for i in range(np.uintp(node.n)):
        c = np.uintp(column[i])
        histogram[c, 0] += stat[start + i, 0]
        histogram[c, 1] += stat[start + i, 1]
    g = 0
    h = 0
    for c in range(n_codes):
        g += histogram[c, 0]
        h += histogram[c, 1]
        cuts_out[CODE, c] = c
        cuts_out[LEFT_G, c] = g
        cuts_out[LEFT_H, c] = h
        cuts_out[LEFT_N, c] = h
    cuts_out[LEFT_G, n_codes] = histogram[n_codes, 0]
    cuts_out[LEFT_H, n_codes] = histogram[n_codes, 1]
    cuts_out[LEFT_N, n_codes] = histogram[n_codes, 1]


@part
def cut_order(n_codes, node, stat, keys, cuts_out):
    """Cuts between rows of different codes in sorted order; after the last one are the sums of missing rows."""
    n = node.n
    n_present = n
    while n_present > 0 and np.int64(keys[n_present - 1] >> CODE_BITS) == n_codes:
        n_present -= 1
    start = np.uintp(node.start)
    g = 0
    h = 0
    n_cuts = 0
    for i in range(n_present):
        row = start + np.uintp(keys[i] & POSITION)
        g += stat[row, 0]
        h += stat[row, 1]
        code = keys[i] >> CODE_BITS
        cuts_out[CODE, n_cuts] = np.int64(code)
        cuts_out[LEFT_G, n_cuts] = g
        cuts_out[LEFT_H, n_cuts] = h
        cuts_out[LEFT_N, n_cuts] = i + 1
        # The write above is kept only if the next row has another code: no branch to mispredict.
        n_cuts += np.int64(i + 1 == n_present or (keys[i + 1] >> CODE_BITS) != code)
    cuts_out[LEFT_G, n_cuts] = node.g - g
    cuts_out[LEFT_H, n_cuts] = node.h - h
    cuts_out[LEFT_N, n_cuts] = n - n_present
    return n_cuts


@part
def search_cuts(f, n_cuts, n_all, monotone, node, rules, cuts, gain):
    """Score cuts with missing rows on the right, then, where there are any, on the left. Overwrites cuts, gain.

    n_all is the number of rows in the unit of LEFT_N: rows, or their weight where there are no counts.
    """
    missing_n = cuts[LEFT_N, n_cuts]
    for missing_left in range(2 if missing_n > 0 else 1):
        if missing_left == 1:
            n_cuts -= 1  # every present row left and the missing ones too is no split
            for row in range(LEFT_G, LEFT_N):
                missing = cuts[row, n_cuts + 1]
                for c in range(n_cuts):
                    cuts[row, c] += missing
            for c in range(n_cuts):  # missing alone on the left would be the last cut with its sides exchanged
                cuts[LEFT_N, c] += missing_n if cuts[LEFT_N, c] > 0 else 0
        score_cuts(rules, node, n_cuts, cuts[LEFT_G], cuts[LEFT_H], gain)
        c = best_cut(n_cuts, n_all, monotone, node, rules, cuts, gain)
        if c >= 0:
            left = child_value(cuts[LEFT_G, c], cuts[LEFT_H, c], rules)
            right = child_value(node.g - cuts[LEFT_G, c], node.h - cuts[LEFT_H, c], rules)
            node.score = gain[c]
            node.feature = f
            node.code = cuts[CODE, c]
            node.missing_left = missing_left
            node.middle = 0.5 * (left + right)


@part
def best_cut(n_cuts, n_all, monotone, node, rules, cuts, gain):
    """The first best cut that is allowed and beats the node's best so far, else -1."""
    best = node.score
    result = -1
    min_samples = rules.min_samples_leaf
    min_weight = rules.min_weight_leaf
    h_all = node.h
    for c in range(n_cuts):
        if gain[c] > best:
            n_left = cuts[LEFT_N, c]
            h_left = cuts[LEFT_H, c]
            if min(n_left, n_all - n_left) >= min_samples and min(h_left, h_all - h_left) >= min_weight:
                if monotone == 0 or keeps_order(monotone, cuts[LEFT_G, c], h_left, node, rules):
                    best = gain[c]
                    result = c
    return result


@part
def keeps_order(monotone, g_left, h_left, node, rules):
    """Do the children's values keep the direction of the constraint and the bounds set by the splits above?"""
    left = child_value(g_left, h_left, rules)
    right = child_value(node.g - g_left, node.h - h_left, rules)
    inside = min(left, right) >= node.lower and max(left, right) <= node.upper
    return inside and (left - right) * monotone <= 0.0


@part
def search_classes(f, n_codes, node, rules, stat, work):
    """The same for K classes: a pass over the sorted rows with missing rows right, another with them left."""
    keys = work.keys[order_by_code(work.column, node.n, n_codes + 1, work.keys, work.counters)]
    n = node.n
    n_present = n
    while n_present > 0 and np.int64(keys[n_present - 1] >> CODE_BITS) == n_codes:
        n_present -= 1
    left = work.by_class[0]
    right = work.by_class[1]
    criterion = rules.criterion
    for missing_left in range(2 if n_present < n else 1):
        for k in range(left.size):
            left[k] = 0.0
            right[k] = 0.0
        h_left = 0
        n_left = 0
        for i in range(n):
            row = node.start + np.int64(keys[i] & POSITION)
            if missing_left == 1 and i >= n_present:
                left[stat[row, 0]] += stat[row, 1]
                h_left += stat[row, 1]
                n_left += 1
            else:
                right[stat[row, 0]] += stat[row, 1]
        square_left = 0.0
        square_right = 0.0
        for k in range(left.size):
            square_left += left[k] * left[k]
            square_right += right[k] * right[k]
        for i in range(n_present):
            row = np.uintp(node.start) + np.uintp(keys[i] & POSITION)
            k = np.uintp(stat[row, 0])
            h_left += stat[row, 1]
            n_left += 1
            weight = np.float64(stat[row, 1])
            square_left += weight * (2.0 * left[k] + weight)
            square_right -= weight * (2.0 * right[k] - weight)
            left[k] += weight
            right[k] -= weight
            if i + 1 < n_present and (keys[i + 1] >> CODE_BITS) == (keys[i] >> CODE_BITS):
                continue
            if min(n_left, n - n_left) < max(rules.min_samples_leaf, 1):
                continue
            if min(h_left, node.h - h_left) < rules.min_weight_leaf:
                continue
            if criterion == CLASS_GINI:
                h, rest = np.float64(h_left), np.float64(node.h - h_left)
                gain = (square_left * rest + square_right * h) / (h * rest)  # as in split_multiclass.py
            else:
                gain = class_score(criterion, left, np.float64(h_left))
                gain += class_score(criterion, right, np.float64(node.h - h_left))
            if gain > node.score:
                node.score = gain
                node.feature = f
                node.code = np.int64(keys[i] >> CODE_BITS)
                node.missing_left = missing_left
                node.threshold = np.nan
                node.is_set = 0


@part
def order_categories(k, n_codes, has_classes, node, rules, stat, ranked_target, work):
    """Write the ranks of the rows' categories, by mean target or by the fraction of class k, into work.column.

    The codes are in work.spare_rows. Return how many categories have a rank of their own, and how many occur: with
    many categories, those of fewer rows than rules.category_smoothing get the rank after the others, because their
    means are noise. Missing rows get the rank after that. Overwrites work.by_category (sum, weight and count by code),
    work.order, work.gain and work.cuts.
    """
    codes, by_category, order = work.spare_rows, work.by_category, work.order
    value, place = work.gain, work.cuts[CODE]
    for c in range(by_category.shape[0]):
        for column in range(3):
            by_category[c, column] = 0.0
    for i in range(node.n):
        row = node.start + i
        c = codes[i]
        h = np.float64(stat[row, 1])
        amount = np.float64(stat[row, 0])
        if has_classes:
            amount = h if stat[row, 0] == k else 0.0
        elif rules.criterion == ABSOLUTE:
            amount = ranked_target[stat[row, 0]] * h
        by_category[c, 0] += amount
        by_category[c, 1] += h
        by_category[c, 2] += 1.0
    row_weight = 1.0 if rules.whole_weights == 1 else node.h / node.n
    least = rules.category_smoothing * row_weight if n_codes > FEW_CATEGORIES else 0.0
    n_common = 0
    for c in range(n_codes):
        if by_category[c, 2] > 0.0 and by_category[c, 1] >= least:
            value[c] = by_category[c, 0] / by_category[c, 1]
            j = n_common - 1  # insertion sort: equal values keep the order of their codes
            while j >= 0 and value[order[j]] > value[c]:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = c
            n_common += 1
    n_seen = n_common
    for c in range(n_codes):
        if by_category[c, 2] > 0.0 and by_category[c, 1] < least:
            order[n_seen] = c
            n_seen += 1
    for j in range(n_seen):
        place[order[j]] = min(j, n_common)
    place[n_codes] = min(n_common + 1, n_seen)
    for i in range(node.n):
        work.column[i] = np.uint32(place[codes[i]])
    return n_common, n_seen


@part
def write_set(node, n_left, order, by_category):
    """The first n_left categories in order as a bitset; one that the node never saw goes where missing goes."""
    bits = node.set
    for word in range(4):
        bits[word] = np.uint64(0)
    if node.missing_left == 1:
        for c in range(256):
            if by_category[c, 2] == 0.0:
                bits[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    for j in range(n_left):
        c = order[j]
        bits[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    node.is_set = 1
