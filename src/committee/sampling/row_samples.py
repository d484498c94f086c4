"""Samples of rows for the members of an ensemble, determined by a seed.

A row of integer weight 3 is three rows: it has three places, and samples are drawn from places, so weights and
repetitions are equivalent. A row is out of bag if none of its places was drawn.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.sampling.resampling import are_whole, draw, draw_without

Indices = NDArray[np.int64]

NONE: Indices = np.empty(0, np.int64)


class Places(NamedTuple):
    """The places of the rows, in an order that depends on their values alone; a row of weight 3 has three places.

    With other weights than small integers each row has a single weighted place.
    """

    row: Indices  # [places], the row of the place
    weight: Floats  # [places]
    n_rows: int
    has_copies: bool

    @classmethod
    def lay_out(cls, order: Indices, weight: Floats) -> Places:
        """The places of rows in this order, none for rows of weight zero."""
        owners = order[weight[order] > 0.0]
        w = weight[owners]
        if not are_whole(w):
            return cls(owners, w, weight.size, False)
        row = np.repeat(owners, w.astype(np.int64))
        return cls(row, np.ones(row.size), weight.size, row.size > owners.size)

    @property
    def are_rows(self) -> bool:
        """Whether every place counts as one row."""
        return bool(self.has_copies or np.all(self.weight == 1.0))

    def sum_by_row(self, counts: Floats) -> Floats:
        """Counts of the rows from counts of the places."""
        return np.bincount(self.row, counts, minlength=self.n_rows).astype(np.float64, copy=False)


class Sampler(NamedTuple):
    """How samples are drawn; the seed of a member determines its sample.

    | kind | sample |
    |---|---|
    | all | every row with its weight |
    | bootstrap | `n_draws` places with replacement, with equal probabilities |
    | weighted | `n_draws` places with replacement, by their weights |
    | pasting | `n_draws` places without replacement |
    | balanced | `n_draws` places of every class with replacement (Chen, Liaw and Breiman 2004) |
    """

    weight: Floats  # [rows]
    places: Places
    n_draws: int
    kind: Literal["all", "bootstrap", "weighted", "pasting", "balanced"]
    order: Indices = NONE  # of the rows by their values, if it is kept
    codes: Indices = NONE  # class of every row, for balanced samples

    def draw(self, seed: int) -> Floats:
        """Counts of the places in the sample of this seed."""
        weight = self.places.weight
        if self.kind == "all":
            return weight
        if self.kind == "bootstrap":
            drawn = np.random.default_rng(seed).integers(0, weight.size, self.n_draws)
            return np.bincount(drawn, minlength=weight.size).astype(np.float64)
        if self.kind == "balanced":
            return self._draw_balanced(seed)
        draw_places = draw if self.kind == "weighted" else draw_without
        return draw_places(weight, np.arange(weight.size), self.n_draws, seed)

    def _draw_balanced(self, seed: int) -> Floats:
        codes, counts = self.codes[self.places.row], np.zeros(self.places.row.size)
        for k in np.unique(codes):
            of_class = np.where(codes == k, self.places.weight, 0.0)
            counts += draw(of_class, np.arange(codes.size), self.n_draws, seed + int(k))
        return counts

    def weights(self, seed: int) -> Floats:
        """Weights of the rows in the sample of this seed; 0 for rows outside it."""
        return self.weight if self.kind == "all" else self.places.sum_by_row(self.draw(seed))

    def out_of_bag(self, weights: Floats) -> Indices:
        """Rows of positive weight outside the sample of these weights."""
        return np.flatnonzero((weights == 0.0) & (self.weight > 0.0))
