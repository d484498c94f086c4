"""Importance 4: out-of-bag rows exchange values at one node at a time (D-6).

At the inner node v of tree t, that splits on feature j, the rows out of the bag that reach v exchange their values of
j for this split alone; below it they go on with their own. With loss L, zero-one or squared error, on the unseen rows

    importance_j = mean_t sum_{v in t splits on j} mean_{i unseen by t} (L(i, exchanged at v) - L(i))

Rows that do not reach v have no part in its change. Unlike importance 1, a feature that is needed at two nodes of a
path is broken at one of them only, and what counts is what the split does for the rows that come to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.explain._oob_forest import JudgedForest, Predictions, depth_of
from committee.kernels.predict.permuted_walk import find_node_detours
from committee.tree_engine.predict.apply import apply_tree


def node_permutation(forest: JudgedForest, seeds: Sequence[Sequence[int]], n_jobs: int | None) -> Floats:
    """Sums over the nodes of every tree [trees, d], means over `seeds` [repeats, trees]; nan where it saw all rows."""
    predictions = forest.predictions()
    calls = [(forest, t, predictions, [of_repeat[t] for of_repeat in seeds]) for t in range(forest.n_trees)]
    return np.array(run(_judge_tree, calls, n_threads(n_jobs, len(forest.X) * forest.n_features * forest.n_trees)))


def _judge_tree(forest: JudgedForest, t: int, predictions: Predictions, seeds: Sequence[int]) -> Floats:
    tree, unseen = forest.trees[t], forest.unseen[t]
    if not unseen.size:
        return np.full(forest.n_features, np.nan)
    own = np.empty(len(forest.X), predictions.dtype)
    own[unseen] = predictions[forest.packed.roots[t] + apply_tree(tree, forest.X[unseen])]
    total = np.zeros(forest.n_features)
    for seed in seeds:
        row, node, detour = _detours(forest, t, seed)
        harm = forest.losses(row, predictions[detour]) - forest.losses(row, own[row])
        total += np.bincount(tree.feature[node], forest.weight[row] * harm, forest.n_features)
    return total / (len(seeds) * forest.weight[unseen].sum())


def _detours(forest: JudgedForest, t: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """Rows, nodes and leaves where an exchange leads to another side."""
    tree, packed = forest.trees[t], forest.packed
    rng = np.random.default_rng(seed)
    rows = rng.permutation(forest.unseen[t])
    w = forest.weight[rows]
    is_equal = bool(np.all(w == w[0]))
    weight = np.ones(len(forest.X)) if is_equal else forest.weight
    most = rows.size * depth_of(tree)
    result = [np.empty(most, np.int64) for _ in range(3)]
    n_found = find_node_detours(
        forest.X, rows, weight, is_equal, packed.roots[t], tree.n_nodes, packed.nodes, packed.category_set,
        packed.categories, rng.integers(0, 2**63, dtype=np.uint64), np.empty((tree.n_nodes, 2), np.int64),
        np.empty(rows.size, np.int64), *result,
    )  # fmt: skip
    return tuple(column[:n_found] for column in result)
