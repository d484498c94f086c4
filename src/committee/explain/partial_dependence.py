"""Partial dependence: the mean prediction of a model as a function of one or two features (Friedman 2001, section 8.2).

    brute force    PD(z) = sum_i w_i f(z, rest of x_i) / sum_i w_i
    recursion      PD(z) = base + sum_trees a_t sum_leaves v  prod_{splits on the way} p

Brute force puts z into every row of X; each single row has an individual curve (Goldstein et al. 2015). Recursion
walks down a tree once for all rows: at a split on one of the features z decides (p = 1 or 0), at another split both
branches are followed with the fractions p of the training weight in them. It is the e(S) of explain/shap.py, needs no
rows and takes a fraction of the time. The two differ for features that depend on others: brute force predicts
combinations of values that never occur, recursion follows the training distribution of the tree.

Friedman, Greedy function approximation, 2001. Goldstein, Kapelner, Bleich and Pitkin, Peeking inside the black box:
individual conditional expectation, 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.explain.shap import tree_sum
from committee.explain.tables import Feature, Fill, column_names, numbers_of, replace_columns
from committee.records.ensemble import TreeSum
from committee.records.tree import LEAF, Tree
from committee.tabular.cells import Table, read_factors
from committee.tabular.rows import take_rows
from committee.tabular.schema import Columns, find_columns, open_table
from committee.tabular.validation import native, read_table, read_weights
from committee.tree_engine.predict.apply import apply_tree
from committee.trees.decision_tree import BaseDecisionTree

Kind = Literal["average", "individual", "both"]
Method = Literal["auto", "recursion", "brute"]
Response = Literal["auto", "predict", "predict_proba", "decision_function", "score"]
Grid = int | Mapping[Feature, Sequence[Any] | NDArray[Any]]
Prediction = Callable[[Table], Floats]

GRID_POINTS = 60
"""Default number of points of a numeric feature."""

BLOCK_ROWS = 1 << 17
"""Largest number of rows of one prediction; it holds as many points of the grid as fit."""

BLOCK_CELLS = 1 << 21
"""Fractions that a walk down a tree keeps, one for every node and point: 16 megabytes."""

COMPARED_ROWS = 1_000
"""Number of rows on which the predictions of the model are compared with the sum of its trees."""


class PartialDependence(NamedTuple):
    """Predictions of a model over a grid of values of one or two features.

    With one output, `average` has the shape of the grid, [g] or [g1, g2], and `individual` a row for every row of X;
    with several outputs, the last axis is the class.

    Attributes
    ----------
    features : positions of the features in the table
    names : names of the features
    grid : values of each feature, floats or categories
    average : array [g1(, g2)(, K)], mean prediction, or None
    individual : array [n, g1(, g2)(, K)], predictions of the rows, or None
    method : "recursion" or "brute"
    response : averaged function: "predict", "predict_proba", "decision_function" or "score"
    is_categorical : whether each feature is categorical
    data : array [n, 1 or 2], values of the features; for categories their position on the grid, nan elsewhere
    classes : names of the classes of the last axis, with several outputs
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    average: Floats | None
    individual: Floats | None
    method: Literal["recursion", "brute"]
    response: str
    is_categorical: tuple[bool, ...]
    data: Floats
    classes: tuple[str, ...] = ()


class _Axis(NamedTuple):
    """The grid of one feature."""

    f: int
    is_categorical: bool
    values: NDArray[Any]  # [g], floats or categories
    fill: Fill  # [g], floats, or rows of X that hold the categories
    data: Floats  # [n]


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Feature | Sequence[Feature],
    *,
    grid: Grid = GRID_POINTS,
    percentiles: tuple[float, float] = (0.05, 0.95),
    kind: Kind = "average",
    method: Method = "auto",
    response: Response = "auto",
    sample_weight: ArrayLike | None = None,
) -> PartialDependence:
    """Compute the mean prediction, or that of every row, with one or two features set to the values of a grid.

    Unlike `sklearn.inspection.partial_dependence` it accepts frames of polars and Arrow, and has a recursion for all
    trees and sums of trees, multiclass ones included.

    Parameters
    ----------
    estimator : fitted scikit-learn classifier or regressor
    X : table of shape (n_samples, n_features), array or frame
    features : one or two columns, by name or position
    grid : int or dict
        Number of points per numeric feature, or a dict of feature -> values. A feature with at most this number of
        different values gets all of them, any other one evenly spaced points between the `percentiles` of its values;
        of more categories the most frequent ones are used.
    percentiles : tuple of two float
        Quantiles of the values at the ends of a grid of evenly spaced points.
    kind : {"average", "individual", "both"}
        "individual" is a curve for every row.
    method : {"auto", "brute", "recursion"}
        "auto" takes the recursion for the unweighted average of trees and estimators with ``to_tree_sum()`` if their
        prediction is the sum of the trees, and brute force for all others.
    response : {"auto", "predict", "predict_proba", "decision_function", "score"}
        What is averaged. "auto" is ``predict`` of a regressor, ``decision_function`` of a classifier, or its
        ``predict_proba`` (of the second of two classes) if it has none; "score" is the sum of the trees.
    sample_weight : array-like, optional
        Weights of the rows in the average.

    Returns
    -------
    PartialDependence

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone", as_frame=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> found = partial_dependence(tree, ozone.X, "V8", grid={"V8": [50.0, 80.0]})
    >>> found.average.round(2), found.method
    (array([ 7.29, 19.14]), 'recursion')
    >>> partial_dependence(tree, ozone.X, "V8", grid={"V8": [50.0, 80.0]}, method="brute").average.round(2)
    array([ 8.47, 17.05])
    """
    check_is_fitted(estimator)
    table = open_table(X, estimator)
    weight = read_weights(sample_weight, table.shape[0])
    axes = [
        _make_axis(estimator, table, f, _grid_of(grid, table, f), percentiles, weight)
        for f in find_columns(table, _one_or_two(features), from_end=True)
    ]
    plan = _decide(estimator, table, kind, method, response, weight)
    if plan.method == "recursion":
        average, individual = _recursion(estimator, plan, table, axes), None
    else:
        average, individual = _brute(plan.predict, table, axes, kind, weight)
    return _assemble(estimator, table, axes, plan, average, individual)


def _assemble(
    estimator: Any,
    table: Table,
    axes: Sequence[_Axis],
    plan: _Plan,
    average: Floats | None,
    individual: Floats | None,
) -> PartialDependence:
    names, shown = column_names(table), average if individual is None else individual[0]
    has_classes = shown is not None and shown.ndim > len(axes)
    return PartialDependence(
        features=tuple(axis.f for axis in axes),
        names=tuple(names[axis.f] for axis in axes),
        grid=tuple(axis.values for axis in axes),
        average=average,
        individual=individual,
        method=plan.method,
        response=plan.response,
        is_categorical=tuple(axis.is_categorical for axis in axes),
        data=np.column_stack([axis.data for axis in axes]),
        classes=tuple(str(name) for name in getattr(estimator, "classes_", ())) if has_classes else (),
    )


def _one_or_two(features: Feature | Sequence[Feature]) -> list[Feature]:
    wanted = [features] if isinstance(features, str | int | np.integer) else list(features)
    if not 1 <= len(wanted) <= 2:
        raise ValueError(f"Partial dependence needs one or two features, got {len(wanted)}: call it once for each.")
    return wanted


# --- the grid --------------------------------------------------------------------------------------------------------


def _grid_of(grid: Grid, table: Table, f: int) -> int | NDArray[Any]:
    """Number of points, or the values themselves."""
    if not isinstance(grid, Mapping):
        if not hasattr(grid, "__index__") or grid < 2:
            raise ValueError(
                f"grid must be a number of points, at least 2, or a dict of feature -> values, got {grid!r}."
            )
        return int(grid)
    values = [given for feature, given in grid.items() if find_columns(table, [feature], from_end=True) == [f]]
    if not values:
        return GRID_POINTS
    chosen = np.array(values[0], dtype=None if isinstance(values[0], np.ndarray) else object)
    if chosen.ndim != 1 or chosen.size == 0:
        raise ValueError(f"The grid of {column_names(table)[f]!r} must be a list of at least one value.")
    return chosen


def _make_axis(
    estimator: Any,
    table: Table,
    f: int,
    grid: int | NDArray[Any],
    percentiles: tuple[float, float],
    weight: Floats | None,
) -> _Axis:
    if _is_categorical(estimator, table, f):
        return _category_axis(table, f, grid, weight)
    x, name = numbers_of(table, f), column_names(table)[f]
    if not isinstance(grid, int):
        values = np.array(grid, np.float64)
        return _Axis(f, False, values, values, x)
    counted = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0.0)
    if not counted.any():
        raise ValueError(f"Column {name!r} has only missing values: pass a grid, grid={{{name!r}: [...]}}.")
    values = _spread(x[counted], grid, percentiles, None if weight is None else weight[counted])
    return _Axis(f, False, values, values, x)


def _spread(x: Floats, n_points: int, percentiles: tuple[float, float], weight: Floats | None) -> Floats:
    """All different values if there are few, else evenly spaced ones between two quantiles."""
    low, high = percentiles
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(f"percentiles must be two increasing numbers in [0, 1], got {percentiles}.")
    different = np.unique(x)
    if different.size <= n_points:
        return different
    ends = np.quantile(x, [low, high], weights=weight, method="inverted_cdf")
    if ends[0] == ends[1]:  # a single value holds nearly all rows
        ends = different[[0, -1]]
    return np.linspace(ends[0], ends[1], n_points)


def _is_categorical(estimator: Any, table: Table, f: int) -> bool:
    """As in the fit of the model, if it recorded that; else every column that is not numeric."""
    columns = getattr(estimator, "columns_", None)
    if isinstance(columns, Columns) and columns.n_features == table.shape[1]:
        return columns.categories[f] is not None
    if not isinstance(table, np.ndarray):
        dtype: Any = table.schema.dtypes()[f]
        return not dtype.is_numeric()
    return table.dtype.kind not in "fiu" and any(isinstance(value, str | bool | np.bool_) for value in table[:, f])


def _category_axis(table: Table, f: int, grid: int | NDArray[Any], weight: Floats | None) -> _Axis:
    factor = read_factors(table, np.arange(table.shape[1]) == f)[f]
    total = np.bincount(factor.codes + 1, weight, len(factor.values) + 1)[1:]
    row_of = dict(zip(factor.codes[::-1].tolist(), range(factor.codes.size - 1, -1, -1), strict=True))
    if isinstance(grid, int):
        chosen = np.sort(np.argsort(-total, kind="stable")[: min(grid, np.count_nonzero(total))]).tolist()
        chosen = chosen if factor.keeps_order else sorted(chosen, key=lambda code: _rank(factor.values[code]))
    else:
        code_of = {value: code for code, value in enumerate(factor.values) if code in row_of}
        unknown = [value for value in grid.tolist() if value not in code_of]
        if unknown:
            raise ValueError(
                f"The grid of {column_names(table)[f]!r} has categories that no row of X has: {unknown[:5]}."
            )
        chosen = [code_of[value] for value in grid.tolist()]
    if not chosen:
        raise ValueError(f"Column {column_names(table)[f]!r} has only missing values: there is no category for a grid.")
    values = np.empty(len(chosen), object)
    values[:] = [factor.values[code] for code in chosen]
    place = np.full(len(factor.values) + 1, np.nan)  # the last one is for the code -1
    place[chosen] = np.arange(len(chosen))
    return _Axis(f, True, values, np.array([row_of[code] for code in chosen], np.int64), place[factor.codes])


def _rank(value: Any) -> tuple[bool, Any]:
    """Order of a category: numbers by size, then all others by name."""
    return (False, value) if isinstance(value, int | float) else (True, str(value))


def _points(axes: Sequence[_Axis]) -> NDArray[np.int64]:
    """All combinations of positions on the axes, [points, axes]."""
    return np.array(list(product(*(range(axis.values.size) for axis in axes))), np.int64)


def _placed(table: Table, axes: Sequence[_Axis], points: NDArray[np.int64]) -> Table:
    """The table repeated for every point, with the features at the point."""
    n = table.shape[0]
    repeated = table if len(points) == 1 else take_rows(table, np.tile(np.arange(n), len(points)))
    fill = {axis.f: np.repeat(axis.fill[points[:, a]], n) for a, axis in enumerate(axes)}
    return replace_columns(repeated, fill)


# --- response and method --------------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """The method, and the function to average."""

    method: Literal["recursion", "brute"]
    response: str
    predict: Prediction
    model: TreeSum | None


def _decide(
    estimator: Any, table: Table, kind: Kind, method: Method, response: Response, weight: Floats | None
) -> _Plan:
    _check_choice("kind", kind, ("average", "individual", "both"))
    _check_choice("method", method, ("auto", "recursion", "brute"))
    _check_choice("response", response, ("auto", "predict", "predict_proba", "decision_function", "score"))
    chosen = _default_response(estimator) if response == "auto" else response
    if method == "recursion" and (kind != "average" or weight is not None):
        raise ValueError("Recursion computes averages under the training weights only: use method='brute'.")
    may_recurse = method == "recursion" or (
        method == "auto" and kind == "average" and weight is None and _offers_sum(estimator)
    )
    model = tree_sum(estimator) if may_recurse or chosen == "score" else None
    predict = _prediction(estimator, chosen, model)
    is_sum = may_recurse and model is not None and _is_sum(estimator, chosen, predict, model, table)
    if method == "recursion" and not is_sum:
        raise ValueError(f"{chosen} is not the sum of the trees: use response='score' or method='brute'.")
    return _Plan("recursion" if is_sum else "brute", chosen, predict, model)


def _check_choice(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {given!r}.")


def _offers_sum(estimator: Any) -> bool:
    """Whether the trees hold the weights of the rows; those of a boosted vote hold the weights of their round."""
    return hasattr(estimator, "to_tree_sum") or isinstance(estimator, BaseDecisionTree)


def _default_response(estimator: Any) -> Response:
    if not is_classifier(estimator):
        return "predict"
    return "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"


def _prediction(estimator: Any, response: str, model: TreeSum | None) -> Prediction:
    """The function of a table that is averaged."""
    if response == "score":
        assert model is not None
        return lambda table: _single(_added_up(model, read_table(estimator, native(table))), response)
    if response == "predict" and is_classifier(estimator):
        raise ValueError("Labels have no average: use response='predict_proba' or 'decision_function'.")
    method = getattr(estimator, response, None)
    if method is None:
        raise ValueError(f"{type(estimator).__name__} has no {response}: choose another response.")
    return lambda table: _single(np.asarray(method(native(table)), np.float64), response)


def _single(predictions: Floats, response: str) -> Floats:
    """One column as a vector; of the probabilities of two classes that of the second."""
    if predictions.ndim == 2 and predictions.shape[1] == 2 and response == "predict_proba":
        return predictions[:, 1]
    return predictions[:, 0] if predictions.ndim == 2 and predictions.shape[1] == 1 else predictions


def _added_up(model: TreeSum, X: NDArray[np.floating]) -> Floats:
    total = np.repeat(model.base[np.newaxis], len(X), axis=0)
    for tree, output, weight in zip(model.trees, model.output.tolist(), model.weight, strict=True):
        _columns(total, output)[:] += weight * tree.value[apply_tree(tree, X)]
    return total


def _columns(total: Floats, output: int) -> Floats:
    """The columns of the sum that a tree adds to."""
    return total if output < 0 else total[:, output : output + 1]


def _is_sum(estimator: Any, response: str, predict: Prediction, model: TreeSum, table: Table) -> bool:
    """Whether the predictions are the sum of the trees, not a function of it such as exp; checked on some rows."""
    if response == "score":
        return True
    if response == "predict" and model.base.size > 1:  # quantiles are sorted where they would cross
        return False
    n = table.shape[0]
    some = take_rows(table, np.unique(np.linspace(0, n - 1, min(n, COMPARED_ROWS)).astype(np.int64)))
    added = _single(_added_up(model, read_table(estimator, native(some))), response)
    predictions = predict(some)
    return added.shape == predictions.shape and bool(np.allclose(added, predictions, rtol=1e-9, atol=1e-9))


# --- brute force -----------------------------------------------------------------------------------------------------


def _brute(
    predict: Prediction, table: Table, axes: Sequence[_Axis], kind: Kind, weight: Floats | None
) -> tuple[Floats | None, Floats | None]:
    """Averages [g1(, g2)(, K)] and curves [n, g1(, g2)(, K)]."""
    n, points = table.shape[0], _points(axes)
    shape = tuple(axis.values.size for axis in axes)
    size = max(1, BLOCK_ROWS // n)
    averages: list[Floats] = []
    curves: list[Floats] = []
    for first in range(0, len(points), size):
        block = points[first : first + size]
        predictions = predict(_placed(table, axes, block))
        predictions = predictions.reshape(len(block), n, *predictions.shape[1:])
        if kind != "individual":
            averages.append(np.average(predictions, axis=1, weights=weight))
        if kind != "average":
            curves.append(predictions)
    average, individual = None, None
    if averages:
        joined = np.concatenate(averages)
        average = joined.reshape(*shape, *joined.shape[1:])
    if curves:
        joined = np.concatenate(curves).swapaxes(0, 1)
        individual = joined.reshape(n, *shape, *joined.shape[2:])
    return average, individual


# --- recursion -------------------------------------------------------------------------------------------------------


def _recursion(estimator: Any, plan: _Plan, table: Table, axes: Sequence[_Axis]) -> Floats:
    assert plan.model is not None
    points = _points(axes)
    coded = [_coded(estimator, table, axis)[points[:, a]] for a, axis in enumerate(axes)]
    average = _single(expected_at(plan.model, [axis.f for axis in axes], np.column_stack(coded)), plan.response)
    return average.reshape(*(axis.values.size for axis in axes), *average.shape[1:])


def _coded(estimator: Any, table: Table, axis: _Axis) -> Floats:
    """The grid as the trees encode it: floats, and codes of categories."""
    if not axis.is_categorical:
        return axis.values
    holders = take_rows(table, axis.fill.astype(np.int64))
    return read_table(estimator, native(holders))[:, axis.f].astype(np.float64)


def expected_at(model: TreeSum, features: Sequence[int], points: Floats) -> Floats:
    """Return the expectation [points, K] of the sum of trees for rows of which only these features are known."""
    total = np.repeat(model.base.astype(np.float64)[np.newaxis], len(points), axis=0)
    for tree, output, weight in zip(model.trees, model.output.tolist(), model.weight, strict=True):
        size = max(1, BLOCK_CELLS // tree.n_nodes)
        for first in range(0, len(points), size):
            block = slice(first, first + size)
            _columns(total[block], output)[:] += weight * _tree_mean(tree, features, points[block])
    return total


def _tree_mean(tree: Tree, features: Sequence[int], points: Floats) -> Floats:
    """The values of the leaves, weighted by the fractions that reach them; level by level down the tree."""
    fraction = np.zeros((tree.n_nodes, len(points)))
    fraction[0] = 1.0
    level = np.zeros(1, np.int64)
    while level.size:
        inner = level[tree.feature[level] != LEAF]
        left = tree.left[inner].astype(np.int64)
        p = _left_fractions(tree, inner, features, points)
        fraction[left], fraction[left + 1] = fraction[inner] * p, fraction[inner] * (1.0 - p)
        level = np.concatenate([left, left + 1])
    return fraction[tree.is_leaf].T @ tree.value[tree.is_leaf]


def _left_fractions(tree: Tree, nodes: NDArray[np.int64], features: Sequence[int], points: Floats) -> Floats:
    """The fractions [nodes, points] that go left: 1 or 0 at a split on one of the features."""
    total, left = tree.weight[nodes], tree.weight[tree.left[nodes]]
    fraction = np.divide(left, total, out=np.full(nodes.size, 0.5), where=total > 0.0)
    p = np.repeat(fraction[:, np.newaxis], len(points), axis=1)
    for column, f in enumerate(features):
        at = tree.feature[nodes] == f
        p[at] = _goes_left(tree, nodes[at], points[:, column])
    return p


def _goes_left(tree: Tree, nodes: NDArray[np.int64], x: Floats) -> NDArray[np.bool_]:
    """Which values go left at which of the nodes, [nodes, values]; all are splits on the same feature."""
    is_missing = np.isnan(x)
    left = x <= tree.threshold[nodes, np.newaxis]
    by_set = tree.category_set[nodes] >= 0
    if by_set.any():
        code = np.where(is_missing, 0.0, x).astype(np.int64)
        words = tree.categories[tree.category_set[nodes[by_set]]][:, code >> 6]
        left[by_set] = (words >> (code & 63).astype(np.uint64)) & np.uint64(1) == 1
    return np.where(is_missing, tree.missing_left[nodes, np.newaxis], left)
