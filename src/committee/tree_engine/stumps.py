"""Search of the stump of largest edge on one table with changing weights, for boosting."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.threads import n_threads, run
from committee.kernels.trees.histogram import TILE
from committee.kernels.trees.stump import (
    ROW_BITS,
    divide_rows,
    pick_cut,
    presort,
    sign_weights,
    sum_bins,
    sweep_bins,
    sweep_orders,
)
from committee.records.binned import BinnedMatrix
from committee.records.tree import LEAF, Tree
from committee.tree_engine.binning import midpoints
from committee.tree_engine.histograms import make_tiles

WEIGHT_UNITS = 2.0**52
"""Units of a weight of 1: sums of integer weights do not depend on the order of the additions."""


_LEFT = {1: np.array([LEAF], np.int32), 3: np.array([1, LEAF, LEAF], np.int32)}
_NO_SET = np.full(3, -1, np.int32)


class Stump(NamedTuple):
    """A cut of the binned table and the predictions of its two sides; feature -1 is a constant prediction."""

    feature: int
    code: int  # the largest that goes left
    missing_left: bool
    left: int  # -1 or +1
    right: int


class StumpSearch:
    """A table prepared for many searches: columns presorted, or binned in tiles."""

    def __init__(self, matrix: BinnedMatrix, n_jobs: int | None) -> None:
        self.matrix, self.n_jobs = matrix, n_jobs
        d, n = matrix.codes.shape
        self.result, self.best = np.zeros((d, 5), np.int64), np.zeros(4, np.int64)
        self.signed = np.empty(n, np.int64)
        self.threads = n_threads(n_jobs, n * d * 2 // 3)  # a cell takes less time here than in sorts
        if matrix.is_exact:
            self.orders, self.n_missing = _presort(matrix)
        else:
            tiles = make_tiles(matrix.codes) if matrix.tiles is None else matrix.tiles
            self.words = tiles.view(np.uint32)

    def find(self, y: NDArray[np.int8], weight: NDArray[np.float64]) -> Stump:
        """The stump of largest edge sum w y h, among them constant predictions, which are preferred in ties."""
        total = sign_weights(y, weight, WEIGHT_UNITS, self.signed)
        if self.matrix.is_exact:
            self._sweep_orders(self.signed)
        else:
            self._sweep_bins(self.signed)
        pick_cut(self.result, total, self.best)
        feature, at, missing_left, left = self.best.tolist()
        if feature < 0:
            constant = 1 if total > 0 else -1
            return Stump(-1, -1, True, constant, constant)
        polarity = (1 if left > 0 else -1, 1 if total - left > 0 else -1)
        return Stump(feature, self._code(feature, at), missing_left == 1, *polarity)

    def _sweep_orders(self, signed: NDArray[np.int64]) -> None:
        ends = [len(self.orders) * i // self.threads for i in range(self.threads + 1)]
        arrays = (self.orders, self.n_missing, signed, self.result)
        run(sweep_orders, [(a, b, *arrays) for a, b in pairwise(ends)], self.threads)

    def _sweep_bins(self, signed: NDArray[np.int64]) -> None:
        d, n = self.matrix.codes.shape
        sums = np.zeros((self.threads, self.words.shape[0] * TILE * 256), np.int64)
        ends = [n * i // self.threads for i in range(self.threads + 1)]
        calls = [(self.words, d, ends[i], ends[i + 1], signed, sums[i]) for i in range(self.threads)]
        run(sum_bins, calls, self.threads)
        sweep_bins(sums.sum(axis=0) if self.threads > 1 else sums[0], self.matrix.n_bins, self.result)

    def _code(self, feature: int, position: int) -> int:
        if not self.matrix.is_exact:
            return position
        row = self.orders[feature, position] & ROW_BITS
        return int(self.matrix.codes[feature, row])

    def divide(
        self, stump: Stump, y: NDArray[np.int8], weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Predictions of the stump, and weight and number of the rows by side and class [2, 2, 2]."""
        predictions, sums = np.empty(y.size, np.int8), np.empty((2, 2, 2))
        f = max(stump.feature, 0)
        n_codes = int(self.matrix.n_bins[f])
        if stump.feature < 0:
            stump = stump._replace(code=n_codes)  # without a cut all rows are on the left
        divide_rows(self.matrix.codes[f], n_codes, stump, y, weight, predictions, sums)
        return predictions, sums

    def as_tree(self, stump: Stump, sums: NDArray[np.float64]) -> Tree:
        """The stump as a tree of three nodes, or of one for a constant prediction.

        The prediction of a side is the stump's also if the weights of its classes are equal.
        """
        both = sums[0] + sums[1]
        if stump.feature < 0:
            sides = [_side(both, stump.left)]
        else:
            sides = [_side(both, 0), _side(sums[0], stump.left), _side(sums[1], stump.right)]
        frequency, weight, n_rows = zip(*sides, strict=True)
        value = np.array(frequency)
        impurity = 1.0 - value.max(axis=1)
        m = len(sides)
        gain = np.zeros(m)
        if m == 3:
            gain[0] = impurity[0] - (weight[1] * impurity[1] + weight[2] * impurity[2]) / weight[0]
        return Tree(
            feature=np.array([stump.feature, LEAF, LEAF][:m], np.int32),
            threshold=np.array([self._threshold(stump), np.nan, np.nan][:m]),
            left=_LEFT[m].copy(),
            missing_left=np.array([stump.missing_left and m == 3, False, False][:m]),
            category_set=_NO_SET[:m],
            categories=np.empty((0, 4), np.uint64),
            value=value,
            impurity=impurity,
            gain=gain,
            n_samples=np.array(n_rows, np.int64),
            weight=np.array(weight),
        )

    def _threshold(self, stump: Stump) -> float:
        if stump.feature < 0:
            return math.nan
        if stump.code + 1 == self.matrix.n_bins[stump.feature]:
            return float(np.finfo(np.float64).max)  # every value left, the missing ones right
        at = int(self.matrix.offsets[stump.feature]) + stump.code
        return float(midpoints(self.matrix.upper[at], self.matrix.lower[at + 1]))


def _side(sums: NDArray[np.float64], prediction: int) -> tuple[list[float], float, float]:
    """Class frequencies, weight and number of rows of one side; a tie is broken in favour of the prediction.

    Plain floats, as NumPy is slow on two numbers.
    """
    (negative, n_negative), (positive, n_positive) = sums.tolist()
    weight = negative + positive
    frequency = [negative / weight, positive / weight] if weight > 0.0 else [0.5, 0.5]
    predicted, other = (1, 0) if prediction > 0 else (0, 1)
    if prediction != 0 and frequency[predicted] <= frequency[other]:
        frequency[predicted] = math.nextafter(max(frequency[other], 0.5), 1.0)
    return frequency, weight, n_negative + n_positive


def _presort(matrix: BinnedMatrix) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    d, n = matrix.codes.shape
    orders, n_missing = np.empty((d, n), np.uint32), np.empty(d, np.int64)
    counters = np.empty(int(matrix.n_bins.max(initial=0)) + 2, np.int64)
    for f in range(d):
        n_missing[f] = presort(matrix.codes[f], int(matrix.n_bins[f]), counters, orders[f])
    return orders, n_missing
