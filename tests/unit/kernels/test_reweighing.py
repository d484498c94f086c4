"""The weights of the next round against three lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.reweighing import multiply_weights


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 1001])
def test_weights_are_multiplied_and_summed(n):
    rng = np.random.default_rng(n)
    weight = rng.random(n)
    agreement = rng.choice(np.array([-1, 1], np.int8), n)
    expected = weight * np.where(agreement > 0, 0.5, 3.0)
    total = multiply_weights(weight, agreement, np.array([3.0, 0.5]))
    np.testing.assert_array_equal(weight, expected)
    assert total == pytest.approx(expected.sum(), rel=1e-14)
