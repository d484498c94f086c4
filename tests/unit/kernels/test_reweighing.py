"""The weights of the next round against three lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.boosting.row_weights import multiply_weights, tally_votes


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 1001])
def test_weights_are_multiplied_and_summed(n):
    rng = np.random.default_rng(n)
    weight = rng.random(n)
    agreement = rng.choice(np.array([-1, 1], np.int8), n)
    expected = weight * np.where(agreement > 0, 0.5, 3.0)
    total = multiply_weights(weight, agreement, np.array([3.0, 0.5]))
    np.testing.assert_array_equal(weight, expected)
    assert total == pytest.approx(expected.sum(), rel=1e-14)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 1001])
@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_votes_are_tallied(n, dtype):
    rng = np.random.default_rng(n)
    predictions = rng.choice(np.array([-1, 1]), n).astype(dtype) * (rng.random(n) if dtype == np.float64 else dtype(1))
    y, weight, score = rng.choice(np.array([-1, 1], np.int8), n), rng.random(n), rng.normal(size=n)
    score[0] = -0.7 * predictions[0]  # a tie, which the first class wins
    expected, out = score + 0.7 * predictions, np.empty(2)
    tally_votes(0.7, predictions, y, weight, score, out)
    np.testing.assert_array_equal(score, expected)
    assert out[0] == (y * expected).min()
    assert out[1] == pytest.approx(weight[(expected > 0.0) != (y > 0)].sum(), rel=1e-14)
