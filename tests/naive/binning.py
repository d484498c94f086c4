"""Quantile bins of one column and the codes of its values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def naive_bins(values: Floats, weights: Floats | None, max_bins: int) -> tuple[Floats, Floats]:
    """Smallest and largest value (`lower`, `upper`) of each bin of a column.

    A bin for each distinct value if there are at most `max_bins`; else a cut after the first value whose cumulative
    weight reaches k/max_bins of the total, for k = 1..max_bins-1. Missing values and rows of no weight do not count.
    """
    values = np.asarray(values, np.float64)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    weight_of: dict[float, float] = {}
    for v, w in zip(values.tolist(), weights.tolist(), strict=True):
        if not np.isnan(v) and w > 0:
            weight_of[v] = weight_of.get(v, 0.0) + w
    distinct = sorted(weight_of)
    if len(distinct) <= max_bins:
        return np.array(distinct), np.array(distinct)
    cumulative = np.cumsum([weight_of[v] for v in distinct])
    cuts = {_first_reaching(cumulative, k, max_bins) for k in range(1, max_bins)} - {len(distinct) - 1}
    ends = [*sorted(cuts), len(distinct) - 1]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return np.array([distinct[i] for i in starts]), np.array([distinct[i] for i in ends])


def _first_reaching(cumulative: Floats, k: int, max_bins: int) -> int:
    total = cumulative[-1]
    for i, weight in enumerate(cumulative):
        if weight * max_bins >= k * total:
            return i
    return len(cumulative) - 1


def midpoint(low: float, high: float) -> float:
    """A number t with low <= t < high, half-way where floating point allows."""
    with np.errstate(invalid="ignore"):  # -inf/2 + inf/2
        middle = low / 2 + high / 2
    return middle if np.isfinite(middle) and middle != high else low


def naive_codes(values: Floats, lower: Floats, upper: Floats) -> NDArray[np.int64]:
    """The bin of each value: how many edges lie strictly below it; the number of bins for a missing value."""
    edges = [midpoint(float(upper[b]), float(lower[b + 1])) for b in range(len(lower) - 1)]
    return np.array([len(lower) if np.isnan(v) else sum(e < v for e in edges) for v in values], np.int64)
