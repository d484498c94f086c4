"""Codes of a subtree: its columns are copied when a node first searches them.

Copied codes have 16 bits and may be dense ranks: the subtree then fits the cache and its sorts are short. A feature
that is constant in the subtree is not searched again.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, part
from committee.kernels.trees.ordering import CODE_BITS, POSITION, order_by_code
from committee.kernels.trees.partition import gather_codes, gather_local
from committee.records.growth import CODE

MAX_CODE = 0xFFFF
CONSTANT = 0  # number of codes of a column that has one value in the subtree
NOT_COPIED = -1


@part
def has_own_ranks(is_ranked, feature):
    """Return whether the subtree's codes of a feature are ranks of its own; else they are the table's."""
    return is_ranked or feature.n_bins > MAX_CODE


@part
def copy_column(f, is_ranked, table, subtree, work):
    """Copy the codes of feature f for the subtree's rows, as dense ranks or as they are, and count them.

    Ranks make short sorts, but take one. They pay where a node looks at many of the features, and where codes are too
    large for 16 bits. Overwrites work.column, cuts, keys and counters.
    """
    feature, column, local = table.features[f], work.column, subtree.local[f]
    n = local.size
    gather_codes(f, table.bytes, table.ranks, subtree.origin, 0, n, column)
    if has_own_ranks(is_ranked, feature):
        subtree.n_ranks[f] = rank_locally(n, feature, column, work.cuts[CODE], work.keys, work.counters, local)
    else:
        difference = np.uint32(0)
        for i in range(np.uintp(n)):
            difference |= column[i] ^ column[0]
            local[i] = column[i]
        is_constant = difference == np.uint32(0) and feature.is_categorical == 0
        subtree.n_ranks[f] = CONSTANT if is_constant else feature.n_bins
    if subtree.code_of.size > 0 and feature.is_categorical == 0 and feature.n_bins > MAX_CODE:
        for i in range(n):
            subtree.code_of[f, local[i]] = column[i]


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


@inlined
def count_translated(feature, code_of):
    """Return how many ranks of a feature its row of code_of translates: 0 where its codes are the table's."""
    return code_of.shape[1] if feature.n_bins > MAX_CODE else 0


@inlined
def load_codes(f, node, rows, table, subtree, codes_out):
    """Gather the codes of feature f for the node's rows: from the subtree's copy if it has one, or from the table."""
    if subtree.local.shape[0] > 0:
        gather_local(subtree.local[f], subtree.position, node.start, node.n, codes_out)
    else:
        gather_codes(f, table.bytes, table.ranks, rows, node.start, node.n, codes_out)


@inlined
def is_known_constant(i, f, constant):
    return (constant[i, f >> 6] >> np.uint64(f & 63)) & np.uint64(1) == np.uint64(1)


@inlined
def note_constant(i, f, constant):
    """Note that feature f has one value in node i, and therefore in the nodes below it (constant modified in place)."""
    constant[i, f >> 6] |= np.uint64(1) << np.uint64(f & 63)
