"""Sums over cells against np.bincount and plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.boosting import cells


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 7, 300).astype(np.uint8), rng.integers(0, 5, 300).astype(np.uint8)
    first[first == 3] = 2  # an empty level
    a, b = rng.normal(size=300), rng.uniform(0.1, 0.3, 300)
    return first, second, np.column_stack([a, b, a**2, b**2, a**4])


def summed(first, second, moments) -> np.ndarray:
    sums = np.full((7 * 5, 5), np.nan)
    cells.sum_cells(first, second, 5, moments, sums)
    return sums


def test_sums_of_cells(sample):
    first, second, moments = sample
    cell = first.astype(np.int64) * 5 + second
    expected = np.column_stack([np.bincount(cell, moments[:, j], minlength=35) for j in range(5)])
    np.testing.assert_allclose(summed(*sample), expected, rtol=1e-12, atol=1e-14)


def test_pair_moments_are_sums_over_two_different_rows(sample):
    first, second, moments = sample
    a, b = moments[:, cells.G], moments[:, cells.H]
    products = scale = variance = 0.0
    for level in range(7):
        for other in range(5):
            rows = np.flatnonzero((first == level) & (second == other))
            if not rows.size:
                continue
            h = b[rows].sum()
            is_other = ~np.eye(rows.size, dtype=bool)
            products += np.outer(a[rows], a[rows])[is_other].sum() / h
            scale += np.outer(b[rows], b[rows])[is_other].sum() / h
            variance += 2.0 * np.outer(a[rows] ** 2, a[rows] ** 2)[is_other].sum() / h**2
    np.testing.assert_allclose(cells.pair_moments(summed(*sample)), (products, scale, variance), rtol=1e-10)


def test_shrunken_effects(sample):
    first, second, _ = sample
    sums, effect = summed(*sample), np.empty(300)
    decrease = cells.shrink_cells(first, second, 5, 4.0, sums, effect)
    each = sums[:, cells.G] / (sums[:, cells.H] + 4.0)
    np.testing.assert_allclose(effect, each[first.astype(np.int64) * 5 + second], rtol=1e-12)
    h = sums[:, cells.H]
    assert decrease == pytest.approx(np.sum(h * h / (h + 4.0)) / 4.0)
