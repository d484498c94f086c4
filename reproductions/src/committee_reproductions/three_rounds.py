"""Three rounds of AdaBoost on ten points of a plane.

After the toy example of Schapire and Freund, Boosting: foundations and algorithms, 2012, section 1.2: five points of
each class, placed so that no line along an axis separates them and a vote of three such lines does. The first stump
misclassifies three points, which then have half of the weight; the second misclassifies three that the first had right;
the third those on which both agreed and whose weight is smallest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.boosting.adaboost import AdaBoostClassifier
from committee.plots.decision_rounds import DecisionRoundsDisplay
from committee_reproductions.results import Claim, Outcome, ReproductionResult, Row, gather_curves, verdict_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = np.array([
    [0.8, 5.2], [1.6, 3.2], [3.6, 8.2], [5.6, 8.8], [7.4, 6.8],
    [3.0, 1.6], [4.4, 5.6], [6.2, 4.2], [8.4, 7.8], [9.0, 2.6],
])  # fmt: skip
LABELS = np.array(["+"] * 5 + ["-"] * 5)

PUBLISHED = {"weighted error": (0.30, 0.21, 0.14), "coefficient": (0.42, 0.65, 0.92)}
"""Of the three rounds, in the book."""


class ThreeRounds(NamedTuple):
    """A booster of three stumps on the ten points."""

    X: Floats
    y: NDArray[np.str_]
    booster: AdaBoostClassifier
    errors: Floats  # [3] of the stumps, under the weights of their rounds
    coefficients: Floats  # [3]
    train_errors: Floats  # [3] of the vote


def three_rounds() -> ThreeRounds:
    """Boost three stumps.

    >>> result = three_rounds()
    >>> result.errors.round(2).tolist(), result.train_errors.round(2).tolist()
    ([0.3, 0.21, 0.14], [0.3, 0.3, 0.0])
    """
    booster = AdaBoostClassifier(n_estimators=3).fit(POINTS, LABELS)
    history = booster.history_
    return ThreeRounds(POINTS, LABELS, booster, history.error, history.coefficient, history.train_error)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the book; exact, so that `quick` changes nothing."""
    rounds = three_rounds()
    measured = {"weighted error": rounds.errors, "coefficient": rounds.coefficients}
    rows = tuple(
        Row(f"round {t + 1}, {what}", float(values[t]), published=PUBLISHED[what][t], digits=2)
        for t in range(3)
        for what, values in measured.items()
    )
    errors, left = ", ".join(f"{error:.2f}" for error in rounds.errors), float(rounds.train_errors[-1])
    claims = (
        Claim("no stump is without error", bool(rounds.errors.min() > 0.0), f"weighted errors {errors}"),
        Claim("the vote of three makes no error", left == 0.0, f"training error {left:g}"),
    )
    curves = gather_curves([("rounds", "training error of the vote", [1, 2, 3], rounds.train_errors, 0.0)])
    return Outcome(rows, claims, curves, verdict_of(rows, claims), rounds)


def draw(result: ReproductionResult) -> Figure:
    """Draw the weights, the stumps and their vote."""
    rounds: ThreeRounds = result.data
    return DecisionRoundsDisplay.from_estimator(rounds.booster, rounds.X, rounds.y, n_rounds=3).figure_
