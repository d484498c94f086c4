"""Shrinking changes the path to the optimum, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from committee.svm import _shrinking as shrinking
from committee.svm import smo
from committee.svm._kernel_rows import KernelRows
from committee.svm.binary_svm import make_binary_svm
from committee.svm.kernel_algebra import Kernel
from committee.svm.kernel_functions import Gaussian, GramFunction, Polynomial, Precomputed
from committee.svm.smo import Problem, Progress, Solution, Step, solve
from committee.svm.svc import svc_problem
from committee.svm.svr import svr_problem
from tests.naive.svm import gaussian
from tests.unit.svm.test_smo import TOL, N, data, problems, true_gap

KERNEL = Gaussian(gamma=0.2)
SMALL_CACHE = 2.0
"""Megabytes: 200 rows of 2,600 kernel values, fewer than the free variables."""


def weighted() -> dict[str, Problem]:
    _, y, value = data()
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 3.0], N)
    return {
        "weights, classes": svc_problem(y, weight),
        "weights, numbers": svr_problem(value, 5.0 * weight, 0.2),
    }


ALL = {name: problem for name, problem in (problems() | weighted()).items() if name != "soft margin, C=100"}


@cache
def gram() -> Any:
    return gaussian(data()[0], data()[0], 0.2)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems shrink early and often."""
    monkeypatch.setattr(shrinking, "EARLY", 0.9)
    monkeypatch.setattr(shrinking, "ROWS_PER_FREE", 100)


class Log:
    """Counts of rows before and after every shrinking, and the gradient of the whole after every thaw."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.errors: list[float] = []
        descend_among = shrinking.descend_among

        def watched(run: Progress, active: Any, *args: Any) -> bool:
            self.sizes.append((run.rows.n, active.size))
            is_optimal = descend_among(run, active, *args)
            if run.frozen is None:
                g = gram() @ run.coefficients()
                self.errors.append(float(np.abs(run.g - g).max() / np.abs(run.coefficients()).sum()))
            return is_optimal

        monkeypatch.setattr(shrinking, "descend_among", watched)


def rows_of(kernel: Kernel = KERNEL, X: Any = None, **settings: Any) -> KernelRows:
    X = data()[0] if X is None else X
    return KernelRows(kernel.settle(X), X, **({"cache_size": SMALL_CACHE, "n_jobs": 1} | settings))


def solve_whole(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> Solution:
    with monkeypatch.context() as patched:
        patched.setattr(shrinking, "EARLY", 0.0)
        patched.setattr(shrinking, "LATE", 0.0)
        return solve(problem, rows_of(cache_size=200.0), tol=TOL)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", list(ALL))
def test_shrinking_changes_only_the_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ALL[name]
    whole = solve_whole(problem, monkeypatch)
    log = Log(monkeypatch)
    result = solve(problem, rows_of(), tol=TOL)
    assert log.sizes
    assert all(after <= 0.9 * before for before, after in log.sizes)
    assert max(log.errors) <= 1e-6  # of sum |coef|, kernel values of float32
    assert result.is_optimal
    assert result.objective == pytest.approx(whole.objective, rel=1e-5)
    assert true_gap(problem, result, gram()) <= 1.001 * TOL
    assert (result.alpha >= 0.0).all()
    assert (result.alpha <= problem.upper).all()
    np.testing.assert_allclose(result.alpha @ problem.y, problem.start @ problem.y, atol=1e-7)


@pytest.mark.usefixtures("eager")
def test_parts_shrink_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    solve(ALL["soft margin, C=1"], rows_of(), tol=TOL)
    assert [before for before, _ in log.sizes if before < N]


@pytest.mark.usefixtures("eager")
def test_variables_frozen_too_early_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the active rows are taken for settled: thawing finds out."""
    problem = ALL["soft margin, C=1"]
    whole = solve_whole(problem, monkeypatch)
    active_rows, n_calls = shrinking.active_rows, 0

    def too_few(run: Progress, kkt: Any) -> Any:
        nonlocal n_calls
        active = active_rows(run, kkt)
        if active is None or n_calls == 2:
            return active
        n_calls += 1
        return active[::2]

    monkeypatch.setattr(shrinking, "active_rows", too_few)
    result = solve(problem, rows_of(), tol=TOL)
    assert n_calls == 2
    assert result.is_optimal
    assert result.objective == pytest.approx(whole.objective, rel=1e-5)
    assert true_gap(problem, result, gram()) <= 1.001 * TOL


def test_rows_that_fit_or_are_given_or_exact_do_not_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    solve(ALL["soft margin, C=1"], rows_of(cache_size=200.0))
    monkeypatch.setattr(shrinking, "ROWS_PER_FREE", 100)
    X, y, _ = data()
    solve(svc_problem(y, np.ones(N)), rows_of(Precomputed(), gram(), cache_size=20.0))
    solve(svc_problem(y[:500], np.ones(500)), rows_of(X=X[:500], cache_size=0.1))  # float64
    assert not log.sizes


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", ["tube", "nu, classes"])
def test_the_history_is_that_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, and what `on_step` sees, while the problem is shrunk."""
    log, problem = Log(monkeypatch), ALL[name]
    K = gram()
    seen: list[Step] = []

    def on_step(run: Progress, step: Step) -> None:
        assert run.problem is problem
        assert run.n_steps == step.step
        coef = run.coefficients()
        true = 0.5 * float(coef @ K @ coef) + float(problem.p @ run.alpha)
        assert step.objective == pytest.approx(true, rel=1e-5)
        assert step.n_support == np.count_nonzero(run.alpha)
        seen.append(step)

    result = solve(problem, rows_of(), tol=TOL, on_step=on_step)
    assert log.sizes
    assert result.records[:-1] == tuple(seen)
    steps = [step.step for step in result.records]
    assert steps == sorted(steps)
    machine = make_binary_svm(problem, result, "free", N)
    assert machine.squared_norm == pytest.approx(float(machine.coef @ K[np.ix_(machine.support, machine.support)]
                                                       @ machine.coef), rel=1e-4)  # fmt: skip
    assert 0.0 <= machine.duality_gap <= 2.0 * TOL * float(result.alpha.sum())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("kernel", [KERNEL, Polynomial(2, 1.0, 0.1), GramFunction(lambda X, Z: np.exp(X @ Z.T / 8.0))],
                         ids=["gaussian", "polynomial", "function"])  # fmt: skip
def test_threads_change_no_bit(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    descend_among = shrinking.descend_among
    monkeypatch.setattr(shrinking, "descend_among", lambda *args: (calls.append(1), descend_among(*args))[1])
    one, two = (solve(ALL["soft margin, C=1"], rows_of(kernel, n_jobs=n)) for n in (1, 2))
    assert calls
    assert one.is_optimal
    assert one.alpha.tobytes() == two.alpha.tobytes()
    assert one.records == two.records


@pytest.mark.usefixtures("eager")
def test_limits_and_interrupts_reach_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, log = ALL["soft margin, C=1"], Log(monkeypatch)
    parts: list[int] = []
    solve_block = smo._solve_block

    def watched(run: Progress, *args: Any) -> bool:
        if run.frozen is not None:
            parts.append(run.n_steps)
        return solve_block(run, *args)

    monkeypatch.setattr(smo, "_solve_block", watched)
    solve(problem, rows_of())
    limit = parts[2] + 5
    result = solve(problem, rows_of(), max_steps=limit)
    assert not result.is_optimal
    assert result.n_steps == limit
    assert result.gap == pytest.approx(true_gap(problem, result, gram()), abs=1e-4)

    def interrupt(run: Progress, step: Step) -> None:
        if step.step >= limit:
            raise KeyboardInterrupt

    rows = rows_of()
    with pytest.raises(KeyboardInterrupt):
        solve(problem, rows, on_step=interrupt)
    # The rows are whole again
    assert log.sizes
    again, fresh = solve(problem, rows), solve(problem, rows_of())
    assert again.alpha.tobytes() == fresh.alpha.tobytes()


def test_narrowed_rows_keep_what_is_there_in_the_same_memory() -> None:
    K, rng = gram(), np.random.default_rng(0)
    rows = rows_of()
    capacity = rows.capacity
    for _ in range(5):
        rows.fetch(rng.choice(N, 60, replace=False))  # some have left again
    cached = np.flatnonzero(rows._slot >= 0)
    active = np.sort(rng.choice(N, 900, replace=False))
    with rows.narrowed(active) as few:
        kept = np.flatnonzero(np.isin(active, cached))
        assert 20 < kept.size == few._n_used
        assert capacity < few.capacity <= 900
        assert few._cache.nbytes <= SMALL_CACHE * 2**20
        assert np.shares_memory(few._cache, rows._memory)
        slots = few.fetch(kept)
        assert few.n_computed == 0
        np.testing.assert_allclose(few._cache[slots], K[np.ix_(active[kept], active)], atol=1e-6)
        some = rng.choice(900, 300, replace=False)
        np.testing.assert_allclose(few._cache[few.fetch(some)], K[np.ix_(active[some], active)], atol=1e-6)
    assert rows.capacity == capacity
    some = cached[:100]
    np.testing.assert_allclose(rows._cache[rows.fetch(some)], K[some], atol=1e-6)
