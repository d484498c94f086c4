"""The algorithms of the members: estimators of this library, and linear models of scikit-learn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.gradient_boosting.validation import Rows as BoostedRows

Evaluation = Literal["own folds", "out of bag", "folds"]
"""Where held-out predictions come from, see `_out_of_fold`."""


class Algorithm(NamedTuple):
    """An algorithm: the classes of its estimators (module and name), its evaluation and defaults."""

    classifier: tuple[str, str]
    regressor: tuple[str, str]
    evaluation: Evaluation
    defaults: Mapping[str, Any] = {}
    has_values: bool = False  # the classifier has decision values instead of probabilities
    takes_categories: bool = False


class KeepsHeldOutScores:
    """Gradient boosting that stores the scores of its out-of-fold rows."""

    held_out_scores_: Floats

    def _calibrate(self, rows: BoostedRows, score: Floats) -> None:
        super()._calibrate(rows, score)  # type: ignore[misc]
        self.held_out_scores_ = score


class _BoostingClassifier(KeepsHeldOutScores, GradientBoostingClassifier):
    """Gradient boosting for classification."""


class _BoostingRegressor(KeepsHeldOutScores, GradientBoostingRegressor):
    """Gradient boosting for regression."""


_BOOSTING = (__name__, _BoostingClassifier.__name__), (__name__, _BoostingRegressor.__name__)
_FORESTS, _EXPERTS = "committee.forests.estimators", "committee.experts.mixture_of_experts"

ALGORITHMS: dict[str, Algorithm] = {
    "gradient boosting": Algorithm(
        *_BOOSTING, "own folds", {"early_stopping": "cv", "refit": False}, takes_categories=True,
    ),
    "random forest": Algorithm(
        (_FORESTS, "RandomForestClassifier"), (_FORESTS, "RandomForestRegressor"), "out of bag", takes_categories=True
    ),
    "extra trees": Algorithm(
        (_FORESTS, "ExtraTreesClassifier"), (_FORESTS, "ExtraTreesRegressor"), "out of bag",
        {"max_samples": 0.8}, takes_categories=True,
    ),
    "AdaBoost": Algorithm(
        ("committee.boosting.adaboost", "AdaBoostClassifier"), ("committee.boosting.adaboost_r2", "AdaBoostRegressor"),
        "folds", takes_categories=True,
    ),
    "support vector machine": Algorithm(
        ("committee.svm.svc", "SVC"), ("committee.svm.svr", "SVR"), "folds", has_values=True
    ),
    "Nystroem SVM": Algorithm(
        ("committee.svm.nystroem_svm", "NystroemSVC"), ("committee.svm.nystroem_svm", "NystroemSVR"), "folds",
        has_values=True,
    ),
    "mixture of experts": Algorithm(
        (_EXPERTS, "MixtureOfExpertsClassifier"), (_EXPERTS, "MixtureOfExpertsRegressor"), "folds"
    ),
    "linear model": Algorithm(
        ("sklearn.linear_model", "LogisticRegression"), ("sklearn.linear_model", "Ridge"), "folds"
    ),
}  # fmt: skip


def make_estimator(
    algorithm: str, parameters: Mapping[str, Any], is_class: bool, is_categorical: NDArray[np.bool_], seed: int,
    n_jobs: int | None,
) -> Any:  # fmt: skip
    """Make an estimator with these parameters, and with seed, threads and categorical columns if it takes them."""
    kind = ALGORITHMS[algorithm]
    module, name = kind.classifier if is_class else kind.regressor
    cls = getattr(importlib.import_module(module), name)
    possible: dict[str, Any] = {"random_state": seed}
    if module.startswith("committee."):  # it has no effect in scikit-learn's linear models
        possible["n_jobs"] = n_jobs
    if kind.takes_categories and is_categorical.any():
        possible["categorical_features"] = is_categorical
    names = cls().get_params(deep=False)
    general = {key: value for key, value in possible.items() if key in names}
    return cls(**{**kind.defaults, **general, **parameters})
