"""Every iterative solver ends in a certificate or warns: certificates are computed again here, in plain NumPy.

Each problem is hard for some solver: rare one-hot levels, columns of very different scales, collinear columns, classes
that can be separated, a single iteration.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.exceptions import ConvergenceWarning

from committee import (
    SVC,
    SVR,
    HierarchicalMixtureOfExpertsClassifier,
    LinearSVC,
    LinearSVR,
    LPBoostClassifier,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NuSVC,
    NuSVR,
    NystroemSVC,
    NystroemSVR,
    OneClassSVM,
    SparselyGatedMixtureClassifier,
    StagewiseRegressor,
)
from committee.boosting import _vote_calibration as calibration
from committee.boosting import anyboost
from committee.calibration import power as probability_calibration
from committee.calibration import slope as calibration_slope
from committee.experts import _weighted_least_squares as weighted_grams
from committee.experts.em import Mixture, Rows, e_step, em, evaluate, gradient_norm, log_prior, run_em
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.experts.gate_tree import GateTree
from committee.experts.gaussian_experts import GaussianExperts
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.members.numeric_pipeline import NumericPipelineClassifier
from committee.svm import _linear_problem as linear_problem
from committee.svm import primal_newton
from committee.theory import minmax
from committee.voting import simplex_weights as simplex

Floats = NDArray[np.float64]


def outcome(model: Any, *data: Any) -> tuple[Any, list[str]]:
    """The fitted model, and the text of its convergence warnings; other warnings (scales of columns) do not count."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(*data)
    return model, [str(each.message) for each in seen if issubclass(each.category, ConvergenceWarning)]


def one_hot_table(n: int, n_levels: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Numbers [n, 5] of different scales, levels [n] with Zipf frequencies, and classes with about 20 % positives."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 5)) * [1.0, 10.0, 100.0, 1000.0, 0.1]
    frequency = 1.0 / np.arange(1, n_levels + 1) ** 1.3
    level = rng.choice(n_levels, n, p=frequency / frequency.sum())
    effect = 0.8 * rng.normal(size=n_levels)
    score = -1.75 + 0.8 * numbers[:, 0] + 0.05 * numbers[:, 1] + effect[level]
    return numbers, level, (rng.random(n) < expit(score)).astype(np.int64)


def hard_table(kind: str, n: int = 300) -> tuple[Floats, NDArray[np.int64], Floats]:
    """A table, classes and numbers to learn."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n) > 0.0).astype(np.int64)
    if kind == "rare levels":
        level = np.minimum(rng.geometric(0.2, n), 12) - 1
        X = np.column_stack([X, np.eye(12)[level]])
    elif kind == "unscaled":
        X = X * [1.0, 1e6, 1e-3, 1e3]
    elif kind == "collinear":
        X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    elif kind == "far from zero":
        X = np.column_stack([X, np.full(n, 1e9), 1e7 + X[:, 3]])
    elif kind == "separable":
        y = (X[:, 0] > 0.0).astype(np.int64)
    else:
        assert kind == "plain"
    target = np.asarray(X[:, 0] + 0.1 * rng.normal(size=n) + 2.0 * y, np.float64)
    return X, y, target


KINDS = ["plain", "rare levels", "unscaled", "collinear", "far from zero", "separable"]
each_kind = pytest.mark.parametrize("kind", KINDS)


# --- the failure that was reported -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_expert_on_numbers_and_rare_levels_learns() -> None:
    """It returned zeros, probability 0.5 for every row, and no warning."""
    numbers, level, y = one_hot_table(20_000, 300)
    table = pd.DataFrame(numbers, columns=list("abcde")).assign(carrier=pd.Categorical(level.astype(str)))
    model, said = outcome(NumericPipelineClassifier(MixtureOfExpertsClassifier(n_experts=1)), table, y)
    assert said == []
    p = model.predict_proba(table)[:, 1]
    log_loss = -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))
    share = y.mean()
    constant = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
    assert 0.15 < share < 0.25
    assert log_loss < 0.85 * constant


def test_a_sample_of_the_rows_that_misses_columns_is_not_used() -> None:
    """Directions of rare levels had next to no curvature: the step along them was thousands of times too long."""
    numbers, level, _ = one_hot_table(20_000, 150)
    X = np.column_stack([numbers / numbers.std(axis=0), np.eye(150)[level]])
    X = X[:, X.std(axis=0) > 0.0]
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    weights = np.random.default_rng(0).random((2, len(X)))
    exact, about = weighted_grams.weighted_grams(X, weights), weighted_grams.sampled_grams(X, weights)
    assert not np.array_equal(exact, about)
    for full, part in zip(exact, about, strict=True):
        ratio = np.diagonal(part) / np.diagonal(full)
        assert 0.3 < ratio.min() <= ratio.max() < 3.0  # about 20 rows speak for each column
        values = np.linalg.eigvals(np.linalg.solve(full + 1e-2 * np.eye(len(full)), part + 1e-2 * np.eye(len(full))))
        assert 0.1 < values.real.min() <= values.real.max() < 5.0


def test_a_rejected_step_is_made_again_with_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a sample leads to: the fit is the one that the matrix of all rows leads to."""
    X, y, _ = hard_table("plain", 6_000)

    def wrong(table: Floats, weights: Floats) -> Floats:
        return 1e-9 * weighted_grams.weighted_grams(table, weights)  # steps 10^9 times too long

    expected = MixtureOfExpertsClassifier(n_experts=1).fit(X, y)
    monkeypatch.setattr(weighted_grams, "sampled_grams", wrong)
    model, said = outcome(MixtureOfExpertsClassifier(n_experts=1), X, y)
    assert said == []
    assert model.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-5)


# --- mixtures of experts ----------------------------------------------------------------------------------------------


def logistic_gradient(model: MixtureOfExpertsClassifier, X: Floats, y: NDArray[np.int64]) -> float:
    """The scaled gradient norm of one logistic expert in plain NumPy."""
    Z = np.column_stack([(X - X.mean(axis=0)) / np.where(X.std(axis=0) > 1e-6, X.std(axis=0), np.inf), np.ones(len(X))])
    b = model.mixture_.experts[0]
    p = expit(Z @ b)
    gradient = Z.T @ (y - p) - model.l2 * b
    curvature = (Z * Z).T @ (p * (1.0 - p)) + model.l2
    return float(np.max(np.abs(gradient) / np.sqrt(curvature * len(X))))


@each_kind
@pytest.mark.parametrize("max_iter", [1, 1000])
def test_one_logistic_expert(kind: str, max_iter: int) -> None:
    X, y, _ = hard_table(kind)
    model, said = outcome(MixtureOfExpertsClassifier(n_experts=1, max_iter=max_iter), X, y)
    assert model.converged_ is (not said)
    if max_iter > 1:
        assert said == []
        assert 0.5 * model.gradient_norm_**2 <= model.tol
        if kind != "far from zero":  # there rounding makes the standardised columns differ
            assert logistic_gradient(model, X, y) == pytest.approx(model.gradient_norm_, rel=1e-3, abs=1e-6)


@each_kind
@pytest.mark.parametrize(
    "cls", [MixtureOfExpertsClassifier, MixtureOfExpertsRegressor, HierarchicalMixtureOfExpertsClassifier]
)
def test_mixtures_end_in_a_small_gradient_or_warn(cls: type[Any], kind: str) -> None:
    X, y, target = hard_table(kind, 150)
    is_regressor = cls is MixtureOfExpertsRegressor
    model, said = outcome(cls(n_restarts=1, random_state=0), X, target if is_regressor else y)
    assert model.converged_ is (not said)
    if not said:
        assert 0.5 * model.gradient_norm_**2 <= model.tol
    assert np.max(model.history_.objective) >= model.history_.objective[0]


def test_the_warning_of_em_has_the_gradient_and_an_advice() -> None:
    X, y, _ = hard_table("plain")
    _, said = outcome(MixtureOfExpertsClassifier(max_iter=2, random_state=0), X, y)
    assert len(said) == 1
    assert "max_iter=2" in said[0]
    assert "the scaled gradient norm is 0." in said[0]
    assert "Use a larger max_iter, tol or penalty" in said[0]


def penalised_log_likelihood(mixture: Mixture, rows: Rows, gate: Any, experts: Any) -> float:
    state = evaluate(mixture, rows, gate, experts)
    log_p = e_step(state.log_gate, state.log_density, rows.weight).log_p
    return float(rows.weight @ log_p) + log_prior(mixture, state)


def rows_of(family: Any) -> Rows:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(120, 2)), np.ones(120)])
    y: Any = rng.integers(0, 3 if isinstance(family, MultinomialExperts) else 2, 120)
    if isinstance(family, LinearExperts):
        y = rng.normal(size=120) + X[:, 0]
    return Rows(X, X, y, rng.integers(1, 3, 120).astype(np.float64))


@pytest.mark.parametrize("family", [LogisticExperts(0.2), MultinomialExperts(3, 0.2), LinearExperts(0.2)])
@pytest.mark.parametrize("gate", [SoftmaxGate(0.3), GateTree(2, 2, 0.3)])
def test_the_gradient_is_that_of_the_likelihood(gate: Any, family: Any) -> None:
    """By differences of the penalised log-likelihood: its sign and zeros are those of the scaled gradient."""
    rng = np.random.default_rng(4)
    mixture, rows = Mixture(gate, family), rows_of(family)
    v = rng.normal(size=gate.start(4, 3).shape)
    blank = family.start(4, 3)
    b = rng.normal(size=blank.coef.shape if isinstance(family, LinearExperts) else blank.shape)
    experts: Any = blank._replace(coef=b, variance=rng.random(4) + 0.5) if isinstance(family, LinearExperts) else b
    state = evaluate(mixture, rows, v, experts)
    responsibilities = e_step(state.log_gate, state.log_density, rows.weight).weights

    def with_coef(changed: Floats) -> Any:
        return experts._replace(coef=changed) if isinstance(family, LinearExperts) else changed

    def slope(at: Floats, place: tuple[int, ...], value: Any) -> float:
        step = np.zeros_like(at)
        step[place] = 1e-5
        return (value(at + step) - value(at - step)) / 2e-5

    for at, scaled, value in (
        (
            v,
            gate.scaled_gradient(v, rows.X, responsibilities),
            lambda g: penalised_log_likelihood(mixture, rows, g, experts),
        ),
        (
            b,
            family.scaled_gradient(experts, rows.X, rows.y, responsibilities),
            lambda c: penalised_log_likelihood(mixture, rows, v, with_coef(c)),
        ),
    ):
        for place in np.ndindex(*at.shape):
            by_differences = slope(at, place, value)
            ratio = by_differences / scaled[place]  # the root of a curvature
            assert ratio > 0.0
            assert ratio**2 < 10.0 * (rows.weight.sum() + 1.0) * np.abs(rows.X).max() ** 2


def test_gaussian_densities_and_constant_gates_are_flat_at_their_optimum() -> None:
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(size=(80, 2)), rng.normal(5.0, 0.5, size=(60, 2))])
    mixture, rows = Mixture(ConstantGate(), GaussianExperts()), Rows(np.ones((140, 1)), y, y, np.ones(140))
    params = GaussianExperts().start(2, 2)._replace(mean=np.array([[0.0, 0.0], [4.0, 4.0]]))
    start = evaluate(mixture, rows, ConstantGate().start(2, 1), params)
    before = gradient_norm(mixture, rows, start, e_step(start.log_gate, start.log_density, rows.weight).weights)
    result = run_em(mixture, rows, start, max_iter=200, tol=1e-9)
    assert before > 0.1
    assert result.is_converged
    assert result.gradient_norm < 1e-4


def test_em_does_not_end_where_a_stretched_step_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An iteration without gain is no convergence while the gradient is large: careful steps follow."""
    X, y, _ = hard_table("plain")
    Z = np.column_stack([X, np.ones(len(X))])
    mixture, rows = Mixture(SoftmaxGate(), LogisticExperts()), Rows(Z, Z, y, np.ones(len(Z)))
    start = evaluate(mixture, rows, SoftmaxGate().start(1, 5), LogisticExperts().start(1, 5))
    module = pytest.importorskip("committee.experts.em")
    plain, n_calls = module.m_step, [0]

    def lazy(mixture: Any, rows: Any, state: Any, shares: Any, proposed: Any = None) -> Any:
        n_calls[0] += 1
        step = plain(mixture, rows, state, shares, proposed)
        return step._replace(state=state, gain=0.0) if n_calls[0] == 1 else step  # the first step is not taken

    monkeypatch.setattr(module, "m_step", lazy)
    records = [record for _, record in em(mixture, rows, start, max_iter=50, tol=1e-6)]
    assert records[1].objective == records[0].objective
    best = float(np.sum(log_expit(np.where(y == 1, 1.0, -1.0) * (Z @ LogisticExperts().start(1, 5)[0]))))
    assert records[-1].objective > best + 20.0
    assert len(records) < 50


# --- support vector machines ------------------------------------------------------------------------------------------


def primal(model: Any, X: Floats, y: Floats) -> tuple[float, Floats]:
    """The objective of a linear machine, and the slopes beta of a squared loss."""
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    epsilon = getattr(model, "epsilon", 0.0)
    r = y - X @ w - b
    low, high = np.maximum(r - epsilon, 0.0), np.maximum(-r - epsilon, 0.0)
    if isinstance(model, LinearSVC):
        low, high = np.where(y > 0.0, low, 0.0), np.where(y < 0.0, high, 0.0)
    power = 2 if model.loss.startswith("squared") else 1
    beta = 2.0 * model.C * (low - high)
    value = 0.5 * float(w @ w) + model.C * float(np.sum(low**power + high**power))
    return value, beta


@each_kind
@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize(
    ("cls", "loss"),
    [
        (LinearSVC, "squared_hinge"),
        (LinearSVC, "hinge"),
        (LinearSVR, "squared_epsilon_insensitive"),
        (LinearSVR, "epsilon_insensitive"),
    ],
)
def test_linear_machines_close_the_duality_gap_or_warn(cls: type[Any], loss: str, dual: bool, kind: str) -> None:
    X, classes, target = hard_table(kind)
    y = np.where(classes == 1, 1.0, -1.0) if cls is LinearSVC else target
    model, said = outcome(cls(loss=loss, dual=dual, random_state=0, max_iter=200), X, y)
    assert model.converged_ is (not said)
    value, beta = primal(model, X, y)
    if said:
        assert "the relative duality gap is" in said[0]
        assert "scale the columns" in said[0]
        return
    assert value == pytest.approx(float(model.objective_[0]), rel=1e-5)
    assert model.duality_gap_.max() <= model.tol
    if model.solver_ == "primal_newton" and kind not in ("far from zero", "unscaled"):
        # P - D = 1/2 |w - X'beta|^2 for these beta, but for the sum of beta, which is zero at the minimum
        w = model.coef_.ravel()
        assert abs(beta.sum()) < 1e-2 * np.abs(beta).sum()
        assert 0.5 * float(np.sum((w - X.T @ beta) ** 2)) < 1e-3 * value + 1e-8


def test_a_column_far_from_zero_does_not_end_newton_early() -> None:
    """LinearSVC ended after 3 steps, 12 % above the minimum, and called it converged."""
    X, classes, _ = hard_table("plain")
    y = np.where(classes == 1, 1.0, -1.0)
    expected = LinearSVC(random_state=0).fit(X, y)
    model, said = outcome(LinearSVC(random_state=0), np.column_stack([X, np.full(len(X), 1e9)]), y)
    assert said == []
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8)
    np.testing.assert_allclose(model.coef_[0, :4], expected.coef_[0], rtol=1e-6)


def test_newton_without_a_step_is_no_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    X, classes, _ = hard_table("plain")
    monkeypatch.setattr(primal_newton, "_line_search", lambda *_: (None, 0.0))
    model, said = outcome(LinearSVC(random_state=0), X, classes)
    assert not model.converged_
    assert model.duality_gap_[0] > 0.1
    assert "rounding errors" in said[0]


def test_the_gap_is_zero_at_the_minimum_and_bounds_the_distance_elsewhere() -> None:
    X, classes, _ = hard_table("plain")
    y = np.where(classes == 1, 1.0, -1.0)
    problem = linear_problem.LinearProblem(X, y, (y > 0) * 1.0, (y < 0) * 1.0, 0.0, True, 0.0)
    model = LinearSVC().fit(X, y)
    best = linear_problem.Plane(model.coef_[0], float(model.intercept_[0]))
    smallest = float(model.objective_[0])
    assert abs(linear_problem.squared_loss_gap(problem, best)) < 1e-9 * smallest
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0):
        plane = linear_problem.Plane(best.w + size * rng.normal(size=4), best.b + size)
        value = linear_problem.objective(problem, plane, X @ plane.w + plane.b, 2)
        assert linear_problem.squared_loss_gap(problem, plane) >= value - smallest


def kkt_violation(model: SVC, X: Floats, y: Floats) -> float:
    """Largest violation of the KKT conditions of a linear SVC, from its coefficients."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    f = X @ model.coef_[0]
    e = f - y  # gradient times y
    may_increase = ((y > 0) & (alpha < model.C * (1 - 1e-9))) | ((y < 0) & (alpha > 1e-9 * model.C))
    may_decrease = ((y < 0) & (alpha < model.C * (1 - 1e-9))) | ((y > 0) & (alpha > 1e-9 * model.C))
    return float(e[may_decrease].max() - e[may_increase].min())


@each_kind
@pytest.mark.parametrize("max_iter", [1, -1])
def test_smo_reaches_the_kkt_conditions_or_warns(kind: str, max_iter: int) -> None:
    if kind == "far from zero":
        pytest.skip("kernel values of 1e18 leave no digits for the others: test_hard_cases.py")
    X, classes, _ = hard_table(kind, 120)
    y = np.where(classes == 1, 1.0, -1.0)
    model, said = outcome(SVC(kernel="linear", max_iter=max_iter), X, y)
    assert model.converged_ is (not said) is (model.fit_status_ == 0)
    if said:
        assert "the KKT gap is" in said[0]
    else:
        assert model.kkt_gap_ <= model.tol
        if kind != "unscaled":
            assert kkt_violation(model, X, y) <= 1.01 * model.tol
    assert (max_iter == 1) == bool(said) or kind == "unscaled"


@pytest.mark.parametrize("model", [SVC(max_iter=2), SVR(max_iter=2), NuSVC(max_iter=2), NuSVR(max_iter=2)])
def test_kernel_machines_that_end_early_warn(model: Any) -> None:
    X, y, target = hard_table("plain")
    fitted, said = outcome(model, X, target if isinstance(model, SVR | NuSVR) else y)
    assert len(said) == 1
    assert not fitted.converged_
    assert fitted.kkt_gap_ > fitted.tol


@pytest.mark.parametrize(
    "model", [SVC(), SVC(probability=True), SVR(), NuSVC(), NuSVR(), NystroemSVC(), NystroemSVR(), OneClassSVM()]
)
def test_default_machines_converge_without_a_word(model: Any) -> None:
    X, y, target = hard_table("plain")
    is_regressor = isinstance(model, SVR | NuSVR | NystroemSVR)
    fitted, said = outcome(model, X, target if is_regressor else y)
    assert said == []
    assert fitted.converged_


def test_machines_for_probabilities_are_watched_too(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = hard_table("plain")
    train, n_trained = SVC._solve_binary, [0]

    def late(self: SVC, *args: Any) -> Any:
        machine, result = train(self, *args)
        n_trained[0] += 1
        return (machine, result) if n_trained[0] == 1 else (machine._replace(is_optimal=False, kkt_gap=0.25), result)

    monkeypatch.setattr(SVC, "_solve_binary", late)
    _, said = outcome(SVC(probability=True), X, y)
    assert len(said) == 1
    assert said[0].startswith("5 of 5 SVMs fitted for the probabilities did not converge: the KKT gap is 0.25")


@each_kind
@pytest.mark.parametrize("max_iter", [1, 30])
def test_landmark_machines_reach_a_small_decrement_or_warn(kind: str, max_iter: int) -> None:
    X, y, _ = hard_table(kind)
    model, said = outcome(NystroemSVC(kernel="rbf", max_iter=max_iter, random_state=0), X, y)
    assert model.converged_ is (not said)
    assert np.all(model.excess_ <= model.tol) == (not said)
    last = np.asarray(model.history_.objective)[-1]
    assert last <= model.C * len(X) + 1e-9  # no worse than the flat plane


# --- boosting, calibration, weights, linear programmes ----------------------------------------------------------------


def test_lpboost_has_a_duality_gap() -> None:
    X, y, _ = hard_table("plain", 120)
    model, said = outcome(LPBoostClassifier(nu=0.5, random_state=0), X, y)
    assert said == []
    assert model.converged_
    u = np.where(y == 1, 1.0, -1.0)[:, np.newaxis] * np.column_stack(
        [m.predictions(np.asarray(X, np.float32)) for m in model.members_]
    )
    m = np.sort(u @ model.coefficients_)
    cap = 1.0 / (0.5 * len(y))
    value = max(rho - cap * np.sum(np.maximum(rho - m, 0.0)) for rho in m)
    assert value == pytest.approx(float(model.history_.value[-1]), abs=1e-6)
    assert np.max(model.sample_weights_ @ u) - value == pytest.approx(0.0, abs=1e-6)
    late, _ = outcome(LPBoostClassifier(nu=0.6, n_estimators=4, random_state=0), X, y)
    assert not late.converged_
    assert late.history_.value[-1] + late.duality_gap_ >= LPBoostClassifier(nu=0.6).fit(X, y).history_.value[-1]


def test_a_linear_programme_with_a_gap_is_reported() -> None:
    u = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, -1.0]])
    exact = minmax.largest_minimum_margin(u)
    assert minmax.duality_gap(u, exact.coefficients, exact.weights) == pytest.approx(0.0, abs=1e-9)
    soft = minmax.largest_minimum_margin(u, 0.4)
    assert minmax.duality_gap(u, soft.coefficients, soft.weights, np.full(3, 0.4)) == pytest.approx(0.0, abs=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"the duality gap is 0\.67"):
        minmax.warn_of_gap(minmax.duality_gap(u, np.array([0.5, 0.5, 0.0]), np.full(3, 1 / 3)) + 1 / 3)


def test_stagewise_steps_that_are_too_long_are_reported() -> None:
    X, _, target = hard_table("plain")
    _, said = outcome(StagewiseRegressor(n_estimators=20, learning_rate=2.5, random_state=0), X, target)
    assert len(said) == 1
    assert "the model is worse than a constant" in said[0]
    good, said = outcome(StagewiseRegressor(n_estimators=20, learning_rate=1.0, random_state=0), X, target)
    assert said == []
    assert np.all(np.diff(good.history_.loss) <= 1e-12)


def test_a_line_search_that_does_not_end_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = anyboost.root_scalar

    def short(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **{**kwargs, "maxiter": 2})

    monkeypatch.setattr(anyboost, "root_scalar", short)
    with pytest.warns(ConvergenceWarning, match="line search did not converge in 2 steps"):
        a = anyboost.minimum_on_line(lambda a: np.exp(a) - 3.0, lambda a: np.exp(a) - 3.0 * a)
    assert np.exp(a) - 3.0 * a <= 1.0  # no worse than no step


def test_calibration_of_boosting_is_no_worse_than_the_usual_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=(400, 1))
    codes = (rng.random(400) < expit(score[:, 0])).astype(np.int64)
    held_out = calibration.HeldOutScores(score, codes, np.ones(400))

    def probabilities(f: Floats) -> Floats:
        p = expit(2.0 * f[:, 0])
        return np.column_stack([1.0 - p, p])

    slope = calibration.fit_slope(held_out, probabilities)
    around = [calibration.log_loss(held_out, s, probabilities) for s in (0.98 * slope, slope, 1.02 * slope, 1.0)]
    assert int(np.argmin(around)) == 1
    real = calibration_slope.minimize_scalar

    def short(*args: Any, **kwargs: Any) -> Any:
        return real(*args, **kwargs, options={"maxiter": 2})

    monkeypatch.setattr(calibration_slope, "minimize_scalar", short)
    with pytest.warns(ConvergenceWarning, match="slope of the probabilities did not converge"):
        late = calibration.fit_slope(held_out, probabilities)
    assert calibration.log_loss(held_out, late, probabilities) <= around[3] + 1e-9


def test_calibration_of_forests_ends_in_a_minimum_or_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(2.0, 2.0, 500)
    codes = (rng.random(500) < p).astype(np.int64)
    shares = np.column_stack([1.0 - p, p])
    result = probability_calibration.calibrate(shares, codes, np.ones(500))
    assert result.log_loss <= result.log_loss_before + 1e-6
    real = scipy.optimize.minimize

    def short(loss: Any, start: Any, **kwargs: Any) -> Any:
        return real(loss, start, **{**kwargs, "options": {"maxiter": 1}})

    monkeypatch.setattr(scipy.optimize, "minimize", short)
    blurred = 0.8 * shares + 0.1
    with pytest.warns(ConvergenceWarning, match="calibration of the probabilities did not converge"):
        probability_calibration.calibrate(blurred, codes, np.ones(500))


def naive_gap(errors: Floats, w: Floats) -> float:
    gradient = 2.0 * errors.T @ (errors @ w)
    return float(gradient @ w - gradient.min()) / float(np.sum((errors @ w) ** 2))


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-9])
def test_weights_of_members_are_optimal(noise: float) -> None:
    """Members that are nearly the same are the hard case."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    common = truth + rng.normal(size=200)
    predictions = np.array([common + noise * rng.normal(size=200) for _ in range(6)])
    w = simplex.simplex_weights(predictions, truth)
    assert naive_gap((truth - predictions).T, w) <= 1e-5


def test_weights_without_a_solution_are_those_of_the_best_member(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(simplex, "nnls", fails)
    truth = np.arange(4.0)
    with pytest.warns(ConvergenceWarning, match="weights of the members are not optimal"):
        w = simplex.simplex_weights(truth + np.array([[2.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0]]), truth)
    np.testing.assert_array_equal(w, [0.0, 1.0])


def test_sparsely_gated_training_that_gets_worse_is_reported() -> None:
    X, y, _ = hard_table("plain", 200)
    model, said = outcome(SparselyGatedMixtureClassifier(max_iter=5, random_state=0), X, y)
    assert said == []
    assert model.loss_ < model.start_loss_
    model, said = outcome(SparselyGatedMixtureClassifier(max_iter=2, learning_rate=100.0, random_state=0), X, y)
    assert model.loss_ > model.start_loss_
    assert "Training made no progress in 2 epochs" in said[0]
