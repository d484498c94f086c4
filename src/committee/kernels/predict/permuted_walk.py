"""Predictions of a tree for rows in which one feature is permuted: only rows that change sides are traversed again.

A row whose value of feature f is replaced by that of a donor follows its original path down to the first split on f
that sends the two values to different children: there the permuted path departs. Most values never change sides, so one
traversal of the original path, which also compares the donor's value at every split, finds the departures of all
features.

    root --- f:  own value left,  donor's value left      same child
               \\--- g:  own value right, donor's value right   same child
                       \\--- f:  own value left,  donor's value right   the path permuted in f departs
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.jit import inlined, kernel, part
from committee.kernels.predict.forest_walk import LANES
from committee.kernels.trees.sampling import draw_below, draw_unit


class Permutation(NamedTuple):
    """The donors of every out-of-bag row of a tree, by feature: a cyclic shift of the rows in random order.

    For feature f, the value of rows[k] is that of donors[position[k] + shift[f]], modulo the length of the cycle.
    """

    rows: NDArray[np.int64]  # [m] out-of-bag rows, sorted
    position: NDArray[np.int64]  # [m] of each row in the cycle
    donors: NDArray[np.int64]  # [m or more] the row at each position of the cycle
    shift: NDArray[np.int64]  # [d]


class PermutedPredictions(NamedTuple):
    """Original predictions of m rows, and those that a permuted feature changes, with room for all departures."""

    original: NDArray[Any]  # [m]
    row: NDArray[np.int64]  # number of the row among the m
    feature: NDArray[np.int64]  # the permuted feature
    value: NDArray[np.floating]  # the donor's value
    node: NDArray[np.int64]  # where the permuted path departs, then the leaf it ends at


class WalkMemory(NamedTuple):
    """Scratch memory of `predict_permuted`."""

    tile: NDArray[np.floating]  # [8, d] rows
    path: NDArray[np.uintp]  # [depth + 1, 8] their nodes, level by level
    last: NDArray[np.int64]  # [d] the last row whose path departed at a split on the feature


class NodeChanges(NamedTuple):
    """Rows that change sides when the split feature is permuted at one node."""

    row: NDArray[np.int64]
    node: NDArray[np.int64]  # of the tree
    leaf: NDArray[np.int64]  # where the row then ends


class NodeMemory(NamedTuple):
    """Scratch memory of `predict_node_permuted`."""

    bounds: NDArray[np.int64]  # [nodes of the tree, 2] the rows of a node
    right: NDArray[np.int64]  # [m] rows on their way to the right child


@inlined
def feature_of(node, forest):
    """Return the feature of a packed node, which holds ~f where missing values go left."""
    f = forest.nodes[node].feature
    return np.uintp(f ^ (f >> np.int32(31)))


@inlined
def child_for(x, node, forest):
    """Return the child that the value x leads to; a leaf leads to itself. Codes outside 0..255 count as missing."""
    here = forest.nodes[node]
    left = (x <= here.threshold) | ((here.feature < 0) & (x != x))
    if forest.category_set.size > 0 and forest.category_set[node] >= 0:
        left = here.feature < 0
        if x >= 0.0 and x < 256.0:
            code = np.int64(x)
            bits = forest.categories[forest.category_set[node], code >> 6]
            left = (bits >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)
    return np.uintp(here.left) + np.uintp(not left)


@part
def walk(X, row, node, forest):
    """Return the leaf below `node` that a row reaches."""
    while True:
        child = child_for(X[row, feature_of(node, forest)], node, forest)
        if child == node:
            return node
        node = child


@part
def walk_tile(tile, path, forest):
    """Walk eight rows, tile [8, d], from the nodes path[0] to their leaves, path[the level that is returned].

    They proceed in lock step: a single row would wait for one node after the other.
    """
    level = 0
    a, b, c, d = path[0, 0], path[0, 1], path[0, 2], path[0, 3]
    e, f, g, h = path[0, 4], path[0, 5], path[0, 6], path[0, 7]
    while True:
        a1 = child_for(tile[0, feature_of(a, forest)], a, forest)
        b1 = child_for(tile[1, feature_of(b, forest)], b, forest)
        c1 = child_for(tile[2, feature_of(c, forest)], c, forest)
        d1 = child_for(tile[3, feature_of(d, forest)], d, forest)
        e1 = child_for(tile[4, feature_of(e, forest)], e, forest)
        f1 = child_for(tile[5, feature_of(f, forest)], f, forest)
        g1 = child_for(tile[6, feature_of(g, forest)], g, forest)
        h1 = child_for(tile[7, feature_of(h, forest)], h, forest)
        moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
        if moved == np.uintp(0):
            return level
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        level += 1
        path[level, 0], path[level, 1], path[level, 2], path[level, 3] = a, b, c, d
        path[level, 4], path[level, 5], path[level, 6], path[level, 7] = e, f, g, h


@inlined
def copy_row(X, row, tile, lane):
    for f in range(X.shape[1]):
        tile[lane, f] = X[row, f]


@inlined
def find_departures(columns, k, depth, permutation, forest, memory, n_found, result):
    """Note for every feature where the path of row k first departs from the original one, memory.path."""
    donors, path, lane = permutation.donors, memory.path, np.uintp(k % LANES)
    size = np.uintp(donors.size)
    for level in range(np.uintp(depth)):
        node = path[level, lane]
        if node == path[level + np.uintp(1), lane]:  # a leaf, above the deepest of the tile
            break
        f = feature_of(node, forest)
        position = np.uintp(permutation.position[k] + permutation.shift[f])
        position = min(position, position - size)  # below 0 it is very large
        x = columns[f, np.uintp(donors[position])]
        child = child_for(x, node, forest)
        # Written in any case and counted if new: no branch that the processor would have to guess.
        before = memory.last[f]
        is_new = (child != path[level + np.uintp(1), lane]) & (before != k)
        result.row[n_found], result.feature[n_found] = k, f
        result.value[n_found], result.node[n_found] = x, child
        n_found += np.uintp(is_new)
        memory.last[f] = k if is_new else before
    return n_found


@kernel
def predict_permuted(X, columns, permutation, root, forest, predictions, memory, result):
    """Predict rows of X [n, d] unchanged and with each feature permuted; return how many predictions change.

    predictions has the prediction of every node of `forest`, a PackedForest; `root` is that of the tree. columns [d, n]
    is X transposed: donors are in ascending order, so columns are read from front to end. The predictions are written
    to result, a PermutedPredictions; memory is overwritten.
    """
    rows, tile, path = permutation.rows, memory.tile, memory.path
    n_found = np.uintp(0)
    memory.last[:] = -1
    for first in range(0, rows.size, LANES):
        for lane in range(LANES):  # lanes without a row repeat the last one
            copy_row(X, rows[min(first + lane, rows.size - 1)], tile, lane)
            path[0, lane] = root
        depth = walk_tile(tile, path, forest)
        for k in range(first, min(first + LANES, rows.size)):
            result.original[k] = predictions[path[depth, k - first]]
            n_found = find_departures(columns, k, depth, permutation, forest, memory, n_found, result)
    return keep_changed(X, np.int64(n_found), rows, forest, predictions, memory, result)


@inlined
def keep_changed(X, n_found, rows, forest, predictions, memory, result):
    """Walk the permuted paths from where they depart; keep those with another prediction, and count them."""
    tile, path = memory.tile, memory.path
    n_changed = 0
    for first in range(0, n_found, LANES):
        for lane in range(LANES):
            i = min(first + lane, n_found - 1)
            copy_row(X, rows[result.row[i]], tile, lane)
            tile[lane, result.feature[i]] = result.value[i]
            path[0, lane] = result.node[i]
        depth = walk_tile(tile, path, forest)
        for i in range(first, min(first + LANES, n_found)):  # most end in the original prediction
            leaf = path[depth, i - first]
            result.row[n_changed], result.feature[n_changed] = result.row[i], result.feature[i]
            result.node[n_changed] = leaf
            n_changed += np.int64(predictions[leaf] != result.original[result.row[n_changed]])
    return n_changed


@inlined
def partition_rows(X, rows, begin, end, node, forest, right):
    """Move rows of the left child to the front, in their order (modified in place); return where the right begins."""
    f = feature_of(node, forest)
    left = np.uintp(forest.nodes[node].left)
    n_left, n_right = 0, 0
    for p in range(begin, end):
        row = rows[p]
        if child_for(X[row, f], node, forest) == left:
            rows[begin + n_left] = row
            n_left += 1
        else:
            right[n_right] = row
            n_right += 1
    for p in range(n_right):
        rows[begin + n_left + p] = right[p]
    return begin + n_left


@part
def are_equal(rows, weight):
    for p in range(rows.size):
        if weight[rows[p]] != weight[rows[0]]:
            return False
    return True


@kernel
def predict_node_permuted(X, rows, weight, root, forest, key, memory, result):
    """Permute the split feature at one node at a time; return how many rows change sides there.

    At every inner node its rows form a cycle in which the length of a row is its weight, and which is shifted by a
    random length: the value of a row is that of the donor at its beginning, which is another row if the weights are
    equal. Below the node the row continues with its own values. rows [m] is in a random order and is sorted by leaf;
    the rows that change sides are written to result, a NodeChanges; memory is overwritten.
    """
    n_found = 0
    bounds, has_equal_weights = memory.bounds, are_equal(rows, weight)
    bounds[:] = 0
    bounds[0, 1] = rows.size
    for at in range(bounds.shape[0]):
        node = np.uintp(root + at)
        begin, end = bounds[at, 0], bounds[at, 1]
        left = np.int64(forest.nodes[node].left)
        if left == root + at or begin == end:
            continue
        f = feature_of(node, forest)
        total = 0.0
        for p in range(begin, end):
            total += weight[rows[p]]
        if has_equal_weights:
            shift = weight[rows[begin]] * (1 + draw_below(key, at, max(end - begin - 1, 1)))
        else:
            shift = total * draw_unit(key, at)
        donor = begin
        ahead = weight[rows[begin]] - shift  # how far the donor reaches beyond the beginning of the row
        for p in range(begin, end):
            while ahead <= 0.0:
                donor = donor + 1 if donor + 1 < end else begin
                ahead += weight[rows[donor]]
            row = rows[p]
            ahead -= weight[row]
            child = child_for(X[row, f], node, forest)
            other = child_for(X[rows[donor], f], node, forest)
            if other != child:
                result.row[n_found], result.node[n_found] = row, at
                result.leaf[n_found] = walk(X, row, other, forest)
                n_found += 1
        middle = partition_rows(X, rows, begin, end, node, forest, memory.right)
        bounds[left - root, 0], bounds[left - root, 1] = begin, middle
        bounds[left - root + 1, 0], bounds[left - root + 1, 1] = middle, end
    return n_found
