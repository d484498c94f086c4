"""Values to codes."""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel

BLOCK = 4096


@kernel
def bin_columns(block, edges, n_bins, first_row, codes_out):
    """Codes of block [d, rows] (float64, nan = missing) into codes_out[:, first_row:].

    edges[f] holds the upper edges of feature f's bins, padded with inf to 256: the code is the number of edges below
    the value, found by a search of eight steps without a branch.
    """
    d, n = block.shape
    one = np.uintp(1)
    for f in range(d):
        edge = edges[f]
        column = block[f]
        codes = codes_out[f]
        missing = np.uint8(n_bins[f])
        for i in range(n):
            x = column[i]
            p = np.uintp(edge[np.uintp(127)] < x) << np.uintp(7)
            p += np.uintp(edge[p + np.uintp(63)] < x) << np.uintp(6)
            p += np.uintp(edge[p + np.uintp(31)] < x) << np.uintp(5)
            p += np.uintp(edge[p + np.uintp(15)] < x) << np.uintp(4)
            p += np.uintp(edge[p + np.uintp(7)] < x) << np.uintp(3)
            p += np.uintp(edge[p + np.uintp(3)] < x) << np.uintp(2)
            p += np.uintp(edge[p + one] < x) << one
            p += np.uintp(edge[p] < x)
            codes[first_row + i] = np.uint8(p) if x == x else missing
