"""The naive twin of the table encoder: every cell by itself, from the definition."""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from committee.tabular.encoder import EncoderOptions
from committee.tabular.schema import Columns

Rows = list[list[float]]


def encode(columns: Columns, train: Rows, weight: list[float], table: Rows, options: EncoderOptions) -> Rows:
    """Fit on `train` and encode `table`, one list for each row."""
    parts = [
        part for f in range(columns.n_features) for part in parts_of(columns, f, [r[f] for r in train], weight, options)
    ]
    ones = [1.0] * options.adds_ones
    return [[part(row) for part in parts] + ones for row in table]


def parts_of(columns: Columns, f: int, values: list[float], weight: list[float], options: EncoderOptions) -> list[Any]:
    pairs = [(x, w) for x, w in zip(values, weight, strict=True) if w > 0.0]
    known = [(x, w) for x, w in pairs if not math.isnan(x)]
    flag = [lambda row: float(math.isnan(row[f]))] if len(known) < len(pairs) and options.flags_missing else []
    if columns.categories[f] is not None:
        total = sum(w for _, w in pairs)
        fractions = [sum(w for x, w in known if x == code) / total for code in range(columns.n_codes(f))]
        codes = [code for code, p in enumerate(fractions) if not (options.drops_constant and p in (0.0, 1.0))]
        codes = sorted(sorted(codes, key=lambda code: -fractions[code])[: options.max_categories])
        return [indicator(f, code, fractions[code], options) for code in codes]
    if not known:
        return flag
    if options.fill == "median":
        ordered, half = sorted(known), sum(w for _, w in known) / 2.0
        median = next(x for i, (x, _) in enumerate(ordered) if sum(w for _, w in ordered[: i + 1]) >= half)
        known = [(median if math.isnan(x) else x, w) for x, w in pairs]
    mean = sum(x * w for x, w in known) / sum(w for _, w in known)
    deviation = math.sqrt(sum(w * (x - mean) ** 2 for x, w in known) / sum(w for _, w in known))
    is_constant = len({x for x, _ in known}) == 1
    if is_constant and options.drops_constant and not flag:
        return []
    fill = (median - mean) / deviation if options.fill == "median" and not is_constant else 0.0
    if is_constant:
        return [lambda row: 0.0, *flag]
    number = rank(f, [x for x, _ in known]) if options.is_ranked else lambda row: (row[f] - mean) / deviation
    limit = options.limit
    return [lambda row: fill if math.isnan(row[f]) else min(max(number(row), -limit), limit), *flag]


def indicator(f: int, code: int, fraction: float, options: EncoderOptions) -> Any:
    if options.categories == "indicator":
        return lambda row: float(row[f] == code)
    if options.categories == "centred":
        return lambda row: float(row[f] == code) - fraction
    deviation = math.sqrt(fraction * (1.0 - fraction)) or math.inf
    return lambda row: 0.0 if math.isnan(row[f]) else (float(row[f] == code) - fraction) / deviation


def rank(f: int, values: list[float]) -> Any:
    """The normal quantile of the middle rank of known values; new ones lie between their neighbours."""

    def score(x: float) -> float:
        below, equal = sum(v < x for v in values), sum(v == x for v in values)
        return float(norm.ppf((below + 0.5 * equal) / len(values)))

    def number(row: list[float]) -> float:
        x = min(max(row[f], min(values)), max(values))
        low, high = max(v for v in values if v <= x), min(v for v in values if v >= x)
        part = 0.0 if low == high else (x - low) / (high - low)
        return (1.0 - part) * score(low) + part * score(high)

    return number
