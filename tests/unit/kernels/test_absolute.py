"""The Fenwick trees of the absolute error against sorting."""

from __future__ import annotations

import numpy as np

from committee.kernels.trees.split_mae import add_row, median_and_distance
from committee.records.growth import NODE, Y_VALUE


def test_median_and_distance_after_every_row(callable_part):
    rng = np.random.default_rng(0)
    add, median_of = callable_part(add_row), callable_part(median_and_distance)
    for n in (1, 2, 9, 60):
        y = np.round(rng.normal(size=n), 1)
        stat = np.stack([np.zeros(n, np.int64), rng.integers(1, 4, n)], axis=1)
        values, rank = np.unique(y, return_inverse=True)
        sums = np.zeros((6, n + 2))
        sums[Y_VALUE, : values.size] = values
        node = np.zeros(1, NODE)
        node["shift"] = values.size
        weight = target = 0.0
        for i in range(n):
            w, weighted = add(i, node[0], 1.0, stat, rank, sums)
            weight += w
            target += weighted
            repeated = np.repeat(y[: i + 1], stat[: i + 1, 1])
            median, distance = median_of(values.size, weight, target, sums)
            assert np.isclose(median, np.median(repeated), atol=1e-14)
            assert np.isclose(distance, np.abs(repeated - np.median(repeated)).sum(), atol=1e-12)
