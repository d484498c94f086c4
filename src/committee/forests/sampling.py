"""The rows each tree of a forest learns from, as a weight per row.

A draw depends on the values of the rows and not on their order (parts/resampling), so a whole weight draws exactly as
so many equal rows would, under bootstrap too.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.parts.resampling import are_whole, content_order, draw, draw_without, number_of_draws

Floats = NDArray[np.float64]

MOST_TICKETS = 8
"""For each row on average; heavier rows are drawn by other means, which take longer."""


class Sampler(NamedTuple):
    """How samples are drawn from rows of these weights; the seed of a member decides its sample.

    A row of a whole weight owns so many tickets, and tickets are drawn. They stand in the order of the rows' contents,
    so it makes no difference whether a row weighs 3 or comes three times.
    """

    weight: Floats
    order: NDArray[np.int64]  # by content; empty where nothing is drawn
    tickets: NDArray[np.int64]  # the row of every ticket; empty where weights are not whole
    n_draws: int
    kind: Literal["all", "bootstrap", "pasting", "balanced"]
    codes: NDArray[np.int64]  # class of every row, for balanced samples

    def weights(self, seed: int) -> Floats:
        """The weight of every row in the sample of the member with this seed; 0 means out of bag."""
        if self.kind == "all":
            return self.weight
        if self.kind == "bootstrap" and self.tickets.size:
            drawn = np.random.default_rng(seed).integers(0, self.tickets.size, self.n_draws)
            return np.bincount(self.tickets[drawn], minlength=self.weight.size).astype(np.float64)
        if self.kind == "bootstrap":
            return draw(self.weight, self.order, self.n_draws, seed)
        if self.kind == "pasting":
            return draw_without(self.weight, self.order, self.n_draws, seed)
        counts = np.zeros(self.weight.size)
        for k in range(int(self.codes.max()) + 1):
            of_class = np.where(self.codes == k, self.weight, 0.0)
            if of_class.any():
                counts += draw(of_class, self.order, self.n_draws, seed + k)
        return counts

    def out_of_bag(self, weights: Floats) -> NDArray[np.int64]:
        """Rows that count but are not in the sample."""
        return np.flatnonzero((weights == 0.0) & (self.weight > 0.0))


def make_sampler(
    X: NDArray[np.floating],
    target: NDArray[np.integer] | Floats,
    weight: Floats,
    bootstrap: bool | Literal["balanced"],
    max_samples: int | float | None,
) -> Sampler:
    """`max_samples` is a number of draws, or a share of the number of rows; None means as many as there are rows.

    A balanced bootstrap (Chen, Liaw and Breiman 2004) draws from every class as many rows as the rarest one has.
    """
    given, weight = weight, _as_counts(weight)
    n_rows = number_of_draws(weight[weight > 0.0])
    n_draws = _n_draws(max_samples, n_rows)
    none = np.empty(0, np.int64)
    if not bootstrap and n_draws >= n_rows:
        return Sampler(given, none, none, n_rows, "all", none)
    order = content_order(X, np.asarray(target, np.float64).reshape(len(X), -1)[:, 0])
    if bootstrap == "balanced":
        codes = np.asarray(target, np.int64)
        rarest = min(number_of_draws(weight[(codes == k) & (weight > 0.0)]) for k in np.unique(codes[weight > 0.0]))
        return Sampler(weight, order, none, max(1, min(n_draws, rarest)), "balanced", codes)
    if not bootstrap:
        return Sampler(weight, order, none, n_draws, "pasting", none)
    has_tickets = are_whole(weight) and float(weight.sum()) <= MOST_TICKETS * weight.size
    tickets = np.repeat(order, weight[order].astype(np.int64)) if has_tickets else none
    return Sampler(weight, order, tickets, n_draws, "bootstrap", none)


def _as_counts(weight: Floats) -> Floats:
    """Equal weights that are no numbers of rows mean one row each."""
    counted = weight[weight > 0.0]
    return weight / counted[0] if not are_whole(weight) and np.all(counted == counted[0]) else weight


def _n_draws(max_samples: int | float | None, n_rows: int) -> int:
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, int | np.integer):
        if max_samples > n_rows:
            raise ValueError(f"max_samples={max_samples} is more than the {n_rows} rows: take at most that many.")
        return int(max_samples)
    return max(1, round(n_rows * float(max_samples)))
