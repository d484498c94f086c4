"""The user's own functions as compiled loops."""

from __future__ import annotations

import math
import threading
from math import exp

import numba
import numpy as np
import pytest

from committee.kernels.boosting.user_functions import compile_elementwise

SCALE = 3.0


def bump(x: float) -> float:
    if x < 0.0:
        return math.exp(x)
    return SCALE / (1.0 + x * x)


def test_a_compiled_loop_gives_what_the_function_gives():
    values = np.linspace(-3.0, 3.0, 101)
    out = np.empty(101)
    compile_elementwise(bump)(values, out)
    assert np.allclose(out, [bump(x) for x in values], rtol=1e-15, atol=0.0)  # libm and LLVM may differ in a last bit


def test_an_empty_array_is_filled_with_nothing():
    out = np.empty(0)
    compile_elementwise(bump)(np.empty(0), out)
    assert out.size == 0


def test_division_by_zero_is_infinite_as_in_numpy():
    def inverse(x: float) -> float:
        return 1.0 / x

    out = np.empty(2)
    compile_elementwise(inverse)(np.array([0.0, -0.0]), out)
    assert out.tolist() == [np.inf, -np.inf]


def test_the_same_function_is_compiled_once():
    assert compile_elementwise(bump) is compile_elementwise(bump)


def test_two_functions_of_the_same_name_are_two():
    def make(factor: float):
        def scaled(x: float) -> float:
            return factor * x

        return scaled

    out = np.empty((2, 1))
    for row, factor in zip(out, (2.0, 5.0), strict=True):
        compile_elementwise(make(factor))(np.ones(1), row)
    assert out.ravel().tolist() == [2.0, 5.0]


def test_a_function_that_is_compiled_already_is_taken_as_it_is():
    @numba.njit
    def twice(x: float) -> float:
        return 2.0 * x

    out = np.empty(1)
    compile_elementwise(twice)(np.array([4.0]), out)
    assert out[0] == 8.0


def test_integers_become_floats():
    def sign(x: float) -> int:
        return 1 if x > 0 else -1

    out = np.empty(2)
    compile_elementwise(sign)(np.array([-2.0, 2.0]), out)
    assert out.tolist() == [-1.0, 1.0]


def returns_nothing(x: float) -> None:
    x + 1.0


def returns_text(x: float) -> str:
    return str(x)


def asks_for_a_method(x):
    return x.clip(0.0, 1.0).mean()


def knows_no_name(x: float) -> float:
    return x + there_is_no_such_name  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [returns_nothing, returns_text, asks_for_a_method, knows_no_name])
def test_what_numba_cannot_compile_is_rejected_with_advice(function):
    with pytest.raises(
        ValueError, match=rf"numba cannot compile '{function.__name__}'.*use only arithmetic.*Numba says"
    ):
        compile_elementwise(function)


@pytest.mark.parametrize("thing", [math.exp, np.exp, 3.0])
def test_what_is_not_a_plain_function_is_rejected_with_advice(thing):
    with pytest.raises(ValueError, match="not a plain Python function: wrap it"):
        compile_elementwise(thing)


def test_threads_may_share_a_loop():
    loop = compile_elementwise(bump)
    values = np.linspace(-3.0, 3.0, 10_000)
    outs = np.empty((4, values.size))
    threads = [threading.Thread(target=loop, args=(values, out)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outs == outs[0]).all()
    assert outs[0, -1] == pytest.approx(0.3)


def exp_of(x: float) -> float:
    return math.exp(x)


def imported_exp(x: float) -> float:
    return exp(x)


def log_of(x: float) -> float:
    return np.log(x)


def log2_of(x: float) -> float:
    return math.log(x, 2.0)


def log1p_of(x: float) -> float:
    return math.log1p(x)


ENDS = [0.0, 1.0, -1.0, -2.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 709.78, 709.8, -708.5, -744.0, -746.0, 1e300]


@pytest.mark.parametrize(
    ("function", "reference"),
    [(exp_of, np.exp), (imported_exp, np.exp), (log_of, np.log), (log2_of, np.log2), (log1p_of, np.log1p)],
    ids=["exp", "imported exp", "log", "log2", "log1p"],
)
def test_the_engine_s_own_exp_and_log_are_those_of_the_c_library(function, reference):
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.uniform(-700.0, 700.0, 5_000), rng.normal(size=5_000), 1.0 + 1e-9 * rng.normal(size=100), ENDS]
    )
    out = np.empty_like(x)
    compile_elementwise(function)(x, out)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, reference(x), rtol=8e-16, atol=5e-324)


def test_a_function_s_own_names_stay_its_own():
    """Only `math`, NumPy and what was imported from them is exchanged."""
    out = np.empty(1)
    factor = 3.0

    def own(x: float) -> float:
        return factor * x

    compile_elementwise(own)(np.array([2.0]), out)
    assert out[0] == 6.0
