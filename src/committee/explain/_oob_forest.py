"""A fitted forest beside the rows that each of its trees can be judged on: those out of its bag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.records.forest import PackedForest
from committee.records.tree import Tree

Predictions = NDArray[Any]
"""Class codes (int64) or numbers (float64)."""


class JudgedForest(NamedTuple):
    """Trees, the training rows as numbers, and the rows of positive weight that each tree did not see, sorted."""

    trees: Sequence[Tree]
    packed: PackedForest
    unseen: Sequence[NDArray[np.int64]]
    X: NDArray[np.floating]  # [n, d], C order
    target: Predictions  # [n]
    weight: Floats  # [n]
    n_classes: int  # 0 where the target is a number

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_columns(self) -> int:
        """Of an answer: votes for so many classes, or one number."""
        return max(self.n_classes, 1)

    def predictions(self) -> Predictions:
        """What a node of the packed forest answers with: the class of largest share, or a number."""
        values = self.packed.values
        answer = values[:, : self.n_classes].argmax(axis=1) if self.n_classes else values[:, 0]
        return answer[self.packed.answer]

    def losses(self, rows: NDArray[np.int64], predictions: Predictions) -> Floats:
        """Zero-one loss or squared error of answers to rows."""
        target = self.target[rows]
        return (predictions != target).astype(np.float64) if self.n_classes else (predictions - target) ** 2


def depth_of(tree: Tree) -> int:
    """Length of the longest path, level by level."""
    depth, level = 0, np.zeros(1, np.int64)
    while True:
        inner = level[tree.left[level] >= 0]
        if not inner.size:
            return depth
        level = np.concatenate([tree.left[inner], tree.left[inner] + 1]).astype(np.int64)
        depth += 1


def mean_of(of_trees: Floats) -> Floats:
    """Mean over trees [trees, ...] without those that have nan; nan where all have."""
    n = np.sum(~np.isnan(of_trees), axis=0)
    return np.where(n > 0, np.nansum(of_trees, axis=0) / np.maximum(n, 1), np.nan)
