"""Quantile bins of one column and the codes of its values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def naive_bins(values: Floats, weights: Floats | None, max_bins: int) -> tuple[Floats, Floats]:
    """Smallest and largest value (`lower`, `upper`) of each bin of a column.

    A bin for each distinct value if there are at most `max_bins`. Else a value that weighs 1/max_bins of the total has
    a bin of its own, which costs two bins, and the other values share b = max_bins - 2 * (such values) bins: a cut
    after the first value where their cumulative weight reaches k/b of their total, for k = 1..b-1. With b < 1 no value
    is special. Missing values and rows of no weight do not count.
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
    total = sum(weight_of.values())
    heavy = [i for i, v in enumerate(distinct) if weight_of[v] * max_bins >= total]
    n_bins = max_bins - 2 * len(heavy)
    if n_bins < 1:
        heavy, n_bins = [], max_bins
    cumulative = np.cumsum([0.0 if i in heavy else weight_of[v] for i, v in enumerate(distinct)])
    cuts = {_first_reaching(cumulative, k, n_bins) for k in range(1, n_bins)}
    cuts |= set(heavy) | {i - 1 for i in heavy if i > 0}
    cuts -= {len(distinct) - 1}
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
