"""Node histograms against np.add.at."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.histogram import TILE, build_histogram
from committee.tree_engine.histograms import make_tiles


@pytest.mark.parametrize("d", [1, 3, 4, 31, 32, 33, 70])
def test_tiles_hold_the_codes_by_rows(d):
    codes = np.random.default_rng(d).integers(0, 256, (d, 1500)).astype(np.uint8)
    tiles = make_tiles(codes)
    assert tiles.ctypes.data % 64 == 0
    for f in range(d):
        np.testing.assert_array_equal(tiles[f // TILE, :, f % TILE], codes[f])


@pytest.mark.parametrize("d", [1, 5, 28, 40])
@pytest.mark.parametrize("is_packed", [True, False])
def test_build_histogram(d, is_packed):
    rng = np.random.default_rng(d)
    codes = rng.integers(0, 256, (d, 800)).astype(np.uint8)
    rows = rng.permutation(800)[:301].astype(np.uint32)
    stat = np.stack([rng.integers(-1000, 1000, 301), rng.integers(0, 50, 301)], axis=1)
    tiles = make_tiles(codes)
    out = np.zeros((1 if is_packed else 2, tiles.shape[0] * TILE * 256), np.int64)
    build_histogram(tiles.view(np.uint32), d, rows, stat, is_packed, out)
    expected = np.zeros((2, d, 256), np.int64)
    for f in range(d):
        np.add.at(expected[0, f], codes[f, rows], stat[:, 0])
        np.add.at(expected[1, f], codes[f, rows], stat[:, 1])
    if is_packed:
        h = out[0] & 0xFFFFFFFF
        out = np.stack([(out[0] - h) >> 32, h])
    np.testing.assert_array_equal(out.reshape(2, -1, 256)[:, :d], expected)
