"""K classes of small weights under the Gini criterion: the trees of forests for more than two classes.

With l_k and t_k the weights of class k left of a cut and in the node, h and H their sums, a cut scores

    sum_k l_k^2 / h + sum_k (t_k - l_k)^2 / (H - h)
        = (L (H - h) + R h) / (h (H - h)),    L = sum_k l_k^2,    R = sum_k t_k^2 - 2 sum_k l_k t_k + L

and L and sum_k l_k t_k change by one class at a time. Weight and class of a row are the low half of the integer that is
sorted by its code; with few codes a histogram takes the place of the sort.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part
from committee.kernels.trees.criteria import CLASS_GINI
from committee.kernels.trees.ordering import SMALL, rank_small_codes
from committee.kernels.trees.split_binary import first_best, keep, sort_by_code
from committee.records.growth import CODES, SUMS, WEIGHTS_OF_CLASSES

MAX_CLASSES = 256
MAX_WEIGHT = 255
"""Of one row."""

CLASS_BITS = np.int32(8)
CLASS = np.int32(0xFF)


@part
def pack_classes(node, rules, stat, sums_of_classes, packed_out):
    """weight << 8 | class of the node's rows, and the weights of its classes; False where they do not fit."""
    if rules.criterion != CLASS_GINI or rules.n_classes > MAX_CLASSES:
        return False
    for k in range(sums_of_classes.size):
        sums_of_classes[k] = 0
    start = np.uintp(node.start)
    largest = np.int64(0)
    for i in range(np.uintp(node.n)):
        k, w = stat[start + i, 0], stat[start + i, 1]
        largest = max(largest, w)
        sums_of_classes[np.uintp(k)] += w
        packed_out[i] = np.int32((w << np.int64(8)) | k)
    return largest <= MAX_WEIGHT


@part
def search_many_classes(f, n_codes, node, rules, work):
    """Search feature f, codes in packed[CODES], weights and classes in packed[WEIGHTS_OF_CLASSES]; none is missing.

    work.of_class [2, K] holds the weights of the classes in the node, and (overwritten) those left of a cut.
    Overwrites the rest of packed, packed_keys, counters and gain.
    """
    packed, keys, counters, of_class, gain = work.packed, work.packed_keys, work.counters, work.of_class, work.gain
    n = node.n
    codes, weights = packed[CODES], packed[WEIGHTS_OF_CLASSES]
    if n_codes * rules.n_classes <= min(2 * n, packed.shape[1]):
        cut_class_histogram(n, n_codes, node.h, codes, weights, packed[SUMS], of_class, gain)
        c = first_best(n_codes, node.score, gain)
        if c >= 0:
            keep(f, c, gain[c], node)
        return
    if n <= SMALL and n_codes > 2 * n:
        rank_small_codes(n, codes, counters)
        for i in range(np.uintp(n)):
            keys[0, counters[SMALL + i]] = (np.uint32(codes[i]) << np.uint32(16)) | np.uint32(weights[i])
    else:
        sort_by_code(n, n_codes, codes, weights, keys, counters)
    cut_classes(n, node.h, keys[0], of_class, gain)
    c = first_best(n - 1, node.score, gain)
    if c >= 0:
        keep(f, keys[0, c] >> np.uint32(16), gain[c], node)


@part
def begin_cuts(of_class):
    """No row is left of the cut; return the sum of the squared weights of the classes."""
    squares = 0.0
    for k in range(of_class.shape[1]):
        of_class[1, k] = 0
        squares += np.float64(of_class[0, k]) * np.float64(of_class[0, k])
    return squares


@part
def score_classes(left, both, squares, h, h_node):
    """The score of a cut from L = left, sum l_k t_k = both, sum t_k^2 = squares."""
    rest = h_node - h
    return (left * rest + (squares - 2.0 * both + left) * h) / (h * rest)


@part
def cut_classes(n, h_node, ordered, of_class, gain_out):
    """Scores of the cuts after each of the sorted rows but the last; none where the next row has the same code."""
    squares = begin_cuts(of_class)
    in_node, on_left = of_class[0], of_class[1]
    left = np.int64(0)
    both = np.int64(0)
    h = np.int64(0)
    for i in range(np.uintp(n - 1)):
        key = ordered[i]
        k = np.uintp(key & np.uint32(0xFF))
        w = np.int64((key >> np.uint32(8)) & np.uint32(0xFF))
        before = on_left[k]
        on_left[k] = before + w
        left += w * (before + before + w)
        both += w * in_node[k]
        h += w
        score = score_classes(np.float64(left), np.float64(both), squares, np.float64(h), np.float64(h_node))
        gain_out[i] = score if (key ^ ordered[i + np.uintp(1)]) >> np.uint32(16) != np.uint32(0) else -np.inf


@part
def cut_class_histogram(n, n_codes, h_node, codes, weights, histogram, of_class, gain_out):
    """Scores of the cuts after every code, from the weights of the classes by code (histogram is overwritten)."""
    squares = begin_cuts(of_class)
    in_node, on_left = of_class[0], of_class[1]
    n_classes = np.uintp(of_class.shape[1])
    for c in range(np.uintp(n_codes) * n_classes):
        histogram[c] = 0
    for i in range(np.uintp(n)):
        place = np.uintp(codes[i]) * n_classes + np.uintp(weights[i] & CLASS)
        histogram[place] += weights[i] >> CLASS_BITS
    left = np.int64(0)
    both = np.int64(0)
    h = np.int64(0)
    for c in range(np.uintp(n_codes)):
        for k in range(n_classes):
            w = np.int64(histogram[c * n_classes + k])
            before = on_left[k]
            on_left[k] = before + w
            left += w * (before + before + w)
            both += w * in_node[k]
            h += w
        score = score_classes(np.float64(left), np.float64(both), squares, np.float64(h), np.float64(h_node))
        gain_out[c] = score if (h > 0) & (h < h_node) else -np.inf
