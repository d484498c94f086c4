"""Absolute error: the cost of a child is its weighted distance to its weighted median.

It is not a function of sums, so the rows are added one by one, in the order of the feature, to a Fenwick tree over the
ranks of the target: the median is found by descending it, and the cost follows from the sums on both sides of it.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.kernels.trees.ordering import CODE_BITS, POSITION, order_by_code
from committee.records.growth import LEFT_COST, LEFT_G, LEFT_MEDIAN, LEFT_WEIGHT, TARGETS, WEIGHTS, Y_VALUE


@part
def rank_targets(node, rules, stat, ranked_target, work):
    """Rank the node's targets: ranks into work.cuts[LEFT_G], values into work.absolute, their number into node.shift.

    Also writes the cost of the node itself, its distance to its median, as node.own. Overwrites column, keys and
    counters.
    """
    column, keys, y_rank_out, sums_out = work.column, work.keys, work.cuts[LEFT_G], work.absolute
    n = node.n
    for i in range(n):
        column[i] = np.uint32(stat[node.start + i, 0])
    ordered = keys[order_by_code(column, n, ranked_target.size, keys, work.counters)]
    rank = -1
    below = 0
    median = np.nan
    for i in range(n):
        row = np.int64(ordered[i] & POSITION)
        code = ordered[i] >> CODE_BITS
        if i == 0 or code != ordered[i - 1] >> CODE_BITS:
            rank += 1
            sums_out[Y_VALUE, rank] = ranked_target[np.int64(code)]
        y_rank_out[row] = rank
        if 2 * below < node.h:
            median = sums_out[Y_VALUE, rank]
        below += stat[node.start + row, 1]
    node.shift = rank + 1
    distance = 0.0
    for i in range(n):
        distance += stat[node.start + i, 1] * rules.h_unit * abs(sums_out[Y_VALUE, y_rank_out[i]] - median)
    node.own = -distance


@part
def add_row(i, node, h_unit, stat, y_rank, sums):
    """Add row i of the node to the Fenwick trees of weights and of weighted targets (sums modified in place)."""
    weight = stat[node.start + i, 1] * h_unit
    weighted = weight * sums[Y_VALUE, y_rank[i]]
    j = y_rank[i] + 1
    while j <= node.shift:
        sums[WEIGHTS, j] += weight
        sums[TARGETS, j] += weighted
        j += j & -j
    return weight, weighted


@part
def median_and_distance(size, weight_all, target_all, sums):
    """Weighted median of the rows added so far and their weighted distance to it.

    Where exactly half of the weight lies below, the median is the mean of two neighbours.
    """
    weights, targets, values = sums[WEIGHTS], sums[TARGETS], sums[Y_VALUE]
    step = 1
    while 2 * step <= size:
        step *= 2
    half = 0.5 * weight_all
    rank = 0  # first rank whose cumulative weight reaches one half
    below = 0.0
    below_target = 0.0
    high = 0  # first rank whose cumulative weight exceeds one half
    up_to = 0.0
    while step > 0:
        j = rank + step
        if j <= size and below + weights[j] < half:
            rank = j
            below += weights[j]
            below_target += targets[j]
        j = high + step
        if j <= size and up_to + weights[j] <= half:
            high = j
            up_to += weights[j]
        step //= 2
    value = values[rank]
    distance = value * below - below_target + (target_all - below_target) - value * (weight_all - below)
    return 0.5 * (value + values[min(high, size - 1)]), distance


@part
def search_absolute(f, n_codes, monotone, node, rules, stat, work):
    """Search the cuts between the codes in work.column, n_codes means missing; write one that beats node.score."""
    y_rank, sums = work.cuts[LEFT_G], work.absolute
    keys = work.keys[order_by_code(work.column, node.n, n_codes + 1, work.keys, work.counters)]
    n = node.n
    size = node.shift
    h_unit = rules.h_unit
    weights, targets = sums[WEIGHTS], sums[TARGETS]
    left_weight, left_median, left_cost = sums[LEFT_WEIGHT], sums[LEFT_MEDIAN], sums[LEFT_COST]
    min_weight = rules.min_weight_leaf * h_unit
    n_present = n
    while n_present > 0 and np.int64(keys[n_present - 1] >> CODE_BITS) == n_codes:
        n_present -= 1
    for missing_left in range(2 if n_present < n else 1):
        gain = -np.inf
        result = -1
        middle = 0.0
        # First forwards for what each cut leaves on the left, then backwards for what it leaves on the right.
        for is_right in range(2):
            for j in range(size + 1):
                weights[j] = 0.0
                targets[j] = 0.0
            weight_all = 0.0
            target_all = 0.0
            if missing_left != is_right:
                for i in range(n_present, n):
                    weight, weighted = add_row(np.int64(keys[i] & POSITION), node, h_unit, stat, y_rank, sums)
                    weight_all += weight
                    target_all += weighted
            for step in range(n_present):
                i = n_present - 1 - step if is_right == 1 else step
                is_cut = i + 1 == n_present or keys[i + 1] >> CODE_BITS != keys[i] >> CODE_BITS
                if is_right == 1 and is_cut:
                    n_left = i + 1 + (n - n_present) * missing_left
                    allowed = min(n_left, n - n_left) >= max(rules.min_samples_leaf, 1)
                    if allowed and min(left_weight[i], weight_all) >= min_weight:
                        left = left_median[i]
                        right, distance = median_and_distance(size, weight_all, target_all, sums)
                        inside = min(left, right) >= node.lower and max(left, right) <= node.upper
                        if monotone == 0 or (inside and (left - right) * monotone <= 0.0):
                            decrease = -left_cost[i] - distance
                            if decrease >= gain:  # backwards: the first of equal cuts must win
                                gain = decrease
                                result = i
                                middle = 0.5 * (left + right)
                weight, weighted = add_row(np.int64(keys[i] & POSITION), node, h_unit, stat, y_rank, sums)
                weight_all += weight
                target_all += weighted
                if is_right == 0 and is_cut:
                    median, distance = median_and_distance(size, weight_all, target_all, sums)
                    left_median[i] = median
                    left_cost[i] = distance
                    left_weight[i] = weight_all
        if result >= 0 and gain > node.score:
            node.score = gain
            node.feature = f
            node.code = np.int64(keys[result] >> CODE_BITS)
            node.missing_left = missing_left
            node.middle = middle
            node.threshold = np.nan
            node.is_set = 0
