"""The min-max game: hand examples, the duality on random data, and all stumps against the tree engine's best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import DecisionStump
from committee.theory import minmax
from committee.theory.margins import edges, margins, minimum_margin
from committee.theory.minmax import (
    CONSTANT,
    LARGEST,
    Stumps,
    all_stumps,
    distance_to_optimum,
    largest_minimum_margin,
    minmax_over_stumps,
)

Floats = NDArray[np.float64]

DUALITY = 1e-9  # HiGHS works to 1e-10
SEEDS = range(6)


def is_distribution(values: Floats) -> bool:
    return bool(np.all(values >= 0)) and abs(values.sum() - 1) < 1e-12


def random_table(seed: int, n: int = 25, d: int = 3) -> tuple[Floats, NDArray[np.int64]]:
    """With ties, missing values and classes that overlap."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1)
    y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1, -1)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def predictions_of(stumps: Stumps, t: int, X: Floats) -> NDArray[np.int64]:
    """What stump t says by its fields, row by row."""
    if stumps.feature[t] == CONSTANT:
        return np.full(X.shape[0], int(stumps.polarity[t]))
    x = X[:, stumps.feature[t]]
    is_left = np.where(np.isnan(x), stumps.missing_left[t], x <= stumps.threshold[t])
    return np.where(is_left, -1, 1) * int(stumps.polarity[t])


# --- the game --------------------------------------------------------------------------------------------------------


def test_matching_pennies() -> None:
    result = largest_minimum_margin(np.array([[1, -1], [-1, 1]]))
    assert result.value == pytest.approx(0.0, abs=DUALITY)
    np.testing.assert_allclose(result.coefficients, [0.5, 0.5], atol=DUALITY)
    np.testing.assert_allclose(result.weights, [0.5, 0.5], atol=DUALITY)


def test_a_game_with_unequal_stakes() -> None:
    """max_a min(a - 0.5 (1 - a), -0.25 a + (1 - a)): the lines meet at a = 6/11."""
    result = largest_minimum_margin(np.array([[1.0, -0.5], [-0.25, 1.0]]))
    assert result.value == pytest.approx(3.5 / 11, abs=DUALITY)
    np.testing.assert_allclose(result.coefficients, [6 / 11, 5 / 11], atol=DUALITY)
    np.testing.assert_allclose(result.weights, [5 / 11, 6 / 11], atol=DUALITY)


def test_one_hypothesis_and_a_hopeless_row() -> None:
    assert largest_minimum_margin(np.array([[1], [0.25]])).value == pytest.approx(0.25, abs=DUALITY)
    hopeless = largest_minimum_margin(np.array([[-1, -1], [1, 1], [1, -1]]))
    assert hopeless.value == pytest.approx(-1.0, abs=DUALITY)
    np.testing.assert_allclose(hopeless.weights @ np.array([[-1, -1], [1, 1], [1, -1]]), -1.0, atol=DUALITY)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (50, 50)])
@pytest.mark.parametrize("kind", ["signs", "reals"])
def test_minimum_margin_value_and_maximum_edge_agree(seed: int, shape: tuple[int, int], kind: str) -> None:
    rng = np.random.default_rng(seed)
    u: NDArray[Any] = rng.choice([-1, 1], shape) if kind == "signs" else rng.uniform(-1, 1, shape)
    result = largest_minimum_margin(u)
    assert is_distribution(result.coefficients)
    assert is_distribution(result.weights)
    assert minimum_margin(margins(u, result.coefficients)) == pytest.approx(result.value, abs=DUALITY)
    assert edges(u, result.weights).max() == pytest.approx(result.value, abs=DUALITY)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_other_vote_or_weights_do_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, (12, 9))
    value = largest_minimum_margin(u).value
    for _ in range(200):
        assert minimum_margin(margins(u, rng.dirichlet(np.ones(9)))) <= value
        assert edges(u, rng.dirichlet(np.ones(12))).max() >= value


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("soft", [1 / 20, 0.08, 0.3])
def test_soft_margin_by_both_programmes(seed: int, soft: float) -> None:
    u = np.random.default_rng(seed).choice([-1, 1], (20, 10))
    result = largest_minimum_margin(u, soft)
    assert is_distribution(result.weights)
    assert result.weights.max() <= soft + DUALITY
    assert edges(u, result.weights).max() == pytest.approx(result.value, abs=DUALITY)
    m = np.sort(margins(u, result.coefficients))
    by_rho = [rho - soft * np.maximum(rho - m, 0).sum() for rho in m]  # concave in rho, its corners are the margins
    assert max(by_rho) == pytest.approx(result.value, abs=DUALITY)


def test_soft_margin_between_the_mean_and_the_hard_one() -> None:
    u = np.random.default_rng(0).choice([-1, 1], (20, 10))
    assert largest_minimum_margin(u, 1 / 20).value == pytest.approx(u.mean(axis=0).max(), abs=DUALITY)
    assert largest_minimum_margin(u, 1.0).value == pytest.approx(largest_minimum_margin(u).value, abs=DUALITY)
    assert largest_minimum_margin(u, 0.08).value > largest_minimum_margin(u).value + 0.01


def test_the_simplex_method_steps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    solve, tried = minmax.linprog, []

    def fails_inside(*args: Any, method: str, **options: Any) -> Any:
        tried.append(method)
        result = solve(*args, method=method, **options)
        if method == "highs-ipm":
            result.status = 4
        return result

    monkeypatch.setattr(minmax, "linprog", fails_inside)
    assert largest_minimum_margin(np.array([[1, -1], [0, 1]])).value == pytest.approx(1 / 3, abs=DUALITY)
    assert tried == ["highs-ipm", "highs-ds"]


# --- all stumps ------------------------------------------------------------------------------------------------------


def test_stumps_of_one_feature_with_missing_values() -> None:
    result = all_stumps(np.array([[2.0], [np.nan], [1.0], [2.0]]))
    assert result.predictions.dtype == np.int8
    half = result.predictions.shape[1] // 2
    np.testing.assert_array_equal(result.predictions[:, half:], -result.predictions[:, :half])
    np.testing.assert_array_equal(
        result.predictions[:, :half].T, [[1] * 4, [1, 1, -1, 1], [-1, 1, -1, -1], [1, -1, -1, 1]]
    )
    np.testing.assert_array_equal(result.feature[:half], [CONSTANT, 0, 0, 0])
    np.testing.assert_array_equal(result.threshold[:half], [np.nan, 1.5, LARGEST, 1.5])
    np.testing.assert_array_equal(result.missing_left[:half], [False, False, False, True])
    np.testing.assert_array_equal(result.polarity, [1] * half + [-1] * half)


def test_features_without_a_cut_leave_the_constants() -> None:
    result = all_stumps(np.array([[np.nan, 3.0], [np.nan, 3.0]]))
    np.testing.assert_array_equal(result.predictions, [[1, -1], [1, -1]])


def test_neighbouring_floats_and_huge_ones_are_cut() -> None:
    one, two, three = 1.0, 1.0 + 2**-52, 1.0 + 2**-51  # the middle of the last two rounds up to the third
    for low, high in ((one, two), (two, three), (-LARGEST, LARGEST), (0.9 * LARGEST, LARGEST), (-5e-324, 0.0)):
        X = np.array([[low], [high]])
        result = all_stumps(X)
        assert result.predictions.shape == (2, 4)
        np.testing.assert_array_equal(predictions_of(result, 1, X), [-1, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_stumps_predict_by_their_fields_and_differ(seed: int) -> None:
    X, _ = random_table(seed)
    result = all_stumps(X)
    m = result.predictions.shape[1]
    np.testing.assert_array_equal(result.predictions, np.column_stack([predictions_of(result, t, X) for t in range(m)]))
    assert np.unique(result.predictions, axis=1).shape[1] == m


@pytest.mark.parametrize("seed", SEEDS)
def test_stumps_are_all_that_any_threshold_gives(seed: int) -> None:
    X, _ = random_table(seed, n=12, d=2)
    expected = {tuple([1] * 12), tuple([-1] * 12)}
    for x in X.T:
        for cut in [-np.inf, *x[~np.isnan(x)]]:
            for missing_left in (False, True):
                side = np.where(np.where(np.isnan(x), missing_left, x <= cut), -1, 1)
                expected |= {tuple(side.tolist()), tuple((-side).tolist())}
    assert {tuple(column.tolist()) for column in all_stumps(X).predictions.T} == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_largest_edge_is_that_of_the_decision_stump(seed: int) -> None:
    X, y = random_table(seed, n=40)
    w = np.random.default_rng(seed).integers(1, 9, 40) / 8
    best = edges(all_stumps(X).predictions * y[:, None], w).max()
    stump = DecisionStump(splitter="best").fit(X, y, sample_weight=w)
    assert stump.edge_ == pytest.approx(best, abs=1e-12)


# --- rho* over stumps ------------------------------------------------------------------------------------------------


def test_rho_by_hand() -> None:
    line = np.arange(4.0)[:, None]
    assert minmax_over_stumps(line, np.array([-1, -1, 1, 1])).value == pytest.approx(1.0, abs=DUALITY)
    assert minmax_over_stumps(line, np.array([-1, 1, 1, -1])).value == pytest.approx(1 / 3, abs=DUALITY)
    assert minmax_over_stumps(line, np.array([-1, 1, -1, 1])).value == pytest.approx(1 / 3, abs=DUALITY)
    xor = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert minmax_over_stumps(xor, np.array([1, -1, -1, 1])).value == pytest.approx(0.0, abs=DUALITY)
    missing = np.array([[np.nan], [1.0], [2.0]])
    assert minmax_over_stumps(missing, np.array([1, -1, -1])).value == pytest.approx(1.0, abs=DUALITY)


@pytest.mark.parametrize("changes", [1, 2, 3, 4, 5, 8])
def test_rho_of_a_line_is_one_over_its_changes_of_class(changes: int) -> None:
    """k changes need k cuts of equal weight, and a constant when k is even."""
    y = (-1) ** np.arange(changes + 1)
    X = np.arange(changes + 1.0)[:, None]
    n_needed = changes if changes % 2 else changes + 1
    assert minmax_over_stumps(X, y).value == pytest.approx(1 / n_needed, abs=DUALITY)


@pytest.mark.parametrize("seed", SEEDS)
def test_rho_is_the_best_edge_the_tree_engine_finds_under_the_dual_weights(seed: int) -> None:
    X, y = random_table(seed, n=20)
    result = minmax_over_stumps(X, y)
    stumps = all_stumps(X)
    assert minimum_margin(margins(stumps.predictions * y[:, None], result.coefficients)) == pytest.approx(
        result.value, abs=DUALITY
    )
    stump = DecisionStump(splitter="best").fit(X, y, sample_weight=result.weights)
    assert stump.edge_ == pytest.approx(result.value, abs=DUALITY)


def test_rows_alike_of_both_classes_leave_no_margin() -> None:
    assert minmax_over_stumps(np.array([[1.0], [1.0], [2.0]]), np.array([1, -1, 1])).value == pytest.approx(0, abs=1e-9)


def test_distance_to_optimum() -> None:
    u = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]])
    best = largest_minimum_margin(u)
    assert distance_to_optimum(margins(u, best.coefficients), best.value) == pytest.approx(0.0, abs=DUALITY)
    assert distance_to_optimum(margins(u, np.array([1.0, 0.0, 0.0])), best.value) == pytest.approx(4 / 3, abs=DUALITY)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (largest_minimum_margin, (np.ones((4, 2)), 0.2), "1/n"),
        (largest_minimum_margin, (np.ones((4, 2)), np.nan), "1/n"),
        (largest_minimum_margin, (np.ones((0, 2)),), r"\[n, T\]"),
        (all_stumps, (np.array([[np.inf]]),), "infinity"),
        (all_stumps, (np.ones(3),), "table"),
        (minmax_over_stumps, (np.ones((2, 1)), np.array([0, 1])), r"-1 or \+1"),
        (minmax_over_stumps, (np.ones((2, 1)), np.array([1])), r"-1 or \+1"),
        (minmax_over_stumps, (np.ones((2, 1)), np.array([1, 1.5])), r"-1 or \+1"),
    ],
)
def test_what_is_rejected(call: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(*arguments)
