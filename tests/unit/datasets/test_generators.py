"""Simulated data: rows are as described, and the truth is that of the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import ncx2
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

from committee.datasets import (
    Simulation,
    correlated_step,
    curve,
    friedman1,
    friedman2,
    friedman3,
    ringnorm,
    simulate_classification,
    simulate_regression,
    threenorm,
    twonorm,
    waveform,
)

N = 20_000
REGRESSIONS = [curve, friedman1, friedman2, friedman3]
OF_CLASSES = [twonorm, ringnorm, threenorm, waveform, correlated_step]


@pytest.mark.parametrize(
    ("make", "peer"), [(friedman1, make_friedman1), (friedman2, make_friedman2), (friedman3, make_friedman3)]
)
def test_friedmans_functions_are_those_of_scikit_learn(make: object, peer: object):
    X, y = peer(n_samples=200, noise=0.0, random_state=0)  # type: ignore[operator]
    simulation: Simulation = make()  # type: ignore[operator]
    np.testing.assert_allclose(simulation.truth(X), y, rtol=1e-12)
    drawn = simulation.draw(N, np.random.default_rng(0)).X
    for quantile in (0.02, 0.5, 0.98):  # the same cube: quantiles within 5 of their standard errors
        error = 5.0 * np.ptp(drawn, axis=0) * np.sqrt(0.25 / 200)
        assert np.all(np.abs(np.quantile(drawn, quantile, axis=0) - np.quantile(X, quantile, axis=0)) < error)


@pytest.mark.parametrize("make", REGRESSIONS)
def test_noise_is_the_variance_of_the_residuals(make: Callable[[], Simulation]):
    rows = make().draw(N, np.random.default_rng(1))
    rest = (rows.y - rows.truth) / np.sqrt(rows.noise)
    # 5 standard errors of a mean and of a variance of N normal numbers
    assert abs(rest.mean()) < 5 / np.sqrt(N)
    assert abs(rest.var() - 1.0) < 5 * np.sqrt(2 / N)
    assert make().bayes_error == pytest.approx(rows.noise.mean())


@pytest.mark.parametrize("make", OF_CLASSES)
def test_chances_are_those_of_the_labels(make: object):
    """Among rows whose chance of a class is near p, a share p has it; and the best rule errs as it says."""
    simulation: Simulation = make()  # type: ignore[operator]
    rows = simulation.draw(N, np.random.default_rng(2))
    np.testing.assert_allclose(rows.truth.sum(axis=1), 1.0, atol=1e-9)
    for k in range(rows.truth.shape[1]):
        bin_of = np.minimum((10.0 * rows.truth[:, k]).astype(int), 9)
        for b in np.unique(bin_of):
            here = bin_of == b
            p, n = rows.truth[here, k].mean(), here.sum()
            assert abs(np.mean(rows.y[here] == k) - p) < 5.0 * np.sqrt(max(p * (1.0 - p), 1e-3) / n)
    error = np.mean(rows.y != rows.truth.argmax(axis=1))
    assert error == pytest.approx(simulation.bayes_error, abs=5.0 * np.sqrt(simulation.bayes_error / N))
    np.testing.assert_allclose(rows.noise, 1.0 - rows.truth.max(axis=1))


def test_known_errors_of_the_best_rules():
    """ringnorm: the rule is a sphere around 4/3 of the centre; threenorm: an integral over the plane of the centres."""
    d, square = 20, 4.0
    radius = 8.0 / 3.0 * (d * np.log(2.0) + square / 6.0)
    errors = ncx2.sf(radius, d, square / 9.0), ncx2.cdf(radius / 4.0, d, 4.0 / 9.0 * square)
    assert ringnorm().bayes_error == pytest.approx(np.mean(errors), abs=1e-4)
    a, b = np.meshgrid(*[np.linspace(-10.0, 10.0, 801)] * 2)

    def density(x: float, y: float) -> NDArray[np.float64]:
        return np.exp(-0.5 * ((a - x) ** 2 + (b - y) ** 2)) / (2.0 * np.pi)

    both = np.minimum(0.5 * (density(2, 0) + density(-2, 0)), density(0, 2))
    assert threenorm().bayes_error == pytest.approx(0.5 * both.sum() * 0.025**2, abs=1e-4)
    assert np.isnan(ringnorm(4).bayes_error)
    assert twonorm(7).bayes_error == pytest.approx(0.02275, abs=1e-5)  # whatever the number of variables


def test_waveforms_density_is_the_integral_over_the_mixing_weight():
    """Ratios of chances against numerical integration, also far from all waves."""
    rng = np.random.default_rng(3)
    X = np.vstack([waveform().draw(4, rng).X, 12.0 * rng.standard_normal((2, 21))])
    t = np.arange(1, 22)
    wave = [np.maximum(6.0 - np.abs(t - peak), 0.0) for peak in (11, 15, 7)]
    for x, chance in zip(X, waveform().truth(X), strict=True):
        lowest = min(np.sum((x - u * wave[i] - (1 - u) * wave[j]) ** 2)
                     for i, j in ((0, 1), (0, 2), (1, 2)) for u in np.linspace(0, 1, 50))  # fmt: skip

        def integrand(u: float, i: int, j: int, x: NDArray[np.float64] = x, shift: float = lowest) -> float:
            return float(np.exp(-0.5 * (np.sum((x - u * wave[i] - (1 - u) * wave[j]) ** 2) - shift)))

        densities = [quad(integrand, 0, 1, args=pair, epsabs=0, limit=200)[0] for pair in ((0, 1), (0, 2), (1, 2))]
        np.testing.assert_allclose(chance, np.array(densities) / np.sum(densities), rtol=1e-7, atol=1e-12)


def test_c7_variables_are_correlated():
    X = correlated_step().draw(N, np.random.default_rng(0)).X
    correlation = np.corrcoef(X.T)[~np.eye(5, dtype=bool)]
    np.testing.assert_allclose(correlation, 0.95, atol=5 * (1 - 0.95**2) / np.sqrt(N))


def test_ones_own_truth():
    def waiting(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.exponential(size=n) - 1.0

    made = simulate_regression(
        lambda n, rng: rng.random((n, 2)), lambda X: X.sum(axis=1), noise=lambda X: X[:, 0], sample_errors=waiting
    )
    rows = made.draw(N, np.random.default_rng(0))
    np.testing.assert_array_equal(rows.noise, rows.X[:, 0] ** 2)
    rest = (rows.y - rows.truth) / rows.X[:, 0]
    assert rest.min() >= -1.0 - 1e-9
    assert abs(rest.mean()) < 5 / np.sqrt(N)
    assert np.isnan(made.bayes_error)
    die = simulate_classification(lambda n, rng: np.zeros((n, 1)), lambda X: np.tile([0.5, 0.3, 0.2], (len(X), 1)))
    counts = np.bincount(die.draw(N, np.random.default_rng(0)).y) / N
    np.testing.assert_allclose(counts, [0.5, 0.3, 0.2], atol=5 * np.sqrt(0.25 / N))


def test_the_seed_decides_and_too_few_variables_are_rejected():
    first, again, other = (curve().draw(5, np.random.default_rng(seed)).y for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.all(first != other)
    with pytest.raises(ValueError, match="at least 5"):
        friedman1(4)
