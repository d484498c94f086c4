"""The weights of the rows from one round of boosting to the next, and the vote over them."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part


@kernel
def multiply_weights(weight, agreement, factors):
    """weight *= factors[1] where the agreement is positive, factors[0] elsewhere (in place); return the new sum.

    The factor is looked up: a branch would be mispredicted at every other row. Four sums side by side, added in a fixed
    order: one would wait for itself at every row.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = weight.size
    last = n // 4 * 4
    for i in range(np.uintp(0), np.uintp(last), np.uintp(4)):
        w0 = weight[i] * factors[np.uintp(agreement[i] > 0)]
        w1 = weight[i + np.uintp(1)] * factors[np.uintp(agreement[i + np.uintp(1)] > 0)]
        w2 = weight[i + np.uintp(2)] * factors[np.uintp(agreement[i + np.uintp(2)] > 0)]
        w3 = weight[i + np.uintp(3)] * factors[np.uintp(agreement[i + np.uintp(3)] > 0)]
        weight[i] = w0
        weight[i + np.uintp(1)] = w1
        weight[i + np.uintp(2)] = w2
        weight[i + np.uintp(3)] = w3
        a += w0
        b += w1
        c += w2
        d += w3
    for i in range(last, n):
        weight[i] *= factors[np.uintp(agreement[i] > 0)]
        a += weight[i]
    return (a + b) + (c + d)


@part
def tally_row(i, a, predictions, y, weight, score):
    """Move one score; return its margin, and its weight where the vote is wrong."""
    f = score[i] + a * np.float64(predictions[i])
    score[i] = f
    wrong = np.float64((f > 0.0) != (y[i] > 0))
    return np.float64(y[i]) * f, weight[i] * wrong


@kernel
def tally_votes(a, predictions, y, weight, score, out):
    """score += a * predictions, in place; write the smallest y * score and the weight of misclassified rows to out."""
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    low = low_1 = low_2 = low_3 = np.inf
    wrong = wrong_1 = wrong_2 = wrong_3 = 0.0
    n = np.uintp(score.size)
    last = n - n % np.uintp(4)
    for i in range(np.uintp(0), last, np.uintp(4)):
        m, e = tally_row(i, a, predictions, y, weight, score)
        m_1, e_1 = tally_row(i + one, a, predictions, y, weight, score)
        m_2, e_2 = tally_row(i + two, a, predictions, y, weight, score)
        m_3, e_3 = tally_row(i + three, a, predictions, y, weight, score)
        low = m if m < low else low
        low_1 = m_1 if m_1 < low_1 else low_1
        low_2 = m_2 if m_2 < low_2 else low_2
        low_3 = m_3 if m_3 < low_3 else low_3
        wrong += e
        wrong_1 += e_1
        wrong_2 += e_2
        wrong_3 += e_3
    for i in range(last, n):
        m, e = tally_row(i, a, predictions, y, weight, score)
        low = m if m < low else low
        wrong += e
    out[0] = min(min(low, low_1), min(low_2, low_3))
    out[1] = (wrong + wrong_1) + (wrong_2 + wrong_3)
