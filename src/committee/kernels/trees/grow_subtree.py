"""The kernels that grow subtrees, one for each kind of search, so that a fit compiles only the search that it needs.

All of them are the growth of `subtree.py` with the loop over features of `find_split.py`. They take the same arguments;
`tree_engine/subtrees.py` chooses.
"""

from __future__ import annotations

from committee.base.jit import inlined, kernel
from committee.kernels.trees.criteria import FIRST_CLASS_CRITERION
from committee.kernels.trees.find_split import make_find_split, search_by_codes
from committee.kernels.trees.node import score_node
from committee.kernels.trees.paths import (
    GENERAL,
    SMALL_NODE,
    choose_path_of_classes,
    choose_path_of_sums,
    search_few_rows,
    search_packed_codes,
)
from committee.kernels.trees.split import search_classes, search_column, search_sums, with_categories
from committee.kernels.trees.split_binary import search_two_classes
from committee.kernels.trees.split_mae import rank_targets, search_absolute
from committee.kernels.trees.split_multiclass import search_many_classes
from committee.kernels.trees.split_random import search_drawn_cut, search_random_cut, search_two_sides
from committee.kernels.trees.subtree import make_growth

# --- the best cut of each numeric feature, under criteria of (G, H) ---------------------------------------------------


@inlined
def _begin_sums(i, node, best_possible, search):
    rules, stat, work = search.rules, search.stat, search.work
    score_node(node, rules, stat, work.by_class[0])
    path = choose_path_of_sums(node, rules, stat, search.is_plain, search.is_copied, work.packed)
    return path, search_few_rows(i, node, best_possible, search) if path == SMALL_NODE else 0


@inlined
def _search_two_classes(f, n_codes, path, node, search):
    search_two_classes(f, n_codes, node, search.rules, search.work)


@inlined
def _search_sums(f, n_codes, node, search):
    search_sums(f, n_codes, search.table.features[f].monotone, node, search.rules, search.stat, search.work)


_grow_on_sums = make_growth(make_find_split(_begin_sums, search_packed_codes(_search_two_classes, _search_sums)))

# --- the same, of K classes -------------------------------------------------------------------------------------------


@inlined
def _begin_classes(i, node, best_possible, search):
    rules, stat, work = search.rules, search.stat, search.work
    score_node(node, rules, stat, work.by_class[0])
    return choose_path_of_classes(node, rules, stat, search.is_plain, work.packed, work.of_class), 0


@inlined
def _search_many_classes(f, n_codes, path, node, search):
    search_many_classes(f, n_codes, node, search.rules, search.work)


@inlined
def _search_classes(f, n_codes, node, search):
    search_classes(f, n_codes, node, search.rules, search.stat, search.work)


_grow_on_classes = make_growth(
    make_find_split(_begin_classes, search_packed_codes(_search_many_classes, _search_classes))
)

# --- the best cut of each feature, some of them categorical -----------------------------------------------------------


@inlined
def _begin_categorical(i, node, best_possible, search):
    score_node(node, search.rules, search.stat, search.work.by_class[0])
    return GENERAL, 0


_search_feature = with_categories(search_column)


@inlined
def _search_categorical(f, n_codes, node, search):
    table = search.table
    _search_feature(f, n_codes, table.features[f], node, search.rules, search.stat, table.ranked_target, search.work)


_grow_categorical = make_growth(make_find_split(_begin_categorical, search_by_codes(_search_categorical)))

# --- one random cut of each feature -----------------------------------------------------------------------------------


@inlined
def _begin_random(i, node, best_possible, search):
    rules, stat, work = search.rules, search.stat, search.work
    score_node(node, rules, stat, work.by_class[0])
    if rules.criterion >= FIRST_CLASS_CRITERION:
        return choose_path_of_classes(node, rules, stat, search.is_plain, work.packed, work.of_class), 0
    return choose_path_of_sums(node, rules, stat, search.is_plain, search.is_copied, work.packed), 0


_search_random = search_packed_codes(search_drawn_cut, search_random_cut(search_two_sides))
_grow_random = make_growth(make_find_split(_begin_random, _search_random))

# --- absolute error: the best cut or a random one ---------------------------------------------------------------------


@inlined
def _begin_absolute(i, node, best_possible, search):
    rank_targets(node, search.rules, search.stat, search.table.ranked_target, search.work)
    return GENERAL, 0


_search_absolute_feature = with_categories(search_absolute)
_search_absolute_cut = search_random_cut(search_absolute)


@inlined
def _search_absolute(f, n_codes, node, search):
    if search.rules.random_splits == 1:
        _search_absolute_cut(f, n_codes, node, search)
    else:
        table = search.table
        _search_absolute_feature(
            f, n_codes, table.features[f], node, search.rules, search.stat, table.ranked_target, search.work
        )


_grow_absolute = make_growth(make_find_split(_begin_absolute, search_by_codes(_search_absolute)))

# --- the kernels ------------------------------------------------------------------------------------------------------


@kernel
def grow_on_sums(rules, features, rows, stat, table, nodes, subtree, work):
    return _grow_on_sums(rules, features, rows, stat, table, nodes, subtree, work)


@kernel
def grow_on_classes(rules, features, rows, stat, table, nodes, subtree, work):
    return _grow_on_classes(rules, features, rows, stat, table, nodes, subtree, work)


@kernel
def grow_categorical(rules, features, rows, stat, table, nodes, subtree, work):
    return _grow_categorical(rules, features, rows, stat, table, nodes, subtree, work)


@kernel
def grow_random(rules, features, rows, stat, table, nodes, subtree, work):
    return _grow_random(rules, features, rows, stat, table, nodes, subtree, work)


@kernel
def grow_absolute(rules, features, rows, stat, table, nodes, subtree, work):
    return _grow_absolute(rules, features, rows, stat, table, nodes, subtree, work)
