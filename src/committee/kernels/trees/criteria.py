"""The criteria of splits.

Every criterion of (G, H) is a sum over the two children of a score of the child, G the sum of the targets (or of the
negative gradients) and H the sum of the weights (or hessians) of its rows. A larger sum is a better split.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part

SQUARED = 0  # G^2 / (H + l2), G soft-thresholded by l1: variance, two-class Gini, Newton boosting
ENTROPY = 1  # two classes as targets -1, +1: their weights are (H - G) / 2 and (H + G) / 2
POISSON = 2  # G log(G / H): half the Poisson deviance
EDGE = 3  # |G|: the weighted error of a vote in {-1, +1}, AdaBoost's largest edge
CONFIDENCE = 4  # -sqrt((H - G)(H + G)): the normaliser Z of confidence-rated AdaBoost
FIRST_CLASS_CRITERION = 10  # from here on the rows carry a class and H is split into one sum for each class
CLASS_GINI = 10  # sum_k G_k^2 / H
CLASS_ENTROPY = 11  # sum_k G_k log(G_k / H)
CLASS_ERROR = 12  # max_k G_k
ABSOLUTE = 20  # no function of sums: kernels/trees/split_mae.py


@part
def x_log_x(x):
    return x * np.log2(x) if x > 0.0 else 0.0


@part
def child_value(g, h, rules):
    """The value a leaf with these integer sums has: the maximiser of the squared score."""
    target = g * rules.g_unit
    shrunk = max(abs(target) - rules.l1, 0.0)
    return (shrunk if target > 0.0 else -shrunk) / (h * rules.h_unit + rules.l2)


@part
def child_score(criterion, g, h, l1, l2):
    """Score of one child from its sums, for the criteria of (G, H)."""
    if criterion == SQUARED:
        shrunk = max(abs(g) - l1, 0.0)
        return shrunk * shrunk / (h + l2)
    if criterion == ENTROPY:
        return x_log_x(0.5 * (h + g)) + x_log_x(0.5 * (h - g)) - x_log_x(h)
    if criterion == POISSON:
        return g * np.log(g / h) if g > 0.0 else -np.inf
    if criterion == EDGE:
        return abs(g)
    return -np.sqrt(max((h - g) * (h + g), 0.0))


@part
def class_score(criterion, sums, h):
    """Score of one child from the weight of each class in it."""
    score = 0.0
    if criterion == CLASS_GINI:
        for k in range(sums.size):
            score += sums[k] * sums[k]
        return score / h
    if criterion == CLASS_ENTROPY:
        for k in range(sums.size):
            score += x_log_x(sums[k])
        return score - x_log_x(h)
    for k in range(sums.size):
        score = max(score, sums[k])
    return score


@part
def variance_decrease(g, h, mean, h_all):
    """G_L^2 / H_L + G_R^2 / H_R - G^2 / H, which is (G_L - mean * H_L)^2 * H / (H_L * H_R), with no cancellation.

    Every path of the engine computes it by these same operations: equal splits must have equal bits.
    """
    centred = g - mean * h
    return centred * centred * (h_all / (h * (h_all - h)))


@part
def score_cuts(rules, node, n_cuts, cut_g, cut_h, gain_out):
    """Fill gain_out[:n_cuts] with the scores of cuts, left sums in cut_g, cut_h (integers).

    Without regularisation the score of the squared criterion is the decrease, on targets shifted by an integer near the
    node's mean, which is exact; that of other criteria is the sum of the children's scores.
    """
    criterion, l1, l2 = rules.criterion, rules.l1, rules.l2
    g_unit, h_unit, shift = rules.g_unit, rules.h_unit, node.shift
    g_all = (node.g - shift * node.h) * g_unit
    h_all = node.h * h_unit
    if criterion == SQUARED and l1 == 0.0 and l2 == 0.0:
        mean = g_all / h_all
        for c in range(n_cuts):
            gain_out[c] = variance_decrease((cut_g[c] - shift * cut_h[c]) * g_unit, cut_h[c] * h_unit, mean, h_all)
    else:
        for c in range(n_cuts):
            g = cut_g[c] * g_unit
            h = cut_h[c] * h_unit
            left = child_score(criterion, g, h, l1, l2)
            gain_out[c] = left + child_score(criterion, g_all - g, h_all - h, l1, l2)
