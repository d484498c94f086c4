"""Small estimators of every class of the catalogue, and the classes that have what a contract test is about."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import make_constraint
from sklearn.utils.validation import has_fit_parameter

import committee
from committee.catalog import CATALOG
from committee.committees.plan import Member
from tests.bad_input import LABELS, VALUES, X, with_params

ESTIMATORS: list[type[Any]] = [getattr(committee, entry.name) for entry in CATALOG]
FRAME = pd.DataFrame(X, columns=list("abc"))

SMALL: dict[str, Any] = {
    "n_estimators": 6, "random_state": 0, "n_restarts": 1, "n_landmarks": 10, "hidden_units": 4,
}  # fmt: skip
"""Parameters that make fits quick, for the estimators that have them."""

OWN: dict[str, dict[str, Any]] = {
    "GradientBoosting": {"min_samples_leaf": 2, "learning_rate": 0.5},  # splits of the few rows here
    "MixtureOfExperts": {"n_experts": 2, "max_iter": 30},
    "Hierarchical": {"max_iter": 60, "tol": 1e-3, "l2": 0.1, "gate_l2": 0.1},
    "SparselyGated": {"n_experts": 4, "max_iter": 8},
    "Committee": {
        "members": [Member("trees", "extra trees", {"n_estimators": 8}), Member("line", "linear model", {}, "scaled")],
        "cv": 3,
    },
    "CalibratedClassifier": {"estimator": committee.DecisionTreeClassifier(max_depth=2), "cv": 3},
    "NumericPipelineClassifier": {"estimator": committee.PocketPerceptron(random_state=0)},
    "NumericPipelineRegressor": {"estimator": committee.LinearSVR()},
}
"""Parameters of the classes whose names begin so."""


def make(cls: type[Any], **params: Any) -> Any:
    """A small estimator, the same at every fit, with those of the parameters that it has."""
    own = next((own for name, own in OWN.items() if cls.__name__.startswith(name)), {})
    if "estimators" in cls.__init__.__annotations__:  # votes and stacks need members
        tree: Any = decision_tree(cls)
        own = {"estimators": [("a", tree(max_depth=1)), ("b", tree(max_depth=2))]}
        if has_params(cls, final_estimator=None):
            own |= {"final_estimator": tree(max_depth=1), "cv": 3}
    return with_params(cls, **{**SMALL, **own, **params})


def decision_tree(cls: type[Any]) -> Any:
    """The class of trees that predict what this class predicts."""
    return committee.DecisionTreeClassifier if "Classifier" in cls.__name__ else committee.DecisionTreeRegressor


def has_params(cls: type[Any], **params: Any) -> bool:
    return params.keys() <= cls._parameter_constraints.keys()


def takes(cls: type[Any], **params: Any) -> bool:
    """Whether it has these parameters and each of the values is among the accepted ones."""
    return has_params(cls, **params) and all(
        any(make_constraint(each).is_satisfied_by(value) for each in cls._parameter_constraints[name])
        for name, value in params.items()
    )


CLASSIFIERS = [cls for cls in ESTIMATORS if is_classifier(make(cls))]
REGRESSORS = [cls for cls in ESTIMATORS if is_regressor(make(cls))]
SUPERVISED = CLASSIFIERS + REGRESSORS
WEIGHTED = [cls for cls in ESTIMATORS if has_fit_parameter(make(cls), "sample_weight")]
MISSING_VALUES = [cls for cls in ESTIMATORS if get_tags(make(cls)).input_tags.allow_nan]
MULTICLASS = [cls for cls in CLASSIFIERS if get_tags(make(cls)).classifier_tags.multi_class]


def having(**params: Any) -> list[type[Any]]:
    """The classes that have these parameters and accept the values."""
    return [cls for cls in ESTIMATORS if takes(cls, **params)]


def among(*prefixes: str, classes: list[type[Any]] = ESTIMATORS) -> list[type[Any]]:
    """The classes of these packages, or whose names begin so."""
    return [cls for cls in classes if cls.__module__.startswith(prefixes) or cls.__name__.startswith(prefixes)]


def except_for(classes: list[type[Any]], *others: list[type[Any]]) -> list[type[Any]]:
    """The classes that are in none of the other lists."""
    return [cls for cls in classes if not any(cls in other for other in others)]


def every(classes: list[type[Any]]) -> Any:
    """A test of every one of these classes, named after it."""
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


def target_of(cls: type[Any]) -> Any:
    return LABELS if cls in CLASSIFIERS else VALUES


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls).fit(X, target_of(cls))


def predictions_of(model: Any, rows: Any = X) -> Any:
    for method in ("score_samples", "predict_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(rows)
    raise AssertionError(f"{type(model).__name__} predicts nothing")


def assert_alike(model: Any, expected: Any, rows: Any = X, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """The two models predict the same but for rounding."""
    np.testing.assert_allclose(predictions_of(model, rows), predictions_of(expected, rows), rtol=rtol, atol=atol)


def assert_unchanged(model: Any, before: dict[str, Any]) -> None:
    """The very attributes of before, and no others."""
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
