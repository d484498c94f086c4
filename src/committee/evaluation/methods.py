"""The methods of `compare` and their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from committee.bagging.estimators import BaggingClassifier, BaggingRegressor
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.forests.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.linear.logistic_regression import LogisticRegressionCV
from committee.linear.ridge import RidgeCV
from committee.members.numeric_pipeline import NumericPipelineClassifier, NumericPipelineRegressor
from committee.svm.nystroem_svm import NystroemSVC, NystroemSVR
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

Task = Literal["classification", "regression"]

MANY_ROWS = 5000
"""Rows beyond which the SVM uses the Nystroem approximation, and a mixture has one restart."""

FEW_ROWS = 1000
"""Rows below which a boosted tree may have no training error."""

NEVER = 2**60
"""`min_samples_split` of a tree without splits."""


class Size(NamedTuple):
    """Task and size of a table."""

    task: Task
    n_rows: int
    n_columns: int


class Method(NamedTuple):
    """A method with its full and quick settings."""

    name: str
    make: Callable[[Size], Any]  # an unfitted estimator for a table of this size
    description: str
    quick: dict[str, Any] | None = None  # parameters of a faster fit; None if it is fast


class Variants(NamedTuple):
    """An estimator with full settings, and one with quick settings or None."""

    full: Any
    quick: Any = None


def family_variants(task: Task, n_rows: int, n_columns: int = 1) -> dict[str, Variants]:
    """The methods by name, unfitted, with full and quick settings.

    >>> quick = family_variants("classification", 100)["gradient boosting"].quick
    >>> quick.n_estimators, quick.early_stopping
    (100, False)
    """
    size = Size(task, n_rows, n_columns)
    return {method.name: _variants(method, size) for method in METHODS}


def _variants(method: Method, size: Size) -> Variants:
    full = method.make(size)
    known = full.get_params()
    changes = {name: value for name, value in (method.quick or {}).items() if name in known and known[name] != value}
    return Variants(full, method.make(size).set_params(**changes) if changes else None)


def family(task: Task, n_rows: int, n_columns: int = 1) -> dict[str, Any]:
    """The methods by name, unfitted, in the order of the comparison.

    >>> list(family("classification", 100))[:4]
    ['constant', 'linear model', 'pruned tree', 'gradient boosting']
    """
    size = Size(task, n_rows, n_columns)
    return {method.name: method.make(size) for method in METHODS}


def _constant(size: Size) -> Any:
    """A tree without splits: class frequencies or the mean."""
    if size.task == "classification":
        return DecisionTreeClassifier(min_samples_split=NEVER)
    return DecisionTreeRegressor(min_samples_split=NEVER)


def _linear(size: Size) -> Any:
    if size.task == "classification":
        return NumericPipelineClassifier(LogisticRegressionCV())
    return NumericPipelineRegressor(RidgeCV())


def _pruned_tree(size: Size) -> Any:
    if size.task == "classification":
        return DecisionTreeClassifier(ccp_alpha="cv", cv=5)
    return DecisionTreeRegressor(ccp_alpha="cv", cv=5)


def _adaboost_stumps(size: Size) -> Any:
    """Stumps; for regression by least squares, since AdaBoost.R2 stops early with such weak learners."""
    if size.task == "classification":
        return AdaBoostClassifier(n_estimators=200)
    return GradientBoostingRegressor(max_leaf_nodes=2, n_estimators=400, learning_rate=0.1, early_stopping=False)


def _adaboost_trees(size: Size) -> Any:
    if size.task == "classification":
        # A tree without training error would end boosting after one iteration; a tree of a sample rarely has none.
        weighting = "resample" if size.n_rows < FEW_ROWS else "reweight"
        return AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=16), n_estimators=200, weighting=weighting)
    return AdaBoostRegressor(DecisionTreeRegressor(max_leaf_nodes=64), n_estimators=100)


def _gradient_boosting(size: Size) -> Any:
    return GradientBoostingClassifier() if size.task == "classification" else GradientBoostingRegressor()


def _bagging(size: Size) -> Any:
    if size.task == "classification":
        return BaggingClassifier(n_estimators=100)
    return BaggingRegressor(n_estimators=100)


def _random_forest(size: Size) -> Any:
    if size.task == "classification":
        return RandomForestClassifier(n_estimators=300)
    return RandomForestRegressor(n_estimators=300, max_features=1 / 3, min_samples_split=5)


def _extra_trees(size: Size) -> Any:
    if size.task == "classification":
        return ExtraTreesClassifier(n_estimators=300, min_samples_leaf=2)
    return ExtraTreesRegressor(n_estimators=300, min_samples_leaf=2)


def _support_vectors(size: Size) -> Any:
    if size.task == "classification":
        is_large = size.n_rows > MANY_ROWS
        return NumericPipelineClassifier(NystroemSVC() if is_large else SVC(probability=True))
    return NumericPipelineRegressor(NystroemSVR() if size.n_rows > MANY_ROWS else SVR())


def _mixture(size: Size) -> Any:
    """On many rows one restart and few iterations of EM, for speed.

    The penalties, as in committees, avoid overconfident probabilities on small tables.
    """
    few_rows: dict[str, Any] = {"n_restarts": 3, "max_iter": 200, "tol": 1e-5}
    many_rows: dict[str, Any] = {"n_restarts": 1, "max_iter": 40, "tol": 1e-3}
    settings: dict[str, Any] = {
        "n_experts": 3,
        "l2": 1.0,
        "gate_l2": 1.0,
        **(many_rows if size.n_rows > MANY_ROWS else few_rows),
    }
    if size.task == "classification":
        return NumericPipelineClassifier(MixtureOfExpertsClassifier(**settings))
    return NumericPipelineRegressor(MixtureOfExpertsRegressor(**settings))


METHODS = (
    Method("constant", _constant, "constant prediction: class frequencies or the mean"),
    Method("linear model", _linear, "logistic or ridge regression, the penalty chosen by cross-validation"),
    Method("pruned tree", _pruned_tree, "one CART tree, pruned by cross-validation"),
    Method(
        "gradient boosting", _gradient_boosting, "gradient-boosted trees with early stopping",
        {"n_estimators": 100, "early_stopping": False, "learning_rate": 0.1},
    ),
    Method(
        "random forest", _random_forest, "300 trees on bootstrap samples, a random subset of the features at each node",
        {"n_estimators": 60},
    ),
    Method("extra trees", _extra_trees, "300 trees with random thresholds", {"n_estimators": 60}),
    Method(
        "AdaBoost stumps", _adaboost_stumps, "boosted trees with one split; for regression, stagewise least squares",
        {"n_estimators": 50},
    ),
    Method(
        "SVM", _support_vectors, "support vector machine with a Gaussian kernel; Nystroem approximation for many rows",
        {"estimator__n_landmarks": 200},
    ),
    Method("bagging", _bagging, "100 unpruned trees on bootstrap samples", {"n_estimators": 25}),
    Method(
        "AdaBoost trees", _adaboost_trees, "AdaBoost of trees with 16 leaves; AdaBoost.R2 for regression",
        {"n_estimators": 40},
    ),
    Method(
        "mixture of experts", _mixture, "three linear experts and a gate",
        {"estimator__n_restarts": 1, "estimator__max_iter": 20, "estimator__tol": 1e-3},
    ),
)  # fmt: skip
"""In the order of evaluation, by expected benefit for their time."""
