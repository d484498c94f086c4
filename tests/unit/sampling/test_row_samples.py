"""Samples of places: what is drawn, and which rows are outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.sampling.row_samples import Places, Sampler

ORDER, WEIGHT = np.array([2, 0, 3, 1]), np.array([1.0, 0.0, 3.0, 2.0])


def sampler(kind: Any, n_draws: int = 4, weight: np.ndarray = WEIGHT) -> Sampler:
    return Sampler(weight, Places.lay_out(ORDER, weight), n_draws, kind, codes=np.array([0, 0, 1, 1]))


def test_a_row_has_as_many_places_as_its_weight_says():
    places = Places.lay_out(ORDER, WEIGHT)
    np.testing.assert_array_equal(places.row, [2, 2, 2, 0, 3, 3])
    assert places.has_copies
    assert places.are_rows
    assert not Places.lay_out(ORDER, WEIGHT / 2).are_rows
    assert Places.lay_out(ORDER, np.ones(4)).are_rows


@pytest.mark.parametrize("kind", ["bootstrap", "weighted", "pasting", "balanced"])
def test_what_is_drawn_and_what_is_outside(kind: Any):
    for seed in range(20):
        samples = sampler(kind)
        counts = samples.draw(seed)
        assert counts.sum() == (8 if kind == "balanced" else 4)
        np.testing.assert_array_equal(samples.weights(seed), samples.places.sum_by_row(counts))
        weights = samples.weights(seed)
        np.testing.assert_array_equal(samples.out_of_bag(weights), np.flatnonzero((weights == 0) & (WEIGHT > 0)))
        if kind == "pasting":
            assert counts.max() == 1.0
        if kind == "balanced":
            np.testing.assert_array_equal(np.bincount([0, 0, 1, 1], weights), [4.0, 4.0])


def test_all_rows_keep_their_weights():
    samples = sampler("all", weight=WEIGHT / 7)
    np.testing.assert_array_equal(samples.weights(0), WEIGHT / 7)
    assert not samples.out_of_bag(samples.weights(0)).size


def test_places_are_drawn_by_their_weights():
    weight = np.array([0.5, 0.0, 1.5, 2.0])
    drawn = sum(sampler("weighted", 100, weight).weights(seed) for seed in range(200))
    np.testing.assert_allclose(drawn / 20000, weight / 4.0, atol=0.015)  # four standard errors
