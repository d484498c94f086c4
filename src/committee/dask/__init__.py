"""committee on a Dask cluster; needs the extra `committee[dask]`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.dask.bagging import BaggingClassifier, BaggingRegressor
    from committee.dask.forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from committee.dask.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]

_MODULES = {
    "Bagging": "committee.dask.bagging",
    "ExtraTrees": "committee.dask.forests",
    "GradientBoosting": "committee.dask.gradient_boosting",
    "RandomForest": "committee.dask.forests",
}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for: comparisons import other modules of this package."""
    if name in __all__:
        family = name.removesuffix("Classifier").removesuffix("Regressor")
        return getattr(importlib.import_module(_MODULES[family]), name)
    raise AttributeError(f"module 'committee.dask' has no attribute {name!r}")
