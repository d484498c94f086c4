"""The best split of a node: draw m of the d features, search each of them, keep the best split.

`make_find_split` has that loop; what it does with a feature depends on the kind of search (`grow_subtree.py`).
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined
from committee.kernels.trees.local_codes import (
    CONSTANT,
    NOT_COPIED,
    copy_column,
    is_known_constant,
    load_codes,
    note_constant,
)
from committee.kernels.trees.node import end_search, perfect_score
from committee.kernels.trees.partition import is_constant
from committee.kernels.trees.sampling import draw_swap, undo_draws

NO_GROUP = np.uint64(0)


def make_find_split(begin_search, search_feature):
    """Make the search for the split of a node from the search of a feature.

    begin_search(i, node, best_possible, search) scores the node unsplit; it returns the path on which the node is
    searched, and how many features were drawn if it has searched the node already, else 0.
    search_feature(i, f, n_codes, path, node, search) returns False if feature f is constant in the node. It writes a
    better split into the node's record.
    """

    @inlined
    def find_split(i, node, search):
        """Find the best split of node i among max_features random features; write it into the node's record.

        A feature that is constant in the node does not count: another one is drawn for it. Of equal splits the first is
        taken, so the search ends early if no later feature can be better. search.features is restored after the draws.
        """
        rules, features = search.rules, search.features
        best_possible = perfect_score(node, rules)
        path, n_drawn = begin_search(i, node, best_possible, search)
        while n_drawn < features.size and node.n_searched < rules.max_features:
            f = draw_feature(n_drawn, node, rules, features)
            n_drawn += 1
            n_codes = count_codes(i, f, node, search)
            if n_codes != CONSTANT and search_feature(i, f, n_codes, path, node, search):
                if node.score >= best_possible:
                    break
        undo_feature_draws(n_drawn, node, rules, features)
        end_search(node, rules)

    return find_split


@inlined
def draw_feature(n_drawn, node, rules, features):
    """Return a feature that has not been drawn yet: a random one, or the next one if max_features is all of them."""
    if rules.max_features < features.size:
        draw_swap(features, node.key, n_drawn)
    return features[n_drawn]


@inlined
def undo_feature_draws(n_drawn, node, rules, features):
    if rules.max_features < features.size:
        undo_draws(features, node.key, n_drawn)


@inlined
def count_codes(i, f, node, search):
    """Return how many codes feature f has in the subtree: CONSTANT if it cannot split the node or is not allowed to.

    Its column is copied at the first time.
    """
    table, subtree = search.table, search.subtree
    feature = table.features[f]
    if feature.groups & node.groups == NO_GROUP or is_known_constant(i, f, subtree.constant):
        return np.int64(CONSTANT)
    if not search.is_copied:
        return feature.n_bins
    if subtree.n_ranks[f] == NOT_COPIED:
        copy_column(f, search.is_ranked, table, subtree, search.work)
    return subtree.n_ranks[f]


def search_by_codes(search_codes):
    """Make the search of a feature from that of its codes, search_codes(f, n_codes, node, search)."""

    @inlined
    def search_feature(i, f, n_codes, path, node, search):
        column, subtree = search.work.column, search.subtree
        load_codes(f, node, search.rows, search.table, subtree, column)
        if is_constant(column, node.n):
            note_constant(i, f, subtree.constant)
            return False
        node.n_searched += 1
        search_codes(f, n_codes, node, search)
        return True

    return search_feature
