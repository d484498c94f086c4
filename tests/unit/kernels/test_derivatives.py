"""Losses of gradient boosting: values against NumPy, derivatives against differences of the values.

The formulas run in long double, so that a difference over a small step still has ten right digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.kernels.boosting import derivatives as d
from committee.kernels.exp_log import exp, log_1_to_2, nearest

Long = NDArray[np.longdouble]
NO_WEIGHTS = np.empty(0)
WEIGHTS = ("none", "whole", "fractional")


class Loss(NamedTuple):
    """A loss as its module docstring writes it; kinks(y, p) are scores where a derivative jumps."""

    code: int
    p: float
    value: Callable[[Long, Long, float], Long]
    target: str = "any"
    kinks: Callable[[NDArray, float], list[NDArray]] = lambda y, p: []
    hessian: str = "exact"  # or "one" where it is replaced, "cut" where it is cut at zero


def pinball(y: Long, s: Long, p: float) -> Long:
    return np.where(y > s, p * (y - s), (p - 1.0) * (y - s))


def huber(y: Long, s: Long, p: float) -> Long:
    r = abs(y - s)
    return np.where(r <= p, r * r / 2, p * (r - p / 2))


LOSSES = {
    "squared": Loss(d.SQUARED, 0.0, lambda y, s, p: (y - s) ** 2 / 2),
    "absolute": Loss(d.ABSOLUTE, 0.5, lambda y, s, p: abs(y - s), "any", lambda y, p: [y], "one"),
    "huber": Loss(d.HUBER, 1.3, huber, "any", lambda y, p: [y - p, y + p], "one"),
    "quantile": Loss(d.QUANTILE, 0.2, pinball, "any", lambda y, p: [y], "one"),
    "expectile": Loss(
        d.EXPECTILE, 0.2, lambda y, s, p: np.where(y > s, p, 1.0 - p) * (y - s) ** 2, "any", lambda y, p: [y]
    ),
    "log_loss": Loss(d.LOG_LOSS, 0.0, lambda y, s, p: np.logaddexp(np.longdouble(0), s) - y * s, "class"),
    "exponential": Loss(d.EXPONENTIAL, 0.0, lambda y, s, p: np.exp(-y * s), "sign"),
    "poisson": Loss(d.POISSON, 0.0, lambda y, s, p: np.exp(s) - y * s, "count"),
    "gamma": Loss(d.GAMMA, 0.0, lambda y, s, p: s + y * np.exp(-s), "positive"),
    "tweedie": Loss(
        d.TWEEDIE, 1.4, lambda y, s, p: np.exp((2 - p) * s) / (2 - p) - y * np.exp((1 - p) * s) / (1 - p), "count"
    ),
    "squared_hinge": Loss(
        d.SQUARED_HINGE, 0.0, lambda y, s, p: np.maximum(0, 1 - y * s) ** 2, "sign", lambda y, p: [y]
    ),
    "savage": Loss(d.SAVAGE, 0.0, lambda y, s, p: (1 + np.exp(2 * y * s)) ** -2, "sign", hessian="cut"),
    "logistic": Loss(d.LOGISTIC, 0.0, lambda y, s, p: np.logaddexp(np.longdouble(0), -2 * y * s), "sign"),
    "tangent": Loss(d.TANGENT, 0.0, lambda y, s, p: (2 * np.arctan(y * s) - 1) ** 2, "sign", hessian="cut"),
}


def data(loss: Loss, n: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Targets, and scores in [-30, 30] that keep clear of the kinks."""
    rng = np.random.default_rng(seed)
    y = {
        "any": rng.normal(0.0, 5.0, n),
        "class": rng.integers(0, 2, n).astype(float),
        "sign": 2.0 * rng.integers(0, 2, n) - 1.0,
        "count": rng.poisson(2.0, n).astype(float),
        "positive": rng.gamma(2.0, 3.0, n),
    }[loss.target]
    score = np.where(rng.random(n) < 0.5, rng.uniform(-30.0, 30.0, n), rng.normal(0.0, 1.5, n))
    score[:2] = [-30.0, 30.0]
    for kink in loss.kinks(y, loss.p):
        score = np.where(abs(score - kink) < 1e-2, kink + 1e-2, score)
    return y, score


def make_weight(kind: str, n: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(5)
    return {
        "none": NO_WEIGHTS,
        "whole": rng.integers(0, 4, n).astype(float),
        "fractional": rng.exponential(1.0, n),
    }[kind]


def differentiate(loss: Loss, y: NDArray, score: NDArray, weight: NDArray = NO_WEIGHTS, ranges=None):
    """g, h and block sums; all blocks at once, or those of `ranges` one call after the other."""
    n_blocks = -(-y.size // d.BLOCK)
    g, h, sums = np.full(y.size, np.nan), np.full(y.size, np.nan), np.full((n_blocks, 3), np.nan)
    for blocks in ranges or [(0, n_blocks)]:
        scratch = np.full((2, d.BLOCK), np.nan)
        d.differentiate(loss.code, loss.p, y, score, weight, blocks, d.Derivative(g, h, sums), scratch)
    return g, h, sums


def test_every_code_is_checked():
    assert sorted(loss.code for loss in LOSSES.values()) == list(range(d.LOGISTIC + 1))


@pytest.mark.parametrize("name", LOSSES)
def test_value_of_every_row(name):
    loss = LOSSES[name]
    y, score = data(loss, 300)
    expected = loss.value(y.astype(np.longdouble), score.astype(np.longdouble), loss.p).astype(float)
    unit = np.ones(1)
    for weight in (NO_WEIGHTS, unit):  # the log-loss goes two ways
        value = [differentiate(loss, y[i : i + 1], score[i : i + 1], weight)[2][0, 0] for i in range(y.size)]
        # The log-loss of a fitted row is a difference of numbers near one; exponents differ by the rounding of y * s.
        np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_hessian_are_differences_of_the_value(name):
    loss = LOSSES[name]
    y, score = data(loss, 2000)
    g, h, _ = differentiate(loss, y, score)
    long_y, s = y.astype(np.longdouble), score.astype(np.longdouble)

    def around(e: np.longdouble) -> list[Long]:
        return [loss.value(long_y, s + k * e, loss.p) for k in (-1, 0, 1)]

    small, large = np.longdouble(1e-5), np.longdouble(1e-4)
    below, here, above = around(small)
    slope = ((below - above) / (2 * small)).astype(float)
    assert (abs(g - slope) <= 1e-6 * abs(slope) + 1e-9).all()
    below, here, above = around(large)
    bend = ((above - 2 * here + below) / large**2).astype(float)
    if loss.hessian == "one":
        assert (h == 1.0).all()
    else:
        bend = np.maximum(bend, 0.0) if loss.hessian == "cut" else bend
        assert (abs(h - bend) <= 1e-6 * abs(bend) + 1e-7).all()  # the difference itself errs by e^2 L'''' / 12
        assert (h >= 0.0).all()


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "log_loss"])
def test_evaluate_gives_each_row_what_differentiate_sums(name):
    loss = LOSSES[name]
    y, score = data(loss, 40)
    value, g, h = np.empty((3, 40))
    d.evaluate(loss.code, loss.p, y, score, value, g, h)
    expected = differentiate(loss, y, score)
    np.testing.assert_array_equal(g, expected[0])
    np.testing.assert_array_equal(h, expected[1])
    assert value.sum() == pytest.approx(expected[2][0, 0], rel=1e-12)


def test_small_derivatives_of_the_log_loss_are_relatively_right():
    """The rows a boosted model is sure of still tell which leaf they belong to."""
    score = np.linspace(-30.0, 30.0, 500)
    for y in (np.zeros(500), np.ones(500)):
        g, h, _ = differentiate(LOSSES["log_loss"], y, score)
        e = np.exp(score.astype(np.longdouble))
        np.testing.assert_allclose(h, (e / (1 + e) ** 2).astype(float), rtol=1e-14)
        expected = 1 / (1 + e) if y[0] == 1.0 else -e / (1 + e)
        np.testing.assert_allclose(g, expected.astype(float), rtol=1e-14, atol=2e-16)


@pytest.mark.parametrize("name", ["absolute", "quantile", "huber", "expectile", "squared"])
def test_no_slope_at_the_target(name):
    y = np.array([2.5])
    g, _, sums = differentiate(LOSSES[name], y, y)
    assert g[0] == 0.0
    assert sums[0, 0] == 0.0


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("n", [1, 3, d.BLOCK, 2 * d.BLOCK + 515])
def test_block_sums(name, kind, n):
    loss = LOSSES[name]
    y, score = data(loss, max(n, 2))
    y, score = y[:n], np.clip(score[:n], -6.0, 6.0)
    weight = make_weight(kind, n)
    g, h, sums = differentiate(loss, y, score, weight)
    w = weight if weight.size else np.ones(n)
    value = loss.value(y.astype(np.longdouble), score.astype(np.longdouble), loss.p).astype(float)
    for block in range(len(sums)):
        rows = slice(block * d.BLOCK, (block + 1) * d.BLOCK)
        expected = [(w * x)[rows].sum() for x in (value, abs(g), h)]
        np.testing.assert_allclose(sums[block], expected, rtol=1e-12, atol=1e-12)


def test_blocks_do_not_depend_on_who_takes_them():
    loss = LOSSES["log_loss"]
    y, score = data(loss, 3 * d.BLOCK + 7)
    weight = make_weight("fractional", y.size)
    whole = differentiate(loss, y, score, weight)
    parts = differentiate(loss, y, score, weight, [(2, 4), (0, 1), (1, 2)])
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a, b)


# --- softmax ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (50, 3), (d.BLOCK + 33, 7)])
def test_softmax(n, n_classes, kind):
    rng = np.random.default_rng(n)
    score = rng.uniform(-30.0, 30.0, (n_classes, n))
    y = rng.integers(0, n_classes, n)
    weight = make_weight(kind, n)
    factor = n_classes / (n_classes - 1.0)
    n_blocks = -(-n // d.BLOCK)
    g, h, sums = np.empty((n_classes, n)), np.empty((n_classes, n)), np.empty((n_blocks, 1 + 2 * n_classes))
    for block in reversed(range(n_blocks)):
        out, scratch = d.Derivative(g, h, sums), np.empty((2, d.BLOCK))
        d.softmax_derivatives(y, score, weight, factor, (block, block + 1), out, scratch)
    long = score.astype(np.longdouble)

    def value(s: Long) -> Long:
        return np.log(np.exp(s).sum(axis=0)) - s[y, np.arange(n)]

    w = weight if weight.size else np.ones(n)
    e = np.longdouble(1e-4)
    for k in range(n_classes):
        move = np.zeros((n_classes, 1), np.longdouble)
        move[k] = e
        above, here, below = value(long + move), value(long), value(long - move)
        np.testing.assert_allclose(g[k], ((below - above) / (2 * e)).astype(float), rtol=1e-6, atol=1e-9)
        bend = factor * ((above - 2 * here + below) / e**2).astype(float)
        np.testing.assert_allclose(h[k], bend, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(g.sum(axis=0), 0.0, atol=1e-14)
    for block in range(n_blocks):
        rows = slice(block * d.BLOCK, (block + 1) * d.BLOCK)
        losses = (w * value(long).astype(float))[rows].sum()
        by_class = [(w * x)[rows].sum() for k in range(n_classes) for x in (abs(g[k]), h[k])]
        np.testing.assert_allclose(sums[block], [losses, *by_class], rtol=1e-12, atol=1e-12)


# --- quantise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHTS)
def test_quantise(kind):
    rng = np.random.default_rng(2)
    n = 1001
    g, h, weight = rng.normal(size=n), rng.exponential(size=n), make_weight(kind, n)
    g[:4], h[:4] = [0.5 / 2**18, 1.5 / 2**18, -0.5 / 2**18, -1.5 / 2**18], [0.5 / 2**16, 1.5 / 2**16, 0.0, 0.0]  # ties
    amounts = np.empty(n, np.int64)
    d.quantise(g, h, weight, kind == "whole", 2.0**18, 2.0**16, amounts)
    w = weight if weight.size else np.ones(n)
    if kind == "fractional":
        expected = np.rint(g * w * 2**18), np.maximum(np.rint(h * w * 2**16), 1.0)
    else:
        expected = w * np.rint(g * 2**18), w * np.maximum(np.rint(h * 2**16), 1.0)
    low = amounts & 0xFFFFFFFF
    np.testing.assert_array_equal(low, expected[1])
    np.testing.assert_array_equal((amounts - low) >> 32, expected[0])


# --- exp, log, nearest -----------------------------------------------------------------------------------------------


def relative_error(result: NDArray, expected: Long) -> float:
    return float(np.max(abs(result.astype(np.longdouble) - expected) / expected))


def test_exp(callable_part):
    one = callable_part(exp)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-700.0, 700.0, 20_000), rng.normal(0.0, 1.0, 20_000), [0.0, -0.0, 700.0, -700.0]])
    x = np.concatenate([x, np.arange(-50, 51) * np.log(2.0), (np.arange(-50, 51) + 0.5) * np.log(2.0)])  # piece ends
    result = np.array([one(v) for v in x])
    assert relative_error(result, np.exp(x.astype(np.longdouble))) < 2e-15
    assert [one(v) for v in (0.0, -0.0, 1e-300, -5e-324)] == [1.0] * 4


def test_exp_is_cut(callable_part):
    one = callable_part(exp)
    for x in (700.5, 1e6, 1e308, np.inf):
        assert one(x) == one(700.0) < np.inf
        assert one(-x) == one(-700.0) > 0.0


def test_log_1_to_2(callable_part):
    one = callable_part(log_1_to_2)
    root = np.sqrt(2.0)
    ends = [1.0 + 2.0**-52, 1.0 + 1e-12, np.nextafter(root, 1.0), root, np.nextafter(root, 2.0), 2.0 - 2.0**-52, 2.0]
    x = np.concatenate([np.random.default_rng(0).uniform(1.0, 2.0, 20_000)[1:], 1.0 + 0.5 ** np.arange(1, 52), ends])
    x = x[x > 1.0]
    result = np.array([one(v) for v in x])
    assert relative_error(result, np.log(x.astype(np.longdouble))) < 2e-15
    assert one(1.0) == 0.0


def test_nearest_is_rint(callable_part):
    one = callable_part(nearest)
    x = np.random.default_rng(0).normal(0.0, 1e9, 2000)
    x = np.concatenate([x, np.arange(-20, 21) / 2.0, [0.0, -0.0, 2.0**51 - 1.0, -(2.0**51) + 1.0, 2.0**31 + 0.5]])
    np.testing.assert_array_equal([one(v) for v in x], np.rint(x))
