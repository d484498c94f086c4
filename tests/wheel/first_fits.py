"""Fits every estimator of the catalogue and prints what it predicts, as digests, and the seconds of compilation.

Run by `test_wheel.py` with the interpreter that has the wheel, so it imports nothing of the tests.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils import get_tags

import committee
from committee.base.kernel_cache import COMPILING
from committee.base.shipped_kernels import shipped_kernels
from committee.catalog import CATALOG

PARAMS: dict[str, dict[str, Any]] = {
    "Committee": {"time_budget": None, "cv": 2},
    "Online": {"n_estimators": 10},
    "SparselyGated": {"n_experts": 4, "max_iter": 20},
    "Hierarchical": {"max_iter": 20},
    "LPBoost": {"n_estimators": 20},
}
"""Parameters of the classes whose names begin so: their defaults take seconds."""


def make(cls: type[Any]) -> Any:
    params = next((params for name, params in PARAMS.items() if cls.__name__.startswith(name)), {})
    model = cls(**params)
    if "estimators" in model.get_params(deep=False) and model.get_params(deep=False)["estimators"] in (None, ()):
        tree = committee.DecisionTreeClassifier if is_classifier(model) else committee.DecisionTreeRegressor
        model.set_params(estimators=[("shallow", tree(max_depth=1)), ("deep", tree(max_depth=3))])
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    return model


def tables(model: Any) -> dict[str, tuple[Any, Any]]:
    """Tables that come to a first fit: plain numbers, single precision, missing values, labels as text."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=1000)
    if is_outlier_detector(model):
        return {"numbers": (X, None), "float32": (X.astype(np.float32), None)}
    if not is_classifier(model):
        target = score - score.min()
        result = {"numbers": (X, target), "float32": (X.astype(np.float32), target)}
    else:
        result = {"two classes": (X, score > 0), "float32": (X.astype(np.float32), np.where(score > 0, "yes", "no"))}
        if get_tags(model).classifier_tags.multi_class:
            result["three classes"] = (X, np.digitize(score, [-1.0, 1.0]))
    if get_tags(model).input_tags.allow_nan:
        holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        result["missing"] = (holed, next(iter(result.values()))[1])
    return result


def digest(model: Any, X: Any) -> str:
    """SHA-256 of everything that a fitted model says about rows."""
    content = hashlib.sha256()
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            for rows in (X, X[:1]):
                content.update(np.ascontiguousarray(getattr(model, method)(rows)).astype("U").tobytes())
    return content.hexdigest()


def main() -> None:
    warnings.simplefilter("ignore")
    fits: dict[str, Any] = {}
    for entry in CATALOG:
        cls = getattr(committee, entry.name)
        for kind, (X, y) in tables(make(cls)).items():
            before = COMPILING.seconds
            model = make(cls).fit(X, y)
            fits[f"{entry.name}: {kind}"] = {"digest": digest(model, X), "compiled": COMPILING.seconds - before}
    shipped = shipped_kernels()
    level = shipped.level.name if shipped.level else None
    json.dump({"package": committee.__file__, "level": level, "refusal": shipped.refusal, "fits": fits}, sys.stdout)


if __name__ == "__main__":
    main()
