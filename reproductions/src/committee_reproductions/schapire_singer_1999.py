"""Discrete against confidence-rated AdaBoost.

Schapire and Singer, Improved boosting algorithms using confidence-rated predictions, 1999.

    discrete          stumps that predict -1 or +1, with one coefficient for both sides
    confidence-rated  stumps whose two sides predict their own log-odds

Claim: hypotheses that state their confidence lower the training error in fewer rounds.

Measured: both on the same folds of the built-in data sets of two classes; the speed of a booster is the mean of its
training error over all rounds, the area under the curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.base.stats import mean_over_folds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
from committee_reproductions._experiments import BINARY_SETS, CrossValidation, over_datasets
from committee_reproductions.boosting_curves import BoosterComparison, compare_boosters, draw_comparison
from committee_reproductions.results import (
    Claim,
    Outcome,
    ReproductionResult,
    Row,
    gather_curves,
    is_above,
    row,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISCRETE, RATED = "discrete", "confidence-rated"


def discrete_and_rated(
    names: tuple[str, ...] = BINARY_SETS, n_rounds: int = 200, cv: CrossValidation = CrossValidation()
) -> BoosterComparison:
    """Measure both boosters over the rounds on the same folds.

    >>> result = discrete_and_rated(("ionosphere",), n_rounds=30, cv=CrossValidation(n_folds=5))
    >>> result.training_gain("ionosphere", "confidence-rated", "discrete").value > 0.0
    True
    """
    boosters = {DISCRETE: AdaBoostClassifier(), RATED: ConfidenceRatedAdaBoostClassifier()}
    return compare_boosters(boosters, over_datasets(names, lambda X, y: (X, y)), n_rounds, cv)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the claim."""
    if quick:
        comparison = discrete_and_rated(
            ("ionosphere", "pima_diabetes"), n_rounds=30, cv=CrossValidation(n_folds=2, verbose=verbose)
        )
    else:
        comparison = discrete_and_rated(cv=CrossValidation(n_repeats=3, verbose=verbose))
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, boosters in comparison.curves.items():
        for booster, one in boosters.items():
            slow = mean_over_folds(one.train_errors.mean(axis=2))
            rows.append(row(f"{name}, {booster}, training error, mean over rounds", slow, digits=4))
            rows.append(row(f"{name}, {booster}, test error at the end", one.final_test_error, digits=4))
        gain, test = comparison.training_gain(name, RATED, DISCRETE), comparison.test_gain(name, RATED, DISCRETE)
        evidence = f"discrete - rated, mean over the rounds: {gain}; test error at the end: {test}"
        claims.append(Claim(f"{name}: the training error decreases in fewer rounds", is_above(gain), evidence))
    curves = gather_curves(comparison.as_curves())
    return Outcome(tuple(rows), tuple(claims), curves, verdict_of(rows, claims), comparison)


def draw(result: ReproductionResult) -> Figure:
    """Draw the errors of both boosters over the rounds."""
    return draw_comparison(result.data)
