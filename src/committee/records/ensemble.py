"""Many trees in common arrays: for prediction, and as a sum of trees for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import Tree


class PackedTrees(NamedTuple):
    """The nodes of all trees in one array, the root of each tree, and the value of every node."""

    nodes: NDArray[np.void]  # [m] PACKED of parts/traversing, children numbered over all trees
    roots: NDArray[np.int64]  # [trees]
    depths: NDArray[np.int64]  # [trees]
    values: NDArray[np.float64]  # [m, k]


class BoostedTrees(NamedTuple):
    """The trees of a sum of trees, their nodes in common arrays; children are numbered within their tree."""

    offsets: NDArray[np.int64]  # [trees + 1], where each tree's nodes begin
    output: NDArray[np.int64]  # [trees], the score that the tree adds to
    feature: NDArray[np.int32]  # [m], LEAF at leaves
    threshold: NDArray[np.float64]  # [m], nan at leaves and categorical splits
    left: NDArray[np.int32]  # [m], LEAF at leaves
    missing_left: NDArray[np.bool_]  # [m]
    category_set: NDArray[np.int32]  # [m], row of `categories`, -1 elsewhere
    categories: NDArray[np.uint64]  # [s, 4]
    value: NDArray[np.float64]  # [m], value of a leaf
    gain: NDArray[np.float64]  # [m], decrease of the mean loss estimated for the split
    n_samples: NDArray[np.int64]  # [m]
    weight: NDArray[np.float64]  # [m]

    @property
    def n_trees(self) -> int:
        return self.offsets.size - 1

    def between(self, first: int, last: int) -> BoostedTrees:
        """The trees first:last alone."""
        a, b = int(self.offsets[first]), int(self.offsets[last])
        of_nodes = {name: getattr(self, name)[a:b] for name in BoostedTrees._fields[2:] if name != "categories"}
        return self._replace(offsets=self.offsets[first : last + 1] - a, output=self.output[first:last], **of_nodes)

    def in_order(self, order: NDArray[np.int64]) -> BoostedTrees:
        """These trees, in this order."""
        sizes = np.diff(self.offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        node = np.arange(offsets[-1]) + np.repeat(self.offsets[order] - offsets[:-1], sizes)
        of_nodes = {name: getattr(self, name)[node] for name in BoostedTrees._fields[2:] if name != "categories"}
        return self._replace(offsets=offsets, output=self.output[order], **of_nodes)

    def first(self, n_trees: int) -> BoostedTrees:
        """The first trees alone."""
        return self.between(0, n_trees)

    def tree(self, t: int) -> Tree:
        """One tree by itself."""
        a, b = self.offsets[t : t + 2]
        sets = self.category_set[a:b]
        used = sets[sets >= 0]
        return Tree(
            feature=self.feature[a:b],
            threshold=self.threshold[a:b],
            left=self.left[a:b],
            missing_left=self.missing_left[a:b],
            category_set=np.where(sets >= 0, np.cumsum(sets >= 0) - 1, -1).astype(np.int32),
            categories=self.categories[used],
            value=self.value[a:b, np.newaxis],
            impurity=np.zeros(b - a),
            gain=self.gain[a:b],
            n_samples=self.n_samples[a:b],
            weight=self.weight[a:b],
        )

    @classmethod
    def join(cls, parts: Sequence[BoostedTrees]) -> BoostedTrees:
        """Concatenate several lists of trees."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.offsets[-1] for part in parts)])
        n_sets = np.cumsum([0, *(len(part.categories) for part in parts)])
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls._fields[1:]}
        shifted = [
            np.where(part.category_set >= 0, part.category_set + first, -1).astype(np.int32)
            for part, first in zip(parts, n_sets, strict=False)
        ]
        joined["category_set"] = np.concatenate(shifted)
        offsets = [part.offsets[:-1] + first for part, first in zip(parts, ends, strict=False)]
        return cls(offsets=np.concatenate([*offsets, ends[-1:]]), **joined)


class TreeSum(NamedTuple):
    """A model that is a sum of trees: output k of a row is base[k] and the sum of weight[t] times its leaf's value.

    Estimators have a method ``to_tree_sum()``; explanations of trees use it.
    """

    trees: tuple[Tree, ...]
    output: NDArray[np.int64]  # [trees], the output a tree adds to; -1 if its values have one column per output
    weight: NDArray[np.float64]  # [trees]
    base: NDArray[np.float64]  # [outputs]
