"""The compact form of a forest for prediction, in arrays that can be mapped from a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class PackedForest(NamedTuple):
    """Nodes of 20 bytes; the class probabilities or values of the leaves are in `values`, those of pure leaves once."""

    nodes: NDArray[np.void]  # [m] PACKED of parts/traversing, children numbered over all trees
    value_index: NDArray[np.int32]  # [m], row of `values` of a leaf, 0 at inner nodes
    roots: NDArray[np.int64]  # [trees]
    values: NDArray[np.float64]  # [a, k]
    category_set: NDArray[np.int32]  # [m], row of `categories`, -1 where the split is not categorical; else empty
    categories: NDArray[np.uint64]  # [s, 4]

    @property
    def n_trees(self) -> int:
        return self.roots.size

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return sum(array.nbytes for array in self)
