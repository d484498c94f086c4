"""Where scores start, quantiles and locations, each against a direct minimisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from committee.base.stats import weighted_quantile
from committee.gradient_boosting.trees import packing_scale
from committee.kernels.boosting import derivatives as d
from committee.losses.classification import CLASSIFICATION_LOSSES, LOG_LOSS, MARGIN_LOSSES
from committee.losses.custom import user_loss
from committee.losses.derivatives import Derivatives, mean_loss
from committee.losses.loss import NO_WEIGHTS, Loss
from committee.losses.minimizers import exact_mean, huber_location, search_constant, start_score
from committee.losses.regression import REGRESSION_LOSSES

WEIGHTS = ("none", "whole", "fractional")
LOSSES = REGRESSION_LOSSES | CLASSIFICATION_LOSSES


def make_weight(kind: str, n: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if kind == "none":
        return NO_WEIGHTS
    return rng.integers(0, 4, n).astype(float) if kind == "whole" else rng.exponential(size=n)


def make_target(name: str, n: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.1, 0.9)
    if name == "log_loss":
        return (rng.random(n) < share).astype(float)
    if name in MARGIN_LOSSES:
        return np.where(rng.random(n) < share, 1.0, -1.0)
    if name in ("poisson", "tweedie"):
        return rng.poisson(3.0, n).astype(float)
    return rng.gamma(2.0, 1.5, n) if name == "gamma" else rng.normal(3.0, 2.0, n)


def some_losses() -> dict[str, Loss]:
    losses = dict(LOSSES)
    losses["quantile 0.9"] = LOSSES["quantile"]._replace(parameter=0.9)
    losses["expectile 0.1"] = LOSSES["expectile"]._replace(parameter=0.1)
    losses["tweedie 1.9"] = LOSSES["tweedie"]._replace(parameter=1.9)
    return losses


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", [name for name in some_losses() if name != "huber"])
def test_start_score_is_the_minimiser(name, kind):
    loss = some_losses()[name]
    for seed in range(5):
        y = make_target(name.split()[0], 80, seed)
        weight = make_weight(kind, 80, seed)
        found = start_score(loss, y, weight)

        def mean_at(s: float, y=y, weight=weight) -> float:
            return mean_loss(loss, y, np.full(y.size, s), weight)

        best = min(
            (minimize_scalar(mean_at, bounds=(low, low + 7.0), method="bounded", options={"xatol": 1e-10}) for low in
             (-14.0, -7.0, 0.0, 7.0)),
            key=lambda result: result.fun,
        )  # fmt: skip
        assert mean_at(found) <= best.fun + 1e-12 * abs(best.fun)
        if name.split()[0] not in ("absolute_error", "quantile"):  # theirs may be a whole interval
            assert found == pytest.approx(best.x, abs=1e-6)


def test_huber_starts_at_the_median():
    """Its delta is a quantile of the residuals, so before there are scores it is not known what would be minimised."""
    y = make_target("huber", 81, 0)
    assert start_score(LOSSES["huber"], y, NO_WEIGHTS) == np.median(y)


@pytest.mark.parametrize("name", ["log_loss", "exponential", "savage"])
def test_one_class_alone_starts_far_out_but_finite(name):
    for value in (-1.0, 1.0):
        y = np.full(5, value if name != "log_loss" else 0.5 + 0.5 * value)
        assert 10.0 < value * start_score(LOSSES[name], y, NO_WEIGHTS) < 30.0


@pytest.mark.parametrize("name", ["poisson", "tweedie"])
def test_only_zero_counts_start_far_below_but_finite(name):
    assert -30.0 < start_score(LOSSES[name], np.zeros(4), NO_WEIGHTS) < -20.0


@pytest.mark.parametrize("name", LOSSES)
def test_whole_weights_start_as_repetition(name):
    loss = LOSSES[name]
    for seed in range(20):
        y, weight = make_target(name, 60, seed), make_weight("whole", 60, seed)
        repeated = np.repeat(y, weight.astype(int))
        # Brent's method stops within about the root of the rounding; everything else is exact.
        near = 1e-6 if name in ("expectile", "tangent") else 0.0
        assert start_score(loss, y, weight) == pytest.approx(start_score(loss, repeated, NO_WEIGHTS), rel=0, abs=near)


@pytest.mark.slow
def test_the_start_of_an_own_loss_is_its_minimiser():
    def fourth_power(y: float, score: float) -> float:
        return (y - score) ** 4

    y, weight = make_target("own", 50, 1), make_weight("fractional", 50)
    loss = user_loss(fourth_power, "identity")
    best = minimize_scalar(lambda s: np.sum(weight * (y - s) ** 4), bounds=(-9.0, 9.0), method="bounded")
    assert start_score(loss, y, weight) == pytest.approx(best.x, abs=1e-4)
    assert search_constant(loss, np.full(3, 4.0), NO_WEIGHTS) == pytest.approx(4.0, abs=1e-3)


# --- means and quantiles ---------------------------------------------------------------------------------------------


def test_exact_mean_does_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    y = rng.normal(size=500) * 10.0 ** rng.integers(-8, 9, 500)
    weight = rng.exponential(size=500)
    for w in (NO_WEIGHTS, weight):
        order = [rng.permutation(500) for _ in range(20)]
        assert len({exact_mean(y[o], w[o] if w.size else w) for o in order}) == 1
    assert exact_mean(np.array([1e16, 1.0, -1e16]), NO_WEIGHTS) == 1.0 / 3.0
    assert exact_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0])) == 2.0


def test_exact_mean_of_whole_weights_is_that_of_repeated_rows():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y, weight = rng.normal(size=30), rng.integers(0, 8, 30)
        assert exact_mean(y, weight.astype(float)) == exact_mean(np.repeat(y, weight), NO_WEIGHTS)


def pinball(values: NDArray, weight: NDArray, q: float, s: float) -> float:
    r = values - s
    return math.fsum(weight * np.where(r > 0, q * r, (q - 1.0) * r))


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weighted_quantile_minimises_the_pinball_loss(kind):
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        values = rng.integers(-3, 4, n) * 1.0 if rng.random() < 0.5 else rng.normal(size=n)
        q = float(rng.choice([0.05, 0.25, 0.5, 0.9, 1.0 / 3.0]))
        weight = np.array([]) if kind == "none" else make_weight(kind, n, int(rng.integers(1000)))
        w = weight if weight.size else np.ones(n)
        if w.sum() == 0.0:
            continue
        best = min(pinball(values, w, q, s) for s in values[w > 0.0])  # convex, with kinks at the values
        assert pinball(values, w, q, weighted_quantile(values, weight, q)) <= best + 1e-12


def test_weighted_quantile_is_half_way_at_equality():
    values = np.array([4.0, 1.0, 3.0, 2.0])
    assert weighted_quantile(values, NO_WEIGHTS, 0.5) == 2.5
    assert weighted_quantile(values, NO_WEIGHTS, 0.75) == 3.5
    assert weighted_quantile(values, np.array([1.0, 2.0, 0.0, 1.0]), 0.5) == 1.5
    assert weighted_quantile(values, np.array([0.0, 2.0, 0.0, 2.0]), 0.5) == 1.5  # no weight, no say
    assert weighted_quantile(values, NO_WEIGHTS, 1.0) == 4.0
    assert weighted_quantile(np.array([7.0]), NO_WEIGHTS, 0.3) == 7.0


def test_whole_weights_are_repetition_for_quantiles():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values, weight = rng.normal(size=9), rng.integers(0, 4, 9)
        weight[0] = 1
        for q in (0.1, 0.5, 0.7):
            repeated = weighted_quantile(np.repeat(values, weight), NO_WEIGHTS, q)
            assert weighted_quantile(values, weight.astype(float), q) == repeated


def huber(values: NDArray, weight: NDArray, delta: float, s: float) -> float:
    r = abs(values - s)
    return float(np.sum(weight * np.where(r <= delta, r * r / 2, delta * (r - delta / 2))))


def test_huber_location_minimises_the_huber_loss():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        values = rng.standard_t(1.5, n) * 10.0 ** rng.integers(-3, 4)
        weight = rng.exponential(size=n) if rng.random() < 0.5 else np.ones(n)
        delta = float(np.quantile(abs(values), rng.random())) + 1e-12
        found = huber_location(values, weight, delta)
        assert values.min() <= found <= values.max()
        best = minimize_scalar(
            lambda s, v=values, w=weight, e=delta: huber(v, w, e, s), bounds=(values.min() - 1, values.max() + 1),
            method="bounded", options={"xatol": 1e-12},
        )  # fmt: skip
        assert huber(values, weight, delta, found) <= best.fun * (1.0 + 1e-12)
        slope = np.sum(weight * np.clip(values - found, -delta, delta))
        assert abs(slope) <= 1e-9 * delta * weight.sum()


@pytest.mark.parametrize("delta", [1e-6, 0.5, 1e6])
def test_huber_location_between_median_and_mean(delta):
    values, ones = np.array([0.0, 1.0, 10.0]), np.ones(3)
    expected = {1e-6: 1.0, 0.5: 1.0, 1e6: 11.0 / 3.0}[delta]
    assert huber_location(values, ones, delta) == pytest.approx(expected, abs=1e-6)
    assert huber_location(np.full(4, 2.5), np.ones(4), delta) == 2.5


# --- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_derivatives_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(3)
    n = 3 * d.BLOCK + 100
    y, weight, score = rng.integers(0, 2, n).astype(float), rng.exponential(size=n), rng.normal(size=(1, n))
    derivatives, alone = (Derivatives((LOG_LOSS,), y, weight, False) for _ in range(2))
    assert derivatives.update(score, threads) == alone.update(score, 1)
    np.testing.assert_array_equal(derivatives.g, alone.g)
    assert derivatives.sizes[0] == alone.sizes[0]
    assert derivatives.sizes[0] == pytest.approx(
        [(weight * abs(derivatives.g[0])).sum(), (weight * derivatives.h[0]).sum()]
    )


def test_derivatives_of_several_quantiles_adds_their_losses():
    rng = np.random.default_rng(4)
    y, score = rng.normal(size=50), rng.normal(size=(2, 50))
    losses = tuple(LOSSES["quantile"]._replace(parameter=p) for p in (0.1, 0.8))
    expected = sum(mean_loss(loss, y, score[k], NO_WEIGHTS) for k, loss in enumerate(losses))
    assert Derivatives(losses, y, NO_WEIGHTS, False).update(score) == pytest.approx(expected, rel=1e-14)


def test_derivatives_of_classes():
    rng = np.random.default_rng(5)
    y, score, weight = rng.integers(0, 3, 90), rng.normal(size=(3, 90)), rng.exponential(size=90)
    derivatives = Derivatives((LOG_LOSS,) * 3, y, weight, True)
    share = np.exp(score) / np.exp(score).sum(axis=0)
    expected = np.average(-np.log(share[y, np.arange(90)]), weights=weight)
    assert derivatives.update(score, 2) == pytest.approx(expected, rel=1e-13)
    for k in range(3):
        np.testing.assert_allclose(derivatives.g[k], (y == k) - share[k], atol=1e-14)
        np.testing.assert_allclose(derivatives.h[k], 1.5 * share[k] * (1 - share[k]), atol=1e-14)
        expected_sizes = [(weight * abs(derivatives.g[k])).sum(), (weight * derivatives.h[k]).sum()]
        assert derivatives.sizes[k] == pytest.approx(expected_sizes, rel=1e-12)


# --- packing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 7.5, 1e6, 1e15])
@pytest.mark.parametrize("n", [1, 1000, 10**7])
def test_packing_scale_uses_the_room_and_no_more(size, n):
    scale = packing_scale(size, n)
    assert math.frexp(scale)[0] == 0.5  # a power of two
    assert size * scale + n < 2**31
    assert scale == 2.0**50 or 2 * size * scale + n >= 2**31 - 2


def test_packing_scale_of_next_to_nothing():
    assert packing_scale(0.0, 5) == 1.0
    assert packing_scale(5e-324, 5) == 2.0**1000
