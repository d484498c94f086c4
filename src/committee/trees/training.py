"""A coded training table on which trees are grown, once or again and again under other weights."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.rng import member_seeds
from committee.records.binned import BinnedMatrix
from committee.records.tree import Tree
from committee.tabular.schema import Columns
from committee.tree_engine.binning import BinMapper
from committee.tree_engine.growing import grow_placed
from committee.tree_engine.histogram_trees import TreeSeries
from committee.tree_engine.histograms import make_tiles
from committee.tree_engine.limits import tree_constraints, tree_limits
from committee.tree_engine.response import PACKED_WEIGHT_BITS, Response

EXACT_ROWS = 100_000
"""splitter="auto" grows exact trees up to this many rows and binned ones beyond."""


class TreeSettings(Protocol):
    """The part of a tree estimator that decides how its trees grow."""

    def tree_params(self) -> dict[str, Any]: ...

    def make_response(self, target: NDArray[Any], weight: Floats, weight_bits: int | None = None) -> Response: ...


class Training:
    """A coded training table and the settings of the trees grown on it."""

    def __init__(
        self, estimator: TreeSettings, columns: Columns, X: NDArray[np.floating], target: Any, weight: Floats
    ) -> None:
        params = estimator.tree_params()
        self.estimator, self.columns, self.X, self.target, self.weight = estimator, columns, X, target, weight
        self.params = params
        self.constraints = tree_constraints(params["monotonic_cst"], params["interaction_cst"], columns)
        self.seed = int(member_seeds(params["random_state"], 1)[0])
        self.matrix = self._code()
        self.weight_bits: int | None = None
        self.series: TreeSeries | None = None

    def expect_many(self) -> None:
        """Prepare for many trees under changing weights: keep the tiles, pack each weight into half a word."""
        if not self.matrix.is_exact:
            self.matrix = self.matrix._replace(tiles=make_tiles(self.matrix.codes))
            self.weight_bits = PACKED_WEIGHT_BITS
            self._make_series()

    def _make_series(self) -> None:
        """Use the faster growth of small trees of two classes where the settings allow it."""
        response = self.estimator.make_response(self.target, self.weight, self.weight_bits)
        limits = tree_limits(self.params, response, self.columns.n_features, self.constraints)
        if TreeSeries.suits(response, limits, self.matrix):
            min_fraction = float(self.params["min_weight_fraction_leaf"])
            self.series = TreeSeries(
                self.matrix, response, limits, self.constraints, min_fraction, self.params["n_jobs"]
            )

    def _code(self) -> BinnedMatrix:
        splitter, max_bins = self.params["splitter"], self.params["max_bins"]
        binned = splitter == "binned" or (splitter == "auto" and len(self.X) > EXACT_ROWS)
        has_weights = bool(np.any(self.weight != self.weight[0]))
        return BinMapper(max_bins if binned else None).fit_transform(
            self.X, self.weight if has_weights else None, self.columns.is_categorical, self.params["n_jobs"]
        )

    def grow(self, weight: Floats) -> Tree:
        """Grow a tree under these weights."""
        return self.grow_placed(weight, self.seed)[0]

    def grow_placed(self, weight: Floats, seed: int) -> tuple[Tree, NDArray[np.int64]]:
        """Grow a tree under these weights; also return the leaf of every row, -1 for rows of weight zero."""
        if self.series is not None:
            return self.series.grow(weight, seed)
        response = self.estimator.make_response(self.target, weight, self.weight_bits)
        limits = tree_limits(self.params, response, self.columns.n_features, self.constraints)
        return grow_placed(self.matrix, response, limits, self.constraints, seed=seed, n_jobs=self.params["n_jobs"])

    def grow_on(self, rows: NDArray[np.int64]) -> Tree:
        """Grow a tree on some of the rows."""
        weight = np.zeros_like(self.weight)
        weight[rows] = self.weight[rows]
        return self.grow(weight)
