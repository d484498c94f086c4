"""The forward stagewise additive model against the plain twin, scikit-learn's gradient boosting, and itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.boosting._combinations import mean_absolute
from committee.boosting.forward_stagewise import StagewiseRegressor, line_search
from committee.trees.decision_tree import DecisionTreeRegressor
from tests.naive.boosting import stagewise as naive_stagewise

Floats = NDArray[np.float64]


@pytest.fixture
def friedman() -> tuple[Floats, Floats]:
    return make_friedman1(200, noise=1.0, random_state=0)


@parametrize_with_checks([StagewiseRegressor(), StagewiseRegressor(loss="absolute_error", learning_rate=1.0)])
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [None, KNeighborsRegressor(20), DecisionTreeRegressor(criterion="absolute_error")]
)
def test_rounds_are_those_of_the_twin(friedman: tuple[Floats, Floats], estimator: Any) -> None:
    X, y = friedman
    model = StagewiseRegressor(estimator, n_estimators=12, learning_rate=0.3).fit(X, y)
    members = [member.predict(X) for member in model.estimators_]
    twin = naive_stagewise(members, y, shrinkage=0.3, start=y.mean())
    np.testing.assert_allclose(model.history_.step, twin.coefficient, rtol=1e-9)
    np.testing.assert_allclose(model.history_.loss, twin.loss, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), twin.F[-1], rtol=1e-9)
    np.testing.assert_allclose(np.array(list(model.staged_predict(X))), twin.F, rtol=1e-9)


def test_every_member_is_fitted_to_the_residuals(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = StagewiseRegressor(n_estimators=5, learning_rate=0.5).fit(X, y)
    residual = y - np.mean(y)
    for member in model.estimators_:
        np.testing.assert_allclose(member.predict(X), DecisionTreeRegressor(max_depth=3).fit(X, residual).predict(X))
        residual = residual - 0.5 * member.predict(X)
    np.testing.assert_array_equal(model.history_.step, np.ones(5))  # a tree of means needs no line search


def test_trees_and_squares_are_gradient_boosting(friedman: tuple[Floats, Floats]) -> None:
    """The same trees: what differs is rounding, and float32 thresholds of scikit-learn that no row lies on."""
    X, y = friedman
    X = X.astype(np.float32).astype(np.float64)
    theirs = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    ours = StagewiseRegressor(n_estimators=30).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_line_search_finds_the_smallest_loss(loss: Any) -> None:
    rng = np.random.default_rng(0)
    residual, predictions, w = rng.normal(size=50), rng.normal(size=50), rng.dirichlet(np.ones(50))
    predictions[:5] = 0.0
    rho = line_search(residual, predictions, w, loss)
    power = 2 if loss == "squared_error" else 1
    losses = [np.sum(w * np.abs(residual - step * predictions) ** power) for step in rho + np.linspace(-0.5, 0.5, 1001)]
    assert int(np.argmin(losses)) == 500


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_loss_never_rises(friedman: tuple[Floats, Floats], loss: Any) -> None:
    X, y = friedman
    weight = np.random.default_rng(0).uniform(size=200)
    model = StagewiseRegressor(KNeighborsRegressor(5), n_estimators=15, loss=loss, random_state=0).fit(X, y, weight)
    assert np.all(model.history_.loss <= model.history_.loss_before * (1 + 1e-12))
    np.testing.assert_array_equal(model.history_.loss_before[1:], model.history_.loss[:-1])


def test_absolute_loss_starts_at_the_median_and_resists_outliers(friedman: tuple[Floats, Floats]) -> None:
    X, clean = friedman
    y = clean.copy()
    y[::20] += 1000.0
    robust = StagewiseRegressor(loss="absolute_error").fit(X, y)
    assert robust.init_ == np.sort(y)[99]
    squared = StagewiseRegressor().fit(X, y)
    w = np.full(200, 1 / 200)
    assert mean_absolute(robust.predict(X) - clean, w) < 0.2 * mean_absolute(squared.predict(X) - clean, w)
    assert robust.history_.train_absolute_error[-1] == pytest.approx(mean_absolute(y - robust.predict(X), w))


def test_least_squares_is_done_after_one_full_step(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = StagewiseRegressor(LinearRegression(), n_estimators=1, learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X))


def test_stops_when_nothing_is_left() -> None:
    X = np.arange(8.0)[:, np.newaxis]
    y = np.repeat([0.1, 0.7], 4)
    model = StagewiseRegressor(learning_rate=1.0).fit(X, y)
    assert model.stop_reason_ == "nothing is left to fit"
    assert len(model.estimators_) == 1
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-15)


def test_a_constant_target_needs_no_member() -> None:
    model = StagewiseRegressor().fit(np.arange(8.0)[:, np.newaxis], np.full(8, 3.0))
    assert "no direction" in model.stop_reason_
    assert model.estimators_ == []
    assert model.history_.loss.size == 0
    np.testing.assert_array_equal(model.predict([[1.0], [9.0]]), [3.0, 3.0])
    np.testing.assert_array_equal(model.feature_importances_, [0.0])


def test_whole_weights_are_repeated_rows(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    counts = np.random.default_rng(3).integers(0, 4, 200)
    rows = np.repeat(np.arange(200), counts)
    for estimator in (None, KNeighborsRegressor(7)):  # the second takes no weights: it sees the rows repeated
        weighted = StagewiseRegressor(estimator, n_estimators=20).fit(X, y, counts)
        repeated = StagewiseRegressor(estimator, n_estimators=20).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_warm_start_goes_on_exactly(friedman: tuple[Floats, Floats], loss: Any) -> None:
    X, y = friedman
    tree = DecisionTreeRegressor(max_depth=3, max_features=3)
    whole = StagewiseRegressor(tree, n_estimators=20, loss=loss, random_state=0).fit(X, y)
    warm = StagewiseRegressor(tree, n_estimators=7, loss=loss, random_state=0, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))
    np.testing.assert_array_equal(warm.history_.loss, whole.history_.loss)


def test_early_stopping_and_shrinkage(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    X_val, y_val = make_friedman1(500, noise=1.0, random_state=9)
    model = StagewiseRegressor(n_estimators=1000, early_stopping="validation", n_iter_no_change=10)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    n_kept, errors = len(model.estimators_), model.history_.validation_error
    assert n_kept == model.history_.n_rounds - 10 < 990
    assert np.sqrt(np.mean((model.predict(X_val) - y_val) ** 2)) == pytest.approx(errors[n_kept - 1])
    fast = StagewiseRegressor(n_estimators=1000, learning_rate=1.0, early_stopping="validation")
    fast.fit(X, y, X_val=X_val, y_val=y_val)
    assert errors[n_kept - 1] < fast.history_.validation_error.min()
    on_absolute = StagewiseRegressor(n_estimators=3, loss="absolute_error").fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(on_absolute.history_.validation_error, on_absolute.history_.train_absolute_error)


def test_importances_follow_the_fall_of_the_loss(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = StagewiseRegressor(learning_rate=0.5).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(model.feature_importances_)[-5:]) == {0, 1, 2, 3, 4}
