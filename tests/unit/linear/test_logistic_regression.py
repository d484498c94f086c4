"""Logistic regression with the penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from committee import LogisticRegressionCV, NumericPipelineClassifier, compare
from committee.linear import _newton as newton
from committee.linear._logistic_loss import LogisticProblem, constant_model, evaluate, hessian, hessian_times

Floats = np.ndarray[Any, Any]


def make_classes(n: int, p: int, n_classes: int, seed: int = 0, noise: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X @ rng.normal(size=(p, n_classes)) + noise * rng.gumbel(size=(n, n_classes))
    return X, score.argmax(axis=1)


def make_problem(n_classes: int, is_sparse: bool, has_intercept: bool) -> LogisticProblem:
    X, codes = make_classes(40, 3, n_classes)
    weight = np.random.default_rng(1).random(40)
    weight[:5] = 0.0
    table = sparse.csr_array(X * (X > -0.5)) if is_sparse else X
    return LogisticProblem(table, codes, weight / weight.sum(), n_classes, n_classes == 2, 0.1, has_intercept)


def rare_levels(n: int, seed: int) -> tuple[pd.DataFrame, Floats]:
    """Numbers and categories with rare levels, about one row of six in the second class."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(99)
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    frame["distance"] = rng.exponential(700.0, n)
    score = frame[list("abc")].to_numpy() @ [0.8, -0.5, 0.3] + 0.001 * frame["distance"] - 3.0
    for name, n_levels in (("carrier", 20), ("origin", 250), ("dest", 250)):
        level = np.minimum(rng.zipf(1.4, n) - 1, n_levels - 1)
        frame[name] = pd.Categorical.from_codes(level, [f"{name}{k}" for k in range(n_levels)])
        score = score + 0.7 * effect.normal(size=n_levels)[level]
    return frame, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


# --- the loss ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_and_hessian_are_the_numerical_ones(n_classes: int, is_sparse: bool, has_intercept: bool):
    problem = make_problem(n_classes, is_sparse, has_intercept)
    B = np.random.default_rng(2).normal(size=(4, problem.n_outputs))
    B[-1] *= has_intercept
    n_free = B.size if has_intercept else B.size - problem.n_outputs

    def whole(free: Floats) -> Floats:
        return np.append(free, np.zeros(B.size - n_free)).reshape(B.shape)

    point = evaluate(problem, B)
    numerical = optimize.approx_fprime(B.ravel()[:n_free], lambda v: evaluate(problem, whole(v)).objective, 1e-7)
    # Forward differences of step 1e-7 are right to about the same, times the curvature, which is below 1.
    np.testing.assert_allclose(point.gradient.ravel()[:n_free], numerical, atol=1e-6)
    V = whole(np.random.default_rng(3).normal(size=n_free))
    step = 1e-6
    change = (evaluate(problem, B + step * V).gradient - evaluate(problem, B - step * V).gradient) / (2 * step)
    np.testing.assert_allclose(hessian_times(problem, point.probability, V), change, atol=1e-8)
    dense = (hessian(problem, point.probability) @ V.T.ravel()).reshape(problem.n_outputs, 4).T
    np.testing.assert_allclose(hessian_times(problem, point.probability, V), dense, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_constant_model_is_the_best_without_columns(n_classes: int):
    problem = make_problem(n_classes, False, True)
    gradient = evaluate(problem, constant_model(problem)).gradient
    np.testing.assert_allclose(gradient[-1], 0.0, atol=1e-15)


# --- the minimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["direct", "blocks", "diagonal", "sampled blocks"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_scikit_learn_finds_the_same_minimum(n_classes: int, C: float, way: str, monkeypatch: pytest.MonkeyPatch):
    if way != "direct":
        monkeypatch.setattr(newton, "DIRECT_WORK", 0)
    if way == "diagonal":
        monkeypatch.setattr(newton, "BLOCK_SIZE", 0)
    if way == "sampled blocks":
        monkeypatch.setattr(newton, "BLOCK_WORK", 10_000)
    X, y = make_classes(300, 8, n_classes)
    X = X * np.logspace(-1, 1, 8) + 3.0
    weight = np.random.default_rng(1).integers(0, 4, 300)
    ours = LogisticRegressionCV([C], random_state=0).fit(X, y, sample_weight=weight)
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    theirs.fit(X, y, sample_weight=weight)
    # Both end at gradients of about 1e-9; the smallest curvature, the penalty's, is 1 / (C n) = 2e-6.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert ours.gradient_norm_ <= 1e-8
    assert ours.objective_ < ours.start_objective_


def test_integer_weights_mean_repetition():
    X, y = make_classes(80, 5, 3)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    test = np.arange(80) % 4 == 0
    place = np.repeat(np.arange(80), weight)

    def splits(held_out: Any) -> list[tuple[Any, Any]]:
        return [(np.flatnonzero(~held_out), np.flatnonzero(held_out))]

    weighted = LogisticRegressionCV(cv=splits(test)).fit(X, y, sample_weight=weight)
    repeated = LogisticRegressionCV(cv=splits(test[place])).fit(X[place], y[place])
    assert weighted.C_ == repeated.C_
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_sparse_and_dense_tables_give_the_same_model():
    X, y = make_classes(200, 6, 3)
    X = np.where(X > 0.3, X, 0.0)
    one, other = (LogisticRegressionCV(random_state=0).fit(table, y) for table in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-8)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(sparse.csr_matrix(X)), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_number_of_threads_changes_no_bit(n_classes: int, monkeypatch: pytest.MonkeyPatch):
    from committee.base import threads

    monkeypatch.setattr(threads, "WORK_PER_THREAD", 10)
    X, y = make_classes(300, 6, n_classes)
    one, four = (LogisticRegressionCV(random_state=0, n_jobs=n).fit(X, y) for n in (1, 4))
    np.testing.assert_array_equal(one.coef_, four.coef_)
    np.testing.assert_array_equal(one.scores_, four.scores_)


# --- the penalty ------------------------------------------------------------------------------------------------------


def test_the_scores_are_those_of_scikit_learn_fold_by_fold():
    X, y = make_classes(200, 10, 3)
    splits = list(StratifiedKFold(4).split(X, y))
    model = LogisticRegressionCV([0.01, 1.0], cv=splits).fit(X, y)
    for f, (train, test) in enumerate(splits):
        for c, C in enumerate([0.01, 1.0]):
            own = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X[train], y[train])
            # Fits to folds end at a gradient of 1e-3 of the first one and a tenth of the penalty's.
            assert -model.scores_[f, c] == pytest.approx(log_loss(y[test], own.predict_proba(X[test])), rel=2e-3)
    assert model.C_ == model.Cs_[model.scores_.mean(axis=0).argmax()]


def test_noise_is_penalised_and_a_clear_signal_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    noise = LogisticRegressionCV(random_state=0).fit(X, rng.integers(0, 2, 300))
    signal = LogisticRegressionCV(random_state=0).fit(X, (X[:, 0] > 0.0).astype(int))
    assert noise.C_ < 1e-2 < 1e2 < signal.C_


def test_the_path_stops_where_the_scores_get_worse():
    X, y = make_classes(300, 100, 2, noise=20.0)
    model = LogisticRegressionCV(random_state=0).fit(X, y)
    assert np.isnan(model.scores_[:, -1]).all()
    assert not np.isnan(model.scores_[:, model.Cs_ <= model.C_]).any()


def test_one_standard_error_takes_a_stronger_penalty():
    X, y = make_classes(100, 10, 2, noise=3.0)
    best = LogisticRegressionCV(random_state=0).fit(X, y)
    strong = LogisticRegressionCV(random_state=0, one_standard_error=True).fit(X, y)
    assert strong.C_ < best.C_
    assert np.linalg.norm(strong.coef_) < np.linalg.norm(best.coef_)


# --- hard tables ------------------------------------------------------------------------------------------------------


def test_numbers_and_rare_levels_are_fitted():
    """An unpenalised mixture of one expert, which `compare` took before, has 0.85 of the constant's log-loss here."""
    X, y = rare_levels(20_000, seed=0)
    new, truth = rare_levels(5_000, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = NumericPipelineClassifier(LogisticRegressionCV(random_state=0)).fit(X, y)
    assert model.encoder_.is_mostly_zero
    constant = log_loss(truth, np.full(len(truth), y.mean()))
    assert log_loss(truth, model.predict_proba(new)) < 0.75 * constant
    assert model.estimator_.gradient_norm_ <= 1e-8


def test_compare_has_a_linear_model_better_than_the_constant():
    """Before, the log-loss of the linear model was above the constant's on so few rows."""
    X, y = rare_levels(4_000, seed=0)
    result, _ = compare(X, y, methods=["constant", "linear model"], cv=3)
    loss = {one.name: one.metric_losses["log loss"].mean() for one in result.results}
    assert loss["linear model"] < 0.95 * loss["constant"]


def test_separable_classes_give_a_finite_model():
    X = np.vstack(
        [np.random.default_rng(0).normal(size=(40, 2)) - 5.0, np.random.default_rng(1).normal(size=(40, 2)) + 5.0]
    )
    y = np.repeat([0, 1], 40)
    model = LogisticRegressionCV(random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) == 1.0
    assert log_loss(y, model.predict_proba(X)) < 1e-3


def test_more_columns_than_rows():
    X, y = make_classes(40, 300, 3)
    model = LogisticRegressionCV([1.0], random_state=0).fit(X, y)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


def test_constant_columns_have_no_coefficient():
    X, y = make_classes(60, 3, 2)
    model = LogisticRegressionCV(random_state=0).fit(np.column_stack([X, np.zeros(60), np.full(60, 7.0)]), y)
    np.testing.assert_allclose(model.coef_[0, 3:], 0.0, atol=1e-3)
    nothing = LogisticRegressionCV(random_state=0).fit(np.zeros((60, 2)), y)
    np.testing.assert_allclose(nothing.predict_proba(np.zeros((1, 2)))[0, 1], y.mean(), atol=1e-12)
    assert nothing.gradient_norm_ == 0.0


def test_a_class_of_one_row():
    X, y = make_classes(60, 3, 2)
    y[7] = 9
    model = LogisticRegressionCV(random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 9]
    assert np.isfinite(model.scores_[:, 0]).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_two_rows():
    model = LogisticRegressionCV(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    assert np.isnan(model.scores_).all()


def test_a_class_without_weight_has_probability_zero():
    X, y = make_classes(90, 3, 3)
    model = LogisticRegressionCV(random_state=0).fit(X, y, sample_weight=(y != 1).astype(float))
    assert (model.predict_proba(X)[:, 1] == 0.0).all()
    assert not (model.predict(X) == 1).any()


def test_columns_of_very_different_scale():
    X, y = make_classes(200, 3, 2)
    model = LogisticRegressionCV(random_state=0).fit(X * [1e-6, 1.0, 1e8], y)
    assert np.isfinite(model.predict_proba(X * [1e-6, 1.0, 1e8])).all()
    assert model.gradient_norm_ <= 1e-8


# --- what is said -----------------------------------------------------------------------------------------------------


def test_too_few_steps_are_reported():
    X, y = make_classes(100, 3, 2)
    with pytest.warns(ConvergenceWarning, match="LogisticRegressionCV did not converge: the gradient norm is"):
        LogisticRegressionCV([100.0], max_iter=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("Cs", [[], [0.0, 1.0], [1.0, np.inf], [np.nan]])
def test_bad_grids_are_rejected(Cs: list[float]):
    with pytest.raises(ValueError, match="Cs must be a number of values"):
        LogisticRegressionCV(Cs).fit([[0.0], [1.0]], [0, 1])


def test_bad_tables_are_rejected():
    with pytest.raises(ValueError, match=r"NaN in column x\[0\], which LogisticRegressionCV does not accept"):
        LogisticRegressionCV().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="too large for sums of squares"):
        LogisticRegressionCV().fit([[1e200], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="at least 2 classes"):
        LogisticRegressionCV().fit([[0.0], [1.0]], [1, 1])
