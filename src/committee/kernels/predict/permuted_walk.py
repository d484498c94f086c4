"""Where rows end when a value of theirs is exchanged: only the rows that change sides at a split are walked again.

A row whose value of feature f is replaced follows its own path down to the first split on f that sends the two values
different ways. Most values never change sides, so a walk down the own path, with a look aside at every split, finds
the detours of all features at once.

    root --- f:  own value left,  other value left    same way
               \\--- g:  own value right, other value right   same way
                       \\--- f:  own value left,  other value right   detour of f begins
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.kernels.predict.forest_walk import LANES
from committee.kernels.trees.sampling import draw_below, draw_unit


@part
def feature_of(node, nodes):
    """Packed nodes hold ~f where missing values go left."""
    f = nodes[node].feature
    return np.uintp(f ^ (f >> np.int32(31)))


@part
def child_for(x, node, nodes, category_set, categories):
    """The child that the value x leads to; a leaf leads to itself. Codes outside 0..255 follow missing values."""
    here = nodes[node]
    left = (x <= here.threshold) | ((here.feature < 0) & (x != x))
    if category_set.size > 0 and category_set[node] >= 0:
        left = here.feature < 0
        if x >= 0.0 and x < 256.0:
            code = np.int64(x)
            left = (categories[category_set[node], code >> 6] >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)
    return np.uintp(here.left) + np.uintp(not left)


@part
def walk(X, row, node, nodes, category_set, categories):
    """The leaf below `node` that a row reaches."""
    while True:
        child = child_for(X[row, feature_of(node, nodes)], node, nodes, category_set, categories)
        if child == node:
            return node
        node = child


@part
def walk_tile(tile, path, nodes, category_set, categories):
    """Lead eight rows, tile [8, d], from the nodes path[0] to their leaves, path[the level that is returned].

    In lock step: each alone would wait for one node after the other.
    """
    level = 0
    a, b, c, d = path[0, 0], path[0, 1], path[0, 2], path[0, 3]
    e, f, g, h = path[0, 4], path[0, 5], path[0, 6], path[0, 7]
    while True:
        a1 = child_for(tile[0, feature_of(a, nodes)], a, nodes, category_set, categories)
        b1 = child_for(tile[1, feature_of(b, nodes)], b, nodes, category_set, categories)
        c1 = child_for(tile[2, feature_of(c, nodes)], c, nodes, category_set, categories)
        d1 = child_for(tile[3, feature_of(d, nodes)], d, nodes, category_set, categories)
        e1 = child_for(tile[4, feature_of(e, nodes)], e, nodes, category_set, categories)
        f1 = child_for(tile[5, feature_of(f, nodes)], f, nodes, category_set, categories)
        g1 = child_for(tile[6, feature_of(g, nodes)], g, nodes, category_set, categories)
        h1 = child_for(tile[7, feature_of(h, nodes)], h, nodes, category_set, categories)
        moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
        if moved == np.uintp(0):
            return level
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        level += 1
        path[level, 0], path[level, 1], path[level, 2], path[level, 3] = a, b, c, d
        path[level, 4], path[level, 5], path[level, 6], path[level, 7] = e, f, g, h


@part
def copy_row(X, row, tile, lane):
    for f in range(X.shape[1]):
        tile[lane, f] = X[row, f]


@part
def look_aside(
    columns, k, place, givers, shift, path, lane, depth, nodes, category_set, categories, seen, n_found, taker_out,
    feature_out, value_out, node_out,
):  # fmt: skip
    """Note where row k, whose path is known, would leave it for the first time with another value of a feature."""
    size = np.uintp(givers.size)
    for level in range(np.uintp(depth)):
        node = path[level, lane]
        if node == path[level + np.uintp(1), lane]:  # a leaf, above the deepest of the tile
            break
        f = feature_of(node, nodes)
        giver = np.uintp(place[k] + shift[f])
        giver = min(giver, giver - size)  # below 0 it is very large
        x = columns[f, np.uintp(givers[giver])]
        other = child_for(x, node, nodes, category_set, categories)
        # Written in any case and counted if new: no branch that the processor would have to guess.
        before = seen[f]
        is_new = (other != path[level + np.uintp(1), lane]) & (before != k)
        taker_out[n_found], feature_out[n_found] = k, f
        value_out[n_found], node_out[n_found] = x, other
        n_found += np.uintp(is_new)
        seen[f] = k if is_new else before
    return n_found


@kernel
def find_detours(
    X, columns, rows, place, givers, shift, root, nodes, category_set, categories, predictions, tile, path, seen,
    own_out, taker_out, feature_out, value_out, node_out,
):  # fmt: skip
    """Answers to rows of X [n, d], as they are and with one value taken from another row; return how many differ.

    rows[k] stands at place[k] of a ring; for feature f it takes the value of the row givers[place[k] + shift[f]].
    own_out[k] is the answer to it. Number i is rows[taker_out[i]] under feature_out[i], which gets the answer of the
    leaf node_out[i]. columns [d, n] is X again: where places and givers rise, columns are read from front to end.
    tile [8, d], path [depth + 1, 8], seen [d] and value_out are overwritten.
    """
    n_found = np.uintp(0)
    seen[:] = -1
    for first in range(0, rows.size, LANES):
        n_lanes = min(LANES, rows.size - first)
        for lane in range(LANES):  # lanes without a row repeat the last one
            copy_row(X, rows[min(first + lane, rows.size - 1)], tile, lane)
            path[0, lane] = root
        depth = walk_tile(tile, path, nodes, category_set, categories)
        for lane in range(n_lanes):
            own_out[first + lane] = predictions[path[depth, lane]]
            n_found = look_aside(
                columns, first + lane, place, givers, shift, path, lane, depth, nodes, category_set, categories, seen,
                n_found, taker_out, feature_out, value_out, node_out,
            )  # fmt: skip
    n_found, n_kept = np.int64(n_found), 0
    for first in range(0, n_found, LANES):
        for lane in range(LANES):
            i = min(first + lane, n_found - 1)
            copy_row(X, rows[taker_out[i]], tile, lane)
            tile[lane, feature_out[i]] = value_out[i]
            path[0, lane] = node_out[i]
        depth = walk_tile(tile, path, nodes, category_set, categories)
        for i in range(first, min(first + LANES, n_found)):  # most end in the own answer
            leaf = path[depth, i - first]
            taker_out[n_kept], feature_out[n_kept], node_out[n_kept] = taker_out[i], feature_out[i], leaf
            n_kept += np.int64(predictions[leaf] != own_out[taker_out[n_kept]])
    return n_kept


@part
def divide(X, rows, begin, end, node, nodes, category_set, categories, held):
    """Rows of the left child to the front, in their order (modified in place); return where the right child begins."""
    f = feature_of(node, nodes)
    left = np.uintp(nodes[node].left)
    n_left, n_right = 0, 0
    for p in range(begin, end):
        row = rows[p]
        if child_for(X[row, f], node, nodes, category_set, categories) == left:
            rows[begin + n_left] = row
            n_left += 1
        else:
            held[n_right] = row
            n_right += 1
    for p in range(n_right):
        rows[begin + n_left + p] = held[p]
    return begin + n_left


@kernel
def find_node_detours(
    X, rows, weight, is_equal, root, n_nodes, nodes, category_set, categories, key, bounds, held, row_out, node_out,
    detour_out,
):  # fmt: skip
    """Where rows end that take another row's value at one node, and their own below it; return how many change sides.

    At every inner node the rows that reach it stand on a ring, each as long as its weight, which is turned against
    itself at random; a row takes the value of the one beside its beginning, of another one if the weights are equal.
    Number i is the row row_out[i] at node_out[i], that ends at detour_out[i]. rows [m] comes in a random order and is
    sorted by leaf; bounds [n_nodes, 2] and held [m] are overwritten.
    """
    n_found = 0
    bounds[:] = 0
    bounds[0, 1] = rows.size
    for at in range(n_nodes):
        node = np.uintp(root + at)
        begin, end = bounds[at, 0], bounds[at, 1]
        left = np.int64(nodes[node].left)
        if left == root + at or begin == end:
            continue
        f = feature_of(node, nodes)
        total = 0.0
        for p in range(begin, end):
            total += weight[rows[p]]
        if is_equal:
            turn = weight[rows[begin]] * (1 + draw_below(key, at, max(end - begin - 1, 1)))
        else:
            turn = total * draw_unit(key, at)
        giver = begin
        ahead = weight[rows[begin]] - turn  # how far the giver reaches beyond the beginning of the taker
        for p in range(begin, end):
            while ahead <= 0.0:
                giver = giver + 1 if giver + 1 < end else begin
                ahead += weight[rows[giver]]
            row = rows[p]
            ahead -= weight[row]
            child = child_for(X[row, f], node, nodes, category_set, categories)
            other = child_for(X[rows[giver], f], node, nodes, category_set, categories)
            if other != child:
                row_out[n_found] = row
                node_out[n_found] = at
                detour_out[n_found] = walk(X, row, other, nodes, category_set, categories)
                n_found += 1
        middle = divide(X, rows, begin, end, node, nodes, category_set, categories, held)
        bounds[left - root, 0], bounds[left - root, 1] = begin, middle
        bounds[left - root + 1, 0], bounds[left - root + 1, 1] = middle, end
    return n_found
