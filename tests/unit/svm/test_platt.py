"""Probabilities: they agree with `predict` everywhere, the slope is the likeliest, weights mean repetition."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

from committee.datasets import load_dataset
from committee.svm import platt
from committee.svm._kernel_rows import KernelRows
from committee.svm.kernel_functions import Gaussian
from committee.svm.platt import (
    Folds,
    PlattScaling,
    agree,
    held_out_values,
    join_pairs,
    make_folds,
    values_at,
)
from committee.svm.svc import SVC, svc

SETTINGS: list[dict[str, Any]] = [{}, {"multi_class": "ovr"}, {"break_ties": False}, {"class_weight": "balanced"}]


def problem(seed: int) -> tuple[Any, Any, Any]:
    """Few rows, 2 to 5 classes, some of them mere noise; and rows to ask."""
    rng = np.random.default_rng(seed)
    n_classes, n = int(rng.integers(2, 6)), int(rng.integers(15, 80))
    y = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    X = rng.normal(size=(n, 2)) + (seed % 3) * 0.6 * y[:, None] * rng.normal(size=2)
    return X, y, 2.0 * rng.normal(size=(300, 2))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_largest_probability_is_that_of_the_prediction(settings: dict[str, Any]) -> None:
    for seed in range(18):
        X, y, asked = problem(seed)
        kernel = ("rbf", "linear", "poly")[seed % 3]
        model = SVC(C=10.0 ** (seed % 4 - 1), kernel=kernel, probability=True, **settings).fit(X, y)
        probabilities = model.predict_proba(np.vstack([asked, X]))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert (probabilities >= 0.0).all()
        np.testing.assert_array_equal(
            model.classes_[probabilities.argmax(axis=1)], model.predict(np.vstack([asked, X]))
        )
        np.testing.assert_allclose(np.exp(model.predict_log_proba(asked)), probabilities[: len(asked)])


def test_it_is_one_half_where_f_is_zero_and_symmetric_around_it() -> None:
    X, y = load_dataset("sonar")[:2]
    model = SVC(scale=True, probability=True).fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.platt_.slope[0] * f))
    tiny = np.array([[1e-30], [0.0], [-1e-30]])
    probabilities = model.platt_.probabilities(tiny, (tiny[:, 0] > 0.0).astype(np.int64), 2)
    np.testing.assert_allclose(probabilities, 0.5)
    assert probabilities.argmax(axis=1).tolist() == [1, 0, 0]


def test_probabilities_are_there_only_on_demand() -> None:
    X, y = load_dataset("sonar")[:2]
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match=r"'SVC' has no attribute 'predict_proba': .*probability=True in fit"):
        model.predict_proba(X)
    with pytest.raises(AttributeError, match=r"'predict_proba': .*probability=True in fit"):
        SVC.predict_proba(model, X)
    model.set_params(probability=True)
    with pytest.raises(NotFittedError, match="fit it again with probability=True"):
        model.predict_proba(X)


def test_check_estimator_with_probabilities() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks
        check_estimator(SVC(probability=True))


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=str)
def test_weights_mean_repetition_and_order_means_nothing(settings: dict[str, Any]) -> None:
    X, y = load_dataset("glass")[:2]
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    asked = X[::5]
    model = SVC(C=3.0, scale=True, probability=True, **settings)
    probabilities = model.fit(X, y, weight).predict_proba(asked)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    np.testing.assert_allclose(model.fit(X[rows], y[rows]).predict_proba(asked), probabilities, atol=1e-6)


def test_probabilities_are_about_as_good_as_those_of_two_parameters() -> None:
    """Against Platt's own sigmoid on the same held-out values: one number less costs little on balanced classes."""
    X, y = load_dataset("pima_diabetes")[:2]
    codes = np.unique(y, return_inverse=True)[1]
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    X = np.nan_to_num(X)
    model = SVC(scale=True, probability=True, class_weight="balanced").fit(X[train], codes[train])
    weight = model.class_weight_[codes]
    ours = log_loss(codes[test], model.predict_proba(X[test]), sample_weight=weight[test])
    f = model.decision_function(X)

    def loss(point: Any) -> float:
        probabilities = expit(point[0] * f[train] + point[1])
        return log_loss(codes[train], probabilities, sample_weight=weight[train])

    a, b = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    theirs = log_loss(codes[test], expit(a * f[test] + b), sample_weight=weight[test])
    assert ours < theirs + 0.01
    assert ours < np.log(2.0) - 0.1


# --- rows held out ---------------------------------------------------------------------------------------------------


def test_folds_deal_every_class_evenly_and_keep_equal_rows_together() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(103, 2)), rng.integers(3, size=103)
    X, codes = np.vstack([X, X[:40]]), np.r_[codes, codes[:40]]
    fold, n_folds = make_folds(X, codes)
    assert n_folds == 5
    np.testing.assert_array_equal(fold[:40], fold[103:])
    for k in range(3):
        counts = np.bincount(fold[:103][codes[:103] == k], minlength=5)
        assert np.ptp(counts) <= 1
    order = rng.permutation(len(codes))
    np.testing.assert_array_equal(make_folds(X[order], codes[order]).of_row, fold[order])


def test_few_rows_have_fewer_folds_or_none() -> None:
    X = np.arange(8.0)[:, None]
    assert make_folds(X, np.array([0, 0, 0, 0, 0, 0, 1, 1])).n == 5
    assert make_folds(X, np.array([0, 0, 0, 0, 0, 0, 0, 1])).n == 0
    model = SVC(probability=True).fit(X, np.array([0, 0, 0, 0, 0, 0, 0, 1]))
    assert model.platt_.n_folds == 0
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("n", [120, 2300])
def test_rows_held_out_are_evaluated_by_machines_that_did_not_see_them(n: int) -> None:
    """Against fits on the other rows alone, in float64 and in float32, with all kernel rows and with a few."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    kernel = Gaussian(gamma=0.5).settle(X)
    fold = np.arange(n) % 3
    for cache_size in (200.0, 0.5):
        rows = KernelRows(kernel, X, cache_size=cache_size)
        assert (rows.capacity == n) == (cache_size == 200.0 or n == 120)

        def train(weight: Any, rows: KernelRows = rows) -> Any:
            return svc(y, 2.0 * weight, rows)[0]

        machine = train(np.ones(n))
        result = held_out_values(train, machine, rows, np.ones(n), Folds(fold, 3))
        for k in range(3):
            seen = np.flatnonzero(fold != k)
            alone, _ = svc(y[seen], np.full(seen.size, 2.0), KernelRows(kernel, X[seen]))
            gram = kernel(X[fold == k], X[seen[alone.support]])
            expected = gram @ alone.coef + alone.offset
            np.testing.assert_allclose(result[fold == k], expected, atol=1e-8 if n == 120 else 5e-3)
        whole = held_out_values(train, machine, rows, np.ones(n), Folds(fold, 0))
        np.testing.assert_allclose(whole, values_at(rows, machine, np.arange(n)))


def test_hard_margins_have_probabilities() -> None:
    X, y = load_dataset("sonar")[:2]
    model = SVC(C=np.inf, scale=True, probability=True).fit(X, y)
    assert np.isfinite(model.platt_.slope).all()
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


# --- several classes -------------------------------------------------------------------------------------------------


def test_pairs_that_fit_together_give_the_probabilities_they_came_from() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    i, j = np.triu_indices(5, 1)
    np.testing.assert_allclose(join_pairs(p[:, i] / (p[:, i] + p[:, j]), 5), p, rtol=1e-6)


def test_pairs_that_do_not_are_joined_by_least_squares() -> None:
    r = np.random.default_rng(1).random((10, 3))
    for row, p in zip(r, join_pairs(r, 3), strict=True):

        def loss(q: Any, row: Any = row) -> float:
            return sum(((1 - row[k]) * q[i] - row[k] * q[j]) ** 2 for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]))

        simplex = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
        best = minimize(loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=simplex, tol=1e-14).x
        np.testing.assert_allclose(p, best, atol=1e-4)


def test_shares_are_moved_as_little_as_the_choice_demands() -> None:
    rng = np.random.default_rng(2)
    shares, chosen = rng.dirichlet(np.ones(4), size=200), rng.integers(4, size=200)
    moved = agree(shares, chosen)
    np.testing.assert_array_equal(moved.argmax(axis=1), chosen)
    np.testing.assert_allclose(moved.sum(axis=1), 1.0)
    for before, after, k in zip(shares[:40], moved, chosen, strict=False):
        most = [{"type": "ineq", "fun": lambda q, j=j, k=k: q[k] - q[j]} for j in range(4)]
        total = {"type": "eq", "fun": lambda q: q.sum() - 1.0}
        nearest = minimize(lambda q, p=before: ((q - p) ** 2).sum(), before, constraints=[total, *most], tol=1e-14).x
        np.testing.assert_allclose(after, nearest, atol=1e-5)
    right = shares.argmax(axis=1)
    assert agree(shares, right) is shares


def test_shared_rows_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The five more fits ask for no kernel row that the first fit has computed, and the cache holds all."""
    X, y = load_dataset("spam")[:2]
    X, y = X[::2], y[::2]
    seen: list[KernelRows] = []
    made = KernelRows.__init__

    def watched(self: KernelRows, *args: Any, **settings: Any) -> None:
        made(self, *args, **settings)
        seen.append(self)

    monkeypatch.setattr(KernelRows, "__init__", watched)
    SVC(scale=True, probability=True).fit(X, y)
    assert len(seen) == 1
    assert seen[0].n_computed <= len(y)
    assert platt.N_FOLDS == 5


@pytest.mark.parametrize("size", [1.0, 30.0, 600.0])
def test_logarithms_have_the_order_of_the_probabilities(size: float) -> None:
    scaling = PlattScaling(np.array([1.0]), np.zeros(1), 5)
    values = np.random.default_rng(0).uniform(-size, 0.0, (1000, 3))
    values[:, 1] = np.nextafter(values[:, 2], 0.0)  # of two margins: the same but for the last digit
    values[:, 0] = 1.0
    result = scaling.probabilities(values, np.zeros(1000, np.int64), 3)
    np.testing.assert_array_equal(np.argsort(np.log(result)), np.argsort(result))
    np.testing.assert_allclose(result.sum(axis=1), 1.0, rtol=1e-15)
