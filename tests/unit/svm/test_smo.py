"""The solver on problems large enough for float32 rows: true gaps, caches, threads, warm starts, history."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from committee.svm import _kernel_rows as kernel_rows
from committee.svm import smo
from committee.svm._kernel_rows import KernelRows
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Gaussian, Laplacian, Linear, Polynomial, RowFunction
from committee.svm.nu_svm import nu_svc_problem, nu_svr_problem
from committee.svm.one_class import one_class_problem
from committee.svm.smo import Problem, Solution, solve
from committee.svm.svc import SVC, svc, svc_problem
from committee.svm.svr import svr_problem
from tests.naive.svm import Dual, gaussian

N = 2600
TOL = 1e-3


@cache
def data(n: int = N, d: int = 6) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    value = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.where(value > 0, 1.0, -1.0), value


def problems() -> dict[str, Problem]:
    _, y, value = data()
    return {
        "soft margin, C=1": svc_problem(y, np.ones(N)),
        "soft margin, C=100": svc_problem(y, np.full(N, 100.0)),
        "tube": svr_problem(value, np.full(N, 5.0), 0.2),
        "nu, classes": nu_svc_problem(y, np.ones(N), 0.3),
        "nu, numbers": nu_svr_problem(value, np.ones(N), 0.3),
        "one class": one_class_problem(np.ones(N), 0.2),
    }


def rows_of(kernel: Kernel, X: Any, **settings: Any) -> KernelRows:
    return KernelRows(kernel.settle(X), X, **settings)


def true_gap(problem: Problem, result: Solution, K: Any) -> float:
    """From the definition, in float64."""
    f = (K @ np.bincount(problem.row, result.alpha * problem.y))[problem.row] + problem.y * problem.p
    up = np.where(problem.y > 0, result.alpha < problem.upper, result.alpha > 0)
    low = np.where(problem.y > 0, result.alpha > 0, result.alpha < problem.upper)
    sides = [problem.y > 0, problem.y < 0] if problem.is_by_class else [problem.y != 0]
    return max(float(f[low & side].max() - f[up & side].min()) for side in sides)


@pytest.mark.parametrize("name", list(problems()))
def test_the_true_gap_is_within_the_tolerance(name: str) -> None:
    X, problem = data()[0], problems()[name]
    rows = rows_of(Gaussian(gamma=0.2), X)
    assert rows.dtype == np.float32
    result = solve(problem, rows, tol=TOL)
    assert result.is_optimal
    assert true_gap(problem, result, gaussian(X, X, 0.2)) <= 1.001 * TOL
    assert (result.alpha >= 0.0).all()
    assert (result.alpha <= problem.upper).all()
    sums = Dual(np.empty(0), problem.y, problem.p, problem.upper, problem.start, problem.is_by_class).sums()
    np.testing.assert_allclose(sums @ result.alpha, sums @ problem.start, atol=1e-7)


def test_far_apart_points_keep_their_digits() -> None:
    """Products of float32 would lose small distances between rows far from the centre."""
    X, y, _ = data()
    wide = np.vstack([X, X + 1e4])
    problem = svc_problem(np.tile(y, 2), np.ones(2 * N))
    rows = rows_of(Gaussian(gamma=0.2), wide)
    assert rows.points is rows.exact_points
    assert rows.dtype == np.float32
    result = solve(problem, rows)
    alone = solve(svc_problem(y, np.ones(N)), rows_of(Gaussian(gamma=0.2), X))
    assert result.objective == pytest.approx(2.0 * alone.objective, rel=1e-4)


@pytest.mark.parametrize("cache_size", [0.1, 3.0, 50.0])
def test_the_cache_is_as_large_as_asked_and_changes_little(cache_size: float) -> None:
    X, y, _ = data()
    rows = rows_of(Gaussian(gamma=0.2), X, cache_size=cache_size)
    assert rows._cache.nbytes <= max(cache_size * 2**20, 16 * 4 * N)
    result = solve(svc_problem(y, np.ones(N)), rows)
    assert result.is_optimal
    ample = solve(svc_problem(y, np.ones(N)), rows_of(Gaussian(gamma=0.2), X))
    assert result.objective == pytest.approx(ample.objective, rel=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.2), Laplacian(gamma=0.3), Polynomial(2, 1.0) + Linear()], ids=repr)
def test_threads_change_no_bit(kernel: Kernel) -> None:
    X, y, _ = data()
    one, two = (solve(svc_problem(y, np.ones(N)), rows_of(kernel, X, n_jobs=n)) for n in (1, 2))
    assert one.alpha.tobytes() == two.alpha.tobytes()
    assert one.records == two.records


def test_a_warm_start_ends_at_once_or_soon() -> None:
    X, y, _ = data()
    rows = rows_of(Gaussian(gamma=0.2), X)
    first = solve(svc_problem(y, np.ones(N)), rows)
    computed = rows.n_computed
    again = solve(svc_problem(y, np.ones(N), first.alpha), rows)
    assert again.n_steps == 0
    assert rows.n_computed == computed  # all rows were there
    cold = solve(svc_problem(y, np.full(N, 2.0)), rows)
    warm = solve(svc_problem(y, np.full(N, 2.0), 2.0 * first.alpha), rows)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-5)
    machine, _ = svc(y, np.ones(N), rows, start=first.alpha)
    assert machine.n_steps == 0


def test_the_history_falls() -> None:
    X, y, _ = data()
    result = solve(svc_problem(y, np.ones(N)), rows_of(Gaussian(gamma=0.2), X))
    objective = np.array([step.objective for step in result.records])
    assert (np.diff(objective) <= 1e-6 * np.abs(objective[-1])).all()
    assert result.records[-1].gap == result.gap <= TOL
    assert result.records[-1].n_support == np.count_nonzero(result.alpha)
    assert result.records[-1].step == result.n_steps


def test_steps_are_limited() -> None:
    X, y, _ = data()
    result = solve(svc_problem(y, np.ones(N)), rows_of(Gaussian(gamma=0.2), X), max_steps=7)
    assert not result.is_optimal
    assert result.n_steps == 7
    assert result.gap > TOL


def test_a_gradient_that_drifted_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are wrong by a part in a thousand: float32 says optimal, float64 disagrees and the run goes on."""
    X, y, _ = data()
    problem, calls = svc_problem(y, np.full(N, 10.0)), []
    check = smo._check_gradient

    def counted(*args: Any) -> float:
        calls.append(check(*args))
        return calls[-1]

    add = KernelRows.add
    monkeypatch.setattr(smo, "_check_gradient", counted)
    monkeypatch.setattr(KernelRows, "add", lambda self, g, slots, coef: add(self, g, slots, coef * 1.001))
    result = solve(problem, rows_of(Gaussian(gamma=0.2), X))
    assert len(calls) > 1
    assert calls[0] > TOL
    assert true_gap(problem, result, gaussian(X, X, 0.2)) <= 1.001 * TOL


# --- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, N])
def test_rows_come_and_go(n: int) -> None:
    X = data()[0][:n]
    K = gaussian(X, X, 0.2)
    rows = rows_of(Gaussian(gamma=0.2), X, cache_size=20 * 8 * n / 2**20)
    tight = 1e-6 if n == N else 1e-13
    rng = np.random.default_rng(1)
    for _ in range(20):
        some = rng.choice(n, 6)
        slots = rows.fetch(some)
        np.testing.assert_allclose(rows._cache[slots], K[some], atol=tight)
        np.testing.assert_allclose(rows.block(some), K[np.ix_(some, some)], atol=tight)
    total, coef = np.zeros(n), rng.normal(size=6)
    rows.add(total, slots, coef)
    np.testing.assert_allclose(total, coef @ K[some], atol=10 * tight)
    np.testing.assert_allclose(rows.exact_sums(np.arange(n), some, coef), coef @ K[some], atol=1e-12)
    part = rows.subset(np.arange(3, n, 7))
    np.testing.assert_allclose(part._cache[part.fetch(np.array([2]))][0], K[17, 3::7], atol=tight)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.2), Linear()])
@pytest.mark.parametrize("n", [50, N])
def test_a_block_takes_over_what_is_known(kernel: Kernel, n: int) -> None:
    X = data()[0][:n]
    rows = rows_of(kernel, X)
    some = np.random.default_rng(1).choice(n, 40, replace=False)
    K = kernel(X)
    first = rows.wide_block(some[:25], np.empty((0, 0), rows.dtype))
    known = first[10:, 10:25]
    both = rows.wide_block(some[10:], known)[:, :30]
    tight = 1e-13 if rows.is_exact else 2e-6
    np.testing.assert_allclose(both, K[np.ix_(some[10:], some[10:])], rtol=tight, atol=tight)
    np.testing.assert_allclose(both, both.T, rtol=tight, atol=tight)
    np.testing.assert_array_equal(both[:15, :15], known)


def test_small_parts_copy_the_values_that_are_there() -> None:
    X, calls = data()[0][:40], []

    def slow(x: Any, z: Any) -> float:
        calls.append(1)
        return float(x @ z)

    rows = KernelRows(RowFunction(slow), X)
    rows.fetch(np.arange(40))
    n_calls = len(calls)
    part = rows.subset(np.arange(0, 40, 3))
    slots = part.fetch(np.arange(part.n))
    np.testing.assert_allclose(part._cache[slots], X[::3] @ X[::3].T)
    assert len(calls) == n_calls


def test_huge_kernel_values_stay_in_float64() -> None:
    X = data()[0] * 1e9
    assert rows_of(Linear(), X).dtype == np.float64
    assert kernel_rows.MAX_EXACT < N


@pytest.mark.parametrize("C", [1e2, 1e4])
@pytest.mark.parametrize("seed", range(6))
def test_columns_on_different_scales_end_at_the_optimum(seed: int, C: float) -> None:
    """Pairs creep there for millions of steps, LIBSVM's too; the gap between primal and dual says who is right."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    X = rng.normal(size=(n, 3)) * [1.0, 30.0, 1000.0]
    side = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The columns of X differ in scale")
        warnings.simplefilter("error", ConvergenceWarning)
        model = SVC(kernel="linear", C=C).fit(X, side)
    assert model.n_iter_[0] < 2_000_000
    coef = model.dual_coef_[0]
    w = coef @ X[model.support_]
    dual = np.abs(coef).sum() - 0.5 * w @ w
    hinge = min(np.maximum(0.0, 1.0 - side * (X @ w + b)).sum() for b in side - X @ w)
    assert abs(coef.sum()) < 1e-9 * C
    assert 0.5 * w @ w + C * hinge == pytest.approx(dual, rel=1e-5)
