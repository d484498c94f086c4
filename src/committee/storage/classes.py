"""Which classes a model file may name. A name that no rule here admits is never imported.

Of this library: named tuples, frozen dataclasses and estimators that a module of the layers below defines, and the few
plain classes of `PLAIN`. Of scikit-learn: the estimators of `SKLEARN`, which hold nothing but numbers, arrays and each
other, and whose predictions are made by NumPy alone: whatever their arrays hold, the worst is an error.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from committee.storage.errors import ModelFileError

PACKAGE = Path(__file__).resolve().parents[1]

LAYERS = (
    "base", "data", "theory", "parts", "trees", "bagging", "boosting", "forests", "svm", "experts", "voting",
    "linear", "studies", "committees",
)  # fmt: skip

PLAIN = (
    "committee.boosting.online_boosting.BoostedMember",
    "committee.committees.evidence.Seconds",
    "committee.data.history.History",
    "committee.parts.online_members.OnlineMember",
    "committee.parts.prequential.Prequential",
    "committee.parts.tree_scores.PackedSum",
    "committee.storage.prediction_only.LostMembers",
    "committee.storage.prediction_only.PackedMembers",
    "committee.storage.prediction_only.PackedTreeList",
    "committee.trees.view.TreeView",
)
"""Classes that are neither tuple, dataclass nor estimator; their state is what `__getstate__` gives, or `vars`."""

RENAMED: dict[str, str] = {
    "committee.forests.calibration.Calibration": "committee.parts.calibration.Calibration",
    "committee.forests.intervals.Residuals": "committee.parts.prediction_intervals.Residuals",
    "committee.parts.oob_intervals.Residuals": "committee.parts.prediction_intervals.Residuals",
}
"""Old name -> new name of classes, so that older files stay readable."""

SKLEARN = {
    "sklearn.compose": ("TransformedTargetRegressor",),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.feature_selection": ("VarianceThreshold",),
    "sklearn.impute": ("SimpleImputer", "MissingIndicator"),
    "sklearn.linear_model": (
        "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lasso", "LassoCV", "LinearRegression",
        "LogisticRegression", "LogisticRegressionCV", "Perceptron", "PoissonRegressor", "Ridge", "RidgeCV",
        "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor",
    ),
    "sklearn.naive_bayes": ("BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.neural_network": ("MLPClassifier", "MLPRegressor"),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        "LabelBinarizer", "LabelEncoder", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder",
        "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer", "RobustScaler", "StandardScaler",
    ),
}  # fmt: skip

LOSSES = {
    "sklearn._loss._loss": ("CyHalfBinomialLoss", "CyHalfSquaredError", "CyHuberLoss"),
    "sklearn.linear_model._sgd_fast": (
        "EpsilonInsensitive", "Hinge", "ModifiedHuber", "SquaredEpsilonInsensitive", "SquaredHinge",
    ),
}  # fmt: skip
"""Compiled losses that linear models of scikit-learn keep; they are made again from their numbers."""


def class_name(kind: type) -> str | None:
    """The name under which a model file knows the class, None where it may not hold it."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__.startswith("committee."):
        return name if _is_data(kind) and kind is _look_up(name) else None
    for home, names in SKLEARN.items():
        if kind.__module__.startswith("sklearn.") and kind.__name__ in names and find_class(_join(home, kind)) is kind:
            return _join(home, kind)
    return None


def find_class(name: str) -> type:
    """The class of a name in a file."""
    name = RENAMED.get(name, name)
    home, _, short = name.rpartition(".")
    if home in SKLEARN and short in SKLEARN[home]:
        return getattr(importlib.import_module(home), short)
    kind = _look_up(name)
    if kind is None or not _is_data(kind):
        raise ModelFileError(
            f"The file names the class {name!r:.120}, which a model file may not hold, or which this version of "
            "committee does not have."
        )
    return kind


def find_loss(name: str) -> Any:
    """A compiled loss of scikit-learn by name, None where the list does not have it."""
    home, _, short = name.rpartition(".")
    return getattr(importlib.import_module(home), short, None) if short in LOSSES.get(home, ()) else None


def loss_name(value: object) -> str | None:
    """The name of a compiled loss, None for anything else."""
    kind = type(value)
    return _join(kind.__module__, kind) if kind.__name__ in LOSSES.get(kind.__module__, ()) else None


def is_named_tuple(kind: type) -> bool:
    """Of its own right: a class derived from one would escape the checks of that one."""
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields")


def records() -> dict[str, np.dtype[np.void]]:
    """The dtypes with fields that arrays may have, by name: any other is refused."""
    from committee.parts.traversing import PACKED

    return {"PACKED": PACKED}


def _join(home: str, kind: type) -> str:
    return f"{home}.{kind.__name__}"


def _is_data(kind: type) -> bool:
    is_plain = f"{kind.__module__}.{kind.__qualname__}" in PLAIN
    return is_plain or is_named_tuple(kind) or is_dataclass(kind) or issubclass(kind, BaseEstimator)


@cache
def _modules() -> frozenset[str]:
    """All modules that may be imported for a class; found by their files, imported only when named."""
    found = {f"committee.{layer}.{name}" for layer in LAYERS for _, name, _ in pkgutil.iter_modules([PACKAGE / layer])}
    return frozenset(found | {"committee.storage.prediction_only"})


@cache
def _look_up(name: str) -> type | None:
    home, _, short = name.rpartition(".")
    if home not in _modules():
        return None
    found = vars(importlib.import_module(home)).get(short)
    return found if isinstance(found, type) and found.__module__ == home else None
