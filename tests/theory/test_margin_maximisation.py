"""Separable data and a learner that maximises the edge: what boosters promise about the smallest margin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from committee import AdaBoostClassifier, AdaBoostStarClassifier, ArcGVClassifier
from committee.theory.bounds import guaranteed_margin, margin_error_bound, rounds_to_zero_error, star_rounds
from committee.theory.minmax import distance_to_optimum, largest_minimum_margin, minmax_over_stumps


def separable(seed, n=60, d=6, voters=3):
    """The majority of three stumps: rho* is at least 1/3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sign(np.sign(X[:, :voters] - rng.normal(size=voters) * 0.3).sum(axis=1))
    return X, y.astype(int)


@pytest.fixture(scope="module", params=range(3))
def problem(request):
    X, y = separable(request.param)
    return X, y, minmax_over_stumps(X, y).value


def test_rho_star_is_what_three_voters_guarantee(problem):
    assert problem[2] >= 1 / 3 - 1e-9


@pytest.mark.parametrize("nu", [0.1, 0.2])
def test_adaboost_star_keeps_its_promise(problem, nu):
    X, y, rho = problem
    model = AdaBoostStarClassifier(nu=nu, n_estimators="guaranteed").fit(X, y)
    assert model.guaranteed_rounds_ == star_rounds(nu, 1 / len(y)) == math.ceil(2 * math.log(len(y)) / nu**2) + 1
    assert len(model.members_) == model.guaranteed_rounds_
    assert model.margins(X, y).min() > rho - nu
    assert np.all(model.history_.edge >= rho - 1e-9)  # the learner does maximise the edge


def test_arc_gv_comes_near_the_largest_margin(problem):
    X, y, rho = problem
    model = ArcGVClassifier(n_estimators=5000).fit(X, y)
    assert model.margins(X, y).min() >= 0.9 * rho
    assert distance_to_optimum(model.margins(X, y), rho) >= -1e-9


def test_adaboost_reaches_the_margins_its_bound_gives(problem):
    """Every edge is at least rho*: the share of margins <= 0.4 rho* is below 1/n after a known number of rounds."""
    X, y, rho = problem
    factor = float(margin_error_bound(np.array([0.5 * (1 - rho)]), 0.4 * rho)[0])
    rounds = math.floor(math.log(len(y)) / -math.log(factor)) + 1
    model = AdaBoostClassifier(n_estimators=rounds).fit(X, y)
    assert model.margins(X, y).min() > 0.4 * rho
    assert 0.4 * rho < guaranteed_margin(rho).half


def test_training_error_is_zero_when_it_must_be(problem):
    X, y, rho = problem
    rounds = rounds_to_zero_error(0.5 * rho, 1 / len(y))
    model = AdaBoostClassifier(n_estimators=rounds).fit(X, y)
    assert model.history_.train_error[-1] == 0.0
    stopped = AdaBoostClassifier(n_estimators=rounds, early_stopping="bound").fit(X, y)
    assert len(stopped.members_) <= rounds
    assert stopped.score(X, y) == 1.0


def test_linear_program_over_the_members_found(problem):
    """No coefficients of the same members have a larger smallest margin, and the dual weights prove it."""
    X, y, rho = problem
    model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    best = largest_minimum_margin(model.agreements(X, y))
    assert model.margins(X, y).min() <= best.value + 1e-9 <= rho + 2e-9
    np.testing.assert_allclose(model.edges(X, y, best.weights).max(), best.value, atol=1e-8)


def test_edge_and_margin_enclose_rho_star_on_every_round(problem):
    X, y, rho = problem
    for model in (AdaBoostClassifier(n_estimators=200), ArcGVClassifier(n_estimators=200)):
        history = model.fit(X, y).history_
        assert np.all(np.minimum.accumulate(history.edge) >= rho - 1e-9)
        assert np.all(history.min_margin <= rho + 1e-9)


def test_early_stopping_on_the_gap(problem):
    X, y, rho = problem
    model = ArcGVClassifier(n_estimators=5000, early_stopping="margin", tol=0.05).fit(X, y)
    assert len(model.members_) < 5000
    assert model.margins(X, y).min() >= rho - 0.05 - 1e-9
