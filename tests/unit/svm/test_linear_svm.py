"""Linear machines: three methods, one minimum; twins, scikit-learn, weights, scales and bad input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from committee.datasets import load_dataset
from committee.kernels.svm.dual_descent import DualProblem, DualState, descend
from committee.kernels.svm.linear_rows import CostRows, measure_rows
from committee.svm import primal_newton as newton
from committee.svm._linear_base import Costs, class_costs
from committee.svm._linear_problem import LinearProblem, Plane, add_gram, objective, predictions, solve_positive
from committee.svm._scaling import fit_scaling
from committee.svm.linear_svm import LinearSVC, LinearSVR, choose_solver, linear_svm
from committee.svm.primal_newton import primal_newton
from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    assert_rejected,
    inf,
    target_of,
)
from tests.naive import linear_svm as naive

Floats = NDArray[np.float64]
MACHINES: list[type[Any]] = [LinearSVC, LinearSVR]
SOLVERS: list[Any] = [(2, "primal_newton"), (1, "interior_point"), (1, "dual_coordinate_descent"),
                      (2, "dual_coordinate_descent")]  # fmt: skip
each = pytest.mark.parametrize("cls", MACHINES, ids=lambda cls: cls.__name__)


def make_problem(kind: str, n: int = 80, d: int = 4, *, penalty: float = 0.0, epsilon: float = 0.1) -> LinearProblem:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(n, d))
    f = table @ rng.normal(size=d) + 0.7
    cost = rng.uniform(0.5, 2.0, size=n)
    if kind == "numbers":
        return LinearProblem(table, f + rng.normal(size=n), cost, cost, epsilon, True, penalty)
    y = np.where(f + rng.normal(size=n) > 0.0, 1.0, -1.0)
    return LinearProblem(table, y, cost * (y > 0), cost * (y < 0), 0.0, True, penalty)


def solve(problem: LinearProblem, power: int, solver: Any, tol: float = 1e-4) -> tuple[Plane, list[Any]]:
    steps = list(linear_svm(problem, power, solver, tol=tol, max_iter=20_000))
    assert steps[-1][2]
    return steps[-1][0], [record for _, record, _ in steps]


# --- the minimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 0.25])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize(("power", "solver"), SOLVERS)
def test_no_plane_around_the_minimum_is_better(kind: str, power: int, solver: Any, penalty: float) -> None:
    problem = make_problem(kind, penalty=penalty)
    plane, records = solve(problem, power, solver, 1e-4 if solver != "dual_coordinate_descent" else 1e-9)
    least = objective(problem, plane, predictions(problem, plane), power)
    assert records[-1].objective == pytest.approx(least, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            other = Plane(plane.w + size * rng.normal(size=plane.w.size), plane.b + size * rng.normal())
            assert objective(problem, other, predictions(problem, other), power) >= least * (1.0 - 1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.25])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("power", [1, 2])
def test_the_methods_agree(kind: str, power: int, penalty: float) -> None:
    problem = make_problem(kind, penalty=penalty)
    primal: Any = "interior_point" if power == 1 else "primal_newton"
    plane, _ = solve(problem, power, primal)
    dual, _ = solve(problem, power, "dual_coordinate_descent", 1e-9)
    np.testing.assert_allclose([*dual.w, dual.b], [*plane.w, plane.b], atol=2e-4)


def test_the_squared_hinge_as_a_general_method_minimises_it() -> None:
    problem = make_problem("classes")
    cost = problem.up + problem.down
    plane, _ = solve(problem, 2, "primal_newton")
    w, b, value = naive.smooth_minimum(lambda w, b: naive.hinge(problem.X, problem.y, cost, w, b, 2), 4)
    np.testing.assert_allclose(plane.w, w, atol=1e-5)
    assert plane.b == pytest.approx(b, abs=1e-5)
    assert naive.hinge(problem.X, problem.y, cost, plane.w, plane.b, 2) <= value * (1 + 1e-12)


def test_the_squared_tube_as_a_general_method_minimises_it() -> None:
    problem = make_problem("numbers")
    plane, _ = solve(problem, 2, "primal_newton")
    w, _, value = naive.smooth_minimum(lambda w, b: naive.tube(problem.X, problem.y, problem.up, w, b, 0.1, 2), 4)
    np.testing.assert_allclose(plane.w, w, atol=1e-5)
    assert naive.tube(problem.X, problem.y, problem.up, plane.w, plane.b, 0.1, 2) <= value * (1 + 1e-12)


def test_the_hinge_against_its_dual() -> None:
    problem = make_problem("classes", 40)
    cost = problem.up + problem.down
    plane, records = solve(problem, 1, "interior_point")
    w, value = naive.hinge_dual(problem.X, problem.y, cost)
    np.testing.assert_allclose(plane.w, w, atol=1e-5)
    assert naive.hinge(problem.X, problem.y, cost, plane.w, plane.b) == pytest.approx(value, rel=1e-8)
    assert records[-1].dual_objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_tube_against_its_dual(epsilon: float) -> None:
    problem = make_problem("numbers", 30, epsilon=epsilon)
    plane, records = solve(problem, 1, "interior_point")
    w, value = naive.tube_dual(problem.X, problem.y, problem.up, epsilon)
    np.testing.assert_allclose(plane.w, w, atol=1e-5)
    assert naive.tube(problem.X, problem.y, problem.up, plane.w, plane.b, epsilon) == pytest.approx(value, rel=1e-8)
    assert records[-1].dual_objective == pytest.approx(value, rel=1e-8)


def odd_rows(seed: int) -> tuple[Floats, Floats]:
    """Few or repeated rows, constant columns, grids, separable classes: y in {-1, +1}."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 60)), int(rng.integers(1, 10))
    rows = rng.normal(size=(n, d)) if seed % 3 else rng.integers(-1, 2, size=(n, d)).astype(np.float64)
    rows[:, 0] = 3.0 if seed % 5 == 0 else rows[:, 0]
    rows = np.repeat(rows, 2, axis=0) if seed % 7 == 0 else rows
    y = np.where(rows[:, -1] > 0.0 if seed % 4 == 0 else rng.random(len(rows)) > 0.5, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    return rows, y


@pytest.mark.parametrize("seed", range(20))
def test_odd_tables_are_solved_to_all_digits(seed: int) -> None:
    rows, y = odd_rows(seed)
    rng = np.random.default_rng(seed)
    C, values = 10.0 ** rng.integers(-4, 6), y + np.round(rng.normal(size=y.size), 1)
    for model in (LinearSVC(loss="hinge", C=C).fit(rows, y), LinearSVR(C=C, epsilon=0.5).fit(rows, values)):
        assert model.history_.gap[-1] <= 1e-9 * model.objective_[0] + 1e-20
        assert model.history_.dual_objective[-1] == pytest.approx(model.objective_[0], rel=1e-6, abs=1e-12)
    for model in (LinearSVC(C=C).fit(rows, y), LinearSVR(loss="squared_epsilon_insensitive", C=C).fit(rows, values)):
        assert model.history_.excess[-1] <= 1e-12 * model.objective_[0] + 1e-20


def test_a_median_is_the_flat_machine_of_absolute_errors() -> None:
    y = np.array([3.0, -1.0, 4.0, 1.5, 9.0])
    model = LinearSVR(C=1.0).fit(np.zeros((5, 1)), y)
    np.testing.assert_allclose(model.intercept_, [3.0], atol=1e-9)


def test_two_points_and_their_margin() -> None:
    """The widest strip between (-1, 0) and (1, 0) is 2, and w = (1, 0), b = 0."""
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVC(loss=loss, C=1e6).fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1])
        np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-6)
        np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-6)
        np.testing.assert_allclose(model.margin_, [2.0], atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_moved_columns_move_only_the_intercept(loss: Any) -> None:
    here = LinearSVC(loss=loss).fit(X, LABELS)
    there = LinearSVC(loss=loss).fit(X + 5.0, LABELS)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-7)
    np.testing.assert_allclose(there.intercept_, here.intercept_ - 5.0 * here.coef_.sum(), atol=1e-6)


# --- the methods from inside -----------------------------------------------------------------------------------------


def test_the_descent_is_its_twin() -> None:
    rng = np.random.default_rng(2)
    n, d = 40, 5
    rows, y = rng.normal(size=(n, d)), rng.normal(size=n)
    for epsilon, low, high, ridge in ((0.0, 0.0, 0.3, 0.0), (0.2, -0.3, 0.3, 0.0), (0.1, -np.inf, np.inf, 0.5)):
        bounds = np.full(n, low), np.full(n, high), np.full(n, ridge)
        for lift in (0.0, 2.0):
            beta = np.clip(0.2 * rng.normal(size=n), low, high)
            order = rng.permutation(n)
            w, offset = rows.T @ beta, np.array([0.1, lift])
            expected, b = naive.descend(rows, y, *bounds, epsilon, order, lift, 0.1, beta)
            q = np.einsum("ij,ij->i", rows, rows) + lift + ridge
            keep = np.empty(n, np.uint8)
            problem = DualProblem(rows, y, *bounds, q, epsilon)
            steepest = descend(problem, DualState(beta, w, offset), order, np.inf, keep)
            np.testing.assert_allclose(beta, expected, atol=1e-12)
            np.testing.assert_allclose(w, rows.T @ expected, atol=1e-12)
            assert offset[0] == pytest.approx(b)
            assert steepest > 0.0
            assert keep.all()


@pytest.mark.parametrize("d", [1, 7, 8, 19])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_pass_of_newton_is_its_twin(d: int, epsilon: float) -> None:
    rng = np.random.default_rng(d)
    rows, y, w = rng.normal(size=(50, d)), rng.normal(size=50), rng.normal(size=d)
    up, down = rng.random(50), rng.random(50) * (np.arange(50) % 2)
    f, c, pull = np.empty(50), np.empty(50), np.zeros(d + 1)
    value = measure_rows(CostRows(rows, y, up, down, epsilon), w, 0.2, f, c, pull)
    expected = naive.measure_rows(rows, y, up, down, epsilon, w, 0.2)
    for mine, twin in zip((value, f, c, pull), expected, strict=True):
        np.testing.assert_allclose(mine, twin, atol=1e-12)


def test_the_descent_leaves_out_rows_at_a_bound() -> None:
    rows, y = np.array([[1.0], [1.0], [1.0]]), np.array([-3.0, 1.0, 3.0])
    beta, w, keep = np.array([0.0, 0.0, 0.5]), np.array([0.5]), np.empty(3, np.uint8)
    low, high, zero = np.zeros(3), np.full(3, 0.5), np.zeros(3)
    problem, state = DualProblem(rows, y, low, high, zero, np.ones(3), 0.0), DualState(beta, w, np.zeros(2))
    descend(problem, state, np.arange(3), 1.0, keep)
    assert keep.tolist() == [0, 1, 0]  # slopes 3.5 at the lower bound, -0.5, and -2 at the upper one
    np.testing.assert_allclose(beta, [0.0, 0.5, 0.5])
    descend(problem, state, np.arange(3), 5.0, keep)
    assert keep.tolist() == [1, 1, 1]


def test_the_gram_matrix_of_weighted_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 3))
    for c in (np.ones(5000), rng.integers(-1, 2, 5000).astype(float)):
        H = np.eye(4)
        add_gram(H, rows, c, True)
        A = np.column_stack([rows, np.ones(5000)])
        np.testing.assert_allclose(H, np.eye(4) + A.T @ (c[:, None] * A), atol=1e-9)
    H = np.eye(4)
    add_gram(H, rows, c, False)
    np.testing.assert_array_equal(H[3], [0.0, 0.0, 0.0, 1.0])


def test_a_singular_matrix_is_solved_where_it_can_be() -> None:
    H = np.array([[2.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(H @ solve_positive(H, np.array([4.0, 4.0])), [4.0, 4.0])


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_newton_falls_at_every_step_and_ends_at_a_flat_place(kind: str) -> None:
    _, records = solve(make_problem(kind), 2, "primal_newton")
    values = np.array([record.objective for record in records])
    assert np.all(np.diff(values) < 0.0)
    assert records[-1].gradient_norm < 1e-9 * records[0].gradient_norm


def test_newton_shortens_a_step_that_is_too_long() -> None:
    """One far row: the full step from zero overshoots when curvature is missing where it lands."""
    rows = np.array([[1.0], [-30.0], [0.1]])
    y = np.array([1.0, 1.0, -1.0])
    problem = LinearProblem(rows, y, 50.0 * (y > 0), 50.0 * (y < 0), 0.0, False, 0.0)
    start = Plane(np.array([-3.0]), 0.0)
    steps = list(primal_newton(problem, tol=1e-4, max_iter=50, start=start))
    values = [record.objective for _, record, _ in steps]
    assert np.all(np.diff(values) < 0.0)
    assert min(record.step_length for _, record, _ in steps[1:]) < 1.0


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_newton_by_conjugate_gradients_finds_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(kind)
    expected, _ = solve(problem, 2, "primal_newton")
    monkeypatch.setattr(newton, "WIDE", 1)
    result, _ = solve(problem, 2, "primal_newton")
    np.testing.assert_allclose([*result.w, result.b], [*expected.w, expected.b], atol=1e-6)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_start_on_some_rows_and_a_corrected_matrix_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(kind, 2000)
    expected, plain = solve(problem, 2, "primal_newton")
    monkeypatch.setattr(newton, "MANY_ROWS", 100)
    monkeypatch.setattr(newton, "LITTLE_WORK", 0)
    result, records = solve(problem, 2, "primal_newton")
    np.testing.assert_allclose([*result.w, result.b], [*expected.w, expected.b], atol=1e-9)
    assert records[0].objective < plain[0].objective


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_gap_of_the_duals_encloses_the_minimum(kind: str) -> None:
    problem = make_problem(kind)
    _, inside = solve(problem, 1, "interior_point")
    least = inside[-1].objective
    assert inside[-1].gap < 1e-10 * least
    _, records = solve(problem, 1, "dual_coordinate_descent", 1e-6)
    for record in records:
        assert record.dual_objective <= least * (1 + 1e-12)
        assert least * (1 - 1e-12) <= record.objective
        assert record.gap == record.objective - record.dual_objective
    assert records[-1].gap <= 1e-6 * least


def test_a_seed_decides_the_order_of_the_descent() -> None:
    fits = [LinearSVC(loss="hinge", dual=True, random_state=seed).fit(X, LABELS) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert np.any(fits[0].coef_ != fits[2].coef_)


def test_the_method_follows_loss_and_columns() -> None:
    assert choose_solver(2, "auto", 5000) == "primal_newton"
    assert choose_solver(1, "auto", 50) == "interior_point"
    assert choose_solver(1, "auto", 5000) == "dual_coordinate_descent"
    assert choose_solver(1, False, 5000) == "interior_point"
    assert choose_solver(2, True, 50) == "dual_coordinate_descent"


# --- against scikit-learn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_classes_of_liblinear(loss: Any) -> None:
    sonar = load_dataset("sonar")
    settings = {"loss": loss, "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0, "intercept_scaling": 2.0}
    peer = sklearn.svm.LinearSVC(**settings, dual=True).fit(sonar.X, sonar.y)
    model = LinearSVC(**settings, penalize_intercept=True).fit(sonar.X, sonar.y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)  # LIBLINEAR stops at a slope of 1e-8
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_numbers_of_liblinear(loss: Any) -> None:
    settings = {"loss": loss, "epsilon": 0.2, "tol": 1e-9, "max_iter": 1_000_000, "random_state": 0}
    peer = sklearn.svm.LinearSVR(**settings, dual=True).fit(X, VALUES)
    model = LinearSVR(**settings, penalize_intercept=True).fit(X, VALUES)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)
    assert model.coef_.shape == peer.coef_.shape


# --- weights ---------------------------------------------------------------------------------------------------------


def test_class_weights_are_weights() -> None:
    by_class = LinearSVC(loss="hinge", class_weight={0: 3.0, 1: 0.5}).fit(X, LABELS)
    by_row = LinearSVC(loss="hinge").fit(X, LABELS, sample_weight=np.where(LABELS == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_)
    balanced = LinearSVC(loss="hinge", class_weight="balanced").fit(X, LABELS)
    factors = (N / 2 / np.bincount(LABELS)).astype(np.float32)  # as short as tabular/class_weight.py keeps them
    by_row = LinearSVC(loss="hinge").fit(X, LABELS, sample_weight=factors.astype(np.float64)[LABELS])
    np.testing.assert_allclose(balanced.coef_, by_row.coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [True, False])
def test_a_class_without_weight(loss: Any, dual: bool) -> None:
    y = np.arange(N) % 3
    model = LinearSVC(loss=loss, dual=dual, random_state=0).fit(X, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.decision_function(X)[:, 2], -1.0)
    two = LinearSVC(loss=loss, dual=dual, class_weight={0: 0.0}).fit(X, LABELS)
    assert np.all(two.predict(X) == 1)


@pytest.mark.parametrize("weight", [1e-90, 1e-9, 1e9, 1e60])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_extreme_costs(weight: float, loss: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(loss=loss).fit(X, LABELS, sample_weight=weight)
    assert np.all(np.isfinite(model.coef_))
    if weight > 1.0:
        assert model.score(X, LABELS) > 0.8


# --- scales ----------------------------------------------------------------------------------------------------------


@each
def test_columns_of_different_scales_get_a_warning(cls: type[Any]) -> None:
    y = target_of(cls)
    frame = pd.DataFrame(X * [1.0, 1e4, 1e-1], columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match=r"the range of b is .*, that of c .*: pass scale=True"):
        cls(random_state=0).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls().fit(X, y)
        cls().fit(np.column_stack([X, np.full(N, 1e9)]), y)  # a constant column has no scale
        scaled = cls(scale=True).fit(frame, y)
        expected = cls(scale=True).fit(X, y)
    np.testing.assert_allclose(scaled.predict(frame), expected.predict(X), rtol=1e-6)
    np.testing.assert_allclose(scaled.coef_ * [1.0, 1e4, 1e-1], expected.coef_, rtol=1e-6)


@each
def test_scaling_is_what_a_scaler_does(cls: type[Any]) -> None:
    y, weight = target_of(cls), np.arange(N) % 3
    rows = X[weight > 0] * [3.0, 0.1, 7.0] + [100.0, 0.0, -3.0]
    y, weight = y[weight > 0], weight[weight > 0].astype(float)
    mean = np.average(rows, axis=0, weights=weight)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weight))
    inside = cls(scale=True).fit(rows, y, sample_weight=weight)
    outside = cls().fit((rows - mean) / deviation, y, sample_weight=weight)
    np.testing.assert_allclose(inside.coef_ * deviation, outside.coef_, rtol=1e-7)
    np.testing.assert_allclose(inside.predict(rows), outside.predict((rows - mean) / deviation), atol=1e-7)


def test_a_constant_column_is_scaled_away() -> None:
    rows = np.column_stack([X[:, 0], np.full(N, 7.0), np.zeros(N)])
    scaling = fit_scaling(rows, np.ones(N))
    assert scaling.scale[1:].tolist() == [np.inf, np.inf]
    assert LinearSVC(scale=True).fit(rows, LABELS).coef_[0, 1:].tolist() == [0.0, 0.0]
    tiny = fit_scaling(X * 1e-200, np.ones(N))
    np.testing.assert_allclose(tiny.apply(X * 1e-200), fit_scaling(X, np.ones(N)).apply(X), rtol=1e-9)
    single = scaling.apply(rows.astype(np.float32))
    assert single.dtype == np.float32


# --- limits ---------------------------------------------------------------------------------------------------------


def test_the_hard_margin_is_that_of_the_same_task() -> None:
    assert_rejected(LinearSVR(C=inf), ValueError, r"is for SVR\(kernel='linear'\)", X, target_of(LinearSVR))


def test_a_run_cut_short_says_how_far_it_got() -> None:
    with pytest.warns(ConvergenceWarning, match=r"did not converge in max_iter=1: the relative duality gap is \d"):
        LinearSVC(loss="hinge", max_iter=1).fit(X, LABELS)


def test_single_precision_and_wide_tables() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(20, 60)).astype(np.float32)
    y = np.arange(20) % 2
    for loss in ("hinge", "squared_hinge"):
        model = LinearSVC(loss=loss, C=100.0).fit(wide, y)
        assert model.score(wide, y) == 1.0
        np.testing.assert_allclose(model.coef_, LinearSVC(loss=loss, C=100.0).fit(wide.astype(float), y).coef_)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array"])
@each
def test_sparse_tables(cls: type[Any], form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    thin: Any = getattr(sparse, form)(rows)
    y = target_of(cls)
    squared = "squared_hinge" if cls is LinearSVC else "squared_epsilon_insensitive"
    for loss in (squared, squared.removeprefix("squared_")):
        dense = cls(loss=loss).fit(rows, y, sample_weight=np.arange(N) % 3)
        model = cls(loss=loss).fit(thin, y, sample_weight=np.arange(N) % 3)
        np.testing.assert_array_equal(model.coef_, dense.coef_)
        np.testing.assert_allclose(model.predict(thin), dense.predict(rows))
    monkeypatch.setattr("committee.svm.linear_svm.DENSE_CELLS", 0)
    expected, model = (cls(loss=squared).fit(table, y, sample_weight=np.arange(N) % 3) for table in (rows, thin))
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-6)
    for params in ({"loss": loss}, {"loss": squared, "scale": True}, {"loss": squared, "dual": True}):
        assert_rejected(cls(**params), TypeError, "Sparse data of 40 x 3 cells.*toarray", thin, y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        model.predict(sparse.csr_array(rows[:, :2]))


def test_a_large_sparse_table_begins_with_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.svm.linear_svm.DENSE_CELLS", 0)
    monkeypatch.setattr(newton, "MANY_ROWS", 100)
    problem = make_problem("classes", 2000)
    model = LinearSVC().fit(sparse.csr_array(problem.X), problem.y)
    np.testing.assert_allclose(model.coef_, LinearSVC().fit(problem.X, problem.y).coef_, atol=1e-6)


def test_costs_of_classes() -> None:
    two = class_costs(np.array([0, 1, 1]), 2, np.array([1.0, 2.0, 3.0]))
    assert len(two) == 1
    assert [part.tolist() for part in two[0]] == [[-1.0, 1.0, 1.0], [0.0, 2.0, 3.0], [1.0, 0.0, 0.0]]
    assert isinstance(two[0], Costs)
    assert len(class_costs(np.array([0, 1, 2]), 3, np.ones(3))) == 3
