"""The rows each tree of a forest learns from, as a weight per row.

A draw depends on the values of the rows and not on their order (parts/resampling), so a whole weight draws exactly as
so many equal rows would, under bootstrap too.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.parts.resampling import content_order, draw, draw_without, number_of_draws

Floats = NDArray[np.float64]


class Sampler(NamedTuple):
    """How samples are drawn from rows of these weights; the seed of a member decides its sample."""

    weight: Floats
    order: NDArray[np.int64]  # by content; empty where nothing is drawn
    n_draws: int
    kind: Literal["all", "bootstrap", "pasting", "balanced"]
    codes: NDArray[np.int64]  # class of every row, for balanced samples

    def weights(self, seed: int) -> Floats:
        """The weight of every row in the sample of the member with this seed; 0 means out of bag."""
        if self.kind == "all":
            return self.weight
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
    n_rows = number_of_draws(weight[weight > 0.0])
    n_draws = _n_draws(max_samples, n_rows)
    no_codes = np.empty(0, np.int64)
    if not bootstrap and n_draws >= n_rows:
        return Sampler(weight, np.empty(0, np.int64), n_rows, "all", no_codes)
    order = content_order(X, np.asarray(target, np.float64).reshape(len(X), -1)[:, 0])
    if bootstrap == "balanced":
        codes = np.asarray(target, np.int64)
        rarest = min(number_of_draws(weight[(codes == k) & (weight > 0.0)]) for k in np.unique(codes[weight > 0.0]))
        return Sampler(weight, order, max(1, min(n_draws, rarest)), "balanced", codes)
    return Sampler(weight, order, n_draws, "bootstrap" if bootstrap else "pasting", no_codes)


def _n_draws(max_samples: int | float | None, n_rows: int) -> int:
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, int | np.integer):
        if max_samples > n_rows:
            raise ValueError(f"max_samples={max_samples} is more than the {n_rows} rows: take at most that many.")
        return int(max_samples)
    return max(1, round(n_rows * float(max_samples)))
