"""Gradient tree boosting: what the losses, leaves, constraints and stopping rules promise, measured."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.base import threads
from committee.gradient_boosting import memory_rows
from committee.gradient_boosting import trees as boosted_trees
from committee.losses.classification import CLASSIFICATION_LOSSES
from committee.losses.derivatives import mean_loss
from committee.losses.loss import NO_WEIGHTS
from committee.losses.regression import REGRESSION_LOSSES
from committee.records.tree import LEAF
from tests.losses import poisson, poisson_gradient, poisson_hessian, square, square_gradient, square_hessian

Floats = NDArray[np.float64]

VALUE_LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "expectile", "poisson", "gamma", "tweedie"]
CLASS_LOSSES = ["log_loss", "exponential", "squared_hinge", "savage", "tangent"]
LOSSES = [*VALUE_LOSSES, *CLASS_LOSSES, "multinomial"]
NAMED = REGRESSION_LOSSES | CLASSIFICATION_LOSSES
EXTRA: dict[str, dict[str, Any]] = {"quantile": {"quantile": 0.3}, "expectile": {"quantile": 0.8}}

every_loss = pytest.mark.parametrize("loss", LOSSES)


def make(loss: str, **params: Any) -> Any:
    common: dict[str, Any] = {
        "n_estimators": 10,
        "learning_rate": 0.3,
        "min_samples_leaf": 3,
        "max_leaf_nodes": 8,
        "random_state": 0,
    }
    if loss in VALUE_LOSSES:
        return GradientBoostingRegressor(loss, **{**EXTRA.get(loss, {}), **common, **params})
    return GradientBoostingClassifier("log_loss" if loss == "multinomial" else loss, **{**common, **params})


def data(loss: str, n: int = 200, d: int = 4, seed: int = 0, holes: bool = False) -> tuple[Floats, Floats]:
    """A table and a target that the loss allows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2)
    signal = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * rng.normal(size=n)
    y = signal
    if loss in ("poisson", "tweedie"):
        y = rng.poisson(np.exp(0.7 * signal)).astype(float)
    elif loss == "gamma":
        y = rng.gamma(2.0, np.exp(0.7 * signal))
    elif loss == "multinomial":
        y = np.digitize(signal, [-0.7, 0.7]).astype(float)
    elif loss in CLASS_LOSSES:
        y = (signal > 0.0).astype(float)
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def scores(model: Any, X: Any) -> Floats:
    """Raw scores: what the trees add up to."""
    if isinstance(model, GradientBoostingClassifier):
        return model.decision_function(X)
    predictions = model.predict(X)
    return np.log(predictions) if model.loss in ("poisson", "gamma", "tweedie") else predictions


def trees_equal(a: Any, b: Any) -> bool:
    pairs = zip(a._trees, b._trees, strict=True)
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


# --- the training loss -----------------------------------------------------------------------------------------------


def assert_decreases(losses: Any) -> None:
    assert all(after <= before + 1e-9 * abs(before) for before, after in pairwise(losses))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("second_order", [True, False])
@every_loss
def test_the_training_loss_never_rises(loss: str, second_order: bool) -> None:
    """Without sampling, at any rate up to 1, on easy and on hard data, with and without weights."""
    for seed in range(8):
        X, y = data(loss, n=60 + 40 * (seed % 3), seed=seed, holes=seed % 2 == 1)
        weight = None if seed % 3 else np.random.default_rng(seed).exponential(size=len(y))
        rate = (0.1, 0.5, 1.0, 1.0)[seed % 4]
        leaf = (1, 5)[seed % 2]
        model = make(loss, second_order=second_order, learning_rate=rate, min_samples_leaf=leaf, n_estimators=25,
                     min_hessian=0.0)  # fmt: skip
        model.fit(X, y, sample_weight=weight)
        if loss != "huber":  # whose delta follows the residuals: another loss in every round
            assert_decreases(model.history_.train_loss)
        assert model.history_.train_loss[-1] < model.history_.train_loss[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_loss
def test_rows_that_evaluate_are_scored_by_the_loss_that_is_fitted(loss: str) -> None:
    X, y = data(loss, n=120, seed=3)
    model = make(loss, n_estimators=10).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(model.history_.validation_loss, model.history_.train_loss, rtol=1e-9)


def test_the_huber_delta_of_recorded_losses_has_the_unit_of_the_target_and_stays() -> None:
    X, y = data("huber", n=200, seed=4)
    small, large = (make("huber", n_estimators=30).fit(X, y * unit).history_ for unit in (1.0, 1024.0))
    np.testing.assert_allclose(large.train_loss, small.train_loss * 1024.0**2, rtol=1e-9)
    model = make("huber", n_estimators=30).fit(X, y)
    delta = np.quantile(np.abs(y - np.median(y)), 0.9, method="averaged_inverted_cdf")
    size = np.abs(y - model.predict(X))
    loss = np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta))
    assert model.history_.train_loss[-1] == pytest.approx(np.mean(loss), rel=1e-9)


def test_a_plain_newton_leaf_raises_the_loss_and_ours_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves far out, where nearly all rows have the other class: a slope near one over a curvature of e^-8."""
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    y[[0, -1]] = 1, 0
    wrong = np.repeat([8.0, -8.0], 20)
    model = make("log_loss", learning_rate=1.0, n_estimators=6).fit(X, y, init_score=wrong)
    assert model.history_.n_halved[0] == 2
    assert_decreases(model.history_.train_loss)
    monkeypatch.setattr(memory_rows, "halve_leaf", lambda *_: 0)
    plain = make("log_loss", learning_rate=1.0, n_estimators=1).fit(X, y, init_score=wrong)
    start = np.mean(np.logaddexp(0.0, wrong) - y * wrong)
    assert plain.history_.train_loss[0] > 10.0 * start > model.history_.train_loss[0]


@pytest.mark.parametrize("monotonic_cst", [None, [1, 0, 0, 0], [1, -1, 0, 1]])
@pytest.mark.parametrize("loss", VALUE_LOSSES + CLASS_LOSSES)
def test_monotone_constraints_hold(loss: str, monotonic_cst: list[int] | None) -> None:
    """On a grid, everything else fixed; without them, the data make the models go up and down."""
    n_breaks = 0
    for seed, second_order in ((0, True), (1, False), (2, True)):
        X, y = data(loss, n=300, seed=seed, holes=seed == 1)
        model = make(loss, monotonic_cst=monotonic_cst, learning_rate=1.0, second_order=second_order, n_estimators=20)
        model.fit(X, y)
        if loss != "huber":
            assert_decreases(model.history_.train_loss)
        rng = np.random.default_rng(5)
        for f, sign in enumerate(monotonic_cst or [1, 0, 0, 0]):
            if sign:
                grid = np.repeat(rng.normal(size=(30, 4)), 50, axis=0)
                grid[:, f] = np.tile(np.linspace(-3, 3, 50), 30)
                steps = sign * np.diff(scores(model, grid).reshape(30, 50), axis=1)
                n_breaks += int((steps < -1e-9).sum())
    assert n_breaks == 0 if monotonic_cst else n_breaks > 0


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "multinomial", "absolute_error"])
def test_interaction_constraints_hold(loss: str) -> None:
    """All features on a path from the root belong to one group."""
    X, y = data(loss, n=400, d=5)
    groups = [{0, 1}, {2, 3}, {4}]
    free = make(loss).fit(X, y)
    model = make(loss, interaction_cst=[[0, 1], [2, 3]]).fit(X, y)
    assert all(any(path <= group for group in groups) for path in paths(model))
    assert not all(any(path <= group for group in groups) for path in paths(free))
    assert any(path == {0, 1} for path in paths(model))


def paths(model: Any) -> list[set[int]]:
    """Features on the way to every leaf."""
    result: list[set[int]] = []

    def go_down(tree: Any, node: int, seen: set[int]) -> None:
        if tree.feature[node] == LEAF:
            result.append(seen)
            return
        for child in (tree.left[node], tree.left[node] + 1):
            go_down(tree, int(child), seen | {int(tree.feature[node])})

    for tree in model.trees_:
        go_down(tree, 0, set())
    return result


# --- leaves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_leaves_minimise_the_loss_of_their_rows(loss: str) -> None:
    """Against a direct search on the loss as a function of one number (Huber's delta is that of the start)."""
    X, y = data(loss, n=150)
    model = make(loss, n_estimators=1, learning_rate=1.0).fit(X, y)
    base = model.baseline_[0]
    p = float(np.quantile(np.abs(y - base), 0.9, method="inverted_cdf")) if loss == "huber" else NAMED[loss].parameter
    chosen = NAMED[loss]._replace(parameter=EXTRA.get(loss, {}).get("quantile", p))
    leaf = model.apply(X)[:, 0]
    for i in np.unique(leaf):
        rows = leaf == i

        def at(s: float, rows: Any = rows) -> float:
            return mean_loss(chosen, y[rows], np.full(int(rows.sum()), s), NO_WEIGHTS)

        best: Any = minimize_scalar(at, bounds=(y.min(), y.max()), method="bounded", options={"xatol": 1e-10})
        assert at(model.predict(X[rows])[0]) <= best.fun * (1.0 + 1e-6) + 1e-12


@pytest.mark.parametrize("loss", ["log_loss", "poisson", "gamma", "tweedie", "exponential", "expectile"])
def test_repeated_newton_steps_minimise_the_loss_of_their_rows(loss: str) -> None:
    """A stump on one binary feature, many rounds: both leaves end at the minimum, found directly."""
    table, y = data(loss, n=150)
    X = (table[:, :1] > 0.0).astype(float)
    model = make(loss, n_estimators=60, learning_rate=1.0).fit(X, y)
    chosen = NAMED[loss]._replace(parameter=EXTRA.get(loss, {}).get("quantile", NAMED[loss].parameter))
    target = 2.0 * y - 1.0 if loss == "exponential" else y
    for value in (0.0, 1.0):
        rows = X[:, 0] == value

        def at(s: float, rows: Any = rows) -> float:
            return mean_loss(chosen, target[rows], np.full(int(rows.sum()), s), NO_WEIGHTS)

        best: Any = minimize_scalar(at, bracket=(-2.0, 2.0), tol=1e-12)
        assert scores(model, [[value]])[0] == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize("params", [{}, {"subsample": 0.5}, {"colsample_bytree": 0.5, "max_features": 0.5}])
@every_loss
def test_predictions_are_the_scores_of_the_fit(loss: str, params: dict[str, Any]) -> None:
    """What moved the scores in fit (codes, bins, sampled or not) is what predict says of the same rows (1e-9)."""
    X, y = data(loss, n=400, holes=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = pd.Categorical(np.random.default_rng(1).choice(list("uvwxyz"), len(y)))
    y = np.where((frame["town"] == "u") & (np.arange(len(y)) % 2 == 0), y.max(), y)
    model = make(loss, n_estimators=40, **params).fit(frame, y)
    kept = model._state.score
    raw = scores(model, frame)
    np.testing.assert_allclose(
        raw.T if raw.ndim == 2 else raw[np.newaxis], kept, rtol=0, atol=1e-9 * np.abs(kept).max()
    )


def test_halved_rounds_of_several_classes_are_kept_as_they_were_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far-out starts make rounds that are halved, also where a chunk of trees ends inside of a round."""
    monkeypatch.setattr(boosted_trees, "CHUNK", 4)
    table, y = data("multinomial", n=120)
    X = table.round(0)
    start = np.random.default_rng(0).normal(scale=6.0, size=(len(y), 3))
    model = make("multinomial", learning_rate=1.0, n_estimators=40, min_samples_leaf=1, min_hessian=0.0)
    model.fit(X, y, init_score=start)
    assert model.history_.n_halved.sum() > 0
    assert_decreases(model.history_.train_loss)
    np.testing.assert_allclose(model.decision_function(X) + start, model._state.score.T, atol=1e-8)


# --- rounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, {"subsample": 0.6, "colsample_bytree": 0.7}, {"max_features": 0.5}])
@every_loss
def test_a_warm_start_goes_on_exactly(loss: str, params: dict[str, Any]) -> None:
    X, y = data(loss, holes=True)
    whole = make(loss, n_estimators=45, **params).fit(X, y)
    model = make(loss, n_estimators=5, warm_start=True, **params).fit(X, y)
    for n in (5, 33, 45):
        model.set_params(n_estimators=n).fit(X, y)
        assert len(model) == model.n_iter_ == n
    assert trees_equal(model, whole)
    np.testing.assert_array_equal(scores(model, X), scores(whole, X))
    np.testing.assert_array_equal(model.history_.train_loss, whole.history_.train_loss)


def test_a_warm_start_goes_on_evaluating() -> None:
    X, y = data("log_loss", n=300)
    judged = {"X_val": X[:100], "y_val": y[:100]}
    params = {"early_stopping": False, "n_estimators": 40}
    whole = make("log_loss", **params).fit(X[100:], y[100:], **judged)
    model = make("log_loss", **{**params, "n_estimators": 15}, warm_start=True).fit(X[100:], y[100:], **judged)
    model.set_params(n_estimators=40).fit(X[100:], y[100:], **judged)
    np.testing.assert_allclose(model.history_.validation_loss, whole.history_.validation_loss, rtol=1e-12)


@every_loss
def test_stages_end_at_the_prediction(loss: str) -> None:
    X, y = data(loss)
    model = make(loss).fit(X, y)
    names = ["predict"] if loss in VALUE_LOSSES else ["predict", "predict_proba", "decision_function"]
    for name in names:
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == model.n_estimators_ == 10
        np.testing.assert_allclose(stages[-1], getattr(model, name)(X), rtol=1e-12)
        shorter = make(loss, n_estimators=4).fit(X, y)
        np.testing.assert_allclose(stages[3], getattr(shorter, name)(X), rtol=1e-12)


def log_loss_of(model: Any, X: Any, y: Any) -> float:
    return float(log_loss(y, model.predict_proba(X)))


def test_rounds_are_evaluated_on_given_rows() -> None:
    X, y = data("log_loss", n=600)
    model = make("log_loss", n_estimators=300, n_iter_no_change=5)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    curve = model.history_.validation_loss
    assert model.n_estimators_ == np.argmin(curve) + 1 == len(curve) - 5
    assert "has not improved for 5 rounds" in model.stop_reason_
    assert log_loss_of(model, X[300:], y[300:]) == pytest.approx(curve.min(), rel=1e-9)
    whole = make("log_loss", n_estimators=300, early_stopping=False)
    whole.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert whole.n_estimators_ == 300  # judged, but not stopped
    np.testing.assert_allclose(whole.history_.validation_loss[: len(curve)], curve)


def test_weights_of_rows_to_validate_on_mean_repetition() -> None:
    X, y = data("poisson", n=300)
    weight = np.arange(100) % 4
    by_weight = make("poisson").fit(X[100:], y[100:], X_val=X[:100], y_val=y[:100], sample_weight_val=weight)
    repeated = np.repeat(np.arange(100), weight)
    by_rows = make("poisson").fit(X[100:], y[100:], X_val=X[repeated], y_val=y[repeated])
    np.testing.assert_allclose(by_weight.history_.validation_loss, by_rows.history_.validation_loss, rtol=1e-12)


def test_rounds_are_evaluated_on_a_fraction() -> None:
    X, y = data("squared_error", n=500)
    model = make("squared_error", n_estimators=300, early_stopping=True, validation_fraction=0.3).fit(X, y)
    assert model.n_estimators_ < 300
    assert model.n_estimators_ == np.argmin(model.history_.validation_loss) + 1
    again = make("squared_error", n_estimators=300, early_stopping=True, validation_fraction=0.3).fit(X, y)
    assert trees_equal(model, again)
    assert model._state.score.shape[1] == pytest.approx(350, abs=2)


def test_rounds_are_evaluated_by_cross_validation() -> None:
    X, y = data("squared_error", n=200)
    model = make("squared_error", n_estimators=200, early_stopping="cv", cv=KFold(4)).fit(X, y)
    assert model.n_estimators_ == np.argmin(model.cv_curve_) + 1 < 200
    assert f"{model.n_estimators_} rounds had the smallest cross-validated loss" in model.stop_reason_
    losses = []
    for train, test in KFold(4).split(X):
        part = make("squared_error", n_estimators=len(model.cv_curve_)).fit(X[train], y[train])
        losses.append([0.5 * np.mean((y[test] - stage) ** 2) for stage in part.staged_predict(X[test])])
    np.testing.assert_allclose(model.cv_curve_, np.mean(losses, axis=0))
    plain = make("squared_error", n_estimators=model.n_estimators_).fit(X, y)
    assert trees_equal(model, plain)  # fitted on all rows again


def test_the_default_chooses_rate_and_rounds() -> None:
    X, y = data("squared_error", n=400)
    test_X, test_y = data("squared_error", n=2000, seed=7)
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    assert model.learning_rate_ == pytest.approx(0.05)
    assert 10 < model.n_estimators_ < 2000
    fixed = [GradientBoostingRegressor(n_estimators=n, learning_rate=0.1).fit(X, y).score(test_X, test_y)
             for n in (10, 30, 100, 300)]  # fmt: skip
    assert model.score(test_X, test_y) > max(fixed) - 0.02


def test_callbacks_see_every_round_and_may_end_the_run() -> None:
    X, y = data("log_loss")
    seen: list[Any] = []
    model = make("log_loss", callbacks=[seen.append, lambda record: record.round == 7]).fit(X, y)
    assert [record.round for record in seen] == list(range(1, 8))
    np.testing.assert_array_equal([record.train_loss for record in seen], model.history_.train_loss)
    assert model.n_estimators_ == 7
    assert model.stop_reason_ == "a callback stopped the fit"
    assert trees_equal(model, make("log_loss", n_estimators=7).fit(X, y))


# --- scores, weights, seeds ------------------------------------------------------------------------------------------


@every_loss
def test_initial_scores_are_a_start_that_predictions_leave_out(loss: str) -> None:
    """Started from another model, the two together are better than the first; a constant start changes nothing."""
    X, y = data(loss)
    first = make(loss, n_estimators=5).fit(X, y)
    start = scores(first, X)
    both = make(loss, n_estimators=5).fit(X, y, init_score=start)
    assert both.history_.train_loss[-1] < first.history_.train_loss[-1]
    np.testing.assert_allclose((start + scores(both, X)).T, np.squeeze(both._state.score), atol=1e-8)
    shifted = make(loss, n_estimators=5).fit(X, y, init_score=np.full(start.shape, 0.75))
    tolerance = 1e-3 if loss in ("tangent", "savage", "multinomial") else 1e-5  # the start is found by a search
    np.testing.assert_allclose(shifted.history_.train_loss, first.history_.train_loss, rtol=tolerance)


@pytest.mark.parametrize("params", [{}, {"second_order": False}, {"early_stopping": "cv"}])
@every_loss
def test_whole_weights_mean_repetition(loss: str, params: dict[str, Any]) -> None:
    X, y = data(loss, n=150, holes=True)
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    fold = np.arange(len(y)) % 3  # the copies of a row stay together, as weighted rows do
    folds, folds_of_copies = (
        [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(3)] for of in (fold, fold[repeated])
    )
    by_weight = make(loss, cv=folds, **params).fit(X, y, sample_weight=weight)
    by_rows = make(loss, cv=folds_of_copies, **params).fit(X[repeated], y[repeated])
    assert by_weight.n_estimators_ == by_rows.n_estimators_
    np.testing.assert_allclose(scores(by_weight, X), scores(by_rows, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", [*CLASS_LOSSES, "multinomial"])
def test_class_weights_are_sample_weights(loss: str) -> None:
    X, y = data(loss)
    by_class = {0.0: 2.0, 1.0: 0.5}
    model = make(loss, class_weight=by_class).fit(X, y)
    expected = make(loss).fit(X, y, sample_weight=[by_class.get(label, 1.0) for label in y])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    balanced = make(loss, class_weight="balanced").fit(X, y)
    counts = np.bincount(y.astype(int))
    expected = make(loss).fit(X, y, sample_weight=(len(y) / (len(counts) * counts))[y.astype(int)])
    # Balanced weights are kept in single precision
    np.testing.assert_allclose(balanced.decision_function(X), expected.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("params", [{}, {"subsample": 0.5, "colsample_bytree": 0.5}])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "log_loss", "multinomial"])
def test_the_number_of_threads_changes_no_bit(loss: str, params: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 500)
    X, y = data(loss, n=9000, holes=True)
    one = make(loss, n_jobs=1, **params).fit(X, y)
    two = make(loss, n_jobs=2, **params).fit(X, y)
    assert trees_equal(one, two)
    assert one.history_.train_loss.tobytes() == two.history_.train_loss.tobytes()
    assert scores(one, X).tobytes() == scores(two, X).tobytes()


@pytest.mark.parametrize("params", [{"subsample": 0.5}, {"colsample_bytree": 0.5}, {"max_features": 0.5}])
def test_samples_depend_on_the_seed_alone(params: dict[str, Any]) -> None:
    X, y = data("squared_error", d=8)
    model = make("squared_error", **params).fit(X, y)
    assert trees_equal(model, make("squared_error", **params).fit(X, y))
    assert not trees_equal(model, make("squared_error", **params, random_state=1).fit(X, y))
    assert not trees_equal(model, make("squared_error").fit(X, y))
    assert trees_equal(make("squared_error").fit(X, y), make("squared_error", random_state=1).fit(X, y))


def test_samples_have_the_sizes_requested() -> None:
    X, y = data("squared_error", n=200, d=8)
    model = make("squared_error", subsample=0.25, colsample_bytree=0.25).fit(X, y)
    for tree in model.trees_:
        assert tree.n_samples[0] == 50
        assert len(set(tree.feature[tree.feature != LEAF])) <= 2
    used = {int(f) for tree in model.trees_ for f in tree.feature[tree.feature != LEAF]}
    assert len(used) > 4


@pytest.mark.parametrize(("loss", "are_equal"), [("log_loss", False), ("poisson", False), ("squared_error", True)])
def test_first_and_second_order_differ_where_the_hessian_does(loss: str, are_equal: bool) -> None:
    X, y = data(loss)
    assert trees_equal(make(loss).fit(X, y), make(loss, second_order=False).fit(X, y)) == are_equal


@pytest.mark.parametrize(
    ("name", "small", "large"), [("l2_regularization", 0.0, 50.0), ("l1_regularization", 0.0, 5.0)]
)
def test_regularisation_shrinks_the_leaves(name: str, small: float, large: float) -> None:
    X, y = data("log_loss")
    sizes = [np.abs(make("log_loss", n_estimators=1, **{name: value}).fit(X, y)._trees.value).max()
             for value in (small, large)]  # fmt: skip
    assert sizes[1] < 0.8 * sizes[0]


def test_limits_of_a_tree_hold() -> None:
    X, y = data("squared_error", n=400)
    model = make("squared_error", max_leaf_nodes=6, max_depth=3, min_samples_leaf=25).fit(X, y)
    for tree in model.trees_:
        leaf = tree.feature == LEAF
        assert leaf.sum() <= 6
        assert tree.n_samples[leaf].min() >= 25
    assert max(len(np.unique(model.apply(X)[:, t])) for t in range(10)) <= 6
    heavy = make("log_loss", min_hessian=8.0, n_estimators=1, min_samples_leaf=1).fit(X, y > 0)
    share = heavy.classes_[1] * (y > 0).mean()
    assert heavy.trees_[0].n_samples[heavy.trees_[0].feature == LEAF].min() * share * (1.0 - share) >= 8.0 * (1 - 1e-6)


# --- losses of the user's own ----------------------------------------------------------------------------------------


def own_log_loss(y: float, s: float) -> float:
    return max(s, 0.0) + math.log1p(math.exp(-abs(s))) - y * s


def own_log_slope(y: float, s: float) -> float:
    return 1.0 / (1.0 + math.exp(-s)) - y


def own_log_bend(y: float, s: float) -> float:
    p = 1.0 / (1.0 + math.exp(-s))
    return p * (1.0 - p)


OWN: dict[str, Any] = {
    "log_loss": (own_log_loss, own_log_slope, own_log_bend),
    "squared_error": (square, square_gradient, square_hessian),
    "poisson": (poisson, poisson_gradient, poisson_hessian),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", list(OWN))
def test_an_own_loss_with_derivatives_gives_the_model_of_the_built_in(loss: str, weighted: bool) -> None:
    """The same structure, and scores to 1e-9: the exponential of the kernels differs from libm's in the last bits."""
    X, y = data(loss, n=500, holes=True)
    weight = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    expected = make(loss, n_estimators=40).fit(X, y, sample_weight=weight)
    model = make(loss, n_estimators=40).set_params(loss=OWN[loss]).fit(X, y, sample_weight=weight)
    for name in ("feature", "threshold", "left", "missing_left", "offsets"):
        np.testing.assert_array_equal(getattr(model._trees, name), getattr(expected._trees, name))
    np.testing.assert_allclose(scores(model, X), scores(expected, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.history_.train_loss, expected.history_.train_loss, rtol=1e-9)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(copy, X), scores(model, X))


def test_an_own_gradient_of_the_wrong_sign_is_noticed() -> None:
    X, y = data("squared_error")
    squared = (lambda y, s: 0.5 * (y - s) ** 2, lambda y, s: y - s, lambda y, s: 1.0)
    with pytest.warns(ConvergenceWarning, match="not the negative"):
        GradientBoostingRegressor(loss=squared, n_estimators=5, random_state=0).fit(X, y)


@pytest.mark.parametrize("loss", list(OWN))
def test_the_value_of_an_own_loss_is_enough(loss: str) -> None:
    """The test loss is within 0.1 % of that with derivatives."""
    X, y = data(loss, n=400)
    test_X, test_y = data(loss, n=2000, seed=9)
    expected = make(loss, n_estimators=40).fit(X, y, X_val=test_X, y_val=test_y)
    model = make(loss, n_estimators=40).set_params(loss=OWN[loss][0]).fit(X, y, X_val=test_X, y_val=test_y)
    assert model.history_.validation_loss.min() == pytest.approx(expected.history_.validation_loss.min(), rel=1e-3)


# --- several quantiles -----------------------------------------------------------------------------------------------


def simulated(n: int, seed: int) -> tuple[Floats, Floats]:
    """Noise whose size depends on x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + (0.2 + 0.5 * np.abs(X[:, 1])) * rng.normal(size=n)


def test_quantiles_never_cross_and_cover() -> None:
    X, y = simulated(4000, 0)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    limits: dict[str, Any] = {"n_estimators": 60, "learning_rate": 0.1, "max_leaf_nodes": 8, "min_samples_leaf": 100}
    model = GradientBoostingRegressor("quantile", quantile=levels, **limits).fit(X, y)
    test_X, test_y = simulated(4000, 1)
    predictions = model.predict(test_X)
    assert predictions.shape == (4000, 5)
    assert np.all(np.diff(predictions, axis=1) >= 0.0)
    below = (test_y[:, np.newaxis] <= predictions).mean(axis=0)
    np.testing.assert_allclose(below, levels, atol=0.04)
    for k, stage in zip(range(3), model.staged_predict(test_X), strict=False):
        assert np.all(np.diff(stage, axis=1) >= 0.0), k
    interval = model.predict_interval(test_X)
    np.testing.assert_array_equal(interval, predictions[:, [0, 4]])
    coverage = np.mean((test_y >= interval[:, 0]) & (test_y <= interval[:, 1]))
    assert coverage == pytest.approx(0.9, abs=0.035)  # sampling 3 * sqrt(0.9 * 0.1 / 4000) = 0.014, estimation the rest
    width = interval[:, 1] - interval[:, 0]
    assert width[np.abs(test_X[:, 1]) > 1.5].mean() > 2.0 * width[np.abs(test_X[:, 1]) < 0.3].mean()


def test_several_quantiles_have_no_score() -> None:
    X, y = simulated(200, 0)
    model = GradientBoostingRegressor("quantile", quantile=[0.1, 0.9], n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match=r"this model has 2 quantiles.*mean_pinball_loss"):
        model.score(X, y)
    weight = np.arange(200.0)
    one = GradientBoostingRegressor("quantile", quantile=0.5, n_estimators=5).fit(X, y)
    assert one.score(X, y, weight) == pytest.approx(r2_score(y, one.predict(X), sample_weight=weight))
    with pytest.raises(NotFittedError):
        GradientBoostingRegressor().score(X, y)


@pytest.mark.parametrize("how", [{"early_stopping": "cv"}, {"early_stopping": True, "validation_fraction": 0.3}])
def test_calibrated_intervals_cover_new_rows_as_often_as_they_say(how: dict[str, Any]) -> None:
    """Deep trees on few rows cover too little by themselves; what was held out knows it and makes up for it."""
    X, y = simulated(1500, 0)
    test_X, test_y = simulated(4000, 1)
    params = {"quantile": [0.05, 0.95], "learning_rate": 0.1, "n_estimators": 100, "random_state": 0}
    model = GradientBoostingRegressor("quantile", **params, **how).fit(X, y)
    plain, interval = model.predict(test_X), model.predict_interval(test_X)
    covers = [np.mean((test_y >= ends[:, 0]) & (test_y <= ends[:, 1])) for ends in (plain, interval)]
    assert covers[0] < 0.885 < covers[1]
    assert covers[0] == pytest.approx(model.interval_coverage_, abs=0.04)
    assert covers[1] == pytest.approx(0.9, abs=0.03)  # 450 rows held out: a standard error of 0.014
    again = clone(model).set_params(early_stopping=False).fit(X, y)
    np.testing.assert_array_equal(again.predict_interval(test_X), again.predict(test_X))
    assert np.isnan(again.interval_coverage_)


def test_one_quantile_alone_and_among_others_is_the_same() -> None:
    X, y = simulated(500, 0)
    alone = make("quantile", quantile=0.25).fit(X, y).predict(X)
    among = make("quantile", quantile=[0.25, 0.9999]).fit(X, y).predict(X)
    np.testing.assert_array_equal(alone, among[:, 0])


def test_an_interval_needs_validation_rows() -> None:
    X, y = simulated(100, 0)
    cases: list[dict[str, Any]] = [{}, {"loss": "quantile", "quantile": 0.5}]
    for params in cases:
        model = GradientBoostingRegressor(n_estimators=2, **params).fit(X, y)
        with pytest.raises(ValueError, match=r"calibrate_intervals\(X, y\).* or fit with early_stopping='cv'"):
            model.predict_interval(X)


def test_residuals_are_those_at_the_rounds_that_other_rows_chose() -> None:
    """Halves of the validation rows choose for each other; folds are chosen for by the others."""
    X, y = simulated(300, 0)
    given = {"X_val": X[200:], "y_val": y[200:]}
    params: dict[str, Any] = {"n_estimators": 60, "learning_rate": 0.3, "random_state": 0, "early_stopping": True}
    model = GradientBoostingRegressor(n_iter_no_change=60, **params).fit(X[:200], y[:200], **given)
    all_rounds = GradientBoostingRegressor(**{**params, "early_stopping": False}).fit(X[:200], y[:200])
    stages = np.array(list(all_rounds.staged_predict(X[200:])))
    losses = (y[200:] - stages) ** 2
    best = [losses[:, half::2].mean(axis=1).argmin() for half in (0, 1)]
    errors = np.empty(100)
    errors[::2], errors[1::2] = (y[200:] - stages[best[1]])[::2], (y[200:] - stages[best[0]])[1::2]
    np.testing.assert_allclose(model.interval_residuals()[0].value, np.sort(errors))


# --- quality ---------------------------------------------------------------------------------------------------------


@every_loss
def test_importances_find_the_features_that_matter(loss: str) -> None:
    """The first two of four features make the target; shares add up to one."""
    X, y = data(loss, n=600)
    importance = make(loss).fit(X, y).feature_importances_
    assert importance.sum() == pytest.approx(1.0)
    assert importance.min() >= 0.0
    assert set(np.argsort(importance)[2:]) == {0, 1}


def test_probabilities_of_the_log_loss_are_calibrated() -> None:
    """The mean probability is the share of the class, on the training rows exactly: the sums of g are zero."""
    X, y = data("log_loss", n=1000)
    model = make("log_loss", n_estimators=100).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=2e-3)


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_probabilities_follow_the_link_of_the_loss(loss: str) -> None:
    X, y = data(loss, n=2000)
    test_X, test_y = data(loss, n=4000, seed=3)
    model = make(loss, n_estimators=40, learning_rate=0.1).fit(X, y)
    shares = model.predict_proba(test_X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(test_X), shares[:, 1] > 0.5)
    for low in (0.1, 0.3, 0.6):
        bin_ = (shares[:, 1] >= low) & (shares[:, 1] < low + 0.3)
        assert test_y[bin_].mean() == pytest.approx(shares[bin_, 1].mean(), abs=0.12)


def quality_data(n: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    logit = 1.5 * X[:, 0] + np.sin(3.0 * X[:, 1]) + X[:, 2] * X[:, 3] - 0.5
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)


def test_quality_is_that_of_scikit_learn() -> None:
    """Same parameters, log-loss on new rows within 2 %: bins and ties differ, the method does not."""
    X, y = quality_data(3000, 0)
    test_X, test_y = quality_data(5000, 1)
    ours = GradientBoostingClassifier(n_estimators=60, learning_rate=0.1, random_state=0).fit(X, y)
    theirs: Any = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.1, early_stopping="auto").fit(X, y)
    assert log_loss_of(ours, test_X, test_y) < 1.02 * log_loss_of(theirs, test_X, test_y)


def test_quality_is_that_of_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = quality_data(3000, 0)
    test_X, test_y = quality_data(5000, 1)
    ours = GradientBoostingClassifier(n_estimators=60, learning_rate=0.1, random_state=0).fit(X, y)
    theirs = lightgbm.LGBMClassifier(n_estimators=60, learning_rate=0.1, verbose=-1, n_jobs=1).fit(X, y)
    peer = log_loss(test_y, theirs.booster_.predict(test_X))
    assert log_loss_of(ours, test_X, test_y) < 1.02 * peer


# --- dropout ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_dropped_rounds_are_divided_with_the_new_one(loss: str) -> None:
    """With every earlier round dropped, T rounds of one tree each end as equal shares of what each did alone."""
    X, y = data(loss, n=200, seed=3)
    model = make(loss, dropout=1.0 - 1e-12, n_estimators=4, random_state=0).fit(X, y)
    alone = make(loss, n_estimators=1).fit(X, y)
    step = scores(alone, X) - alone.baseline_[0]
    np.testing.assert_allclose(scores(model, X), model.baseline_[0] + step, atol=1e-9)
    shares = [np.abs(tree.value).max() for tree in model.trees_]
    np.testing.assert_allclose(shares, shares[0])


def test_dropout_is_the_same_in_training_on_validation_rows_and_in_prediction() -> None:
    X, y = data("log_loss", n=300, seed=4)
    model = make("log_loss", dropout=0.3, n_estimators=40, random_state=0).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_allclose(model.history_.train_loss, model.history_.validation_loss, atol=1e-12)
    p = model.predict_proba(X)
    assert np.isclose(
        -np.mean(np.log(p[np.arange(len(y)), np.asarray(y, int)])), model.history_.train_loss[-1], atol=1e-9
    )
    other = make("log_loss", dropout=0.3, n_estimators=40, random_state=1).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), p)


def test_categories_of_few_rows_go_right_together() -> None:
    """Their means say nothing, so the split does not look at them: 15 of 3 rows each beside 8 of 80."""
    town = np.concatenate([np.repeat(np.arange(8), 80), np.repeat(np.arange(8, 23), 3)])
    rng = np.random.default_rng(0)
    y = np.where(town < 8, town % 4, 9.0 * (town % 2)) + rng.normal(size=town.size)
    frame = pd.DataFrame({"town": pd.Categorical(town)})
    model = make("squared_error", n_estimators=1, learning_rate=1.0, max_leaf_nodes=2).fit(frame, y)
    tree = model.trees_[0]
    left = [int(code) for code in range(23) if int(tree.categories[0, 0]) >> code & 1]
    assert left
    assert max(left) < 8
