"""The majority vote of K voters: the document's table, identities, limits, correlated voters by simulation."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from committee.theory.majority_vote import (
    condorcet_limit,
    fit_voter_model,
    majority_vote_error,
    majority_vote_table,
    voters_needed,
)

PRINTED = {11: 0.247, 21: 0.174, 51: 0.073, 101: 0.021, 501: 0.000003}
"""A published table: error of K voters that are right with probability 0.6."""


def test_a_published_table_to_its_printed_digits() -> None:
    errors = majority_vote_table(0.6, tuple(PRINTED)).errors[0]
    rounded = {k: round(float(error), 3 if k < 500 else 6) for k, error in zip(PRINTED, errors, strict=True)}
    assert rounded == PRINTED | {51: 0.074}
    assert f"{errors[2]:.4f}" == "0.0735"  # it is cut to 0.073 there
    np.testing.assert_allclose(majority_vote_error([1, 5, 51], 0.5), 0.5, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9, 10])
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.7, 1.0])
def test_the_error_is_the_sum_over_all_ways_to_vote(k: int, p: float) -> None:
    weight = {"half": 0.5, "wrong": 1.0, "right": 0.0}
    for ties, share in weight.items():
        lost = sum(comb(k, j) * p**j * (1 - p) ** (k - j) * (1.0 if 2 * j < k else share) for j in range(k // 2 + 1)
                   if 2 * j <= k)  # fmt: skip
        assert float(majority_vote_error(k, p, ties=ties)) == pytest.approx(lost, abs=1e-12)  # type: ignore[arg-type]


def test_one_voter_more_to_an_odd_number_changes_nothing() -> None:
    """A coin at a tie makes K = 2 m as good as 2 m - 1, with and without correlation."""
    odd = np.arange(1, 60, 2)
    for rho in (0.0, 0.15, 0.6):
        np.testing.assert_allclose(
            majority_vote_error(odd, 0.63, correlation=rho), majority_vote_error(odd + 1, 0.63, correlation=rho)
        )


def test_condorcet_both_ways_and_the_limit_with_correlation() -> None:
    many = np.array([101, 1001, 100_001])
    assert np.all(np.diff(majority_vote_error(many, 0.52)) < 0)
    assert majority_vote_error(100_001, 0.52) < 1e-30
    assert majority_vote_error(100_001, 0.48) > 1 - 1e-12
    for p in (0.3, 0.5, 0.7):
        limit = float(condorcet_limit(p, correlation=0.2))
        assert float(majority_vote_error(20_001, p, correlation=0.2)) == pytest.approx(limit, abs=1e-3)
    np.testing.assert_allclose(condorcet_limit([0.0, 0.3, 1.0], correlation=1.0), [1.0, 0.7, 0.0])
    np.testing.assert_allclose(condorcet_limit([0.0, 1.0], correlation=0.3), [1.0, 0.0])
    np.testing.assert_allclose(majority_vote_error(31, [0.0, 0.3, 1.0], correlation=1.0), [1.0, 0.7, 0.0])
    np.testing.assert_allclose(majority_vote_error(31, [0.0, 1.0], correlation=0.3), [1.0, 0.0])


def test_correlated_voters_by_simulation() -> None:
    rng = np.random.default_rng(0)
    p, rho, k, n = 0.65, 0.2, 15, 40_000
    total = 1 / rho - 1
    chance = rng.beta(p * total, (1 - p) * total, n)
    right = rng.uniform(size=(k, n)) < chance
    error = float(majority_vote_error(k, p, correlation=rho))
    simulated = np.mean(right.sum(axis=0) < k / 2)
    assert abs(simulated - error) < 4 * np.sqrt(error * (1 - error) / n)
    assert np.corrcoef(right[0], right[1])[0, 1] == pytest.approx(rho, abs=4 / np.sqrt(n))
    result = fit_voter_model(right)
    assert result.correlation == pytest.approx(rho, abs=0.01)
    assert result.correlated_error == pytest.approx(result.error, abs=0.01)
    assert result.independent_error == pytest.approx(float(majority_vote_error(k, p)), abs=0.01)
    assert result.independent_error < result.correlated_error < 1 - result.accuracy


def test_independent_and_equal_voters_are_distinguished() -> None:
    rng = np.random.default_rng(1)
    same = np.tile(rng.uniform(size=500) < 0.7, (9, 1))
    result = fit_voter_model(same)
    assert result.correlation == pytest.approx(1.0)
    assert result.error == pytest.approx(1 - result.accuracy)
    assert result.correlated_error == pytest.approx(result.error)
    assert fit_voter_model(rng.uniform(size=(9, 5000)) < 0.7).correlation < 0.01
    assert fit_voter_model(np.ones((3, 4), bool)).error == 0.0
    assert fit_voter_model(np.eye(4, dtype=bool)).correlation == 0.0  # negative by moments


@pytest.mark.parametrize(("p", "error", "rho"), [(0.6, 0.05, 0.0), (0.6, 0.3, 0.1), (0.51, 0.01, 0.0), (0.9, 0.2, 0.0)])
def test_voters_needed_is_the_smallest_odd_number(p: float, error: float, rho: float) -> None:
    k = voters_needed(p, error, correlation=rho)
    assert k is not None
    assert float(majority_vote_error(k, p, correlation=rho)) <= error
    assert k == 1 or float(majority_vote_error(k - 2, p, correlation=rho)) > error


def test_what_no_number_of_voters_reaches_and_bad_input() -> None:
    assert voters_needed(0.5, 0.4) is None
    assert voters_needed(0.6, float(condorcet_limit(0.6, correlation=0.1)), correlation=0.1) is None
    for bad in ({"n_voters": 0}, {"n_voters": 2.5}, {"accuracy": 1.2}, {"accuracy": np.nan}, {"correlation": -0.1},
                {"ties": "coin"}):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            majority_vote_error(**{"n_voters": 3, "accuracy": 0.6, **bad})
    with pytest.raises(ValueError, match=r"\[voters, n\]"):
        fit_voter_model(np.ones(3, bool))
