"""Many trees in one piece, for prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class PackedTrees(NamedTuple):
    """The nodes of all trees one after the other, where each tree begins, and what every node adds to a score."""

    nodes: NDArray[np.void]  # [m] PACKED of parts/traversing, children numbered over all trees
    roots: NDArray[np.int64]  # [trees]
    depths: NDArray[np.int64]  # [trees]
    values: NDArray[np.float64]  # [m, k]
