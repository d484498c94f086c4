"""A fitted tree under scikit-learn's attribute names."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.records.tree import Tree
from committee.tree_engine.predict.apply import apply_tree, decision_path, pack


class TreeView:
    """The attributes of scikit-learn's ``tree_``, derived from a `Tree`; ``arrays`` is the tree itself.

    The nodes are numbered differently: the two children of a node have consecutive numbers.
    """

    def __init__(self, tree: Tree, n_features: int, is_classifier: bool) -> None:
        self.arrays = tree
        self.n_features = n_features
        self.n_outputs = 1
        self.is_classifier = is_classifier
        self.n_classes = np.array([tree.value.shape[1] if is_classifier else 1])
        self.max_n_classes = int(self.n_classes[0])

    @property
    def node_count(self) -> int:
        return self.arrays.n_nodes

    @property
    def capacity(self) -> int:
        return self.arrays.n_nodes

    @property
    def n_leaves(self) -> int:
        return self.arrays.n_leaves

    @cached_property
    def max_depth(self) -> int:
        return self.arrays.max_depth

    @property
    def children_left(self) -> NDArray[np.int64]:
        return self.arrays.left.astype(np.int64)

    @property
    def children_right(self) -> NDArray[np.int64]:
        return self.arrays.right.astype(np.int64)

    @property
    def feature(self) -> NDArray[np.int64]:
        return np.where(self.arrays.is_leaf, -2, self.arrays.feature).astype(np.int64)

    @property
    def threshold(self) -> NDArray[np.float64]:
        return np.where(self.arrays.is_leaf, -2.0, self.arrays.threshold)

    @property
    def missing_go_to_left(self) -> NDArray[np.uint8]:
        return self.arrays.missing_left.astype(np.uint8)

    @property
    def impurity(self) -> NDArray[np.float64]:
        return self.arrays.impurity

    @property
    def n_node_samples(self) -> NDArray[np.int64]:
        return self.arrays.n_samples

    @property
    def weighted_n_node_samples(self) -> NDArray[np.float64]:
        return self.arrays.weight

    @property
    def value(self) -> NDArray[np.float64]:
        return self.arrays.value[:, np.newaxis, :]

    @cached_property
    def packed(self) -> NDArray[np.void] | None:
        """The prediction form; None for a tree with categorical splits, which is walked on its arrays."""
        return None if len(self.arrays.categories) else pack(self.arrays)

    @cached_property
    def predictions(self) -> NDArray[np.intp]:
        """The code of the class that each node predicts."""
        return self.arrays.value.argmax(axis=1)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("packed", "predictions", "max_depth")}

    def apply(self, X: NDArray[np.floating], n_jobs: int | None = None) -> NDArray[np.int64]:
        return apply_tree(self.arrays, X, n_jobs, self.packed)

    def predict(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        return self.arrays.value[self.apply(X)]

    def decision_path(self, X: NDArray[np.floating]) -> Any:
        return decision_path(self.arrays, X)

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Return the impurity decreases at the splits of each feature, by default normalised to a sum of 1."""
        importances = np.zeros(self.n_features)
        inner = ~self.arrays.is_leaf
        np.add.at(importances, self.arrays.feature[inner], self.arrays.gain[inner])
        total = importances.sum()
        return importances / total if normalize and total > 0 else importances
