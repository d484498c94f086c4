"""Rows to the left and right, against NumPy's boolean masks."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.partition import boundary_positions, gather_codes, mark_sides, move_rows
from committee.records.growth import NODE


def make_node(n, code, missing_left, members=()):
    node = np.zeros(1, NODE)
    node["n"], node["code"], node["missing_left"], node["is_set"] = n, code, missing_left, bool(members)
    for c in members:
        node["set"][0, c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    return node


@pytest.mark.parametrize("n", [1, 2, 33, 1000])
@pytest.mark.parametrize("missing_left", [0, 1])
def test_mark_sides(n, missing_left, callable_part):
    rng = np.random.default_rng(n)
    column = rng.integers(0, 11, n).astype(np.uint32)  # code 10 means missing
    side = np.empty(n, np.uint8)
    mark = callable_part(mark_sides)
    expected = np.where(column == 10, missing_left == 1, column <= 4)
    assert mark(make_node(n, 4, missing_left)[0], 10, column, side) == expected.sum()
    np.testing.assert_array_equal(side, expected)
    members = (0, 3, 9)
    expected = np.where(column == 10, missing_left == 1, np.isin(column, members))
    assert mark(make_node(n, 0, missing_left, members)[0], 10, column, side) == expected.sum()
    np.testing.assert_array_equal(side, expected)


def test_missing_values_follow_the_larger_child_where_none_was_seen(callable_part):
    mark, side = callable_part(mark_sides), np.empty(5, np.uint8)
    for column, expected in [([0, 0, 0, 1, 1], 1), ([0, 0, 1, 1, 1], 0)]:
        node = make_node(5, 0, 0)
        mark(node[0], 2, np.array(column, np.uint32), side)
        assert node["missing_left"][0] == expected


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_move_rows_is_a_stable_partition(n, callable_part):
    rng = np.random.default_rng(n)
    rows, stat = rng.permutation(n + 4).astype(np.uint32), rng.integers(-9, 9, (n + 4, 2))
    side = rng.integers(0, 2, n).astype(np.uint8)
    inside, goes_left = slice(2, n + 2), side == 1
    expected_rows = np.concatenate([rows[inside][goes_left], rows[inside][~goes_left]])
    expected_stat = np.concatenate([stat[inside][goes_left], stat[inside][~goes_left]])
    outside = rows[:2].copy(), rows[-2:].copy()
    callable_part(move_rows)(2, n, side, rows, stat, np.empty(n, np.uint32), np.empty((n, 2), np.int64))
    np.testing.assert_array_equal(rows[inside], expected_rows)
    np.testing.assert_array_equal(stat[inside], expected_stat)
    np.testing.assert_array_equal(rows[:2], outside[0])
    np.testing.assert_array_equal(rows[-2:], outside[1])


def test_boundary_positions(callable_part):
    column = np.array([3, 1, 9, 5, 9, 4], np.uint32)  # 9 means missing
    side = np.array([1, 1, 1, 0, 0, 0], np.uint8)
    boundary = callable_part(boundary_positions)
    assert boundary(6, 9, column, side) == (0, 5)
    assert boundary(6, 9, np.full(6, 9, np.uint32), side) == (-1, -1)


def test_gather_codes_reads_either_table(callable_part):
    rng = np.random.default_rng(0)
    small = rng.integers(0, 255, (3, 20)).astype(np.uint8)
    large = rng.integers(0, 10**6, (3, 20)).astype(np.uint32)
    rows, column = rng.permutation(20).astype(np.uint32), np.empty(6, np.uint32)
    gather = callable_part(gather_codes)
    gather(1, small, np.empty((0, 0), np.uint32), rows, 5, 6, column)
    np.testing.assert_array_equal(column, small[1, rows[5:11]])
    gather(2, np.empty((0, 0), np.uint8), large, rows, 0, 6, column)
    np.testing.assert_array_equal(column, large[2, rows[:6]])
