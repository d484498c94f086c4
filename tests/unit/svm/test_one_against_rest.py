"""Linear and Nystroem machines: one machine per class against the rest, and weights that count rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.datasets import load_dataset
from committee.svm.linear_svm import LinearSVC, LinearSVR
from committee.svm.nystroem_svm import NystroemSVC, NystroemSVR
from tests.bad_input import N, X
from tests.catalog import assert_alike, target_of

SETTINGS: list[Any] = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", scale=True, class_weight="balanced"),
    LinearSVC(penalize_intercept=True, C=10.0),
    LinearSVR(),
    LinearSVR(epsilon=0.1, loss="squared_epsilon_insensitive", scale=True),
    NystroemSVC(random_state=0),
    NystroemSVC(8, landmarks="uniform", scale=True, class_weight="balanced", random_state=0),
    NystroemSVC(10, landmarks="leverage", kernel="laplacian", C=10.0, random_state=0),
    NystroemSVR(random_state=0),
    NystroemSVR(12, kernel="poly", epsilon=0.0, coef0=1.0, scale=True, random_state=0),
]


@parametrize_with_checks(SETTINGS)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("model", "coefficients", "score"),
    [
        (LinearSVC(loss="hinge", scale=True), "coef_", 0.78),
        (NystroemSVC(scale=True, C=10.0, random_state=0), "landmark_coef_", 0.85),
    ],
    ids=["linear", "Nystroem"],
)
def test_several_classes_are_several_machines(model: Any, coefficients: str, score: float) -> None:
    vehicle = load_dataset("vehicle")
    together = clone(model).fit(vehicle.X, vehicle.y)
    assert len(getattr(together, coefficients)) == 4
    for k, name in enumerate(together.classes_):
        alone = clone(model).fit(vehicle.X, vehicle.y == name)
        np.testing.assert_allclose(getattr(together, coefficients)[k], getattr(alone, coefficients)[0], atol=1e-6)
    assert sorted(set(together.history_.problem.tolist())) == [0, 1, 2, 3]
    assert together.score(vehicle.X, vehicle.y) > score


@pytest.mark.parametrize("setting", SETTINGS, ids=repr)
def test_weights_mean_repetition(setting: Any) -> None:
    weight, y = np.arange(N) % 4, target_of(type(setting))
    weighted = clone(setting).fit(X, y, sample_weight=weight)
    repeated = clone(setting).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_alike(weighted, repeated, rtol=1e-6, atol=1e-8)
