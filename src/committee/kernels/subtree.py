"""Growing a whole subtree of a few thousand rows in one call.

The columns of the subtree's rows are copied when a node first looks at them, as dense ranks in 16 bits: from then on
the subtree lives in the cache, its sorts are short, and a feature that is constant here is never looked at again.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import kernel, part
from committee.data.growth import CODE, CODES, LEFT_G, WEIGHTS_OF_CLASSES
from committee.kernels.absolute import rank_targets
from committee.kernels.node import (
    begin_children,
    begin_node,
    draw_cut,
    end_search,
    keep_drawn_cut,
    perfect_score,
    score_node,
    sum_drawn_cut,
)
from committee.kernels.ordering import CODE_BITS, POSITION, order_by_code
from committee.kernels.partition import (
    boundary_positions,
    gather_codes,
    gather_local,
    is_constant,
    mark_sides,
    move_rows,
    table_code,
)
from committee.kernels.sampling import draw_swap, undo_draws
from committee.kernels.scores import ABSOLUTE, FIRST_CLASS_CRITERION
from committee.kernels.small_node import FEW_ROWS, search_small_node
from committee.kernels.split import search_cuts, search_feature
from committee.kernels.two_classes import fits, gather, pack_weights, search_two_classes

TWO_SIDES = np.int64(2)  # codes of a drawn cut
ONE_CUT = np.int64(1)
NO_GROUP = np.uint64(0)
LARGEST_CODE = 0xFFFF
CONSTANT = 0  # number of ranks of a column that has one value in the subtree
NOT_COPIED = -1


@part
def copy_column(f, n, is_ranked, feature, table, origin, column, rank_of, keys, counters, local_out):
    """The codes of feature f for the subtree's rows, as dense ranks or as they are; return how many there may be.

    Ranks make short sorts, but take one. They pay where a node looks at many of the features, and where codes are too
    large for 16 bits. Overwrites column, rank_of, keys and counters.
    """
    gather_codes(f, table.bytes, table.ranks, origin, 0, n, column)
    if is_ranked or feature.n_bins > LARGEST_CODE:
        return rank_locally(n, feature, column, rank_of, keys, counters, local_out)
    difference = np.uint32(0)
    for i in range(np.uintp(n)):
        difference |= column[i] ^ column[0]
        local_out[i] = column[i]
    return feature.n_bins if difference != np.uint32(0) or feature.is_categorical == 1 else CONSTANT


@part
def rank_locally(n, feature, column, rank_of, keys, counters, local_out):
    """Dense ranks of the codes in column[:n]; categories keep their codes. Return the number of ranks.

    Overwrites rank_of, keys and counters.
    """
    n_codes = feature.n_bins
    if feature.is_categorical == 1:
        for i in range(n):
            local_out[i] = column[i]
        return n_codes
    if n_codes < rank_of.size:
        return rank_by_presence(n_codes, n, column, rank_of, local_out)
    ordered = keys[order_by_code(column, n, n_codes + 1, keys, counters)]
    rank = 0
    for i in range(n):
        if i > 0 and ordered[i] >> CODE_BITS != ordered[i - 1] >> CODE_BITS:
            rank += 1
        local_out[np.int64(ordered[i] & POSITION)] = rank
    if rank == 0:
        return CONSTANT
    # Missing rows come last and their rank is the number of ranks, as in the table.
    return rank if np.int64(ordered[n - 1] >> CODE_BITS) == n_codes else rank + 1


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
def grow_subtree(
    rules_1, features, rows, stat, table, nodes, local, code_of, n_ranks, frontier, look, position, origin, work
):
    """Grow the subtree of `rows` from nodes[0], which holds its bounds, depth and key; return the number of nodes.

    Modified in place: rows and stat (reordered so that the rows of every node are contiguous), nodes, the scratch
    arrays local [d, n], code_of [d, n] (empty unless splits are random), n_ranks [d], frontier, position and origin
    [n], work, and `features`, the features to look at, which are drawn from and restored.

    With an empty `local` the codes are read straight from the table. With rules.max_splits = 0 this is the search for
    the best split of one node.
    """
    rules = rules_1[0]
    n = rows.size
    is_copied = local.shape[0] > 0
    is_drawn = rules.max_features < features.size
    is_binned = table.bytes.shape[0] > 0
    is_random = rules.random_splits == 1
    is_ranked = is_random or 3 * rules.max_features >= features.size
    is_simple = is_copied and rules.is_plain == 1 and not is_random
    for f in range(table.features.size):
        is_simple &= table.features[f].is_categorical == 0 and table.features[f].monotone == 0
    for i in range(n):
        origin[i] = rows[i]
        position[i] = i
    for f in range(n_ranks.size):
        n_ranks[f] = NOT_COPIED
    column = work.column
    n_frontier = 0
    n_nodes = 1
    n_splits = 0
    newest = 0
    while True:
        # Step 1: the best split of the newest nodes; the left one last, so that depth first takes it first
        for i in range(n_nodes - 1, newest - 1, -1):
            node = nodes[i]
            if not begin_node(node, rules, stat, table.target, rows):
                continue
            if rules.criterion == ABSOLUTE:
                rank_targets(
                    node, rules, stat, table.ranked_target, column, work.keys, work.counters, work.cuts[LEFT_G],
                    work.absolute,
                )  # fmt: skip
            else:
                score_node(node, rules, stat, work.by_class[0])
            best_possible = perfect_score(node, rules)
            n_seen = 0
            is_packed = is_simple and node.n > 2 and fits(node, rules)
            if is_packed:
                pack_weights(node, stat, work.packed[WEIGHTS_OF_CLASSES])
            elif is_simple and 2 < node.n <= FEW_ROWS:
                n_look = 0
                while n_seen < features.size and n_look < rules.max_features:
                    if is_drawn:
                        draw_swap(features, node.key, n_seen)
                    f = features[n_seen]
                    n_seen += 1
                    if n_ranks[f] == NOT_COPIED:
                        n_ranks[f] = copy_column(
                            f, n, is_ranked, table.features[f], table, origin, column, work.cuts[CODE], work.keys,
                            work.counters, local[f],
                        )  # fmt: skip
                    look[n_look] = f
                    n_look += n_ranks[f] != CONSTANT
                if not search_small_node(
                    n_look, look, best_possible, node, rules, stat, position, local, n_ranks, work.block, work.falls
                ):
                    if is_drawn:
                        undo_draws(features, node.key, n_seen)
                    n_seen = 0
                    node.n_found = 0
            while n_seen < features.size and node.n_found < rules.max_features:
                if is_drawn:
                    draw_swap(features, node.key, n_seen)
                f = features[n_seen]
                n_seen += 1
                feature = table.features[f]
                if feature.groups & node.groups == NO_GROUP or n_ranks[f] == CONSTANT:
                    continue
                n_codes = feature.n_bins
                if is_copied:
                    if n_ranks[f] == NOT_COPIED:
                        n_ranks[f] = copy_column(
                            f, n, is_ranked, feature, table, origin, column, work.cuts[CODE], work.keys,
                            work.counters, local[f],
                        )  # fmt: skip
                        if code_of.size > 0 and feature.is_categorical == 0:
                            for j in range(n):
                                code_of[f, local[f, j]] = column[j]
                    n_codes = n_ranks[f]
                    if is_packed:
                        differs, has_missing = gather(
                            local[f], position, node.start, node.n, n_codes, work.packed[CODES]
                        )
                        node.n_found += differs
                        if differs and not has_missing:
                            search_two_classes(
                                f, n_codes, node, rules, work.packed, work.packed_keys, work.counters, work.gain
                            )
                            if node.score >= best_possible:
                                break
                        if not (differs and has_missing):
                            continue
                        node.n_found -= 1
                    gather_local(local[f], position, node.start, node.n, column)
                else:
                    gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, column)
                if is_constant(column, node.n):
                    continue
                node.n_found += 1
                is_categorical = feature.is_categorical == 1
                before = node.score
                threshold, code, high, missing_left = np.nan, n_codes, n_codes, False
                if is_random:
                    threshold, code, high, missing_left = draw_cut(
                        f, n_codes, node, feature, is_binned, code_of[f if code_of.size > 0 else 0], table.lower,
                        table.upper, column,
                    )  # fmt: skip
                    is_categorical = False
                    n_codes = TWO_SIDES
                if is_random and rules.criterion < FIRST_CLASS_CRITERION:
                    sum_drawn_cut(node, stat, column, work.cuts)
                    search_cuts(
                        f, ONE_CUT, node.n, rules.min_samples_leaf, feature.monotone, node, rules, work.cuts, work.gain
                    )
                else:
                    search_feature(
                        f, n_codes, is_categorical, feature.monotone, node, rules, stat, table.ranked_target, work
                    )
                if is_random and node.score > before:
                    keep_drawn_cut(f, node, feature.is_categorical, threshold, code, high, missing_left)
                if node.score >= best_possible:
                    break  # no later feature can do better, and the first of equal splits wins
            if is_drawn:
                undo_draws(features, node.key, n_seen)
            end_search(node, rules)
            if node.feature >= 0:
                push(frontier, n_frontier, i, rules.best_first == 1, nodes)
                n_frontier += 1
        # Step 2: take one of the splits found
        if n_frontier == 0 or n_splits == rules.max_splits:
            break
        node = nodes[pop(frontier, n_frontier, rules.best_first == 1, nodes)]
        n_frontier -= 1
        f = node.feature
        n_codes = table.features[f].n_bins
        if is_copied:
            n_codes = n_ranks[f]
            gather_local(local[f], position, node.start, node.n, column)
        else:
            gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, column)
        n_left = mark_sides(node, n_codes, column, work.side)
        last, first = boundary_positions(node.n, n_codes, column, work.side)
        node.last_left = table_code(f, table.bytes, table.ranks, rows[node.start + last]) if last >= 0 else last
        node.first_right = table_code(f, table.bytes, table.ranks, rows[node.start + first]) if first >= 0 else first
        move_rows(node.start, node.n, work.side, position, stat, work.spare_rows, work.spare_stat)
        for i in range(node.start, node.start + node.n):
            rows[i] = origin[position[i]]
        begin_children(node, n_left, table.features[f], nodes[n_nodes], nodes[n_nodes + 1])
        node.left = n_nodes
        newest = n_nodes
        n_nodes += 2
        n_splits += 1
    return n_nodes


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
