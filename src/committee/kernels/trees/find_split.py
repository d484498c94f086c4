"""The best split of a node: draw m of the d features, search each of them, keep the best split.

`find_split` is that loop. `choose_path` selects a quicker search for some nodes, with the same result bit for bit;
`search_feature` of `split.py` handles every feature under every criterion.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined
from committee.kernels.trees.criteria import ABSOLUTE, FIRST_CLASS_CRITERION, SQUARED
from committee.kernels.trees.local_codes import (
    CONSTANT,
    MAX_CODE,
    copy_once,
    count_translated,
    is_known_constant,
    load_codes,
    note_constant,
)
from committee.kernels.trees.node import end_search, perfect_score, score_node
from committee.kernels.trees.partition import is_constant
from committee.kernels.trees.sampling import draw_swap, undo_draws
from committee.kernels.trees.split import search_column, search_cuts, search_feature
from committee.kernels.trees.split_binary import differ, pack_two_classes, search_two_classes
from committee.kernels.trees.split_mae import rank_targets
from committee.kernels.trees.split_multiclass import pack_classes, search_many_classes
from committee.kernels.trees.split_random import (
    GENERAL,
    MANY_CLASSES,
    PLAIN_SUMS,
    SMALL_NODE,
    TWO_CLASSES,
    draw_cut,
    keep_drawn_cut,
    search_drawn_cut,
    sum_drawn_cut,
)
from committee.kernels.trees.split_small_node import FEW_ROWS, search_small_node
from committee.records.growth import CODES, WEIGHTS_OF_CLASSES

TWO_SIDES = np.int64(2)  # codes of a drawn cut
ONE_CUT = np.int64(1)
NO_GROUP = np.uint64(0)


@inlined
def find_split(i, node, search):
    """Find the best split of node i among max_features random features; write it into the node's record.

    A feature that is constant in the node does not count: another one is drawn for it. Of equal splits the first is
    taken, so the search ends early if no later feature can be better. search.features is restored after the draws.
    """
    score_unsplit(node, search)
    best_possible = perfect_score(node, search.rules)
    path = choose_path(node, search)
    n_drawn = search_few_rows(i, node, best_possible, search) if path == SMALL_NODE else 0
    while n_drawn < search.features.size and node.n_searched < search.rules.max_features:
        f = draw_feature(n_drawn, node, search)
        n_drawn += 1
        n_codes = count_codes(i, f, node, search)
        if n_codes != CONSTANT and search_one_feature(i, f, n_codes, path, node, search):
            if node.score >= best_possible:
                break
    undo_feature_draws(n_drawn, node, search)
    end_search(node, search.rules)


@inlined
def score_unsplit(node, search):
    """Write the score of the node as a leaf, which a split has to exceed."""
    if search.rules.criterion == ABSOLUTE:
        rank_targets(node, search.rules, search.stat, search.table.ranked_target, search.work)
    else:
        score_node(node, search.rules, search.stat, search.work.by_class[0])


@inlined
def choose_path(node, search):
    """Choose how the node is searched; where the rows' classes and weights can be packed, pack them.

    The quick ways need the plain squared or Gini criterion, and features without categories and constraints.
    """
    rules, work = search.rules, search.work
    path = GENERAL
    if search.is_plain:
        if node.n > 2 and pack_two_classes(node, rules, search.stat, work.packed):
            path = TWO_CLASSES
        elif node.n > 2 and pack_classes(node, rules, search.stat, work.of_class[0], work.packed[WEIGHTS_OF_CLASSES]):
            path = MANY_CLASSES
        elif rules.criterion == SQUARED and rules.random_splits == 1:
            path = PLAIN_SUMS
        elif rules.criterion == SQUARED and search.is_copied and 2 < node.n <= FEW_ROWS:
            path = SMALL_NODE
    return path


@inlined
def draw_feature(n_drawn, node, search):
    """Return a feature that has not been drawn yet: a random one, or the next one if max_features is all of them."""
    if search.rules.max_features < search.features.size:
        draw_swap(search.features, node.key, n_drawn)
    return search.features[n_drawn]


@inlined
def undo_feature_draws(n_drawn, node, search):
    if search.rules.max_features < search.features.size:
        undo_draws(search.features, node.key, n_drawn)


@inlined
def count_codes(i, f, node, search):
    """Return how many codes feature f has in the subtree: CONSTANT if it cannot split the node or is not allowed to."""
    feature = search.table.features[f]
    if feature.groups & node.groups == NO_GROUP or is_known_constant(i, f, search):
        return np.int64(CONSTANT)
    return copy_once(f, search) if search.is_copied else feature.n_bins


@inlined
def search_one_feature(i, f, n_codes, path, node, search):
    """Search feature f in node i; return False if it is constant there. A better split goes into the node's record."""
    if path >= PLAIN_SUMS and search_packed(i, f, n_codes, path, node, search):
        return True
    load_codes(f, node, search, search.work.column)
    if is_constant(search.work.column, node.n):
        note_constant(i, f, search)
        return False
    node.n_searched += 1
    if search.rules.random_splits == 1:
        search_random_cut(f, n_codes, node, search)
    else:
        feature = search.table.features[f]
        search_feature(f, n_codes, feature, node, search.rules, search.stat, search.table.ranked_target, search.work)
    return True


@inlined
def search_packed(i, f, n_codes, path, node, search):
    """Search a feature by the packed weights of the node's rows; False where a value is missing or codes are large."""
    rules, work = search.rules, search.work
    if not search.is_copied and n_codes > MAX_CODE:
        return False
    load_codes(f, node, search, work.packed[CODES])
    differs, has_missing = differ(work.packed[CODES], node.n, n_codes)
    if not differs:
        note_constant(i, f, search)
    elif has_missing:
        return False
    else:
        node.n_searched += 1
        if rules.random_splits == 1:
            n_translated = count_translated(f, search)
            code_of = search.subtree.code_of[f if n_translated > 0 else 0, :n_translated]
            search_drawn_cut(f, path, node, code_of, search)
        elif path == TWO_CLASSES:
            search_two_classes(f, n_codes, node, rules, work)
        else:
            search_many_classes(f, n_codes, node, rules, work)
    return True


@inlined
def search_random_cut(f, n_codes, node, search):
    """Draw one cut of a feature of any kind and score it with any criterion; its codes are in work.column."""
    rules, table, work = search.rules, search.table, search.work
    before, monotone = node.score, table.features[f].monotone
    n_translated = count_translated(f, search)
    code_of = search.subtree.code_of[f if n_translated > 0 else 0, :n_translated]
    threshold, code, high, missing_left = draw_cut(f, n_codes, node, code_of, table, work.column)
    if rules.criterion < FIRST_CLASS_CRITERION:
        sum_drawn_cut(node, search.stat, work.column, work.cuts)
        search_cuts(f, ONE_CUT, node.n, monotone, node, rules, work.cuts, work.gain)
    else:
        search_column(f, TWO_SIDES, monotone, node, rules, search.stat, work)
    if node.score > before:
        keep_drawn_cut(f, node, table.features[f].is_categorical, threshold, code, high, missing_left)


@inlined
def search_few_rows(i, node, best_possible, search):
    """Search a small node many features at once; return how many features were drawn, 0 if that was not possible."""
    n_drawn = 0
    n_look = 0
    while n_drawn < search.features.size and n_look < search.rules.max_features:
        f = draw_feature(n_drawn, node, search)
        n_drawn += 1
        if not is_known_constant(i, f, search):
            n_codes = copy_once(f, search)
            search.subtree.look[n_look] = f
            n_look += n_codes != CONSTANT
    if search_small_node(n_look, best_possible, node, search.rules, search.stat, search.subtree, search.work):
        return n_drawn
    undo_feature_draws(n_drawn, node, search)
    node.n_searched = 0
    return 0
