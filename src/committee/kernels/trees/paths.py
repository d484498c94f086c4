"""The path on which a node is searched: quick ways for some nodes, with the same result bit for bit."""

from __future__ import annotations

from committee.base.jit import inlined
from committee.kernels.trees.find_split import count_codes, draw_feature, search_by_codes, undo_feature_draws
from committee.kernels.trees.local_codes import CONSTANT, MAX_CODE, load_codes, note_constant
from committee.kernels.trees.split_binary import differ, pack_two_classes
from committee.kernels.trees.split_multiclass import pack_classes
from committee.kernels.trees.split_small_node import FEW_ROWS, search_small_node
from committee.records.growth import CODES, WEIGHTS_OF_CLASSES

GENERAL, SMALL_NODE, PLAIN_SUMS, TWO_CLASSES, MANY_CLASSES = range(5)


@inlined
def choose_path_of_sums(node, rules, stat, is_plain, is_copied, packed):
    """Choose how the node is searched under a criterion of (G, H); pack the weights of two classes if possible.

    The quick ways need the plain squared or Gini criterion, and features without categories and constraints.
    """
    if is_plain:
        if node.n > 2 and pack_two_classes(node, rules, stat, packed):
            return TWO_CLASSES
        if rules.random_splits == 1:
            return PLAIN_SUMS
        if is_copied and 2 < node.n <= FEW_ROWS:
            return SMALL_NODE
    return GENERAL


@inlined
def choose_path_of_classes(node, rules, stat, is_plain, packed, of_class):
    """The same for K classes."""
    if is_plain and node.n > 2 and pack_classes(node, rules, stat, of_class[0], packed[WEIGHTS_OF_CLASSES]):
        return MANY_CLASSES
    return GENERAL


def search_packed_codes(search_packed, search_codes):
    """Make the search of a feature that reads packed weights where the path has them, else searches the codes.

    search_packed(f, n_codes, path, node, search) needs 16-bit codes, none of which is missing.
    """
    search_general = search_by_codes(search_codes)

    @inlined
    def search_feature(i, f, n_codes, path, node, search):
        if path >= PLAIN_SUMS and (search.is_copied or n_codes <= MAX_CODE):
            codes, subtree = search.work.packed[CODES], search.subtree
            load_codes(f, node, search.rows, search.table, subtree, codes)
            differs, has_missing = differ(codes, node.n, n_codes)
            if not differs:
                note_constant(i, f, subtree.constant)
                return True
            if not has_missing:
                node.n_searched += 1
                search_packed(f, n_codes, path, node, search)
                return True
        return search_general(i, f, n_codes, path, node, search)

    return search_feature


@inlined
def search_few_rows(i, node, best_possible, search):
    """Search a small node many features at once; return how many features were drawn, 0 if that was not possible."""
    rules, features, subtree = search.rules, search.features, search.subtree
    n_drawn = 0
    n_look = 0
    while n_drawn < features.size and n_look < rules.max_features:
        f = draw_feature(n_drawn, node, rules, features)
        n_drawn += 1
        n_codes = count_codes(i, f, node, search)
        subtree.look[n_look] = f
        n_look += n_codes != CONSTANT
    if search_small_node(n_look, best_possible, node, rules, search.stat, subtree, search.work):
        return n_drawn
    undo_feature_draws(n_drawn, node, rules, features)
    node.n_searched = 0
    return 0
