"""Every loss as an object: derivatives by differences, starts, links, targets, and the bound on its curvature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from committee.kernels.boosting import derivatives as d
from committee.losses.classification import CLASSIFICATION_LOSSES, LOG_LOSS, MARGIN_LOSSES
from committee.losses.custom import as_loss, margin_loss, user_loss
from committee.losses.derivatives import Derivatives, mean_loss
from committee.losses.loss import NO_WEIGHTS, USER, Loss
from committee.losses.minimizers import residual_location, start_score
from committee.losses.regression import REGRESSION_LOSSES, at_scores


def log_cosh(y: float, score: float) -> float:
    return math.log(math.cosh(y - score))


def log_cosh_gradient(y: float, score: float) -> float:
    return math.tanh(score - y)


def log_cosh_hessian(y: float, score: float) -> float:
    return 1.0 - math.tanh(score - y) ** 2


NAMED = REGRESSION_LOSSES | CLASSIFICATION_LOSSES
LOSSES = NAMED | {
    "user, value": user_loss(log_cosh, "identity"),
    "user, derivatives": user_loss((log_cosh, log_cosh_gradient, log_cosh_hessian), "identity"),
    "quantile 0.9": NAMED["quantile"]._replace(parameter=0.9),
    "expectile 0.1": NAMED["expectile"]._replace(parameter=0.1),
    "tweedie 1.9": NAMED["tweedie"]._replace(parameter=1.9),
}


def allowed_targets(loss: Loss) -> NDArray[np.float64]:
    targets = {"zero_one": [0.0, 1.0], "sign": [-1.0, 1.0], "non_negative": [0.0, 1.0, 4.0], "positive": [0.3, 2.0]}
    return np.array(targets.get(loss.target, [-2.0, 0.1, 1.5]))


def rows_of(loss: Loss) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All pairs of some targets and scores, clear of kinks."""
    y, score = np.meshgrid(allowed_targets(loss), np.linspace(-2.93, 2.71, 23))
    return y.ravel(), score.ravel()


def losses_by_row(loss: Loss, y: NDArray[np.float64], score: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([mean_loss(loss, y[i : i + 1], score[i : i + 1], NO_WEIGHTS) for i in range(y.size)])


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    loss, e = LOSSES[name], 1e-5
    y, score = rows_of(loss)
    derivatives = Derivatives((loss,), y, NO_WEIGHTS, False)
    derivatives.update(score[np.newaxis])
    numeric = (losses_by_row(loss, y, score - e) - losses_by_row(loss, y, score + e)) / (2.0 * e)
    # A difference errs by e^2 / 6 of the third derivative, and by eps / e of the value.
    np.testing.assert_allclose(derivatives.g[0], numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.leaf == "newton"])
def test_hessians_are_differences_of_the_gradient(name: str) -> None:
    loss, e = LOSSES[name], 1e-5
    y, score = rows_of(loss)
    one, left, right = (Derivatives((loss,), y, NO_WEIGHTS, False) for _ in range(3))
    for derivatives, shift in ((one, 0.0), (left, -e), (right, e)):
        derivatives.update(score[np.newaxis] + shift)
    numeric = np.maximum((left.g[0] - right.g[0]) / (2.0 * e), 0.0)  # Savage and tangent are cut at zero
    tolerance = 1e-3 if name == "user, value" else 1e-5  # differences of differences
    np.testing.assert_allclose(one.h[0], numeric, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.curvature_bound > 0.0])
def test_third_derivatives_stay_within_the_curvature_bound(name: str) -> None:
    loss, e = LOSSES[name], 1e-4
    y, score = rows_of(loss)
    left, here, right = (Derivatives((loss,), y, NO_WEIGHTS, False) for _ in range(3))
    for derivatives, shift in ((left, -e), (here, 0.0), (right, e)):
        derivatives.update(score[np.newaxis] + shift)
    third = np.abs(right.h[0] - left.h[0]) / (2.0 * e)
    if name.startswith("tweedie"):
        assert loss.curvature_bound >= max(2.0 - loss.parameter, loss.parameter - 1.0)
    assert np.all(third <= loss.curvature_bound * here.h[0] * (1.0 + 1e-6) + 1e-9)


@pytest.mark.parametrize("name", ["squared_error", "poisson", "gamma", "tweedie"])
def test_predictions_at_the_start_are_the_mean(name: str) -> None:
    loss, y = NAMED[name], np.array([0.5, 1.0, 4.0])
    start = np.array([start_score(loss, y, NO_WEIGHTS)])
    assert loss.prediction(start)[0] == pytest.approx(y.mean(), rel=1e-14)


@pytest.mark.parametrize("name", CLASSIFICATION_LOSSES)
def test_probabilities_at_the_start_are_the_fraction_of_the_second_class(name: str) -> None:
    loss = CLASSIFICATION_LOSSES[name]
    y = np.repeat(allowed_targets(loss), [7, 3])
    start = np.array([start_score(loss, y, NO_WEIGHTS)])
    assert loss.probability(start)[0] == pytest.approx(0.3, abs=1e-7)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_the_link_in_closed_form_is_the_ratio_of_derivatives(name: str) -> None:
    loss, score = MARGIN_LOSSES[name], np.linspace(-3.0, 3.0, 61)
    np.testing.assert_allclose(loss.probability(score), loss._replace(link="ratio").probability(score), atol=1e-14)


@pytest.mark.parametrize("name", ["absolute_error", "quantile 0.9", "huber"])
def test_residual_locations_minimize_the_loss(name: str) -> None:
    loss, rng = LOSSES[name], np.random.default_rng(0)
    residual, weight = rng.normal(size=31), rng.exponential(size=31)
    result = residual_location(loss, residual, weight)
    best = minimize_scalar(
        lambda s: mean_loss(loss, residual, np.full(31, s), weight), bounds=(-3, 3), method="bounded"
    )
    assert mean_loss(loss, residual, np.full(31, result), weight) <= best.fun * (1.0 + 1e-9)


def test_codes_are_those_of_the_kernel_and_no_two_losses_share_one() -> None:
    assert sorted(loss.code for loss in NAMED.values()) == list(range(d.LOGISTIC + 1))
    assert all(loss.name == name for name, loss in NAMED.items())
    assert [name for name, loss in NAMED.items() if loss.is_residual_loss] == list(REGRESSION_LOSSES)[:5]
    assert [name for name, loss in NAMED.items() if loss.has_unit_hessian] == list(REGRESSION_LOSSES)[:4]


@pytest.mark.parametrize(("name", "y"), [("poisson", -1.0), ("tweedie", -0.5), ("gamma", 0.0), ("gamma", -2.0)])
def test_targets_that_a_loss_does_not_allow_raise(name: str, y: float) -> None:
    with pytest.raises(ValueError, match=f"y are not positive|y are negative.*{name}"):
        NAMED[name].check_target(np.array([1.0, y]))


@pytest.mark.parametrize("name", REGRESSION_LOSSES)
def test_positive_targets_are_allowed_by_every_regression_loss(name: str) -> None:
    NAMED[name].check_target(np.array([0.5, 3.0]))


def test_hubers_delta_is_a_quantile_of_the_absolute_residuals() -> None:
    y, score = np.arange(10.0), np.zeros((1, 10))
    loss, other = at_scores((NAMED["huber"]._replace(parameter=0.55), LOG_LOSS), y, NO_WEIGHTS, np.vstack([score] * 2))
    assert loss.parameter == 5.0
    assert other == LOG_LOSS


def test_a_name_or_functions_give_a_loss() -> None:
    assert as_loss("savage", CLASSIFICATION_LOSSES, "logistic") == CLASSIFICATION_LOSSES["savage"]
    custom = as_loss(log_cosh, REGRESSION_LOSSES, "identity")
    assert (custom.name, custom.code, custom.link, custom.leaf) == ("log_cosh", USER, "identity", "newton")
    with pytest.raises(ValueError, match=r"three functions.*got 2"):
        as_loss((log_cosh, log_cosh), REGRESSION_LOSSES, "identity")


def test_a_margin_loss_is_the_same_object_for_boosting_and_anyboost() -> None:
    assert margin_loss("tangent") is CLASSIFICATION_LOSSES["tangent"]
