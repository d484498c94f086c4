"""Three rounds of AdaBoost on ten points of a plane (E-14; S2; after Freund and Schapire's illustration).

Five points of either class, so placed that no line along an axis separates them and three such lines, voting, do. The
first stump errs on three points, which then weigh half of all; the second errs on three that the first had right; the
third on those on which both agreed and that weigh least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.boosting.adaboost import AdaBoostClassifier

POINTS = np.array([
    [0.8, 5.2], [1.6, 3.2], [3.6, 8.2], [5.6, 8.8], [7.4, 6.8],
    [3.0, 1.6], [4.4, 5.6], [6.2, 4.2], [8.4, 7.8], [9.0, 2.6],
])  # fmt: skip
LABELS = np.array(["+"] * 5 + ["-"] * 5)


class ThreeRounds(NamedTuple):
    """A booster of three stumps on the ten points, and what each round found."""

    X: Floats
    y: NDArray[np.str_]
    booster: AdaBoostClassifier
    errors: Floats  # [3] of the stumps, under the weights of their rounds
    coefficients: Floats  # [3]
    train_errors: Floats  # [3] of the vote


def three_rounds() -> ThreeRounds:
    """Boost three stumps.

    >>> found = three_rounds()
    >>> found.errors.round(2).tolist(), found.train_errors.round(2).tolist()
    ([0.3, 0.21, 0.14], [0.3, 0.3, 0.0])
    """
    booster = AdaBoostClassifier(n_estimators=3).fit(POINTS, LABELS)
    history = booster.history_
    return ThreeRounds(POINTS, LABELS, booster, history.error, history.coefficient, history.train_error)
