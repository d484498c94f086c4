"""Two trees side by side, blind to how their nodes are numbered and to ties between splits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree


class Comparison(NamedTuple):
    """How two trees differ."""

    differences: list[str]
    n_compared: int  # nodes compared in both trees
    n_ties: int  # nodes whose subtrees were left out because another split is as good


def compare_trees(
    a: Tree, b: Tree, margins: NDArray[np.float64] | None = None, *, tie: float = 1e-10, tol: float = 1e-9
) -> Comparison:
    """Walk both trees from the root and report every node that differs by more than `tol`.

    `margins` belong to the nodes of `a` (the key margin of naive_cart): below a node whose margin is at most `tie`
    times its weighted impurity the trees may rightly differ, so what stands below it is left out.
    """
    differences, n_compared, n_ties, stack = [], 0, 0, [(0, 0)]
    while stack:
        i, j = stack.pop()
        n_compared += 1
        differences += _node_differences(a, i, b, j, tol)
        if (a.feature[i] == LEAF) != (b.feature[j] == LEAF):
            if max(a.impurity[i], b.impurity[j]) <= 1e-12 * a.impurity[0]:
                n_ties += 1  # scikit-learn splits pure nodes whose impurity is not quite 0 after rounding
            else:
                differences.append(f"node {i}/{j}: only one is a leaf")
        elif a.feature[i] != LEAF:
            if margins is not None and margins[i] <= tie * abs(a.weight[i] / a.weight[0] * a.impurity[i]):
                n_ties += 1
                continue
            differences += _split_differences(a, i, b, j, tol)
            stack += [(int(a.left[i]) + side, int(b.left[j]) + side) for side in (1, 0)]
    return Comparison(differences, n_compared, n_ties)


def gain_margins(a: Tree, b: Tree, tie: float = 1e-10) -> NDArray[np.float64]:
    """Margins for compare_trees without a twin: 0 at nodes of `a` whose split is another than that of `b` though both
    gain the same, so that they tie; elsewhere infinite, so that every other difference counts."""
    margins, stack = np.full(a.n_nodes, np.inf), [(0, 0)]
    while stack:
        i, j = stack.pop()
        if a.feature[i] == LEAF or b.feature[j] == LEAF:
            continue
        same_weight = np.isclose(a.weight[a.left[i]], b.weight[b.left[j]], rtol=1e-9, atol=0.0)
        if same_weight and not _split_differences(a, i, b, j, 0.0):
            stack += [(int(a.left[i]) + side, int(b.left[j]) + side) for side in (0, 1)]
        elif abs(a.gain[i] - b.gain[j]) <= tie * abs(a.weight[i] / a.weight[0] * a.impurity[i]):
            margins[i] = 0.0
    return margins


def _node_differences(a: Tree, i: int, b: Tree, j: int, tol: float) -> list[str]:
    return [
        f"node {i}/{j}: {name} {getattr(a, name)[i]} != {getattr(b, name)[j]}"
        for name in ("n_samples", "weight", "impurity", "value", "gain")
        if not np.allclose(getattr(a, name)[i], getattr(b, name)[j], rtol=tol, atol=tol)
    ]


def _split_differences(a: Tree, i: int, b: Tree, j: int, tol: float) -> list[str]:
    result = []
    if a.feature[i] != b.feature[j]:
        result.append(f"node {i}/{j}: feature {a.feature[i]} != {b.feature[j]}")
    if _left_codes(a, i) != _left_codes(b, j):
        result.append(f"node {i}/{j}: categories {_left_codes(a, i)} != {_left_codes(b, j)}")
    both_nan = np.isnan(a.threshold[i]) and np.isnan(b.threshold[j])
    if not both_nan and abs(a.threshold[i] / 2 - b.threshold[j] / 2) > tol * (1 + abs(b.threshold[j])) / 2:
        result.append(f"node {i}/{j}: threshold {a.threshold[i]} != {b.threshold[j]}")
    if a.missing_left[i] != b.missing_left[j]:
        result.append(f"node {i}/{j}: missing_left {a.missing_left[i]} != {b.missing_left[j]}")
    return result


def _left_codes(tree: Tree, node: int) -> list[int] | None:
    row = tree.category_set[node]
    if row < 0:
        return None
    return [code for code in range(256) if (int(tree.categories[row, code // 64]) >> (code % 64)) & 1]
