"""The algorithms that members come from: the estimators of the library, and linear models of scikit-learn."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting._validation import Rows as BoostedRows
from committee.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor

Judging = Literal["own folds", "bag", "folds"]


class Algorithm(NamedTuple):
    """A kind of member: the classes of its estimators (module and name), how it is judged, what it answers with."""

    classifier: tuple[str, str]
    regressor: tuple[str, str]
    judging: Judging
    defaults: Mapping[str, Any] = {}
    has_values: bool = False  # a classifier's decision values instead of probabilities
    takes_categories: bool = False


class KeepsHeldOutScores:
    """Gradient boosting that keeps the scores of the rows its folds left out."""

    held_out_scores_: Floats

    def _calibrate(self, rows: BoostedRows, score: Floats) -> None:
        super()._calibrate(rows, score)  # type: ignore[misc]
        self.held_out_scores_ = score


class _JudgedBoostingClassifier(KeepsHeldOutScores, GradientBoostingClassifier):
    """Boosting for classes; the parameters are those of its base."""


class _JudgedBoostingRegressor(KeepsHeldOutScores, GradientBoostingRegressor):
    """Boosting for numbers; the parameters are those of its base."""


_BOOSTING = (__name__, _JudgedBoostingClassifier.__name__), (__name__, _JudgedBoostingRegressor.__name__)
_FORESTS, _EXPERTS = "committee.forests.estimators", "committee.experts.mixture_of_experts"

ALGORITHMS: dict[str, Algorithm] = {
    "gradient boosting": Algorithm(
        *_BOOSTING, "own folds", {"early_stopping": "cv", "refit": False}, takes_categories=True,
    ),
    "random forest": Algorithm(
        (_FORESTS, "RandomForestClassifier"), (_FORESTS, "RandomForestRegressor"), "bag", takes_categories=True
    ),
    "extra trees": Algorithm(
        (_FORESTS, "ExtraTreesClassifier"), (_FORESTS, "ExtraTreesRegressor"), "bag",
        {"max_samples": 0.8}, takes_categories=True,
    ),
    "AdaBoost": Algorithm(
        ("committee.boosting.adaboost", "AdaBoostClassifier"), ("committee.boosting.adaboost_r2", "AdaBoostRegressor"),
        "folds", takes_categories=True,
    ),
    "support vector machine": Algorithm(
        ("committee.svm.svc", "SVC"), ("committee.svm.svr", "SVR"), "folds", has_values=True
    ),
    "landmark machine": Algorithm(
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
    """An estimator of the algorithm, with the parameters and those of seed, threads and categories that it has."""
    kind = ALGORITHMS[algorithm]
    module, name = kind.classifier if is_class else kind.regressor
    cls = getattr(importlib.import_module(module), name)
    possible: dict[str, Any] = {"random_state": seed}
    if module.startswith("committee."):  # scikit-learn's linear models warn of it
        possible["n_jobs"] = n_jobs
    if kind.takes_categories and is_categorical.any():
        possible["categorical_features"] = is_categorical
    known = cls().get_params(deep=False)
    usual = {key: value for key, value in possible.items() if key in known}
    return cls(**{**kind.defaults, **usual, **parameters})
