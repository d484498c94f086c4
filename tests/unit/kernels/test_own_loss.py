"""A user's loss of (y, score): derivatives by differences, given ones as they are, errors that say what is wrong."""

from __future__ import annotations

import functools
import math

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from committee.kernels.boosting.derivatives import BLOCK
from committee.kernels.boosting.user_functions import UserLoss
from tests.losses import poisson, poisson_gradient, poisson_hessian

NO_WEIGHTS = np.empty(0)


def log_cosh(y: float, score: float) -> float:
    r = abs(y - score)
    return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)


def log_cosh_gradient(y: float, score: float) -> float:
    return -math.tanh(y - score)


def log_cosh_hessian(y: float, score: float) -> float:
    return 1.0 - math.tanh(y - score) ** 2


def wave(y: float, score: float) -> float:
    return math.cos(y - score)


def wave_gradient(y: float, score: float) -> float:
    return math.sin(y - score)


def wave_hessian(y: float, score: float) -> float:
    return -math.cos(y - score)


TRIPLES = [
    (log_cosh, log_cosh_gradient, log_cosh_hessian),
    (poisson, poisson_gradient, poisson_hessian),
    (wave, wave_gradient, wave_hessian),
]
by_name = functools.partial(pytest.mark.parametrize, "triple", TRIPLES, ids=lambda t: t[0].__name__)


def filled(loss: UserLoss, y: NDArray, score: NDArray, weight: NDArray = NO_WEIGHTS) -> tuple[NDArray, ...]:
    g, h = np.full(y.size, np.nan), np.full(y.size, np.nan)
    sums = np.full((-(-y.size // BLOCK), 3), np.nan)
    values = np.full(y.size, np.nan)
    loss.values(y, score, values)
    loss.fill(y, score, values, weight, g, h, sums)
    return g, h, sums


def data(n: int) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(0)
    return rng.poisson(2.0, n).astype(float), rng.uniform(-3.0, 3.0, n)


@by_name()
def test_differences_of_the_value_are_the_derivatives(triple):
    y, score = data(500)
    g, h, sums = filled(UserLoss(triple[0], None, None), y, score)
    np.testing.assert_allclose(g, [-triple[1](*pair) for pair in zip(y, score, strict=True)], atol=1e-5)
    bend = [max(triple[2](*pair), 0.0) for pair in zip(y, score, strict=True)]
    np.testing.assert_allclose(h, bend, atol=1e-5)
    assert sums[0, 0] == pytest.approx(sum(triple[0](*pair) for pair in zip(y, score, strict=True)), rel=1e-12)


@by_name()
def test_given_derivatives_are_taken_as_they_are(triple):
    y, score = data(500)
    g, h, _ = filled(UserLoss(*triple), y, score)
    # libm and LLVM may differ in a last bit
    np.testing.assert_allclose(g, [-triple[1](*pair) for pair in zip(y, score, strict=True)], rtol=1e-14, atol=1e-15)
    bend = [max(triple[2](*pair), 0.0) for pair in zip(y, score, strict=True)]
    np.testing.assert_allclose(h, bend, rtol=1e-14, atol=1e-15)


def test_given_derivatives_fill_exactly():
    def value(y: float, score: float) -> float:
        return 3.0 * score

    def gradient(y: float, score: float) -> float:
        return y - 2.0 * score

    def hessian(y: float, score: float) -> float:
        return score

    y, score = data(100)
    g, h, sums = filled(UserLoss(value, gradient, hessian), y, score)
    np.testing.assert_array_equal(g, -(y - 2.0 * score))
    np.testing.assert_array_equal(h, np.maximum(score, 0.0))  # boosting needs curvature from zero up
    assert sums[0, 0] == pytest.approx(3.0 * score.sum())


@pytest.mark.parametrize("n", [1, BLOCK, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_sums_by_blocks(n, is_weighted):
    y, score = data(n)
    weight = np.random.default_rng(1).exponential(size=n) if is_weighted else NO_WEIGHTS
    g, h, sums = filled(UserLoss(*TRIPLES[0]), y, score, weight)
    w = weight if is_weighted else np.ones(n)
    value = abs(y - score) + np.log1p(np.exp(-2.0 * abs(y - score))) - np.log(2.0)
    for block, result in enumerate(sums):
        rows = slice(block * BLOCK, (block + 1) * BLOCK)
        np.testing.assert_allclose(result, [(w * x)[rows].sum() for x in (value, abs(g), h)], rtol=1e-12)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_total_of_some_rows_at_a_step(is_weighted):
    y, score = data(50)
    weight = np.random.default_rng(1).exponential(size=50) if is_weighted else NO_WEIGHTS
    rows = np.array([3, 3, 17, 49], np.uint32)
    w = weight if is_weighted else np.ones(50)
    expected = sum(w[i] * poisson(y[i], score[i] + 0.25) for i in rows)
    assert UserLoss(*TRIPLES[1]).total(y, score, weight, rows, 0.25) == pytest.approx(expected, rel=1e-13)
    assert UserLoss(poisson, None, None).total(y, score, weight, rows[:0], 0.25) == 0.0


def test_the_step_grows_with_the_score():
    """A step of 1e-4 would drown in the rounding of scores of a million."""

    def square(y: float, score: float) -> float:
        return 0.5 * (y - score) ** 2

    y, score = np.array([1e6, -1e6]), np.array([1e6 + 300.0, -1e6 - 300.0])
    g, h, _ = filled(UserLoss(square, None, None), y, score)
    np.testing.assert_allclose(g, [-300.0, 300.0], rtol=1e-5)
    np.testing.assert_allclose(h, 1.0, rtol=1e-5)


def test_the_name_and_the_loops_are_those_of_the_function():
    loss = UserLoss(log_cosh, None, None)
    assert loss.name == "log_cosh"
    assert UserLoss(log_cosh, None, None)._fill is loss._fill  # compiled once
    assert UserLoss(*TRIPLES[0])._fill is not loss._fill


def test_a_compiled_function_is_taken_as_it_is():
    @numba.njit
    def linear(y: float, score: float) -> float:
        return 2.0 * score - y

    g, _, _ = filled(UserLoss(linear, None, None), *data(5))
    np.testing.assert_allclose(g, -2.0, atol=1e-9)


def takes_one(y: float) -> float:
    return y


def returns_text(y: float, score: float) -> str:
    return str(y)


def returns_nothing(y: float, score: float) -> None:
    y + score


def asks_for_a_method(y, score):
    return (y - score).clip(0.0, 1.0).mean()


@pytest.mark.parametrize("function", [takes_one, returns_text, returns_nothing, asks_for_a_method])
def test_what_numba_cannot_compile_is_rejected_with_advice(function):
    with pytest.raises(ValueError, match=rf"numba cannot compile '{function.__name__}'.*two floats \(y, score\)"):
        UserLoss(function, None, None)


def test_a_derivative_that_numba_cannot_compile_is_rejected_too():
    with pytest.raises(ValueError, match="numba cannot compile 'log_cosh' and its derivatives"):
        UserLoss(log_cosh, returns_text, log_cosh_hessian)


@pytest.mark.parametrize("thing", [math.hypot, np.hypot, 3.0, "log_cosh"])
def test_what_is_not_a_plain_function_is_rejected_with_advice(thing):
    with pytest.raises(ValueError, match=r"not a plain Python function of \(y, score\): wrap it"):
        UserLoss(thing, None, None)
    with pytest.raises(ValueError, match=r"not a plain Python function of \(y, score\): wrap it"):
        UserLoss(log_cosh, thing, log_cosh_hessian)


@pytest.mark.parametrize("pair", [(log_cosh_gradient, None), (None, log_cosh_hessian)])
def test_one_derivative_alone_is_rejected(pair):
    with pytest.raises(ValueError, match="a function, or three"):
        UserLoss(log_cosh, *pair)
