"""Margins and edges: hand examples, identities on random votes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.theory.margins import (
    class_margins,
    edges,
    fraction_below,
    margin_distribution,
    margins,
    minimum_margin,
)

Floats = NDArray[np.float64]

SEEDS = range(5)


def random_vote(seed: int, n: int = 40, n_hypotheses: int = 7) -> tuple[Floats, Floats, Floats]:
    """Agreement, coefficients of both signs, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    agreement = rng.uniform(-1, 1, (n, n_hypotheses))
    return agreement, rng.normal(size=n_hypotheses), rng.integers(0, 4, n) / 4


# --- margins ---------------------------------------------------------------------------------------------------------


def test_margins_by_hand() -> None:
    agreement = np.array([[1, -1], [-1, -1], [1, 1]], np.int8)
    np.testing.assert_allclose(margins(agreement, np.array([3.0, -1.0])), [1.0, -0.5, 0.5], atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_margins_are_those_of_the_loop_and_know_no_scale(seed: int) -> None:
    agreement, a, _ = random_vote(seed)
    naive = [sum(a[t] * row[t] for t in range(a.size)) / sum(abs(a)) for row in agreement]
    np.testing.assert_allclose(margins(agreement, a), naive, atol=1e-12)
    np.testing.assert_allclose(margins(agreement, 17.0 * a), naive, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_turning_a_hypothesis_and_its_coefficient_round_changes_nothing(seed: int) -> None:
    agreement, a, _ = random_vote(seed)
    sign = np.sign(a)
    np.testing.assert_allclose(margins(agreement * sign, a * sign), margins(agreement, a), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_class_margins_of_two_classes_are_margins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agreement, a = rng.choice([-1, 1], (30, 6)), rng.random(6)
    y = rng.integers(0, 2, 30)
    right, wrong = (agreement == 1) @ a, (agreement == -1) @ a
    votes = np.where(y[:, None] == [0, 1], right[:, None], wrong[:, None])
    np.testing.assert_allclose(class_margins(votes, y), margins(agreement, a), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_class_margins_are_those_of_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes, y = rng.random((25, 4)), rng.integers(0, 4, 25)
    naive = [(v[c] - max(np.delete(v, c))) / sum(v) for v, c in zip(votes, y, strict=True)]
    np.testing.assert_allclose(class_margins(votes, y), naive, atol=1e-12)


# --- their distribution ----------------------------------------------------------------------------------------------


def test_distribution_by_hand() -> None:
    result = margin_distribution(np.array([0.2, -0.4, 0.2, 1.0]), np.array([1, 2, 3, 2]))
    np.testing.assert_array_equal(result.value, [-0.4, 0.2, 1.0])
    np.testing.assert_allclose(result.fraction, [0.25, 0.75, 1.0], atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_and_fraction_below_agree(seed: int) -> None:
    agreement, a, w = random_vote(seed)
    m = np.round(margins(agreement, a), 1)  # with ties
    result = margin_distribution(m, w)
    assert np.all(np.diff(result.value) > 0)
    assert result.value.size < m.size
    assert result.fraction[-1] == 1.0
    np.testing.assert_allclose([fraction_below(m, theta, w) for theta in result.value], result.fraction, atol=1e-12)
    between = (result.value[:-1] + result.value[1:]) / 2
    np.testing.assert_allclose([fraction_below(m, theta, w) for theta in between], result.fraction[:-1], atol=1e-12)


def test_share_counts_a_margin_at_theta_and_weights() -> None:
    m = np.array([-0.5, 0.0, 0.25, 0.5])
    assert fraction_below(m, 0.0) == 0.5
    assert fraction_below(m, np.nextafter(0.0, -1.0)) == 0.25
    assert fraction_below(m, 0.0, np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.3, abs=1e-15)
    assert fraction_below(m, 0.0, np.array([0, 0, 1, 1])) == 0.0


def test_minimum_margin() -> None:
    assert minimum_margin(np.array([0.3, -0.7, 0.9])) == -0.7


# --- edges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_edge_is_one_minus_twice_the_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agreement, w = rng.choice([-1, 1], (30, 5)), rng.random(30)
    error = (agreement == -1).T @ w / w.sum()
    np.testing.assert_allclose(edges(agreement, w), 1 - 2 * error, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_with_the_weights_of_each_round(seed: int) -> None:
    agreement = random_vote(seed)[0]
    w = np.random.default_rng(seed).random(agreement.shape)
    naive = [edges(agreement[:, [t]], w[:, t])[0] for t in range(w.shape[1])]
    np.testing.assert_allclose(edges(agreement, w), naive, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_margin_is_mean_edge(seed: int) -> None:
    """Sum over i and t in either order: the identity behind the duality."""
    agreement, a, w = random_vote(seed)
    by_rows = np.average(margins(agreement, a), weights=w)
    by_columns = edges(agreement, w) @ a / np.abs(a).sum()
    assert by_rows == pytest.approx(by_columns, abs=1e-12)


# --- refusals --------------------------------------------------------------------------------------------------------

AGREEMENT = np.array([[1.0, -1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (margins, (AGREEMENT, np.zeros(2)), "not all zero"),
        (margins, (AGREEMENT, np.array([1.0, np.inf])), "finite"),
        (margins, (AGREEMENT, np.ones(3)), "one per column"),
        (margins, (2 * AGREEMENT, np.ones(2)), r"in \[-1, 1\]"),
        (margins, (np.full((2, 2), np.nan), np.ones(2)), r"in \[-1, 1\]"),
        (margins, (np.ones(2), np.ones(2)), r"\[n, T\]"),
        (class_margins, (np.zeros((2, 3)), np.array([0, 1])), "without a vote"),
        (class_margins, (np.array([[2.0, -1.0]]), np.array([0])), ">= 0"),
        (class_margins, (np.ones((2, 3)), np.array([0, 3])), "class code"),
        (class_margins, (np.ones((2, 3)), np.array([0])), "class code"),
        (minimum_margin, (np.array([]),), "per example"),
        (fraction_below, (np.array([0.1, np.nan]), 0.0), "none missing"),
        (fraction_below, (np.array([0.1, 0.2]), 0.0, np.array([-1.0, 2.0])), "weight"),
        (margin_distribution, (np.array([0.1, 0.2]), np.ones(3)), "weight"),
        (edges, (AGREEMENT, np.ones(3)), "shape"),
        (edges, (AGREEMENT, np.zeros(2)), "not all zero"),
        (edges, (AGREEMENT, np.array([-1.0, 2.0])), ">= 0"),
    ],
)
def test_what_is_rejected(call: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(*arguments)
