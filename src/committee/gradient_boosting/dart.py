"""DART: dropout for boosted trees.

In every round a random set D of the earlier rounds is left out, and the new trees are fitted to what the others leave.
To keep the sum from overshooting, the new trees then count 1 / (|D| + 1) and the dropped ones |D| / (|D| + 1) of what
they did. So later trees do not only mend the last details of a few first ones.

Rashmi and Gilad-Bachrach, DART: dropouts meet multiple additive regression trees, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats


class Share(NamedTuple):
    """What one tree adds to the scores of some rows."""

    leaf: NDArray[np.uint32]
    value: Floats


class Memory:
    """What every round added to the scores, so that it can be taken out again; four bytes for each row and tree."""

    def __init__(self) -> None:
        self.rounds: list[tuple[Share, ...]] = []

    def draw(self, rng: np.random.Generator, rate: float) -> list[int]:
        """Rounds to drop, each with probability `rate`."""
        return np.flatnonzero(rng.random(len(self.rounds)) < rate).tolist()

    def remember(self, leaves: Sequence[NDArray[np.int64]], values: Sequence[Floats]) -> None:
        """Another round: the leaf of every row and the values of the nodes, tree by tree."""
        self.rounds.append(tuple(Share(a.astype(np.uint32), v.copy()) for a, v in zip(leaves, values, strict=True)))

    def add(self, round_: int, factor: float, score: Floats) -> None:
        """Add a multiple of what a round did to score [heads, n], in place."""
        for k, share in enumerate(self.rounds[round_]):
            score[k] += factor * share.value[share.leaf]

    def rescale(self, round_: int, factor: float) -> None:
        for share in self.rounds[round_]:
            share.value[:] *= factor
