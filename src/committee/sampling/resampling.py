"""Samples of rows drawn by weight, as a count per row.

A draw depends on the values of the rows, not on their order, and an integer weight w draws exactly as w equal rows do:
weights and repetitions are equivalent in models fitted on resamples.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tree_engine.memory_guard import reject_too_many_draws

MAX_COPIES = 4
"""Integer weights count as numbers of rows up to this mean; larger ones are importances."""

MAX_EXACT = 2.0**53
"""Integers below are exact in float64."""

BYTES_A_DRAW = 24
"""Memory of `draw`: three numbers."""

LARGE = 2**26
"""Bytes of a sample above which the free memory is checked."""

_one_large = Lock()


def are_whole(counts: Floats) -> bool:
    """Whether the weights are numbers of rows: integers of a mean of at most MAX_COPIES."""
    return bool(counts.sum() <= MAX_COPIES * np.count_nonzero(counts) and np.array_equal(counts, np.rint(counts)))


def without_common_factor(weight: Floats) -> Floats:
    """The weights divided by their common factor."""
    counted = weight[weight > 0.0]
    if counted.size == 0 or np.all(counted == counted[0]):
        return np.where(weight > 0.0, 1.0, 0.0)
    if counted.max() < MAX_EXACT and np.array_equal(counted, np.rint(counted)):
        return weight / float(np.gcd.reduce(counted.astype(np.int64)))
    return weight


def number_of_draws(counts: Floats) -> int:
    """The number of rows, with repetitions."""
    return round(float(counts.sum())) if are_whole(counts) else counts.size


@contextmanager
def _room_for(n_draws: int, n_bytes: int) -> Generator[None]:
    """Raise MemoryError for a sample that does not fit; large samples are drawn one at a time."""
    if n_bytes <= LARGE:
        yield
        return
    with _one_large:
        reject_too_many_draws(n_draws, n_bytes)
        yield


def draw(weight: Floats, order: NDArray[np.int64], n_draws: int, seed: int) -> Floats:
    """Counts of the rows in `n_draws` draws by weight, with replacement.

    Sorted uniform numbers, made from exponential spacings, fall into the intervals of the rows in [0, 1]:

        0 |--row 4--|-----row 0-----|-row 2-|---- ... ----| 1      rows in `order`, lengths by weight
               x          x  x                    x                counts 1, 2, 0, ...
    """
    ends = np.cumsum(weight[order])
    with _room_for(n_draws, BYTES_A_DRAW * n_draws):
        spacings = np.cumsum(np.random.default_rng(seed).exponential(size=n_draws + 1))
        n_below = np.searchsorted(spacings[:-1] / spacings[-1], ends / ends[-1], side="right")
    counts = np.empty(weight.size)
    counts[order] = np.diff(n_below, prepend=0)
    return counts


def draw_without(weight: Floats, order: NDArray[np.int64], n_draws: int, seed: int) -> Floats:
    """Counts of the rows in `n_draws` draws by weight, without replacement.

    A row of integer weight w has w tickets, in `order`, and sorted tickets are drawn:

        0 |-row 4-|-row 0-|-row 2-|- ... -| N      N tickets, the number of rows with repetitions
             x       x  x            x             counts 1, 2, 0, ...

    With other weights a row is drawn at most once: the rows of the smallest exponential times, divided by the weights
    (Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006).
    """
    rng = np.random.default_rng(seed)
    counts = np.zeros(weight.size)
    if are_whole(weight):
        ends = np.cumsum(weight[order]).astype(np.int64)
        n_tickets = int(ends[-1])
        # NumPy makes an array of all tickets unless it draws few of them
        n_bytes = BYTES_A_DRAW * n_draws + (8 * n_tickets if 50 * n_draws > n_tickets else 0)
        with _room_for(n_draws, n_bytes):
            tickets = np.sort(rng.choice(n_tickets, n_draws, replace=False, shuffle=False))
            n_below = np.searchsorted(tickets, ends, side="left")
        counts[order] = np.diff(n_below, prepend=0)
        return counts
    possible = order[weight[order] > 0.0]
    times = rng.exponential(size=possible.size) / weight[possible]
    counts[possible[np.argsort(times, kind="stable")[:n_draws]]] = 1.0
    return counts
