"""Sequential minimal optimisation inside a block, and the gradient of all rows after it.

A step moves two variables i, j along y'a = const: a_i += y_i t, a_j -= y_j t. With f = y * gradient it is best at
t = (f_j - f_i) / (K_ii + K_jj - 2 K_ij), cut to the box. (Fan, Chen and Lin, Working set selection using second order
information for training support vector machines, 2005.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic

from committee.base.jit import kernel, part
from committee.kernels.svm.gram import as_bits, fused

CHUNK = 64
"""Variables whose smallest and largest value are kept: the place of the extreme is looked for in one chunk only."""

FAR = 3e38
"""Added to a value that may not be chosen."""

MANTISSA_CUT, N_BUCKETS = np.int32(20), 2048
"""Buckets of distances by the first 11 of the 31 bits of a float32 >= 0."""

FLAT = 1e-12
"""The least curvature of a step; a kernel that is not positive semi-definite may have less."""


@intrinsic
def _smaller(typing_context, a, b):
    """The smaller of two numbers, neither of them nan: told so, the compiler takes many at a time."""

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
    """May y_t a_t rise (0 in `up`), may it fall (0 in `low`)? Else a value far off."""
    below, above = alpha[t] < upper[t], alpha[t] > 0.0
    may_increase = below if y[t] > 0.0 else above
    may_decrease = above if y[t] > 0.0 else below
    up[t] = 0.0 if may_increase else FAR
    low[t] = 0.0 if may_decrease else -FAR


@part
def look_at_chunk(f, up, low):
    """Smallest f that may rise and largest f that may fall."""
    lowest, highest = up.dtype.type(FAR), up.dtype.type(-FAR)
    for t in range(f.size):
        lowest = smaller(lowest, f[t] + up[t])
        highest = larger(highest, f[t] + low[t])
    return lowest, highest


@part
def find_extremes(f, up, low, lows):
    """Smallest f that may rise (of every chunk into `lows`, of all) and largest f that may fall."""
    lowest, highest = f.dtype.type(FAR), f.dtype.type(-FAR)
    n = 0
    for left in range(0, f.size, CHUNK):
        right = min(left + CHUNK, f.size)
        lows[n], top = look_at_chunk(f[left:right], up[left:right], low[left:right])
        lowest, highest = smaller(lowest, lows[n]), larger(highest, top)
        n += 1
    return lowest, highest


@part
def find_riser(f, up, lowest, lows):
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
    """(f_t - f_i)^2 / curvature for a partner t of i that may fall, else 0."""
    increase = larger(f[t] + low[t] - f_i, f.dtype.type(0.0))
    bend = larger(diagonal_i + diagonal[t] - row[t] - row[t], f.dtype.type(1e-6))
    return increase * increase / bend


@part
def gain_of_chunk(f, low, diagonal, row, f_i, diagonal_i):
    """The largest gain."""
    most = f.dtype.type(0.0)
    for t in range(f.size):
        most = larger(most, gain_of(t, f, low, diagonal, row, f_i, diagonal_i))
    return most


@part
def find_partner(f, low, diagonal, row, i, most):
    """The partner of i with the largest gain, -1 where nothing is gained; the gains of the chunks go into `most`."""
    f_i, diagonal_i = f[i], diagonal[i]
    best, n = f.dtype.type(0.0), 0
    for left in range(0, f.size, CHUNK):
        right = min(left + CHUNK, f.size)
        most[n] = gain_of_chunk(
            f[left:right], low[left:right], diagonal[left:right], row[left:right], f_i, diagonal_i
        )  # fmt: skip
        best = larger(best, most[n])
        n += 1
    if not best > 0.0:
        return -1
    chunk = 0
    while most[chunk] != best:
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
    """alpha_t += by; what rounding leaves beside a bound goes onto it."""
    a = alpha[t] + by
    size = upper[t] if upper[t] < 1e300 else max(abs(a), 1.0)
    if a < 1e-12 * size:
        a = 0.0
    elif a > upper[t] * (1.0 - 1e-12):
        a = upper[t]
    alpha[t] = a


@kernel
def solve_block(gram, diagonal, y, upper, alpha, f, n_first, tol, max_steps, floats):
    """SMO on a dense block until f_low - f_up < tol; alpha and f in place; the number of steps.

    The first `n_first` variables and the others have a constraint each and pair among themselves only; of the two the
    one that violates more moves. floats [5, q] is room to work in.
    """
    q = y.size
    up, low, most = floats[0], floats[1], floats[2]
    for t in range(q):
        set_sides(t, y, alpha, upper, up, low)
    steps = 0
    while steps < max_steps:
        group, start, stop = 0, 0, n_first
        lowest = highest = f.dtype.type(0.0)
        for g in range(1 if n_first == q else 2):
            left, right = (0, n_first) if g == 0 else (n_first, q)
            below, above = find_extremes(f[left:right], up[left:right], low[left:right], floats[3 + g])
            if g == 0 or above - below > highest - lowest:
                group, start, stop, lowest, highest = g, left, right, below, above
        if not highest - lowest >= tol:
            break
        here = slice(start, stop)  # loops from 0 on: with another start the compiler takes one number at a time
        i = start + find_riser(f[here], up[here], lowest, floats[3 + group])
        j = find_partner(f[here], low[here], diagonal[here], gram[i, here], i - start, most)
        if j < 0:
            break
        j += start
        bend = max(np.float64(diagonal[i]) + diagonal[j] - 2.0 * gram[i, j], FLAT)
        step = cut_to_box(i, j, (np.float64(f[j]) - np.float64(f[i])) / bend, y, alpha, upper)
        move(i, y[i] * step, alpha, upper)
        move(j, -y[j] * step, alpha, upper)
        set_sides(i, y, alpha, upper, up, low)
        set_sides(j, y, alpha, upper, up, low)
        move_all(f, gram[i], gram[j], f.dtype.type(step))
        steps += 1
    return steps


@kernel
def add_rows(total, cache, slots, coef, start, stop, room):
    """total[start:stop] += sum_k coef[k] * cache[slots[k], start:stop], in float64 once for every piece of columns."""
    width, n_rows = room.size, slots.size
    for left in range(start, stop, width):
        n = min(width, stop - left)
        right = left + n
        for t in range(n):
            room[t] = 0
        fours = n_rows // 4 * 4
        for k in range(0, fours, 4):
            r0, r1 = cache[slots[k], left:right], cache[slots[k + 1], left:right]
            r2, r3 = cache[slots[k + 2], left:right], cache[slots[k + 3], left:right]
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for t in range(n):
                room[t] = fused(c0, r0[t], fused(c1, r1[t], fused(c2, r2[t], fused(c3, r3[t], room[t]))))
        for k in range(fours, n_rows):
            r0, c0 = cache[slots[k], left:right], coef[k]
            for t in range(n):
                room[t] = fused(c0, r0[t], room[t])
        for t in range(n):
            total[left + t] += room[t]


@kernel
def judge(g, row, shift, y, alpha, upper, up, low, out):
    """f = g + shift where a variable may rise (into `up`, else far off) and where it may fall (into `low`).

    out gets the smallest f of `up` and the largest of `low`, for y > 0 and for y < 0.
    """
    up_first = up_second = FAR
    low_first = low_second = -FAR
    for t in range(y.size):
        f = g[row[t]] + shift[t]
        is_positive = y[t] > 0.0
        below, above = alpha[t] < upper[t], alpha[t] > 0.0
        u = f if (below if is_positive else above) else FAR
        v = f if (above if is_positive else below) else -FAR
        up[t] = u
        low[t] = v
        up_first = smaller(up_first, u if is_positive else FAR)
        up_second = smaller(up_second, FAR if is_positive else u)
        low_first = larger(low_first, v if is_positive else -FAR)
        low_second = larger(low_second, -FAR if is_positive else v)
    out[0], out[1], out[2], out[3] = up_first, low_first, up_second, low_second


@part
def bucket_of(distance):
    """The exponent and the first three bits of a distance: the larger, the higher."""
    return as_bits(np.float32(abs(distance))) >> MANTISSA_CUT


@part
def sort_into_buckets(values, end, buckets, counts):
    """The bucket of the distance of every value to `end`, and how many each has."""
    for t in range(values.size):
        buckets[t] = bucket_of(values[t] - end)
    counts[:] = 0
    for t in range(values.size):
        counts[buckets[t]] += 1


@part
def take_nearest(values, end, width, n, buckets, counts, out):
    """Positions of about the n values nearest to `end`, none of them much farther off than `width`; how many.

    Of the last bucket that is wanted, where not all find room, some are taken at equal distances: they differ little,
    and in a table that is sorted neighbours are alike.
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
    """Positions of about the n smallest of `up` and the n largest of `low`, none twice, into out; how many of both.

    Variables that violate nothing are left out, save those that nearly do: up > highest, low < lowest. `low` of the
    risers is set far off. buckets (one for each variable) and counts (N_BUCKETS) are room to work in.
    """
    width = highest - lowest
    n_risers = take_nearest(up, lowest, width, n, buckets, counts, out)
    for k in range(n_risers):
        low[out[k]] = -FAR
    return n_risers + take_nearest(low, highest, width, n, buckets, counts, out[n_risers:])
