"""Growing a whole subtree of a few thousand rows in one call.

The columns of the subtree's rows are copied when a node first looks at them, as dense ranks in 16 bits: from then on
the subtree lives in the cache, its sorts are short, and a feature that is constant here is never looked at again.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, kernel, part
from committee.kernels.trees.criteria import ABSOLUTE, FIRST_CLASS_CRITERION, SQUARED
from committee.kernels.trees.node import begin_children, begin_node, end_search, perfect_score, score_node
from committee.kernels.trees.ordering import CODE_BITS, POSITION, order_by_code
from committee.kernels.trees.partition import (
    boundary_positions,
    gather_codes,
    gather_local,
    is_constant,
    mark_sides,
    move_rows,
    table_code,
)
from committee.kernels.trees.sampling import draw_swap, undo_draws
from committee.kernels.trees.split import search_cuts, search_feature
from committee.kernels.trees.split_binary import differ, pack_two_classes, search_two_classes
from committee.kernels.trees.split_mae import rank_targets
from committee.kernels.trees.split_multiclass import pack_classes, search_many_classes
from committee.kernels.trees.split_random import (
    MANY_CLASSES,
    NOT_PACKED,
    TWO_CLASSES,
    draw_cut,
    keep_drawn_cut,
    search_drawn_cut,
    sum_drawn_cut,
)
from committee.kernels.trees.split_small_node import FEW_ROWS, search_small_node
from committee.records.growth import CODE, CODES, LEFT_G, WEIGHTS_OF_CLASSES

TWO_SIDES = np.int64(2)  # codes of a drawn cut
ONE_CUT = np.int64(1)
NO_GROUP = np.uint64(0)
MAX_CODE = 0xFFFF
CONSTANT = 0  # number of ranks of a column that has one value in the subtree
NOT_COPIED = -1


@part
def is_ranked_here(is_ranked, feature):
    """Whether the subtree's codes of a feature are ranks of its own; else they are the table's."""
    return is_ranked or feature.n_bins > MAX_CODE


@part
def copy_column(f, n, is_ranked, feature, table, origin, column, rank_of, keys, counters, local_out):
    """The codes of feature f for the subtree's rows, as dense ranks or as they are; return how many there may be.

    Ranks make short sorts, but take one. They pay where a node looks at many of the features, and where codes are too
    large for 16 bits. Overwrites column, rank_of, keys and counters.
    """
    gather_codes(f, table.bytes, table.ranks, origin, 0, n, column)
    if is_ranked_here(is_ranked, feature):
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


@inlined
def is_known_constant(constant, i, f):
    return (constant[i, f >> 6] >> np.uint64(f & 63)) & np.uint64(1) == np.uint64(1)


@inlined
def note_constant(constant, i, f):
    """Feature f has one value in node i, so it has in the nodes below."""
    constant[i, f >> 6] |= np.uint64(1) << np.uint64(f & 63)


@inlined
def ensure_copied(f, n, is_ranked, feature, table, subtree, work):
    """Copy the column of feature f unless it is there; return how many codes it has in the subtree."""
    if subtree.n_ranks[f] == NOT_COPIED:
        subtree.n_ranks[f] = copy_column(
            f, n, is_ranked, feature, table, subtree.origin, work.column, work.cuts[CODE], work.keys, work.counters,
            subtree.local[f],
        )  # fmt: skip
        if subtree.code_of.size > 0 and feature.is_categorical == 0 and feature.n_bins > MAX_CODE:
            for j in range(n):
                subtree.code_of[f, subtree.local[f, j]] = work.column[j]
    return subtree.n_ranks[f]


@inlined
def n_translated(feature, code_of):
    """How many ranks of a feature code_of translates to the table's codes: none where they are the table's."""
    return code_of.shape[1] if feature.n_bins > MAX_CODE else 0


@inlined
def pack_classes_of(node, rules, stat, work):
    """Weights and classes of the node's rows as integers, if the node allows it; which form they have."""
    if node.n > 2:
        if pack_two_classes(node, rules, stat, work.packed):
            return TWO_CLASSES
        if pack_classes(node, rules, stat, work.of_class[0], work.packed[WEIGHTS_OF_CLASSES]):
            return MANY_CLASSES
    return NOT_PACKED


@inlined
def search_few_rows(i, node, rules, best_possible, is_ranked, features, stat, table, subtree, work):
    """Search a small node many features at once; return how many features were drawn, 0 if that was not possible."""
    n_seen = 0
    n_look = 0
    is_drawn = rules.max_features < features.size
    while n_seen < features.size and n_look < rules.max_features:
        if is_drawn:
            draw_swap(features, node.key, n_seen)
        f = features[n_seen]
        n_seen += 1
        if not is_known_constant(subtree.constant, i, f):
            n_codes = ensure_copied(f, stat.shape[0], is_ranked, table.features[f], table, subtree, work)
            subtree.look[n_look] = f
            n_look += n_codes != CONSTANT
    if search_small_node(
        n_look, subtree.look, best_possible, node, rules, stat, subtree.position, subtree.local, subtree.n_ranks,
        work.block, work.decreases,
    ):  # fmt: skip
        return n_seen
    if is_drawn:
        undo_draws(features, node.key, n_seen)
    node.n_found = 0
    return 0


@inlined
def search_packed(i, f, n_codes, kind, node, rules, feature, rows, stat, table, subtree, work):
    """Search a feature by the packed weights of the node's rows; False where a value is missing or codes are large."""
    codes = work.packed[CODES]
    if subtree.local.shape[0] > 0:
        gather_local(subtree.local[f], subtree.position, node.start, node.n, codes)
    elif n_codes <= MAX_CODE:
        gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, codes)
    else:
        return False
    differs, has_missing = differ(codes, node.n, n_codes)
    if not differs:
        note_constant(subtree.constant, i, f)
        return True
    if has_missing:
        return False
    node.n_found += 1
    if rules.random_splits == 1:
        is_binned = table.bytes.shape[0] > 0
        n_codes_of = n_translated(feature, subtree.code_of)
        code_of = subtree.code_of[f if n_codes_of > 0 else 0, :n_codes_of]
        search_drawn_cut(f, kind, node, rules, feature, is_binned, code_of, stat, table, work)
    elif kind == TWO_CLASSES:
        search_two_classes(f, n_codes, node, rules, work.packed, work.packed_keys, work.counters, work.gain)
    else:
        search_many_classes(
            f, n_codes, node, rules, work.packed, work.packed_keys, work.counters, work.of_class, work.gain
        )
    return True


@inlined
def search_any(f, n_codes, node, rules, feature, stat, table, subtree, work):
    """Search a feature of any kind under any criterion; the codes of the node's rows stand in work.column."""
    before = node.score
    if rules.random_splits == 0:
        is_categorical = feature.is_categorical == 1
        search_feature(f, n_codes, is_categorical, feature.monotone, node, rules, stat, table.ranked_target, work)
        return
    n_codes_of = n_translated(feature, subtree.code_of)
    code_of = subtree.code_of[f if n_codes_of > 0 else 0, :n_codes_of]
    threshold, code, high, missing_left = draw_cut(
        f, n_codes, node, feature, table.bytes.shape[0] > 0, code_of, table.lower, table.upper, table.marks, work.column
    )
    if rules.criterion < FIRST_CLASS_CRITERION:
        sum_drawn_cut(node, stat, work.column, work.cuts)
        search_cuts(f, ONE_CUT, node.n, rules.min_samples_leaf, feature.monotone, node, rules, work.cuts, work.gain)
    else:
        search_feature(f, TWO_SIDES, False, feature.monotone, node, rules, stat, table.ranked_target, work)
    if node.score > before:
        keep_drawn_cut(f, node, feature.is_categorical, threshold, code, high, missing_left)


@inlined
def find_split(i, node, rules, is_plain, is_ranked, features, rows, stat, table, subtree, work):
    """The best split of node i, into its record. The features are drawn from, and restored."""
    if rules.criterion == ABSOLUTE:
        rank_targets(
            node, rules, stat, table.ranked_target, work.column, work.keys, work.counters, work.cuts[LEFT_G],
            work.absolute,
        )  # fmt: skip
    else:
        score_node(node, rules, stat, work.by_class[0])
    best_possible = perfect_score(node, rules)
    is_copied = subtree.local.shape[0] > 0
    is_drawn = rules.max_features < features.size
    is_random = rules.random_splits == 1
    kind = pack_classes_of(node, rules, stat, work) if is_plain else NOT_PACKED
    is_quick = kind != NOT_PACKED or (is_plain and is_random and rules.criterion == SQUARED)
    n_seen = 0
    if is_plain and is_copied and not is_quick and rules.criterion == SQUARED and 2 < node.n <= FEW_ROWS:
        n_seen = search_few_rows(i, node, rules, best_possible, is_ranked, features, stat, table, subtree, work)
    while n_seen < features.size and node.n_found < rules.max_features:
        if is_drawn:
            draw_swap(features, node.key, n_seen)
        f = features[n_seen]
        n_seen += 1
        feature = table.features[f]
        if feature.groups & node.groups == NO_GROUP or is_known_constant(subtree.constant, i, f):
            continue
        n_codes = feature.n_bins
        if is_copied:
            n_codes = ensure_copied(f, rows.size, is_ranked, feature, table, subtree, work)
            if n_codes == CONSTANT:
                continue
        if is_quick and search_packed(i, f, n_codes, kind, node, rules, feature, rows, stat, table, subtree, work):
            if node.score >= best_possible:
                break
            continue
        if is_copied:
            gather_local(subtree.local[f], subtree.position, node.start, node.n, work.column)
        else:
            gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, work.column)
        if is_constant(work.column, node.n):
            note_constant(subtree.constant, i, f)
            continue
        node.n_found += 1
        search_any(f, n_codes, node, rules, feature, stat, table, subtree, work)
        if node.score >= best_possible:
            break  # no later feature can do better, and the first of equal splits wins
    if is_drawn:
        undo_draws(features, node.key, n_seen)
    end_search(node, rules)


@inlined
def split_in_subtree(node, n_codes, is_copied, is_ranked, rows, stat, table, subtree, work):
    """Send the rows of a node left and right, in subtree.position and stat; return how many go left."""
    f = node.feature
    if is_copied:
        gather_local(subtree.local[f], subtree.position, node.start, node.n, work.column)
    else:
        gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, work.column)
    n_left = mark_sides(node, n_codes, work.column, work.side)
    last, first = boundary_positions(node.n, n_codes, work.column, work.side)
    node.last_left, node.first_right = last, first
    if node.threshold != node.threshold:  # else drawn: it only matters whether there are such codes
        if last >= 0:
            node.last_left = code_at(last, is_ranked, node, table, subtree, work)
        if first >= 0:
            node.first_right = code_at(first, is_ranked, node, table, subtree, work)
    move_rows(node.start, node.n, work.side, subtree.position, stat, work.spare_rows, work.spare_stat)
    return n_left


@inlined
def code_at(i, is_ranked, node, table, subtree, work):
    """The table's code of the node's i-th row; to look into the table is to wait for memory."""
    if not is_ranked:
        return np.int64(work.column[i])
    return table_code(node.feature, table.bytes, table.ranks, subtree.origin[subtree.position[node.start + i]])


@inlined
def write_rows(start, n, subtree, rows_out):
    """The rows of the table in the order of subtree.position."""
    for i in range(np.uintp(start), np.uintp(start + n)):
        rows_out[i] = subtree.origin[subtree.position[i]]


@part
def is_plain_table(rules, is_copied, features):
    """No categories, no constraints, the plain criterion: what the quick searches can do."""
    is_plain = rules.is_plain == 1 and (is_copied or rules.random_splits == 0)
    for f in range(features.size):
        is_plain &= features[f].is_categorical == 0 and features[f].monotone == 0
    return is_plain


@kernel
def grow_subtree(rules_1, features, rows, stat, table, nodes, subtree, work):
    """Grow the subtree of `rows` from nodes[0], which holds its bounds, depth and key; return the number of nodes.

    Modified in place: rows and stat (reordered so that the rows of every node are contiguous), nodes, the scratch
    arrays of subtree and work, and `features`, the features to look at, which are drawn from and restored.

    With an empty subtree.local the codes are read straight from the table. With rules.max_splits = 0 this is the search
    for the best split of one node.
    """
    rules = rules_1[0]
    is_copied = subtree.local.shape[0] > 0
    is_ranked = rules.random_splits == 0 and 3 * rules.max_features >= features.size
    is_plain = is_plain_table(rules, is_copied, table.features)
    is_heap = rules.best_first == 1
    reads_rows = not is_copied or rules.n_classes < 2  # the codes of a node, or its targets, by the rows of the table
    constant = subtree.constant
    for i in range(rows.size):
        subtree.origin[i] = rows[i]
        subtree.position[i] = i
    for f in range(subtree.n_ranks.size):
        subtree.n_ranks[f] = NOT_COPIED
    for word in range(constant.shape[1]):
        constant[0, word] = np.uint64(0)
    n_frontier = 0
    n_nodes = 1
    n_splits = 0
    newest = 0
    while True:
        # Step 1: the best split of the newest nodes; the left one last, so that depth first takes it first
        for i in range(n_nodes - 1, newest - 1, -1):
            if begin_node(nodes[i], rules, stat, table.target, rows):
                find_split(i, nodes[i], rules, is_plain, is_ranked, features, rows, stat, table, subtree, work)
                if nodes[i].feature >= 0:
                    push(subtree.frontier, n_frontier, i, is_heap, nodes)
                    n_frontier += 1
        # Step 2: take one of the splits found
        if n_frontier == 0 or n_splits == rules.max_splits:
            break
        parent = pop(subtree.frontier, n_frontier, is_heap, nodes)
        n_frontier -= 1
        node = nodes[parent]
        feature = table.features[node.feature]
        n_codes = subtree.n_ranks[node.feature] if is_copied else feature.n_bins
        has_ranks = is_copied and is_ranked_here(is_ranked, feature)
        n_left = split_in_subtree(node, n_codes, is_copied, has_ranks, rows, stat, table, subtree, work)
        if reads_rows:
            write_rows(node.start, node.n, subtree, rows)
        begin_children(node, n_left, feature, nodes[n_nodes], nodes[n_nodes + 1])
        for word in range(constant.shape[1]):
            constant[n_nodes, word] = constant[n_nodes + 1, word] = constant[parent, word]
        node.left = n_nodes
        newest = n_nodes
        n_nodes += 2
        n_splits += 1
    if not reads_rows:
        write_rows(0, rows.size, subtree, rows)
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
