"""Sorting the rows of a node by the code of one feature.

A key is `code << 32 | position`: one uint64 to move, and equal codes keep the order of their rows.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import part

SMALL = 64
"""Up to this many rows every key is compared with every other: branch-free, and it vectorises."""

SMALL_CODES = 1 << 25
"""Codes below this leave six bits of an int32 for the position of one of SMALL rows."""

DIGITS = 2048
"""Counters of one radix pass; 11 bits at a time keep them in the first-level cache."""

CODE_BITS = np.uint64(32)
POSITION = np.uint64(0xFFFFFFFF)


@part
def order_by_code(column, n, n_codes, keys, counters):
    """Sort the keys of column[:n], codes below n_codes; return which row of `keys` [2, n] holds them.

    Modified in place: keys, counters.
    """
    if n <= SMALL and n_codes <= SMALL_CODES:
        rank_small(column, n, counters)
        for i in range(n):
            keys[0, counters[SMALL + i]] = (np.uint64(column[i]) << CODE_BITS) | np.uint64(i)
        return 0
    n_bits = 1
    while (1 << n_bits) < n_codes:
        n_bits += 1
    # More passes with fewer counters than rows: resetting them should not take longer than the sort.
    n_passes = 1
    width = n_bits
    while (1 << width) > DIGITS or (1 << width) > 2 * n:
        n_passes += 1
        width = (n_bits + n_passes - 1) // n_passes
    for i in range(n):
        keys[0, i] = (np.uint64(column[i]) << CODE_BITS) | np.uint64(i)
    for p in range(n_passes):
        _radix_pass(keys[p & 1], n, 32 + p * width, width, counters, keys[(p + 1) & 1])
    return n_passes & 1


@part
def rank_small(column, n, counters):
    """Ranks of at most SMALL codes, equal ones in row order, into counters[SMALL : SMALL + n].

    The rank of a key is the number of smaller ones. One key at a time is compared with eight others in a vector; the
    keys lie in counters[:SMALL] (overwritten).
    """
    for i in range(n):
        counters[i] = np.int32(column[i])
    rank_small_codes(n, counters, counters)


@part
def rank_small_codes(n, codes, counters):
    """The same for int32 codes, which may be in counters[:n] already."""
    padded = (n + 7) // 8 * 8
    for i in range(n):
        counters[i] = codes[i] * np.int32(SMALL) + np.int32(i)
        counters[SMALL + i] = np.int32(0)
    for j in range(n):
        key = counters[j]
        for i in range(padded):
            counters[SMALL + i] += np.int32(key < counters[i])


@part
def _radix_pass(source, n, shift, width, counters, target_out):
    """Stable counting sort of source[:n] by the `width` bits above `shift`. counters is overwritten."""
    shift = np.uint64(shift)
    mask = np.uint64((1 << width) - 1)
    for j in range(1 << width):
        counters[j] = 0
    for i in range(n):
        counters[np.uintp((source[i] >> shift) & mask)] += np.int32(1)
    start = np.int32(0)
    for j in range(1 << width):
        count = counters[j]
        counters[j] = start
        start += count
    for i in range(n):
        key = source[i]
        digit = np.uintp((key >> shift) & mask)
        target_out[np.uintp(counters[digit])] = key
        counters[digit] += np.int32(1)
