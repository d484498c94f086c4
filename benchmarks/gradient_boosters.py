"""Gradient boosting in every library with the same parameters: trees, leaves, shrinkage, bins, rows of a leaf.

Libraries are imported when a model is made, so that one that is not installed is only missing from the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import committee

Make = Callable[..., Any]

TREES = 100
LEAVES = 31
RATE = 0.1
BINS = 255
LEAF_ROWS = 20


def our_model(is_class: bool, n_jobs: int = 1, **more: Any) -> Any:
    kind: Any = committee.GradientBoostingClassifier if is_class else committee.GradientBoostingRegressor
    return kind(
        n_estimators=TREES, learning_rate=RATE, max_leaf_nodes=LEAVES, max_bins=BINS, min_samples_leaf=LEAF_ROWS,
        early_stopping=False, n_jobs=n_jobs, **more,
    )  # fmt: skip


def lightgbm_model(is_class: bool, n_jobs: int = 1, **more: Any) -> Any:
    """LightGBM; `use_quantized_grad=True` is its mode of gradients in a few bits."""
    import lightgbm

    kind: Any = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    return kind(
        n_estimators=TREES, learning_rate=RATE, num_leaves=LEAVES, max_bin=BINS, min_child_samples=LEAF_ROWS,
        n_jobs=n_jobs, verbosity=-1, **more,
    )  # fmt: skip


def xgboost_model(is_class: bool, n_jobs: int = 1, **more: Any) -> Any:
    """XGBoost limits the sum of hessians in a leaf, which is its number of rows for the squared error only."""
    import xgboost

    kind: Any = xgboost.XGBClassifier if is_class else xgboost.XGBRegressor
    return kind(
        n_estimators=TREES, learning_rate=RATE, max_leaves=LEAVES, max_depth=0, grow_policy="lossguide", max_bin=BINS,
        min_child_weight=1 if is_class else LEAF_ROWS, reg_lambda=0.0, tree_method="hist", enable_categorical=True,
        n_jobs=n_jobs, **more,
    )  # fmt: skip


def sklearn_model(is_class: bool, **more: Any) -> Any:
    """scikit-learn takes as many threads as OpenMP is allowed."""
    from sklearn import ensemble

    kind: Any = ensemble.HistGradientBoostingClassifier if is_class else ensemble.HistGradientBoostingRegressor
    return kind(
        max_iter=TREES, learning_rate=RATE, max_leaf_nodes=LEAVES, max_bins=BINS, min_samples_leaf=LEAF_ROWS,
        early_stopping=False, **more,
    )  # fmt: skip


def catboost_model(is_class: bool, n_jobs: int = 1, **more: Any) -> Any:
    """CatBoost's own symmetric trees, of 32 leaves."""
    import catboost

    kind: Any = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
    return kind(
        iterations=TREES, learning_rate=RATE, depth=5, border_count=BINS - 1, bootstrap_type="No",
        thread_count=n_jobs, verbose=0, allow_writing_files=False, **more,
    )  # fmt: skip
