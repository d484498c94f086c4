"""SAMME against AdaBoost.M1 on more than two classes.

Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009.

    M1     a = ln((1 - e) / e),               stops at e >= 1/2
    SAMME  a = ln((1 - e) / e) + ln(K - 1),   stops at e >= 1 - 1/K

Claim: for K > 2 classes M1 demands too much of a weak learner and stops; SAMME goes on and ends with a smaller error.

Measured: both with the same stumps on the same folds, on built-in data sets and on the paper's simulation: ten standard
normal features, and as classes three shells of equal probability around the origin. The numbers to compare with are
those of Weka 3.6.14, run for this project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from committee.base.array_types import Floats
from committee.base.stats import Mean
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
from committee.datasets import load_dataset
from committee_reproductions._experiments import CrossValidation
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

SHELLS = "three shells"
DATASETS = ("glass", "vehicle", SHELLS)
M1, SAMME = "AdaBoost.M1", "SAMME"

WEKA = {"one stump": 0.5514, M1: 0.5514}
"""Errors on glass of Weka 3.6.14 (DecisionStump, and AdaBoostM1 with 100 of them) in 10-fold cross-validation."""


def three_shells(n: int = 1000, *, n_features: int = 10, random_state: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Simulate standard normal rows; class k has |x|^2 between the k-th and the next third of its distribution.

    >>> X, y = three_shells(9000)
    >>> (np.bincount(y) / y.size).round(2).tolist()
    [0.33, 0.34, 0.33]
    """
    X = np.random.default_rng(random_state).standard_normal((n, n_features))
    thirds: Floats = chi2.ppf([1.0 / 3.0, 2.0 / 3.0], n_features)
    return X, np.searchsorted(thirds, np.sum(X**2, axis=1)).astype(np.int64)


def m1_and_samme(
    names: tuple[str, ...] = DATASETS,
    estimator: Any = None,
    n_rounds: int = 300,
    cv: CrossValidation = CrossValidation(),
) -> BoosterComparison:
    """Measure both boosters over the rounds, with the weak learner `estimator`, on the same folds.

    >>> curves = m1_and_samme(("glass",), n_rounds=40).curves["glass"]
    >>> curves["SAMME"].final_test_error.value < curves["AdaBoost.M1"].final_test_error.value
    True
    """
    boosters = {M1: AdaBoostM1Classifier(estimator), SAMME: AdaBoostClassifier(estimator)}
    datasets = {name: three_shells() if name == SHELLS else load_dataset(name)[:2] for name in names}
    return compare_boosters(boosters, datasets, n_rounds, cv)


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with Weka and with the claims."""
    if quick:
        comparison = m1_and_samme(DATASETS[:2], n_rounds=30, cv=CrossValidation(n_folds=3, verbose=verbose))
    else:
        comparison = m1_and_samme(cv=CrossValidation(n_repeats=3, verbose=verbose))
    rows: list[Row] = []
    claims: list[Claim] = []
    for name, boosters in comparison.curves.items():
        weka = WEKA if name == "glass" else {}
        samme, m1 = boosters[SAMME], boosters[M1]
        stump = Mean(float(samme.test_error[0]), float(samme.test_stderr[0]))
        rows.append(row(f"{name}, one stump, test error", stump, weka.get("one stump"), digits=4))
        for booster, one in boosters.items():
            rows.append(row(f"{name}, {booster}, test error", one.final_test_error, weka.get(booster), digits=4))
        gain = comparison.test_gain(name, SAMME, M1)
        evidence = f"after at most {m1.rounds[-1]} rounds, SAMME after {samme.rounds[-1]}"
        claims.append(Claim(f"{name}: M1 stops early", bool(m1.rounds[-1] < samme.rounds[-1]), evidence))
        claims.append(Claim(f"{name}: SAMME has the smaller error", is_above(gain), f"M1 - SAMME: {gain}"))
    curves = gather_curves(comparison.as_curves())
    return Outcome(tuple(rows), tuple(claims), curves, verdict_of(rows, claims), comparison)


def draw(result: ReproductionResult) -> Figure:
    """Draw the errors of both boosters over the rounds."""
    return draw_comparison(result.data)
