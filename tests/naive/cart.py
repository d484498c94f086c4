"""Exact CART by trying every split on every feature and scoring it from its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import LEAF, Tree

from .binning import midpoint
from .criteria import EPS, POISSON_EPS, Rule, fisher_keys, impurity, prepare_target, value

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TIE = 1e-12  # two gains closer than this (relative to the node's impurity) are equal, the first one is taken


class Limits(NamedTuple):
    """When to stop, and which splits are allowed."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    needs_gain: bool = False  # a split must have a gain above zero


class Problem(NamedTuple):
    """The rows of positive weight and what to do with them."""

    X: Floats
    y: NDArray
    w: Floats
    rule: Rule
    limits: Limits
    is_categorical: Bools
    monotonic_cst: NDArray[np.int64]
    groups: list[set[int]]


class Split(NamedTuple):
    """A way to cut a node: rows where `goes_left` go left."""

    feature: int
    threshold: float  # nan for categories; inf for "all present values | missing"
    categories: tuple[int, ...] | None  # the codes that go left
    missing_left: bool
    goes_left: Bools


def naive_cart(X: Floats, y: NDArray, w: Floats | None = None, **options: Any) -> list[dict[str, Any]]:
    """Grow a tree; a list of nodes, the root first, children side by side after their parent.

    Keys of a node: feature (LEAF at leaves), threshold, categories, missing_left, left, right, depth, n_samples,
    weight, impurity, value, gain, lower, upper (bounds of monotone constraints), rows (of the input) and margin: by how
    much the gain of the chosen split exceeds that of the next best candidate (0: another split is as good).
    Depth first (left before right) without `max_leaf_nodes`, else best first. What `y`, impurity and value are stands
    in criteria.py. The options are those of `make_problem`.
    """
    return grow(make_problem(X, y, w, **options))


def make_problem(
    X: Floats,
    y: NDArray,
    w: Floats | None = None,
    *,
    criterion: str,
    n_classes: int = 0,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    min_impurity_decrease: float = 0.0,
    is_categorical: Sequence[bool] | None = None,
    monotonic_cst: Sequence[int] | None = None,
    interaction_groups: Sequence[Sequence[int]] | None = None,
    l1: float = 0.0,
    l2: float = 0.0,
    needs_gain: bool | None = None,
) -> Problem:
    """Canonical arrays; `needs_gain` (default: only for newton) refuses splits without gain, CART takes them."""
    leaf_limits = (max(min_samples_split, 2 * min_samples_leaf), min_samples_leaf, min_weight_leaf)
    strict = criterion == "newton" if needs_gain is None else needs_gain
    limits = Limits(max_depth, max_leaf_nodes, *leaf_limits, min_impurity_decrease, strict)
    rule = Rule(criterion, n_classes, l1, l2)
    X = np.asarray(X, np.float64)
    d = X.shape[1]
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    categorical = np.zeros(d, bool) if is_categorical is None else np.asarray(is_categorical, bool)
    monotonic = np.zeros(d, np.int64) if monotonic_cst is None else np.asarray(monotonic_cst, np.int64)
    if np.any(monotonic[categorical] != 0):
        raise ValueError("a categorical feature cannot be monotone")
    if np.any(monotonic != 0) and rule.has_shares and rule.n_classes != 2:
        raise ValueError("monotone constraints need one number or two classes")
    groups = [set(range(d))] if interaction_groups is None else [set(group) for group in interaction_groups]
    return Problem(X, prepare_target(rule, y), w, rule, limits, categorical, monotonic, groups)


def grow(problem: Problem) -> list[dict[str, Any]]:
    """The growth of naive_cart."""
    root_rows = np.flatnonzero(problem.w > 0)
    nodes = [_make_node(problem, root_rows, 0, -np.inf, np.inf, problem.groups)]
    open_nodes, n_leaves, max_leaves = [0], 1, problem.limits.max_leaf_nodes
    while open_nodes and (max_leaves is None or n_leaves < max_leaves):
        if max_leaves is None:
            index = open_nodes.pop()
        else:
            index = max(open_nodes, key=lambda i: (nodes[i]["plan_gain"], -i))
            open_nodes.remove(index)
        if nodes[index]["plan"] is None:
            continue
        nodes[index].update(left=len(nodes), right=len(nodes) + 1)
        nodes.extend(_split_node(problem, nodes[index]))
        open_nodes.extend([nodes[index]["right"], nodes[index]["left"]])  # the left one is popped first
        n_leaves += 1
    for node in nodes:
        del node["plan"], node["plan_gain"], node["plan_margin"], node["groups"]
    return nodes


def _make_node(
    problem: Problem, rows: NDArray[np.int64], depth: int, lower: float, upper: float, groups: list[set[int]]
) -> dict[str, Any]:
    y, w = problem.y[rows], problem.w[rows]
    node = {
        "rows": rows,
        "depth": depth,
        "n_samples": len(rows),
        "weight": float(w.sum()),
        "impurity": impurity(problem.rule, y, w),
        "value": clipped(problem, value(problem.rule, y, w), lower, upper),
        "lower": lower,
        "upper": upper,
        "groups": groups,
        "feature": LEAF,
        "threshold": float("nan"),
        "categories": None,
        "missing_left": False,
        "left": LEAF,
        "right": LEAF,
        "gain": 0.0,
        "margin": float("inf"),
    }
    node["plan"], node["plan_gain"], node["plan_margin"] = _best_split(problem, node)
    return node


def clipped(problem: Problem, node_value: Floats, lower: float, upper: float) -> Floats:
    """The node's value within its bounds; scikit-learn bounds the share of the first of two classes."""
    if not np.any(problem.monotonic_cst):
        return node_value
    first = np.clip(node_value[:1], lower, upper)
    return np.append(first, 1 - first) if problem.rule.has_shares else first


def _split_node(problem: Problem, node: dict[str, Any]) -> list[dict[str, Any]]:
    split: Split = node["plan"]
    node.update(
        feature=split.feature,
        threshold=split.threshold,
        categories=split.categories,
        missing_left=split.missing_left,
        gain=node["plan_gain"],
        margin=node["plan_margin"],
    )
    rows_left, rows_right = node["rows"][split.goes_left], node["rows"][~split.goes_left]
    bounds = child_bounds(problem, node["lower"], node["upper"], split.feature, rows_left, rows_right)
    groups = [group for group in node["groups"] if split.feature in group]
    return [
        _make_node(problem, rows, node["depth"] + 1, *limits, groups)
        for rows, limits in zip((rows_left, rows_right), bounds, strict=True)
    ]


def child_bounds(
    problem: Problem, lower: float, upper: float, feature: int, left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bounds of both children; a monotone split draws a line at the middle of its children's values."""
    sign = constraint(problem, feature)
    if sign == 0:
        return (lower, upper), (lower, upper)
    middle = (bounded_value(problem, left) + bounded_value(problem, right)) / 2
    if sign > 0:
        return (lower, middle), (middle, upper)
    return (middle, upper), (lower, middle)


def constraint(problem: Problem, feature: int) -> int:
    """Sign of the constraint on bounded_value: turned round for two classes, where the first share is bounded."""
    sign = int(problem.monotonic_cst[feature])
    return -sign if problem.rule.has_shares else sign


def bounded_value(problem: Problem, rows: NDArray[np.int64]) -> float:
    """The number that monotone constraints bound."""
    return float(value(problem.rule, problem.y[rows], problem.w[rows])[0])


def _best_split(problem: Problem, node: dict[str, Any]) -> tuple[Split | None, float, float]:
    """The first of the best allowed splits, its gain and its lead over the next best one; None for a leaf."""
    nothing = (None, 0.0, float("inf"))
    if _must_stop(problem, node):
        return nothing
    allowed = set().union(*node["groups"])
    splits = [s for f in sorted(allowed) for s in _splits_on(problem, node["rows"], f) if _is_valid(problem, node, s)]
    if not splits:
        return nothing
    gains = np.array([_gain(problem, node, split) for split in splits])
    scale = abs(node["weight"] * node["impurity"]) / problem.w.sum()
    best = int(np.flatnonzero(gains >= gains.max() - TIE * scale)[0])
    if gains[best] + EPS < problem.limits.min_impurity_decrease:
        return nothing
    if problem.limits.needs_gain and gains[best] <= TIE * scale:
        return nothing
    margin = float(gains[best] - np.delete(gains, best).max(initial=-np.inf))
    return splits[best], float(gains[best]), max(margin, 0.0)


def _must_stop(problem: Problem, node: dict[str, Any]) -> bool:
    limits = problem.limits
    return (
        (limits.max_depth is not None and node["depth"] >= limits.max_depth)
        or node["n_samples"] < limits.min_samples_split
        or node["weight"] < 2 * limits.min_weight_leaf
        or (problem.rule.criterion != "newton" and node["impurity"] <= EPS)
    )


def _splits_on(problem: Problem, rows: NDArray[np.int64], feature: int) -> Iterator[Split]:
    """Every candidate on one feature, cut by cut, missing right before missing left, "all present | missing" last."""
    x = problem.X[rows, feature]
    missing = np.isnan(x)
    if missing.all():
        return
    cuts = _category_cuts(problem, rows, x) if problem.is_categorical[feature] else _threshold_cuts(x)
    for threshold, categories, mask in cuts:
        if missing.any():
            yield Split(feature, threshold, categories, False, mask)
            yield Split(feature, threshold, categories, True, mask | missing)
        else:
            missing_left = bool(mask.sum() > (~mask).sum())  # at prediction: to the side of more rows
            yield Split(feature, threshold, categories, missing_left, mask)
    if missing.any():
        is_category = problem.is_categorical[feature]
        categories = tuple(int(c) for c in np.unique(x[~missing])) if is_category else None
        yield Split(feature, float("nan") if is_category else float("inf"), categories, False, ~missing)


def _threshold_cuts(x: Floats) -> Iterator[tuple[float, None, Bools]]:
    distinct = np.unique(x[~np.isnan(x)])
    for low, high in pairwise(distinct):
        yield midpoint(float(low), float(high)), None, x <= low


def _category_cuts(
    problem: Problem, rows: NDArray[np.int64], x: Floats
) -> Iterator[tuple[float, tuple[int, ...], Bools]]:
    """Cuts of the categories in the node ordered by the mean target; for K > 2 classes by each class share in turn."""
    y, w = problem.y[rows], problem.w[rows]
    codes = np.unique(x[~np.isnan(x)])
    keys = np.array([fisher_keys(problem.rule, y[x == c], w[x == c]) for c in codes])
    for column in range(keys.shape[1]):
        ordered = codes[np.argsort(keys[:, column], kind="stable")]
        for cut in range(1, len(ordered)):
            left = ordered[:cut]
            yield float("nan"), tuple(sorted(int(c) for c in left)), np.isin(x, left)


def _is_valid(problem: Problem, node: dict[str, Any], split: Split) -> bool:
    left, right = node["rows"][split.goes_left], node["rows"][~split.goes_left]
    limits = problem.limits
    if min(len(left), len(right)) < limits.min_samples_leaf:
        return False
    if min(problem.w[left].sum(), problem.w[right].sum()) < limits.min_weight_leaf:
        return False
    if problem.rule.criterion == "poisson" and min(_sum(problem, left), _sum(problem, right)) <= POISSON_EPS:
        return False
    sign = constraint(problem, split.feature)
    if sign == 0:  # children of an unconstrained feature may leave the bounds, their values are clipped
        return True
    value_left, value_right = bounded_value(problem, left), bounded_value(problem, right)
    inside = node["lower"] <= min(value_left, value_right) and max(value_left, value_right) <= node["upper"]
    return inside and (value_left - value_right) * sign <= 0


def _sum(problem: Problem, rows: NDArray[np.int64]) -> float:
    return float(np.sum(problem.w[rows] * problem.y[rows]))


def _gain(problem: Problem, node: dict[str, Any], split: Split) -> float:
    """Weighted fall of impurity: W_t/W * (imp - W_L/W_t * imp_L - W_R/W_t * imp_R)."""
    decrease = node["weight"] * node["impurity"]
    for rows in (node["rows"][split.goes_left], node["rows"][~split.goes_left]):
        decrease -= problem.w[rows].sum() * impurity(problem.rule, problem.y[rows], problem.w[rows])
    return float(decrease / problem.w.sum())


def to_tree(nodes: list[dict[str, Any]]) -> Tree:
    """The nodes of naive_cart as a Tree; the threshold inf of "all present | missing" becomes the largest float."""
    sets = [node["categories"] for node in nodes if node["categories"] is not None]
    bits = np.zeros((len(sets), 4), np.uint64)
    for row, codes in enumerate(sets):
        for code in codes:
            bits[row, code // 64] |= np.uint64(1) << np.uint64(code % 64)
    has_set = np.array([node["categories"] is not None for node in nodes])
    largest = np.finfo(np.float64).max
    return Tree(
        feature=np.array([node["feature"] for node in nodes], np.int32),
        threshold=np.array([min(node["threshold"], largest) for node in nodes], np.float64),
        left=np.array([node["left"] for node in nodes], np.int32),
        missing_left=np.array([node["missing_left"] for node in nodes], bool),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=bits,
        value=np.array([node["value"] for node in nodes], np.float64),
        impurity=np.array([node["impurity"] for node in nodes], np.float64),
        gain=np.array([node["gain"] for node in nodes], np.float64),
        n_samples=np.array([node["n_samples"] for node in nodes], np.int64),
        weight=np.array([node["weight"] for node in nodes], np.float64),
    )
