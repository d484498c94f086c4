"""Gathering the codes of a node's rows and sending the rows left and right."""

from __future__ import annotations

import numpy as np

from committee.base.jit import part


@part
def table_code(f, bytes_, ranks, row):
    """The code of one cell of the table, which has bytes or ranks."""
    return np.int64(bytes_[f, row]) if bytes_.shape[0] > 0 else np.int64(ranks[f, row])


@part
def gather_codes(f, bytes_, ranks, rows, start, n, column_out):
    """Codes of feature f for rows[start : start + n]."""
    start = np.uintp(start)
    if bytes_.shape[0] > 0:
        for i in range(np.uintp(n)):
            column_out[i] = np.uint32(bytes_[f, rows[start + i]])
    else:
        for i in range(np.uintp(n)):
            column_out[i] = ranks[f, rows[start + i]]


@part
def gather_local(codes, position, start, n, column_out):
    """Codes of a subtree's own column for its rows position[start : start + n]."""
    start = np.uintp(start)
    for i in range(np.uintp(n)):
        column_out[i] = np.uint32(codes[position[start + i]])


@part
def is_constant(column, n):
    first = column[0]
    for i in range(1, n):
        if column[i] != first:
            return False
    return True


@part
def mark_sides(node, n_codes, column, side_out):
    """side_out[i] = 1 where row i of the node goes left; return how many do.

    In a node without missing values they are sent to its larger child.
    """
    n = node.n
    code = node.code
    missing_left = node.missing_left
    n_left = 0
    n_missing = 0
    for i in range(n):
        c = np.int64(column[i])
        is_missing = c == n_codes
        left = c <= code
        if node.is_set == 1:
            left = (node.set[(c >> 6) & 3] >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(1)
        if is_missing:
            left = missing_left == 1
        side_out[i] = left
        n_left += left
        n_missing += is_missing
    if n_missing == 0:
        node.missing_left = 2 * n_left > n
    return n_left


@part
def boundary_positions(n, n_codes, column, side):
    """Positions of the largest present code on the left side and the smallest on the right, -1 where there is none."""
    last = -1
    first = -1
    last_code = -1
    first_code = n_codes
    for i in range(n):
        c = np.int64(column[i])
        if c == n_codes:
            continue
        if side[i]:
            if c > last_code:
                last_code = c
                last = i
        elif c < first_code:
            first_code = c
            first = i
    return last, first


@part
def move_rows(start, n, side, rows, stat, spare_rows, spare_stat):
    """Stable partition of rows and stat, start:start + n, by side. Branch-free: write both, advance one.

        rows  |left so far|  read ->          spare |right so far|
                          ^ n_left                               ^ n_right

    Modified in place: rows, stat, spare_rows, spare_stat.
    """
    zero = np.uintp(0)
    one = np.uintp(1)
    start = np.uintp(start)
    n_left = start
    n_right = zero
    for i in range(np.uintp(n)):
        row = rows[start + i]
        g = stat[start + i, 0]
        h = stat[start + i, 1]
        left = np.uintp(side[i])
        rows[n_left] = row
        stat[n_left, 0] = g
        stat[n_left, 1] = h
        spare_rows[n_right] = row
        spare_stat[n_right, 0] = g
        spare_stat[n_right, 1] = h
        n_left += left
        n_right += one - left
    for i in range(n_right):
        rows[n_left + i] = spare_rows[i]
        stat[n_left + i, 0] = spare_stat[i, 0]
        stat[n_left + i, 1] = spare_stat[i, 1]
