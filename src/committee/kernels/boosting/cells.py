"""Sums of gradients over the cells of two columns of levels."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel

G, H, SQUARES, H_SQUARES, FOURTH = range(5)
"""Columns of the moments of a row, and of the sums of a cell: a = w g, b = w h, a^2, b^2, a^4, for repetitions of w."""


@kernel
def sum_cells(first, second, n_second, moments, sums_out):
    """Overwrite sums_out [cells, 5] with the sums of moments [n, 5] by the cell first[i] * n_second + second[i]."""
    sums_out[:] = 0.0
    for i in range(np.uintp(first.size)):
        cell = np.uintp(np.int64(first[i]) * n_second + np.int64(second[i]))
        for j in range(np.uintp(5)):
            sums_out[cell, j] += moments[i, j]


@kernel
def pair_moments(sums):
    """Sums over the cells: of the products g_i g_j of two rows i != j, of h_i h_j, both over H, and the variance.

    The first has mean zero if the cells have no effect, whatever the variances of the rows, and this variance.
    """
    products, scale, variance = 0.0, 0.0, 0.0
    for c in range(sums.shape[0]):
        h = sums[c, H]
        if h > 0.0:
            products += (sums[c, G] * sums[c, G] - sums[c, SQUARES]) / h
            scale += h - sums[c, H_SQUARES] / h
            variance += 2.0 * (sums[c, SQUARES] * sums[c, SQUARES] - sums[c, FOURTH]) / (h * h)
    return products, scale, variance


@kernel
def shrink_cells(first, second, n_second, ratio, sums, effect_out):
    """Write G / (H + ratio) of the cell of every row to effect_out; return the expected decrease, in units of noise.

    It is the best linear prediction of the effect of the cell if effects have the variance noise / ratio.
    """
    decrease = 0.0
    for c in range(sums.shape[0]):
        h = sums[c, H]
        if h > 0.0:
            decrease += h * h / (h + ratio) / ratio
    for i in range(first.size):
        c = np.int64(first[i]) * n_second + np.int64(second[i])
        effect_out[i] = sums[c, G] / (sums[c, H] + ratio)
    return decrease
