"""Calibrated probabilities: better log-loss on new rows, the same predictions, and stored with the model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from committee import CalibratedClassifier, LinearSVC, RandomForestClassifier
from committee.calibration.power import (
    Calibration,
    _loss_and_gradient,
    _smoothed_targets,
    calibrate,
    is_beyond_evidence,
    smoothed_log_losses,
)
from committee.storage import load_model, save_model


def made(n: int = 600, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] + rng.normal(0.0, 0.7, n), [-0.5, 0.7])]


def test_calibration_lowers_the_log_loss_of_new_rows_and_leaves_predictions():
    X, y = made()
    new, truth = made(2000, 1)
    forest = RandomForestClassifier(30, random_state=0)
    plain, model = forest.fit(X, y), CalibratedClassifier(forest).fit(X, y)
    np.testing.assert_array_equal(model.predict(new), plain.predict(new))
    before, after = (log_loss(truth, each.predict_proba(new)) for each in (plain, model))
    assert after < before
    assert after < 1.0  # pure leaves do not cost ln(1 / eps)
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


def test_a_classifier_without_probabilities_gets_them():
    X, y = made()
    new, truth = made(2000, 1)
    model = CalibratedClassifier(LinearSVC(scale=True)).fit(X, y)
    assert log_loss(truth, model.predict_proba(new)) < 0.9
    two = np.where(y == "a", "a", "b")
    model = CalibratedClassifier(LinearSVC(scale=True)).fit(X, two)
    assert log_loss(np.where(truth == "a", "a", "b"), model.predict_proba(new)) < 0.5


@pytest.mark.parametrize("prediction_only", [False, True])
def test_the_calibration_is_in_the_file(tmp_path: Path, prediction_only: bool):
    X, y = made()
    model = CalibratedClassifier(RandomForestClassifier(10, random_state=0)).fit(X, y)
    save_model(model, tmp_path / "m.committee", prediction_only=prediction_only)
    again = load_model(tmp_path / "m.committee")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.calibration_ == model.calibration_


def test_a_fitted_model_keeps_its_columns():
    X, y = made()
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    model = CalibratedClassifier.from_fitted(forest, Calibration(2.0, 0.1, 1.0, 0.9))
    assert model.n_features_in_ == 4
    mixed = (0.9 * forest.predict_proba(X) + 0.1 / 3.0) ** 2
    np.testing.assert_allclose(model.predict_proba(X), mixed / mixed.sum(axis=1, keepdims=True))


def test_weights_are_repetitions():
    X, y = made(120)
    weight = np.random.default_rng(0).integers(0, 3, 120)
    rows = np.repeat(np.arange(120), weight)
    one = CalibratedClassifier(cv=3).fit(X, y, sample_weight=weight)
    two = CalibratedClassifier(cv=3).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-3)


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    p, codes = rng.dirichlet(np.ones(4), 50).T.copy(), rng.integers(0, 4, 50)
    share, at, step = np.full(50, 0.02), np.array([0.3, -2.0]), 1e-6
    targets = _smoothed_targets(codes, np.ones(50), 4)
    gradient = _loss_and_gradient(at, p, targets, share)[1]
    for i in range(2):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        difference = _loss_and_gradient(up, p, targets, share)[0] - _loss_and_gradient(down, p, targets, share)[0]
        assert gradient[i] == pytest.approx(difference / (2.0 * step), rel=1e-5)


def test_a_few_rows_that_are_all_predicted_correctly_are_not_calibrated_to_zero_and_one():
    """As (N + 1) / (N + 2) of their class, by Platt's targets: the log-loss alone has no minimum here."""
    sure = np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    codes = np.array([0, 1] * 10)
    for probabilities in (sure, 0.98 * sure + 0.01):
        found = calibrate(probabilities, codes, np.ones(20)).apply(probabilities)
        np.testing.assert_allclose(found[np.arange(20), codes], 11.0 / 12.0, rtol=1e-4)


def test_integer_weights_are_numbers_of_rows():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 40)
    codes, weight = rng.integers(0, 3, 40), rng.integers(1, 4, 40)
    one = calibrate(p, codes, weight.astype(float))
    other = calibrate(np.repeat(p, weight, axis=0), np.repeat(codes, weight), np.ones(weight.sum()))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_calibration_never_increases_the_loss_of_smoothed_targets():
    rng = np.random.default_rng(1)
    for n in (2, 5, 30, 300):
        p, codes = rng.dirichlet(np.ones(4), n), rng.integers(0, 4, n)
        targets = _smoothed_targets(codes, np.ones(n), 4).T
        np.testing.assert_allclose(targets.sum(axis=1), 1.0)
        after = calibrate(p, codes, np.ones(n)).apply(p)
        assert -(targets * np.log(after)).sum() <= -(targets * np.log(p)).sum() * (1.0 + 1e-12)


def test_smoothed_losses_are_those_that_calibration_minimizes():
    rng = np.random.default_rng(2)
    p, codes, weight = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60), rng.integers(1, 4, 60).astype(float)
    found = calibrate(p, codes, weight)

    def loss(power: float, mixture: float) -> float:
        q = Calibration(power, mixture, 0.0, 0.0).apply(p)
        return float(np.average(smoothed_log_losses(q, codes, weight), weights=weight))

    best = loss(found.power, found.mixture)
    for change in (0.9, 1.1):
        assert loss(found.power * change, found.mixture) > best
        assert loss(found.power, found.mixture * change) >= best


def test_what_rows_can_show_counts_integer_weights_as_rows():
    p = np.array([[0.97, 0.03]] * 20)
    assert is_beyond_evidence(p, np.ones(20))
    assert is_beyond_evidence(p, np.full(20, 7.0))  # equal weights are no weights
    assert not is_beyond_evidence(p, np.append(np.full(19, 2.0), 1.0))  # 39 rows
    impossible = np.concatenate([p, [[1.0, 0.0]]])
    assert not is_beyond_evidence(impossible, np.append(np.full(20, 2.0), 0.0) + np.append(1.0, np.zeros(20)))


@pytest.mark.parametrize("seed", [10, 101, 268, 298])
def test_the_optimizer_starts_again_where_it_stopped_too_early(seed: int):
    """These ended with gradients above 0.001, and a warning, in a valley of large powers and mixtures near 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), 40)
    codes = np.where(rng.random(40) < 0.3, p.argmax(axis=1), rng.integers(0, 3, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        calibrate(p, codes, np.ones(40))
