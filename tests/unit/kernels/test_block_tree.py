"""The pieces of a tree on blocks, against row-by-row Python."""

from __future__ import annotations

import numpy as np
import pytest

from committee.base.dtypes import ROW
from committee.kernels.trees import block_tree
from committee.kernels.trees.criteria import SQUARED
from committee.kernels.trees.histogram_tree import HALF, LOW, part_rows, restore_order
from committee.records.growth import CUT, FEATURE, RULES
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.subtrees import new_nodes
from tests.naive import block_tree as naive

SIZES = [(1, 1), (9, 3), (500, 4), (500, 31), (300, 33), (200, 70)]


def make_codes(rng, n, d):
    """Codes of few and of all bins."""
    return rng.integers(0, np.where(np.arange(d) % 2 == 0, 5, 256)[:, np.newaxis], (d, n)).astype(np.uint8)


def words_of(codes):
    return make_tiles(codes).view(np.uint32)


def scratch(words, n):
    return np.empty(n if words.shape[0] > 1 else 0, np.int64)


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_sum_block(n, d):
    rng = np.random.default_rng(n + d)
    codes, amounts = make_codes(rng, n, d), rng.integers(-(2**50), 2**50, n)
    words, rows = words_of(codes), rng.permutation(n)[: -(-2 * n // 3)].astype(ROW)
    before = rng.integers(-9, 9, -(-d // 4) * 4 * 256)
    total = before.copy()
    block_tree.sum_block(words, d, rows, amounts, scratch(words, rows.size), total)
    np.testing.assert_array_equal(total - before, naive.sum_block(codes, rows.tolist(), amounts))


def test_sum_of_no_rows():
    total = np.ones(1024, np.int64)
    words = words_of(np.zeros((4, 0), np.uint8))
    block_tree.sum_block(words, 4, np.empty(0, ROW), np.empty(0, np.int64), np.empty(0, np.int64), total)
    assert np.all(total == 1)


def draw_cuts(rng, n, d, n_cuts):
    """Cuts of disjoint ranges, also empty ones, and of sides to which no row goes."""
    ends = np.sort(rng.integers(0, n + 1, 2 * n_cuts))
    shares = rng.choice([0.0, 0.3, 0.7, 1.0], n_cuts)
    return [
        naive.Cut(int(rng.integers(d)), a, b - a, rng.random(256) < share, str(rng.choice(["left", "right", ""])))
        for (a, b), share in zip(ends.reshape(-1, 2).tolist(), shares.tolist(), strict=True)
    ]


def as_records(cuts):
    records = np.zeros(len(cuts), CUT)
    for record, cut in zip(records, cuts, strict=True):
        record["feature"], record["start"], record["n"], record["side"] = cut.feature, cut.start, cut.n, cut.goes_left
        record["is_summed"], record["sums_left"] = cut.summed != "", cut.summed == "left"
    return records


@pytest.mark.parametrize("is_counted", [False, True])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_divide_block(n, d, is_counted):
    rng = np.random.default_rng(n + d)
    codes, amounts = make_codes(rng, n, d), rng.integers(-(2**50), 2**50, n)
    words, rows = words_of(codes), rng.permutation(n).astype(ROW)
    ones = rng.integers(1, 5, n) if is_counted else np.empty(0, np.int64)
    for n_cuts in (1, 2, 7):
        cuts = draw_cuts(rng, n, d, n_cuts)
        expected = naive.divide_block(codes, rows, amounts, ones, cuts)
        records, most = as_records(cuts), max(cut.n for cut in cuts)
        total = np.zeros((n_cuts, -(-d // 4) * 4 * 256 + 2), np.int64)
        block_tree.divide_block(
            words, d, rows, amounts, ones, records, (np.empty(most, ROW), scratch(words, most)), total
        )
        np.testing.assert_array_equal(rows, expected.rows)
        assert records["n_left"].tolist() == expected.n_left
        assert records["left_count"].tolist() == expected.left_count
        np.testing.assert_array_equal(total[:, :-2], expected.sums)
        assert not total[:, -2:].any()  # the caller's


def test_mark_ranges():
    rng = np.random.default_rng(2)
    n = 100
    rows = rng.permutation(n).astype(ROW)
    starts, sizes, leaves = [0, 30, 60, 61], [20, 30, 0, 39], [4, 2, 9, 7]
    leaf = np.full(n, -1, np.int32)
    block_tree.mark_ranges(*(np.array(each, np.int64) for each in (starts, sizes, leaves)), rows, leaf)
    np.testing.assert_array_equal(leaf, naive.mark_ranges(n, starts, sizes, leaves, rows.tolist()))
    assert np.count_nonzero(leaf == -1) == 11
    assert 9 not in leaf


# --- nodes ------------------------------------------------------------------------------------------------------------


def make_rules(**fields):
    rules = np.zeros(1, RULES)
    rules["criterion"], rules["n_classes"] = SQUARED, 1
    rules["g_unit"] = rules["h_unit"] = rules["total_weight"] = rules["gain_unit"] = 1.0
    for name, value in fields.items():
        rules[name] = value
    return rules


def make_feature(n_bins, is_categorical=False):
    record = np.zeros(1, FEATURE)
    record["n_bins"], record["is_categorical"], record["groups"] = n_bins, is_categorical, 1
    return record


def pack(g, h):
    return (g << HALF) + h


def test_write_children():
    """The left child has the sums of the cut, the right one the rest; both go on from the node's depth."""
    nodes = new_nodes(5)
    node = nodes[0]
    node["g"], node["h"], node["n"], node["count"], node["depth"] = -70, 90, 80, 85, 3
    node["feature"], node["left_sum"], node["split_l2"] = 0, pack(-100, 40), 2.5
    block_tree.write_children(0, 3, 30, 33, make_rules(), make_feature(10), nodes)
    assert node["left"] == 3
    left, right = nodes[3], nodes[4]
    assert (left["g"], left["h"], left["n"], left["count"]) == (-100, 40, 30, 33)
    assert (right["g"], right["h"], right["n"], right["count"]) == (30, 50, 50, 52)
    assert left["depth"] == right["depth"] == 4
    assert left["extra_l2"] == right["extra_l2"] == 2.5
    assert left["left"] == right["left"] == -1
    assert node["middle"] == 0.5 * (-100 / 40 + 30 / 50)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"max_depth": 4}, False),
        ({"min_samples_split": 101}, False),
        ({"min_samples_leaf": 51}, False),
        ({"min_weight_leaf": 41}, False),
    ],
)
def test_is_open(fields, expected):
    nodes = new_nodes(1)
    nodes["depth"], nodes["count"], nodes["h"] = 4, 100, 80
    limits = {"max_depth": 5, "min_samples_split": 100, "min_samples_leaf": 50, "min_weight_leaf": 40, **fields}
    assert block_tree.is_open(0, make_rules(**limits), nodes) == expected


def histogram_of(g, h):
    histogram = np.zeros(1024, np.int64)
    histogram[: len(g)] = pack(np.array(g, np.int64), np.array(h, np.int64))
    return histogram


def test_write_cut_of_a_number():
    """Codes 1 and 5 have rows: the cut moves to the middle of the codes between them. Missing values go right."""
    nodes, side = new_nodes(1), np.full(256, 9, np.uint8)
    nodes["feature"], nodes["code"], nodes["left_sum"], nodes["h"] = 0, 1, pack(4, 3), 8
    histogram = histogram_of([0, 4, 0, 0, 0, -6, 0, 0, 2], [0, 3, 0, 0, 0, 4, 0, 0, 1])
    block_tree.write_cut(0, make_feature(8), nodes, histogram, side)
    assert nodes["code"][0] == 2
    assert (nodes["last_left"][0], nodes["first_right"][0]) == (2, 3)
    assert side.tolist() == [1, 1, 1, 0, 0, 0, 0, 0] + 248 * [0]


@pytest.mark.parametrize("missing_left", [0, 1])
def test_write_cut_of_a_set(missing_left):
    """Categories that no row of the node has, and unknown ones, follow the missing values."""
    nodes, side = new_nodes(1), np.empty(256, np.uint8)
    nodes["feature"], nodes["is_set"], nodes["missing_left"] = 0, 1, missing_left
    nodes["set"][0, 0] = 0b1001
    histogram = histogram_of([1, 2, 0, 3, 1], [1, 1, 0, 1, 1])  # categories 0, 1, 3; code 4 is missing
    block_tree.write_cut(0, make_feature(4, True), nodes, histogram, side)
    assert side.tolist() == [1, 0, missing_left, 1] + 252 * [missing_left]


# --- restore_order ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_restore_order_undoes_part_rows(n, share, callable_part):
    rng = np.random.default_rng(n)
    part, restore = callable_part(part_rows), callable_part(restore_order)
    ascending = np.sort(rng.choice(3 * n, n, replace=False)).astype(ROW)
    column = (rng.random(3 * n) < share).astype(np.uint8)
    rows, spare, side = ascending.copy(), np.empty(n, ROW), np.zeros(256, np.uint8)
    side[1] = 1
    n_left = part(rows, column, side, spare)
    goes_left = column[ascending] == 1
    assert n_left == goes_left.sum()
    np.testing.assert_array_equal(rows, np.concatenate([ascending[goes_left], ascending[~goes_left]]))
    restore(rows, n_left, spare)
    np.testing.assert_array_equal(rows, ascending)


def test_packed_sums_have_a_sign():
    assert pack(-3, 5) & int(LOW) == 5
    assert pack(-3, 5) >> HALF == -3
