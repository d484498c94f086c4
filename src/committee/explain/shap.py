"""SHAP values: contributions of the features to a prediction (Lundberg, Erion and Lee 2018; Lundberg et al. 2020).

The prediction f(x) is attributed to the features by Shapley values, the mean over all orders in which the features
could become known:

    phi_j = sum_{S without j} |S|! (d - |S| - 1)! / d!  (e(S + j) - e(S)),        sum_j phi_j = f(x) - e({})

e(S) is the expectation of the tree for a row of which only the features in S are known: at a split on another feature
it follows both branches, with their fractions of the training weight ("path-dependent"). e is a sum over leaves,

    e(S) = sum_leaves v prod_{j in P, S} o_j prod_{j in P, not in S} z_j

with P the features on the path of the leaf, z_j the fraction of the weight that follows it at the splits on j, o_j = 1
if the row follows it at all of them, else 0. |S|! (d - |S| - 1)! / d! is the integral of
t^|S| (1 - t)^(d - |S| - 1) over [0, 1], so that the sum over all subsets becomes a product under an integral,

    phi_j = sum_leaves v (o_j - z_j) int_0^1 prod_{k in P, k != j} ((1 - t) z_k + t o_k) dt

which kernels/shap/tree_shap.py computes exactly, in O(edges * |P|) per tree and row as Yu et al. (2022, Linear
TreeSHAP) do with another polynomial. All factors are positive, so there is no cancellation even in deep trees. The
interaction of two features is Shapley's interaction index, half of it at (i, j) and half at (j, i); the diagonal holds
the rest of phi.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.boosting.classifier_base import BaseBooster
from committee.boosting.forward_stagewise import StagewiseRegressor
from committee.ensemble.base import BaseEnsemble
from committee.kernels.shap.tree_shap import (
    Paths,
    Scratch,
    add_shap_interactions,
    add_shap_values,
    lay_out_paths,
)
from committee.members.member import TreeMember
from committee.records.ensemble import TreeSum
from committee.records.tree import LEAF, Tree
from committee.tabular.validation import read_table
from committee.trees.decision_tree import BaseDecisionTree

EDGE = np.dtype(
    [("threshold", "f8"), ("share", "f8"), ("cover", "f8"), ("value", "i8"), ("node", "i4"), ("parent", "i4"),
     ("feature", "i4"), ("depth", "i4"), ("up", "i4"), ("category_set", "i4"), ("is_left", "?"),
     ("missing_follows", "?")],
    align=True,
)  # fmt: skip
"""The edge from a node to a child. `share` is its fraction of the node's weight; `value` is the position of the first
value of a leaf in the values of the plan, -1 for an inner child; `depth`, `up` and `cover` as in
kernels/shap/tree_shap.py."""

WALK = np.dtype([(name, "i8") for name in ("first", "last", "rule", "n_points", "column", "n_columns", "output")])
"""One walk through the edges first..last of a tree for some columns of its values."""

NODE_FIELDS = ("feature", "threshold", "left", "missing_left", "category_set")

LEVEL = np.dtype([("z", "f8"), ("edge", "i8"), ("is_last", "?")], align=True)
"""A level of the path in a kernel: its edge, z of the feature, and whether no edge below has that feature."""

COLUMNS = 8
"""Columns of values of one walk: bounds its scratch memory."""

WIDTH = 64
"""Rows processed together in a walk, to share the overhead of an edge."""

SCRATCH = 1 << 18
"""Scratch numbers of a walk before it processes fewer rows together; 2 megabytes fit in the cache."""

BLOCK_WORK, BLOCK_CELLS = 1 << 25, 1 << 22
"""Steps and numbers of a block of rows: some ten milliseconds, so that Ctrl-C works, and 32 megabytes."""


class ShapValues(NamedTuple):
    """SHAP values of rows; ``values.sum(axis=1) + base_values`` are the predictions.

    Attributes
    ----------
    values : array [n, d], or [n, d, K] where the model has K outputs
    base_values : a scalar, or [K]: expectation of the model for a row of which nothing is known
    feature_names : names of the features
    data : array [n, d], the rows, with codes for categories
    """

    values: Floats
    base_values: Floats
    feature_names: tuple[str, ...]
    data: Floats


def shap_values(estimator: Any, X: Any, *, n_jobs: int | None = None) -> ShapValues:
    """Compute the contribution of every feature to the prediction of every row.

    Explained are the class probabilities of a classification tree, the prediction of a regression tree,
    ``decision_function`` of a booster, ``predict`` of a regression booster, and the sum of a ``TreeSum``.

    Parameters
    ----------
    estimator : fitted tree, booster of trees, or estimator with a method ``to_tree_sum()`` that returns a `TreeSum`
    X : table of shape (n_samples, n_features)
    n_jobs : int, optional
        Number of threads; that of the estimator by default.

    Returns
    -------
    ShapValues

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> found = shap_values(tree, ozone.X[:1])
    >>> {name: round(float(v), 3) for name, v in zip(found.feature_names, found.values[0]) if v}
    {'x[6]': -3.814, 'x[8]': -1.024, 'x[9]': -1.097, 'x[10]': -0.378}
    >>> round(float(found.base_values + found.values.sum()), 3), round(float(tree.predict(ozone.X[:1])[0]), 3)
    (5.213, 5.213)
    """
    plan, table, names = _read(estimator, X, COLUMNS)
    d, k = table.shape[1], plan.base.size
    values = np.empty((len(table), d, k))

    def explain(rows: slice) -> None:
        columns = np.ascontiguousarray(table[rows].T, np.float64)
        out = np.zeros((d, k, columns.shape[1]))
        _walk(add_shap_values, plan, columns, out)
        values[rows] = out.transpose(2, 0, 1)

    _run(explain, plan, len(table), d * k, _jobs(estimator, n_jobs))
    shown = (values[:, :, 0], plan.base[0]) if k == 1 else (values, plan.base)
    return ShapValues(shown[0], np.asarray(shown[1]), names, np.asarray(table, np.float64))


def shap_interaction_values(estimator: Any, X: Any, *, n_jobs: int | None = None) -> Floats:
    """Attribute the SHAP values to pairs of features.

    The result is symmetric, and every row sums to the SHAP value of its feature. Off the diagonal is half of the
    interaction of two features.

    Parameters
    ----------
    estimator, X, n_jobs : as in `shap_values`

    Returns
    -------
    array of shape (n, d, d), or (n, d, d, K) for a model with K outputs

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 0.0, 4.0]
    >>> tree = DecisionTreeRegressor().fit(X, y)
    >>> shap_interaction_values(tree, [[1, 1]])
    array([[[1. , 0.5],
            [0.5, 1. ]]])
    """
    plan, table, _ = _read(estimator, X, 1)
    d, k = table.shape[1], plan.base.size
    values = np.empty((len(table), d, d, k))

    def explain(rows: slice) -> None:
        columns = np.ascontiguousarray(table[rows].T, np.float64)
        out = np.zeros((d, d, k, columns.shape[1]))
        _walk(add_shap_interactions, plan, columns, out)
        values[rows] = _symmetric(out).transpose(3, 0, 1, 2)

    _run(explain, plan, len(table), d * d * k, _jobs(estimator, n_jobs))
    return values[..., 0] if k == 1 else values


def _symmetric(out: Floats) -> Floats:
    """Both halves of every pair added; the diagonal holds the SHAP values minus the pairs."""
    every = np.arange(len(out))
    total = out[every, every].copy()
    out = out + out.swapaxes(0, 1)
    out[every, every] = 0.0
    out[every, every] = total - out.sum(axis=1)
    return out


def _jobs(estimator: Any, n_jobs: int | None) -> int | None:
    return getattr(estimator, "n_jobs", None) if n_jobs is None else n_jobs


# --- estimators as sums of trees -------------------------------------------------------------------------------------


def tree_sum(estimator: Any) -> TreeSum:
    """Return a fitted estimator as a sum of trees."""
    if isinstance(estimator, type):
        raise TypeError(
            f"SHAP values explain a fitted model, got the class {estimator.__name__}: pass a fitted instance."
        )
    to_tree_sum = getattr(estimator, "to_tree_sum", None)
    if to_tree_sum is not None:
        check_is_fitted(estimator)
        return _checked(to_tree_sum(), type(estimator).__name__)
    if isinstance(estimator, BaseDecisionTree):
        check_is_fitted(estimator, "tree_")
        tree: Tree = estimator.tree_.arrays
        return TreeSum((tree,), np.array([-1]), np.ones(1), np.zeros(tree.value.shape[1]))
    if isinstance(estimator, BaseEnsemble):
        check_is_fitted(estimator, "members_")
        return _members_sum(estimator)
    raise TypeError(
        f"SHAP values are for trees and sums of trees; {type(estimator).__name__} is neither and has no method "
        "to_tree_sum()."
    )


def _checked(result: TreeSum, name: str) -> TreeSum:
    n_outputs = result.base.size
    is_consistent = len(result.trees) == result.output.size == result.weight.size and result.base.ndim == 1
    if not is_consistent or np.any((result.output < -1) | (result.output >= n_outputs)):
        raise ValueError(
            f"to_tree_sum() of {name} has {len(result.trees)} trees, {result.output.size} outputs and "
            f"{result.weight.size} weights: every tree needs one weight and one output in 0..{n_outputs - 1}, "
            "or -1 for all."
        )
    for tree, output in zip(result.trees, result.output, strict=True):
        if tree.value.shape[1] != (n_outputs if output < 0 else 1):
            raise ValueError(
                f"to_tree_sum() of {name} has a tree with {tree.value.shape[1]} columns of values for output {output} "
                f"of {n_outputs}: a tree has one column for its output, or one per output where its output is -1."
            )
    return result


def _members_sum(estimator: BaseEnsemble) -> TreeSum:
    """Boosters of trees: `decision_function` of classifiers, `predict` of regressors."""
    members = [member for member in estimator.members_ if isinstance(member, TreeMember)]
    name = type(estimator).__name__
    if len(members) < len(estimator.members_):
        raise TypeError(f"SHAP values are for sums of trees; {name} has members that are not trees of this library.")
    if isinstance(estimator, AdaBoostRegressor) and estimator.combine == "median":
        raise TypeError(f"The median of trees is not a sum of trees: fit {name}(combine='mean') to explain it.")
    if not isinstance(estimator, BaseBooster | AdaBoostRegressor | StagewiseRegressor):
        raise TypeError(f"SHAP values are for sums of trees; {name} is not a known sum of trees.")
    weight, n_outputs = np.asarray(estimator.coefficients_, np.float64), 1
    if isinstance(estimator, BaseBooster) and estimator.n_classes_ > 2:
        n_outputs = int(estimator.n_classes_)
    if not isinstance(estimator, StagewiseRegressor):
        weight = weight / np.abs(weight).sum()
    start = estimator.init_ if isinstance(estimator, StagewiseRegressor) else 0.0
    trees = tuple(member.tree._replace(value=_coded(member.node_predictions, n_outputs)) for member in members)
    return TreeSum(trees, np.full(len(trees), -1), weight, np.full(n_outputs, start))


def _coded(predictions: NDArray[Any], n_outputs: int) -> Floats:
    """Predictions of nodes as one column; class codes as votes, 1 for a class and -1 / (K - 1) against it."""
    if n_outputs == 1:
        return np.asarray(predictions, np.float64)[:, np.newaxis]
    return np.where(predictions[:, np.newaxis] == np.arange(n_outputs), 1.0, -1.0 / (n_outputs - 1))


# --- the plan of the walks -------------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """Edges of all trees in the order of the walk, and the other inputs of the kernels."""

    edges: NDArray[np.void]  # [edges] EDGE
    walks: NDArray[np.void]  # [walks] WALK
    values: Floats  # values of the leaves, times the weight of their tree
    categories: NDArray[np.uint64]  # [s, 4]
    rule: Floats  # [2, .], points and weights of the quadratures
    base: Floats  # [K]

    @property
    def work(self) -> int:
        """Steps of all walks for one row."""
        walks = self.walks
        steps = (walks["last"] - walks["first"]) * walks["n_points"] * (1 + walks["n_columns"])
        return max(1, int(steps.sum()))


def _read(estimator: Any, X: Any, max_columns: int) -> tuple[_Plan, NDArray[np.floating], tuple[str, ...]]:
    model = tree_sum(estimator)
    table = read_table(estimator, X)
    columns = estimator.columns_
    names = tuple(columns.name(f) for f in range(columns.n_features))
    return _make_plan(model, columns.n_features, max_columns), table, names


def _make_plan(model: TreeSum, n_features: int, max_columns: int) -> _Plan:
    edges, first, most = _lay_out(model.trees, n_features)
    values = [weight * tree.value for tree, weight in zip(model.trees, model.weight, strict=True)]
    width = np.array([value.shape[1] for value in values], np.int64)
    start = _offsets([value.size for value in values])
    of_tree = np.repeat(np.arange(len(values)), np.diff(first))
    is_leaf = edges["value"] >= 0
    edges["value"][is_leaf] = (start[of_tree] + width[of_tree] * edges["node"])[is_leaf]
    n_points = (most + 1) // 2
    sizes = np.unique(n_points[n_points > 0])
    rule = dict(zip(sizes.tolist(), _offsets(sizes.tolist()).tolist(), strict=False))
    walks = [
        (first[t], first[t + 1], rule[n], n, c, min(max_columns, width[t] - c), max(model.output[t], 0) + c)
        for t, n in enumerate(n_points.tolist())
        if n > 0
        for c in range(0, int(width[t]), max_columns)
    ]
    return _Plan(
        edges=edges,
        walks=np.array(walks, WALK),
        values=np.concatenate([np.empty(0), *(value.ravel() for value in values)]),
        categories=np.concatenate([np.empty((0, 4), np.uint64), *(tree.categories for tree in model.trees)]),
        rule=np.concatenate([np.empty((2, 0)), *(_quadrature(n) for n in rule)], axis=1),
        base=_expected(model, values, edges, first),
    )


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Start of each piece when pieces of these sizes are concatenated, and end of the last one."""
    return np.cumsum([0, *sizes], dtype=np.int64)


def _lay_out(trees: Sequence[Tree], n_features: int) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """The edges of all trees, `value` 0 at leaves; the first edge of each tree; its longest path in features."""
    sizes = [tree.n_nodes for tree in trees]
    m = max(sizes, default=0)
    stack, path = np.empty((m, 2), np.int64), np.empty((m, 4), np.int64)
    last_depth, most = np.zeros(n_features, np.int64), np.zeros(len(trees), np.int64)
    first = _offsets([size - 1 for size in sizes])
    edges = np.zeros(first[-1], EDGE)
    for t, tree in enumerate(trees):
        own = edges[first[t] : first[t + 1]]
        most[t] = lay_out_paths(tree.feature, tree.left, tree.weight, stack, path, last_depth, own)
    if edges.size:
        _describe(edges, trees, np.diff(first))
    return edges, first, most


def _describe(edges: NDArray[np.void], trees: Sequence[Tree], n_edges: NDArray[np.int64]) -> None:
    """Fill the fields of the edges from those of the nodes."""
    every = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in NODE_FIELDS}
    nodes_before = np.repeat(_offsets([tree.n_nodes for tree in trees])[:-1], n_edges)
    sets_before = np.repeat(_offsets([len(tree.categories) for tree in trees])[:-1], n_edges)
    parent = edges["parent"] + nodes_before
    edges["feature"], edges["threshold"] = every["feature"][parent], every["threshold"][parent]
    sets = every["category_set"][parent]
    edges["category_set"] = np.where(sets >= 0, sets + sets_before, -1)
    edges["is_left"] = edges["node"] == every["left"][parent]
    edges["missing_follows"] = edges["is_left"] == every["missing_left"][parent]
    edges["value"] = np.where(every["feature"][edges["node"] + nodes_before] == LEAF, 0, -1)


def _expected(model: TreeSum, values: Sequence[Floats], edges: NDArray[np.void], first: NDArray[np.int64]) -> Floats:
    """e({}): the values of the leaves, weighted by their fractions of the training weight."""
    base = model.base.astype(np.float64)
    for t, value in enumerate(values):
        own = edges[first[t] : first[t + 1]]
        leaves = own[own["value"] >= 0]
        mean = leaves["cover"] @ value[leaves["node"]] if own.size else value[0]
        output = int(model.output[t])
        base[slice(None) if output < 0 else output] += mean if output < 0 else mean[0]
    return base


@cache
def _quadrature(n_points: int) -> Floats:
    """Points and weights on [0, 1] that integrate polynomials of degree 2 n - 1 exactly."""
    point, weight = roots_legendre(n_points)
    return np.array([0.5 * (point + 1.0), 0.5 * weight])


# --- walks over blocks of rows ---------------------------------------------------------------------------------------


def _walk(kernel: Callable[..., None], plan: _Plan, columns: Floats, out: Floats) -> None:
    """Run the kernel over the rows in `columns` [d, n] with scratch of its own."""
    if plan.walks.size == 0:
        return
    levels = int(plan.edges["depth"].max()) + 1
    n_points, n_columns = int(plan.walks["n_points"].max()), int(plan.walks["n_columns"].max())
    per_row = levels * (1 + n_points + n_columns * n_points)
    width = max(1, min(WIDTH, SCRATCH // per_row, columns.shape[1]))
    path = np.zeros(levels, LEVEL)
    path["z"][0] = 1.0
    product = np.ones((levels, 1 + n_points, width))
    below = np.zeros((levels, n_columns, n_points, width))
    paths = Paths(plan.edges, plan.walks, plan.values, plan.categories, plan.rule)
    kernel(columns, paths, Scratch(path, product, below), out)


def _run(explain: Callable[[slice], None], plan: _Plan, n: int, cells: int, n_jobs: int | None) -> None:
    """Call `explain` for blocks of rows with `cells` values each."""
    size = max(1, min(BLOCK_WORK // plan.work, BLOCK_CELLS // cells, n))
    size = -(-size // WIDTH) * WIDTH if size > WIDTH else size
    blocks: Sequence[tuple[slice]] = [(slice(i, min(i + size, n)),) for i in range(0, n, size)]
    run(explain, blocks, n_threads(n_jobs, n * plan.work // 4))
