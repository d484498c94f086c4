"""Limits and constraints of growth from the parameters of estimators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.records.growth import Constraints, Limits
from committee.tabular.schema import Columns
from committee.tree_engine.growing import NO_LIMIT
from committee.tree_engine.response import Response

MaxFeatures = int | float | Literal["sqrt", "log2"] | None

ROUNDING = float(np.finfo(np.float64).eps)
"""Tolerance of min_impurity_decrease, as in scikit-learn."""

MAX_GROUPS = 64
"""Maximum number of interaction groups, which are the bits of a word."""


def resolve_max_features(max_features: MaxFeatures, n_features: int) -> int:
    """Number of features to search at a node."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(math.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, int | np.integer):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))


def _rows(value: int | float, n_rows: int, least: int) -> int:
    """A number of rows, given as a number or as a fraction."""
    return int(value) if isinstance(value, int | np.integer) else max(least, math.ceil(value * n_rows))


def tree_limits(params: Mapping[str, Any], response: Response, n_features: int, constraints: Constraints) -> Limits:
    """Limits of growth from the parameters of trees."""
    n_rows = response.target.size
    min_leaf = _rows(params["min_samples_leaf"], n_rows, 1)
    min_weight = params["min_weight_fraction_leaf"] * float(response.weight.sum())
    max_leaves = params["max_leaf_nodes"]
    min_decrease = params["min_impurity_decrease"]
    return Limits(
        max_depth=NO_LIMIT if params["max_depth"] is None else int(params["max_depth"]),
        max_splits=NO_LIMIT if max_leaves is None else int(max_leaves) - 1,
        min_samples_split=max(_rows(params["min_samples_split"], n_rows, 2), 2 * min_leaf),
        min_samples_leaf=min_leaf,
        min_weight_leaf=math.ceil(min_weight / response.goal.h_unit * (1.0 - ROUNDING)),
        min_gain=-math.inf if min_decrease == 0.0 else min_decrease - ROUNDING,
        stop_if_pure=True,
        unit_weights=response.unit_weights,
        max_features=resolve_max_features(params["max_features"], n_features),
        random_splits=params["splitter"] == "random",
        best_first=max_leaves is not None,
        is_monotone=bool(np.any(constraints.monotone)),
        has_groups=bool(np.any(constraints.groups != constraints.groups[0])) if n_features else False,
    )


def tree_constraints(
    monotonic_cst: ArrayLike | Mapping[str, int] | None,
    interaction_cst: Sequence[Iterable[int | str]] | Literal["pairwise", "no_interactions"] | None,
    columns: Columns,
) -> Constraints:
    """Constraints of growth from the parameters of trees."""
    return Constraints(_monotone(monotonic_cst, columns), _groups(interaction_cst, columns))


def _feature_index(feature: object, columns: Columns, parameter: str) -> int:
    if isinstance(feature, str):
        if columns.names is None:
            raise ValueError(
                f"{parameter} names the feature {feature!r}, but the columns of X have no names: use indices."
            )
        if feature not in columns.names:
            raise ValueError(f"{parameter} names the feature {feature!r}, which the table does not have.")
        return columns.names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, Integral):
        raise ValueError(f"{parameter} must name features by index or by name; got {feature!r}.")
    if not 0 <= int(feature) < columns.n_features:
        raise ValueError(f"{parameter} names feature {feature}, but the table has {columns.n_features} features.")
    return int(feature)


def _monotone(monotonic_cst: ArrayLike | Mapping[str, int] | None, columns: Columns) -> NDArray[np.int64]:
    signs = np.zeros(columns.n_features, np.int64)
    if monotonic_cst is None:
        return signs
    if isinstance(monotonic_cst, Mapping):
        for feature, sign in monotonic_cst.items():
            signs[_feature_index(feature, columns, "monotonic_cst")] = _sign(sign)
    else:
        given = np.asarray(monotonic_cst)
        if given.shape != (columns.n_features,):
            raise ValueError(
                f"monotonic_cst has shape {given.shape} but the input data X has {columns.n_features} features."
            )
        signs[:] = [_sign(sign) for sign in given.tolist()]
    for f in np.flatnonzero(signs):
        if columns.is_categorical[f]:
            raise ValueError(f"monotonic_cst constrains {columns.name(int(f))}, which is categorical and has no order.")
    return signs


def _sign(value: Any) -> int:
    if value not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst must contain only -1, 0 or 1; got {value!r}.")
    return int(value)


def _groups(
    interaction_cst: Sequence[Iterable[int | str]] | Literal["pairwise", "no_interactions"] | None, columns: Columns
) -> NDArray[np.uint64]:
    d = columns.n_features
    if interaction_cst is None:
        return np.full(d, 2**64 - 1, np.uint64)
    if isinstance(interaction_cst, str):
        size = 2 if interaction_cst == "pairwise" and d > 1 else 1
        _reject_many_groups(math.comb(d, size))
        groups = [set(group) for group in itertools.combinations(range(d), size)]
    else:
        groups = [_group(group, columns) for group in interaction_cst]
        rest = set(range(d)) - set().union(*groups)
        groups += [rest] if rest else []
        _reject_many_groups(len(groups))
    bits = np.zeros(d, np.uint64)
    for i, group in enumerate(groups):
        bits[sorted(group)] |= np.uint64(1 << i)
    return bits


def _group(group: object, columns: Columns) -> set[int]:
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise ValueError(
            f"interaction_cst must hold groups of features, such as [[0, 1], [2]]; got {group!r} in place of a group."
        )
    return {_feature_index(feature, columns, "interaction_cst") for feature in group}


def _reject_many_groups(n_groups: int) -> None:
    if n_groups > MAX_GROUPS:
        raise ValueError(f"interaction_cst makes {n_groups} groups of features; at most {MAX_GROUPS} are possible.")
