"""AdaBoost.R2 against the plain twin, scikit-learn, and its own promises."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import make_friedman1, make_friedman2
from sklearn.ensemble import AdaBoostRegressor as ScikitAdaBoostRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.boosting._combinations import RunningMean, RunningMedian
from committee.boosting._weak_regressors import content_order, draw
from committee.boosting.adaboost_r2 import AdaBoostRegressor, Options, adaboost_r2
from committee.boosting.regressor_base import State
from committee.combine.rules import weighted_median
from committee.members.member import TreeMember, WeakHypothesis
from committee.trees.decision_tree import DecisionTreeRegressor
from tests.naive.boosting import drucker_r2
from tests.naive.boosting import weighted_median as naive_weighted_median

Floats = NDArray[np.float64]
LOSSES = ["linear", "square", "exponential"]


@pytest.fixture
def friedman() -> tuple[Floats, Floats]:
    return make_friedman1(200, noise=1.0, random_state=0)


@pytest.mark.filterwarnings("ignore:Boosting ended:sklearn.exceptions.ConvergenceWarning")  # tiny tables
@parametrize_with_checks(
    [AdaBoostRegressor(), AdaBoostRegressor(combine="mean", loss="square", on_worse_than_chance="restart")]
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


# --- the algorithm ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighting", ["resample", "reweight"])
def test_rounds_are_those_of_the_twin(friedman: tuple[Floats, Floats], loss: Any, weighting: Any) -> None:
    X, y = friedman
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    model = AdaBoostRegressor(n_estimators=20, loss=loss, weighting=weighting, random_state=0).fit(X, y, weight)
    twin = drucker_r2([member.predict(X) for member in model.estimators_], y, loss, weight)
    assert len(model.estimators_) == 20
    np.testing.assert_allclose(model.history_.mean_loss, twin.mean_loss, rtol=1e-10)
    np.testing.assert_allclose(model.history_.beta, twin.beta, rtol=1e-10)
    np.testing.assert_allclose(model.estimator_weights_, twin.coefficient, rtol=1e-10)
    np.testing.assert_allclose(model.sample_weights_, twin.weights[-1], rtol=1e-9)
    np.testing.assert_allclose(model.history_.max_weight, twin.weights.max(axis=1), rtol=1e-9)


def replay(predictions: Floats, y: Floats, **options: Any) -> tuple[list[Any], State]:
    """The core on answers that are given beforehand; the seed is the number of the round."""

    def learn(target: Floats, weight: Floats, seed: int) -> WeakHypothesis:
        return WeakHypothesis(TreeMember(None, predictions[seed]), predictions[seed])  # type: ignore[arg-type]

    start = np.full(y.size, 1.0 / y.size)
    past = State(start.copy(), (), (), (), ())
    turns = adaboost_r2(learn, y, start, past, RunningMedian(y.size), range(len(predictions)), Options(**options))
    return [(turn.record, turn.member is not None, turn.stop) for turn in turns], past


@pytest.mark.parametrize("loss", LOSSES)
def test_restart_brings_the_first_weights_back(loss: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    predictions = y + rng.standard_cauchy(size=(12, 60)) * 0.2
    for t in (4, 5, 9):
        predictions[t] = y + rng.choice([-1.0, 1.0], 60)  # every error is the largest: mean loss 1, or 1 - 1/e
    turns, past = replay(predictions, y, loss=loss, restart=True)
    twin = drucker_r2(predictions, y, loss, restart=True)
    records = [record for record, _, _ in turns]
    assert [is_kept for _, is_kept, _ in turns] == [t not in (4, 5, 9) for t in range(12)]
    np.testing.assert_allclose([record.coefficient for record in records], twin.coefficient, rtol=1e-10)
    np.testing.assert_allclose([record.mean_loss for record in records], twin.mean_loss, rtol=1e-10)
    np.testing.assert_allclose(past.weight, twin.weights[-1], rtol=1e-9)


def test_a_weak_member_ends_the_run() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    predictions = y + rng.normal(size=(6, 60)) ** 3
    predictions[3] = y + 1.0
    turns, _ = replay(predictions, y)
    assert len(turns) == 4
    assert not turns[3][1]
    assert "1.0000 is no better than 1/2" in turns[3][2]


def test_learning_rate_scales_coefficient_and_change(friedman: tuple[Floats, Floats]) -> None:
    y = friedman[1]
    prediction = (y + np.random.default_rng(0).normal(size=y.size))[np.newaxis]
    (full, *_), past_full = replay(prediction, y)
    (half, *_), past_half = replay(prediction, y, learning_rate=0.5)
    assert half[0].coefficient == pytest.approx(0.5 * full[0].coefficient)
    root = np.sqrt(past_full.weight)
    np.testing.assert_allclose(past_half.weight, root / root.sum(), rtol=1e-12)


def test_history_has_the_errors_of_the_combination(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    for combine in ("median", "mean"):
        model = AdaBoostRegressor(n_estimators=15, combine=combine, random_state=0).fit(X, y, X_val=X, y_val=y)
        staged = np.array(list(model.staged_predict(X)))
        np.testing.assert_allclose(model.history_.train_error, np.sqrt(np.mean((staged - y) ** 2, axis=1)))
        np.testing.assert_allclose(model.history_.train_absolute_error, np.mean(np.abs(staged - y), axis=1))
        np.testing.assert_allclose(model.history_.validation_error, model.history_.train_error)
        np.testing.assert_allclose(staged[-1], model.predict(X))


# --- combination ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["real", "ties"])
def test_weighted_median_is_that_of_the_twin(kind: str) -> None:
    rng = np.random.default_rng(0)
    predictions = rng.normal(size=(300, 31)) if kind == "real" else rng.integers(0, 4, (300, 31)).astype(np.float64)
    weight = rng.exponential(size=31) if kind == "real" else rng.integers(1, 4, 31).astype(np.float64)
    np.testing.assert_array_equal(
        weighted_median(predictions.T, weight, half_way=False), naive_weighted_median(predictions.T, weight)
    )
    running = RunningMedian(300)
    for t in range(31):
        running.add(predictions[:, t], float(weight[t]))
        np.testing.assert_array_equal(
            running.value, weighted_median(predictions[:, : t + 1].T, weight[: t + 1], half_way=False)
        )


def test_a_tie_goes_to_the_smaller_prediction_as_in_scikit_learn() -> None:
    predictions = np.array([[3.0, 1.0, 2.0, 4.0]])
    assert weighted_median(predictions.T, np.ones(4), half_way=False)[0] == 2.0
    rounded = np.array([0.1, 0.7, 0.8])
    assert 0.1 + 0.7 < 0.5 * rounded.sum()  # in floats; on paper they are equal
    assert weighted_median(np.array([[1.0], [2.0], [3.0]]), rounded, half_way=False)[0] == 2.0


def test_prediction_is_scikit_learns_for_the_same_members(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = AdaBoostRegressor(n_estimators=30, random_state=0).fit(X, y)
    theirs = ScikitAdaBoostRegressor(n_estimators=1).fit(X, y)
    theirs.estimators_, theirs.estimator_weights_ = model.estimators_, model.estimator_weights_
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))


def test_running_mean() -> None:
    running = RunningMean(2)
    running.add(np.array([1.0, 2.0]), 1.0)
    running.add(np.array([4.0, 2.0]), 2.0)
    np.testing.assert_allclose(running.value, [3.0, 2.0])


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_mean_is_the_weighted_mean_of_the_members(friedman: tuple[Floats, Floats], estimator: Any) -> None:
    X, y = friedman
    model = AdaBoostRegressor(estimator, n_estimators=8, combine="mean", random_state=0).fit(X, y)
    predictions = np.array([member.predict(X) for member in model.estimators_])
    np.testing.assert_allclose(model.predict(X), np.average(predictions, axis=0, weights=model.estimator_weights_))


# --- drawing ----------------------------------------------------------------------------------------------------------


def test_draws_follow_the_weights() -> None:
    weight = np.array([0.0, 1.0, 2.0, 5.0])
    counts = np.array([draw(weight, np.array([2, 0, 3, 1]), 8, seed) for seed in range(4000)])
    assert np.all(counts.sum(axis=1) == 8)
    # standard error of a mean count is at most sqrt(8 / 4 / 4000) = 0.022
    np.testing.assert_allclose(counts.mean(axis=0), weight, atol=0.1)
    variance = 8 * (weight / 8) * (1 - weight / 8)  # of a multinomial count
    np.testing.assert_allclose(counts.var(axis=0), variance, atol=0.15)


def test_equal_rows_stand_side_by_side() -> None:
    X = np.array([[1.0, np.nan], [0.0, 2.0], [1.0, np.nan], [-0.0, 2.0], [5.0, 1.0]])
    order = content_order(X, np.zeros(5))
    place = np.argsort(order)
    assert abs(place[0] - place[2]) == 1
    assert abs(place[1] - place[3]) == 1


def test_whole_weights_are_repeated_rows_and_order_does_not_matter(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, 200)
    rows = rng.permutation(np.repeat(np.arange(200), counts))
    weighted = AdaBoostRegressor(n_estimators=25, random_state=0).fit(X, y, counts)
    repeated = AdaBoostRegressor(n_estimators=25, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)
    np.testing.assert_allclose(weighted.history_.mean_loss, repeated.history_.mean_loss, rtol=1e-9)


# --- quality ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_friedman1, make_friedman2])
@pytest.mark.parametrize("loss", LOSSES)
def test_quality_is_scikit_learns(make: Any, loss: Any) -> None:
    """Mean over five seeds: single runs of either differ by 5 % from seed to seed, means of five by half of that."""
    ours, theirs = [], []
    for seed in range(5):
        X, y = make(500, noise=1.0, random_state=seed)
        X_test, y_test = make(1000, random_state=seed + 100)
        for model, errors in ((AdaBoostRegressor, ours), (ScikitAdaBoostRegressor, theirs)):
            fitted = model(n_estimators=30, loss=loss, random_state=seed).fit(X, y)
            errors.append(np.sqrt(np.mean((fitted.predict(X_test) - y_test) ** 2)))
    assert np.mean(ours) < 1.05 * np.mean(theirs)


# --- edges of the method ----------------------------------------------------------------------------------------------


def test_a_perfect_member_has_a_finite_coefficient() -> None:
    X = np.arange(8.0)[:, np.newaxis]
    y = np.repeat([0.0, 1.0], 4)
    with pytest.warns(ConvergenceWarning, match="after 1 member: a member is perfect"):
        model = AdaBoostRegressor(weighting="reweight").fit(X, y)
    assert model.estimator_weights_ == pytest.approx([np.log(15.0)])  # half of one row in eight lost
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.history_.max_error[0] == 0.0


class Stubborn(RegressorMixin, BaseEstimator):
    """Is off by one at every row."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Stubborn:
        self.table_ = {tuple(row): value for row, value in zip(X.tolist(), y.tolist(), strict=True)}
        return self

    def predict(self, X: Any) -> Floats:
        return np.array([self.table_.get(tuple(row), 0.0) + 1.0 for row in X.tolist()])


def test_a_first_member_that_is_weak_predicts_alone(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    with pytest.warns(ConvergenceWarning, match="no better than 1/2"):
        model = AdaBoostRegressor(Stubborn(), weighting="reweight").fit(X, y)
    assert len(model.estimators_) == 1
    np.testing.assert_allclose(model.predict(X), y + 1.0)
    restarted = AdaBoostRegressor(Stubborn(), weighting="reweight", on_worse_than_chance="restart", n_estimators=5).fit(
        X, y
    )
    assert restarted.history_.n_rounds == 5
    assert len(restarted.estimators_) == 1


def test_very_many_predictions_are_not_traced(friedman: tuple[Floats, Floats], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.boosting.adaboost_r2.MAX_TRACKED", 200 * 4)
    X, y = friedman
    traced = AdaBoostRegressor(n_estimators=4, random_state=0).fit(X, y)
    untraced = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert np.isfinite(traced.history_.train_error).all()
    assert np.isnan(untraced.history_.train_error).all()
    np.testing.assert_array_equal(traced.estimator_weights_, untraced.estimator_weights_[:4])


# --- what every booster does ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"combine": "mean"}, {"weighting": "reweight", "on_worse_than_chance": "restart"}]
)
def test_warm_start_goes_on_exactly(friedman: tuple[Floats, Floats], options: dict[str, Any]) -> None:
    X, y = friedman
    whole = AdaBoostRegressor(n_estimators=20, random_state=0, **options).fit(X, y)
    warm = AdaBoostRegressor(n_estimators=7, random_state=0, warm_start=True, **options).fit(X, y)
    warm.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X), whole.predict(X))
    for name in whole.history_:
        np.testing.assert_array_equal(warm.history_[name], whole.history_[name])
    with pytest.raises(ValueError, match="n_estimators=5 must be larger or equal to the 20 members"):
        warm.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="it had 200 rows"):
        warm.set_params(n_estimators=21).fit(X[:50], y[:50])


def test_early_stopping_keeps_the_best_number_of_members(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    X_val, y_val = make_friedman1(200, random_state=9)
    model = AdaBoostRegressor(n_estimators=300, early_stopping="validation", n_iter_no_change=5, random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    errors = model.history_.validation_error
    assert model.history_.n_rounds < 300
    assert len(model.estimators_) == model.history_.n_rounds - 5
    assert np.sqrt(np.mean((model.predict(X_val) - y_val) ** 2)) == pytest.approx(errors[-6])
    assert errors[-6] <= errors.min() * (1 + 1e-3)
    assert model.estimator_errors_.size == len(model.estimators_)


def test_early_stopping_holds_rows_out(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = AdaBoostRegressor(early_stopping="validation", validation_fraction=0.25, random_state=0).fit(X, y)
    assert model.sample_weights_.size == 150
    assert np.isfinite(model.history_.validation_error).all()
    with pytest.raises(ValueError, match="cannot be divided"):
        AdaBoostRegressor(early_stopping="validation").fit(X[:1], y[:1])


def test_threads_and_pickles_change_nothing() -> None:
    X, y = make_friedman1(6000, n_features=20, noise=1.0, random_state=0)  # more than one block of predict
    one = AdaBoostRegressor(n_estimators=30, random_state=0).fit(X, y)
    two = AdaBoostRegressor(n_estimators=30, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.predict(X), np.concatenate([one.predict(X[:100]), one.predict(X[100:])]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).predict(X[:50]), one.predict(X[:50]))
    np.testing.assert_array_equal(copy.deepcopy(one).predict(X[:50]), one.predict(X[:50]))


def test_missing_values_and_categories_work_through_trees() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 300)
    size = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))
    y = np.where(colour == "green", 3.0, 0.0) + np.where(np.isnan(size), -2.0, size)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=4), random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.95
    np.testing.assert_array_equal(model.estimators_[0].predict(frame), next(model.staged_predict(frame)))
    assert list(model.estimators_[0].feature_names_in_) == ["colour", "size"]


def test_foreign_regressors_by_weights_or_by_resampling(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    ridge = AdaBoostRegressor(Ridge(), weighting="reweight", n_estimators=5, random_state=0).fit(X, y)
    first = Ridge().fit(X, y, sample_weight=np.ones(200))
    np.testing.assert_allclose(ridge.estimators_[0].coef_, first.coef_)
    weight = drucker_r2([first.predict(X)], y).weights[0] * 200
    np.testing.assert_allclose(ridge.estimators_[1].coef_, Ridge().fit(X, y, sample_weight=weight).coef_)
    for weighting in ("resample", "reweight"):  # takes no weights: resampled either way
        neighbours = AdaBoostRegressor(KNeighborsRegressor(3), weighting=weighting, n_estimators=5, random_state=0).fit(
            X, y
        )
        assert len(neighbours.estimators_) == 5
        assert neighbours.score(X, y) > 0.7
    with pytest.raises(AttributeError, match="no feature_importances_"):
        _ = ridge.feature_importances_
    with pytest.raises(ValueError, match=r"Input X contains NaN in column x\[\d\], which the base learner Ridge"):
        clone(ridge).fit(np.where(X > 0.9, np.nan, X), y)


def test_trees_the_engine_does_not_grow_in_place_work_too(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    for tree in (DecisionTreeRegressor(criterion="poisson", max_depth=3), DecisionTreeRegressor(ccp_alpha=0.1)):
        model = AdaBoostRegressor(tree, n_estimators=10, random_state=0).fit(X, np.maximum(y, 0.0))
        assert model.score(X, y) > 0.6
    with pytest.raises(ValueError, match="negative"):
        AdaBoostRegressor(DecisionTreeRegressor(criterion="poisson")).fit(X, y - 100.0)


def test_importances_find_the_features_that_matter(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    importances = AdaBoostRegressor(random_state=0).fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert set(np.argsort(importances)[-4:]) == {0, 1, 3, 4}


def test_bad_input_is_rejected_and_leaves_a_fit_as_it_was(friedman: tuple[Floats, Floats]) -> None:
    X, y = friedman
    model = AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y has 2 outputs, AdaBoostRegressor takes one"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="too large for sums of squares"):
        model.fit(X, y * 1e150)
    with pytest.raises(ValueError, match="The 'loss' parameter"):
        clone(model).set_params(loss="huber").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_verbose_shows_progress(friedman: tuple[Floats, Floats], capsys: pytest.CaptureFixture[str]) -> None:
    AdaBoostRegressor(n_estimators=2, verbose=1, random_state=0).fit(*friedman)
    assert "training error" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(4))
def test_whole_weights_are_repetition_where_many_splits_tie(seed: int) -> None:
    """Whole targets: their products with the weights are exact, so ties stay ties under weights and repetition."""
    rng = np.random.default_rng(seed)
    X, y, counts = rng.random((60, 10)), rng.integers(0, 3, 60).astype(float), rng.integers(0, 5, 60)
    rows = rng.permutation(np.repeat(np.arange(60), counts))
    model = AdaBoostRegressor(n_estimators=30, weighting="reweight", random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).predict(X)
    np.testing.assert_allclose(model.fit(X[rows], y[rows]).predict(X), weighted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("coefficient", [5e-324, 0.0, 1e300])
def test_a_running_median_ends_whatever_the_coefficients(coefficient: float) -> None:
    """Half of the smallest number is zero, which no answer lies below: the search for one went on for ever."""
    median = RunningMedian(3)
    for scale, weight in ((1.0, coefficient), (-1.0, 1.0), (2.0, 0.5)):
        median.add(scale * np.array([1.0, -2.0, 0.0]), weight)
    assert np.isfinite(median.value).all()
