"""The compiled parts of the kernel SVMs against plain NumPy, the solver against plain SMO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.kernels.svm import gram
from committee.kernels.svm import smo as kernels
from committee.svm._kernel_rows import KernelRows
from committee.svm.kernel_functions import GramFunction
from committee.svm.nu_svm import nu_svc_problem, nu_svr_problem
from committee.svm.one_class import one_class_problem
from committee.svm.smo import Problem, solve
from committee.svm.svc import svc_problem
from committee.svm.svr import svr_problem
from tests.naive.svm import Dual, gaussian, quadratic_programme, smo

DTYPES = [np.float32, np.float64]


def data(n: int, seed: int, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def test_powers_of_two_are_right_to_a_rounding_or_two() -> None:
    exponents = np.linspace(-125.9, 0.0, 4001, dtype=np.float32)
    block = np.tile(exponents, (3, 1))
    left, right = np.array([0.0, 0.5, 2.0], np.float32), np.zeros(exponents.size, np.float32)
    out = np.full((5, exponents.size + 3), np.nan, np.float32)
    gram.raise_two_into(block, left, right, out, np.array([4, 0, 2]), 2)
    gram.raise_two(block, left, right)
    np.testing.assert_array_equal(block, out[[4, 0, 2], 2:-1])
    assert np.isnan(out[[1, 3]]).all()
    assert np.isnan(out[:, [0, 1, -1]]).all()
    for shift, row in zip(left, block, strict=True):
        wanted = 2.0 ** np.maximum(exponents.astype(np.float64) - np.float64(shift), -126.0)
        # the exponent itself is rounded where the shift is subtracted: 126 * 2**-24 * ln 2 is 5e-6
        np.testing.assert_allclose(row, wanted, rtol=2e-7 if shift == 0.0 else 6e-6)
    block = np.array([[3.0, -400.0]], np.float32)
    gram.raise_two(block, np.zeros(1, np.float32), np.zeros(2, np.float32))
    assert block.tolist() == [[1.0, 2.0**-126]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_copied(dtype: type) -> None:
    block = np.arange(12.0).reshape(3, 4)
    out = np.zeros((4, 7), dtype)
    gram.copy_rows(block, out, np.array([2, 0, 3]), 1)
    np.testing.assert_array_equal(out[[2, 0, 3], 1:5], block)
    assert out.sum() == block.sum()


def test_powers_of_e() -> None:
    exponents = np.linspace(-690.0, 0.0, 5001)
    block = exponents[np.newaxis].copy()
    gram.raise_e(block, np.array([0.25]), np.full(exponents.size, 0.5))
    np.testing.assert_allclose(block[0], np.exp(exponents - 0.75), rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 3, 4, 7, 8])
def test_distances(dtype: type, d: int) -> None:
    rng = np.random.default_rng(d)
    left, right = rng.normal(size=(5, d)).astype(dtype), rng.normal(size=(37, d)).astype(dtype)
    out = np.full((5, 37), np.nan, dtype)
    gram.subtract_distances(left, np.ascontiguousarray(right.T), out)
    wanted = -np.abs(left[:, None].astype(float) - right[None].astype(float)).sum(axis=2)
    np.testing.assert_allclose(out, wanted, rtol=2e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_rows", [0, 1, 4, 11])
def test_rows_are_added(dtype: type, n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    cache, total = rng.normal(size=(15, 300)).astype(dtype), rng.normal(size=300)
    slots, coef = rng.permutation(15)[:n_rows], rng.normal(size=n_rows).astype(dtype)
    wanted = total.copy()
    wanted[10:290] += coef.astype(float) @ cache[slots, 10:290].astype(float)
    kernels.add_rows(total, cache, slots, coef, 10, 290, np.empty(64, dtype))
    np.testing.assert_allclose(total, wanted, atol=1e-5 if dtype == np.float32 else 1e-13)


def test_the_kkt_conditions() -> None:
    rng = np.random.default_rng(0)
    n = 200
    y, upper = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.uniform(0.5, 2.0, n)
    alpha = rng.choice([0.0, 0.3, 1.0], n) * upper
    g, shift, row = rng.normal(size=n), rng.normal(size=n), rng.permutation(n)
    up, low, out = np.empty(n), np.empty(n), np.empty(4)
    kernels.check_kkt(g, kernels.Variables(row, shift, y, alpha, upper), up, low, out)
    f = g[row] + shift
    may_increase = np.where(y > 0, alpha < upper, alpha > 0)
    may_decrease = np.where(y > 0, alpha > 0, alpha < upper)
    np.testing.assert_array_equal(up[may_increase], f[may_increase])
    np.testing.assert_array_equal(low[may_decrease], f[may_decrease])
    assert (up[~may_increase] > 1e37).all()
    assert (low[~may_decrease] < -1e37).all()
    for k, side in enumerate((y > 0, y < 0)):
        assert out[2 * k] == f[may_increase & side].min()
        assert out[2 * k + 1] == f[may_decrease & side].max()


def nearest(values: Any, end: float, width: float, n: int) -> Any:
    """Positions of the n values nearest to `end`: whole buckets, of the last one some at equal distances."""
    bucket = np.abs(np.append(values, end + width) - end).astype(np.float32).view(np.int32) >> kernels.MANTISSA_CUT
    bucket, farthest = bucket[:-1], bucket[-1]
    last = np.sort(np.append(bucket[bucket <= farthest], np.full(n, farthest)))[n - 1]
    members = np.flatnonzero(bucket == last)
    wanted = min(n - np.count_nonzero(bucket < last), members.size)
    share = np.arange(members.size + 1) * wanted // max(members.size, 1)
    return np.sort(np.append(np.flatnonzero(bucket < last), members[np.diff(share) > 0]))


@pytest.mark.parametrize("n", [1, 10, 60, 300])
@pytest.mark.parametrize("kind", ["spread", "tied", "near the end"])
def test_the_variables_that_violate_most_are_chosen(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    f = np.where(rng.random(400) < 0.5, 1.0, -1.0) if kind == "tied" else rng.normal(size=400)
    may_increase = rng.random(400) < (0.1 if kind == "near the end" else 0.7)
    may_decrease = ~may_increase | (rng.random(400) < 0.3)
    up, low = np.where(may_increase, f, kernels.FAR), np.where(may_decrease, f, -kernels.FAR)
    lowest, highest = up.min(), low.max()
    up[:20], low[:20] = np.inf, -np.inf  # those that stay from the last block
    risers = nearest(up, lowest, highest - lowest, n)
    left = low.copy()
    left[risers] = -kernels.FAR
    fallers = nearest(left, highest, highest - lowest, n)
    out = np.full(2 * n, -1)
    room = np.empty(400, np.int32), np.empty(kernels.N_BUCKETS, np.int32)
    n_chosen = kernels.choose_extremes(up, low, lowest, highest, n, *room, out)
    np.testing.assert_array_equal(out[:n_chosen], np.append(risers, fallers))
    assert len(set(out[:n_chosen])) == n_chosen
    assert n_chosen == 2 * n or n > 10
    # a bucket is an eighth of its distance wide
    others = np.setdiff1d(np.flatnonzero(up < kernels.FAR), risers)
    assert np.all(up[others] - lowest >= (up[risers].max() - lowest) / 1.125) or risers.size < n
    assert np.all(up[risers] <= lowest + 1.125 * (highest - lowest))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_by_class", [False, True])
def test_smo_in_a_block_ends_where_plain_smo_does(dtype: type, is_by_class: bool) -> None:
    X, y = data(150, 1)
    order = np.argsort(-y, kind="stable") if is_by_class else np.arange(150)
    X, y = X[order], y[order]
    K = gaussian(X, X, 0.3)
    upper = np.random.default_rng(2).uniform(0.5, 3.0, 150)
    start = np.where(np.arange(150) % 2, 0.2, 0.0) if is_by_class else np.zeros(150)
    p = np.zeros(150) if is_by_class else -np.ones(150)
    dual = Dual(K, y, p, upper, start, is_by_class)
    alpha, f = start.copy(), (y * (dual.matrix @ start + p)).astype(dtype)
    tol = 1e-3 if dtype == np.float32 else 1e-9
    n_first = int((y > 0).sum()) if is_by_class else 150
    block = kernels.BlockProblem(K.astype(dtype), np.ones(150, dtype), y, upper, n_first)
    n_steps = kernels.solve_block(block, alpha, f, tol, 100_000, np.empty((5, 150), dtype))
    assert 0 < n_steps < 100_000
    assert dual.gap(alpha) <= tol * 1.05
    np.testing.assert_allclose(dual.sums() @ alpha, dual.sums() @ start, atol=1e-9)
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    best = dual.objective(smo(dual))
    # by convexity no more is missing than the gap for every unit that a variable may move
    assert best - 1e-8 <= dual.objective(alpha) <= best + tol * alpha.sum()


def problems(n: int, seed: int) -> dict[str, tuple[Problem, Any]]:
    X, y = data(n, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, n).astype(float)
    target = X[:, 0] + 0.3 * rng.normal(size=n)
    K = gaussian(X, X, 0.4)
    return {
        "soft margin": (svc_problem(y, 1.5 * weight), K),
        "hard margin": (svc_problem(y, np.full(n, np.inf)), K),
        "tube": (svr_problem(target, 2.0 * weight, 0.1), K),
        "no tube": (svr_problem(target, np.ones(n), 0.0), K),
        "nu, classes": (nu_svc_problem(y, weight, 0.3), K),
        "nu, numbers": (nu_svr_problem(target, 0.5 * weight, 0.4), K),
        "one class": (one_class_problem(weight, 0.35), K),
        "linear": (svc_problem(y, weight), X @ X.T),
    }


@pytest.mark.parametrize("name", list(problems(4, 0)))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_solver_finds_the_optimum_of_a_quadratic_programme(name: str, seed: int) -> None:
    problem, K = problems(24, seed)[name]
    dual = Dual(K[np.ix_(problem.row, problem.row)], problem.y, problem.p, problem.upper, problem.start,
                problem.is_by_class)  # fmt: skip
    rows = KernelRows(GramFunction(lambda X, Z: K[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))]),
                      np.arange(24.0)[:, None])  # fmt: skip
    result = solve(problem, rows)
    assert result.is_optimal
    assert result.objective == pytest.approx(dual.objective(result.alpha), rel=1e-9, abs=1e-9)
    assert result.gap == pytest.approx(dual.gap(result.alpha), abs=1e-9)
    assert dual.gap(result.alpha) < 1e-8
    np.testing.assert_allclose(dual.sums() @ result.alpha, dual.sums() @ problem.start, atol=1e-9)
    other = quadratic_programme(dual)
    assert result.objective == pytest.approx(dual.objective(other), rel=1e-6, abs=1e-7)
    assert result.objective <= dual.objective(other) + 1e-9
