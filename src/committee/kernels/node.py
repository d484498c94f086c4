"""One node: its sums, whether it may be split, random cuts, the verdict on its best split, its children."""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.data.growth import LEFT_G, LEFT_H, LEFT_N
from committee.kernels.sampling import child_key, draw, draw_unit
from committee.kernels.scores import (
    CLASS_ERROR,
    CLASS_GINI,
    EDGE,
    FIRST_CLASS_CRITERION,
    SQUARED,
    child_score,
    class_score,
)


@part
def begin_node(node, rules, stat, target, rows):
    """Sum the node's rows and forget any split; return whether it may be split."""
    g = 0
    h = 0
    for i in range(np.uintp(node.start), np.uintp(node.start + node.n)):
        g += stat[i, 0]
        h += stat[i, 1]
    node.g = g
    node.h = h
    node.shift = 0
    node.score = -np.inf
    node.gain = 0.0
    node.feature = -1
    node.left = -1
    node.n_found = 0
    if node.depth >= rules.max_depth or node.n < max(2 * rules.min_samples_leaf, 2):
        return False
    if (h if rules.whole_weights == 1 else node.n) < rules.min_samples_split:
        return False
    if h < 2 * rules.min_weight_leaf:
        return False
    if rules.stop_if_pure == 1:
        i = node.start + 1
        first = target[rows[node.start]]
        while i < node.start + node.n and target[rows[i]] == first:
            i += 1
        if i == node.start + node.n:
            return False
    return True


@part
def score_node(node, rules, stat, sums):
    """The score of the node unsplit, from its sums or those of its classes. `sums` [classes] is overwritten."""
    if rules.criterion >= FIRST_CLASS_CRITERION:
        for k in range(sums.size):
            sums[k] = 0.0
        for i in range(node.start, node.start + node.n):
            sums[stat[i, 0]] += np.float64(stat[i, 1])
        node.own = class_score(rules.criterion, sums, np.float64(node.h))
    elif rules.criterion == SQUARED and rules.l1 == 0.0 and rules.l2 == 0.0:
        node.shift = node.g // node.h
        node.own = 0.0  # splits are scored by the fall itself
    else:
        node.own = child_score(rules.criterion, node.g * rules.g_unit, node.h * rules.h_unit, rules.l1, rules.l2)


@part
def perfect_score(node, rules):
    """A score that no split exceeds: that of two pure children. Of two rows, any split is the only one."""
    if node.n == 2:
        return -1e308
    if rules.n_classes < 2:
        return np.inf
    criterion = rules.criterion
    h = node.h * rules.h_unit
    if criterion == SQUARED:
        g = node.g * rules.g_unit
        return (h - g * g / h) * (1.0 - 1e-12)
    if criterion == EDGE:
        return h
    if criterion == CLASS_GINI or criterion == CLASS_ERROR:
        return np.float64(node.h)
    return 0.0


@part
def end_search(node, rules):
    """Turn the best score into the fall of the weighted impurity; refuse the split if that is too small."""
    if node.feature >= 0:
        fall = rules.gain_unit * (node.score - node.own) / rules.total_weight
        if fall >= rules.min_gain:
            node.gain = max(fall, 0.0)
        else:
            node.feature = -1


@part
def draw_cut(f, n_codes, node, feature, is_binned, code_of, lower, upper, column):
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
    if feature.is_categorical == 1:
        for i in range(node.n):  # by the toss of a coin, but two categories part for certain
            c = np.int64(column[i])
            toss = (draw(node.key, 6 * f + 2 + (c >> 6)) >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(0)
            right = (toss or c == high) and c != low
            column[i] = np.uint32(not missing_left if c == n_codes else right)
        return threshold, code, high, missing_left
    if low < high:
        is_local = code_of.size > 0
        first = upper[feature.offset + (np.int64(code_of[low]) if is_local else low)]
        last = lower[feature.offset + (np.int64(code_of[high]) if is_local else high)]
        share = draw_unit(node.key, 6 * f + 1)
        threshold = (1.0 - share) * first + share * last
        if not first <= threshold < last:  # neighbouring floats
            threshold = first
        above = high  # the last code at or below the threshold, by bisection
        while code + 1 < above:
            middle = (code + above) // 2
            if upper[feature.offset + (np.int64(code_of[middle]) if is_local else middle)] <= threshold:
                code = middle
            else:
                above = middle
        if is_binned:
            threshold = np.nan  # a threshold inside a bin would cut rows that the bin keeps together
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
    """The cut just searched was a drawn one: put down what was drawn."""
    node.threshold = threshold
    node.code = code
    node.missing_left = np.int64(missing_left)
    node.is_set = is_categorical
    if is_categorical == 1:
        for word in range(4):
            node.set[word] = draw(node.key, 6 * f + 2 + word)
        node.set[high >> 6] &= ~(np.uint64(1) << np.uint64(high & 63))
        node.set[code >> 6] |= np.uint64(1) << np.uint64(code & 63)


@part
def begin_children(node, n_left, feature, left, right):
    """Rows, depth, key and constraints of the two children (records modified in place)."""
    left.start = node.start
    left.n = n_left
    right.start = node.start + n_left
    right.n = node.n - n_left
    left.key = child_key(node.key, np.uint64(0))
    right.key = child_key(node.key, np.uint64(1))
    left.depth = right.depth = node.depth + 1
    left.groups = right.groups = node.groups & feature.groups
    left.lower = right.lower = node.lower
    left.upper = right.upper = node.upper
    if feature.monotone > 0:
        left.upper = right.lower = node.middle
    elif feature.monotone < 0:
        left.lower = right.upper = node.middle
