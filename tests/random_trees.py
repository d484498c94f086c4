"""Trees of any shape, with numbers in all columns."""

from __future__ import annotations

import numpy as np

from committee.records.ensemble import BoostedTrees


def random_stack(rng: np.random.Generator, n_features: int, sizes: list[int], n_outputs: int, with_sets: bool):
    """Trees of these numbers of splits; numbers in all columns, or categories where a split is a set."""
    left, offsets = [], [0]
    for n_splits in sizes:
        tree = [-1]
        for _ in range(n_splits):
            leaf = int(rng.choice([i for i, child in enumerate(tree) if child < 0]))
            tree[leaf] = len(tree)
            tree += [-1, -1]
        left += tree
        offsets.append(len(left))
    m = len(left)
    is_inner = np.array(left) >= 0
    has_set = is_inner & (rng.random(m) < 0.4) & with_sets
    return BoostedTrees(
        offsets=np.array(offsets),
        output=rng.integers(0, n_outputs, len(sizes)),
        feature=np.where(is_inner, rng.integers(0, n_features, m), -1).astype(np.int32),
        threshold=np.where(is_inner & ~has_set, rng.integers(0, 5, m) + 0.5, np.nan),
        left=np.array(left, np.int32),
        missing_left=is_inner & (rng.random(m) < 0.5),
        category_set=np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
        categories=rng.integers(0, 2**63, (int(has_set.sum()), 4)).astype(np.uint64),
        value=np.where(is_inner, 0.0, rng.normal(size=m)),
        gain=rng.exponential(size=m),
        n_samples=rng.integers(1, 9, m),
        weight=rng.exponential(size=m),
    )
