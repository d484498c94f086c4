"""EM for mixtures of experts: an iteration against plain NumPy, growth with rows, columns and experts, R's flexmix."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neural_network import MLPClassifier, MLPRegressor
from threadpoolctl import threadpool_limits

import committee
from benchmarks import tables
from benchmarks.flexmix import Flexmix
from benchmarks.harness import Benchmark, Call, Goal, Setup
from benchmarks.tables import Scale, size
from committee.experts.em import Mixture, Rows, em, evaluate, run_em
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.experts.linear_experts import LinearExperts
from committee.experts.logistic_experts import LogisticExperts

Floats = NDArray[np.float64]

STEPS = 10
L2 = 1e-3
MAX_SECONDS = 0.025 * STEPS
MAX_OF_NUMPY = 0.2


class Problem(NamedTuple):
    """Rows of a mixture of logistic experts, with a column of ones, and parameters to start from."""

    X: Floats
    y: NDArray[np.int64]
    gate: Floats  # [K, d]
    coef: Floats  # [K, d]


@lru_cache(maxsize=2)
def logistic_problem(n: int, d: int, n_experts: int) -> Problem:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, d - 1)), np.ones(n)])
    score = rng.normal(size=(n_experts, d)) @ X.T
    share = np.exp(score - logsumexp(score, axis=0))
    expert = np.minimum((rng.random(n) > np.cumsum(share, axis=0)).sum(axis=0), n_experts - 1)
    odds = (1.5 * rng.normal(size=(n_experts, d)) @ X.T)[expert, np.arange(n)]
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    gate = 0.1 * rng.normal(size=(n_experts, d))
    return Problem(X, y, gate - gate.mean(axis=0), 0.5 * rng.normal(size=(n_experts, d)))


def benchmarks(scale: Scale) -> list[Benchmark]:
    n = scale.rows(50_000)
    return [
        _iterations(n, 20, 4),
        _growth("rows", [(n, 20, 4), (2 * n, 20, 4), (4 * n, 20, 4)]),
        _growth("columns", [(n, 20, 4), (n, 40, 4), (n, 80, 4)]),
        _growth("experts", [(n, 20, 4), (n, 20, 8), (n, 20, 16)]),
        _flexmix(scale.rows(20_000), 10, 3),
        _fits(scale.rows(10_000), 20, is_class=True),
        _fits(scale.rows(10_000), 20, is_class=False),
        _density(scale.rows(20_000), 10),
    ]


# --- one iteration ---------------------------------------------------------------------------------------------------


def ours(problem: Problem) -> float:
    """The penalised log-likelihood of a row after so many iterations."""
    mixture = Mixture(SoftmaxGate(L2), LogisticExperts(L2))
    rows = Rows(problem.X, problem.X, problem.y, np.ones(len(problem.y)))
    start = evaluate(mixture, rows, problem.gate, problem.coef)
    records = [record for _, record in em(mixture, rows, start, max_iter=STEPS, tol=-np.inf)]
    return records[-1].objective / len(problem.y)


def plain(problem: Problem) -> float:
    """The same EM in plain NumPy: one Newton step for every expert, the gate's step, no guard and no longer steps."""
    X, y, gate, coef = problem
    sign, prior = 2.0 * y - 1.0, L2 * np.eye(X.shape[1])
    objective = 0.0
    for _ in range(STEPS):
        log_gate = gate @ X.T
        log_gate -= logsumexp(log_gate, axis=0)
        log_q = log_expit(sign * (coef @ X.T))
        joint = log_gate + log_q
        log_p = logsumexp(joint, axis=0)
        r = np.exp(joint - log_p)
        objective = log_p.sum() - 0.5 * L2 * (np.sum(gate**2) + np.sum(coef**2))
        g, p = np.exp(log_gate), 1.0 / (1.0 + np.exp(-coef @ X.T))
        gate, coef = gate.copy(), coef.copy()
        for k in range(len(gate)):
            curvature = (X * g[k][:, np.newaxis]).T @ X + prior
            gate[k] += np.linalg.solve(curvature, (r[k] - g[k]) @ X - L2 * gate[k])
            curvature = (X * (r[k] * p[k] * (1.0 - p[k]))[:, np.newaxis]).T @ X + prior
            coef[k] += np.linalg.solve(curvature, (r[k] * (y - p[k])) @ X - L2 * coef[k])
        gate -= gate.mean(axis=0)
    return float(objective) / len(y)


def _on(run: Any, n: int, d: int, n_experts: int) -> Setup:
    def prepare() -> Call:
        problem = logistic_problem(n, d, n_experts)
        return lambda: run(problem)

    return prepare


def _reached(objective: float) -> Mapping[str, float]:
    return {"log-likelihood of a row": objective}


def _iterations(n: int, d: int, n_experts: int) -> Benchmark:
    contenders = {"committee": _on(ours, n, d, n_experts), "NumPy": _on(plain, n, d, n_experts)}
    task = f"{STEPS} iterations of EM, {n_experts} logistic experts, {size(n, d)}"
    goals = (Goal("committee", MAX_OF_NUMPY, "NumPy"),)
    if n == 50_000:
        goals += (Goal("committee", MAX_SECONDS, kind="seconds"),)
    covers = ("MixtureOfExpertsClassifier",)
    return Benchmark(f"experts/iterations-{size(n, d)}", task, contenders, _reached, goals=goals, covers=covers)


def _growth(what: str, sizes: list[tuple[int, int, int]]) -> Benchmark:
    """Each size against the first: linear growth would be 2 and 4."""
    names = {f"committee {size(n, d)}, {k} experts": (n, d, k) for n, d, k in sizes}
    contenders = {name: _on(ours, *shape) for name, shape in names.items()}
    task = f"{STEPS} iterations of EM with more {what}"
    return Benchmark(f"experts/growth-{what}", task, contenders, _reached, peers=(next(iter(names)),))


# --- peers -----------------------------------------------------------------------------------------------------------


def _flexmix(n: int, d: int, n_experts: int) -> Benchmark:
    """Linear regressions with constant gates, the same number of EM steps from the same shares."""

    @lru_cache(maxsize=1)
    def rows() -> tuple[Floats, Floats, Floats]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        expert = rng.integers(0, n_experts, n)
        y = np.einsum("nd,nd->n", X, 2.0 * rng.normal(size=(n_experts, d))[expert]) + rng.normal(size=n)
        shares = 0.9 * (expert == np.arange(n_experts)[:, np.newaxis]) + 0.1 / n_experts
        return X, y, shares

    def ours() -> Call:
        X, y, shares = rows()
        table = np.column_stack([X, np.ones(n)])
        mixture = Mixture(ConstantGate(), LinearExperts(0.0, 0.0, 0.0))
        data = Rows(table, table, y, np.ones(n))

        def call() -> float:
            with threadpool_limits(1, user_api="blas"):  # as in a fit
                params = mixture.experts.m_step(LinearExperts().start(n_experts, d + 1), table, y, shares)
                start = evaluate(mixture, data, mixture.gate.m_step(None, table, shares), params)
                return run_em(mixture, data, start, max_iter=STEPS, tol=-np.inf).objective

        return call

    contenders: dict[str, Setup] = {"committee": ours, "R flexmix": lambda: Flexmix(*rows(), STEPS).fit}
    task = f"{STEPS} iterations of EM, {n_experts} linear regressions with constant gates, {size(n, d)}"
    return Benchmark(
        f"experts/flexmix-{size(n, d)}", task, contenders, lambda result: {"log-likelihood": result}, clock="wall",
        covers=("MixtureOfExpertsRegressor",),
    )  # fmt: skip


def _fits(n: int, d: int, is_class: bool) -> Benchmark:
    """Whole fits as they come, with their test error, beside one linear model and a neural network."""
    load = tables.classes if is_class else tables.values
    kind = "Classifier" if is_class else "Regressor"

    def fit(make: Any) -> Setup:
        def prepare() -> Call:
            split = load(n, d)
            return lambda: make().fit(split.X, split.y)

        return prepare

    def quality(model: Any) -> Mapping[str, float]:
        split = load(n, d)
        return {"accuracy" if is_class else "R2": float(model.score(split.X_test, split.y_test))}

    network = MLPClassifier if is_class else MLPRegressor
    makers = {
        "committee mixture": partial(getattr(committee, f"MixtureOfExperts{kind}"), 4, n_jobs=1, random_state=0),
        "committee hierarchy": partial(
            getattr(committee, f"HierarchicalMixtureOfExperts{kind}"), 2, 2, n_jobs=1, random_state=0
        ),
        "committee sparse gates": partial(getattr(committee, f"SparselyGatedMixture{kind}"), random_state=0),
        "sklearn linear": LogisticRegression if is_class else Ridge,
        "sklearn network": partial(network, early_stopping=True, max_iter=100, random_state=0),
    }
    covers = tuple(f"{name}{kind}" for name in ("HierarchicalMixtureOfExperts", "SparselyGatedMixture"))
    task = (
        f"whole fits of 4 experts, a tree of 4 and 8 neural ones, {size(n, d)}, {'classes' if is_class else 'numbers'}"
    )
    contenders = {name: fit(make) for name, make in makers.items()}
    peers = ("sklearn linear", "sklearn network")
    name = f"experts/fits-{'classes' if is_class else 'numbers'}-{size(n, d)}"
    return Benchmark(name, task, contenders, quality, peers=peers, covers=covers)


def _density(n: int, d: int) -> Benchmark:
    @lru_cache(maxsize=1)
    def rows() -> Floats:
        rng = np.random.default_rng(0)
        return 2.0 * rng.normal(size=(5, d))[rng.integers(0, 5, n)] + rng.normal(size=(n, d))

    ours = partial(committee.MixtureOfExpertsDensity, 5, init="kmeans", n_restarts=1, tol=1e-4, random_state=0)
    peer = partial(GaussianMixture, 5, tol=1e-4, random_state=0)
    contenders: dict[str, Setup] = {
        "committee": lambda: lambda: ours().fit(rows()),
        "sklearn GaussianMixture": lambda: lambda: peer().fit(rows()),
    }
    return Benchmark(
        f"experts/density-{size(n, d)}", f"5 gaussian experts, {size(n, d)}", contenders,
        lambda model: {"log-likelihood of a row": float(model.score(rows()))}, covers=("MixtureOfExpertsDensity",),
    )  # fmt: skip
