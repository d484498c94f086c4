"""Bad and extreme input: forests answer right or say what to do.

The tables of tests/bad_input.py, which trees and boosters run too, and those of forests: their parameters, samples and
out-of-bag evidence.
"""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from committee.explain import partial_dependence, shap_values, tree_importances
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    WEIGHTS,
    N,
    X,
    assert_rejected,
    changed,
    each,
    has_params,
    inf,
    nan,
    predictions_of,
    table,
    target_of,
)

CLASSIFIERS: list[type[Any]] = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS: list[type[Any]] = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
METHODS = [
    "predict", "predict_proba", "predict_log_proba", "apply", "decision_path", "member_predictions", "predict_interval",
    "predict_quantiles",
]  # fmt: skip
STAGED = ["staged_predict", "staged_predict_proba"]
FRAME = pd.DataFrame(X, columns=list("abc"))


def make(cls: type[Any], **params: Any) -> Any:
    """A few trees on bootstrap samples, extra-trees too."""
    return cls(**{"n_estimators": 8, "bootstrap": True, "random_state": 0, **params})


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls, **({} if is_classifier(cls()) else {"keep_leaf_samples": True})).fit(X, target_of(cls))


# --- refused ---------------------------------------------------------------------------------------------------------


BAD_OUTPUTS = table(
    ("ragged", [[0, 1]] * (N - 1) + [[1]], "y holds lists of different lengths"),
    ("too short", np.ones((N - 1, 2)), f"X has {N} rows, y has {N - 1}: pass one"),
    ("nan in the second", np.column_stack([LABELS, np.full(N, nan)]), "contains NaN"),
    ("inf in the second", np.column_stack([LABELS, np.full(N, inf)]), "contains infinity"),
    ("no column", np.empty((N, 0)), "y has no column: pass one target per row"),
    ("twin names", pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]), "Two columns of y have the same name"),
)


@pytest.mark.parametrize(("y", "text"), BAD_OUTPUTS)
@each(FORESTS)
def test_bad_outputs_are_rejected(cls: type[Any], y: Any, text: str) -> None:
    assert_rejected(make(cls), ValueError, text, X, y)


def shap_of(model: Any) -> Any:
    return shap_values(model, X)


@each(REGRESSORS)
def test_poisson_is_for_targets_that_are_not_negative(cls: type[Any]) -> None:
    model = cls(criterion="poisson")
    text = "negative, or all are zero: criterion='poisson' is for counts"
    assert_rejected(model, ValueError, text, X, np.r_[-1.0, np.ones(N - 1)])
    assert_rejected(model, ValueError, text, X, np.zeros(N))


@each(CLASSIFIERS)
def test_monotone_constraints_are_for_two_classes(cls: type[Any]) -> None:
    text = "Monotonicity constraints are not supported with multiclass"
    assert_rejected(cls(monotonic_cst=[1, 0, 0]), ValueError, text, X, np.arange(N) % 3)


# --- parameters ------------------------------------------------------------------------------------------------------

BAD_PARAMETERS = table(
    ("max_features word", {"max_features": "auto"}, "'max_features' .* a str among"),
    ("oob_score word", {"oob_score": "acuracy", "bootstrap": True}, "'acuracy' is not a valid scoring value"),
    ("oob_score without bags", {"oob_score": True, "bootstrap": False}, "only available if bootstrap=True"),
    ("auto without bags", {"n_estimators": "auto", "bootstrap": False}, "needs bootstrap=True, or max_samples below 1"),
    ("calibration without bags", {"calibration": "oob", "bootstrap": False}, "needs rows out of bag: bootstrap=True"),
    ("tune without bags", {"tune": "oob", "bootstrap": False}, "needs rows out of bag: bootstrap=True"),
    ("n_jobs 0", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
    ("class_weight negative", {"class_weight": {0: -1.0, 1: 1.0}}, "Negative values in class_weight"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "all weights are zero, .*; pass class_weight=None"),
    ("class_weight nan", {"class_weight": {0: nan, 1: 1.0}}, "class_weight contains NaN"),
    ("class_weight stranger", {"class_weight": {7: 1.0}}, r"The classes, \[0, 1\], are not in class_weight"),
    ("ccp_alpha cv", {"ccp_alpha": "cv"}, "'ccp_alpha' parameter of"),
    ("more draws than rows", {"max_samples": N + 1, "bootstrap": True}, "max_samples=41 is more than the 40 rows"),
    ("more than all rows", {"max_samples": N + 1, "bootstrap": False}, "max_samples=41 is more than the 40 rows"),
    ("monotonic_cst short", {"monotonic_cst": [1]}, r"monotonic_cst has shape \(1,\) but the input data X has 3"),
    ("monotonic_cst 2", {"monotonic_cst": [2, 0, 0]}, "monotonic_cst must contain only -1, 0 or 1; got 2"),
    ("interaction_cst index", {"interaction_cst": [[5]]}, "interaction_cst names feature 5, but the table has 3"),
    ("categorical_features", {"categorical_features": [7]}, "categorical_features"),
    ("splitter", {"splitter": "random"}, "'splitter' parameter of .* a str among"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(FORESTS)
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    assert_rejected(cls(**{"n_estimators": 3, **params}), ValueError, text, X, target_of(cls))


@pytest.mark.parametrize("quantiles", [0.0, 1.0, [0.5, nan], -1.0, [[0.1, 0.9]]])
def test_bad_quantiles_are_rejected(quantiles: Any) -> None:
    with pytest.raises(ValueError, match="quantiles must lie between 0 and 1, got"):
        fitted(RandomForestRegressor).predict_quantiles(X, quantiles)
    with pytest.raises(ValueError, match="fit with keep_leaf_samples=True"):
        make(RandomForestRegressor).fit(X, VALUES).predict_quantiles(X, calibration=None)


@pytest.mark.parametrize("coverage", [0.0, 1.0, nan, -0.5, 90])
def test_bad_coverage_is_rejected(coverage: float) -> None:
    with pytest.raises(ValueError, match="level must lie between 0 and 1, got"):
        fitted(RandomForestRegressor).predict_interval(X, coverage)


@each(REGRESSORS)
def test_intervals_need_the_out_of_bag_errors_of_this_fit(cls: type[Any]) -> None:
    model = make(cls).fit(X, VALUES)
    assert model.predict_interval(X).shape == (N, 2)
    model.set_params(oob_score=False).fit(X, VALUES)
    with pytest.raises(ValueError, match="fit with bootstrap=True and oob_score not False"):
        model.predict_interval(X)


# --- unusual input with one right answer -----------------------------------------------------------------------------

NOTHING_TO_LEARN_FROM = table(
    ("one row", X[:1], 1),
    ("one row of float32", X[:1].astype(np.float32), 1),
    ("constant features", np.ones((N, 3)), N),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), N),
    ("constant and huge", np.full((N, 3), MAX), N),
    ("all missing", np.full((N, 3), nan), N),
    ("all missing objects", np.full((N, 3), None), N),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])}), N),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), N),
)


@pytest.mark.parametrize(("features", "n_rows"), NOTHING_TO_LEARN_FROM)
@pytest.mark.parametrize("splitter", ["best", "binned"])
@each(FORESTS)
def test_nothing_to_learn_from_gives_a_constant(cls: type[Any], features: Any, n_rows: int, splitter: str) -> None:
    y = target_of(cls)[:n_rows]
    model = make(cls, bootstrap=False, splitter=splitter).fit(features, y)
    if is_classifier(model):
        np.testing.assert_allclose(model.predict_proba(features)[:, -1], 1.0 if n_rows == 1 else y.mean())
    else:
        np.testing.assert_allclose(model.predict(features), y.mean())
    bagged = make(cls, splitter=splitter).fit(features, y)
    assert len(np.unique(predictions_of(bagged, features), axis=0)) == 1
    np.testing.assert_array_equal(bagged.feature_importances_, 0.0)


@each(FORESTS)
def test_one_row_is_never_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)[:1]
    model = make(cls).fit(X[:1], y)
    assert np.isnan(model.oob_error_)
    assert np.isnan(model.oob_score_)
    with pytest.warns(UserWarning, match="1 rows were in the sample of every tree and have no out-of-bag answer"):
        make(cls, oob_score=True).fit(X[:1], y)
    model = make(cls, n_estimators="auto").fit(X[:1], y)
    assert len(model) == 100  # nothing will ever be measured
    tuned = make(cls, tune="oob").fit(X[:1], y)
    np.testing.assert_array_equal(tuned.predict(X), y[0])
    if is_classifier(model):
        assert_rejected(make(cls, calibration="oob"), ValueError, "no tree left any out", X[:1], y)
    else:
        with pytest.raises(ValueError, match="has no residuals of rows it was not fitted on"):
            model.predict_interval(X)


@each(FORESTS)
def test_rows_never_judged_are_nan_and_counted(cls: type[Any]) -> None:
    y = target_of(cls)
    with pytest.warns(UserWarning, match=r"\d+ rows were in the sample of every tree .* grow more trees"):
        model = make(cls, n_estimators=1, oob_score=True).fit(X, y)
    predictions = model.oob_decision_function_[:, 0] if is_classifier(model) else model.oob_prediction_
    judged = model.oob_indices(0)
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(predictions)), judged)
    assert model.oob_score_ == pytest.approx(model.score(X[judged], y[judged]))


@each(FORESTS)
def test_two_rows(cls: type[Any]) -> None:
    y = np.array([0, 1])
    model = make(cls, n_estimators=30, calibration="oob") if is_classifier(cls()) else make(cls, n_estimators=30)
    model.fit(X[:2], y)
    assert model.oob_error_ == 1.0  # whoever did not see a row saw the other one alone
    np.testing.assert_array_equal(make(cls, bootstrap=False).fit(X[:2], y).predict(X[:2]), y)


@pytest.mark.parametrize("value", [7, 0, -3])
@each(FORESTS)
def test_one_class_or_one_value(cls: type[Any], value: int) -> None:
    model = make(cls, tune="oob").fit(X, np.full(N, value))
    np.testing.assert_array_equal(model.predict(X), value)
    assert all(np.all(predictions == value) for predictions in model.staged_predict(X))
    assert model.oob_error_ == 0.0
    if is_classifier(model):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((N, 1)))
        calibrated = make(cls, calibration="oob").fit(X, np.full(N, value))
        np.testing.assert_allclose(calibrated.predict_proba(X), np.ones((N, 1)))
    np.testing.assert_array_equal(shap_of(model).values, 0.0)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("bootstrap", [True, False])
@each(FORESTS)
def test_equal_weights_change_no_answer(cls: type[Any], weight: Any, bootstrap: bool) -> None:
    y, params = target_of(cls), {"bootstrap": bootstrap, "n_estimators": 60}
    model, expected = make(cls, **params).fit(X, y, weight), make(cls, **params).fit(X, y)
    is_number = np.isscalar(weight) and float(weight) != 1.0
    if bootstrap and is_number:  # as if there were three times the rows: other draws, from the same distribution
        assert np.abs(predictions_of(model) - predictions_of(expected)).mean() < 0.5 * np.std(predictions_of(expected))
    else:
        np.testing.assert_allclose(predictions_of(model), predictions_of(expected), rtol=1e-9, atol=1e-12)


@each(FORESTS)
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    every = [{}, {"bootstrap": False}, {"max_samples": 0.5}, {"bootstrap": False, "max_samples": 7}, {"tune": "oob"}]
    if is_classifier(cls()):
        every += [{"bootstrap": "balanced"}, {"class_weight": "balanced"}, {"class_weight": "balanced_subsample"}]
        every += [{"calibration": "oob"}]
    for params in every:
        model = make(cls, **params).fit(X, y, weight)
        expected = make(cls, **params).fit(X[weight], y[weight])
        np.testing.assert_allclose(predictions_of(model), predictions_of(expected), rtol=1e-9, atol=1e-12)
        assert getattr(model, "oob_error_", 0.0) == pytest.approx(getattr(expected, "oob_error_", 0.0))


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1.0, 1: 5.0}])
@each(CLASSIFIERS)
def test_class_weights_take_a_weight_for_so_many_rows(cls: type[Any], class_weight: Any) -> None:
    weight = 1 + np.arange(N) % 3
    for bootstrap in (True, False, "balanced"):
        params = {"class_weight": class_weight, "bootstrap": bootstrap, "max_depth": 3}
        model = make(cls, **params).fit(X, LABELS, weight)
        expected = make(cls, **params).fit(np.repeat(X, weight, axis=0), np.repeat(LABELS, weight))
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


@each(CLASSIFIERS)
def test_a_sample_without_the_only_class_that_counts(cls: type[Any]) -> None:
    y = (np.arange(N) == 0).astype(int)
    model = make(cls, n_estimators=20, class_weight={0: 0.0, 1: 1.0}).fit(X, y)
    seen = np.array([0 in rows for rows in model.estimators_samples_])
    assert not seen.all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], seen.mean())


@each(CLASSIFIERS)
def test_a_class_of_weight_zero_keeps_its_place(cls: type[Any]) -> None:
    y = np.arange(N) % 3
    for bootstrap in (True, False, "balanced"):
        model = make(cls, bootstrap=bootstrap).fit(X, y, sample_weight=y < 2)
        assert model.classes_.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0.0)


@pytest.mark.parametrize("decades", [10, 40, 90, 290])
@pytest.mark.parametrize("bootstrap", [True, False])
@each(FORESTS)
def test_weights_of_many_decades(cls: type[Any], decades: int, bootstrap: bool) -> None:
    y, weight = target_of(cls), np.logspace(-decades, 0, N)
    model = make(cls, bootstrap=bootstrap, max_samples=None if bootstrap else 0.5).fit(X, y, sample_weight=weight)
    assert np.isfinite(predictions_of(model)).all()
    assert model.predict(X)[-1] == pytest.approx(y[-1], abs=0.5)  # nearly all of the weight


@pytest.mark.parametrize("values", [[-MAX, MAX], [-1e308, 1e308], [0.0, 5e-324], [1e-300, 3e-300], [0.0, MAX]])
@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_two_extreme_values_are_told_apart(values: list[float], splitter: str) -> None:
    column, labels = np.repeat(values, 10)[:, np.newaxis], np.repeat([0, 1], 10)
    for cls in CLASSIFIERS:
        model = make(cls, splitter=splitter).fit(column, labels)
        np.testing.assert_array_equal(model.predict(column), labels)
        assert model.oob_error_ == 0.0


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "absolute_error", "poisson"])
@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@each(REGRESSORS)
def test_the_scale_of_the_target_does_not_matter(cls: type[Any], criterion: str, scale: float) -> None:
    y = np.abs(VALUES)
    params = {"criterion": criterion, "bootstrap": False}  # samples depend on the values of the rows
    model, expected = make(cls, **params).fit(X, y * scale), make(cls, **params).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-9)
    assert np.isfinite(make(cls, criterion=criterion).fit(X, y * scale).oob_score_)


@each(REGRESSORS)
def test_a_sample_of_zeros_under_poisson(cls: type[Any]) -> None:
    y = np.where(np.arange(N) == 0, 3.0, 0.0)
    model = make(cls, criterion="poisson", n_estimators=30).fit(X, y)
    n_times = np.array([np.count_nonzero(rows == 0) for rows in model.estimators_samples_])
    assert n_times.min() == 0
    np.testing.assert_allclose(model.predict(X), 3.0 * n_times.mean() / N)  # no split leaves a side without counts


@each(FORESTS)
def test_duplicated_rows_with_contradicting_labels(cls: type[Any]) -> None:
    features, y = np.repeat([[1.0], [2.0]], 8, axis=0), np.r_[np.arange(8) >= 6, np.arange(8) < 6].astype(int)
    model = make(cls, bootstrap=False).fit(features, y)
    predictions = predictions_of(model, [[1.0], [2.0]])
    np.testing.assert_allclose(predictions[:, 1] if is_classifier(model) else predictions, [0.25, 0.75])
    bagged = make(cls, n_estimators=300).fit(features, y)
    predictions = predictions_of(bagged, [[1.0], [2.0]])
    np.testing.assert_allclose(predictions[:, 1] if is_classifier(model) else predictions, [0.25, 0.75], atol=0.06)


@pytest.mark.parametrize("n_levels", [1, 2, 40, 300])
@each(FORESTS)
def test_categories_of_any_number_and_unseen_ones(cls: type[Any], n_levels: int) -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, n_levels, 400)
    effect = rng.normal(size=n_levels)[code]
    frame = pd.DataFrame({"c": pd.Categorical(code.astype(str)), "x": rng.normal(size=400)})
    y: Any = frame["x"] if n_levels == 1 else effect
    y = np.asarray(y > 0.0) if is_classifier(cls()) else np.asarray(y)
    model = make(cls).fit(frame, y)
    assert model.score(frame, y) > (0.8 if n_levels < 256 else 0.25)  # more than 255 have too few rows each
    other = frame.assign(c=pd.Categorical(["nobody saw this"] * 400))
    missing = frame.assign(c=pd.Categorical([None] * 400, ["0"]))
    np.testing.assert_array_equal(predictions_of(model, other), predictions_of(model, missing))
    as_polars = pl.from_pandas(frame.assign(c=frame["c"].astype(str))).with_columns(pl.col("c").cast(pl.Categorical))
    np.testing.assert_array_equal(predictions_of(model, as_polars), predictions_of(model, frame))


@each(FORESTS)
def test_missing_values_in_predict_only(cls: type[Any]) -> None:
    for rows in (np.full((2, 3), nan), changed(nan)):
        assert np.isfinite(predictions_of(fitted(cls), rows)).all()


@each(FORESTS)
def test_more_columns_than_rows(cls: type[Any]) -> None:
    y = target_of(cls)[:20]
    wide = np.hstack([X[:20], np.random.default_rng(0).normal(size=(20, 200))])
    np.testing.assert_allclose(make(cls, bootstrap=False).fit(wide, y).predict(wide), y)
    few = make(cls, max_features=300).fit(wide, y)  # more than there are: all
    np.testing.assert_array_equal(
        predictions_of(few, wide), predictions_of(make(cls, max_features=None).fit(wide, y), wide)
    )


@each(FORESTS)
def test_frames_of_bools_integers_and_holes(cls: type[Any]) -> None:
    columns = {"flag": X[:, 0] > 0, "count": (10 * X[:, 1]).astype(int), "x": np.where(X[:, 2] > 1, nan, X[:, 2])}
    y = target_of(cls)
    plain = np.column_stack(list(columns.values())).astype(float)
    expected = predictions_of(make(cls).fit(plain, y), plain)
    for frame in (pd.DataFrame(columns), pl.DataFrame({**columns, "x": pl.Series(columns["x"]).fill_nan(None)})):
        np.testing.assert_array_equal(predictions_of(make(cls).fit(frame, y), frame), expected)


@each(FORESTS)
def test_scores_of_every_kind_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)
    names = ["roc_auc", "neg_log_loss", "balanced_accuracy"] if is_classifier(cls()) else ["neg_max_error", "r2"]
    for name in names:
        assert np.isfinite(make(cls, n_estimators=30, oob_score=name).fit(X, y).oob_score_)
    by_function = make(cls, n_estimators=30, oob_score=lambda truth, predictions: np.mean(truth == predictions)).fit(
        X, y
    )
    assert 0.0 <= by_function.oob_score_ <= 1.0

    def fail(truth: Any, predictions: Any) -> float:
        raise RuntimeError("no score for this")

    assert_rejected(make(cls, n_estimators=30, oob_score=fail), RuntimeError, "no score for this", X, y)


@each(FORESTS)
def test_weights_of_a_survey_need_no_more_memory(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that stands for millions is drawn by its chance, and is not laid out as millions of rows."""
    monkeypatch.setattr("committee.tree_engine.memory_guard.available_bytes", lambda: 2**26)
    heavy = np.random.default_rng(0).integers(10**6, 10**8, N)
    for bootstrap, share in ((True, None), (False, 0.5), (True, N)):
        model = make(cls, bootstrap=bootstrap, max_samples=share)
        assert np.isfinite(predictions_of(model.fit(X, target_of(cls), heavy))).all()


# --- several outputs -------------------------------------------------------------------------------------------------


@each(FORESTS)
def test_outputs_of_every_kind(cls: type[Any]) -> None:
    y = target_of(cls)
    both = np.column_stack([y, y[::-1]])
    expected = make(cls, n_estimators=3).fit(X, both).predict(X)
    assert expected.shape == (N, 2)
    frame = pd.DataFrame(both, columns=["a", "b"])
    for target in (both.tolist(), frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        np.testing.assert_array_equal(make(cls, n_estimators=3).fit(X, target).predict(X), expected)


@each(FORESTS)
def test_what_a_forest_of_several_outputs_cannot_answer(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y).fit(X, np.column_stack([y, y]))
    assert not hasattr(model, "trees_")  # those of the fit before
    for method in METHODS[3:]:
        if hasattr(model, method) and method != "apply":
            with pytest.raises(ValueError, match=r"several targets, .*: ask forest.output_forests_\[k\]"):
                getattr(model, method)(X)
    for look in (len, list, lambda m: m[0], lambda m: m.to_tree_sum(), shap_of, lambda m: next(m.staged_predict(X))):
        with pytest.raises(ValueError, match="several targets"):
            look(model)
    np.testing.assert_array_equal(predictions_of(model.fit(X, y)), predictions_of(fitted(cls)))  # and back


# --- one fit after another -------------------------------------------------------------------------------------------


@each(FORESTS)
def test_a_warm_start_rejects_other_data(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls, warm_start=True).fit(X, y)
    assert_rejected(
        model, ValueError, "training rows of the previous fit: it had 40 rows, X and y have 39", X[1:], y[1:]
    )
    assert_rejected(model, ValueError, "the 3 columns of that fit and the 2 of X", X[:, :2], y)
    other = "X, y, sample_weight, .* changed"
    assert_rejected(model, ValueError, other, X[::-1], y)
    assert_rejected(model, ValueError, other, X, y[::-1])
    assert_rejected(model, ValueError, other, X, y, np.arange(N) + 1.0)
    assert_rejected(deepcopy(model).set_params(bootstrap=False), ValueError, other, X, y)
    assert_rejected(deepcopy(model).set_params(max_samples=0.5), ValueError, other, X, y)
    if is_classifier(model):
        assert_rejected(model, ValueError, "classes of the previous fit", X, y + 5)
    model.set_params(n_estimators=2)
    assert_rejected(model, ValueError, "n_estimators=2 must be larger or equal to the 8 members", X, y)


@each(FORESTS)
def test_a_warm_start_takes_the_same_numbers_in_another_form(cls: type[Any]) -> None:
    y, single = target_of(cls), X.astype(np.float32)
    model = make(cls, warm_start=True, n_estimators=4).fit(single, y)
    model.set_params(n_estimators=8).fit(np.asfortranarray(single.astype(np.float64)), y.tolist())
    np.testing.assert_array_equal(predictions_of(model, single), predictions_of(make(cls).fit(single, y), single))


def test_leaf_samples_asked_for_in_a_warm_start() -> None:
    expected = fitted(RandomForestRegressor).predict_quantiles(X)
    model = make(RandomForestRegressor, n_estimators=4, warm_start=True).fit(X, VALUES)
    model.set_params(n_estimators=8, keep_leaf_samples=True).fit(X, VALUES)
    np.testing.assert_array_equal(model.predict_quantiles(X), expected)
    model.set_params(n_estimators=9, keep_leaf_samples=False).fit(X, VALUES)
    with pytest.raises(ValueError, match="keep_leaf_samples=True"):
        model.predict_quantiles(X, calibration="oob")
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.05, 0.95]), model.predict_interval(X, 0.9))


@each(FORESTS)
def test_copies_answer_alike_and_parameters_set_later_change_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y)
    unfitted: Any = clone(model)
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), unfitted.fit(X, y)):
        np.testing.assert_array_equal(predictions_of(copy), predictions_of(model))
    predictions = predictions_of(model)
    model.set_params(n_estimators=1, max_depth=1, n_jobs=2, bootstrap=False, max_samples=3, splitter="binned")
    np.testing.assert_array_equal(predictions_of(model), predictions)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@each(FORESTS)
def test_threads_change_no_bit(cls: type[Any], n_jobs: int) -> None:
    wide, y = np.tile(X, (60, 4)), np.tile(target_of(cls), 60)
    wide = wide + np.random.default_rng(0).normal(size=wide.shape)
    one, many = make(cls, n_jobs=1).fit(wide, y), make(cls, n_jobs=n_jobs).fit(wide, y)
    np.testing.assert_array_equal(predictions_of(one, wide), predictions_of(many, wide))
    np.testing.assert_array_equal(one.history_.oob_error, many.history_.oob_error)


# --- explanations ----------------------------------------------------------------------------------------------------


@each(FORESTS)
def test_shap_values_add_up_to_the_answers(cls: type[Any]) -> None:
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, nan, X)
    frame = pd.DataFrame(rows, columns=list("abc")).assign(d=pd.Categorical(np.arange(N) % 4))
    targets = [LABELS, np.arange(N) % 3] if is_classifier(cls()) else [VALUES]
    for y in targets:
        model = make(cls).fit(frame, y)
        result = shap_values(model, frame)
        np.testing.assert_allclose(
            result.base_values + result.values.sum(axis=1), predictions_of(model, frame), atol=1e-6
        )
        own = model.feature_importances_
        assert tree_importances(model).values[own.argmax()] > 0.0
        assert tree_importances(model, "frequency").raw.sum() == pytest.approx(1.0)


@each(CLASSIFIERS)
def test_calibrated_forests_are_explained_before_their_calibration(cls: type[Any]) -> None:
    plain, calibrated = make(cls).fit(X, LABELS), make(cls, calibration="oob").fit(X, LABELS)
    np.testing.assert_array_equal(shap_of(calibrated).values, shap_of(plain).values)
    assert partial_dependence(calibrated, X, 0).method == "brute"  # calibrated probabilities are no sum
    assert partial_dependence(plain, X, 0).method == "recursion"


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_forest_of_several_targets_can_be_shown_and_has_an_out_of_bag_score(cls: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    forest = cls(20, oob_score=True, random_state=0).fit(X, y)
    assert "predict" in dir(forest)
    assert cls.__name__ in forest._repr_html_()
    assert not hasattr(forest, "trees_")
    assert len(forest.estimators_) == 40
    assert forest.oob_score_ == pytest.approx(np.mean([each.oob_score_ for each in forest.output_forests_]))
