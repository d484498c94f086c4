"""Values of gradient boosting for "auto", chosen on public data (benchmarks/QUALITY.md)."""

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
"""For a given number of rounds: the defaults of LightGBM."""

CHOSEN = Automatic(15, 10, 1.0, 0.5)
"""For a number of rounds chosen by validation: small trees on random features, for the mean of several models."""


LEAVES_BESIDE_CELLS = 8
"""Number of leaves where validation chooses the number of rounds and a column has many categories.

Cell rounds (cells.py) fit effects of pairs of columns, so the other trees may be smaller.
"""


def automatic(chooses_rounds: bool, has_many_categories: bool = False) -> Automatic:
    if chooses_rounds and has_many_categories:
        return CHOSEN._replace(max_leaf_nodes=LEAVES_BESIDE_CELLS)
    return CHOSEN if chooses_rounds else PLAIN


MANY_SCORES, MAX_FACTOR = 50_000, 3.0
"""Number of scores (rows times classes) above which the learning rate is larger, and the largest factor."""


def automatic_rate(n: int, n_outputs: int = 1) -> float:
    """The automatic learning rate: 0.05 up to 1,000 rows, 0.1 from 10,000 rows on.

    With three or more classes a round fits a tree for each class: the rate is larger by the root of the number of
    scores above 50,000, at most three times. On 20,000 rows of 18 classes the fit takes 30 % of the time, with the
    same log-loss.

    >>> automatic_rate(20_000), round(automatic_rate(20_000, 18), 3)
    (0.1, 0.268)
    """
    position = math.log10(max(n, 1)) - 3.0  # 0 at 1,000 rows, 1 at 10,000
    rate = 0.05 + 0.05 * min(max(position, 0.0), 1.0)
    if n_outputs < 3:
        return rate
    return rate * min(max(math.sqrt(n * n_outputs / MANY_SCORES), 1.0), MAX_FACTOR)
