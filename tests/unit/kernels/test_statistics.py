"""Node statistics against NumPy on the rows of each node."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees import statistics
from committee.records.growth import NODE

RNG = np.random.default_rng(1)
N = 40
ROWS = RNG.permutation(N).astype(np.uint32)
WEIGHT = RNG.integers(1, 4, N) / 2.0


@pytest.fixture
def nodes():
    """Root 0:40, children 0:15 and 15:40, the right one split into 15:16 and 16:40."""
    tree = np.zeros(5, NODE)
    tree["start"] = [0, 0, 15, 15, 16]
    tree["n"] = [40, 15, 25, 1, 24]
    tree["left"] = [1, -1, 3, -1, -1]
    return tree


def inside(nodes, i):
    return ROWS[nodes["start"][i] : nodes["start"][i] + nodes["n"][i]]


def test_class_weights(nodes):
    target = RNG.integers(0, 3, N).astype(float)
    out = np.empty((5, 3))
    statistics.class_weights(nodes, ROWS, target, WEIGHT, out)
    for i in range(5):
        rows = inside(nodes, i)
        np.testing.assert_allclose(out[i], np.bincount(target[rows].astype(int), WEIGHT[rows], 3), rtol=1e-15)


def test_moments(nodes):
    target = RNG.gamma(2.0, size=N) + 1e6  # far from zero: a one-pass variance would lose ten digits
    out = np.empty((5, 4))
    statistics.moments(nodes, ROWS, target, WEIGHT, out)
    for i in range(5):
        rows = inside(nodes, i)
        y, w = target[rows], WEIGHT[rows]
        mean = np.average(y, weights=w)
        np.testing.assert_allclose(out[i, :2], [w.sum(), mean], rtol=1e-14)
        np.testing.assert_allclose(out[i, 2], np.sum(w * (y - mean) ** 2), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(out[i, 3], np.sum(w * y * np.log(y)), rtol=1e-14)
    assert out[3, 1] == target[inside(nodes, 3)[0]]  # a pure leaf has exactly its value


def naive_median(y, w):
    order = np.argsort(y, kind="stable")
    below = np.cumsum(w[order])
    i = int(np.argmax(2 * below >= w.sum()))
    if 2 * below[i] == w.sum():
        return (y[order][i] + y[order][i + 1]) / 2
    return y[order][i]


def test_medians(nodes):
    target = np.round(RNG.normal(size=N), 1)
    ranked, rank = np.unique(target, return_inverse=True)
    out = np.empty((5, 3))
    scratch = np.empty(N, np.uint32), np.empty((2, N), np.uint64), np.empty(2112, np.int32)
    statistics.medians(nodes, ROWS, rank, ranked, WEIGHT, scratch, out)
    for i in range(5):
        rows = inside(nodes, i)
        y, w = target[rows], WEIGHT[rows]
        median = naive_median(y, w)
        np.testing.assert_allclose(out[i], [w.sum(), median, np.sum(w * np.abs(y - median))], rtol=1e-14, atol=1e-14)


def test_mark_leaves(nodes):
    leaf = np.full(N, -1, np.int64)
    statistics.mark_leaves(nodes, ROWS, leaf)
    for i in (1, 3, 4):
        assert set(np.flatnonzero(leaf == i)) == set(inside(nodes, i).tolist())
