"""The weighted vote of members for new rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.base.threads import n_threads, run
from committee.kernels.predict.traverse import add_leaf_values
from committee.members.member import Member, Predictions, TreeMember
from committee.records.ensemble import PackedTrees
from committee.tree_engine.predict.apply import PACKED, pack

BLOCK = 1 << 14


def weighted_predictions(predictions: Predictions, coefficient: float, n_classes: int) -> NDArray[np.float64]:
    """Return the contribution of a member to the scores, [n, 1] for two classes or [n, K] for more."""
    if n_classes <= 2:
        return np.asarray(coefficient * predictions, np.float64)[:, np.newaxis]
    return coefficient * (predictions[:, np.newaxis] == np.arange(n_classes))


def pack_members(members: Sequence[Member], coefficients: Sequence[float], n_classes: int) -> PackedTrees | None:
    """Pack the nodes of trees without categorical splits into common arrays; None for other members."""
    trees = [member for member in members if isinstance(member, TreeMember)]
    if len(trees) < len(members) or any(len(member.tree.categories) for member in trees):
        return None
    sizes = np.array([member.tree.n_nodes for member in trees], np.int64)
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    nodes = np.empty(int(sizes.sum()), PACKED)
    values = np.empty((nodes.size, 1 if n_classes <= 2 else n_classes))
    for member, coefficient, root, size in zip(trees, coefficients, roots, sizes, strict=True):
        nodes[root : root + size] = pack(member.tree)
        nodes["left"][root : root + size] += root
        values[root : root + size] = weighted_predictions(member.node_predictions, coefficient, n_classes)
    depths = np.array([1 if size == 3 else member.tree.max_depth for member, size in zip(trees, sizes, strict=True)])
    return PackedTrees(nodes, roots, depths, values)


def score_packed(packed: PackedTrees, X: NDArray[np.floating], n_jobs: int | None) -> NDArray[np.float64]:
    """Compute the scores [n, k] of the rows of X [n, d]."""
    score = np.zeros((len(X), packed.values.shape[1]))
    table = np.ascontiguousarray(X, np.float64)
    calls = [
        (table[i : i + BLOCK], packed.nodes, packed.roots, packed.depths, packed.values, score[i : i + BLOCK])
        for i in range(0, len(X), BLOCK)
    ]
    run(add_leaf_values, calls, n_threads(n_jobs, len(X) * packed.roots.size))
    return score


def score_members(
    members: Sequence[Member],
    coefficients: Sequence[float],
    X: NDArray[np.floating],
    n_classes: int,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Compute the scores [n, k] member by member, for members that cannot be packed."""
    score = np.zeros((len(X), 1 if n_classes <= 2 else n_classes))
    for member, coefficient in zip(members, coefficients, strict=True):
        score += weighted_predictions(member.predictions(X, n_jobs), coefficient, n_classes)
    return score
