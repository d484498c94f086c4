"""Landmark machines: the map, its passes, the descent, and the estimators against exact machines and on bad input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from committee.svm import landmarks as choosing
from committee.svm import nystroem_map as nystroem
from committee.svm import nystroem_svm as module
from committee.svm._linear_base import Costs
from committee.svm.kernel_functions import Gaussian, Laplacian, Linear, Polynomial
from committee.svm.landmarks import Candidates, candidates, choose_landmarks, lloyd, ridge_leverage
from committee.svm.nystroem_map import CostMatrix, lost_trace, make_blocks, nystroem_map, sweep
from committee.svm.nystroem_svm import Descent, NystroemSVC, NystroemSVR, descend
from tests.bad_input import (
    LABELS,
    N,
    X,
    target_of,
)

Floats = NDArray[np.float64]
MACHINES: list[type[Any]] = [NystroemSVC, NystroemSVR]
each = pytest.mark.parametrize("cls", MACHINES, ids=lambda cls: cls.__name__)


def make_rows(n: int = 400, d: int = 3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d))
    return rows, np.where(np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def settled(kernel: Any, rows: Floats) -> Any:
    return kernel.settle(rows)


# --- the map ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.3), Laplacian(gamma=0.2), Polynomial(2, 1.0), Linear()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_reproduce_the_kernel_between_landmarks(kernel: Any, dtype: Any) -> None:
    rows, _ = make_rows(60)
    mapping = nystroem_map(settled(kernel, rows), rows, dtype)
    P = mapping.features(rows)
    exact = kernel(rows)
    np.testing.assert_allclose(P @ P.T, exact, atol=(1e-8 if dtype == np.float64 else 2e-4) * np.abs(exact).max())
    assert lost_trace(mapping, rows) < 1e-4


def test_features_are_those_of_scikit_learn() -> None:
    rows, _ = make_rows(200)
    peer = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(rows)
    mapping = nystroem_map(settled(Gaussian(gamma=0.3), rows), peer.components_, np.float64)
    P, Q = mapping.features(rows), peer.transform(rows)
    np.testing.assert_allclose(P @ P.T, Q @ Q.T, atol=1e-6)
    lost = 1.0 - np.mean(np.sum(P**2, axis=1))  # k(x, x) = 1
    assert lost_trace(mapping, rows) == pytest.approx(lost)
    assert 0.05 < lost < 0.6


def test_more_landmarks_lose_less() -> None:
    rows, _ = make_rows(150)
    kernel = settled(Gaussian(), rows)
    lost = [lost_trace(nystroem_map(kernel, rows[:m], np.float64), rows) for m in (5, 20, 80, 150)]
    assert np.all(np.diff(lost) < 0.0)
    assert lost[-1] < 1e-8


def test_a_kernel_of_zeros_is_rejected() -> None:
    with pytest.raises(ValueError, match="0 between all landmarks"):
        nystroem_map(Linear(), np.zeros((3, 2)), np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pass_is_what_all_rows_at_once_say(dtype: Any, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nystroem, "BLOCK_CELLS", 30 * 50)
    monkeypatch.setattr(nystroem, "GROUP", 3)
    monkeypatch.setattr(nystroem, "n_threads", lambda n_jobs, work: n_jobs)
    rows, y = make_rows()
    rng = np.random.default_rng(1)
    mapping = nystroem_map(settled(Gaussian(), rows), rows[:30], dtype)
    v, b = rng.normal(size=(len(mapping.T), 2)), np.array([0.1, -0.2])
    y2, up, down = np.stack([y, -y], axis=1), rng.random((400, 2)), rng.random((400, 2))
    result = sweep(mapping, make_blocks(mapping, rows), CostMatrix(y2, up, down, 0.1), v, b, n_jobs)
    f = mapping.features(rows) @ v + b

    def cost(v: Floats, b: Floats) -> Floats:
        r = y2 - mapping.features(rows) @ v - b
        return np.sum(up * np.maximum(r - 0.1, 0.0) ** 2 + down * np.maximum(-r - 0.1, 0.0) ** 2, axis=0)

    loose = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(result.f, f, atol=10 * loose)
    np.testing.assert_allclose(result.value, cost(v, b), rtol=loose)
    assert result.n_support.tolist() == np.count_nonzero(np.abs(y2 - f) > 0.1, axis=0).tolist()
    if dtype == np.float64:  # by differences
        step = 1e-6
        for i in (0, 5, len(v)):
            moved = [np.copy(v), np.copy(b)]
            (moved[0][i] if i < len(v) else moved[1])[...] += step
            slope = (cost(*moved) - cost(v, b)) / step
            np.testing.assert_allclose(result.gradient[i], slope, rtol=1e-3, atol=1e-3)


# --- landmarks -------------------------------------------------------------------------------------------------------


def test_equal_rows_are_one_candidate_in_any_order() -> None:
    rows, weight = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [3.0, 3.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    first = candidates(rows, rows, weight, np.random.default_rng(0))
    second = candidates(rows[::-1], rows[::-1], weight[::-1], np.random.default_rng(0))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.weight, second.weight)
    assert sorted(first.weight.tolist()) == [2.0, 4.0, 4.0]


def test_a_large_table_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MAX_ROWS", 100)
    rows, _ = make_rows()
    assert len(candidates(rows, rows, np.ones(400), np.random.default_rng(0)).X) == 100


@pytest.mark.parametrize("choice", ["uniform", "kmeans", "leverage"])
def test_as_many_landmarks_as_requested(choice: Any) -> None:
    rows, _ = make_rows()
    kernel = settled(Gaussian(), rows)
    result = Candidates(rows, np.ones(400))
    chosen = choose_landmarks(choice, result, 25, kernel, 0.5, np.random.default_rng(0))
    again = choose_landmarks(choice, result, 25, kernel, 0.5, np.random.default_rng(0))
    assert chosen.shape == (25, 3)
    np.testing.assert_array_equal(chosen, again)
    assert np.unique(chosen, axis=0).shape == (25, 3)
    np.testing.assert_array_equal(choose_landmarks(choice, result, 400, kernel, 0.5, np.random.default_rng(0)), rows)
    if choice != "kmeans":
        assert set(map(tuple, chosen)) <= set(map(tuple, rows))


def test_centres_of_clear_clusters() -> None:
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    rows = np.repeat(middles, 50, axis=0) + 0.1 * rng.normal(size=(150, 2))
    weight = rng.integers(1, 4, 150).astype(float)
    centres = lloyd(Candidates(rows, weight), rows[[0, 60, 120]])
    expected = [np.average(rows[i : i + 50], axis=0, weights=weight[i : i + 50]) for i in (0, 50, 100)]
    np.testing.assert_allclose(centres, expected, atol=1e-12)


def test_an_empty_cluster_stays_where_it_is() -> None:
    centres = lloyd(Candidates(np.array([[0.0], [1.0]]), np.ones(2)), np.array([[0.5], [100.0]]))
    assert centres.tolist() == [[0.5], [100.0]]


def test_a_lonely_row_has_the_largest_leverage() -> None:
    rows = np.vstack([0.1 * np.random.default_rng(0).normal(size=(50, 2)), [[5.0, 5.0]]])
    kernel = settled(Gaussian(gamma=1.0), rows)
    scores = ridge_leverage(Candidates(rows, np.ones(51)), rows, kernel, 0.5)
    K = rbf_kernel(rows, gamma=1.0)
    np.testing.assert_allclose(scores, np.diag(K @ np.linalg.inv(K + 0.5 * np.eye(51))), atol=1e-6)
    assert scores.argmax() == 50


def test_clusters_lose_less_than_lots() -> None:
    rows, _ = make_rows(2000)
    kernel = settled(Gaussian(), rows)
    lost = {}
    for choice in ("uniform", "kmeans"):
        chosen = choose_landmarks(choice, Candidates(rows, np.ones(2000)), 40, kernel, 0.5, np.random.default_rng(0))
        lost[choice] = lost_trace(nystroem_map(kernel, chosen, np.float64), rows)
    assert lost["kmeans"] < lost["uniform"]


# --- the descent -----------------------------------------------------------------------------------------------------


def quadratic(v: Floats) -> tuple[float, Floats]:
    """A cost without the penalty 1/2 |v|^2, of (v, b), and its gradient."""
    A = np.diag([1.0, 10.0, 100.0])
    at = np.array([1.0, -2.0, 0.5])
    return float((v - at) @ A @ (v - at)), 2.0 * A @ (v - at)


def value_after(at: Descent, t: float, move: Floats) -> float:
    v = at.place + t * at.s
    return quadratic(v)[0] + 0.5 * float(v[:-1] @ v[:-1])


def test_a_step_that_is_rejected_twice_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_value_after", value_after)
    nothing = np.zeros(1)
    at = Descent(np.zeros(3), lambda g: 0.1 * g, Costs(nothing, nothing, nothing), 0.0)
    at = descend(at, *quadratic(at.candidate), nothing, 0, 1e-10)  # to the first place
    once = descend(at, *quadratic(at.candidate), nothing, 0, 1e-10)
    assert (once.n_rejected, once.t, len(once.memory)) == (1, 1.0, 1)
    assert np.linalg.norm(once.s) < np.linalg.norm(at.s)
    twice = descend(at._replace(n_rejected=1), *quadratic(at.candidate), nothing, 0, 1e-10)
    assert twice.n_rejected == 2
    assert 0.0 < twice.t < 1.0
    assert value_after(twice, twice.t, nothing) < at.value
    np.testing.assert_allclose(twice.candidate, at.place + twice.t * at.s)


@pytest.mark.parametrize("scale", [1.0 / 300.0, 1.0 / 10.0])
def test_a_descent_with_a_poor_matrix_still_gets_there(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """B begins too small in one direction and too large in another: it learns, from too long steps as well."""
    monkeypatch.setattr(module, "_value_after", value_after)
    nothing = np.zeros(1)
    at = Descent(np.zeros(3), lambda g: scale * g, Costs(nothing, nothing, nothing), 0.0)
    values, lengths = [], []
    for _ in range(60):
        before = at
        at = descend(at, *quadratic(at.candidate), nothing, 0, 1e-10)
        values.append(at.value)
        lengths.append(before.t if at.place is not before.place else 0.0)
        if at.is_done:
            break
    assert at.is_done
    assert np.all(np.diff(values) <= 0.0)
    best = minimize(lambda v: quadratic(v)[0] + 0.5 * float(v[:-1] @ v[:-1]), np.zeros(3), tol=1e-12)
    assert at.value == pytest.approx(best.fun, rel=1e-6)
    if scale == 0.1:
        assert 0.0 in lengths[1:]  # a pass found the step too long


@pytest.mark.parametrize("m", [20, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_objective_falls_from_pass_to_pass(m: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small sample makes a poor start: the passes must do the work."""
    monkeypatch.setattr(module, "SAMPLE_CELLS", 1)
    monkeypatch.setattr(module, "EXACT_CELLS", 0 if dtype == np.float32 else 10**9)
    rows, y = make_rows(6000)
    fits = {tol: NystroemSVC(m, C=10.0, tol=tol, max_iter=100, random_state=0).fit(rows, y) for tol in (1e-2, 1e-5)}
    for model in fits.values():
        assert np.all(np.diff(model.history_.objective) <= 0.0)
        assert model.history_.step_length[0] == 0.0
    history = fits[1e-5].history_
    assert history.n_rounds > 3
    assert history.gradient_norm[-1] < 0.05 * history.gradient_norm[0]
    assert fits[1e-5].objective_[0] <= fits[1e-2].objective_[0]
    monkeypatch.setattr(module, "SAMPLE_CELLS", 10**9)  # all rows
    exact = NystroemSVC(m, C=10.0, random_state=0).fit(rows, y)
    assert fits[1e-5].objective_[0] == pytest.approx(exact.objective_[0], rel=2e-5)
    assert exact.n_iter_ < fits[1e-5].n_iter_


# --- the machines ----------------------------------------------------------------------------------------------------


def test_all_rows_as_landmarks_make_the_exact_machine() -> None:
    """At the minimum of 1/2 u'Ku + C sum max(0, 1 - y f)^2 is f = K (2 C y slack) + b, and sum y slack = 0."""
    rows, y = make_rows(60)
    model = NystroemSVC(60, gamma=0.5, C=2.0, random_state=0).fit(rows, y)
    K, f = rbf_kernel(rows, gamma=0.5), model.decision_function(rows)
    slack = np.maximum(0.0, 1.0 - y * f)
    np.testing.assert_allclose(f, K @ (4.0 * y * slack) + model.intercept_[0], atol=1e-5)
    assert abs(float(y @ slack)) < 1e-8
    u = 4.0 * y * slack
    assert model.objective_[0] == pytest.approx(0.5 * u @ K @ u + 2.0 * slack @ slack, rel=1e-6)
    by_hand = rbf_kernel(rows, model.landmarks_, gamma=0.5) @ model.landmark_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(f, by_hand, atol=1e-8)


def test_numbers_by_kernel_ridge_regression() -> None:
    """With epsilon = 0 the machine is kernel ridge regression with an offset: (K + 1/2C) u + b = y, sum u = 0."""
    rows, _ = make_rows(50)
    y = np.sin(rows[:, 0])
    model = NystroemSVR(50, gamma=0.5, C=3.0, epsilon=0.0, random_state=0).fit(rows, y)
    K = rbf_kernel(rows, gamma=0.5)
    system = np.block([[K + np.eye(50) / 6.0, np.ones((50, 1))], [np.ones((1, 50)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(model.predict(rows), K @ solved[:-1] + solved[-1], atol=1e-6)


@each
def test_threads_change_no_bit(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_CELLS", 0)
    monkeypatch.setattr(module, "SAMPLE_CELLS", 10_000)
    rows, y = make_rows(20_000)
    fits = [cls(64, n_jobs=n_jobs, random_state=0).fit(rows, y) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(fits[0].landmark_coef_, fits[1].landmark_coef_)
    assert fits[0].history_ == fits[1].history_
    np.testing.assert_array_equal(fits[0].predict(rows), fits[1].predict(rows))


def test_landmarks_by_number() -> None:
    rows, y = make_rows(400)
    assert len(NystroemSVC(random_state=0).fit(rows, y).landmarks_) == 80  # 4 sqrt(400)
    assert len(NystroemSVC(random_state=0).fit(rows[:100], y[:100]).landmarks_) == 50
    assert len(NystroemSVC(1000, random_state=0).fit(rows[:100], y[:100]).landmarks_) == 100


def test_kernels_of_every_kind() -> None:
    rows, y = make_rows(200)
    by_name = NystroemSVC(30, gamma=0.4, random_state=0).fit(rows, y)
    by_object = NystroemSVC(30, kernel=Gaussian(gamma=0.4), random_state=0).fit(rows, y)
    by_function = NystroemSVC(30, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.4), random_state=0).fit(rows, y)
    np.testing.assert_array_equal(by_object.decision_function(rows), by_name.decision_function(rows))
    np.testing.assert_allclose(by_function.decision_function(rows), by_name.decision_function(rows), atol=1e-5)
    combined = NystroemSVC(30, kernel=Gaussian() + 0.5 * Linear(), random_state=0).fit(rows, y)
    assert combined.score(rows, y) > 0.8


def test_a_function_stays_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_CELLS", 0)
    rows, y = make_rows(200)
    for kernel in (lambda A, B: rbf_kernel(A, B, gamma=0.4), Gaussian() + Gaussian(gamma=1.0)):
        model = NystroemSVC(30, kernel=kernel, random_state=0).fit(rows, y)
        assert model.score(rows, y) > 0.8


def test_a_class_without_weight() -> None:
    y = np.arange(N) % 3
    model = NystroemSVC(10, random_state=0).fit(X, y, sample_weight=y < 2)
    np.testing.assert_allclose(model.decision_function(X)[:, 2], -1.0)


def test_the_warning_of_scales_and_scaling() -> None:
    frame = pd.DataFrame(X * [1.0, 1e4, 1e-1], columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match=r"the range of b is .*: pass scale=True"):
        NystroemSVC(random_state=0).fit(frame, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = NystroemSVC(N, scale=True, random_state=0).fit(frame, LABELS)
    expected = NystroemSVC(N, scale=True, random_state=0).fit(X, LABELS)
    np.testing.assert_allclose(scaled.decision_function(frame), expected.decision_function(X), atol=1e-6)


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1e-60, 1e60])
@each
def test_extreme_costs(cls: type[Any], weight: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cls(10, random_state=0).fit(X, target_of(cls), sample_weight=weight)
    assert np.all(np.isfinite(model.landmark_coef_))


def test_a_run_cut_short_says_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_CELLS", 1)
    rows, y = make_rows(2000)
    with pytest.warns(
        ConvergenceWarning,
        match=r"did not converge in max_iter=1: the estimated relative excess over the minimum is \d",
    ):
        NystroemSVC(50, max_iter=1, tol=1e-6, random_state=0).fit(rows, y)


def test_single_precision_tables_and_numbers_far_from_zero() -> None:
    rows, _ = make_rows(300)
    y = np.sin(rows[:, 0]) + 1e6
    model = NystroemSVR(100, C=100.0, epsilon=0.0, random_state=0).fit(rows.astype(np.float32), y)
    assert np.abs(model.predict(rows.astype(np.float32)) - y).max() < 0.1
