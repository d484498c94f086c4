"""committee on a Dask cluster; needs the extra `committee[dask]`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.dask.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

_MODULES = {name: "committee.dask.gradient_boosting" for name in __all__}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for: comparisons import other modules of this package."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'committee.dask' has no attribute {name!r}")
