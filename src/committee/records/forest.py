"""A forest for prediction only: nothing but what an answer needs, in arrays that can be mapped from a file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class PackedForest(NamedTuple):
    """20 bytes a node; the distributions (or means) of leaves stand apart, equal ones of pure leaves once."""

    nodes: NDArray[np.void]  # [m] PACKED of parts/traversing, children numbered over all trees
    answer: NDArray[np.int32]  # [m], the row of `values` that a leaf answers with, 0 at inner nodes
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
