"""Every parameter of every estimator has constraints, and fit names the parameter whose value breaks them.

So do values that are accepted in general, but not for these rows: one constraint per column, a class that y has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils._param_validation import InvalidParameterError, generate_invalid_param_val, make_constraint

from tests.bad_input import N, X, assert_rejected, nan, table
from tests.catalog import CLASSIFIERS, ESTIMATORS, MULTICLASS, every, except_for, has_params, having, make, target_of

FREE = {"no_validation", "cv_object"}
"""Constraints that take any value, or leave the check to scikit-learn."""


class Unheard:
    """A value of a type that no parameter takes."""


def bad_values(cls: type[Any], name: str) -> list[Any]:
    """A value of no accepted type, and one outside of each interval or set of options."""
    constraints = [make_constraint(each) for each in cls._parameter_constraints[name]]
    values: list[Any] = [Unheard()]
    for constraint in constraints:
        try:
            value = generate_invalid_param_val(constraint)
        except NotImplementedError:
            continue
        if not any(other.is_satisfied_by(value) for other in constraints):
            values.append(value)
    return values


CASES = [
    pytest.param(cls, name, id=f"{cls.__name__}-{name}")
    for cls in ESTIMATORS
    for name in make(cls).get_params(deep=False)
    if not FREE.intersection(each for each in cls._parameter_constraints[name] if isinstance(each, str))
]


@every(ESTIMATORS)
def test_every_parameter_has_constraints(cls: type[Any]) -> None:
    assert set(make(cls).get_params(deep=False)) <= set(cls._parameter_constraints)


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_values_outside_the_constraints_raise(cls: type[Any], name: str) -> None:
    for value in bad_values(cls, name):
        model = make(cls).set_params(**{name: value})
        assert_rejected(model, InvalidParameterError, f"'{name}' parameter of {cls.__name__}", X, target_of(cls))


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_nan_is_no_number(cls: type[Any], name: str) -> None:
    constraints = [make_constraint(each) for each in cls._parameter_constraints[name]]
    if any(each.is_satisfied_by(np.nan) for each in constraints):
        pytest.skip("takes any object")
    model = make(cls).set_params(**{name: np.nan})
    assert_rejected(model, InvalidParameterError, f"'{name}' parameter of", X, target_of(cls))


# --- in view of the data ---------------------------------------------------------------------------------------------

BAD_FOR_THE_DATA = table(
    ("more than all rows", {"max_samples": N + 1, "bootstrap": False}, "max_samples=41"),
    ("more features than there are", {"max_features": 4, "bootstrap_features": False}, "max_features=4"),
    ("leaves without a tree", {"max_leaf_nodes": 5, "tree_size": "full"}, "max_leaf_nodes"),
    ("a tree without leaves", {"tree_size": "max_leaf_nodes"}, "max_leaf_nodes"),
    ("no such score", {"oob_score": "acuracy", "bootstrap": True}, "acuracy"),
    ("oob_score without a bootstrap", {"oob_score": True, "bootstrap": False}, "rows are left out|bootstrap=True"),
    ("auto without a bootstrap", {"n_estimators": "auto", "bootstrap": False}, "n_estimators='auto'|bootstrap=True"),
    ("calibration without a bootstrap", {"calibration": "oob", "bootstrap": False}, "bootstrap=True"),
    ("tune without a bootstrap", {"tune": "oob", "bootstrap": False}, "bootstrap=True"),
    ("class_weight negative", {"class_weight": {0: -1.0, 1: 1.0}}, "Negative.*class_weight|must be positive"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "weights are zero|must be positive"),
    ("class_weight nan", {"class_weight": {0: nan, 1: 1.0}}, "class_weight contains NaN|must be positive"),
    ("class_weight of no class", {"class_weight": {7: 1.0}}, "class_weight"),
    ("class_weight 1e300", {"class_weight": {0: 1e300, 1: 1}}, "class_weight is .*, too large"),
    ("categorical index", {"categorical_features": [7]}, "categorical_features"),
    ("categorical name", {"categorical_features": ["a"]}, "categorical_features|'a'"),
    ("categorical mask", {"categorical_features": [True]}, "categorical_features|one entry per column"),
    ("categorical mixed", {"categorical_features": [0, "a"]}, "categorical_features|only names"),
    ("monotonic_cst short", {"monotonic_cst": [1]}, r"monotonic_cst has shape \(1,\)"),
    ("monotonic_cst 2", {"monotonic_cst": [2, 0, 0]}, "monotonic_cst.*-1, 0 or 1; got 2"),
    ("monotonic_cst 0.5", {"monotonic_cst": [0.5, 0, 0]}, "monotonic_cst.*-1, 0 or 1; got 0.5"),
    ("monotonic_cst nan", {"monotonic_cst": [nan, 0, 0]}, "monotonic_cst.*-1, 0 or 1; got nan"),
    ("monotonic_cst string", {"monotonic_cst": ["up", 0, 0]}, "monotonic_cst.*-1, 0 or 1; got 'up'"),
    ("monotonic_cst None", {"monotonic_cst": {0: None}}, "monotonic_cst.*-1, 0 or 1; got None"),
    ("monotonic_cst index", {"monotonic_cst": {5: 1}}, "feature 5.*3 features"),
    ("monotonic_cst half an index", {"monotonic_cst": {1.5: 1}}, "monotonic_cst.*1.5"),
    ("monotonic_cst name", {"monotonic_cst": {"a": 1}}, "'a'.*no names"),
    ("monotonic_cst on codes", {"monotonic_cst": [1, 0, 0], "categorical_features": [0]}, "categorical"),
    ("interaction_cst flat", {"interaction_cst": [0, 1]}, "interaction_cst.*groups"),
    ("interaction_cst word as group", {"interaction_cst": ["ab"]}, "interaction_cst.*groups.*'ab'"),
    ("interaction_cst index", {"interaction_cst": [[0, 3]]}, "feature 3"),
    ("interaction_cst float", {"interaction_cst": [[0.5]]}, "0.5"),
    ("interaction_cst None", {"interaction_cst": [[None]]}, "None"),
    ("cv without splits", {"ccp_alpha": "cv", "cv": []}, "cv"),
    ("cv without training rows", {"ccp_alpha": "cv", "cv": [([], [0, 1])]}, "no training rows"),
    ("cv of groups", {"ccp_alpha": "cv", "cv": GroupKFold(3)}, "groups"),
    ("cv of too many folds", {"ccp_alpha": "cv", "cv": KFold(N + 1)}, "n_splits=41"),
    ("stopping by folds without test rows", {"early_stopping": "cv", "cv": [(np.arange(N), np.arange(0))]}, "no test"),
    ("no number of experts", {"n_experts": [], "gate": "softmax"}, "n_experts"),
    ("zero experts", {"n_experts": [1, 0], "gate": "softmax"}, "n_experts"),
    ("gate_features name", {"gate_features": ["a"]}, "without names|gate_features"),
    ("gate_features position", {"gate_features": [3]}, "gate_features"),
    ("gate_features twice", {"gate_features": [1, 1]}, "twice.*gate_features"),
    ("gate_features bool", {"gate_features": [True]}, "True"),
    ("expert_features", {"expert_features": [0.5]}, "0.5"),
    ("too many experts", {"depth": 11, "branching": 2}, "depth=11.*1024"),
    ("too many branches", {"depth": 1, "branching": 1025}, "branching=1025"),
    ("an endless tree", {"depth": 10**400, "branching": 2}, "1024"),
    ("more experts than there are", {"n_experts": 4, "top_k": 5}, "top_k=5.*n_experts=4"),
    ("endless learning rate", {"learning_rate": 1e300, "n_layers": 1}, "learning_rate=1e.300"),
    ("infinite C", {"C": np.inf, "fit_intercept": True}, "C must be finite"),
    ("kernel of text", {"kernel": lambda a, b: "x"}, "kernel"),
    ("kernel of nan", {"kernel": lambda a, b: a @ b.T * nan}, "nan"),
    ("kernel precomputed", {"kernel": "precomputed", "n_landmarks": 5}, "kernel"),
    ("several quantiles of another loss", {"quantile": [0.1, 0.9]}, "quantile"),
    ("quantiles fall", {"quantile": [0.9, 0.1], "loss": "quantile"}, "quantile"),
    ("quantile twice", {"quantile": [0.5, 0.5], "loss": "quantile"}, "quantile"),
    ("quantile nan", {"quantile": [0.1, nan], "loss": "quantile"}, "quantile"),
    ("quantile 1", {"quantile": [0.5, 1.0], "loss": "quantile"}, "quantile"),
    ("quantiles of words", {"quantile": ["a", "b"], "loss": "quantile"}, "quantile"),
    ("no quantiles", {"quantile": [], "loss": "quantile"}, "quantile"),
    ("two functions", {"loss": (max, min), "dropout": 0.0}, "loss|value, gradient, hessian"),
    ("dropout with held-out rows", {"dropout": 0.1, "early_stopping": True}, "early_stopping='cv'"),
    ("dropout with a warm start", {"dropout": 0.1, "warm_start": True}, "warm_start=False"),
    ("a mean with a warm start", {"refit": False, "warm_start": True}, "warm_start=False"),
    ("no callback", {"callbacks": [3]}, "callbacks.*3"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "params", "text"),
    [
        pytest.param(cls, *case.values, id=f"{cls.__name__}-{case.id}")
        for case in BAD_FOR_THE_DATA
        for cls in ESTIMATORS
        if has_params(cls, **case.values[0])
        if cls.__name__ != "CommitteeClassifier" or case.id != "class_weight 1e300"  # divided by the mean
    ],
)
def test_values_that_the_data_do_not_allow_raise(cls: type[Any], params: dict[str, Any], text: str) -> None:
    assert_rejected(make(cls, **params), (ValueError, TypeError), text, X, target_of(cls))


@every(except_for(CLASSIFIERS, MULTICLASS))
def test_three_classes_raise_where_two_are_needed(cls: type[Any]) -> None:
    assert_rejected(make(cls), ValueError, "[Bb]inary", X, np.arange(N) % 3)


@pytest.mark.parametrize("y", [np.r_[-1.0, np.ones(N - 1)], np.zeros(N)], ids=["negative", "all zero"])
@every(having(criterion="poisson"))
def test_targets_that_are_no_counts_raise(cls: type[Any], y: Any) -> None:
    assert_rejected(make(cls, criterion="poisson"), ValueError, "poisson", X, y)


@every([cls for cls in CLASSIFIERS if has_params(cls, monotonic_cst=None)])
def test_monotonic_constraints_of_three_classes_raise(cls: type[Any]) -> None:
    assert_rejected(make(cls, monotonic_cst=[1, 0, 0]), ValueError, "multiclass", X, np.arange(N) % 3)
