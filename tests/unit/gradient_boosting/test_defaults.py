"""What "auto" stands for, and how rows are dealt out to the folds that choose the rounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensemble.stopping import Patience
from committee.gradient_boosting import base as gradient_booster
from committee.gradient_boosting._defaults import CHOSEN, PLAIN, automatic_rate

Floats = NDArray[np.float64]


def data(n: int = 120, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=n)


def taken(model: Any) -> tuple[Any, ...]:
    return model.max_leaf_nodes_, model.min_samples_leaf_, model.l2_regularization_, model.max_features_


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({}, CHOSEN),
        ({"early_stopping": True}, CHOSEN),
        ({"early_stopping": "cv", "cv": 3}, CHOSEN),
        ({"early_stopping": False}, PLAIN),
        ({"n_estimators": 10}, PLAIN),
        ({"n_estimators": 10, "early_stopping": True}, PLAIN),
        ({"max_leaf_nodes": 5, "max_features": 0.9}, (5, 10, 1.0, 0.9)),
        ({"n_estimators": 10, "max_leaf_nodes": None, "l2_regularization": 3.0}, (None, 20, 3.0, 1.0)),
    ],
)
def test_automatic_values_are_those_of_the_way_rounds_are_chosen(how: dict[str, Any], values: tuple[Any, ...]) -> None:
    X, y = data()
    assert taken(GradientBoostingRegressor(random_state=0, **how).fit(X, y)) == values


@pytest.mark.parametrize(("n_levels", "n_leaves"), [(4, 15), (5, 8)])
def test_trees_are_smaller_beside_a_column_of_many_categories(n_levels: int, n_leaves: int) -> None:
    X, y = data()
    X[:, 3] = np.arange(y.size) % n_levels
    model = GradientBoostingRegressor(random_state=0, categorical_features=[3]).fit(X, y)
    assert taken(model) == CHOSEN._replace(max_leaf_nodes=n_leaves)
    assert taken(model.set_params(n_estimators=10).fit(X, y)) == PLAIN


def test_automatic_values_are_used() -> None:
    X, y = data()
    names = ("max_leaf_nodes", "min_samples_leaf", "l2_regularization", "max_features")
    given: dict[str, Any] = dict(zip(names, CHOSEN, strict=True))
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    same = GradientBoostingRegressor(random_state=0, learning_rate=0.05, **given).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    others: dict[str, Any] = {
        "max_leaf_nodes": 4,
        "min_samples_leaf": 20,
        "l2_regularization": 30.0,
        "max_features": 1.0,
    }
    for name, other in others.items():
        changed = GradientBoostingRegressor(random_state=0, **{name: other}).fit(X, y)
        assert not np.array_equal(model.predict(X), changed.predict(X)), name


def test_the_rate_rises_with_the_rows() -> None:
    rates = [automatic_rate(n) for n in (1, 1000, 3162, 10_000, 10**7)]
    assert rates == pytest.approx([0.05, 0.05, 0.075, 0.1, 0.1], rel=1e-4)


def test_large_tables_hold_rows_out_and_few_rows_are_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(130)
    monkeypatch.setattr(gradient_booster, "MAX_CV_ROWS", 120)
    judged: Any = GradientBoostingRegressor(random_state=0).fit(X, y)
    assert len(judged.trees_) == judged.n_estimators_
    assert judged._state.score.shape[1] == 117  # a tenth of 130 is held out
    assert not hasattr(judged, "cv_curve_")
    few = GradientBoostingRegressor(random_state=0).fit(X[:59], y[:59])
    assert few.n_estimators_ <= 100
    assert np.isnan(few.history_.validation_loss).all()


def test_stopping_waits_for_more_rounds_than_the_best() -> None:
    patience = Patience(3, 0.0, stretch=1.5)
    losses = [1.0 / t if t <= 10 else 1.0 for t in range(1, 100)]
    ended = next(
        t for t, loss in enumerate(losses, 1) if patience.check(SimpleNamespace(round=t, validation_error=loss))
    )
    assert (patience.best_round, ended, patience.n_kept(ended)) == (10, 15, 15)
    assert patience.n_kept(12) == 12


# --- dealing out rows ------------------------------------------------------------------------------------------------


def test_small_whole_weights_do_not_keep_early_stopping_from_stopping() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + rng.normal(size=400)
    plain, weighted, doubled = (
        GradientBoostingRegressor(random_state=0).fit(X, y, sample_weight=w).n_estimators_
        for w in (None, rng.integers(1, 4, 400), np.full(400, 2.0))
    )
    assert plain == doubled
    assert weighted < 2 * plain


@pytest.mark.slow
def test_duplicates_evaluate_as_new_rows_would() -> None:
    """Where new rows repeat old ones, a model that knows the old ones is better, and the folds must see it."""
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(150, 3))
    label = rng.integers(0, 2, 150)
    drawn, new = rng.integers(0, 150, 900), rng.integers(0, 150, 500)
    model = GradientBoostingClassifier(random_state=0).fit(distinct[drawn], label[drawn])
    assert model.score(distinct[new], label[new]) > 0.85  # labels are noise: 0.5 without knowing the rows
