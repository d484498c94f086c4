"""Growing a whole subtree of a few thousand rows in one call; `grow_subtree.py` has the kernels."""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, kernel, part
from committee.kernels.trees.local_codes import NOT_COPIED, has_own_ranks, load_codes
from committee.kernels.trees.node import begin_children, begin_node
from committee.kernels.trees.partition import boundary_positions, gather_codes, mark_sides, move_rows, table_code
from committee.records.growth import Search


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


@part
def is_plain_table(rules, is_copied, features):
    """Return whether the quick searches apply: no categories, no constraints, the plain criterion."""
    is_plain = rules.is_plain == 1 and (is_copied or rules.random_splits == 0)
    for f in range(features.size):
        is_plain &= features[f].is_categorical == 0 and features[f].monotone == 0
    return is_plain


@part
def begin_subtree(rows, subtree):
    """Initialise: no row has moved, no column is copied, no feature is marked as constant."""
    for i in range(rows.size):
        subtree.origin[i] = rows[i]
        subtree.position[i] = i
    for f in range(subtree.n_ranks.size):
        subtree.n_ranks[f] = NOT_COPIED
    for word in range(subtree.constant.shape[1]):
        subtree.constant[0, word] = np.uint64(0)


@inlined
def split_in_subtree(node, search):
    """Send the rows of a node left and right, in subtree.position and stat; return how many go left."""
    f, n, rows, stat, table = node.feature, node.n, search.rows, search.stat, search.table
    subtree, column, side = search.subtree, search.work.column, search.work.side
    feature = table.features[f]
    n_codes = subtree.n_ranks[f] if search.is_copied else feature.n_bins
    load_codes(f, node, rows, table, subtree, column)
    n_left = mark_sides(node, n_codes, column, side)
    last, first = boundary_positions(n, n_codes, column, side)
    node.last_left, node.first_right = last, first
    if node.threshold != node.threshold:  # else drawn: it only matters whether there are such codes
        has_ranks = search.is_copied and has_own_ranks(search.is_ranked, feature)
        if last >= 0:
            node.last_left = code_in_table(last, node, has_ranks, column, table, subtree)
        if first >= 0:
            node.first_right = code_in_table(first, node, has_ranks, column, table, subtree)
    move_rows(node.start, n, side, subtree.position, stat, search.work.spare_rows, search.work.spare_stat)
    return n_left


@inlined
def code_in_table(i, node, has_ranks, column, table, subtree):
    """Return the table's code of the node's i-th row for the node's feature; reading the table waits for memory."""
    if not has_ranks:
        return np.int64(column[i])
    row = subtree.origin[subtree.position[node.start + i]]
    return table_code(node.feature, table.bytes, table.ranks, row)


@inlined
def write_rows(start, n, position, origin, rows_out):
    """The rows of the table in the order of the subtree's positions."""
    for i in range(np.uintp(start), np.uintp(start + n)):
        rows_out[i] = origin[position[i]]


def make_growth(find_split):
    """Make the growth of a subtree from the search for the split of a node."""

    @inlined
    def grow(rules_1, features, rows, stat, table, nodes, subtree, work):
        """Grow the subtree of `rows` from nodes[0], which holds its bounds, depth and key; return the number of nodes.

        Modified in place: rows and stat (reordered so that the rows of every node are contiguous), nodes, the scratch
        arrays of subtree and work, and `features`, the features to look at, which are drawn from and restored.

        With an empty subtree.local the codes are read straight from the table. With rules.max_splits = 0 this is the
        search for the best split of one node.
        """
        rules = rules_1[0]
        is_copied = subtree.local.shape[0] > 0
        is_ranked = rules.random_splits == 0 and 3 * rules.max_features >= features.size
        is_plain = is_plain_table(rules, is_copied, table.features)
        search = Search(rules, features, rows, stat, table, subtree, work, is_copied, is_ranked, is_plain)
        is_heap = rules.best_first == 1
        # Read by the rows of the table: the codes of a node, or its targets
        reads_rows = not is_copied or rules.n_classes < 2
        constant = subtree.constant
        begin_subtree(rows, subtree)
        n_frontier = 0
        n_nodes = 1
        n_splits = 0
        newest = 0
        while True:
            # Step 1: the best split of the newest nodes; the left one last, so that depth first takes it first
            for i in range(n_nodes - 1, newest - 1, -1):
                if begin_node(nodes[i], rules, stat, table.target, rows):
                    find_split(i, nodes[i], search)
                    if nodes[i].feature >= 0:
                        push(subtree.frontier, n_frontier, i, is_heap, nodes)
                        n_frontier += 1
            # Step 2: take one of the open splits
            if n_frontier == 0 or n_splits == rules.max_splits:
                break
            parent = pop(subtree.frontier, n_frontier, is_heap, nodes)
            n_frontier -= 1
            node = nodes[parent]
            n_left = split_in_subtree(node, search)
            if reads_rows:
                write_rows(node.start, node.n, subtree.position, subtree.origin, rows)
            begin_children(node, n_left, table.features[node.feature], nodes[n_nodes], nodes[n_nodes + 1])
            for word in range(constant.shape[1]):
                constant[n_nodes, word] = constant[n_nodes + 1, word] = constant[parent, word]
            node.left = n_nodes
            newest = n_nodes
            n_nodes += 2
            n_splits += 1
        if not reads_rows:
            write_rows(0, rows.size, subtree.position, subtree.origin, rows)
        return n_nodes

    return grow


@kernel
def split_node(nodes, i, left, rows, stat, table, work):
    """Send the rows of node i to the nodes left and left + 1; rows and stat are reordered in place."""
    node = nodes[i]
    f = node.feature
    n_codes = table.features[f].n_bins
    gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, work.column)
    n_left = mark_sides(node, n_codes, work.column, work.side)
    last, first = boundary_positions(node.n, n_codes, work.column, work.side)
    node.last_left = np.int64(work.column[last]) if last >= 0 else last
    node.first_right = np.int64(work.column[first]) if first >= 0 else first
    move_rows(node.start, node.n, work.side, rows, stat, work.spare_rows, work.spare_stat)
    begin_children(node, n_left, table.features[f], nodes[left], nodes[left + 1])
    node.left = left
