"""Columns of many categories: levels that say nothing do no harm, levels that say something help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from committee import GradientBoostingClassifier, GradientBoostingRegressor

Floats = NDArray[np.float64]
FIXED: dict[str, Any] = {"n_estimators": 40, "learning_rate": 0.1, "random_state": 0}


def noisy_levels(n: int, n_levels: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """A column of levels without effect beside two numbers that have one."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_levels, n), rng.normal(size=(n, 2))]).astype(np.float64)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(1.5 - X[:, 1] - np.abs(X[:, 2])))).astype(np.int64)


def levels_with_effect(n: int, n_levels: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_levels, n), rng.normal(size=n)]).astype(np.float64)
    return X, 2.0 * np.sin(1.7 * X[:, 0]) + X[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("settings", [FIXED, {"random_state": 0}], ids=["fixed rounds", "default"])
def test_levels_of_noise_cost_next_to_nothing(settings: dict[str, Any]):
    """Without the penalty for their order the loss is 5.7 % (fixed rounds), 2.7 % (default) above that without them."""
    X, y = noisy_levels(12_000, 250, 0)
    train, test = slice(0, 6_000), slice(6_000, None)
    model = GradientBoostingClassifier(**settings, categorical_features=[0]).fit(X[train], y[train])
    without = GradientBoostingClassifier(**settings).fit(X[train, 1:], y[train])
    with_loss = log_loss(y[test], model.predict_proba(X[test]))
    assert with_loss < 1.01 * log_loss(y[test], without.predict_proba(X[test, 1:]))
    assert model.feature_importances_[0] < 0.15


def test_more_levels_than_codes_are_used_for_training_and_may_be_missing_or_new():
    X, y = levels_with_effect(8_000, 600, 0)
    X[::50, 0] = np.nan
    model = GradientBoostingRegressor(**FIXED, categorical_features=[0]).fit(X[:6_000], y[:6_000])
    without = GradientBoostingRegressor(**FIXED).fit(X[:6_000, 1:], y[:6_000])
    test = slice(6_000, None)
    assert model.score(X[test], y[test]) > without.score(X[test, 1:], y[test]) + 0.05
    assert len(model.columns_.categories[0].rare) > 300
    odd = np.array([[np.nan, 0.0], [12_345.0, 0.0]])
    first, second = model.predict(odd)
    assert first == second
    assert abs(first) < 1.0


@pytest.mark.parametrize("is_class", [False, True])
def test_codes_of_categories_are_only_names(is_class: bool):
    """Any other numbering of the levels gives the same model, to the last bit."""
    X, y = levels_with_effect(3_000, 80, 1)
    y = y > 0.5 if is_class else y
    kind = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    renamed = X.copy()
    renamed[:, 0] = np.random.default_rng(5).permutation(80)[X[:, 0].astype(int)]
    scores = [kind(**FIXED, categorical_features=[0]).fit(table, y)._raw(table) for table in (X, renamed)]
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("is_class", [False, True])
def test_an_integer_weight_is_as_many_rows_with_many_categories(is_class: bool):
    X, y = levels_with_effect(1_500, 40, 2)
    y = y > 0.5 if is_class else y
    weight = np.random.default_rng(0).integers(0, 4, y.size)
    kind = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    model = kind(**FIXED, categorical_features=[0])
    weighted = model.fit(X, y, sample_weight=weight.astype(np.float64))._raw(X)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))._raw(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)  # baselines are summed in another order


def test_an_integer_weight_is_as_many_rows_beside_weights_of_classes():
    X, y = levels_with_effect(1_500, 40, 3)
    y = y > 1.5
    weight = np.random.default_rng(0).integers(1, 4, y.size)
    model = GradientBoostingClassifier(**FIXED, class_weight={False: 1.0, True: 2.7}, categorical_features=[0])
    weighted = model.fit(X, y, sample_weight=weight.astype(np.float64))._raw(X)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))._raw(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


def test_pairs_that_act_together_are_found_though_neither_column_tells_anything():
    """Fixed rounds: a hundredth of the gain is left to splits by chance, so that trees get to the pairs."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 8, (2, 6_000))
    y = np.where(rng.random((8, 8)) < 0.5, -1.0, 1.0)[a, b] + rng.normal(size=6_000)
    X = np.column_stack([a, b]).astype(np.float64)
    model = GradientBoostingRegressor(n_estimators=60, categorical_features=[0, 1], random_state=0)
    assert model.fit(X[:4_000], y[:4_000]).score(X[4_000:], y[4_000:]) > 0.4  # 0.5 is all there is


def test_a_callback_ends_the_run_in_the_round_in_which_patience_ends():
    X, y = noisy_levels(2_000, 40, 1)
    X = np.column_stack([X, np.random.default_rng(0).integers(0, 30, 2_000)])
    settings: dict[str, Any] = {
        "random_state": 0,
        "categorical_features": [0, 3],
        "early_stopping": True,
        "n_estimators": 500,
    }
    free = GradientBoostingClassifier(**settings).fit(X, y)
    n_rounds = free.history_.validation_loss.size
    stopped = GradientBoostingClassifier(**settings, callbacks=[lambda record: record.round == n_rounds]).fit(X, y)
    assert stopped.stop_reason_ == "a callback stopped the fit"
    assert stopped.history_.validation_loss.size == n_rounds
