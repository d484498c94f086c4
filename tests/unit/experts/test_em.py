"""The passes over the rows against plain NumPy, the parts of the M-step against what they maximise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from committee.experts import _weighted_least_squares as weighted_grams
from committee.experts import em
from committee.experts.em import Mixture, Rows, State, climb, e_step, evaluate, log_prior, lower_bound, m_step, run_em
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.experts.gaussian_experts import GaussianExperts
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.kernels.mixture import em as kernels
from tests.naive import experts as naive

SIZES = [1, 7, 511, 512, 513, 1300]


def draw(n: int, d: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    """A table with a column of ones, labels and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    return X, rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)


# --- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("n_experts", [1, 3])
def test_log_softmax(n: int, n_experts: int) -> None:
    score = 10.0 * np.random.default_rng(n).normal(size=(n_experts, n))
    score[0, 0] = 900.0  # e^900 is beyond float64
    expected = naive.log_softmax(score)
    kernels.log_softmax(score, np.empty((2, kernels.BLOCK)))
    np.testing.assert_allclose(score, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("cooling", [1.0, 0.4])
def test_rows_are_distributed(n: int, cooling: float) -> None:
    rng = np.random.default_rng(n)
    log_gate, log_density = naive.log_softmax(rng.normal(size=(3, n))), 100.0 * rng.normal(size=(3, n))
    weight = rng.random(n)
    expected, log_p = naive.responsibilities(log_gate, log_density, cooling)
    weights, result = e_step(log_gate, log_density, weight, cooling)
    np.testing.assert_allclose(weights, weight * expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(result, log_p, rtol=1e-13)
    np.testing.assert_allclose(weights.sum(axis=0), weight, rtol=1e-14)


def test_densities_beyond_float64_are_distributed() -> None:
    """e^-5000 is 0, the ratio of two such numbers is not."""
    weights, log_p = e_step(np.log([[0.5], [0.5]]), np.array([[-5000.0], [-5001.0]]), np.ones(1))
    np.testing.assert_allclose(weights[:, 0], 1.0 / (1.0 + np.exp([-1.0, 1.0])), rtol=1e-14)
    assert log_p[0] == pytest.approx(-5000.0 + np.log(0.5 * (1.0 + np.exp(-1.0))), rel=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_logistic_passes(n: int) -> None:
    X, y, _ = draw(n)
    rng = np.random.default_rng(n)
    coef, weights = 5.0 * rng.normal(size=(2, X.shape[1])), rng.random((2, n))
    log_q = LogisticExperts().log_likelihood(coef, X, y)
    np.testing.assert_allclose(log_q, naive.log_logistic(coef, X, y), rtol=1e-12, atol=1e-14)
    slope, curvature = np.empty((2, n)), np.empty((2, n))
    kernels.logistic_slopes(log_q, y, weights, slope, curvature)
    p = 1.0 / (1.0 + np.exp(-coef @ X.T))
    np.testing.assert_allclose(slope, weights * (y - p), atol=1e-14)
    np.testing.assert_allclose(curvature, weights * p * (1.0 - p), atol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_softmax_slopes(n: int) -> None:
    rng = np.random.default_rng(n)
    log_p, weights = naive.log_softmax(rng.normal(size=(3, n))), rng.random((3, n))
    slope, curvature = np.empty((3, n)), np.empty((3, n))
    kernels.softmax_slopes(log_p, weights, weights.sum(axis=0), slope, curvature)
    np.testing.assert_allclose(curvature, weights.sum(axis=0) * np.exp(log_p), rtol=1e-13)
    np.testing.assert_allclose(slope, weights - curvature, atol=1e-15)


def test_fewer_rows_than_columns_are_solved_by_rows_with_the_same_prediction() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(40, 300)), rng.random((3, 40))
    right = (weights * rng.normal(size=(3, 40))) @ X - 1e-3 * rng.normal(size=(3, 300))
    by_columns = weighted_grams.solve_normal_equations(weighted_grams.weighted_grams(X, weights), right, 1e-2)
    # The difference is divided by the prior: 1e-16 of the scores, over 1e-2.
    np.testing.assert_allclose(weighted_grams.weighted_ridge(X, weights, right, 1e-2), by_columns, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (63, 5), (64, 5), (5000, 3), (40, 60)])
def test_weighted_grams(n: int, p: int) -> None:
    rng = np.random.default_rng(n)
    X, weights = rng.normal(size=(n, p)), rng.random((3, n))
    expected = [naive.gram(X, w) for w in weights]
    np.testing.assert_allclose(weighted_grams.weighted_grams(X, weights), expected, rtol=1e-11, atol=1e-11)


def test_sampled_grams_are_close_and_whole_where_an_expert_has_few_rows() -> None:
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(40_000, 4)), rng.random((2, 40_000))
    exact = weighted_grams.weighted_grams(X, weights)
    about = weighted_grams.sampled_grams(X, weights)
    assert 0.0 < np.abs(about - exact).max() < 0.1 * exact.max()
    weights[1] = 0.0
    weights[1, :30] = 1.0
    exact = weighted_grams.weighted_grams(X, weights)
    np.testing.assert_array_equal(weighted_grams.sampled_grams(X, weights), exact)


def test_singular_equations_have_their_shortest_solution() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))[:, [0, 0, 1]]
    right = X.T @ np.arange(30.0)
    result = weighted_grams.solve_normal_equations((X.T @ X)[np.newaxis], right[np.newaxis], 0.0)[0]
    np.testing.assert_allclose(result, np.linalg.pinv(X) @ np.arange(30.0), rtol=1e-8)


# --- the bound -------------------------------------------------------------------------------------------------------


def test_the_bound_is_jensens_for_any_responsibilities() -> None:
    X, y, weight = draw(50)
    rng = np.random.default_rng(1)
    mixture = Mixture(SoftmaxGate(), LogisticExperts())
    rows = Rows(X, X, y, weight)
    state = evaluate(mixture, rows, rng.normal(size=(3, 4)), rng.normal(size=(3, 4)))
    best, log_p = e_step(state.log_gate, state.log_density, weight)
    log_likelihood = float(weight @ log_p)
    assert lower_bound(state, best, weight) == pytest.approx(log_likelihood, rel=1e-12)
    for _ in range(20):
        other = rng.dirichlet(np.ones(3), 50).T
        bound = lower_bound(state, weight * other, weight)
        assert bound == pytest.approx(naive.jensen_bound(state.log_gate, state.log_density, other, weight), rel=1e-12)
        assert bound < log_likelihood


# --- M-steps ---------------------------------------------------------------------------------------------------------


def test_a_logistic_step_is_newtons() -> None:
    X, y, _ = draw(60)
    rng = np.random.default_rng(2)
    coef, weights = rng.normal(size=(2, 4)), rng.random((2, 60))
    result = LogisticExperts(0.3).m_step(coef, X, y, weights)
    for k in range(2):
        np.testing.assert_allclose(result[k], naive.logistic_newton(coef[k], X, y, weights[k], 0.3), rtol=1e-10)


def test_a_step_of_the_gate() -> None:
    X, _, _ = draw(60)
    rng = np.random.default_rng(3)
    coef, weights = rng.normal(size=(3, 4)), rng.random((3, 60))
    result = SoftmaxGate(0.2).m_step(coef, X, weights)
    np.testing.assert_allclose(result, naive.softmax_step(coef, X, weights, 0.2), rtol=1e-9, atol=1e-12)


def test_the_step_of_a_gate_without_columns_is_newtons() -> None:
    """Where g does not depend on x, one step from any place has the slope of the exact answer's direction."""
    load = np.array([[5.0], [3.0], [2.0]])
    gate, X = SoftmaxGate(0.0), np.ones((1, 1))
    coef = np.log(load / 10.0) + np.array([[0.01], [-0.02], [0.015]])
    coef -= coef.mean(axis=0)
    errors = []
    for _ in range(3):
        coef = gate.m_step(coef, X, load)
        errors.append(float(np.abs(np.exp(gate.log_proba(coef, X)) - load / 10.0).max()))
    assert errors[1] < 10.0 * errors[0] ** 2  # quadratic convergence is Newton's mark
    assert errors[2] < 1e-12


FAMILIES = {
    "linear": (LinearExperts(0.1, 1.0, 0.01), "float"),
    "linear without priors": (LinearExperts(0.0, 0.0, 0.0), "float"),
    "logistic": (LogisticExperts(0.1), "int"),
    "multinomial": (MultinomialExperts(2, 0.1), "int"),
    "gaussian": (GaussianExperts("full", 1.0, 0.01), "table"),
    "gaussian, diagonal": (GaussianExperts("diag", 1.0, 0.01), "table"),
}
CLOSED = ["linear", "linear without priors", "gaussian", "gaussian, diagonal"]


def problem(kind: str, n: int = 80) -> tuple[Any, Rows]:
    family, target = FAMILIES[kind]
    X, labels, weight = draw(n)
    rng = np.random.default_rng(5)
    y = {"float": X[:, 0] + rng.normal(size=n), "int": labels, "table": rng.normal(size=(n, 2)) * 3.0}[target]
    return family, Rows(X, X, y, weight)


def part_of(family: Any, params: Any, rows: Rows, weights: Any) -> Any:
    return np.sum(weights * family.log_likelihood(params, rows.X, rows.y), axis=1) + family.log_prior(params)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_step_raises_its_part_and_ends_at_the_maximum(kind: str) -> None:
    family, rows = problem(kind)
    weights = np.random.default_rng(6).random((2, 80))
    n_columns = rows.y.shape[1] if rows.y.ndim == 2 else rows.X.shape[1]
    params = family.start(2, n_columns)
    parts = [part_of(family, params, rows, weights)]
    for _ in range(1 if kind in CLOSED else 60):
        params = family.m_step(params, rows.X, rows.y, weights)
        parts.append(part_of(family, params, rows, weights))
    assert np.all(parts[-1] > parts[0])
    again = part_of(family, family.m_step(params, rows.X, rows.y, weights), rows, weights)
    np.testing.assert_allclose(again, parts[-1], rtol=1e-12)
    arrays = params if isinstance(params, tuple) else (params,)
    for j, array in enumerate(arrays):  # no entry can be moved to gain anything

        def moved(flat: Any, j: int = j, shape: Any = array.shape) -> float:
            entry = flat.reshape(shape)
            if kind.startswith("gaussian") and j == 1:
                entry = 0.5 * (entry + entry.transpose(0, 2, 1))
            other = params._replace(**{params._fields[j]: entry}) if isinstance(params, tuple) else entry
            return float(part_of(family, other, rows, weights).sum())

        slope = approx_fprime(array.ravel(), moved, 1e-6).reshape(array.shape)
        if kind == "gaussian, diagonal" and j == 1:
            slope = slope * np.eye(2)
        assert np.abs(slope).max() < 1e-2


@pytest.mark.parametrize("kind", FAMILIES)
def test_between_old_and_new(kind: str) -> None:
    family, rows = problem(kind)
    n_columns = rows.y.shape[1] if rows.y.ndim == 2 else rows.X.shape[1]
    old = family.start(2, n_columns)
    new = family.m_step(old, rows.X, rows.y, np.random.default_rng(6).random((2, 80)))
    mixed = family.between(old, new, np.array([0.0, 1.0]))
    for a, b, c in zip(*(p if isinstance(p, tuple) else (p,) for p in (old, new, mixed)), strict=True):
        np.testing.assert_array_equal(c[0], a[0])
        np.testing.assert_array_equal(c[1], b[1])


def test_nothing_between_is_taken_from_an_infinite_step() -> None:
    old, new = np.zeros((2, 1)), np.array([[np.inf], [2.0]])
    np.testing.assert_array_equal(em.interpolate(old, new, np.array([[0.0], [0.5]])), [[0.0], [1.0]])


def test_constant_gates_are_mean_responsibilities() -> None:
    gate = ConstantGate()
    params = gate.m_step(gate.start(2, 1), np.ones((4, 1)), np.array([[1.0, 1.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5]]))
    np.testing.assert_allclose(np.exp(params), [0.75, 0.25])


# --- climbing --------------------------------------------------------------------------------------------------------


def climbed(proposed: float, top: float) -> Any:
    """From 0 towards `proposed` on -(x - top)^2."""

    def evaluate_trial(params: Any) -> tuple[Any, Any]:
        return params, -((params - top) ** 2)

    return climb(np.zeros(1), np.array([proposed]), evaluate_trial(np.zeros(1))[1], em.interpolate, evaluate_trial)


@pytest.mark.parametrize(
    ("proposed", "n_halvings", "reached"), [(1.0, 0, 1.0), (2.0, 0, 2.0), (3.0, 1, 1.5), (8.1, 3, 1.0125)]
)
def test_a_step_is_halved_until_it_does_not_fall(proposed: float, n_halvings: int, reached: float) -> None:
    result = climbed(proposed, 1.0)
    assert result.n_halvings == n_halvings
    assert result.params[0] == reached
    assert result.gain == pytest.approx(1.0 - (reached - 1.0) ** 2)


@pytest.mark.parametrize("proposed", [-1.0, np.nan, np.inf, 1e30])
def test_a_step_that_never_helps_is_not_made(proposed: float) -> None:
    result = climbed(proposed, 1.0)
    assert result.params[0] == 0.0
    assert result.gain == 0.0


def test_only_the_expert_that_falls_is_halved() -> None:
    def evaluate_trial(params: Any) -> tuple[Any, Any]:
        return params, -((params - 1.0) ** 2)

    result = climb(np.zeros(2), np.array([1.0, 3.0]), evaluate_trial(np.zeros(2))[1], em.interpolate, evaluate_trial)
    np.testing.assert_array_equal(result.params, [1.0, 1.5])


# --- collapse --------------------------------------------------------------------------------------------------------


def two_lines(n: int = 200) -> Rows:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    y = np.where(np.arange(n) % 2 == 0, 2.0 * x, -2.0 * x) + 0.05 * rng.normal(size=n)
    X = np.column_stack([x, np.ones(n)])
    return Rows(X, X, y, np.ones(n))


def test_a_collapsed_expert_is_sent_to_the_rows_explained_worst() -> None:
    rows = two_lines()
    mixture = Mixture(ConstantGate(), LinearExperts())
    params = LinearExperts().start(2, 2)._replace(coef=np.array([[2.0, 0.0], [0.0, 300.0]]), variance=np.full(2, 0.01))
    start = evaluate(mixture, rows, np.log([0.999, 0.001]), params)  # the second expert is nowhere near a row
    result = run_em(mixture, rows, start, max_iter=100, tol=1e-8)
    history = result.records
    assert history[0].smallest_load < 1e-6
    repaired = [record for record in history if record.repaired >= 0]
    assert [record.repaired for record in repaired] == [1]
    assert result.records[-1].smallest_load > 0.4
    np.testing.assert_allclose(np.sort(result.state.experts.coef[:, 0]), [-2.0, 2.0], atol=0.05)


def test_the_best_state_is_kept_where_a_repair_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = two_lines()
    mixture = Mixture(ConstantGate(), LinearExperts())
    start = evaluate(mixture, rows, np.log([0.999, 0.001]), LinearExperts().start(2, 2))
    spoilt = evaluate(
        mixture, rows, np.log([0.5, 0.5]), LinearExperts().start(2, 2)._replace(variance=np.full(2, 1e-4))
    )
    once = iter([0])
    monkeypatch.setattr(em, "collapsed", lambda load, n: next(once, None))
    monkeypatch.setattr(em, "repair", lambda *_: spoilt)
    result = run_em(mixture, rows, start, max_iter=2, tol=0.0)
    assert result.records[1].objective < result.records[0].objective
    assert result.records[1].repaired == 0
    assert result.state is start
    assert result.objective == result.records[0].objective


def test_collapse_is_a_matter_of_load_and_of_patience() -> None:
    fresh = np.zeros(2, np.int64)
    assert em.collapsed(np.array([100.0, 1e-3]), fresh) == 1
    assert em.collapsed(np.array([100.0, 5.0]), fresh) is None  # few, but enough to learn from
    assert em.collapsed(np.array([100.0, 1e-3]), np.array([0, em.MAX_REPAIRS])) is None
    assert em.collapsed(np.array([1e-3]), np.zeros(1, np.int64)) is None  # one expert has nobody to take rows from


def test_em_of_the_library_is_em_on_paper() -> None:
    """The first iterations, before a step is stretched or halved."""
    X, y, _ = draw(200)
    rng = np.random.default_rng(0)
    gate, coef = 0.1 * rng.normal(size=(2, 4)), 0.5 * rng.normal(size=(2, 4))
    gate -= gate.mean(axis=0)
    mixture, rows = Mixture(SoftmaxGate(0.1), LogisticExperts(0.1)), Rows(X, X, y, np.ones(200))
    state = evaluate(mixture, rows, gate, coef)
    objectives = []
    for _ in range(5):
        weights, log_p = e_step(state.log_gate, state.log_density, rows.weight)
        objectives.append(float(log_p.sum()) + log_prior(mixture, state))
        state: State = m_step(mixture, rows, state, weights).state
    np.testing.assert_allclose(objectives, naive.em_logistic(X, y, gate, coef, 0.1, 5), rtol=1e-12)


def test_on_many_rows_a_part_decides_the_direction_and_the_objective_still_rises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The curvature of a sample leads to the optimum that the curvature of all rows leads to."""
    rng = np.random.default_rng(0)
    X, _, _ = draw(20_000)
    y = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-4.0 * np.abs(X[:, 0]) + 2.0))).astype(np.int64)
    mixture, rows = Mixture(SoftmaxGate(1.0), LogisticExperts(1.0)), Rows(X, X, y, np.ones(20_000))
    start = evaluate(mixture, rows, rng.normal(size=(2, 4)), rng.normal(size=(2, 4)))
    assert not np.array_equal(
        weighted_grams.sampled_grams(X, np.ones((2, 20_000))), weighted_grams.weighted_grams(X, np.ones((2, 20_000)))
    )
    result = run_em(mixture, rows, start, max_iter=60, tol=1e-7)
    assert np.diff([record.objective for record in result.records]).min() >= -1e-9
    monkeypatch.setattr(weighted_grams, "MIN_SAMPLE", 10**9)
    exact = run_em(mixture, rows, start, max_iter=60, tol=1e-7)
    assert result.objective == pytest.approx(exact.objective, rel=1e-4)
