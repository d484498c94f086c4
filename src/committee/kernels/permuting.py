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
from committee.kernels.sampling import draw_below, draw_unit


@part
def feature_of(node, nodes):
    """Packed nodes hold ~f where missing values go left."""
    f = nodes[node].feature
    return np.int64(f ^ (f >> np.int32(31)))


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
    return np.int64(here.left) + np.int64(not left)


@part
def walk_with(X, row, node, f, x, nodes, category_set, categories):
    """The leaf below `node` of a row that has x in the place of its feature f; f = -1 replaces nothing."""
    while True:
        g = feature_of(node, nodes)
        value = x if g == f else X[row, g]
        child = child_for(value, node, nodes, category_set, categories)
        if child == node:
            return node
        node = child


@kernel
def find_detours(
    X, rows, place, givers, shift, root, nodes, category_set, categories, seen, leaf_out, taker_out, feature_out,
    detour_out,
):  # fmt: skip
    """Leaves of rows of X [n, d], as they are and with one value taken from another row; return the number of detours.

    rows[k] stands at place[k] of a ring; for feature f it takes the value of the row givers[place[k] + shift[f]].
    leaf_out[k] is its own leaf. Detour number i is that of rows[taker_out[i]] under feature_out[i], to the leaf
    detour_out[i]. seen [d] is overwritten.
    """
    n_found = 0
    seen[:] = -1
    for k in range(rows.size):
        row = rows[k]
        node = np.int64(root)
        while True:
            f = feature_of(node, nodes)
            child = child_for(X[row, f], node, nodes, category_set, categories)
            if child == node:
                break
            if seen[f] != k:
                giver = place[k] + shift[f]
                if giver >= givers.size:
                    giver -= givers.size
                x = X[givers[giver], f]
                other = child_for(x, node, nodes, category_set, categories)
                if other != child:
                    seen[f] = k
                    taker_out[n_found] = k
                    feature_out[n_found] = f
                    detour_out[n_found] = walk_with(X, row, other, f, x, nodes, category_set, categories)
                    n_found += 1
            node = child
        leaf_out[k] = node
    return n_found


@part
def divide(X, rows, begin, end, node, nodes, category_set, categories, held):
    """Rows of the left child to the front, in their order (modified in place); return where the right child begins."""
    f = feature_of(node, nodes)
    left = np.int64(nodes[node].left)
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
        node = np.int64(root + at)
        begin, end = bounds[at, 0], bounds[at, 1]
        left = np.int64(nodes[node].left)
        if left == node or begin == end:
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
                detour_out[n_found] = walk_with(X, row, other, -1, 0.0, nodes, category_set, categories)
                n_found += 1
        middle = divide(X, rows, begin, end, node, nodes, category_set, categories, held)
        bounds[left - root, 0], bounds[left - root, 1] = begin, middle
        bounds[left - root + 1, 0], bounds[left - root + 1, 1] = middle, end
    return n_found
