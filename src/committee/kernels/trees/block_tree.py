"""The pieces of `grow_on_histograms` for a table in blocks: sums and partitions of a block, and the search of a node.

Whoever grows the tree (tree_engine/block_trees.py) asks all blocks for the sums of a node's rows, adds them, searches
the node, and tells the blocks how to divide its rows. Sums are integers, so the tree is that of the table in one piece.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.trees.histogram import AHEAD, BYTE, TILE, WORDS, prefetch
from committee.kernels.trees.histogram_tree import (
    may_split,
    search_histogram_node,
    sum_rows,
    take_sums,
    write_sides,
)
from committee.kernels.trees.node import begin_children


@kernel
def sum_block(words, n_features, rows, amounts, ordered, sums_out):
    """Add the amounts of `rows` by feature and code to sums_out [features * 256]."""
    sum_rows(words, n_features, (0, words.shape[0]), rows, amounts, ordered, sums_out)


@part
def part_tile_rows(rows, tile, f, side, spare):
    """`part_rows` by the code of column f of a tile, whose lines are fetched ahead of their use."""
    word, shift = np.uintp(f // 4), np.uint32(8 * (f % 4))
    n_left = np.uintp(0)
    n_right = np.uintp(0)
    n = np.uintp(rows.size)
    for i in range(n):
        prefetch(tile, np.uintp(rows[min(i + np.uintp(AHEAD), n - np.uintp(1))]) * np.uintp(WORDS))
        row = rows[i]
        left = np.uintp(side[(tile[np.uintp(row), word] >> shift) & BYTE])
        rows[n_left] = row
        spare[n_right] = row
        n_left += left
        n_right += np.uintp(1) - left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return np.int64(n_left)


@kernel
def divide_block(words, n_features, rows, amounts, ones, cuts, scratch, sums_out):
    """Divide the rows of nodes as the records `CUT` say, in place, and sum those of one child of each.

    Row i of sums_out is for cuts[i]. The cuts are given the number of rows that go left, and what they count for.
    scratch is memory for the rows that go right and, where there are several tiles, for the amounts of a child.
    """
    spare, ordered = scratch
    for k in range(cuts.size):
        cut = cuts[k]
        f = cut.feature
        members = rows[cut.start : cut.start + cut.n]
        n_left = part_tile_rows(members, words[f // TILE], f % TILE, cut.side, spare)
        cut.n_left = n_left
        cut.left_count = n_left
        if ones.size > 0:
            count = np.int64(0)
            for i in range(n_left):
                count += ones[members[i]]
            cut.left_count = count
        child = members[:n_left] if cut.sums_left == 1 else members[n_left:]
        if cut.is_summed == 1:
            sum_rows(words, n_features, (0, words.shape[0]), child, amounts, ordered, sums_out[k])


@kernel
def search_block_node(i, is_counted, rules_1, features, records, nodes, sums, work):
    """Write the best split of node i to its record; is_counted, one that leaves enough rows on either side.

    sums are the histogram of the node and that of its counts.
    """
    histogram, counts = sums
    return search_histogram_node(features, is_counted, nodes[i], rules_1[0], records, histogram, counts, work)


@kernel
def is_open(i, rules_1, nodes):
    """Whether the limits let node i be split."""
    return may_split(nodes[i], rules_1[0])


@kernel
def write_cut(i, records, nodes, histogram, side_out):
    """Write which codes of node i's split go left to side_out [256]."""
    node = nodes[i]
    write_sides(node, records[node.feature], histogram, side_out)


@kernel
def write_children(i, first, n_left, left_count, rules_1, records, nodes):
    """Make the nodes first and first + 1 the children of node i."""
    node, left, right = nodes[i], nodes[first], nodes[first + 1]
    take_sums(node, rules_1[0], left, right)
    begin_children(node, n_left, records[node.feature], left, right)
    left.extra_l2 = right.extra_l2 = node.split_l2
    left.count = left_count
    right.count = node.count - left_count
    node.left = first


@kernel
def mark_ranges(starts, sizes, leaves, rows, leaf_out):
    """Write leaves[k] as the leaf of the rows at starts[k] : starts[k] + sizes[k]."""
    for k in range(starts.size):
        for i in range(starts[k], starts[k] + sizes[k]):
            leaf_out[rows[i]] = leaves[k]
