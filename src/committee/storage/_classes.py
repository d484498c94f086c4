"""The classes that model files may have. Classes that are neither in `schema.json` nor here are never imported.

Of this library: the types of `schema.json`. Of scikit-learn: the estimators of `SKLEARN`, which hold nothing but
numbers, arrays and each other, and whose predictions are made by NumPy alone: whatever their arrays hold, the worst is
an error.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from committee.storage._schema import StoredType, stored_type, stored_types
from committee.storage.errors import ModelFileError

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
"""Compiled losses of scikit-learn's linear models, which are created from their parameters."""


def find_stored_type(kind: type) -> StoredType | None:
    """The stored type of a class of this library or of scikit-learn; None if it cannot be stored."""
    if kind.__module__.startswith("committee."):
        return stored_type(kind)
    for home, names in SKLEARN.items():
        is_listed = kind.__module__.startswith("sklearn.") and kind.__name__ in names
        if is_listed and getattr(importlib.import_module(home), kind.__name__) is kind:
            return _of_scikit_learn(home, kind.__name__)
    return None


def find_tag(tag: str) -> StoredType:
    """The type of a tag in a file."""
    home, _, short = tag.rpartition(".")
    if home in SKLEARN and short in SKLEARN[home]:
        return _of_scikit_learn(home, short)
    result = stored_types().get(tag)
    if result is None:
        raise ModelFileError(
            f"The file names the type {tag!r:.120}, which a model file may not hold, or which this version of "
            "committee does not have."
        )
    return result


def _of_scikit_learn(home: str, name: str) -> StoredType:
    """Stored as scikit-learn's version has it, private attributes too."""
    return StoredType(f"{home}.{name}", home, name, {}, is_open=True)


def find_loss(name: str) -> Any:
    """A compiled loss of scikit-learn by name, None where the list does not have it."""
    home, _, short = name.rpartition(".")
    return getattr(importlib.import_module(home), short, None) if short in LOSSES.get(home, ()) else None


def loss_name(value: object) -> str | None:
    """The name of a compiled loss, None for anything else; before scikit-learn 1.9 `__module__` lacks the package."""
    kind = type(value)
    for home, names in LOSSES.items():
        if kind.__name__ in names and getattr(importlib.import_module(home), kind.__name__) is kind:
            return _join(home, kind)
    return None


def is_named_tuple(kind: type) -> bool:
    """Whether the class itself is listed; a derived class would avoid the checks of its base."""
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields")


def records() -> dict[str, np.dtype[np.void]]:
    """The structured dtypes that arrays may have, by name."""
    from committee.tree_engine.predict.apply import PACKED

    return {"PACKED": PACKED}


def _join(home: str, kind: type) -> str:
    return f"{home}.{kind.__name__}"
