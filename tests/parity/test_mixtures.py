"""Mixtures against R's flexmix (flexmix.R, constants below) and scikit-learn's GaussianMixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from committee.datasets import load_dataset
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.em import Mixture, Rows, State, e_step, evaluate
from committee.experts.gate import ConstantGate, SoftmaxGate
from committee.experts.linear_experts import LinearExperts, LinearParams
from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor

I = np.arange(150)  # noqa: E741 - as in flexmix.R


def chance(seed: float) -> Any:
    u = np.sin((I + 1) * seed) * 43758.5453
    return u - np.floor(u)


x = 2.0 * chance(12.9898) - 1.0
NOISE = 0.5 * (chance(78.233) + chance(37.719) + chance(4.581) - 1.5)


class Flexmix(NamedTuple):
    """What flexmix found; components in the order of its output."""

    log_likelihood: float
    coef: Any  # [K, 2]: intercept, slope
    sigma: Any
    prior: Any
    gate: Any  # intercept and slope of ln(g_2 / g_1), or None


CONSTANT = Flexmix(
    -87.3403229571, [[0.9420805650, 1.9947389087], [-0.5177322252, -1.5011512572]], [0.2538111781, 0.2535100558],
    [0.3379909791, 0.6620090209], None,
)  # fmt: skip
SOFTMAX = Flexmix(
    -46.6185391998, [[0.9850650825, 1.9777302549], [-0.5230689348, -1.5194314963]], [0.2442576296, 0.2584643273],
    [0.3881902190, 0.6118097810], [0.8501042485, -4.5516874167],
)  # fmt: skip


def is_first(known: Flexmix) -> Any:
    return chance(2.345) < (1 / 3 if known is CONSTANT else 1.0 / (1.0 + np.exp(-4.0 * x)))


def targets(known: Flexmix) -> Any:
    return np.where(is_first(known), 1.0 + 2.0 * x, -0.5 - 1.5 * x) + NOISE


def with_variances_of_flexmix(params: LinearParams, n: int) -> LinearParams:
    """flexmix divides the squares by a share of n - 2, not of n."""
    return params._replace(variance=params.variance * n / (n - 2.0))


@pytest.mark.parametrize("known", [CONSTANT, SOFTMAX], ids=["constant", "softmax"])
def test_steps_of_flexmix(known: Flexmix) -> None:
    """EM of our parts with flexmix's variances ends where flexmix does: to the 10 digits printed with constant gates;
    to 4 where its gate comes from nnet, which stops at a relative gain of 1e-8."""
    X = np.column_stack([x, np.ones(150)])
    gate: Any = ConstantGate() if known is CONSTANT else SoftmaxGate(0.0)
    experts = LinearExperts(0.0, 0.0, 0.0)
    mixture, rows = Mixture(gate, experts), Rows(X, X, targets(known), np.ones(150))
    shares = np.array([is_first(known), ~is_first(known)], float)
    state: State = evaluate(mixture, rows, gate.start(2, 2), experts.start(2, 2))
    for _ in range(600):
        params = experts.m_step(state.experts, X, rows.y, shares)
        state = evaluate(mixture, rows, gate.m_step(state.gate, X, shares), with_variances_of_flexmix(params, 150))
        shares, log_p = e_step(state.log_gate, state.log_density, rows.weight)
    rtol = 1e-8 if known is CONSTANT else 2e-4
    assert log_p.sum() == pytest.approx(known.log_likelihood, rel=1e-10 if known is CONSTANT else 1e-7)
    np.testing.assert_allclose(state.experts.coef[:, ::-1], known.coef, rtol=rtol)
    np.testing.assert_allclose(np.sqrt(state.experts.variance), known.sigma, rtol=rtol)
    np.testing.assert_allclose(np.exp(state.log_gate).mean(axis=1), known.prior, rtol=rtol)
    if known.gate is not None:
        np.testing.assert_allclose((state.gate[1] - state.gate[0])[::-1], known.gate, rtol=1e-3)


@pytest.mark.parametrize("known", [CONSTANT, SOFTMAX], ids=["constant", "softmax"])
def test_the_estimator_finds_what_flexmix_found(known: Flexmix) -> None:
    """From starts of its own, without priors. Its variances maximise the likelihood, which is larger by that; the
    coefficients differ by what variances of n - 2 instead of n change in the responsibilities."""
    kind = "constant" if known is CONSTANT else "softmax"
    model = MixtureOfExpertsRegressor(
        2, gate=kind, l2=0.0, gate_l2=0.0, variance_prior=0.0, tol=1e-10, max_iter=2000, random_state=0
    ).fit(x[:, np.newaxis], targets(known))
    order = np.argsort(-model.coef_[:, 0])
    np.testing.assert_allclose(model.coef_[order, 0], [c[1] for c in known.coef], rtol=2e-3)
    np.testing.assert_allclose(model.intercept_[order], [c[0] for c in known.coef], rtol=2e-3)
    np.testing.assert_allclose(model.noise_[order], np.array(known.sigma) * np.sqrt(148 / 150), rtol=2e-3)
    np.testing.assert_allclose(model.load_[order], known.prior, rtol=2e-3)
    assert known.log_likelihood < model.log_likelihood_ < known.log_likelihood + 0.05


@pytest.mark.parametrize(("covariance_type", "n_experts"), [("full", 2), ("diag", 3)])
def test_gaussian_mixture(covariance_type: Any, n_experts: int) -> None:
    """The same optimum as scikit-learn's, by likelihood, means and covariances, where its EM starts from ours."""
    X = load_dataset("vehicle").X[:, :4]
    model = MixtureOfExpertsDensity(
        n_experts, covariance_type=covariance_type, variance_prior=0.0, tol=1e-11, max_iter=5000, random_state=0
    ).fit(X)
    peer = GaussianMixture(
        n_experts, covariance_type=covariance_type, reg_covar=0.0, tol=1e-11, max_iter=5000,
        means_init=model.means_, weights_init=model.load_ / model.load_.sum(),
        precisions_init=precisions(model.covariances_, covariance_type),
    ).fit(X)  # fmt: skip
    assert model.score(X) == pytest.approx(peer.score(X), rel=1e-7)
    np.testing.assert_allclose(model.means_, peer.means_, rtol=1e-3)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), rtol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=2e-3)


def precisions(covariances: Any, kind: str) -> Any:
    inverse = np.linalg.inv(covariances)
    return inverse if kind == "full" else np.diagonal(inverse, axis1=1, axis2=2)


def test_starts_are_as_good_as_those_of_gaussian_mixture() -> None:
    X = load_dataset("vehicle").X[:, :4]
    model = MixtureOfExpertsDensity(3, variance_prior=0.0, tol=1e-7, random_state=0).fit(X)
    peer = GaussianMixture(3, reg_covar=0.0, tol=1e-4, max_iter=200, n_init=3, random_state=0).fit(X)
    assert model.score(X) > peer.score(X) - 1e-4
