"""Checks of the parts of a model from a file, and of estimators with all their parts.

There are three levels of checks: types and dtypes by the annotations of named tuples (`_check_types.py`); here,
consistency of sizes and indices, on which kernels rely; and a prediction for one row (`_smoke_test.py`), for everything
that only NumPy reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from committee.base.dtypes import MAX_CATEGORIES
from committee.records.ensemble import BoostedTrees, PackedTrees
from committee.records.forest import PackedForest
from committee.records.tree import Tree
from committee.storage._check_svm import (
    check_encoder,
    check_expansion,
    check_fitted_mixture,
    check_landmarks,
    check_network,
    check_representation,
)
from committee.storage._check_trees import (
    check_boosted_trees,
    check_features,
    check_one_tree,
    check_outputs,
    check_packed_forest,
    check_packed_trees,
)
from committee.storage._container import is_count
from committee.storage._schema import family_of
from committee.storage.errors import ModelFileError, need
from committee.tabular.schema import Columns

MAX_TABLE = 1 << 24
"""Maximum number of columns of an estimator without arrays of that size."""


def check_part(part: Any) -> None:
    """Raise ModelFileError if a part is inconsistent in itself."""
    check = CHECKS.get(family_of(type(part)))
    if check is not None:
        check(part)


# --- small parts ------------------------------------------------------------------------------------------------------


def _check_columns(columns: Any) -> None:
    n = columns.n_features
    need(n == len(columns.categories) and n > 0, "the columns of the table are not all described")
    need(columns.names is None or len(columns.names) == n, "the columns of the table are not all named")


def _check_categories(known: Any) -> None:
    need(len(known.kept) <= MAX_CATEGORIES, "a column has too many categories for a tree")
    for value in (*known.kept, *known.rare):
        need(value is None or isinstance(value, bool | int | float | str | np.generic), "a category is no plain value")


def _check_history(history: Any) -> None:
    columns = vars(history).get("_columns")
    need(vars(history).keys() == {"_columns"} and isinstance(columns, dict), "a history has no columns")
    is_sound = all(isinstance(name, str) and isinstance(values, np.ndarray) for name, values in columns.items())
    need(is_sound and all(values.ndim > 0 for values in columns.values()), "a history has no columns")
    need(len({len(values) for values in columns.values()}) <= 1, "the columns of a history differ in length")


def _check_predictions(member: Any) -> None:
    need(len(member.node_predictions) == member.tree.n_nodes, "a tree lacks predictions of nodes")


def _check_subspace(member: Any) -> None:
    _check_predictions(member)
    features, tree = member.features, member.tree
    need(features.ndim == 1 and np.all(np.diff(features) >= 0), "the features of a tree are not in order")
    need(np.all(np.isin(tree.feature[~tree.is_leaf], features)), "a tree uses a feature that it does not have")


def _check_view(view: Any) -> None:
    need(isinstance(vars(view).get("arrays"), Tree), "a tree is missing")
    need(is_count(vars(view).get("n_features"), 2**31), "a tree has no number of features")


def _check_sum(packed: Any) -> None:
    need(vars(packed).keys() == {"arrays"} and isinstance(packed.arrays, BoostedTrees), "a sum of trees is missing")


def _check_lost(members: Any) -> None:
    need(vars(members).keys() == {"n"} and is_count(members.n, 2**31), "a number of members is missing")


def _check_tree_list(trees: Any) -> None:
    own = vars(trees)
    is_packed = {"packed"} <= own.keys() <= {"packed", "measures"} and isinstance(own["packed"], PackedForest)
    need(is_packed, "a packed forest is missing")
    measures: Any = own.setdefault("measures", None)
    if measures is None:
        return
    need(type(measures).__name__ == "NodeMeasures", "the weights of a packed forest are missing")
    nodes, weight, ends = trees.packed.nodes, measures.weight, measures.gain_ends
    n_leaves = np.count_nonzero(nodes["left"] == np.arange(len(nodes)))
    is_sound = weight.shape in ((n_leaves,), (len(nodes),)) and np.all(np.isfinite(weight)) and np.all(weight >= 0.0)
    need(is_sound, "the weights of a packed forest are not those of its nodes")
    is_sound = ends.shape == (trees.packed.n_trees,) and measures.gain.shape == (ends[-1],) and ends[0] >= 0
    need(is_sound and np.all(np.diff(ends) >= 0), "the gains of a packed forest are not those of its trees")
    need(np.all(np.isfinite(measures.gain)), "a gain of a packed forest is not finite")


def _check_members(members: Any) -> None:
    own = vars(members)
    trees, features = own.get("trees"), own.get("features")
    is_sound = own.keys() == {"trees", "features"} and type(trees).__name__ == "PackedTreeList"
    need(is_sound, "the packed members of a model are missing")
    if features is None:
        return
    is_sound = isinstance(features, list) and len(features) == trees.packed.n_trees
    need(is_sound, "packed members have other numbers of trees and features")
    for one in features:
        is_list = isinstance(one, np.ndarray) and one.dtype == np.int64 and one.ndim == 1
        need(is_list and np.all(np.diff(one) >= 0), "the features of a tree are not in order")


def _check_places(places: Any) -> None:
    n, row = places.n_rows, places.row
    need(row.ndim == 1 and row.shape == places.weight.shape and 0 <= n <= 2**31, "the places of rows")
    need(not row.size or (row.min() >= 0 and row.max() < n), "a place belongs to no row")


def _check_residuals(known: Any) -> None:
    n = known.n_each
    need(known.value.ndim == 1 and known.value.shape == n.shape, "the residuals for intervals differ in number")
    need(bool(np.all((n >= 0.0) & (n < np.inf))), "residuals for intervals have negative weights")


def _check_calibration(known: Any) -> None:
    is_sound = 0.0 < known.power < np.inf and 0.0 <= known.mixture <= 1.0
    need(is_sound, "the calibration of the probabilities is outside its bounds")


def _check_sampler(sampler: Any) -> None:
    need(sampler.weight.shape == (sampler.places.n_rows,), "the rows of a sample differ in number")
    need(0 <= sampler.n_draws <= 2**31, "a sample has an impossible size")


def _check_state(state: Any) -> None:
    n = state.weight.size
    need(state.weight.ndim == 1 and state.start.shape == (n,), "the weights of a run differ in number")
    is_known = len(state.score) == n or not (state.members or state.score.size)
    need(state.score.ndim in (1, 2) and is_known, "the scores of a run differ in number")


def _check_gradient_state(state: Any) -> None:
    shape: Any = state.fingerprint[0] if state.fingerprint else None
    need(isinstance(shape, tuple) and len(shape) == 2, "the rows of a run are not described")
    need(state.score.ndim == 2 and state.score.shape[1] == shape[0], "the scores of a run differ in number")


CHECKS: dict[str, Callable[[Any], None]] = {
    "bagging.subspace-tree": _check_subspace,
    "table.categories": _check_categories,
    "table.columns": _check_columns,
    "gradient-boosting.run": _check_gradient_state,
    "boosting.run": _check_state,
    "committee.representation": check_representation,
    "trees.sum": check_boosted_trees,
    "trees.packed-sum": check_packed_trees,
    "trees.packed-forest": check_packed_forest,
    "history": _check_history,
    "trees.tree": check_one_tree,
    "mixture.fitted": check_fitted_mixture,
    "neural-mixture.network": check_network,
    "table.encoder": check_encoder,
    "calibration": _check_calibration,
    "member.tree": _check_predictions,
    "interval-residuals": _check_residuals,
    "sampling.places": _check_places,
    "sampling.sampler": _check_sampler,
    "trees.prediction-sum": _check_sum,
    "packed.lost-members": _check_lost,
    "packed.members": _check_members,
    "packed.trees": _check_tree_list,
    "svm.nystroem-map": check_landmarks,
    "trees.view": _check_view,
}
"""Checks of parts by class name, so that reading a tree does not import mixtures."""


# --- estimators -------------------------------------------------------------------------------------------------------


def check_estimator(model: Any) -> None:
    """Raise ModelFileError if a fitted estimator is inconsistent; estimators in it have been checked before."""
    if not isinstance(model, BaseEstimator):
        return
    own = vars(model)
    params = set(type(model)._get_param_names())  # type: ignore[attr-defined]
    need(params <= own.keys(), f"{type(model).__name__} lacks the parameters {sorted(params - own.keys())}")
    if own.keys() <= params | {"_metadata_request"}:
        return  # not fitted
    _check_parameters(model)
    _check_shape(model)
    if type(model).__module__.startswith("committee."):
        _check_contents(model)
    else:
        _check_linear(own)


def _check_parameters(model: Any) -> None:
    try:
        model._validate_params()
    except Exception as error:
        raise ModelFileError(f"A parameter in the file is not allowed: {error}") from error


def _check_shape(model: Any) -> None:
    """The numbers of columns and classes must agree with their descriptions."""
    own = vars(model)
    n, columns, name = own.get("n_features_in_"), own.get("columns_"), type(model).__name__
    need(n is None or is_count(n, MAX_TABLE), f"{name} has an impossible number of columns")
    if columns is not None:
        need(isinstance(columns, Columns) and n == columns.n_features, f"{name} disagrees about its columns")
    names = own.get("feature_names_in_")
    if names is not None:
        is_sound = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (n,)
        need(is_sound and all(isinstance(each, str) for each in names), f"{name} has not the names of its columns")
        is_same = columns is None or columns.names is None or list(columns.names) == list(names)
        need(is_same, f"{name} has two names for a column")
    classes, n_classes = own.get("classes_"), own.get("n_classes_")
    if isinstance(classes, np.ndarray):
        need(classes.ndim == 1 and classes.size, f"{name} has no classes")
        is_known = n_classes is None or (is_count(n_classes) and n_classes == classes.size)
        need(is_known, f"{name} disagrees about its classes")
    elif isinstance(n_classes, int):
        need(n_classes <= 1, f"{name} has no list of its classes")


def _check_contents(model: Any) -> None:
    """Parts that kernels read must match the table of the estimator."""
    _check_forms(vars(model))
    _check_coefficients(vars(model))
    if family_of(type(model)) in PLANES:
        _check_planes(vars(model))
    for part in parts_of(model):
        if isinstance(part, Tree | PackedTrees | PackedForest | BoostedTrees):
            check_features(part, _columns_of(model).is_categorical)
        check = IN_A_MODEL.get(family_of(type(part)))
        if check is not None:
            check(model, part)


def _columns_of(model: Any) -> Columns:
    columns = vars(model).get("columns_")
    if not isinstance(columns, Columns):
        raise ModelFileError(f"The file is damaged: {type(model).__name__} has no description of its columns.")
    return columns


def _check_forms(own: dict[str, Any]) -> None:
    """The packed form of trees must be made of the same trees, or be their only form."""
    trees = own.get("trees_", [])
    if isinstance(trees, list):
        need(all(type(tree) is Tree for tree in trees), "a forest has something else than trees")
    else:
        need(getattr(trees, "packed", trees) is own.get("packed_"), "a forest has two kinds of trees")
    packed: Any = own.get("_packed")
    if type(packed).__name__ == "PackedSum":
        need(packed.arrays is own.get("_trees"), "a model has two kinds of trees")


def _check_coefficients(own: dict[str, Any]) -> None:
    if "coefficients_" in own and "members_" in own:
        coefficients, n = own["coefficients_"], len(own["members_"])
        is_sound = isinstance(coefficients, np.ndarray) and coefficients.shape == (n,)
        need(is_sound, "a model has other numbers of members and of coefficients")


PLANES = ("PocketPerceptron", "LinearSVC", "LinearSVR")


def _check_planes(own: dict[str, Any]) -> None:
    coef, offset, d = np.asarray(own.get("coef_")), np.asarray(own.get("intercept_")), own.get("n_features_in_")
    n = 1 if coef.ndim == 1 else len(coef) if coef.ndim == 2 else 0
    is_sound = n > 0 and coef.shape[-1] == d and offset.shape in ((), (n,))
    need(is_sound, "the coefficients of a linear model have the wrong shape")


def _check_scores(model: Any, trees: Any) -> None:
    base, state = vars(model).get("baseline_"), vars(model).get("_state")
    need(isinstance(base, np.ndarray) and base.ndim == 1 and base.dtype == np.float64, "scores have no beginning")
    check_outputs(trees, len(base))
    n, size, kept = (vars(model).get(name) for name in ("n_estimators_", "_round_size", "_trees"))
    is_sound = is_count(n) and is_count(size) and kept is not None and kept.n_trees == n * size
    need(is_sound, "the rounds of a model are not the trees that it has")
    need(state is None or len(state.score) == len(base), "a run has other scores than its model")


def _check_columns_of_view(model: Any, view: Any) -> None:
    need(view.n_features == _columns_of(model).n_features, "a tree has other columns than its estimator")


def _check_expansion_of(model: Any, expansion: Any) -> None:
    check_expansion(expansion, _columns_of(model).n_features)


def _check_scaling(model: Any, scaling: Any) -> None:
    d = _columns_of(model).n_features
    need(scaling.shift.shape == scaling.scale.shape == (d,), "a scaling has other columns than its estimator")


def _check_run(model: Any, state: Any) -> None:
    k = vars(model).get("n_classes_", 0)
    is_sound = not state.members or state.score.shape[1:] == (() if k <= 2 else (k,))
    need(is_sound, "the scores of a run are of other classes")


def _check_parameters_of(model: Any, network: Any) -> None:
    theta = vars(model).get("_theta")
    need(isinstance(theta, np.ndarray) and theta.shape == (network.n_parameters,), "a network lacks parameters")


IN_A_MODEL: dict[str, Callable[[Any, Any], None]] = {
    "boosting.run": _check_run,
    "trees.sum": _check_scores,
    "neural-mixture.network": _check_parameters_of,
    "svm.expansion": _check_expansion_of,
    "svm.scaling": _check_scaling,
    "trees.view": _check_columns_of_view,
}
"""Checks of parts within their estimator, by class name."""


def parts_of(model: Any) -> Iterator[Any]:
    """All objects of an estimator, each once, without those of nested estimators."""
    seen: set[int] = set()
    todo: list[Any] = list(vars(model).values())
    while todo:
        part = todo.pop()
        if isinstance(part, str | int | float | np.ndarray | BaseEstimator | None) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
        elif type(part).__module__.startswith("committee."):
            todo.extend(getattr(part, "__dict__", {}).values())


def _check_linear(own: dict[str, Any]) -> None:
    """Check the coefficients of scikit-learn's linear models, which its compiled code uses."""
    coef, d = own.get("coef_"), own.get("n_features_in_")
    if "_loss_function_" not in own or coef is None:
        return
    classes = own.get("classes_")
    k = 1 if classes is None or len(classes) <= 2 else len(classes)
    need(isinstance(coef, np.ndarray) and coef.dtype == np.float64, "a linear model has no coefficients")
    shape = (d,) if classes is None else (k, d)
    need(coef.shape == shape, "the coefficients of a linear model have the wrong shape")
    intercept = own.get("intercept_")
    need(isinstance(intercept, np.ndarray) and intercept.shape == (k,), "a linear model has no intercept")
    for name in ("standard_coef_", "average_coef_", "_standard_coef", "_average_coef"):
        need(own.get(name) is None or own[name].shape == shape, "the coefficients of a linear model")
