"""Binned tables, on which trees are grown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class BinnedMatrix(NamedTuple):
    """Columns as integer codes that keep the order of the values.

    One layout serves both kinds of growth. Binned: ``codes`` is uint8 and a code is a quantile bin. Exact: ``codes``
    is uint32 and a code is the dense rank of the value, a bin of its own for every distinct value.

    For feature ``f`` the codes ``0 .. n_bins[f] - 1`` are values in ascending order (or categories) and the code
    ``n_bins[f]`` means missing. ``lower`` and ``upper`` hold the smallest and largest training value of each bin,
    feature ``f`` at ``offsets[f]:offsets[f + 1]``: the threshold of a split between the bins a < b is half-way between
    ``upper[a]`` and ``lower[b]``.
    """

    codes: NDArray[np.unsignedinteger]  # [d, n]
    n_bins: NDArray[np.int64]  # [d]
    offsets: NDArray[np.int64]  # [d + 1]
    lower: NDArray[np.float64]  # [offsets[d]]
    upper: NDArray[np.float64]  # [offsets[d]]
    is_categorical: NDArray[np.bool_]  # [d]
    tiles: NDArray[np.uint8] | None = None  # [tiles, n, 32] binned codes by rows, made where histograms need them

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]

    @property
    def n_features(self) -> int:
        return self.codes.shape[0]

    @property
    def is_exact(self) -> bool:
        return self.codes.dtype != np.uint8
