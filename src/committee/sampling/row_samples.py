"""The rows that a member of an ensemble learns from, drawn anew from its seed; the others judge it.

A row of whole weight 3 is three rows: it has three places, and samples are drawn from places, so a weight means what
repetition means. A row is out of bag only if none of its places was drawn: what learned from a row never judges it.
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
    """The rows laid end to end, in an order that depends on their values alone; a row of weight 3 has three places.

    A weight that is no whole number, or one among large ones, is the weight of a single place.
    """

    row: Indices  # [places], the row that owns the place
    weight: Floats  # [places]
    n_rows: int
    has_copies: bool

    @classmethod
    def lay_out(cls, order: Indices, weight: Floats) -> Places:
        """Places for rows in this order, none for rows without weight."""
        owners = order[weight[order] > 0.0]
        w = weight[owners]
        if not are_whole(w):
            return cls(owners, w, weight.size, False)
        row = np.repeat(owners, w.astype(np.int64))
        return cls(row, np.ones(row.size), weight.size, row.size > owners.size)

    @property
    def are_rows(self) -> bool:
        """Does every place count as one row?"""
        return bool(self.has_copies or np.all(self.weight == 1.0))

    def sum_by_row(self, counts: Floats) -> Floats:
        """How often each row was drawn, from how often each place was."""
        return np.bincount(self.row, counts, minlength=self.n_rows).astype(np.float64, copy=False)


class Sampler(NamedTuple):
    """How samples are drawn from rows of these weights; the seed of a member decides its sample.

    | kind | sample |
    |---|---|
    | all | every row with its weight |
    | bootstrap | `n_draws` places with replacement, each as likely as any other |
    | weighted | the same by the weights of the places |
    | pasting | `n_draws` places without replacement |
    | balanced | `n_draws` places of every class with replacement (Chen, Liaw and Breiman 2004) |
    """

    weight: Floats  # [rows]
    places: Places
    n_draws: int
    kind: Literal["all", "bootstrap", "weighted", "pasting", "balanced"]
    order: Indices = NONE  # of the rows by content, where it is kept
    codes: Indices = NONE  # class of every row, for balanced samples

    def draw(self, seed: int) -> Floats:
        """How often each place is in the sample of the member with this seed."""
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
        """The weight of every row in the sample of the member with this seed; 0 means not in it."""
        return self.weight if self.kind == "all" else self.places.sum_by_row(self.draw(seed))

    def out_of_bag(self, weights: Floats) -> Indices:
        """Rows that count but are not in the sample of these weights."""
        return np.flatnonzero((weights == 0.0) & (self.weight > 0.0))
