"""The bounds: their numbers, the identities between them, and that a naive AdaBoost keeps what they promise."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.theory.bounds import (
    boosted_vc_dimension,
    guaranteed_margin,
    majority_of_three_bound,
    margin_bound,
    margin_edge_bound,
    margin_error_bound,
    rounds_to_zero_error,
    star_rounds,
    stump_vc_dimension,
    training_error_bounds,
    tree_vc_dimension,
    vc_bound,
)
from committee.theory.margins import edges, fraction_below, margins, minimum_margin
from committee.theory.minmax import all_stumps, minmax_over_stumps

Floats = NDArray[np.float64]

EXACT = 1e-9
SEEDS = range(4)


class Run(NamedTuple):
    agreement: Floats  # [n, T], of the hypotheses taken
    coefficients: Floats
    edges: Floats
    loss: Floats  # [T], weighted mean of exp(-y f) after every round


def naive_adaboost(candidates: NDArray[Any], w0: Floats, n_rounds: int) -> Run:
    """AdaBoost that takes the candidate of the largest edge; a = 1/2 ln((1 + r) / (1 - r))."""
    w, total = w0.copy(), np.zeros(w0.size)
    taken, coefficients, result, loss = [], [], [], []
    for _ in range(n_rounds):
        by_candidate = edges(candidates, w)
        t = int(np.argmax(by_candidate))
        r = float(by_candidate[t])
        a = math.atanh(r)
        total += a * candidates[:, t]
        least = total.min()
        w = w0 * np.exp(least - total)  # else all weights vanish after some hundred rounds
        taken.append(candidates[:, t])
        coefficients.append(a)
        result.append(r)
        loss.append(w.sum() * math.exp(-least))
    return Run(np.column_stack(taken).astype(float), np.array(coefficients), np.array(result), np.array(loss))


def diagonal(seed: int, n: int = 30) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Two classes on both sides of a line that no stump can follow, and initial weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    w = rng.uniform(0.5, 1.5, n)
    return X, np.where(X.sum(axis=1) > 0, 1, -1), w / w.sum()


def agreement_of_stumps(X: Floats, y: NDArray[np.int64]) -> NDArray[Any]:
    return all_stumps(X).predictions * y[:, None]


# --- training error --------------------------------------------------------------------------------------------------


def test_training_error_bounds_by_hand() -> None:
    result = training_error_bounds(np.array([0.6, 0.0, 0.8]))
    np.testing.assert_allclose(result.product, [0.8, 0.8, 0.48], atol=1e-15)
    np.testing.assert_allclose(result.exponential, np.exp([-0.18, -0.18, -0.5]), atol=1e-15)
    assert training_error_bounds(np.array([0.5, 1.0])).product[1] == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_in_errors_advantages_and_edges_are_one(seed: int) -> None:
    e = np.random.default_rng(seed).uniform(0, 1, 20)
    g = 0.5 - e
    result = training_error_bounds(1 - 2 * e)
    np.testing.assert_allclose(result.product, np.cumprod(2 * np.sqrt(e * (1 - e))), atol=EXACT)
    np.testing.assert_allclose(result.product, np.cumprod(np.sqrt(1 - 4 * g**2)), atol=EXACT)
    np.testing.assert_allclose(result.exponential, np.exp(-2 * np.cumsum(g**2)), atol=EXACT)
    assert np.all(result.product < result.exponential)


@pytest.mark.parametrize("seed", SEEDS)
def test_adaboost_loss_is_the_product_and_bounds_the_weighted_error(seed: int) -> None:
    X, y, w = diagonal(seed)
    run = naive_adaboost(agreement_of_stumps(X, y), w, 40)
    bounds = training_error_bounds(run.edges)
    np.testing.assert_allclose(run.loss, bounds.product, rtol=EXACT)
    for t in range(1, 41):
        error = fraction_below(margins(run.agreement[:, :t], run.coefficients[:t]), 0.0, w)
        assert error <= bounds.product[t - 1] * (1 + EXACT) < bounds.exponential[t - 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_between_the_signs_stay_below_the_product(seed: int) -> None:
    X, y, w = diagonal(seed)
    soft = np.tanh(2 * X) * y[:, None]
    run = naive_adaboost(np.hstack([soft, -soft]), w, 20)
    assert np.all(run.loss < training_error_bounds(run.edges).product)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_training_error_after_the_rounds_promised(seed: int) -> None:
    X, y, w = diagonal(seed)
    candidates = agreement_of_stumps(X, y)
    gamma = minmax_over_stumps(X, y).value / 2  # every best edge is at least rho*
    n_rounds = rounds_to_zero_error(gamma, float(w.min()))
    run = naive_adaboost(candidates, w, n_rounds)
    assert run.edges.min() >= 2 * gamma - EXACT
    assert minimum_margin(margins(run.agreement, run.coefficients)) > 0
    assert training_error_bounds(np.full(n_rounds, 2 * gamma)).exponential[-1] < w.min()


def test_numbers_of_rounds() -> None:
    assert rounds_to_zero_error(0.1, 1 / 1000) == math.ceil(math.log(1000) / 0.02) + 1 == 347
    assert rounds_to_zero_error(0.5, 1.0) == 1
    assert star_rounds(0.1, 1 / 200) == math.ceil(2 * math.log(200) / 0.01) + 1 == 1061
    assert star_rounds(0.05, 1 / 200) > 3.9 * star_rounds(0.1, 1 / 200)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.25, 0.5])
def test_majority_of_three_is_the_binomial(p: float) -> None:
    at_least_two = 3 * p**2 * (1 - p) + p**3
    assert majority_of_three_bound(p) == pytest.approx(at_least_two, abs=1e-15)


# --- margins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [-0.3, 0.0, 0.1, 0.7, 1.0])
def test_margin_bound_by_errors_is_the_printed_product(theta: float) -> None:
    e = np.random.default_rng(0).uniform(0, 0.5, 20)
    printed = np.cumprod(2 * np.sqrt(e ** (1 - theta) * (1 - e) ** (1 + theta)))
    np.testing.assert_allclose(margin_error_bound(e, theta), printed, rtol=EXACT)
    np.testing.assert_allclose(margin_edge_bound(1 - 2 * e, theta), printed, rtol=EXACT)
    np.testing.assert_allclose(margin_error_bound(1 - e, theta), printed, rtol=EXACT)  # turned round


def test_margin_bound_at_zero_is_the_training_error_bound() -> None:
    r = np.random.default_rng(0).uniform(-1, 1, 20)
    np.testing.assert_allclose(margin_edge_bound(r, 0.0), training_error_bounds(r).product, rtol=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("theta", [0.02, 0.1, 0.3])
def test_adaboost_margins_keep_the_bound(seed: int, theta: float) -> None:
    X, y, w = diagonal(seed)
    run = naive_adaboost(agreement_of_stumps(X, y), w, 60)
    share = [fraction_below(margins(run.agreement[:, :t], run.coefficients[:t]), theta, w) for t in range(1, 61)]
    assert np.all(share <= margin_edge_bound(run.edges, theta) * (1 + EXACT))


def test_margin_bound_falls_exactly_below_the_guaranteed_margin() -> None:
    """One factor is 1 at theta = sharp(r), below 1 for smaller theta: hence the asymptotic margin."""
    for r in (0.05, 0.4, 0.9):
        sharp = guaranteed_margin(r).sharp
        assert margin_edge_bound(np.array([r]), sharp)[0] == pytest.approx(1.0, abs=EXACT)
        assert margin_edge_bound(np.array([r]), 0.99 * sharp)[0] < 1.0
        assert margin_edge_bound(np.array([r]), 1.01 * sharp)[0] > 1.0
        assert r / 2 < sharp < r


def test_guaranteed_margin_at_the_ends() -> None:
    assert guaranteed_margin(0.0) == (0.0, 0.0)
    assert guaranteed_margin(1.0) == (0.5, 1.0)
    assert guaranteed_margin(1e-6).sharp == pytest.approx(5e-7, rel=EXACT)
    assert guaranteed_margin(1 - 1e-12).sharp == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_adaboost_reaches_half_of_the_largest_margin(seed: int) -> None:
    X, y, w = diagonal(seed, n=20)
    best = minmax_over_stumps(X, y).value
    assert 0 < best < 1
    run = naive_adaboost(agreement_of_stumps(X, y), w, 1500)
    reached = minimum_margin(margins(run.agreement, run.coefficients))
    assert best / 2 <= guaranteed_margin(best).sharp <= reached + EXACT
    assert reached <= best + EXACT


# --- error on new data -----------------------------------------------------------------------------------------------


def test_vc_bound_by_hand() -> None:
    result = vc_bound(0.1, n=1000, d=10, delta=0.04)
    assert result.penalty == pytest.approx(math.sqrt((10 * (math.log(200) + 1) + math.log(100)) / 1000), abs=1e-12)
    assert result.value == pytest.approx(0.1 + result.penalty, abs=1e-15)
    assert not result.is_vacuous
    assert "0.96" in result.note


def test_margin_bound_by_hand() -> None:
    result = margin_bound(0.1, 0.5, n=10_000, d=2, delta=0.01)
    inside = (2 * math.log(5000) ** 2 / 0.25 + math.log(100)) / 10_000
    assert result.penalty == pytest.approx(math.sqrt(inside), abs=1e-12)
    assert result.value == pytest.approx(0.1 + result.penalty, abs=1e-15)
    assert "trend" in result.note  # its constant is open: no probability is promised


@pytest.mark.parametrize("bound", [vc_bound(0.0, 100, 100), vc_bound(1.0, 10**9, 1), margin_bound(0.0, 0.05, 500, 3)])
def test_vacuous_bounds_say_so(bound: Any) -> None:
    assert bound.value >= 1
    assert bound.is_vacuous
    assert "vacuous" in bound.note


def test_more_hypotheses_are_never_safer() -> None:
    """The printed terms fall again for a large d; a sample of n rows promises nothing for d = n."""
    dimensions = np.geomspace(1, 5000, 200)
    for penalty in (
        [vc_bound(0.0, 1000, float(d)).penalty for d in dimensions],
        [margin_bound(0.0, 0.5, 1000, float(d)).penalty for d in dimensions],
    ):
        assert all(a <= b * (1 + 1e-12) for a, b in pairwise(penalty))
        assert penalty[-1] > 1
    assert margin_bound(0.0, 1.0, 1000, 1001).value == math.inf


def test_larger_samples_and_margins_are_safer() -> None:
    vc = [vc_bound(0.0, n, 5).value for n in (100, 1000, 10_000)]
    by_rows = [margin_bound(0.0, 0.5, n, 5).value for n in (100, 1000, 10_000)]
    by_theta = [margin_bound(0.0, theta, 10_000, 5).value for theta in (0.1, 0.3, 1.0)]
    for values in (vc, by_rows, by_theta):
        assert values[0] > values[1] > values[2]


def test_boosted_vc_dimension() -> None:
    assert boosted_vc_dimension(3, 7) == pytest.approx(2 * 4 * 8 * (math.log2(8) + math.log2(math.e)), rel=1e-12)
    assert boosted_vc_dimension(1, 7) == boosted_vc_dimension(2, 7)


def can_shatter(X: Floats) -> bool:
    return all_stumps(X).predictions.shape[1] == 2 ** X.shape[0]


def test_stump_vc_dimension_is_reached_on_few_features() -> None:
    assert stump_vc_dimension(1) == 2
    assert can_shatter(np.array([[0.0], [1.0]]))
    assert stump_vc_dimension(2) == 3
    assert can_shatter(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 100])
def test_beyond_the_stump_vc_dimension_nothing_is_shattered(d: int) -> None:
    n = stump_vc_dimension(d) + 1
    rng = np.random.default_rng(d)
    assert 2**n > 2 * (1 + d * (n - 1))
    assert 2 ** (n - 1) <= 2 * (1 + d * (n - 2))
    assert not any(can_shatter(rng.normal(size=(n, d))) for _ in range(20))


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (majority_of_three_bound, (0.6,)),
        (majority_of_three_bound, (-0.1,)),
        (training_error_bounds, (np.array([1.2]),)),
        (training_error_bounds, (np.array([np.nan]),)),
        (training_error_bounds, (np.array([[0.1]]),)),
        (rounds_to_zero_error, (0.0, 0.1)),
        (rounds_to_zero_error, (0.6, 0.1)),
        (rounds_to_zero_error, (0.1, 0.0)),
        (rounds_to_zero_error, (0.1, 1.5)),
        (star_rounds, (0.0, 0.1)),
        (margin_error_bound, (np.array([0.2]), 1.5)),
        (margin_error_bound, (np.array([1.2]), 0.5)),
        (guaranteed_margin, (-0.1,)),
        (vc_bound, (1.1, 100, 2)),
        (vc_bound, (0.1, 0, 2)),
        (vc_bound, (0.1, 100, 0)),
        (vc_bound, (0.1, 100, 2, 0.0)),
        (margin_bound, (0.1, 0.0, 100, 2)),
        (boosted_vc_dimension, (2, 0)),
        (stump_vc_dimension, (0,)),
        (tree_vc_dimension, (0, 2)),
        (tree_vc_dimension, (1, 1)),
    ],
)
def test_what_is_rejected(call: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"must|Needs"):
        call(*arguments)


@pytest.mark.parametrize(("n_features", "n_leaves"), [(1, 2), (1, 3), (2, 2), (2, 3)])
def test_trees_shatter_no_more_points_than_their_dimension_says(n_features: int, n_leaves: int) -> None:
    """Every labelling of some points by all trees: the largest number of points with all 2^n is within the bound."""
    rng = np.random.default_rng(0)

    def labellings(X: Any, rows: tuple[int, ...], leaves: int) -> set[tuple[tuple[int, int], ...]]:
        result = {tuple((row, answer) for row in rows) for answer in (0, 1)}
        for feature, cut in itertools.product(range(X.shape[1]), rows) if leaves > 1 else ():
            left = tuple(row for row in rows if X[row, feature] <= X[cut, feature])
            right = tuple(row for row in rows if row not in left)
            for k in range(1, leaves):
                both = itertools.product(labellings(X, left, k), labellings(X, right, leaves - k))
                result |= {tuple(sorted((*a, *b))) for a, b in both}
        return result

    def is_shattered(n: int) -> bool:
        return any(len(labellings(rng.random((n, n_features)), tuple(range(n)), n_leaves)) == 2**n for _ in range(5))

    shattered = [n for n in range(1, 7) if is_shattered(n)]
    assert max(shattered) <= tree_vc_dimension(n_features, n_leaves)
    assert len(shattered) >= n_leaves
