"""Losses along a pruning sequence, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from committee.kernels.trees.pruning import pruned_losses

#         0
#       1   2      node 2 becomes a leaf in tree 1, the root in tree 3
#          3 4
PARENT = np.array([-1, 0, 0, 2, 2])
COLLAPSE = np.array([3, 0, 1, 0, 0])


@pytest.mark.parametrize(("kind", "loss"), [
    (0, lambda y, p: float(y != p)),
    (1, lambda y, p: (y - p) ** 2),
    (2, lambda y, p: abs(y - p)),
    (3, lambda y, p: p - y + (y * np.log(y / p) if y > 0 else 0.0)),
])  # fmt: skip
def test_pruned_losses(kind, loss):
    rng = np.random.default_rng(kind)
    prediction = rng.integers(1, 3, 5).astype(float)
    leaves = rng.choice([1, 3, 4], 30)
    target, weight = rng.integers(0, 3, 30).astype(float), rng.random(30)
    out = np.zeros((2, 5))
    pruned_losses((PARENT, COLLAPSE, prediction), leaves, target, weight, kind, np.empty(5, np.int64), out)
    sums = out[:, :4].cumsum(axis=1)
    for tree in range(4):
        expected = np.zeros(2)
        for leaf, y, w in zip(leaves, target, weight, strict=True):
            path = [leaf]
            while PARENT[path[-1]] >= 0:
                path.append(PARENT[path[-1]])
            node = next(t for t in reversed(path) if COLLAPSE[t] <= tree)
            value = loss(y, prediction[node])
            expected += w * value, w * value**2
        np.testing.assert_allclose(sums[:, tree], expected, rtol=1e-12, atol=1e-12)
