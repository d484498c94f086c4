"""The slope of calibrated probabilities against a search, and at its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss

from committee.calibration.slope import fit_slope


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_slope_minimises_the_smoothed_log_loss(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    values = rng.normal(size=(60, n_classes))
    codes = np.where(rng.random(60) < 0.6, values.argmax(axis=1), rng.integers(n_classes, size=60))
    weight = rng.random(60) * 2.0
    total = np.bincount(codes, weight, n_classes)

    def loss(slope: float) -> float:
        logs = slope * values - np.log(np.exp(slope * values).sum(axis=1, keepdims=True))
        target = np.array([[(total[c] + 1.0 if k == c else 1.0) / (total[c] + n_classes) for k in range(n_classes)]
                           for c in codes])  # fmt: skip
        return -float(weight @ (target * logs).sum(axis=1))

    best = minimize_scalar(loss, bounds=(1e-3, 20.0), method="bounded", options={"xatol": 1e-9}).x
    slope, mean_loss = fit_slope(values, codes, weight)
    assert slope == pytest.approx(best, rel=1e-5)
    share = np.exp(slope * values) / np.exp(slope * values).sum(axis=1, keepdims=True)
    assert mean_loss == pytest.approx(log_loss(codes, share, sample_weight=weight, labels=range(n_classes)))


def test_separated_values_have_a_finite_slope_and_opposite_ones_a_small_one() -> None:
    codes = np.array([0, 0, 1, 1])
    apart = np.array([[0.0, -1.0], [0.0, -2.0], [0.0, 1.0], [0.0, 2.0]])
    assert 0.5 < fit_slope(apart, codes, np.ones(4))[0] < 10.0
    assert 0.0 < fit_slope(apart, 1 - codes, np.ones(4))[0] < 1e-2
    assert fit_slope(0.0 * apart, codes, np.ones(4)) == (1.0, pytest.approx(np.log(2.0)))
