"""Weights of members: against brute force and against what the formulas promise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from committee.committees.committee import choose_weights
from committee.committees.selection import (
    HeldOutErrors,
    accumulate,
    bagged_selection,
    contributions,
    drop_small_weights,
    greedy_selection,
    held_out_errors,
    loss_of,
)


def random_errors(n_members: int = 5, n: int = 60, columns: int = 1, seed: int = 0) -> Any:
    """Errors with a common part, so that no mean of members is perfect."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(1, n, columns))
    return common + rng.normal(size=(n_members, n, columns)) * np.linspace(0.5, 2.0, n_members)[:, None, None]


def held_out(**more: Any) -> HeldOutErrors:
    errors = random_errors(**more)
    return HeldOutErrors(errors, np.full(errors.shape[1], 1.0 / errors.shape[1]))


def test_the_loss_of_weights_is_that_of_the_weighted_mean() -> None:
    result = held_out(columns=3)
    w = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    direct = np.mean(np.sum(np.einsum("m,mnc->nc", w, result.errors) ** 2, axis=1))
    assert loss_of(w, result.gram()) == pytest.approx(direct, rel=1e-12)


def test_every_greedy_step_adds_the_best_member() -> None:
    """Naive twin: all means computed from the answers themselves."""
    errors = random_errors()[:, :, 0]
    result = greedy_selection(errors @ errors.T / errors.shape[1], 8)
    chosen: list[int] = []
    for step in result.steps:
        losses = [np.mean(np.mean(errors[[*chosen, m]], axis=0) ** 2) for m in range(len(errors))]
        assert step.member == int(np.argmin(losses))
        assert step.loss == pytest.approx(min(losses), rel=1e-12)
        chosen.append(step.member)
    best = int(np.argmin([step.loss for step in result.steps])) + 1
    np.testing.assert_allclose(result.weights, np.bincount(chosen[:best], minlength=len(errors)) / best)


def test_stacking_is_at_least_as_good_as_greedy_and_greedy_as_the_best_member() -> None:
    result = held_out(seed=3)
    gram = result.gram()
    greedy, stacked = greedy_selection(gram), choose_weights(result, "stack", 0, partial(loss_of, gram=gram))
    assert loss_of(stacked.weights, gram) <= loss_of(greedy.weights, gram) + 1e-9
    assert loss_of(greedy.weights, gram) <= np.diag(gram).min() + 1e-12


def test_bagged_selection_is_a_mean_of_selections_and_repeats_itself() -> None:
    result = held_out(n_members=6)
    first, again, other = (bagged_selection(result, seed) for seed in (1, 1, 2))
    assert first.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)
    assert first.steps == greedy_selection(result.gram()).steps


@pytest.mark.parametrize("n_members", [1, 2])
def test_few_members_are_selected_too(n_members: int) -> None:
    result = bagged_selection(held_out(n_members=n_members), 0)
    assert result.weights.shape == (n_members,)
    assert result.weights.sum() == pytest.approx(1.0)


def test_errors_of_classes_are_those_of_their_probabilities() -> None:
    predictions = np.array([[[0.7, 0.3], [0.2, 0.8], [np.nan, np.nan]], [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]])
    result = held_out_errors(predictions, np.array([0, 1, 1]), np.array([1.0, 3.0, 5.0]))
    np.testing.assert_allclose(result.weight, [0.25, 0.75])  # the row without an answer is left out
    np.testing.assert_allclose(result.errors[0], [[-0.3, 0.3], [0.2, -0.2]])
    with pytest.raises(ValueError, match="No row was held out by every member"):
        held_out_errors(np.full((2, 3), np.nan), np.zeros(3), np.ones(3))


def test_contributions_are_the_rise_without_the_member() -> None:
    gram = held_out().gram()
    w = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    loss = partial(loss_of, gram=gram)
    increase = contributions(loss, w)
    assert increase[0] == pytest.approx(loss(np.array([0.0, 0.6, 0.4, 0.0, 0.0])) - loss(w))
    assert increase[3] == 0.0
    assert np.isnan(contributions(loss, np.eye(5)[0])[0])


def test_members_join_the_heaviest_first() -> None:
    gram = held_out().gram()
    w = np.array([0.2, 0.5, 0.0, 0.3, 0.0])
    steps = accumulate(partial(loss_of, gram=gram), w)
    assert [step.member for step in steps] == [1, 3, 0]
    assert steps[0].loss == pytest.approx(gram[1, 1])
    assert steps[-1].loss == pytest.approx(loss_of(w, gram))


def test_somebody_always_stays() -> None:
    np.testing.assert_allclose(drop_small_weights(np.full(4, 0.25), 0.5), np.full(4, 0.25))


def test_a_member_far_ahead_is_not_missed_in_any_bag() -> None:
    """With parts of the members alone, about a third of the weight would go to those that are no use."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    predictions = np.stack([y + spread * rng.normal(size=400) for spread in (0.1, 2.0, 2.0, 2.0, 2.0)])
    held_out = held_out_errors(predictions, y, np.ones(400))
    assert bagged_selection(held_out, seed=0).weights[0] > 0.95
    alike = held_out_errors(y + rng.normal(size=(5, 400)), y, np.ones(400))
    assert bagged_selection(alike, seed=0).weights.min() > 0.1
