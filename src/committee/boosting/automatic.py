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


def automatic_rate(n: int) -> float:
    """Smaller steps for small tables, whose rounds cost little: 0.05 up to 1,000 rows, 0.1 from 10,000 on."""
    share = math.log10(max(n, 1)) - 3.0
    return 0.05 + 0.05 * min(max(share, 0.0), 1.0)
