"""What EM promises, as numbers: the objective never falls, bounds touch it, mixtures are found again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.em import Mixture, Rows, e_step, em, evaluate, log_prior, lower_bound, run_em
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.experts.gaussian_experts import GaussianExperts
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts, MultinomialExperts
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor

N_PROBLEMS = 1000
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def random_table(rng: np.random.Generator, n: int, d: int) -> Any:
    """Columns of any kind: now and then constant, doubled, far apart or made of few values."""
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 5.0], d)
    kind = rng.integers(0, 5)
    if kind == 0:
        X[:, 0] = 1.0
    elif kind == 1:
        X[:, -1] = X[:, 0]
    elif kind == 2:
        X = np.round(X)
    return np.column_stack([X, np.ones(n)])


def random_problem(seed: int) -> tuple[Mixture, Rows, Any, Any, int]:
    """A small mixture of any kind with rows that need not suit it, and parameters to start from."""
    rng = np.random.default_rng(seed)
    n, d, n_experts = int(rng.integers(1, 50)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    X, weight = random_table(rng, n, d), rng.integers(1, 4, n).astype(float)
    l2 = float(rng.choice([0.0, 1e-3, 1.0], p=[0.2, 0.4, 0.4]))
    gate: Any = SoftmaxGate(l2) if rng.random() < 0.7 else ConstantGate()
    family, y = random_family(rng, X, l2)
    n_columns = y.shape[1] if y.ndim == 2 else d + 1
    gate_params = gate.start(n_experts, d + 1)
    if isinstance(gate, SoftmaxGate):
        gate_params = 2.0 * rng.normal(size=gate_params.shape)
    experts = family.start(n_experts, n_columns)
    if isinstance(experts, np.ndarray):
        experts = float(rng.choice([0.1, 2.0, 10.0])) * rng.normal(size=experts.shape)
    else:
        experts = experts._replace(**{experts._fields[0]: rng.normal(size=experts[0].shape)})
    return Mixture(gate, family), Rows(X, X, y, weight), gate_params, experts, seed


def random_family(rng: np.random.Generator, X: Any, l2: float) -> tuple[Any, Any]:
    n, kind = len(X), int(rng.integers(0, 4))
    if kind == 0:
        return LinearExperts(l2, float(rng.choice([0.1, 1.0]))), X[:, 0] * rng.normal() + rng.normal(size=n)
    if kind == 1:
        separable = rng.random() < 0.3
        return LogisticExperts(l2), (X[:, 0] > 0 if separable else rng.random(n) < 0.5).astype(np.int64)
    if kind == 2:
        return MultinomialExperts(3, l2), rng.integers(0, 3, n)
    return GaussianExperts("full" if rng.random() < 0.5 else "diag"), X[:, :-1].copy()


def test_the_objective_never_falls_between_repairs() -> None:
    """1,000 random problems: separable classes, constant and doubled columns, fewer rows than columns among them."""
    seen: dict[str, int] = {"halved": 0, "stretched": 0, "repaired": 0}
    for seed in range(N_PROBLEMS):
        mixture, rows, gate, experts, _ = random_problem(seed)
        records = [r for _, r in em(mixture, rows, evaluate(mixture, rows, gate, experts), max_iter=8, tol=0.0)]
        for before, after in pairwise(records):
            if after.repaired < 0:
                slack = 1e-10 * max(abs(before.objective), 1.0)
                assert after.objective >= before.objective - slack, f"problem {seed}, iteration {after.iteration}"
                assert before.bound <= after.objective + slack, f"problem {seed}, iteration {after.iteration}"
            if before.stretch == 1.0:
                assert before.bound >= before.objective, f"problem {seed}, iteration {before.iteration}"
        seen["halved"] += any(r.n_halvings for r in records)
        seen["stretched"] += any(r.stretch > 1.0 for r in records)
        seen["repaired"] += any(r.repaired >= 0 for r in records)
    assert min(seen.values()) >= 10, seen  # the problems are hard enough to need the guards


def test_the_bound_equals_the_log_likelihood_after_each_e_step() -> None:
    for seed in range(100):
        mixture, rows, gate, experts, _ = random_problem(seed)
        start = evaluate(mixture, rows, gate, experts)
        for state, record in em(mixture, rows, start, max_iter=6, tol=0.0):
            weights = e_step(state.log_gate, state.log_density, rows.weight).weights
            np.testing.assert_allclose(weights.sum(axis=0), rows.weight, rtol=1e-12)
            assert lower_bound(state, weights, rows.weight) == pytest.approx(record.log_likelihood, rel=1e-9, abs=1e-9)
            objective = record.log_likelihood + log_prior(mixture, state)
            assert record.objective == pytest.approx(objective, rel=1e-12, abs=1e-12)


def overshooting() -> tuple[Mixture, Rows, Any]:
    """One expert far on the wrong side of data that are almost separable: Newton's step is much too long there."""
    x = np.linspace(-3.0, 3.0, 40)
    X = np.column_stack([x, np.ones(40)])
    y = (x > 0).astype(np.int64)
    y[[0, -1]] = 1, 0
    return Mixture(ConstantGate(), LogisticExperts(1e-6)), Rows(X, X, y, np.ones(40)), np.array([[-4.0, 0.0]])


def test_the_undamped_step_lowers_the_likelihood_and_the_guarded_one_does_not() -> None:
    mixture, rows, coef = overshooting()
    state = evaluate(mixture, rows, np.zeros(1), coef)
    weights, log_p = e_step(state.log_gate, state.log_density, rows.weight)
    undamped = mixture.experts.m_step(coef, rows.X, rows.y, weights)
    after = mixture.experts.log_likelihood(undamped, rows.X, rows.y)
    assert float(after.sum()) < float(log_p.sum()) - 100.0  # it overshoots, and by far
    result = run_em(mixture, rows, state, max_iter=200, tol=1e-12)
    assert result.records[0].n_halvings >= 1
    assert np.all(np.diff([r.objective for r in result.records]) >= -1e-10)
    best = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-12, max_iter=1000).fit(rows.X, rows.y)
    np.testing.assert_allclose(result.state.experts, best.coef_, rtol=1e-4, atol=1e-6)


# --- mixtures are found again ----------------------------------------------------------------------------------------


def softmax(score: Any) -> Any:
    p = np.exp(score - score.max(axis=0))
    return p / p.sum(axis=0)


def drawn_labels(rng: np.random.Generator, p: Any) -> Any:
    return (rng.random(p.shape[1]) > np.cumsum(p, axis=0)).sum(axis=0)


GATE = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0]])


def test_linear_experts_are_recovered() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    coef, intercept, noise = np.array([[2.0, 0.0], [-2.0, 1.0], [0.0, -3.0]]), np.array([1.0, 0.0, -1.0]), 0.3
    label = drawn_labels(rng, softmax(GATE @ X.T))
    means = coef @ X.T + intercept[:, np.newaxis]
    y = means[label, np.arange(3000)] + noise * rng.normal(size=3000)
    model = MixtureOfExpertsRegressor(3, random_state=0).fit(X, y)
    order = [int(np.argmin(((model.coef_ - true) ** 2).sum(axis=1))) for true in coef]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(model.coef_[order], coef, atol=0.06)
    np.testing.assert_allclose(model.intercept_[order], intercept, atol=0.06)
    np.testing.assert_allclose(model.noise_[order], noise, atol=0.03)
    gate = model.gate_coef_[order] - model.gate_coef_[order].mean(axis=0)
    np.testing.assert_allclose(gate, GATE - GATE.mean(axis=0), atol=0.35)
    density = np.exp(-0.5 * ((y - means) / noise) ** 2) / np.sqrt(2.0 * np.pi) / noise
    true = float(np.log(np.sum(softmax(GATE @ X.T) * density, axis=0)).sum())
    assert model.log_likelihood_ > true
    assert np.mean(model.responsibilities(X, y)[:, order].argmax(axis=1) == label) > 0.9


def test_logistic_experts_reach_the_likelihood_of_the_truth() -> None:
    """The document's softmax of logistic models."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    coef = np.array([[4.0, 0.0], [4.0, 4.0], [0.0, -6.0]])
    g, p = softmax(GATE @ X.T), 1.0 / (1.0 + np.exp(-coef @ X.T))
    y = (rng.random(4000) < p[drawn_labels(rng, g), np.arange(4000)]).astype(int)
    true = float(np.log(np.sum(g * np.where(y == 1, p, 1.0 - p), axis=0)).sum())
    model = MixtureOfExpertsClassifier(3, random_state=0).fit(X, y)
    assert model.log_likelihood_ > true
    one = LogisticRegression().fit(X, y)
    left = [1.0 - m.score(X, y) for m in (model, one)]
    bayes = float(np.mean((np.sum(g * p, axis=0) > 0.5) != y))
    assert left[0] - bayes < 0.1 * (left[1] - bayes)


def test_two_regimes_that_cross_are_found() -> None:
    """Two lines over the same x: no function of x, but a mixture of two with constant gates."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (600, 1))
    y = np.where(rng.random(600) < 0.7, 1.0 + 2.0 * x[:, 0], -2.0 * x[:, 0]) + 0.1 * rng.normal(size=600)
    model = MixtureOfExpertsRegressor(2, gate="constant", random_state=0).fit(x, y)
    order = np.argsort(model.coef_[:, 0])
    np.testing.assert_allclose(model.coef_[order, 0], [-2.0, 2.0], atol=0.05)
    np.testing.assert_allclose(model.intercept_[order], [0.0, 1.0], atol=0.03)
    np.testing.assert_allclose(model.load_[order], [0.3, 0.7], atol=0.03)


@pytest.mark.parametrize("shape", ["|x|", "sign", "steps"])
def test_piecewise_problems_are_solved_better_than_by_one_model(shape: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (500, 1))
    clean = {"|x|": np.abs(x[:, 0]), "sign": np.sign(x[:, 0]) + x[:, 0], "steps": np.floor(2.0 * x[:, 0])}[shape]
    y = clean + 0.05 * rng.normal(size=500)
    model = MixtureOfExpertsRegressor(4 if shape == "steps" else 2, random_state=0).fit(x, y)
    error = float(np.mean((model.predict(x) - clean) ** 2))
    assert error < 0.15 * float(np.mean((LinearRegression().fit(x, y).predict(x) - clean) ** 2))


def test_densities_are_recovered_behind_a_gate_on_other_columns() -> None:
    rng = np.random.default_rng(4)
    z = rng.uniform(-2, 2, 3000)
    label = (rng.random(3000) < 1.0 / (1.0 + np.exp(-3.0 * z))).astype(int)
    means = np.array([[0.0, 0.0], [2.0, 1.0]])
    X = means[label] + rng.normal(size=(3000, 2)) * np.array([[1.0, 0.5], [0.5, 1.0]])[label]
    model = MixtureOfExpertsDensity(2, gate_features=[0], random_state=0).fit(np.column_stack([z, X]))
    order = np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(model.means_[order], means, atol=0.1)
    np.testing.assert_allclose(np.sqrt(np.diagonal(model.covariances_[order], axis1=1, axis2=2)),
                               [[1.0, 0.5], [0.5, 1.0]], atol=0.06)  # fmt: skip
    assert np.diff(model.gate_coef_[order, 0])[0] == pytest.approx(3.0, abs=0.3)


@pytest.mark.parametrize("gate_features", [None, [0]])
def test_a_density_integrates_to_one(gate_features: Any) -> None:
    """Over the columns of the experts, whatever the gate's column is."""
    rng = np.random.default_rng(5)
    table = np.column_stack([rng.normal(size=400), rng.normal(size=400) * 3.0 + 100.0])
    model = MixtureOfExpertsDensity(3, gate_features=gate_features, random_state=0).fit(table)
    if gate_features is None:
        a, b = np.linspace(-8, 8, 300), np.linspace(70, 130, 300)
        grid = np.array(np.meshgrid(a, b)).reshape(2, -1).T
        total = np.exp(model.score_samples(grid)).sum() * (a[1] - a[0]) * (b[1] - b[0])
    else:
        b = np.linspace(70, 130, 3000)
        total = np.exp(model.score_samples(np.column_stack([np.full(3000, 0.7), b]))).sum() * (b[1] - b[0])
    assert total == pytest.approx(1.0, abs=1e-3)


def test_restarts_find_more_than_one_start() -> None:
    """EM finds local optima."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(6, 2))[rng.integers(0, 6, 600)] * 6.0 + rng.normal(size=(600, 2))
    single = [MixtureOfExpertsDensity(6, n_restarts=1, init="random", random_state=s).fit(X) for s in range(6)]
    reached = [model.history_.objective[-1] for model in single]
    assert max(reached) - min(reached) > 1.0
    several = MixtureOfExpertsDensity(6, random_state=0).fit(X)
    assert several.history_.objective[-1] > np.median(reached)
    assert several.history_.objective[-1] == pytest.approx(np.nanmax(several.restarts_.objective), rel=1e-12)
    assert several.restarts_.short_run.max() - several.restarts_.short_run.min() > 1.0


@pytest.mark.parametrize("criterion", ["bic", "held_out"])
def test_the_number_of_experts_is_found(criterion: Any) -> None:
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (800, 1))
    y = 3.0 * np.abs(x[:, 0]) + 0.1 * rng.normal(size=800)
    model = MixtureOfExpertsRegressor(range(1, 5), criterion=criterion, random_state=0).fit(x, y)
    assert model.selection_.n_experts.tolist() == [1, 2, 3, 4]
    score = -model.selection_.bic if criterion == "bic" else model.selection_.held_out
    assert score[1] > score[0] + 0.1
    assert model.n_experts_ == (2 if criterion == "bic" else model.selection_.n_experts[score.argmax()])
    assert score[1] > score.max() - 0.05 * (score[1] - score[0])
