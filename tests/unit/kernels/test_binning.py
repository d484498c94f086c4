"""Codes of values against a plain count of the edges below them."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.binning import bin_columns


@pytest.mark.parametrize("n_bins", [1, 2, 3, 128, 129, 255])
def test_bin_columns(n_bins):
    rng = np.random.default_rng(n_bins)
    edges = np.full((2, 256), np.inf)
    edges[:, : n_bins - 1] = np.sort(rng.normal(size=(2, n_bins - 1)), axis=1)
    block = rng.normal(size=(2, 300))
    block[:, : n_bins - 1] = edges[:, : min(n_bins - 1, 300)]  # values on an edge belong below it
    block[:, -3:] = [np.nan, 1e308, -1e308]
    codes = np.zeros((2, 310), np.uint8)
    bin_columns(block, edges, np.array([n_bins, n_bins]), 10, codes)
    for f in range(2):
        expected = np.array([np.sum(edges[f, : n_bins - 1] < x) for x in block[f]])
        expected[np.isnan(block[f])] = n_bins
        np.testing.assert_array_equal(codes[f, 10:], expected)
