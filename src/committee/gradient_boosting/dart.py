"""DART: dropout for boosted trees.

Before each round a random set D of the earlier rounds is dropped, and the new trees are fitted to the scores of the
others. Then the new trees are multiplied by 1 / (|D| + 1) and the dropped ones by |D| / (|D| + 1), so that the sum does
not overshoot. Later trees thereby contribute more than small corrections of the first ones.

Rashmi and Gilad-Bachrach, DART: dropouts meet multiple additive regression trees, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting.trees import GrownTree, TreeGrower, TreeStack

Leaves = Sequence[NDArray[np.int64]]
"""The leaf of every row, tree by tree."""

Rescaled = tuple[tuple[int, float], ...]
"""Earlier rounds, each with the factor its trees were multiplied by."""


class Dropout:
    """Drops earlier rounds with probability `rate`; with a rate of 0 nothing happens."""

    def __init__(self, rate: float) -> None:
        self.rate, self.memory, self.dropped = rate, Memory(), list[int]()

    def before_round(self, rng: np.random.Generator | None, score: Floats) -> bool:
        """Drop rounds from score [outputs, n], in place; return whether it changed."""
        if rng is None or self.rate == 0.0:
            return False
        self.dropped = np.flatnonzero(rng.random(len(self.memory.rounds)) < self.rate).tolist()
        for t in self.dropped:
            self.memory.add(t, -1.0, score)
        return bool(self.dropped)

    def after_round(self, trees: Sequence[GrownTree], grower: TreeGrower, stack: TreeStack, score: Floats) -> Rescaled:
        """Rescale the new trees and the dropped ones, and put the dropped ones back into score [outputs, n]."""
        if self.rate == 0.0:
            return ()
        n_dropped = len(self.dropped)
        factor = n_dropped / (n_dropped + 1.0)
        for tree in trees:
            tree.value[:] /= n_dropped + 1.0
        for t in self.dropped:
            self.memory.rescale(t, factor)
            self.memory.add(t, 1.0, score)
            stack.rescale(t * len(trees), (t + 1) * len(trees), factor)
        self.memory.remember(trees, [grower.place(tree.nodes) for tree in trees])
        return tuple((t, factor) for t in self.dropped)


class Addition(NamedTuple):
    """The contribution of one tree to the scores of some rows."""

    leaf: NDArray[np.uint32]
    value: Floats


class Memory:
    """The contributions of all rounds to the scores of some rows; four bytes for each row and tree."""

    def __init__(self) -> None:
        self.rounds: list[tuple[Addition, ...]] = []

    def remember(self, trees: Sequence[GrownTree], leaves: Leaves) -> None:
        """Append a round."""
        pairs = zip(trees, leaves, strict=True)
        self.rounds.append(tuple(Addition(leaf.astype(np.uint32), tree.value.copy()) for tree, leaf in pairs))

    def add(self, t: int, factor: float, score: Floats) -> None:
        """Add a multiple of the contribution of round t to score [outputs, n], in place."""
        for k, addition in enumerate(self.rounds[t]):
            score[k] += factor * addition.value[addition.leaf]

    def rescale(self, t: int, factor: float) -> None:
        for addition in self.rounds[t]:
            addition.value[:] *= factor

    def follow(self, rescaled: Rescaled, score: Floats) -> None:
        """Rescale earlier rounds as for the training rows, also in score [outputs, n]."""
        for t, factor in rescaled:
            self.add(t, factor - 1.0, score)
            self.rescale(t, factor)
