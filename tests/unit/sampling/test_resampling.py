"""Draws of rows: by weight as by repetition, whatever the order of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.sampling.resampling import draw, draw_without
from committee.tabular.identity import content_order
from tests.naive.bagging import bootstrap, paste

Floats = NDArray[np.float64]

each_draw = pytest.mark.parametrize("draw_rows", [draw, draw_without])


def make_rows(n: int = 40, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n).astype(float), rng.integers(0, 4, n).astype(float)


@each_draw
def test_a_whole_weight_draws_as_so_many_rows(draw_rows: Callable[..., Floats]) -> None:
    X, y, weight = make_rows()
    rows = np.repeat(np.arange(40), weight.astype(int))
    rows = np.random.default_rng(1).permutation(rows)
    for seed in range(20):
        counts = draw_rows(weight, content_order(X, y), 25, seed)
        repeated = draw_rows(np.ones(rows.size), content_order(X[rows], y[rows]), 25, seed)
        np.testing.assert_array_equal(counts, np.bincount(rows, repeated, minlength=40))
        assert counts.sum() == 25


def test_the_draws_are_those_of_the_twin() -> None:
    X, y, weight = make_rows()
    order, whole = content_order(X, y), weight.astype(int).tolist()
    n = int(weight.sum())
    spacings = np.cumsum(np.random.default_rng(5).exponential(size=n + 1))
    rows = bootstrap(order.tolist(), whole, (spacings[:-1] / spacings[-1]).tolist())
    np.testing.assert_array_equal(draw(weight, order, n, 5), np.bincount(rows, minlength=40))
    tickets = np.random.default_rng(5).choice(n, 15, replace=False, shuffle=False).tolist()
    rows = paste(order.tolist(), whole, tickets)
    np.testing.assert_array_equal(draw_without(weight, order, 15, 5), np.bincount(rows, minlength=40))


def test_nothing_is_drawn_twice() -> None:
    X, y, weight = make_rows()
    order = content_order(X, y)
    for seed in range(20):
        assert np.all(draw_without(weight, order, 30, seed) <= weight)
        assert draw_without(np.ones(40), order, 30, seed).max() == 1.0
    np.testing.assert_array_equal(draw_without(weight, order, int(weight.sum()), 0), weight)


@pytest.mark.parametrize("scale", [1.0, 0.3], ids=["whole", "fractions"])
def test_every_row_has_the_same_chance(scale: float) -> None:
    """10 of 40 rows, 2,000 times: within 4.5 standard errors of a quarter."""
    X, y, _ = make_rows()
    weight, order = np.full(40, scale), content_order(X, y)
    drawn = sum(draw_without(weight, order, 10, seed) for seed in range(2000))
    np.testing.assert_allclose(drawn / 2000, 0.25, atol=4.5 * np.sqrt(0.25 * 0.75 / 2000))


def test_a_heavier_row_comes_first_in_proportion() -> None:
    """One draw by fractional weights takes row i with probability w_i / sum w, and never a row without weight."""
    weight = np.array([0.1, 0.0, 0.4, 0.5])
    drawn: Any = sum(draw_without(weight, np.arange(4), 1, seed) for seed in range(4000))
    np.testing.assert_allclose(drawn / 4000, weight, atol=4.5 * 0.5 / np.sqrt(4000))
    assert drawn[1] == 0.0


def test_fractional_draws_follow_the_values_not_the_order() -> None:
    X, y, weight = make_rows()
    weight = weight * 0.3
    shuffled = np.random.default_rng(2).permutation(40)
    for seed in range(10):
        counts = draw_without(weight, content_order(X, y), 12, seed)
        again = draw_without(weight[shuffled], content_order(X[shuffled], y[shuffled]), 12, seed)
        np.testing.assert_array_equal(again, counts[shuffled])
