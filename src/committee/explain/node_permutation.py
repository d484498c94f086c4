"""Node permutation importance: out-of-bag rows whose split feature is permuted at one node at a time.

At an inner node v of tree t that splits on feature j, the values of j are permuted among the out-of-bag rows that reach
v, for this split alone; below it the rows go on with their own values. With loss L, zero-one or squared error,

    importance_j = mean_t sum_{v in t splits on j} mean_{i oob of t} (L(i, j permuted at v) - L(i))

where rows that do not reach v do not change. Permutation importance (`_oob_permutation.py`) breaks a feature at all
nodes of a path at once; this one measures what each split does for the rows that come to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.explain.oob_forest import OobForest, Predictions, depth_of
from committee.kernels.predict.permuted_walk import NodeChanges, NodeMemory, predict_node_permuted
from committee.tree_engine.predict.apply import apply_tree


def node_permutation(forest: OobForest, seeds: Sequence[Sequence[int]], n_jobs: int | None) -> Floats:
    """Return sums over nodes [trees, d], means over `seeds` [repeats, trees]; nan without out-of-bag rows."""
    predictions = forest.node_predictions()
    calls = [(forest, t, predictions, [of_repeat[t] for of_repeat in seeds]) for t in range(forest.n_trees)]
    return np.array(run(_increases_of_tree, calls, n_threads(n_jobs, len(forest.X) * forest.n_features * len(calls))))


def _increases_of_tree(forest: OobForest, t: int, predictions: Predictions, seeds: Sequence[int]) -> Floats:
    """Mean increase of the loss of one tree by feature."""
    tree, oob = forest.trees[t], forest.oob[t]
    if not oob.size:
        return np.full(forest.n_features, np.nan)
    original = np.empty(len(forest.X), predictions.dtype)
    original[oob] = predictions[forest.packed.roots[t] + apply_tree(tree, forest.X[oob])]
    total = np.zeros(forest.n_features)
    for seed in seeds:
        row, node, leaf = _changes(forest, t, seed)
        increase = forest.losses(row, predictions[leaf]) - forest.losses(row, original[row])
        total += np.bincount(tree.feature[node], forest.weight[row] * increase, forest.n_features)
    return total / (len(seeds) * forest.weight[oob].sum())


def _changes(forest: OobForest, t: int, seed: int) -> NodeChanges:
    """Rows that change sides at a permuted node, these nodes, and the leaves where the rows end."""
    tree = forest.trees[t]
    rng = np.random.default_rng(seed)
    rows = rng.permutation(forest.oob[t])
    w = forest.weight[rows]
    weight = np.ones(len(forest.X)) if np.all(w == w[0]) else forest.weight  # sums of ones are exact
    result = NodeChanges(*(np.empty(rows.size * depth_of(tree), np.int64) for _ in range(3)))
    memory = NodeMemory(np.empty((tree.n_nodes, 2), np.int64), np.empty(rows.size, np.int64))
    key = rng.integers(0, 2**63, dtype=np.uint64)
    n = predict_node_permuted(forest.X, rows, weight, forest.packed.roots[t], forest.packed, key, memory, result)
    return NodeChanges(*(column[:n] for column in result))
