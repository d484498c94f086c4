"""What gradient boosting takes for "auto", as measured on public data (benchmarks/QUALITY.md)."""

from __future__ import annotations

import math
from typing import NamedTuple


class Automatic(NamedTuple):
    """Values by the names of the parameters."""

    max_leaf_nodes: int
    min_samples_leaf: int
    l2_regularization: float
    max_features: float


PLAIN = Automatic(31, 20, 0.0, 1.0)
"""With a number of rounds given: what LightGBM takes."""

CHOSEN = Automatic(15, 10, 1.0, 0.5)
"""With rounds chosen by validation: small trees of random features, whose errors an average takes away."""


def automatic(chooses_rounds: bool) -> Automatic:
    return CHOSEN if chooses_rounds else PLAIN


MANY_SCORES, MAX_FACTOR = 50_000, 3.0
"""Scores (rows times classes) from which on steps are larger, and by how much at most."""


def automatic_rate(n: int, n_heads: int = 1) -> float:
    """Smaller steps for small tables, whose rounds cost little: 0.05 up to 1,000 rows, 0.1 from 10,000 on.

    With many classes a round costs a tree for each, and hundreds of rounds would take minutes: up to three times larger
    steps there, by the root of the scores above 50,000. On 20,000 rows of 18 classes that takes 30 % of the time, with
    the same log-loss.

    >>> automatic_rate(20_000), round(automatic_rate(20_000, 18), 3)
    (0.1, 0.268)
    """
    share = math.log10(max(n, 1)) - 3.0
    rate = 0.05 + 0.05 * min(max(share, 0.0), 1.0)
    if n_heads < 3:
        return rate
    return rate * min(max(math.sqrt(n * n_heads / MANY_SCORES), 1.0), MAX_FACTOR)
