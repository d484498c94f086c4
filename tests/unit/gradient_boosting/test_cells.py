"""Cell rounds find effects of pairs of columns that no split on one column shows, and nothing in noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.gradient_boosting import cells
from committee.gradient_boosting import memory_rows as rounds_of
from committee.gradient_boosting.cells import CellGrower, Effects, is_cell_round
from committee.gradient_boosting.trees import TreeGrower, TreePlan
from committee.records.growth import Constraints
from committee.storage import load_model, save_model
from committee.tree_engine.binning import BinMapper

Floats = NDArray[np.float64]
NO_WEIGHTS = np.empty(0)
PLAN = TreePlan(15, 30, 10, 1e-3, 0.0, 0.0, 1.0, 3, 10.0, 100.0, 0.7, True, 32)
DEFAULT: dict[str, Any] = {"random_state": 0, "categorical_features": [0, 1]}


def pairs_beside_a_number(n: int, seed: int, effect: float = 1.0) -> tuple[Floats, Floats, Floats]:
    """The table, the target, and the effects of the pairs of two columns."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 20, n), rng.integers(0, 30, n)
    z = rng.normal(size=n)
    pair = effect * rng.normal(size=(20, 30))[a, b]
    return np.column_stack([a, b, z]).astype(np.float64), pair + z + rng.normal(size=n), pair


def estimate(X: Floats, g: Floats, weight: Floats = NO_WEIGHTS, seed: int = 0) -> Effects | None:
    matrix = BinMapper(255).fit_transform(X, weight if weight.size else None, np.array([True, True, False]))
    constraints = Constraints.none(3)
    grower = TreeGrower(matrix, constraints, PLAN, weight)
    return CellGrower(grower, constraints, weight, NO_WEIGHTS, 1).estimate(g, np.ones(g.size), None, seed)


def without_cell_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_of, "is_cell_round", lambda t: False)


def test_the_first_rounds_and_four_of_five_are_ordinary():
    assert [t for t in range(30) if is_cell_round(t)] == [14, 19, 24, 29]


def test_effects_of_pairs_are_estimated_almost_as_well_as_they_can_be():
    X, y, pair = pairs_beside_a_number(6_000, 0)
    found = estimate(X, y - X[:, 2])
    assert found is not None
    assert found.features.tolist() == [0, 1]
    # Ten rows in a cell, noise and effects of variance 1: at most 10 / 11 of the variance can be explained.
    assert 0.87 < 1.0 - np.mean((pair - found.effect) ** 2) / pair.var() < 10.0 / 11.0


def test_noise_has_no_effects():
    """The threshold lets noise pass in one table of six or so; rows have unequal variances. Effects are then tiny."""
    found = []
    for seed in range(20):
        X, _, _ = pairs_beside_a_number(3_000, seed)
        noise = np.random.default_rng(seed + 100).standard_t(4, 3_000) * (1.0 + X[:, 1] / 10.0)
        found.append((estimate(X, noise), noise.var()))
    sizes = [np.mean(each.effect**2) / variance for each, variance in found if each is not None]
    assert len(sizes) <= 8
    assert max(sizes, default=0.0) < 0.02


def test_a_column_has_effects_of_its_own_and_slopes():
    rng = np.random.default_rng(0)
    X, _, _ = pairs_beside_a_number(5_000, 0)
    a, z = X[:, 0].astype(int), X[:, 2]
    level, slope = estimate(X, rng.normal(size=20)[a] + rng.normal(size=5_000)), estimate(X, rng.normal(size=20)[a] * z)
    assert level is not None
    assert slope is not None
    assert 0 in level.features
    assert slope.features.tolist() == [0, 2]


def test_an_integer_weight_is_as_many_rows():
    X, y, _ = pairs_beside_a_number(1_500, 1)
    weight = np.random.default_rng(0).integers(1, 4, y.size)
    weighted = estimate(X, y, weight.astype(np.float64))
    repeated = estimate(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted is not None
    assert repeated is not None
    np.testing.assert_allclose(np.repeat(weighted.effect, weight), repeated.effect, rtol=1e-6)


def test_at_most_a_number_of_pairs_is_searched(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cells, "MAX_SEARCHED", 1)
    X, y, _ = pairs_beside_a_number(3_000, 0)
    found = [estimate(X, y, seed=seed) for seed in range(12)]
    assert len({tuple(each.features.tolist()) for each in found if each is not None}) > 1


def test_the_default_regression_explains_pairs(monkeypatch: pytest.MonkeyPatch):
    X, y, _ = pairs_beside_a_number(6_000, 2)
    train, test = slice(0, 4_000), slice(4_000, None)
    score = GradientBoostingRegressor(**DEFAULT).fit(X[train], y[train]).score(X[test], y[test])
    without_cell_rounds(monkeypatch)
    assert score > GradientBoostingRegressor(**DEFAULT).fit(X[train], y[train]).score(X[test], y[test]) + 0.02


def test_the_default_classification_explains_pairs(monkeypatch: pytest.MonkeyPatch):
    X, y, _ = pairs_beside_a_number(6_000, 2)
    train, test, labels = slice(0, 4_000), slice(4_000, None), y > 1.0

    def loss() -> float:
        model = GradientBoostingClassifier(**DEFAULT).fit(X[train], labels[train])
        return log_loss(labels[test], model.predict_proba(X[test]))

    with_cells = loss()
    without_cell_rounds(monkeypatch)
    assert with_cells < 0.96 * loss()


@pytest.mark.parametrize(
    ("settings", "has_cells"),
    [
        ({}, True),
        ({"early_stopping": True}, True),
        ({"early_stopping": "cv"}, True),
        ({"n_estimators": 30}, False),
        ({"n_estimators": 30, "early_stopping": True}, False),
        ({"categorical_features": None}, False),
        ({"dropout": 0.1, "early_stopping": "cv", "n_iter_no_change": 5}, False),
        ({"loss": "absolute_error"}, False),
    ],
    ids=str,
)
def test_cell_rounds_are_made_where_validation_chooses_the_automatic_number_of_rounds(
    settings: dict[str, Any], has_cells: bool, monkeypatch: pytest.MonkeyPatch
):
    X, y, _ = pairs_beside_a_number(1_500, 3)
    model = GradientBoostingRegressor(**(DEFAULT | settings)).fit(X, y)
    without_cell_rounds(monkeypatch)
    other = GradientBoostingRegressor(**(DEFAULT | settings)).fit(X, y)
    assert np.array_equal(model.predict(X), other.predict(X)) != has_cells


def test_names_of_categories_have_no_effect():
    X, y, _ = pairs_beside_a_number(2_000, 4)
    renamed = X.copy()
    renamed[:, 0] = np.random.default_rng(5).permutation(20)[X[:, 0].astype(int)]
    X_val, y_val, _ = pairs_beside_a_number(500, 5)
    known = X_val.copy()
    known[:, 0] = np.random.default_rng(5).permutation(20)[X_val[:, 0].astype(int)]
    first = GradientBoostingRegressor(**DEFAULT).fit(X, y, X_val=X_val, y_val=y_val)
    second = GradientBoostingRegressor(**DEFAULT).fit(renamed, y, X_val=known, y_val=y_val)
    np.testing.assert_array_equal(first.predict(X), second.predict(renamed))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "expectile"])
def test_the_training_loss_never_increases(loss: Any):
    X, y, _ = pairs_beside_a_number(1_500, 6)
    target = np.exp(0.5 * y) if loss == "poisson" else y
    history = GradientBoostingRegressor(**DEFAULT, loss=loss).fit(X, target).history_
    assert np.all(np.diff(history.train_loss) <= 1e-9 * np.abs(history.train_loss[0]))


def test_limits_of_trees_hold_in_cell_rounds():
    X, y, _ = pairs_beside_a_number(3_000, 7)
    settings = DEFAULT | {"max_leaf_nodes": 4, "max_depth": 2, "min_samples_leaf": 50}
    model = GradientBoostingRegressor(**settings).fit(X, y)
    assert max(tree.n_leaves for tree in model.trees_) <= 4
    assert min(int(tree.n_samples.min()) for tree in model.trees_) >= 50
    assert max(tree.n_leaves for tree in GradientBoostingRegressor(**DEFAULT).fit(X, y).trees_) > 15


def test_weighted_rows_are_repeated_rows_in_the_default_fit():
    X, y, _ = pairs_beside_a_number(1_500, 8)
    X_val, y_val, _ = pairs_beside_a_number(500, 9)
    weight = np.random.default_rng(0).integers(1, 4, y.size)
    model = GradientBoostingRegressor(**DEFAULT)
    weighted = model.fit(X, y, weight.astype(np.float64), X_val=X_val, y_val=y_val).predict(X)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), X_val=X_val, y_val=y_val).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6)


def test_three_classes_and_a_model_file(tmp_path: Path):
    X, y, _ = pairs_beside_a_number(2_000, 10, effect=2.0)
    model = GradientBoostingClassifier(**DEFAULT).fit(X, np.digitize(y, [-1.0, 1.0]))
    save_model(model, tmp_path / "model.committee")
    np.testing.assert_array_equal(load_model(tmp_path / "model.committee").predict_proba(X), model.predict_proba(X))
    assert model.feature_importances_[:2].sum() > 0.15
