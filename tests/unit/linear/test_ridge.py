"""Ridge regression with the penalty chosen by leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from committee import NumericPipelineRegressor, RidgeCV
from committee.linear import ridge

Floats = np.ndarray[Any, Any]


def make_numbers(n: int, p: int, k: int = 1, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.logspace(-0.5, 0.5, p) + 3.0
    Y = X @ rng.normal(size=(p, k)) / np.sqrt(p) + rng.normal(size=(n, k))
    return X, Y[:, 0] if k == 1 else Y, rng.integers(1, 4, n).astype(float)


def leave_out(X: Floats, y: Floats, weight: Floats, alpha: float, fit_intercept: bool) -> Floats:
    """Residual of each row from a fit without it."""
    result: list[Floats] = []
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        model = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd")
        result.append(y[i] - model.fit(X[kept], y[kept], sample_weight=weight[kept]).predict(X[[i]])[0])
    return np.array(result)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("is_weighted", [True, False])
@pytest.mark.parametrize(("n", "p", "k"), [(30, 4, 1), (15, 40, 1), (25, 5, 2)])
def test_leave_one_out_is_that_of_fits_without_the_row(n: int, p: int, k: int, is_weighted: bool, fit_intercept: bool):
    X, y, weight = make_numbers(n, p, k)
    weight = weight if is_weighted else np.ones(n)
    alphas = [0.1, 3.0, 100.0]
    model = RidgeCV(alphas, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight if is_weighted else None)
    brute = [leave_out(X, y, weight, alpha, fit_intercept).reshape(n, -1) for alpha in model.alphas_]
    errors = [float(np.average((each**2).mean(axis=1), weights=weight)) for each in brute]
    np.testing.assert_allclose(-model.scores_, errors, rtol=1e-9)
    assert model.alpha_ == model.alphas_[int(np.argmin(errors))]
    if not is_weighted:
        chosen = np.sort(brute[int(np.argmin(errors))], axis=0)
        kept = np.column_stack([each.value for each in model.interval_residuals()])
        np.testing.assert_allclose(kept, chosen, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("way", ["dense", "sparse", "conjugate gradients"])
@pytest.mark.parametrize(("n", "p", "k"), [(60, 5, 1), (20, 50, 1), (60, 5, 3)])
def test_scikit_learn_finds_the_same_coefficients(n: int, p: int, k: int, way: str, monkeypatch: pytest.MonkeyPatch):
    X, y, weight = make_numbers(n, p, k)
    X = np.where(X > 2.0, X, 0.0)
    if way == "conjugate gradients":
        monkeypatch.setattr(ridge, "EXACT_SIZE", 0)
    model = RidgeCV([0.5, 5.0], tol=1e-12).fit(X if way == "dense" else sparse.csr_array(X), y, sample_weight=weight)
    theirs = Ridge(alpha=model.alpha_, solver="svd").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-7)
    assert model.gradient_norm_ < 1e-8
    assert model.objective_ < model.start_objective_


def test_folds_are_scored_as_requested():
    X, y, _ = make_numbers(40, 4)
    splits = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    model = RidgeCV([1.0, 10.0], cv=splits).fit(X, y)
    for a, alpha in enumerate(model.alphas_):
        fits = [(Ridge(alpha=alpha).fit(X[train], y[train]), test) for train, test in splits]
        assert -model.scores_[a] == pytest.approx(np.mean([np.mean((y[t] - m.predict(X[t])) ** 2) for m, t in fits]))


def test_integer_weights_mean_repetition():
    X, y, _ = make_numbers(40, 4)
    weight = np.random.default_rng(1).integers(0, 4, 40)
    place, test = np.repeat(np.arange(40), weight), np.arange(40) % 3 == 0

    def splits(held_out: Any) -> list[tuple[Any, Any]]:
        return [(np.flatnonzero(~held_out), np.flatnonzero(held_out))]

    weighted = RidgeCV(cv=splits(test)).fit(X, y, sample_weight=weight)
    repeated = RidgeCV(cv=splits(test[place])).fit(X[place], y[place])
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_each_target_may_have_its_own_penalty():
    X, y, _ = make_numbers(60, 4)
    both = np.column_stack([y, np.random.default_rng(5).normal(size=60)])
    model = RidgeCV(alpha_per_target=True).fit(X, both)
    alone = [RidgeCV().fit(X, column) for column in both.T]
    np.testing.assert_allclose(model.alpha_, [one.alpha_ for one in alone])
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone])
    assert model.alpha_[0] < model.alpha_[1]
    assert [each.value.size for each in model.interval_residuals()] == [60, 60]
    with pytest.raises(ValueError, match="Intervals are for one target"):
        model.predict_interval(X)


def test_noise_gives_the_mean_and_a_line_gives_the_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 10))
    noise = rng.normal(size=50)
    assert RidgeCV().fit(X, noise).predict(X).std() < 0.3 * noise.std()
    np.testing.assert_allclose(RidgeCV().fit(X, X @ np.arange(10.0) + 5.0).coef_, np.arange(10.0), atol=1e-6)


def test_hard_tables():
    X, y, _ = make_numbers(20, 3)
    np.testing.assert_allclose(RidgeCV().fit(X, np.full(20, 7.0)).predict(X), 7.0, rtol=1e-14)
    constant = RidgeCV().fit(np.full((20, 2), 3.0), y)
    np.testing.assert_allclose(constant.predict([[3.0, 3.0]]), y.mean())
    assert RidgeCV().fit([[1.0]], [2.0]).predict([[5.0]]).tolist() == [2.0]
    assert np.isfinite(RidgeCV().fit([[1.0], [2.0]], [2.0, 3.0]).predict([[5.0]])).all()
    assert RidgeCV(cv=3).fit([[1.0]], [2.0]).predict([[5.0]]).tolist() == [2.0]
    single = np.eye(20)  # every row decides its own column
    assert np.isfinite(RidgeCV().fit(single, y).interval_residuals()[0].value).all()


def test_intervals_come_from_rows_left_out():
    X, y, weight = make_numbers(5000, 3)
    model = RidgeCV().fit(X, y, sample_weight=weight)
    residual = np.repeat(y - model.predict(X), weight.astype(int))
    # Leaving out one row of 5,000 moves nothing much.
    ends = model.predict_interval(X[:1], level=0.9)[0] - model.predict(X[:1])
    np.testing.assert_allclose(ends, np.quantile(residual, [0.05, 0.95]), atol=0.02)


def test_a_table_of_any_columns_and_units():
    X, y, _ = make_numbers(60, 4)
    one = NumericPipelineRegressor(RidgeCV()).fit(X, y)
    other = NumericPipelineRegressor(RidgeCV()).fit(X * [1e6, 1e-6, 1.0, 10.0], 1e5 * y + 7.0)
    np.testing.assert_allclose(other.predict(X * [1e6, 1e-6, 1.0, 10.0]), 1e5 * one.predict(X) + 7.0)
    two = NumericPipelineRegressor(RidgeCV()).fit(X, np.column_stack([y, 2.0 * y + 1.0]))
    np.testing.assert_allclose(two.predict(X)[:, 1], 2.0 * two.predict(X)[:, 0] + 1.0)


def test_too_few_steps_are_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ridge, "EXACT_SIZE", 0)
    X, y, _ = make_numbers(60, 10)
    with pytest.warns(ConvergenceWarning, match="RidgeCV did not converge"):
        RidgeCV([1e-3], max_iter=1).fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [np.inf]])
def test_bad_grids_are_rejected(alphas: list[float]):
    with pytest.raises(ValueError, match="alphas must be positive and finite"):
        RidgeCV(alphas).fit([[0.0], [1.0]], [0.0, 1.0])


def test_huge_targets_are_rejected():
    with pytest.raises(ValueError, match="too large for sums of squares"):
        RidgeCV().fit([[0.0], [1.0]], [1e200, 0.0])
