"""The scales of the columns: |w| and distances depend on them."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.tabular.encoder import CONSTANT, fit_scale
from committee.tabular.schema import Columns

SPREAD = 100.0
"""Ratio of the ranges of two columns above which a warning is issued."""

MIN_ROWS, MAX_ROWS = 10, 4096
"""Minimum number of rows for the warning; maximum number of evenly spaced rows that are examined."""

MAX_VALUE = 1e100
"""Maximum |x|: sums of weighted squares stay far from the end of float64."""


class Scaling(NamedTuple):
    """z = (x - shift) / scale, to mean 0 and standard deviation 1; a constant column has an infinite scale.

    >>> scaling = fit_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2))
    >>> scaling.apply(np.array([[5.0, 7.0]])).tolist()
    [[3.0, 0.0]]
    """

    shift: Floats  # [d]
    scale: Floats  # [d]

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """A scaled copy, in the precision of X."""
        if X.dtype == np.float32:
            # Subtracted in float64: a large mean would take the digits of small differences with it
            return ((X - self.shift) / self.scale).astype(np.float32)
        return (X - self.shift) / self.scale


def fit_scaling(X: NDArray[np.floating], weight: Floats) -> Scaling:
    """Weighted mean and standard deviation of every column."""
    scales = [fit_scale(column.astype(np.float64), weight) for column in X.T]
    return Scaling(*np.array(scales, np.float64).reshape(-1, 2).T.copy())


def warn_of_scales(X: NDArray[np.floating], columns: Columns, stacklevel: int = 3) -> None:
    """Warn of columns whose ranges differ so much that the small ones have little influence."""
    if len(X) < MIN_ROWS:
        return
    some = np.ascontiguousarray(X[:: -(-len(X) // MAX_ROWS)].T)  # over few columns NumPy is slow
    highest, lowest = some.max(axis=1).astype(np.float64), some.min(axis=1)
    spread = highest - lowest
    varying = np.flatnonzero(spread > CONSTANT * np.maximum(highest, -lowest))
    if varying.size < 2:
        return
    widest, narrowest = varying[spread[varying].argmax()], varying[spread[varying].argmin()]
    if spread[widest] > SPREAD * spread[narrowest]:
        warnings.warn(
            f"The columns of X differ in scale: the range of {columns.name(int(widest))} is {spread[widest]:.3g}, that "
            f"of {columns.name(int(narrowest))} {spread[narrowest]:.3g}. The influence of a column on an SVM depends "
            "on its scale: pass scale=True, or scale the columns.",
            UserWarning,
            stacklevel=stacklevel,
        )


def reject_values(X: NDArray[np.floating], columns: Columns, name: str) -> None:
    """Raise ValueError for missing values and for those whose squares are beyond float64."""
    if -MAX_VALUE <= float(X.min()) and float(X.max()) <= MAX_VALUE:  # nan fails too
        return
    lowest, highest = X.min(axis=0), X.max(axis=0)
    missing = np.flatnonzero(np.isnan(lowest))
    if missing.size:
        raise ValueError(
            f"Input X contains NaN, which {name} does not accept: fill the missing values of column "
            f"{columns.name(int(missing[0]))} in, or drop these rows."
        )
    largest = np.maximum(np.abs(lowest), np.abs(highest)).astype(np.float64)
    raise ValueError(
        f"The largest |x| of column {columns.name(int(largest.argmax()))} is {largest.max():.3g}, too large for sums "
        "of squares in float64: divide the column by a number of that size."
    )
