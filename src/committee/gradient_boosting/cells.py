"""Rounds of boosting that fit the cells of two columns, one of them of many categories.

A tree searches one column at a time. If origin and destination of a route act together, or each airport has its own
slope along the hour, no single split has a gain, so trees find such effects late and by chance. In a cell round the
effects of all cells (a level of one column and a level of another; numbers in a few groups) are estimated together, as
random effects at the current gradients. With G and H the sums over a cell,

    effect = G / (H + noise / variance),    noise = sum of g^2 / sum of h over all rows

is their best linear prediction. The variance of the effects comes from the products of different rows of a cell,

    variance = sum over cells of (G^2 - sum of g^2) / H  /  sum over cells of (H^2 - sum of h^2) / H,

whose numerator has mean zero if there are no effects, whatever the variances of the rows. A pair of columns is used
only if it is well above its standard error. (The noise contains the effects of the cells, so estimates are shrunk a
little more than necessary; without them the losses were slightly larger.) Then an ordinary tree is fitted to the
effects in place of the gradients, on these two columns. Once the effects are fitted, nothing is left to estimate, and
the round fits an ordinary tree to the gradients.

Robinson, That BLUP is a good thing: the estimation of random effects, Statistical Science 1991.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.gradient_boosting.trees import TreeGrower, TreePlan, rounded
from committee.kernels.boosting import cells
from committee.losses.loss import NO_WEIGHTS
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints

FIRST_CELL_ROUND, CELL_PERIOD = 10, 5
"""Cell rounds are every fifth one after the first ten, which fit the effects of single columns."""

MANY_LEVELS = 16
"""A column of more categories than this forms cells; splits divide fewer ones well enough, at half of the time."""

MAX_SEARCHED = 16
"""Maximum number of pairs of columns that a cell round considers, drawn at random."""

CELL_LEAVES = 32
"""Maximum number of leaves of the tree of a cell round, if `max_leaf_nodes` is not given."""

CELL_FACTOR = 10.0
"""Learning rate of cell rounds of two categorical columns relative to others, at most 1: the estimates are shrunk.

Beside a numeric column the learning rate is the ordinary one, as effects are not the same within a group of its values.
"""

N_GROUPS = 8
"""Number of groups of the values of a numeric column, of about the same number of rows."""


class Effects(NamedTuple):
    """The columns of the cells, the effect of the cell of every row, and how large a step is taken."""

    features: NDArray[np.int64]
    effect: Floats
    factor: float  # of the learning rate


def forms_cells(matrix: BinnedMatrix) -> NDArray[np.bool_]:
    """Which columns have more than MANY_LEVELS categories."""
    return matrix.is_categorical & (matrix.n_bins > MANY_LEVELS)


def is_cell_round(t: int) -> bool:
    """Whether round t, counted from 0, estimates cells."""
    return t >= FIRST_CELL_ROUND and t % CELL_PERIOD == CELL_PERIOD - 1


def cell_plan(plan: TreePlan) -> TreePlan:
    """The settings of the trees of cell rounds: the effects are shrunk, so their order needs no penalty."""
    return plan._replace(
        max_leaf_nodes=plan.cell_leaves,
        max_features=2,
        l2=0.0,
        category_smoothing=0.0,
        category_rows=0.0,
        category_penalty=0.0,
    )


class CellGrower:
    """Estimates the effects of cells and grows trees on them."""

    def __init__(
        self, grower: TreeGrower, constraints: Constraints, weight: Floats, counts: Floats, n_jobs: int | None
    ) -> None:
        """`grower` grows the trees of the other rounds on the same table."""
        matrix = grower.matrix._replace(tiles=grower.histograms.tiles)
        self.plan = cell_plan(grower.plan)
        self.grower = TreeGrower(matrix, constraints, self.plan, weight, n_jobs, counts)
        self.pairs = pairs_of_columns(matrix)
        self.is_categorical = matrix.is_categorical
        self.weight = weight
        self.repeats = (counts if counts.size else weight) if grower.totals.has_repeats else NO_WEIGHTS
        each = (levels_of(matrix, f, self.repeats) for f in range(matrix.n_features))
        self.levels, self.n_levels = zip(*each, strict=True)
        self.moments = np.empty((matrix.n_rows, 5))

    def estimate(self, g: Floats, h: Floats, features: NDArray[np.int64] | None, seed: int) -> Effects | None:
        """The effects of the pair of columns that decreases the loss most; None if none has any effect.

        Only pairs of `features` (None: all) are considered, at most MAX_SEARCHED of them, drawn at random.
        """
        pairs = self._draw_pairs(features, seed)
        if not pairs:
            return None
        self._fill_moments(g, h)
        total = self.moments.sum(axis=0)
        if not (total[cells.H] > 0.0 and total[cells.SQUARES] > 0.0):
            return None
        noise = total[cells.SQUARES] / total[cells.H]
        # About the largest of this number of standard normal variables
        least = math.sqrt(2.0 * math.log(len(pairs))) if len(pairs) > 1 else 1.0
        best, result = 0.0, None
        for a, b in pairs:
            decrease, effect = self._shrunk_effects(a, b, noise, least)
            if decrease > best:
                factor = CELL_FACTOR if self.is_categorical[[a, b]].all() else 1.0
                best, result = decrease, Effects(np.unique([a, b]), effect, factor)
        return result

    def _draw_pairs(self, features: NDArray[np.int64] | None, seed: int) -> list[tuple[int, int]]:
        pairs = self.pairs
        if features is not None:
            known = set(features.tolist())
            pairs = [pair for pair in pairs if known.issuperset(pair)]
        if len(pairs) <= MAX_SEARCHED:
            return pairs
        drawn = np.random.default_rng(seed).choice(len(pairs), MAX_SEARCHED, replace=False)
        return [pairs[i] for i in np.sort(drawn)]

    def _fill_moments(self, g: Floats, h: Floats) -> None:
        """The moments of the rows, `cells.G` and others; a row of integer weight w is w rows."""
        repeats = self.repeats if self.repeats.size else 1.0
        share = self.weight / repeats if self.weight.size else 1.0
        a, b = share * g, share * h
        for j, moment in enumerate((a, b, a * a, b * b, a**4)):
            self.moments[:, j] = repeats * moment

    def _shrunk_effects(self, a: int, b: int, noise: float, least: float) -> tuple[float, Floats]:
        """The expected decrease of the loss by the effects of a pair, and the effects of the rows.

        The decrease is 0 if the products of rows are less than `least` standard errors above zero.
        """
        n_second = 1 if a == b else self.n_levels[b]
        second = self.levels[b] if a != b else np.zeros_like(self.levels[a])
        sums = np.empty((self.n_levels[a] * n_second, 5))
        cells.sum_cells(self.levels[a], second, n_second, self.moments, sums)
        products, scale, variance = cells.pair_moments(sums)
        if not (scale > 0.0 and products > least * math.sqrt(max(variance, 0.0))):
            return 0.0, self.moments[:, 0]
        effect = np.empty(self.levels[a].size)
        ratio = rounded(noise * scale / products)
        return cells.shrink_cells(self.levels[a], second, n_second, ratio, sums, effect), effect


def levels_of(matrix: BinnedMatrix, f: int, repeats: Floats) -> tuple[NDArray[np.uint8], int]:
    """The levels of a column and their number: categories, or groups of numbers; missing values are the last level."""
    codes, n_codes = matrix.codes[f], int(matrix.n_bins[f])
    if matrix.is_categorical[f]:
        return np.minimum(codes, n_codes).astype(np.uint8), n_codes + 1
    count = np.bincount(codes, repeats if repeats.size else None, n_codes + 1)[:n_codes]
    middle = (np.cumsum(count) - 0.5 * count) / max(count.sum(), 1)
    group = np.append(np.minimum(middle * N_GROUPS, N_GROUPS - 1), N_GROUPS).astype(np.uint8)
    return group[codes], N_GROUPS + 1


def pairs_of_columns(matrix: BinnedMatrix) -> list[tuple[int, int]]:
    """All pairs with a column of many categories, which also forms a pair with itself: its own levels."""
    many = forms_cells(matrix)
    alone = [(int(f), int(f)) for f in np.flatnonzero(many)]
    return alone + [(a, b) for a, b in combinations(range(matrix.n_features), 2) if many[a] or many[b]]
