"""Sorting against NumPy's stable argsort."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.ordering import SMALL, order_by_code


@pytest.mark.parametrize("n_codes", [1, 2, 7, 300, 5000, 70_000, 10_000_000])
@pytest.mark.parametrize("n", [1, 2, 7, 8, SMALL, SMALL + 1, 500, 5000])
def test_order_by_code_is_a_stable_sort(n, n_codes, callable_part):
    rng = np.random.default_rng(n * 31 + n_codes)
    column = rng.integers(0, n_codes, n).astype(np.uint32)
    keys, counters = np.empty((2, n), np.uint64), np.empty(2112, np.int32)
    ordered = keys[callable_part(order_by_code)(column, n, n_codes, keys, counters)]
    expected = np.argsort(column, kind="stable")
    np.testing.assert_array_equal(ordered[:n] & np.uint64(0xFFFFFFFF), expected)
    np.testing.assert_array_equal(ordered[:n] >> np.uint64(32), column[expected])
