"""Where scores start, quantiles and locations, each against a direct minimisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from committee.gradient_boosting._trees import huber_location, packing_scale
from committee.kernels.boosting import derivatives as d
from committee.kernels.boosting.user_functions import OwnLoss
from committee.losses.gradient import (
    HEADS,
    NO_WEIGHTS,
    Head,
    Slope,
    exact_mean,
    mean_loss,
    smallest_constant,
    start_score,
    weighted_quantile,
)

WEIGHTS = ("none", "whole", "fractional")
SIGNS = ("exponential", "squared_hinge", "savage", "tangent")


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
    if name in SIGNS:
        return np.where(rng.random(n) < share, 1.0, -1.0)
    if name in ("poisson", "tweedie"):
        return rng.poisson(3.0, n).astype(float)
    return rng.gamma(2.0, 1.5, n) if name == "gamma" else rng.normal(3.0, 2.0, n)


def some_heads() -> dict[str, Head]:
    heads = dict(HEADS)
    heads["quantile 0.9"] = HEADS["quantile"]._replace(p=0.9)
    heads["expectile 0.1"] = HEADS["expectile"]._replace(p=0.1)
    heads["tweedie 1.9"] = HEADS["tweedie"]._replace(p=1.9)
    return heads


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", [name for name in some_heads() if name != "huber"])
def test_start_score_is_the_minimiser(name, kind):
    head = some_heads()[name]
    for seed in range(5):
        y = make_target(name.split()[0], 80, seed)
        weight = make_weight(kind, 80, seed)
        found = start_score(head, y, weight)

        def loss(s: float, y=y, weight=weight) -> float:
            return mean_loss(head, y, np.full(y.size, s), weight)

        best = min(
            (minimize_scalar(loss, bounds=(low, low + 7.0), method="bounded", options={"xatol": 1e-10}) for low in
             (-14.0, -7.0, 0.0, 7.0)),
            key=lambda result: result.fun,
        )  # fmt: skip
        assert loss(found) <= best.fun + 1e-12 * abs(best.fun)
        if name.split()[0] not in ("absolute_error", "quantile"):  # theirs may be a whole interval
            assert found == pytest.approx(best.x, abs=1e-6)


def test_huber_starts_at_the_median():
    """Its bend is a quantile of the residuals, so before there are scores it is not known what would be minimised."""
    y = make_target("huber", 81, 0)
    assert start_score(HEADS["huber"], y, NO_WEIGHTS) == np.median(y)


@pytest.mark.parametrize("name", ["log_loss", "exponential", "savage"])
def test_one_class_alone_starts_far_out_but_finite(name):
    for value in (-1.0, 1.0):
        y = np.full(5, value if name != "log_loss" else 0.5 + 0.5 * value)
        assert 10.0 < value * start_score(HEADS[name], y, NO_WEIGHTS) < 30.0


@pytest.mark.parametrize("name", ["poisson", "tweedie"])
def test_only_zero_counts_start_far_below_but_finite(name):
    assert -30.0 < start_score(HEADS[name], np.zeros(4), NO_WEIGHTS) < -20.0


@pytest.mark.parametrize("name", HEADS)
def test_whole_weights_start_as_repetition(name):
    head = HEADS[name]
    for seed in range(20):
        y, weight = make_target(name, 60, seed), make_weight("whole", 60, seed)
        repeated = np.repeat(y, weight.astype(int))
        # Brent's method stops within about the root of the rounding; everything else is exact.
        near = 1e-6 if name in ("expectile", "tangent") else 0.0
        assert start_score(head, y, weight) == pytest.approx(start_score(head, repeated, NO_WEIGHTS), rel=0, abs=near)


def test_the_start_of_an_own_loss_is_its_minimiser():
    def fourth_power(y: float, score: float) -> float:
        return (y - score) ** 4

    y, weight = make_target("own", 50, 1), make_weight("fractional", 50)
    head = Head(-1, own=OwnLoss(fourth_power, None, None))
    best = minimize_scalar(lambda s: np.sum(weight * (y - s) ** 4), bounds=(-9.0, 9.0), method="bounded")
    assert start_score(head, y, weight) == pytest.approx(best.x, abs=1e-4)
    assert smallest_constant(head, np.full(3, 4.0), NO_WEIGHTS) == pytest.approx(4.0, abs=1e-3)


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


# --- slopes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_slope_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(3)
    n = 3 * d.BLOCK + 100
    y, weight, score = rng.integers(0, 2, n).astype(float), rng.exponential(size=n), rng.normal(size=(1, n))
    slope, alone = (Slope((HEADS["log_loss"],), y, weight, False) for _ in range(2))
    assert slope.update(score, threads) == alone.update(score, 1)
    np.testing.assert_array_equal(slope.g, alone.g)
    assert slope.sizes[0] == alone.sizes[0]
    assert slope.sizes[0] == pytest.approx([(weight * abs(slope.g[0])).sum(), (weight * slope.h[0]).sum()])


def test_slope_of_several_quantiles_adds_their_losses():
    rng = np.random.default_rng(4)
    y, score = rng.normal(size=50), rng.normal(size=(2, 50))
    heads = tuple(HEADS["quantile"]._replace(p=p) for p in (0.1, 0.8))
    expected = sum(mean_loss(head, y, score[k], NO_WEIGHTS) for k, head in enumerate(heads))
    assert Slope(heads, y, NO_WEIGHTS, False).update(score) == pytest.approx(expected, rel=1e-14)


def test_slope_of_classes():
    rng = np.random.default_rng(5)
    y, score, weight = rng.integers(0, 3, 90), rng.normal(size=(3, 90)), rng.exponential(size=90)
    slope = Slope((HEADS["log_loss"],) * 3, y, weight, True)
    share = np.exp(score) / np.exp(score).sum(axis=0)
    expected = np.average(-np.log(share[y, np.arange(90)]), weights=weight)
    assert slope.update(score, 2) == pytest.approx(expected, rel=1e-13)
    for k in range(3):
        np.testing.assert_allclose(slope.g[k], (y == k) - share[k], atol=1e-14)
        np.testing.assert_allclose(slope.h[k], 1.5 * share[k] * (1 - share[k]), atol=1e-14)
        expected_sizes = [(weight * abs(slope.g[k])).sum(), (weight * slope.h[k]).sum()]
        assert slope.sizes[k] == pytest.approx(expected_sizes, rel=1e-12)


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
