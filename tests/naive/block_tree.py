"""Sums and partitions of a block of rows, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Cut(NamedTuple):
    """Rows start : start + n are divided by the codes of a feature; the sums of one child are wanted, or none."""

    feature: int
    start: int
    n: int
    goes_left: NDArray[np.bool_]  # [256] by code
    summed: str  # "left", "right" or ""


class Divided(NamedTuple):
    rows: NDArray[np.uint32]
    n_left: list[int]
    left_count: list[int]
    sums: Integers  # [cuts, words of features * 4 * 256]


def sum_block(codes: NDArray[np.uint8], rows: Sequence[int], amounts: Integers) -> Integers:
    """The amounts of the rows by feature and code, codes [d, n]; features are filled up to a multiple of four."""
    d = len(codes)
    sums = np.zeros((-(-d // 4) * 4, 256), np.int64)
    for row in rows:
        for f in range(d):
            sums[f, codes[f, row]] += amounts[row]
        sums[d:, 0] += amounts[row]  # columns that only fill a word have code 0
    return sums.ravel()


def divide_block(
    codes: NDArray[np.uint8], rows: NDArray[np.uint32], amounts: Integers, ones: Integers, cuts: Sequence[Cut]
) -> Divided:
    """Divide the rows of every cut; those that go left come first, in their order."""
    rows, n_left, left_count, sums = rows.copy(), [], [], []
    for cut in cuts:
        members = rows[cut.start : cut.start + cut.n].tolist()
        left = [row for row in members if cut.goes_left[codes[cut.feature, row]]]
        right = [row for row in members if not cut.goes_left[codes[cut.feature, row]]]
        rows[cut.start : cut.start + cut.n] = left + right
        n_left.append(len(left))
        left_count.append(int(ones[left].sum()) if ones.size else len(left))
        child = {"left": left, "right": right, "": []}[cut.summed]
        sums.append(sum_block(codes, child, amounts))
    return Divided(rows, n_left, left_count, np.array(sums))


def mark_ranges(
    n: int, starts: Sequence[int], sizes: Sequence[int], leaves: Sequence[int], rows: Sequence[int]
) -> Integers:
    """The leaf of every row of n; -1 where it is in no range."""
    leaf = np.full(n, -1, np.int64)
    for start, size, number in zip(starts, sizes, leaves, strict=True):
        for row in rows[start : start + size]:
            leaf[row] = number
    return leaf
