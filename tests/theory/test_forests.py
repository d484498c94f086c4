"""Strength, correlation, variance and uncertainty of ensembles: identities, and simulations whose answer is known."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import entropy

from committee.theory.forests import (
    regression_uncertainty,
    strength_and_correlation,
    uncertainty,
    variance_of_average,
    variance_over_training_sets,
)

Floats = NDArray[np.float64]

# --- Breiman's bound -------------------------------------------------------------------------------------------------


def simulated_votes(seed: int, n_members: int, n_classes: int, accuracy: float) -> tuple[Any, Any]:
    """Members that are right with a probability that differs from row to row, so that their errors are correlated."""
    rng = np.random.default_rng(seed)
    n = 400
    y = rng.integers(0, n_classes, n)
    p = np.clip(accuracy + 0.2 * rng.normal(size=n), 0.0, 1.0)
    wrong = (y + rng.integers(1, n_classes, (n_members, n))) % n_classes
    return np.where(rng.random((n_members, n)) < p, y, wrong), y


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("accuracy", [0.3, 0.5, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("n_members", [1, 2, 5, 40])
def test_the_bound_holds_for_every_vote(n_classes: int, accuracy: float, n_members: int) -> None:
    """Exactly, for the rows at hand, when all members vote on all rows: error <= Chebyshev <= bound."""
    for seed in range(3):
        votes, y = simulated_votes(seed, n_members, n_classes, accuracy)
        result = strength_and_correlation(votes, y)
        assert result.is_vacuous == (result.bound >= 1.0)
        assert any(word in result.note for word in ("vacuous", "nothing")) == result.is_vacuous
        if result.strength <= 0.0:
            assert result.bound == np.inf
            continue
        assert result.error <= result.chebyshev_bound + 1e-9
        assert result.chebyshev_bound <= result.bound + 1e-9


def test_the_error_is_that_of_the_vote() -> None:
    votes, y = simulated_votes(0, 25, 3, 0.6)
    counts = np.array([np.bincount(column, minlength=3) for column in votes.T])
    own = counts[np.arange(y.size), y]
    counts[np.arange(y.size), y] = -1
    assert strength_and_correlation(votes, y).error == np.mean(own <= counts.max(axis=1))


def test_correlation_is_the_mean_over_pairs_of_members() -> None:
    """rho of Breiman: covariances of the raw margins, over the product of deviations, pair by pair."""
    votes, y = simulated_votes(1, 12, 3, 0.7)
    shares = np.array([np.bincount(column, minlength=3) for column in votes.T]) / 12.0
    shares[np.arange(y.size), y] = -1.0
    raw = (votes == y).astype(float) - (votes == shares.argmax(axis=1))
    pairs = list(itertools.product(range(12), repeat=2))  # with itself as well: two independent draws of a member
    covariance = np.mean([np.cov(raw[[a, b]], ddof=0)[0, 1] for a, b in pairs])
    deviation = np.mean([raw[a].std() * raw[b].std() for a, b in pairs])
    result = strength_and_correlation(votes, y)
    assert result.strength == pytest.approx(raw.mean(), abs=1e-9)
    assert result.margin_variance == pytest.approx(covariance, abs=1e-9)
    assert result.correlation == pytest.approx(covariance / deviation, abs=1e-9)


def test_out_of_bag_votes_estimate_the_same() -> None:
    """A third of 600 votes on every row: strength as it is, correlation a little above."""
    votes, y = simulated_votes(2, 600, 2, 0.75)
    in_bag = np.random.default_rng(3).random(votes.shape) < 0.632
    whole, result = strength_and_correlation(votes, y), strength_and_correlation(np.where(in_bag, -1, votes), y)
    assert result.strength == pytest.approx(whole.strength, abs=0.01)
    assert whole.correlation < result.correlation < whole.correlation + 0.02
    assert result.n_rows == y.size


def test_rows_and_members_without_a_vote_are_left_out() -> None:
    votes, y = simulated_votes(4, 9, 3, 0.7)
    more = np.vstack([votes, np.full((1, y.size), -1)])
    more = np.hstack([more, np.full((10, 5), -1)])
    assert strength_and_correlation(more, np.append(y, np.zeros(5, int))) == strength_and_correlation(votes, y)


def test_members_that_are_always_right() -> None:
    y = np.array([0, 1, 1])
    result = strength_and_correlation(np.tile(y, (4, 1)), y)
    assert (result.strength, result.correlation, result.bound, result.error) == (1.0, 0.0, 0.0, 0.0)


def test_no_better_than_chance_promises_nothing() -> None:
    y = np.array([0, 1, 0, 1])
    result = strength_and_correlation(np.tile(1 - y, (4, 1)), y)
    assert result.is_vacuous
    assert "no better than chance" in result.note


@pytest.mark.parametrize(
    ("votes", "y", "text"),
    [
        (np.zeros(3, int), np.zeros(3, int), r"class codes \[members, n\]"),
        (np.zeros((2, 3), int), np.zeros(2, int), r"shapes \(2, 3\) and \(2,\)"),
        (np.zeros((2, 3)), np.zeros(3, int), "float64"),
        (np.full((2, 3), -1), np.zeros(3, int), "at least one vote"),
        (np.full((2, 3), -2), np.zeros(3, int), "class codes >= 0"),
        (np.zeros((2, 3), int), np.full(3, -1), "class codes >= 0"),
    ],
)
def test_bad_votes_are_rejected(votes: Any, y: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        strength_and_correlation(votes, y)


# --- variance of an average ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_members", [2, 3, 10])
def test_the_decomposition_is_an_identity(n_members: int) -> None:
    rng = np.random.default_rng(n_members)
    predictions, y = rng.normal(size=(n_members, 60)) + rng.normal(size=60), rng.normal(size=60)
    result = variance_of_average(predictions, y)
    assert result.of_average == pytest.approx(np.mean((predictions.mean(axis=0) - y) ** 2), abs=1e-9)
    assert result.variance == pytest.approx(np.mean((predictions - y) ** 2), abs=1e-9)
    assert result.removable == pytest.approx(np.mean(predictions.var(axis=0, ddof=1)), abs=1e-9)
    assert result.shared + result.removable == pytest.approx(result.variance, abs=1e-9)
    assert result.correlation * result.variance == pytest.approx(result.shared, abs=1e-9)
    assert result.with_members(n_members) == result.of_average
    without = variance_of_average(predictions)
    assert without.of_average == pytest.approx(predictions.mean(axis=0).var(), abs=1e-9)
    assert without.shared == pytest.approx(
        np.mean([np.cov(predictions[[a, b]], ddof=0)[0, 1] for a, b in itertools.combinations(range(n_members), 2)]),
        abs=1e-9,
    )


@pytest.mark.parametrize(("rho", "variance"), [(0.0, 1.0), (0.3, 4.0), (0.9, 0.25)])
@pytest.mark.parametrize("out_of_bag", [False, True])
def test_known_correlation_and_variance_are_found(rho: float, variance: float, out_of_bag: bool) -> None:
    """Gaussian errors sqrt(rho) z + sqrt(1 - rho) z_t about y; 20,000 rows: standard errors below 0.02 of s^2."""
    rng = np.random.default_rng(0)
    n, n_members = 20000, 15
    y = rng.normal(size=n)
    error = np.sqrt(rho) * rng.normal(size=n) + np.sqrt(1.0 - rho) * rng.normal(size=(n_members, n))
    predictions = y + np.sqrt(variance) * error
    if out_of_bag:
        predictions[rng.random(predictions.shape) < 0.632] = np.nan
    result = variance_of_average(predictions, y)
    assert result.variance == pytest.approx(variance, rel=0.03)
    assert result.correlation == pytest.approx(rho, abs=0.03)
    assert result.of_average == pytest.approx(rho * variance + (1.0 - rho) * variance / n_members, rel=0.05)
    assert result.gain_left == pytest.approx((1.0 - rho) * variance / n_members, rel=0.05)


def test_rows_with_fewer_than_two_predictions_are_left_out() -> None:
    predictions = np.array([[1.0, 2.0, np.nan, np.nan], [2.0, 5.0, 9.0, np.nan]])
    y = np.zeros(4)
    assert variance_of_average(predictions, y) == variance_of_average(predictions[:, :2], y[:2])
    with pytest.raises(ValueError, match="No row has predictions of two members"):
        variance_of_average(predictions[:, 2:], y[2:])


def test_the_note_shows_whether_more_would_help() -> None:
    same = np.tile(np.arange(4.0), (3, 1))
    assert "would remove another 0 (0 %)" in variance_of_average(same, np.zeros(4)).note
    assert "nothing is left" in variance_of_average(same, np.arange(4.0)).note
    assert np.isnan(variance_of_average(same, np.arange(4.0)).correlation)


@pytest.mark.parametrize(("rho", "variance"), [(0.2, 1.0), (0.7, 4.0)])
def test_over_training_sets_the_textbook_formula_is_found(rho: float, variance: float) -> None:
    """What the members of one set share is drawn anew for every set; 400 sets of 5 members on 30 rows."""
    rng = np.random.default_rng(1)
    shared = np.sqrt(rho * variance) * rng.normal(size=(400, 1, 30))
    predictions = 7.0 + shared + np.sqrt((1.0 - rho) * variance) * rng.normal(size=(400, 5, 30))
    result = variance_over_training_sets(predictions)
    assert result.variance == pytest.approx(variance, rel=0.05)
    assert result.correlation == pytest.approx(rho, abs=0.03)
    assert result.of_average == pytest.approx(np.mean(predictions.mean(axis=1).var(axis=0, ddof=1)), abs=1e-9)


def test_one_training_set_shows_the_removable_part_alone() -> None:
    """The members of one of many sets: the same (1 - rho) s^2, another rho."""
    rng = np.random.default_rng(2)
    shared = rng.normal(size=(200, 1, 50))
    predictions = shared + 0.5 * rng.normal(size=(200, 6, 50))
    over_sets = variance_over_training_sets(predictions)
    one_set = [variance_of_average(of_set).removable for of_set in predictions]
    assert np.mean(one_set) == pytest.approx(over_sets.removable, rel=0.05)


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (3, 1, 4), (3, 3, 0)])
def test_training_sets_need_members(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="two sets and two members"):
        variance_over_training_sets(np.zeros(shape))


def test_bad_predictions_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"\[members, n\]"):
        variance_of_average(np.zeros(3))
    with pytest.raises(ValueError, match="finite or nan"):
        variance_of_average(np.full((2, 3), np.inf))
    with pytest.raises(ValueError, match="one finite number per row"):
        variance_of_average(np.zeros((2, 3)), np.zeros(2))


# --- uncertainty -----------------------------------------------------------------------------------------------------


def test_entropies_are_those_of_scipy() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(4, 0.3), (6, 30))
    result = uncertainty(p)
    np.testing.assert_allclose(result.total, entropy(p.mean(axis=0), axis=1), atol=1e-9)
    np.testing.assert_allclose(result.aleatoric, entropy(p, axis=2).mean(axis=0), atol=1e-9)
    information = np.mean([entropy(member, p.mean(axis=0), axis=1) for member in p], axis=0)
    np.testing.assert_allclose(result.epistemic, information, atol=1e-9)


def test_members_that_agree_leave_no_epistemic_part() -> None:
    p = np.tile(np.random.default_rng(0).dirichlet(np.ones(3), 20), (5, 1, 1))
    np.testing.assert_allclose(uncertainty(p).epistemic, 0.0, atol=1e-9)


def test_out_of_bag_members_do_not_count() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), (4, 3))
    holed = np.concatenate([p, np.full((1, 3, 3), np.nan)])
    holed[:, 2] = np.nan
    for result, expected in zip(uncertainty(holed), uncertainty(p), strict=True):
        np.testing.assert_allclose(result[:2], expected[:2], atol=1e-12)
        assert np.isnan(result[2])
    means, variances = rng.normal(size=(4, 3)), rng.exponential(size=(4, 3))
    holed = np.vstack([means, np.full((1, 3), np.nan)])
    for result, expected in zip(
        regression_uncertainty(holed, np.vstack([variances, np.ones((1, 3))])),
        regression_uncertainty(means, variances),
        strict=True,
    ):
        np.testing.assert_allclose(result, expected, atol=1e-12)


def test_the_law_of_total_variance() -> None:
    """Against draws from the mixture itself; 200,000 draws: standard error below 1 %."""
    rng = np.random.default_rng(0)
    means, variances = np.array([[0.0], [2.0], [5.0]]), np.array([[1.0], [0.5], [3.0]])
    member = rng.integers(0, 3, 200000)
    draws = means[member, 0] + np.sqrt(variances[member, 0]) * rng.normal(size=member.size)
    result = regression_uncertainty(means, variances)
    assert result.total[0] == pytest.approx(draws.var(), rel=0.02)
    assert result.epistemic[0] == pytest.approx(means.var(), abs=1e-9)
    np.testing.assert_array_equal(regression_uncertainty(means).aleatoric, [0.0])


def test_bad_distributions_are_rejected() -> None:
    with pytest.raises(ValueError, match="sum to one"):
        uncertainty(np.ones((2, 3, 2)))
    with pytest.raises(ValueError, match=r"\[members, n, classes\]"):
        uncertainty(np.ones((2, 3)))
    with pytest.raises(ValueError, match="variances must be >= 0"):
        regression_uncertainty(np.ones((2, 3)), -np.ones((2, 3)))
