"""AdaBoost.M1: AdaBoost's first form for K classes (Freund and Schapire 1997; S2).

    a_t = 1/2 ln((1 - e_t) / e_t),    stop when e_t >= 1/2

A weak learner for K classes must beat one half, not 1 - 1/K: with stumps on many classes M1 stops at once, where SAMME
(`AdaBoostClassifier`) goes on. For two classes both are AdaBoost.
"""

from __future__ import annotations

from typing import Any

from committee.base.rng import RandomState
from committee.boosting.adaboost import adaboost
from committee.boosting.booster import BaseBooster, Early, Update
from committee.boosting.loop import Round, Rule, Step


def adaboost_m1(this: Round) -> Step:
    """AdaBoost's coefficient whatever the number of classes."""
    return adaboost(this._replace(n_classes=2))


class AdaBoostM1Classifier(BaseBooster):
    """AdaBoost.M1 for any number of classes (G-1), beside SAMME to show the difference.

    Parameters
    ----------
    estimator, n_estimators, update, target_error, early_stopping, validation_fraction, n_iter_no_change, tol,
    warm_start, random_state, n_jobs, verbose : as in `AdaBoostClassifier`

    Examples
    --------
    >>> from committee import AdaBoostClassifier, AdaBoostM1Classifier, DecisionTreeClassifier
    >>> from committee.data.samples import load_sample
    >>> vehicle, tree = load_sample("vehicle"), DecisionTreeClassifier(max_depth=2)
    >>> m1 = AdaBoostM1Classifier(tree, n_estimators=20).fit(vehicle.X, vehicle.y)
    >>> samme = AdaBoostClassifier(tree, n_estimators=20).fit(vehicle.X, vehicle.y)
    >>> len(m1.estimators_), len(samme.estimators_)
    (3, 20)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        update: Update = "reweight",
        target_error: float | None = None,
        early_stopping: Early = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.update: Update = update
        self.target_error = target_error
        self.early_stopping: Early = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rule(self) -> Rule:
        return adaboost_m1
