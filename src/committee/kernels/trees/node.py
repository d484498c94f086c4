"""One node: its sums, whether it may be split, the verdict on its best split, its children."""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.kernels.trees.criteria import (
    CLASS_ERROR,
    CLASS_GINI,
    EDGE,
    FIRST_CLASS_CRITERION,
    SQUARED,
    child_score,
    class_score,
)
from committee.kernels.trees.sampling import child_key


@part
def begin_node(node, rules, stat, target, rows):
    """Sum the node's rows and delete any split; return whether it may be split."""
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
    node.n_searched = 0
    if node.depth >= rules.max_depth or node.n < max(2 * rules.min_samples_leaf, 2):
        return False
    if (h if rules.whole_weights == 1 else node.n) < rules.min_samples_split:
        return False
    if h < 2 * rules.min_weight_leaf:
        return False
    return rules.stop_if_pure == 0 or not is_pure(node, rules, stat, target, rows)


@part
def is_pure(node, rules, stat, target, rows):
    """Whether all rows of the node have one target. Classes are read off `stat`: the table is far away."""
    if rules.n_classes == 2:
        return abs(node.g) == node.h
    start = np.uintp(node.start)
    end = np.uintp(node.start + node.n)
    i = start + np.uintp(1)
    if rules.n_classes > 2:
        while i < end and stat[i, 0] == stat[start, 0]:
            i += np.uintp(1)
    else:
        while i < end and target[rows[i]] == target[rows[start]]:
            i += np.uintp(1)
    return i == end


@part
def score_node(node, rules, stat, sums):
    """The score of the node unsplit, from its sums or those of its classes. `sums` [classes] is overwritten."""
    if rules.criterion >= FIRST_CLASS_CRITERION:
        for k in range(sums.size):
            sums[k] = 0.0
        for i in range(np.uintp(node.start), np.uintp(node.start + node.n)):
            sums[np.uintp(stat[i, 0])] += np.float64(stat[i, 1])
        node.own = class_score(rules.criterion, sums, np.float64(node.h))
    elif rules.criterion == SQUARED and rules.l1 == 0.0 and rules.l2 == 0.0:
        node.shift = node.g // node.h
        node.own = 0.0  # the score of a split is the decrease
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
    """Convert the best score to the decrease of the weighted impurity; reject the split if that is too small."""
    if node.feature >= 0:
        decrease = rules.gain_unit * (node.score - node.own) / rules.total_weight
        if decrease >= rules.min_gain:
            node.gain = max(decrease, 0.0)
        else:
            node.feature = -1


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
