"""Data structures of tree growth, used by Python code and by kernels.

Numbers are fields of records, arrays are in short named tuples: the time to compile a kernel is proportional to the
number of its arguments, and a record is a single argument.
"""

from __future__ import annotations

from typing import NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray


class Goal(NamedTuple):
    """The criterion that splits maximise. A row has two integers: (g, h), (class, h) or (rank of y, h).

    g * g_unit and h * h_unit are the true target sum and weight; the units are powers of two.
    """

    criterion: int  # code of kernels/trees/criteria.py
    n_classes: int
    g_unit: float
    h_unit: float
    l1: float
    l2: float
    gain_unit: float  # impurity decrease = gain_unit * (score of the children - score of the node) / total_weight
    total_weight: float
    # Boosting: categories are ordered by G / (H + category_smoothing), and splits of many have so much more l2. Exact
    # growth: of many categories those of fewer rows in a node go right together.
    category_smoothing: float = 0.0
    category_rows: float = 0.0  # minimum number of rows on each side of a split of many categories, by fraction of H
    category_noise: float = 0.0  # boosting: variance of g per unit of h, a penalty on splits of many categories


class Limits(NamedTuple):
    """Limits of growth: when a node stays a leaf, and which splits are allowed."""

    max_depth: int
    max_splits: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: int  # in units of h
    min_gain: float  # minimum decrease of the impurity by a split
    stop_if_pure: bool  # a node whose rows have one target stays a leaf
    unit_weights: bool  # every h is 1: counts and weights are the same
    max_features: int
    random_splits: bool  # one random threshold per feature (extra-trees)
    best_first: bool
    is_monotone: bool
    has_groups: bool
    whole_weights: bool = False  # an integer weight w counts as w rows (kernels/trees/histogram_tree.py)
    is_plain: bool = False  # set by the engine: squared or Gini criterion, no regularisation, no limit on leaves


class Constraints(NamedTuple):
    """Constraints of the splits: direction per feature, and groups of features that may interact."""

    monotone: NDArray[np.int64]  # [d]
    groups: NDArray[np.uint64]  # [d] bit i set if group i holds the feature

    @classmethod
    def none(cls, n_features: int) -> Constraints:
        return cls(np.zeros(n_features, np.int64), np.full(n_features, 2**64 - 1, np.uint64))


def _fields(tuple_type: type) -> list[tuple[str, str]]:
    return [(name, "f8" if kind is float else "i8") for name, kind in get_type_hints(tuple_type).items()]


RULES = np.dtype(_fields(Goal) + _fields(Limits), align=True)
"""Goal and Limits as one record."""

NODE = np.dtype(
    [
        ("own", "f8"),  # score of the node unsplit
        ("score", "f8"),  # of the best split found so far, -inf where there is none
        ("gain", "f8"),  # decrease of the weighted impurity by that split
        ("middle", "f8"),  # half-way between the values of its children, a bound under monotone constraints
        ("n_searched", "i8"),  # features searched: those drawn that are not constant in the node
        ("threshold", "f8"),  # of a random split, else nan
        ("feature", "i8"),  # of the best split, -1 where there is none
        ("code", "i8"),  # largest code that goes left, in the codes the split was searched on
        ("missing_left", "i8"),
        ("is_set", "i8"),  # the split is categorical: codes in `set` go left
        ("set", "u8", (4,)),
        ("last_left", "i8"),  # largest code of the table on the left side, -1 where there is none
        ("first_right", "i8"),
        (
            "extra_l2",
            "f8",
        ),  # on the value of the node, after a split of many categories (kernels/trees/histogram_tree.py)
        ("split_l2", "f8"),  # the extra_l2 that the best split found gives its children
        ("count", "i8"),  # rows, with an integer weight w counted as w rows, in kernels/trees/histogram_tree.py
        ("left_sum", "i8"),  # packed sums of the rows that would go left, in kernels/trees/histogram_tree.py
        ("n_rejected", "i8"),  # splits of the node that left too few rows on a side, in kernels/trees/histogram_tree.py
        ("left", "i8"),  # left child, -1 until the split is taken
        ("start", "i8"),  # rows start : start + n
        ("n", "i8"),
        ("g", "i8"),
        ("h", "i8"),
        ("shift", "i8"),  # integer mean of the targets, subtracted in the squared criterion
        ("depth", "i8"),
        ("lower", "f8"),  # bounds that monotone constraints above put on the node's value
        ("upper", "f8"),
        ("key", "u8"),  # seeds the node's random draws: a hash of the path from the root
        ("groups", "u8"),  # interaction groups still possible
    ],
    align=True,
)


MARK_EVERY = 32


class Table(NamedTuple):
    """The binned features with a record for each; one of `bytes` and `ranks` is empty."""

    bytes: NDArray[np.uint8]  # [d, n] binned codes
    ranks: NDArray[np.uint32]  # [d, n] exact codes
    features: NDArray[np.void]  # [d] FEATURE
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    marks: NDArray[np.float64]  # every MARK_EVERY-th of upper
    target: NDArray[np.float64]  # [n], to see whether a node is pure
    ranked_target: NDArray[np.float64]  # target values by rank, for the absolute error


FEATURE = np.dtype(
    [
        ("n_bins", "i8"),  # codes 0 .. n_bins - 1, n_bins means missing
        ("offset", "i8"),  # of its values in Table.lower and upper
        ("is_categorical", "i8"),
        ("monotone", "i8"),  # -1, 0 or +1
        ("groups", "u8"),  # bit i set if interaction group i holds the feature
    ],
    align=True,
)


class Sample(NamedTuple):
    """The rows of a tree: those of a node are contiguous in `rows`."""

    rows: NDArray[np.uint32]  # [n] rows of the table
    stat: NDArray[np.int64]  # [n, 2] (g, h), in the order of rows
    table: Table


class Work(NamedTuple):
    """Scratch memory of one thread for nodes of n rows, k classes, and cuts between c codes."""

    column: NDArray[np.uint32]  # [n] codes of the node's rows
    keys: NDArray[np.uint64]  # [2, n] for sorting
    counters: NDArray[np.int32]  # [2112] for sorting
    histogram: NDArray[np.int64]  # [c, 2]
    cuts: NDArray[np.int64]  # [4, max(c, n)]: code, g, h and n of the rows that would go left
    gain: NDArray[np.float64]  # [max(c, 2 n)]
    by_class: NDArray[np.float64]  # [2, k]: left, right
    of_class: NDArray[np.int64]  # [2, k]: in the node, left (kernels/trees/split_multiclass.py)
    by_category: NDArray[np.float64]  # [257, 3]: sum, weight and count
    order: NDArray[np.int64]  # [257] categories in Fisher order
    block: NDArray[np.int64]  # [3, rows * features of a small node]: codes, g and h of the rows that would go left
    decreases: NDArray[
        np.float64
    ]  # [2, the same]: decreases of the impurity, and H / (h (H - h)) by the weight h on the left
    packed: NDArray[
        np.int32
    ]  # [4, max(n, c)]: codes, weights in classes, sums, low halves (kernels/trees/split_binary.py)
    packed_keys: NDArray[np.uint32]  # [2, n]
    absolute: NDArray[np.float64]  # [6, n + 1] for the absolute error, else empty
    spare_rows: NDArray[np.uint32]  # [n]
    spare_stat: NDArray[np.int64]  # [n, 2]
    side: NDArray[np.uint8]  # [n]


class Subtree(NamedTuple):
    """Data of a growing subtree of n rows, d features and m nodes (kernels/trees/subtree.py)."""

    local: NDArray[np.uint16]  # [d, n] its own copy of the codes, or [0, n]: they are read from the table
    code_of: NDArray[np.uint32]  # [d, n] the table's codes of ranks; [1, 0] unless splits are random
    n_ranks: NDArray[np.int64]  # [d]
    constant: NDArray[np.uint64]  # [m, words] bit f is set if feature f is constant in the node
    frontier: NDArray[np.int64]  # [m] open nodes, a stack or a heap
    look: NDArray[np.int64]  # [d]
    position: NDArray[np.uint32]  # [n] place of each of the ordered rows in `local` and `origin`
    origin: NDArray[np.uint32]  # [n] rows of the table


class Search(NamedTuple):
    """Data of the search for the split of a node (kernels/trees/find_split.py)."""

    rules: NDArray[np.void]  # a RULES record
    features: NDArray[np.int64]  # [d] the features to draw from, restored after every node
    rows: NDArray[np.uint32]  # [n]
    stat: NDArray[np.int64]  # [n, 2] (g, h), in the order of rows
    table: Table
    subtree: Subtree
    work: Work
    is_copied: bool  # the subtree has copies of the columns; else codes are read from the table
    is_ranked: bool  # copied codes are dense ranks
    is_plain: bool  # plain criterion, no categories, no constraints: the fast searches apply


class PackedSample(NamedTuple):
    """The rows of a tree on packed histograms (kernels/trees/histogram_tree.py)."""

    words: NDArray[np.uint32]  # [tiles, n, 8] the coded table by rows
    codes: NDArray[np.uint8]  # [d, n] and by columns
    records: NDArray[np.void]  # [d] FEATURE
    rows: NDArray[np.uint32]  # rows of the table, reordered so that those of a node are contiguous
    amounts: NDArray[np.int64]  # [n] (g << 32) + h of the rows of the table


class HistogramWork(NamedTuple):
    """Scratch memory for trees on packed histograms (kernels/trees/histogram_tree.py)."""

    ordered: NDArray[np.int64]  # [n] amounts in the order of a node's rows
    ones: NDArray[np.int64]  # [n] number of rows that each row counts for, or empty if counts are not needed
    spare: NDArray[np.uint32]  # [n]
    sums: NDArray[np.int64]  # [256] packed sums left of each cut
    decrease: NDArray[np.float64]  # [256] decrease of the loss by each cut
    order: NDArray[np.int64]  # [257] categories in Fisher order
    side: NDArray[np.uint8]  # [256] 1 for the codes that go left
    slot: NDArray[np.int64]  # [nodes] place of each node's histogram
    frontier: NDArray[np.int64]  # [leaves] open leaves, a heap


class Team(NamedTuple):
    """Shared memory of the grower of a tree and its assistants (kernels/work_sharing.py); no rows without any."""

    board: NDArray[np.int64]  # [assistants, 8]
    sums: NDArray[np.int64]  # [assistants, features * 256] their histograms


CODE, LEFT_G, LEFT_H, LEFT_N = range(4)
"""Rows of Work.cuts."""

CODES, WEIGHTS_OF_CLASSES, SUMS, LOW_HALVES = range(4)
"""Rows of Work.packed."""

WEIGHTS, TARGETS, Y_VALUE, LEFT_COST, LEFT_WEIGHT, LEFT_MEDIAN = range(6)
"""Rows of Work.absolute: two Fenwick trees, then values by rank, then what each cut leaves on the left."""

CUT = np.dtype(
    [
        ("feature", "i8"),
        ("start", "i8"),  # rows start : start + n of the block are divided
        ("n", "i8"),
        ("n_left", "i8"),  # the number of them that go left, and what they count for
        ("left_count", "i8"),
        ("is_summed", "i8"),  # one child is summed: the left one if sums_left
        ("sums_left", "i8"),
        ("side", "u1", (256,)),  # 1 for the codes that go left
    ],
    align=True,
)
"""How the rows of one node in a block are divided (kernels/trees/block_tree.py)."""
