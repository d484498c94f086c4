"""Sums over blocks of rows: all that an algorithm asks of a table that does not fit into memory, or into one machine.

A table is cut into blocks of rows. A `Step` is sent to every block; it may change the state of the block, adds integers
to a common array, and returns float sums of the block's chunks of rows. Integers are added in any order, the sums of
chunks in that of the table. So the result does not depend on where the blocks are, or how many there are:

    memory, disk     LocalBlocks, on threads; the arrays of a block may be memory maps
    Dask             committee.dask, on the workers of a cluster

The state of a block is a function of the block and of the steps so far: a block that is lost with its worker is loaded
again and repeats the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import run

Integers = NDArray[np.int64]

CHUNK = 65_536
"""Rows whose float numbers are added up in one place. A block has a multiple of it, but for the last one."""

NO_PARTS = np.empty(0)


class Step(Protocol):
    """A request to every block; it is sent to other processes, so it must be picklable."""

    @property
    def size(self) -> int:
        """Number of integers that the blocks add up."""
        ...

    def run(self, block: Any, total: Integers) -> Floats:
        """Take the step on the state of a block: add to `total`, in place; return sums of its chunks, [chunks, ...]."""
        ...


class Answer(NamedTuple):
    """The integer sums of all blocks, and the float sums of all chunks in the order of the table."""

    total: Integers
    chunks: Floats


class Blocks(Protocol):
    """The blocks of a table, wherever they are."""

    @property
    def n_ahead(self) -> int:
        """How many nodes' children a tree asks for at once: more where a request costs more than a sum."""
        ...

    def ask(self, *steps: Step) -> Answer:
        """Take the steps, in order, on every block; return the answer to the last one."""
        ...


class LocalBlocks:
    """Blocks in this process, on threads."""

    def __init__(self, states: Sequence[Any], threads: int = 1, n_ahead: int = 1) -> None:
        self.states, self.threads, self.n_ahead = states, threads, n_ahead

    def ask(self, *steps: Step) -> Answer:
        shares = [range(j, len(self.states), self.threads) for j in range(min(self.threads, len(self.states)))]
        results = run(take_steps, [(steps, [self.states[i] for i in share]) for share in shares], self.threads)
        parts = [NO_PARTS] * len(self.states)
        for share, result in zip(shares, results, strict=True):
            for i, part in zip(share, result.parts, strict=True):
                parts[i] = part
        return join_answers([result.total for result in results], parts)


class PartialAnswer(NamedTuple):
    """The answer of some blocks: their integer sums together, the sums of chunks block by block."""

    total: Integers
    parts: list[Floats]


def take_steps(steps: Sequence[Step], states: Sequence[Any]) -> PartialAnswer:
    """Take the steps on some blocks, one block after the other: its arrays stay in the cache."""
    total, parts = np.zeros(steps[-1].size, np.int64), []
    for state in states:
        for step in steps[:-1]:
            step.run(state, np.zeros(step.size, np.int64))
        parts.append(steps[-1].run(state, total))
    return PartialAnswer(total, parts)


def join_answers(totals: Sequence[Integers], parts: Sequence[Floats]) -> Answer:
    """The answer of all blocks, with the sums of chunks in the order of the blocks."""
    total = totals[0]
    for other in totals[1:]:
        total = total + other
    return Answer(total, np.concatenate(parts))


def in_order(chunks: Floats) -> Floats:
    """Add up the sums of chunks, one after the other."""
    return np.add.accumulate(chunks)[-1] if len(chunks) else chunks.sum(axis=0)
