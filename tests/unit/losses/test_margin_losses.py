"""Margin losses: their derivatives, their links, and what is refused as a loss of one's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from committee.losses.classification import MARGIN_LOSSES
from committee.losses.custom import MarginFunctions, central_difference, margin_loss
from committee.losses.loss import USER, Loss

NAMES = sorted(MARGIN_LOSSES)
MARGINS = np.concatenate([np.linspace(-6.0, 6.0, 77), [-20.0, 20.0]])  # the hinge's kink m = 1 is not among them

FORMULAS = {
    "exponential": lambda m: math.exp(-m),
    "logistic": lambda m: math.log1p(math.exp(-2.0 * m)),
    "squared_hinge": lambda m: max(0.0, 1.0 - m) ** 2,
    "savage": lambda m: 1.0 / (1.0 + math.exp(2.0 * m)) ** 2,
    "tangent": lambda m: (2.0 * math.atan(m) - 1.0) ** 2,
}


def own_exponential(m: float) -> float:
    return math.exp(-m)


def own_exponential_derivative(m: float) -> float:
    return -math.exp(-m)


def test_every_loss_has_its_formula_here():
    assert set(FORMULAS) == set(MARGIN_LOSSES)
    assert all(loss.name == name for name, loss in MARGIN_LOSSES.items())


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_formula(name):
    expected = [FORMULAS[name](m) for m in MARGINS]
    assert np.allclose(MARGIN_LOSSES[name].value(MARGINS), expected, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_values(name):
    loss, h = MARGIN_LOSSES[name], 1e-5
    numeric = (loss.value(MARGINS + h) - loss.value(MARGINS - h)) / (2.0 * h)
    scale = np.abs(loss.value(MARGINS)) + np.abs(loss.derivative(MARGINS))
    # The difference errs by h^2 / 6 of the third derivative, up to 100 times the scale, and by eps / h of the value.
    assert np.all(np.abs(loss.derivative(MARGINS) - numeric) <= 1e-8 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_every_loss_falls_at_zero_and_is_finite_far_out(name):
    loss = MARGIN_LOSSES[name]
    assert loss.derivative(np.zeros(1))[0] < 0.0
    far = np.array([-300.0, 300.0])
    assert np.isfinite(loss.value(far)).all()
    assert np.isfinite(loss.derivative(far)).all()


def test_at_its_minimum_the_tangent_loss_has_slope_zero_exactly():
    near = np.nextafter(math.tan(0.5), [0.0, 1.0])
    assert MARGIN_LOSSES["tangent"].derivative(near).tolist() == [0.0, 0.0]


def test_only_the_exponential_loss_is_shift_free():
    m = np.linspace(-1.0, 2.0, 7)
    for loss in MARGIN_LOSSES.values():
        ratio = loss.derivative(m + 0.7) / np.where(loss.derivative(m) == 0.0, np.nan, loss.derivative(m))
        is_constant = bool(np.ptp(ratio[np.isfinite(ratio)]) < 1e-12)
        assert is_constant == loss.is_shift_free, loss.name


def test_the_pull_of_a_shift_free_loss_does_not_underflow():
    pull = MARGIN_LOSSES["exponential"].pull(np.array([2000.0, 2001.0]))
    assert pull == pytest.approx([1.0, math.exp(-1.0)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [0.1, 0.35, 0.5, 0.8])
def test_the_link_gives_back_the_probability_whose_risk_f_minimises(name, p):
    loss = MARGIN_LOSSES[name]

    def risk(f: float) -> float:
        return float(p * loss.value(np.array([f]))[0] + (1.0 - p) * loss.value(np.array([-f]))[0])

    best = minimize_scalar(risk, bounds=(-3.0, 3.0), method="bounded", options={"xatol": 1e-10})
    # A minimum of a risk of order one can be located to the square root of eps only.
    assert loss.probability(np.array([best.x]))[0] == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("name", ["exponential", "logistic", "savage"])
def test_three_losses_share_the_link_of_half_log_odds(name):
    f = np.linspace(-30.0, 30.0, 61)
    assert np.allclose(MARGIN_LOSSES[name].probability(f), 1.0 / (1.0 + np.exp(-2.0 * f)), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_stay_in_their_range_and_rise(name):
    f = np.concatenate([[-1e300, -1e4], np.linspace(-50.0, 50.0, 401), [1e4, 1e300]])
    p = MARGIN_LOSSES[name].probability(f)
    assert p[0] == pytest.approx(0.0, abs=1e-100)
    assert p[-1] == 1.0
    assert p[f == 0.0] == 0.5
    assert np.all(np.diff(p) >= 0.0)
    assert np.allclose(p + p[::-1], 1.0, rtol=0.0, atol=1e-15)


def test_a_loss_that_is_flat_on_both_sides_predicts_by_the_sign():
    functions = MarginFunctions(lambda m: np.clip(1.0 - m, 0.0, 2.0), lambda m: -1.0 * (np.abs(m) < 1.0))
    cut = Loss("cut", USER, target="sign", link="ratio", functions=functions)
    assert cut.probability(np.array([-5.0, 0.0, 5.0])).tolist() == [0.0, 0.5, 1.0]


# --- the user's own ---------------------------------------------------------------------------------------------------


def test_an_own_loss_is_compiled_and_its_derivative_measured():
    loss, known = margin_loss(own_exponential), MARGIN_LOSSES["exponential"]
    assert loss.name == "own_exponential"
    assert np.allclose(loss.value(MARGINS), known.value(MARGINS), rtol=1e-14, atol=0.0)
    # Rounding: eps * |m| / h relative, with h = 6e-6 max(1, |m|): 4e-11; truncation h^2 / 6 with h = 1.2e-4: 2.4e-9.
    assert np.allclose(loss.derivative(MARGINS), known.derivative(MARGINS), rtol=5e-9, atol=0.0)


def test_an_own_derivative_is_used():
    loss = margin_loss(own_exponential, own_exponential_derivative)
    assert np.allclose(loss.derivative(MARGINS), -np.exp(-MARGINS), rtol=1e-14, atol=0.0)


def test_margins_need_not_be_contiguous():
    m = np.linspace(-1.0, 1.0, 10)[::3]
    assert np.allclose(margin_loss(own_exponential).value(m), np.exp(-m), rtol=1e-14, atol=0.0)


def test_where_a_loss_is_flat_its_measured_derivative_is_zero():
    flat = central_difference(lambda m: 1.0 + 1e-17 * m)
    assert flat(np.array([-3.0, 0.0, 3.0])).tolist() == [0.0, 0.0, 0.0]


def increases(m: float) -> float:
    return math.exp(m)


def is_constant(m: float) -> float:
    return 1.0


def has_a_pole(m: float) -> float:
    return 1.0 / (m + 1.0)


def has_its_top_at_zero(m: float) -> float:
    return 1.0 - m * m


def increases_behind_zero(m: float) -> float:
    return (m - 0.01) ** 2


@pytest.mark.parametrize("function", [increases, is_constant, has_its_top_at_zero, increases_behind_zero])
def test_what_does_not_fall_around_zero_is_no_margin_loss(function):
    with pytest.raises(ValueError, match=r"not a margin loss.* decrease"):
        margin_loss(function)


def test_what_is_not_finite_is_no_margin_loss():
    with pytest.raises(ValueError, match="not a margin loss: its value at margin -1 is not finite"):
        margin_loss(has_a_pole)


def test_a_derivative_that_is_not_one_is_rejected():
    with pytest.raises(ValueError, match="loss_derivative is not the derivative of 'own_exponential'"):
        margin_loss(own_exponential, own_exponential)  # the sign is wrong, and so it rises


def half_the_derivative(m: float) -> float:
    return -0.5 * math.exp(-m)


def test_a_derivative_of_the_wrong_size_is_rejected():
    with pytest.raises(ValueError, match=r"at margin -0.93 it gives -1.26.*the loss changes by -2.53"):
        margin_loss(own_exponential, half_the_derivative)


def test_a_named_loss_takes_no_derivative():
    with pytest.raises(ValueError, match="leave loss_derivative at None"):
        margin_loss("savage", own_exponential_derivative)
