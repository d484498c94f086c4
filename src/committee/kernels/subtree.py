"""Growing a whole subtree of a few thousand rows in one call.

The columns of the subtree's rows are copied when a node first looks at them, as dense ranks in 16 bits: from then on
the subtree lives in the cache, its sorts are short, and a feature that is constant here is never looked at again.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.data.growth import CODE
from committee.kernels.node import begin_children, begin_node, draw_cut, end_search, keep_drawn_cut
from committee.kernels.ordering import CODE_BITS, POSITION, order_by_code
from committee.kernels.partition import boundary_positions, gather_codes, is_constant, mark_sides, move_rows
from committee.kernels.sampling import draw_swap
from committee.kernels.split import search_feature

CONSTANT = 0  # number of ranks of a column that has one value in the subtree
NOT_COPIED = -1


@part
def copy_column(f, table, rows, work, local_out):
    """Dense ranks of feature f inside the subtree; categories keep their codes. Return the number of ranks."""
    n = rows.size
    n_codes = table.features[f].n_bins
    column = work.column
    gather_codes(table, f, rows, column)
    if table.features[f].is_categorical == 1:
        for i in range(n):
            local_out[i] = column[i]
        return n_codes
    if n_codes < work.cuts.shape[1]:
        return rank_by_presence(n_codes, n, column, work.cuts[CODE], local_out)
    keys = order_by_code(column, n, n_codes + 1, work.keys, work.counters)
    rank = 0
    for i in range(n):
        if i > 0 and keys[i] >> CODE_BITS != keys[i - 1] >> CODE_BITS:
            rank += 1
        local_out[np.int64(keys[i] & POSITION)] = rank
    if rank == 0:
        return CONSTANT
    # Missing rows come last and their rank is the number of ranks, as in the table.
    return rank if np.int64(keys[n - 1] >> CODE_BITS) == n_codes else rank + 1


@part
def rank_by_presence(n_codes, n, column, rank_of, local_out):
    """Dense ranks by marking which codes occur; rank_of is overwritten."""
    for c in range(n_codes + 1):
        rank_of[c] = 0
    for i in range(n):
        rank_of[column[i]] = 1
    has_missing = rank_of[n_codes]
    rank = 0
    for c in range(n_codes + 1):
        present = rank_of[c]
        rank_of[c] = rank
        rank += present
    for i in range(n):
        local_out[i] = rank_of[column[i]]
    return rank - has_missing if rank > 1 else CONSTANT


@part
def load_column(f, is_copied, node, position, origin, table, local, n_ranks, work):
    """The codes of feature f for the node's rows into work.column; return how many codes there are."""
    column = work.column
    start = np.uintp(node.start)
    if not is_copied:
        for i in range(np.uintp(node.n)):
            work.spare_rows[i] = origin[position[start + i]]
        gather_codes(table, f, work.spare_rows[: node.n], column)
        return table.features[f].n_bins
    if n_ranks[f] == NOT_COPIED:
        n_ranks[f] = copy_column(f, table, origin, work, local[f])
    codes = local[f]
    for i in range(np.uintp(node.n)):
        column[i] = np.uint32(codes[position[start + i]])
    return n_ranks[f]


@part
def split_rows(node, n_codes, position, origin, stat, table, work):
    """Send the rows of the node left and right, their codes in work.column; return how many went left."""
    n_left = mark_sides(node, n_codes, work.column, work.side)
    last, first = boundary_positions(node.n, n_codes, work.column, work.side)
    node.last_left = table_code(node, last, position, origin, table)
    node.first_right = table_code(node, first, position, origin, table)
    move_rows(node.start, node.n, work.side, position, stat, work.spare_rows, work.spare_stat)
    return n_left


@part
def table_code(node, place, position, origin, table):
    """Code of the split feature in the table for the node's row at `place`, -1 where place is -1."""
    if place < 0:
        return np.int64(-1)
    row = origin[position[node.start + place]]
    if table.bytes.shape[0] > 0:
        return np.int64(table.bytes[node.feature, row])
    return np.int64(table.ranks[node.feature, row])


@part
def push(frontier, size, i, is_heap, nodes):
    """Add node i to the frontier: a stack, or a heap with the largest gain first (modified in place)."""
    place = size
    while is_heap and place > 0:
        parent = (place - 1) // 2
        if is_ahead(frontier[parent], i, nodes):
            break
        frontier[place] = frontier[parent]
        place = parent
    frontier[place] = i


@part
def pop(frontier, size, is_heap, nodes):
    """Take the first node off the frontier of `size` nodes (modified in place)."""
    i = frontier[size - 1]
    if not is_heap:
        return i
    top = frontier[0]
    place = 0
    while 2 * place + 1 < size - 1:
        child = 2 * place + 1
        if child + 1 < size - 1 and is_ahead(frontier[child + 1], frontier[child], nodes):
            child += 1
        if is_ahead(i, frontier[child], nodes):
            break
        frontier[place] = frontier[child]
        place = child
    frontier[place] = i
    return top


@part
def is_ahead(i, j, nodes):
    return nodes[i].gain > nodes[j].gain or (nodes[i].gain == nodes[j].gain and i < j)


@kernel
def grow_subtree(rules_1, features, rows, stat, table, nodes, work):
    """Grow the subtree of `rows` from nodes[0], which holds its bounds, depth and key; return the number of nodes.

    Modified in place: rows and stat (reordered so that the rows of every node are contiguous), nodes, work, and
    `features`, the features to look at, which are drawn from and restored.

    With rules.max_splits = 0 this is the search for the best split of one node, straight from the table.
    """
    rules = rules_1[0]
    n = rows.size
    is_copied = rules.random_splits == 0 and rules.max_splits > 0
    is_drawn = rules.max_features < features.size
    origin = rows.copy()
    position = np.empty(n, np.uint32)
    for i in range(n):
        position[i] = i
    d = table.features.size
    local = np.empty((d if is_copied else 0, n), np.uint16)
    n_ranks = np.full(d, NOT_COPIED)
    frontier = np.empty(n + 1, np.int64)
    n_frontier = 0
    n_nodes = 1
    n_splits = 0
    newest = 0
    while True:
        # Step 1: the best split of the newest nodes; the left one last, so that depth first takes it first
        for i in range(n_nodes - 1, newest - 1, -1):
            node = nodes[i]
            if not begin_node(node, rules, stat, table, position, origin, work):
                continue
            n_seen = 0
            while n_seen < features.size and (n_seen < rules.max_features or node.n_found == 0):
                if is_drawn:
                    draw_swap(features, node.key, n_seen)
                f = features[n_seen]
                n_seen += 1
                feature = table.features[f]
                if feature.groups & node.groups == np.uint64(0) or n_ranks[f] == CONSTANT:
                    continue
                n_codes = load_column(f, is_copied, node, position, origin, table, local, n_ranks, work)
                if is_constant(work.column, node.n):
                    continue
                node.n_found += 1
                is_categorical = feature.is_categorical == 1
                if rules.random_splits == 1:
                    threshold, code, missing_left = draw_cut(f, node, table, work.column)
                    is_categorical = False
                    n_codes = np.int64(2)
                before = node.score
                search_feature(f, n_codes, is_categorical, feature.monotone, node, rules, stat, table, work)
                if rules.random_splits == 1 and node.score > before:
                    keep_drawn_cut(f, node, feature.is_categorical, threshold, code, missing_left)
            if is_drawn:
                for step in range(n_seen - 1, -1, -1):
                    draw_swap(features, node.key, step)
            end_search(node, rules)
            if node.feature >= 0:
                push(frontier, n_frontier, i, rules.best_first == 1, nodes)
                n_frontier += 1
        # Step 2: take one of the splits found
        if n_frontier == 0 or n_splits == rules.max_splits:
            break
        node = nodes[pop(frontier, n_frontier, rules.best_first == 1, nodes)]
        n_frontier -= 1
        n_codes = load_column(node.feature, is_copied, node, position, origin, table, local, n_ranks, work)
        n_left = split_rows(node, n_codes, position, origin, stat, table, work)
        begin_children(node, n_left, rules, table, nodes[n_nodes], nodes[n_nodes + 1])
        node.left = n_nodes
        newest = n_nodes
        n_nodes += 2
        n_splits += 1
    for i in range(n):
        rows[i] = origin[position[i]]
    return n_nodes


@kernel
def split_node(nodes, i, left, rules_1, rows, stat, table, work):
    """Send the rows of node i to the nodes left and left + 1; rows and stat are reordered in place."""
    node = nodes[i]
    inside = rows[node.start : node.start + node.n]
    gather_codes(table, node.feature, inside, work.column)
    n_codes = table.features[node.feature].n_bins
    n_left = mark_sides(node, n_codes, work.column, work.side)
    last, first = boundary_positions(node.n, n_codes, work.column, work.side)
    node.last_left = np.int64(work.column[last]) if last >= 0 else np.int64(-1)
    node.first_right = np.int64(work.column[first]) if first >= 0 else np.int64(-1)
    move_rows(node.start, node.n, work.side, rows, stat, work.spare_rows, work.spare_stat)
    begin_children(node, n_left, rules_1[0], table, nodes[left], nodes[left + 1])
    node.left = left
