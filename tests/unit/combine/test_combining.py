"""The combining rules against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from committee.base.stats import weighted_quantile
from committee.combine.rules import class_votes, majority_vote, mean, mean_distribution, weighted_median

RNG = np.random.default_rng(0)


def test_votes_are_those_of_a_plain_loop() -> None:
    codes, weight = RNG.integers(-1, 4, (7, 50)), RNG.exponential(size=7)
    votes = class_votes(codes, 4, weight)
    for i in range(50):
        for k in range(4):
            assert votes[i, k] == pytest.approx(sum(weight[t] for t in range(7) if codes[t, i] == k), abs=1e-12)


def test_a_tied_vote_goes_to_the_smaller_code() -> None:
    codes = np.array([[2, 1, 0, -1], [1, 1, 2, -1], [0, 0, 2, 1], [1, 0, 0, -1]])
    np.testing.assert_array_equal(majority_vote(codes, 3), [1, 0, 0, 1])
    np.testing.assert_array_equal(majority_vote(codes[:2], 3), [1, 1, 0, -1])  # nobody votes on the last row


def test_weights_decide_a_vote() -> None:
    codes = np.array([[0], [1], [1]])
    assert majority_vote(codes, 2)[0] == 1
    assert majority_vote(codes, 2, np.array([3.0, 1.0, 1.0]))[0] == 0


def test_means_are_those_of_numpy() -> None:
    predictions, weight = RNG.normal(size=(7, 50)), RNG.exponential(size=7)
    np.testing.assert_allclose(mean(predictions), predictions.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mean(predictions, weight), np.average(predictions, axis=0, weights=weight), atol=1e-12)


def test_the_mean_distribution_sums_to_one() -> None:
    p = RNG.dirichlet(np.ones(3), (7, 50))
    result = mean_distribution(p, np.arange(7.0))
    np.testing.assert_allclose(result, np.average(p, axis=0, weights=np.arange(7.0)), atol=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), 1.0, atol=1e-15)


@given(
    arrays(np.float64, (6, 4), elements=st.integers(-3, 3).map(float)),
    arrays(np.float64, 6, elements=st.integers(0, 3).map(float)),
)
def test_the_weighted_median_is_the_weighted_quantile_of_every_row(predictions: np.ndarray, weight: np.ndarray) -> None:
    if not weight.any():
        return
    kept = weight > 0.0
    expected = [weighted_quantile(column[kept], weight[kept], 0.5) for column in predictions.T]
    np.testing.assert_array_equal(weighted_median(predictions, weight), expected)


def test_the_median_without_weights_is_that_of_numpy() -> None:
    for n_members in (1, 2, 7, 8):
        predictions = RNG.normal(size=(n_members, 50))
        np.testing.assert_allclose(weighted_median(predictions), np.median(predictions, axis=0), rtol=1e-15)


def test_a_whole_weight_is_a_repeated_member() -> None:
    predictions, weight = RNG.normal(size=(5, 50)), np.array([1, 3, 2, 0, 2])
    repeated = np.repeat(predictions, weight, axis=0)
    for rule in (mean, weighted_median):
        np.testing.assert_allclose(rule(predictions, weight.astype(np.float64)), rule(repeated), rtol=1e-12)


def test_rounding_decides_no_tie() -> None:
    weight = np.array([0.1, 0.7, 0.8])
    assert 0.1 + 0.7 < 0.5 * weight.sum()  # in floats; on paper they are equal
    predictions = np.array([[1.0], [2.0], [4.0]])
    assert weighted_median(predictions, weight)[0] == 3.0
    assert weighted_median(predictions, weight, half_way=False)[0] == 2.0


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (np.ones(2), "pass one for each member"),
        (np.zeros(3), "not all zero"),
        (np.array([1.0, -1.0, 1.0]), ">= 0"),
        (np.array([1.0, np.nan, 1.0]), "finite"),
        (np.array([1.0, np.inf, 1.0]), "finite"),
    ],
)
def test_bad_weights_are_rejected(weight: np.ndarray, text: str) -> None:
    for rule in (mean, weighted_median):
        with pytest.raises(ValueError, match=text):
            rule(np.ones((3, 2)), weight)
