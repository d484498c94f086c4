"""Sequential minimal optimisation inside a block, and the gradient of all rows after it.

A step moves two variables i, j along y'a = const: a_i += y_i t, a_j -= y_j t. With f = y * gradient it is best at
t = (f_j - f_i) / (K_ii + K_jj - 2 K_ij), cut to the box. (Fan, Chen and Lin, Working set selection using second order
information for training support vector machines, 2005.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from committee.base.jit import kernel, part
from committee.kernels.svm.gram import as_bits, fused

Array = NDArray[Any]

CHUNK = 64
"""Number of variables with common extremes: the position of an extreme is searched in one chunk only."""

FAR = 3e38
"""Added to values that may not be chosen."""

MANTISSA_CUT, N_BUCKETS = np.int32(20), 2048
"""Buckets of distances by the first 11 of the 31 bits of a float32 >= 0."""

FLAT = 1e-12
"""Minimum curvature of a step; a kernel that is not positive semi-definite may have less."""


class BlockProblem(NamedTuple):
    """The constants of a block of q variables."""

    gram: Array  # [q, q]
    diagonal: Array  # [q]
    y: Array  # [q]
    upper: Array  # [q]
    n_first: int  # these variables and the others have a constraint each and pair among themselves


class Variables(NamedTuple):
    """All variables of a dual problem."""

    row: Array  # [v]
    shift: Array  # [v], y p
    y: Array  # [v]
    alpha: Array  # [v]
    upper: Array  # [v]


@intrinsic
def _smaller(typing_context, a, b):
    """The smaller of two numbers that are not nan, which lets the compiler vectorise."""

    def generate(context, builder, signature, args):
        is_less = builder.fcmp_ordered("<", args[0], args[1], flags=("nnan", "nsz"))
        return builder.select(is_less, args[0], args[1], flags=("nnan", "nsz"))

    return a(a, a), generate


@intrinsic
def _larger(typing_context, a, b):
    def generate(context, builder, signature, args):
        is_more = builder.fcmp_ordered(">", args[0], args[1], flags=("nnan", "nsz"))
        return builder.select(is_more, args[0], args[1], flags=("nnan", "nsz"))

    return a(a, a), generate


smaller: Any = _smaller
larger: Any = _larger


@part
def set_sides(t, y, alpha, upper, up, low):
    """Set `up` to 0 if y_t a_t may increase, `low` to 0 if it may decrease; else to +-FAR."""
    below, above = alpha[t] < upper[t], alpha[t] > 0.0
    may_increase = below if y[t] > 0.0 else above
    may_decrease = above if y[t] > 0.0 else below
    up[t] = 0.0 if may_increase else FAR
    low[t] = 0.0 if may_decrease else -FAR


@part
def find_chunk_extremes(f, up, low):
    """Smallest f of `up` and largest f of `low`."""
    lowest, highest = up.dtype.type(FAR), up.dtype.type(-FAR)
    for t in range(f.size):
        lowest = smaller(lowest, f[t] + up[t])
        highest = larger(highest, f[t] + low[t])
    return lowest, highest


@part
def find_extremes(f, up, low, lows):
    """Smallest f of `up` (of every chunk into `lows`, of all) and largest f of `low`."""
    lowest, highest = f.dtype.type(FAR), f.dtype.type(-FAR)
    n = 0
    for left in range(0, f.size, CHUNK):
        right = min(left + CHUNK, f.size)
        lows[n], top = find_chunk_extremes(f[left:right], up[left:right], low[left:right])
        lowest, highest = smaller(lowest, lows[n]), larger(highest, top)
        n += 1
    return lowest, highest


@part
def find_lowest(f, up, lowest, lows):
    """Position of the first variable whose f is `lowest`, from the extremes of the chunks."""
    chunk = 0
    while lows[chunk] != lowest:
        chunk += 1
    i = chunk * CHUNK
    while f[i] + up[i] != lowest:
        i += 1
    return i


@part
def gain_of(t, f, low, diagonal, row, f_i, diagonal_i):
    """(f_t - f_i)^2 / curvature for a partner t of i that may decrease, else 0."""
    increase = larger(f[t] + low[t] - f_i, f.dtype.type(0.0))
    curvature = larger(diagonal_i + diagonal[t] - row[t] - row[t], f.dtype.type(1e-6))
    return increase * increase / curvature


@part
def gain_of_chunk(f, low, diagonal, row, f_i, diagonal_i):
    """The largest gain."""
    best = f.dtype.type(0.0)
    for t in range(f.size):
        best = larger(best, gain_of(t, f, low, diagonal, row, f_i, diagonal_i))
    return best


@part
def find_partner(f, low, diagonal, row, i, gains):
    """The partner of i with the largest gain, -1 without any; writes the gains of the chunks to `gains`."""
    f_i, diagonal_i = f[i], diagonal[i]
    best, n = f.dtype.type(0.0), 0
    for left in range(0, f.size, CHUNK):
        right = min(left + CHUNK, f.size)
        gains[n] = gain_of_chunk(
            f[left:right], low[left:right], diagonal[left:right], row[left:right], f_i, diagonal_i
        )  # fmt: skip
        best = larger(best, gains[n])
        n += 1
    if not best > 0.0:
        return -1
    chunk = 0
    while gains[chunk] != best:
        chunk += 1
    t = chunk * CHUNK
    while gain_of(t, f, low, diagonal, row, f_i, diagonal_i) != best:  # strict arithmetic: the same bits again
        t += 1
    return t


@part
def move_all(f, row_i, row_j, step):
    for t in range(f.size):
        f[t] += step * (row_i[t] - row_j[t])


@part
def cut_to_box(i, j, step, y, alpha, upper):
    """The largest part of the step that leaves both variables in their boxes."""
    room_i = upper[i] - alpha[i] if y[i] > 0.0 else alpha[i]
    room_j = alpha[j] if y[j] > 0.0 else upper[j] - alpha[j]
    return min(step, min(room_i, room_j))


@part
def move(t, by, alpha, upper):
    """alpha_t += by; values within rounding of a bound are set to it."""
    a = alpha[t] + by
    size = upper[t] if upper[t] < 1e300 else max(abs(a), 1.0)
    if a < 1e-12 * size:
        a = 0.0
    elif a > upper[t] * (1.0 - 1e-12):
        a = upper[t]
    alpha[t] = a


@kernel
def solve_block(block, alpha, f, tol, max_steps, work):
    """SMO on a BlockProblem until f_low - f_up < tol; return the number of steps. Changes alpha and f.

    Of the two groups of variables, the one that violates more moves. work [5, q] is a workspace.
    """
    gram, diagonal, y, upper, n_first = block
    q = y.size
    up, low, gains = work[0], work[1], work[2]
    for t in range(q):
        set_sides(t, y, alpha, upper, up, low)
    steps = 0
    while steps < max_steps:
        group, start, stop = 0, 0, n_first
        lowest = highest = f.dtype.type(0.0)
        for g in range(1 if n_first == q else 2):
            left, right = (0, n_first) if g == 0 else (n_first, q)
            below, above = find_extremes(f[left:right], up[left:right], low[left:right], work[3 + g])
            if g == 0 or above - below > highest - lowest:
                group, start, stop, lowest, highest = g, left, right, below, above
        if not highest - lowest >= tol:
            break
        here = slice(start, stop)  # loops begin at 0: with another start the compiler does not vectorise
        i = start + find_lowest(f[here], up[here], lowest, work[3 + group])
        j = find_partner(f[here], low[here], diagonal[here], gram[i, here], i - start, gains)
        if j < 0:
            break
        j += start
        curvature = max(np.float64(diagonal[i]) + diagonal[j] - 2.0 * gram[i, j], FLAT)
        step = cut_to_box(i, j, (np.float64(f[j]) - np.float64(f[i])) / curvature, y, alpha, upper)
        move(i, y[i] * step, alpha, upper)
        move(j, -y[j] * step, alpha, upper)
        set_sides(i, y, alpha, upper, up, low)
        set_sides(j, y, alpha, upper, up, low)
        move_all(f, gram[i], gram[j], f.dtype.type(step))
        steps += 1
    return steps


@kernel
def add_rows(total, cache, slots, coef, start, stop, work):
    """total[start:stop] += sum_k coef[k] * cache[slots[k], start:stop], in float64 once for every piece of columns."""
    width, n_rows = work.size, slots.size
    for left in range(start, stop, width):
        n = min(width, stop - left)
        right = left + n
        for t in range(n):
            work[t] = 0
        fours = n_rows // 4 * 4
        for k in range(0, fours, 4):
            r0, r1 = cache[slots[k], left:right], cache[slots[k + 1], left:right]
            r2, r3 = cache[slots[k + 2], left:right], cache[slots[k + 3], left:right]
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for t in range(n):
                work[t] = fused(c0, r0[t], fused(c1, r1[t], fused(c2, r2[t], fused(c3, r3[t], work[t]))))
        for k in range(fours, n_rows):
            r0, c0 = cache[slots[k], left:right], coef[k]
            for t in range(n):
                work[t] = fused(c0, r0[t], work[t])
        for t in range(n):
            total[left + t] += work[t]


@kernel
def check_kkt(g, variables, up_out, low_out, extremes_out):
    """f = g + shift of variables that may increase (into up_out, else FAR) and that may decrease (into low_out).

    extremes_out: the smallest f of up_out and the largest of low_out, for y > 0 and for y < 0.
    """
    row, shift, y, alpha, upper = variables
    up_first = up_second = FAR
    low_first = low_second = -FAR
    for t in range(y.size):
        f = g[row[t]] + shift[t]
        is_positive = y[t] > 0.0
        below, above = alpha[t] < upper[t], alpha[t] > 0.0
        u = f if (below if is_positive else above) else FAR
        v = f if (above if is_positive else below) else -FAR
        up_out[t] = u
        low_out[t] = v
        up_first = smaller(up_first, u if is_positive else FAR)
        up_second = smaller(up_second, FAR if is_positive else u)
        low_first = larger(low_first, v if is_positive else -FAR)
        low_second = larger(low_second, -FAR if is_positive else v)
    extremes_out[0], extremes_out[1], extremes_out[2], extremes_out[3] = up_first, low_first, up_second, low_second


@part
def bucket_of(distance):
    """The exponent and the first three bits of a distance: the larger, the higher."""
    return as_bits(np.float32(abs(distance))) >> MANTISSA_CUT


@part
def sort_into_buckets(values, end, buckets, counts):
    """The bucket of the distance of every value to `end`, and the size of each bucket."""
    for t in range(values.size):
        buckets[t] = bucket_of(values[t] - end)
    counts[:] = 0
    for t in range(values.size):
        counts[buckets[t]] += 1


@part
def take_nearest(values, end, width, n, buckets, counts, out):
    """Write the positions of about the n values nearest to `end`, not much farther than `width`; return their number.

    Of the last bucket, if it is too large, values at equal distances are taken: they differ little, and in a sorted
    table neighbours are similar.
    """
    sort_into_buckets(values, end, buckets, counts)
    last, n_before, farthest = 0, 0, bucket_of(width)
    while last < farthest and n_before + counts[last] < n:
        n_before += counts[last]
        last += 1
    n_last, wanted, due, size = counts[last], min(n - n_before, counts[last]), 0, 0
    for t in range(values.size):
        if buckets[t] <= last:
            due += wanted if buckets[t] == last else n_last
            if due >= n_last:
                due -= n_last
                out[size] = t
                size += 1
    return size


@kernel
def choose_extremes(up, low, lowest, highest, n, buckets, counts, out):
    """Write the positions of about the n smallest of `up` and the n largest of `low`, without repetition; return their
    number.

    Only variables that violate the KKT conditions, or nearly do, are taken. `low` of those taken from `up` is set to
    -FAR. buckets (one for each variable) and counts (N_BUCKETS) are workspaces.
    """
    width = highest - lowest
    n_up = take_nearest(up, lowest, width, n, buckets, counts, out)
    for k in range(n_up):
        low[out[k]] = -FAR
    return n_up + take_nearest(low, highest, width, n, buckets, counts, out[n_up:])
