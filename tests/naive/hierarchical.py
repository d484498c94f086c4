"""The hierarchical mixture of experts row by row, from the recursion of Jordan and Jacobs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def leaf_shares(params: Floats, x: Floats, depth: int, branching: int, level: int = 0, place: int = 0) -> list[float]:
    """g of the leaves below the gate at this place of this level, for one row x."""
    if level == depth:
        return [1.0]
    before = sum(branching**above for above in range(level))
    score = params[before + place] @ x
    share = np.exp(score - score.max())
    share /= share.sum()
    below: list[float] = []
    for c in range(branching):
        rest = leaf_shares(params, x, depth, branching, level + 1, place * branching + c)
        below += [float(share[c]) * each for each in rest]
    return below


def joint_responsibilities(r: Floats, depth: int, branching: int) -> list[Floats]:
    """h of every gate in the order of levels, [branching] each, from the responsibilities of the leaves of one row."""
    result: list[Floats] = []
    for level in range(depth):
        n_below = branching ** (depth - level - 1)
        for place in range(branching**level):
            first = place * branching * n_below
            result.append(np.array([r[first + c * n_below :][:n_below].sum() for c in range(branching)]))
    return result
