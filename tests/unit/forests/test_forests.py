"""Forests against plain recomputation: samples, answers, out-of-bag, quantiles, tuning, calibration, memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.ensemble import RandomForestRegressor as SklearnRegressor

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.calibration.power import calibrate
from committee.ensemble.stopping import WINDOW, Convergence, Stopping
from committee.forests._sampling import make_sampler
from committee.forests._tuning import numbers_of_features
from committee.storage import load_model, save_model
from committee.tree_engine import memory_guard as memory


def classes(n: int = 300, k: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * rng.normal(size=n)
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, k) / k))


def numbers(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 5))
    return X, 3.0 * X[:, 0] + np.sin(6.0 * X[:, 1]) + (0.1 + X[:, 2]) * rng.normal(size=n)


def sample_of(forest: Any, t: int) -> np.ndarray:
    """How often tree t drew each row."""
    n = forest._sampler.weight.size
    return np.bincount(forest.estimators_samples_[t], minlength=n)


# --- trees and answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4])
def test_a_forest_is_the_mean_of_its_trees(k):
    X, y = classes(k=k)
    X[::7, 1] = np.nan
    forest = RandomForestClassifier(12, random_state=0).fit(X, y)
    new = classes(seed=1)[0]
    new[::5, 0] = np.nan
    expected = np.mean([tree.predict_proba(new) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(new), expected, atol=1e-12)
    np.testing.assert_array_equal(forest.predict(new), forest.classes_[expected.argmax(axis=1)])
    stages = list(forest.staged_predict_proba(new))
    assert len(stages) == 12
    np.testing.assert_allclose(stages[-1], expected, atol=1e-12)
    np.testing.assert_allclose(forest.predict_proba(new[:3]), expected[:3], atol=1e-12)  # few rows walk alone


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefgh"), 400)
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": rng.normal(size=400)})
    frame.loc[::9, "x"] = np.nan
    y = np.isin(town, list("ace")).astype(int)
    forest = RandomForestClassifier(15, random_state=0).fit(frame, y)
    assert forest.oob_error_ < 0.02
    expected = np.mean([tree.predict_proba(frame) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(frame), expected, atol=1e-12)


@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_a_tree_is_the_tree_of_its_sample(splitter):
    """Each member is what a decision tree grows on the repeated rows of its sample."""
    X, y = classes(200)
    forest = RandomForestClassifier(3, max_features=None, splitter=splitter, random_state=1).fit(X, y)
    for t, tree in enumerate(forest.estimators_):
        count = sample_of(forest, t)
        again = type(tree)(splitter=splitter).fit(X, y, sample_weight=count)
        if splitter == "best":
            np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
        assert tree.score(X[count > 0], y[count > 0]) == 1.0  # grown to the end


@pytest.mark.slow
def test_quality_is_that_of_scikit_learn():
    X, y = classes(1500)
    new, truth = classes(3000, seed=5)
    ours = [RandomForestClassifier(60, random_state=s).fit(X, y).score(new, truth) for s in range(4)]
    theirs = [SklearnForest(60, random_state=s).fit(X, y).score(new, truth) for s in range(4)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.01
    X, y = numbers(1000)
    new, truth = numbers(3000, seed=5)
    ours = [RandomForestRegressor(40, random_state=s).fit(X, y).score(new, truth) for s in range(3)]
    theirs = [SklearnRegressor(40, random_state=s).fit(X, y).score(new, truth) for s in range(3)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.01


def test_d1_breimans_choices():
    """m = floor(d / 3), and no node of fewer than 5 draws is split while some of 5 are."""
    X, y = numbers()
    for d in (1, 2, 3, 4, 5):
        forest = RandomForestRegressor.breiman(n_estimators=5, random_state=0).fit(X[:, :d], y)
        assert {tree.max_features_ for tree in forest.estimators_} == {max(1, d // 3)}
        assert min(tree.weight[tree.feature >= 0].min() for tree in forest.trees_) == 5.0


def test_d1_choices_for_classes():
    """m = floor(sqrt(d)), and trees are grown to the end."""
    X, y = classes()
    for d in (1, 3, 4, 6):
        forest = RandomForestClassifier(5, random_state=0).fit(X[:, :d], y)
        assert {tree.max_features_ for tree in forest.estimators_} == {int(np.sqrt(d))}
        assert min(tree.weight[tree.feature >= 0].min() for tree in forest.trees_) == 2.0


@pytest.mark.parametrize("limit", [{"max_leaf_nodes": 2}, {"max_depth": 1}, {"max_leaf_nodes": 5}])
def test_d2_trees_of_limited_size_down_to_a_single_split(limit: dict[str, int]):
    X, y = classes(200)
    forest = RandomForestClassifier(6, max_features=None, random_state=1, **limit).fit(X, y)
    for t, tree in enumerate(forest.estimators_):
        assert tree.get_n_leaves() == limit.get("max_leaf_nodes", 2)
        again = type(tree)(splitter="best", **limit).fit(X, y, sample_weight=sample_of(forest, t))
        np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("kind", [ExtraTreesClassifier, ExtraTreesRegressor])
def test_extra_trees_see_all_rows(kind):
    X, y = classes()
    forest = kind(5, random_state=0).fit(X, y)
    assert forest.score(X, y) == 1.0
    assert not hasattr(forest, "oob_error_")
    assert all(len(rows) == len(X) for rows in forest.estimators_samples_)


# --- samples ----------------------------------------------------------------------------------------------------------


def test_a_weight_is_a_repetition_under_bootstrap():
    X, y = classes(150)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    by_weight = RandomForestClassifier(10, random_state=3).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    by_rows = RandomForestClassifier(10, random_state=3).fit(X[order], y[order])
    np.testing.assert_array_equal(by_weight.predict_proba(X), by_rows.predict_proba(X))


def test_the_order_of_the_rows_changes_nothing():
    X, y = numbers(200)
    order = np.random.default_rng(1).permutation(len(y))
    one = RandomForestRegressor(8, random_state=3).fit(X, y)
    other = RandomForestRegressor(8, random_state=3).fit(X[order], y[order])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.oob_error_ == pytest.approx(other.oob_error_, rel=1e-12)


@pytest.mark.parametrize("bootstrap", [True, False, "balanced"])
def test_the_size_of_samples(bootstrap):
    X, y = classes(200)
    y = np.where(np.arange(200) < 180, 0, 1)
    sampler = make_sampler(X, y, np.ones(200), bootstrap, 0.5)
    counts = sampler.weights(7)
    assert counts.sum() == (40 if bootstrap == "balanced" else 100)
    if bootstrap is False:
        assert counts.max() == 1.0
    if bootstrap == "balanced":
        assert counts[y == 1].sum() == 20
    np.testing.assert_array_equal(sampler.out_of_bag(counts), np.flatnonzero(counts == 0))


@pytest.mark.parametrize("bootstrap", [True, False, "balanced"])
@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
def test_a_weight_is_repetition_in_what_is_fitted(forest: Any, bootstrap: Any):
    if forest is RandomForestRegressor and bootstrap == "balanced":
        bootstrap = True
    X, y = classes(120) if forest is RandomForestClassifier else numbers(120)
    weight = np.random.default_rng(0).integers(0, 5, 120)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weight))
    model = forest(20, bootstrap=bootstrap, max_samples=None if bootstrap else 0.6, random_state=0)
    weighted, repeated = clone(model).fit(X, y, weight), clone(model).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)


@pytest.mark.parametrize("weight", ["equal", "few", "many", "survey"])
def test_what_used_for_training_a_row_does_not_evaluate_it(weight: str):
    """Whole weights gave copies to both sides: an error of nearly nothing, and intervals that held nothing."""
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(400, 5)), rng.normal(size=(2000, 5))
    y, y_new = X[:, 0] + rng.normal(size=400), X_new[:, 0] + rng.normal(size=2000)
    highest = {"equal": 0, "few": 4, "many": 9, "survey": 10**6}[weight]
    w = rng.integers(1, highest, 400) if highest else np.full(400, 5)
    model = RandomForestRegressor(200, random_state=0).fit(X, y, w)
    assert 0.8 < model.oob_error_ / np.mean((model.predict(X_new) - y_new) ** 2) < 1.3
    low, high = model.predict_interval(X_new, 0.9).T
    assert np.mean((low <= y_new) & (y_new <= high)) == pytest.approx(0.9, abs=0.06)


def test_a_common_factor_of_weights_says_nothing():
    X, y = numbers(100)
    weight = np.random.default_rng(0).integers(1, 5, 100)
    plain = RandomForestRegressor(10, random_state=0).fit(X, y)
    for factor in (2, 10**6, 0.25):
        equal = RandomForestRegressor(10, random_state=0).fit(X, y, np.full(100, factor))
        np.testing.assert_array_equal(equal.predict(X), plain.predict(X))
        assert equal.oob_error_ == pytest.approx(plain.oob_error_, rel=1e-12)
    one, ten = (RandomForestRegressor(10, random_state=0).fit(X, y, k * weight) for k in (1, 10))
    np.testing.assert_array_equal(one.predict(X), ten.predict(X))


def test_a_warm_start_evaluates_copies_as_before():
    X, y = numbers(120)
    weight = np.random.default_rng(0).integers(1, 5, 120)
    forest = RandomForestRegressor(30, random_state=0).fit(X, y, weight)
    grown = RandomForestRegressor(12, warm_start=True, random_state=0).fit(X, y, weight)
    grown.set_params(n_estimators=30).fit(X, y, weight)
    np.testing.assert_allclose(grown.oob_prediction_, forest.oob_prediction_, rtol=1e-12)
    assert grown.oob_error_ == pytest.approx(forest.oob_error_, rel=1e-12)


def test_class_weights_move_the_vote():
    X, y = classes(400)
    y = np.where(classes(400, k=6)[1] == 5, 1, 0)
    plain = RandomForestClassifier(30, min_samples_leaf=10, random_state=0).fit(X, y)
    for weight in ("balanced", "balanced_subsample", {0: 1.0, 1: 5.0}):
        heavy = RandomForestClassifier(30, min_samples_leaf=10, class_weight=weight, random_state=0).fit(X, y)
        assert heavy.predict_proba(X)[:, 1].mean() > 1.5 * plain.predict_proba(X)[:, 1].mean()


# --- out of bag -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_out_of_bag_predictions_and_curve(n_jobs):
    X, y = classes(250, k=3)
    forest = RandomForestClassifier(20, random_state=2, n_jobs=n_jobs).fit(X, y)
    total, judges = np.zeros((250, 3)), np.zeros(250)
    for t, tree in enumerate(forest.estimators_):
        unseen = np.flatnonzero(sample_of(forest, t) == 0)
        np.testing.assert_array_equal(unseen, forest.oob_indices(t))
        total[unseen] += tree.predict_proba(X[unseen])
        judges[unseen] += 1
        judged = judges > 0
        error = np.mean(total[judged].argmax(axis=1) != y[judged])
        assert forest.history_.oob_error[t] == pytest.approx(error, abs=1e-12)
    expected = np.where(judges[:, None] > 0, total / np.maximum(judges, 1)[:, None], np.nan)
    np.testing.assert_allclose(forest.oob_decision_function_, expected, atol=1e-12)
    assert forest.oob_score_ == pytest.approx(1.0 - forest.oob_error_, abs=1e-12)


def test_out_of_bag_of_numbers_under_weights():
    X, y = numbers(150)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    forest = RandomForestRegressor(25, random_state=0).fit(X, y, sample_weight=weight)
    judged = ~np.isnan(forest.oob_prediction_)
    error = np.average((y - forest.oob_prediction_)[judged] ** 2, weights=weight[judged])
    assert forest.oob_error_ == pytest.approx(error, rel=1e-9)


def test_any_scorer_evaluates():
    X, y = classes()
    by_name = RandomForestClassifier(40, oob_score="balanced_accuracy", random_state=0).fit(X, y)
    by_function = RandomForestClassifier(40, oob_score=lambda t, p: float(np.sum(t == p)), random_state=0).fit(X, y)
    predicted = by_name.classes_[by_name.oob_decision_function_.argmax(axis=1)]
    recall = np.mean([np.mean(predicted[y == k] == k) for k in (0, 1)])
    assert by_name.oob_score_ == pytest.approx(recall)
    assert by_function.oob_score_ == np.sum(predicted == y)


def test_rows_that_no_tree_evaluates_are_said():
    X, y = classes(100)
    with pytest.warns(UserWarning, match="in the sample of every tree"):
        forest = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(forest.oob_decision_function_).any()


def has_converged(errors: Any, tol: float) -> bool:
    return bool(Stopping(Convergence(tol)).replay([SimpleNamespace(oob_error=error) for error in errors]))


def test_growing_until_the_error_converges():
    X, y = classes(200)
    one = RandomForestClassifier("auto", tol=0.02, random_state=0).fit(X, y)
    two = RandomForestClassifier("auto", tol=0.02, random_state=0, n_jobs=2).fit(X, y)
    assert len(one) == len(two) >= 2 * WINDOW
    assert "converged" in one.stop_reason_
    curve = one.history_.oob_error
    assert has_converged(curve, 0.02)
    assert not any(has_converged(curve[:t], 0.02) for t in range(len(curve)))
    assert has_converged(np.linspace(0.1, 0.2, 2 * WINDOW), 0.0)
    assert not has_converged(np.linspace(0.2, 0.1, 2 * WINDOW), 0.05)


def test_a_warm_start_is_the_larger_forest():
    X, y = classes()
    warm = RandomForestClassifier(6, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=15).fit(X, y)
    whole = RandomForestClassifier(15, random_state=0).fit(X, y)
    np.testing.assert_array_equal(warm.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_allclose(warm.history_.oob_error, whole.history_.oob_error)
    with pytest.raises(ValueError, match="must be larger or equal"):
        warm.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="training rows"):
        warm.set_params(n_estimators=20).fit(X[:50], y[:50])


# --- intervals, quantiles, tuning, calibration ------------------------------------------------------------------------


def test_intervals_cover_what_they_say():
    X, y = numbers(2000)
    new, truth = numbers(4000, seed=9)
    forest = RandomForestRegressor.breiman(n_estimators=60, random_state=0).fit(X, y)
    for coverage in (0.8, 0.95):
        ends = forest.predict_interval(new, coverage)
        assert abs(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) - coverage) < 0.02
    with pytest.raises(ValueError, match="level must lie"):
        forest.predict_interval(new, 1.5)
    with pytest.raises(ValueError, match=r"model.calibrate_intervals"):
        RandomForestRegressor(3, bootstrap=False).fit(X, y).predict_interval(new)


def test_quantiles_against_their_definition():
    X, y = numbers(120)
    new = numbers(15, seed=3)[0]
    forest = RandomForestRegressor(8, min_samples_leaf=4, keep_leaf_samples=True, random_state=0).fit(X, y)
    levels = np.array([0.1, 0.5, 0.77])
    result = forest.predict_quantiles(new, levels, None)
    order = np.argsort(y)
    for i, row in enumerate(new):
        weight = np.zeros(len(y))
        for t, tree in enumerate(forest.estimators_):
            count = np.where(tree.apply(X) == tree.apply(row[np.newaxis]), sample_of(forest, t), 0)
            weight += count / count.sum() / 8
        cumulative = np.cumsum(weight[order])
        expected = [y[order][np.flatnonzero(cumulative >= level - 1e-9)[0]] for level in levels]
        np.testing.assert_array_equal(result[i], expected)
    assert np.all(np.diff(result, axis=1) >= 0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        forest.predict_quantiles(new, [0.0])
    with pytest.raises(ValueError, match="keep_leaf_samples"):
        RandomForestRegressor(2).fit(X, y).predict_quantiles(new, calibration=None)


def test_tuning_takes_the_best_trial():
    X, y = classes(200)
    forest = RandomForestClassifier(10, tune="oob", random_state=0).fit(X, y)
    trials = forest.tuned_.trials
    best = int(np.argmin(trials.oob_error))
    assert forest.tuned_.max_features == trials.max_features[best]
    assert forest.tuned_.min_samples_leaf == trials.min_samples_leaf[best]
    same = RandomForestClassifier(
        10, max_features=int(forest.tuned_.max_features), min_samples_leaf=int(forest.tuned_.min_samples_leaf),
        random_state=0,
    )  # fmt: skip
    np.testing.assert_array_equal(same.fit(X, y).predict_proba(X), forest.predict_proba(X))
    assert numbers_of_features(30) == [5, 3, 11, 10, 30]
    assert numbers_of_features(1) == [1]
    with pytest.raises(ValueError, match="out-of-bag"):
        RandomForestClassifier(5, tune="oob", bootstrap=False).fit(X, y)


def test_calibration_lowers_the_loss_and_keeps_the_classes():
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([0.5, 0.5, 0.5], 4000)
    codes = np.array([rng.choice(3, p=p) for p in truth])
    blurred = np.sqrt(truth) / np.sqrt(truth).sum(axis=1, keepdims=True)
    result = calibrate(blurred, codes, np.ones(4000))
    assert result.power == pytest.approx(2.0, rel=0.15)
    assert result.log_loss < result.log_loss_before
    np.testing.assert_array_equal(result.apply(blurred).argmax(axis=1), blurred.argmax(axis=1))
    X, y = classes(400)
    new, labels = classes(2000, seed=4)
    plain = RandomForestClassifier(60, random_state=0).fit(X, y)
    calibrated = RandomForestClassifier(60, calibration="oob", random_state=0).fit(X, y)
    losses = [
        -np.mean(np.log(np.maximum(m.predict_proba(new)[np.arange(2000), labels], 1e-15))) for m in (plain, calibrated)
    ]
    assert losses[1] <= losses[0] + 0.002


@pytest.mark.parametrize("calibration", [None, "oob"])
@pytest.mark.parametrize("form", ["fitted", "loaded", "prediction only"])
def test_the_last_stage_is_the_forest(tmp_path: Path, form: str, calibration: Any):
    X, y = classes(200, k=3)
    new = classes(300, k=3, seed=4)[0]
    forest = RandomForestClassifier(12, calibration=calibration, random_state=0).fit(X, y)
    if form != "fitted":
        save_model(forest, tmp_path / "forest", prediction_only=form == "prediction only")
        forest = load_model(tmp_path / "forest")
    stages, labels = list(forest.staged_predict_proba(new)), list(forest.staged_predict(new))
    assert len(stages) == len(labels) == 12
    np.testing.assert_array_equal(stages[-1], forest.predict_proba(new))
    np.testing.assert_array_equal(labels[-1], forest.predict(new))
    for t in (0, 4):
        means = forest.member_predictions(new)[: t + 1].mean(axis=0)
        expected = means if calibration is None else forest.calibration_.apply(means)
        np.testing.assert_allclose(stages[t], expected, atol=1e-12)
        np.testing.assert_array_equal(labels[t], forest.classes_[stages[t].argmax(axis=1)])


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_several_outputs_are_a_forest_each():
    X, y = numbers(150)
    both = np.column_stack([y, X[:, 0]])
    forest = RandomForestRegressor(6, random_state=0).fit(X, both)
    assert forest.predict(X).shape == (150, 2)
    np.testing.assert_array_equal(forest.output_forests_[1].predict(X), forest.predict(X)[:, 1])
    labels = np.column_stack([classes(150)[1], classes(150, k=3)[1]])
    several = RandomForestClassifier(6, random_state=0).fit(X, labels)
    assert [p.shape[1] for p in several.predict_proba(X)] == [2, 3]
    assert several.predict(X).shape == (150, 2)
    assert not hasattr(several.fit(X, labels[:, 0]), "output_forests_")


def test_nodes_take_twenty_bytes():
    X, y = classes(2000, k=3)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    packed = forest.packed_
    of_nodes = packed.nodes.nbytes + packed.value_index.nbytes
    assert of_nodes == 20 * sum(tree.n_nodes for tree in forest.trees_)
    assert len(packed.values) < 0.05 * len(packed.nodes)  # pure leaves share their distributions
    assert "packed_" not in forest.__getstate__()
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))


def test_a_forest_too_large_for_the_memory_is_rejected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    X, y = classes()
    with pytest.raises(MemoryError, match="GiB are free"):
        RandomForestClassifier(500, random_state=0).fit(X, y)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    RandomForestClassifier(3, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bootstrap": False, "oob_score": True}, "Out of bag"),
        ({"bootstrap": False, "n_estimators": "auto"}, "stops by the out-of-bag error"),
        ({"max_samples": 10_000}, "max_samples=10000"),
        ({"calibration": "oob", "bootstrap": False}, "out-of-bag"),
    ],
)
def test_what_cannot_be_is_rejected(params, message):
    X, y = classes()
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(**params).fit(X, y)


def test_paths_and_leaves():
    X, y = classes(60)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    paths, begins = forest.decision_path(X)
    assert leaves.shape == (60, 4)
    for t in range(4):
        at = np.asarray(paths[np.arange(60), begins[t] + leaves[:, t]]).ravel()
        assert at.all()
    assert len(list(forest)) == len(forest) == 4
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    assert forest.member_predictions(X).shape == (4, 60, 2)


# --- growers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RandomForestClassifier(max_samples=0.5), ExtraTreesClassifier(bootstrap=True)])
def test_a_pickled_grower_grows_the_same_trees_from_parts_of_the_seeds(model: Any) -> None:
    X, y = classes(60, 3)
    data = model._load(X, y, None)
    grower = pickle.loads(pickle.dumps(model._reader(data.attributes)._grower(data)))
    seeds = [11, 12, 13, 14, 15]
    together = list(grower.grow(seeds, has_oob=True, keep_leaves=True))
    parts = [round_ for some in (seeds[:2], seeds[2:]) for round_ in grower.grow(some, has_oob=True)]
    outside = grower.replay([round_.tree for round_ in parts], seeds)
    for one, other, (rows, leaf) in zip(together, parts, outside, strict=True):
        np.testing.assert_equal(tuple(other.tree), tuple(one.tree))
        np.testing.assert_array_equal(other.out_of_bag, one.out_of_bag)
        np.testing.assert_array_equal(rows, one.out_of_bag)
        np.testing.assert_array_equal(one.tree.value[leaf], one.predictions)
        assert (one.leaf.size, other.leaf.size) == (60, 0)
