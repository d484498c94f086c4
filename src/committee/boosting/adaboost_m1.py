"""AdaBoost.M1: AdaBoost's first form for K classes (Freund and Schapire 1997; S2).

    a_t = 1/2 ln((1 - e_t) / e_t),    stop when e_t >= 1/2

A weak learner for K classes must beat one half, not 1 - 1/K: with stumps on many classes M1 stops at once, where SAMME
(`AdaBoostClassifier`) goes on. For two classes both are AdaBoost.
"""

from __future__ import annotations

from committee.boosting._classifier_base import BaseMultiplicativeBooster
from committee.boosting.adaboost import adaboost
from committee.boosting.multiplicative_weights import Round, Rule, Step


def adaboost_m1(this: Round) -> Step:
    """AdaBoost's coefficient whatever the number of classes."""
    return adaboost(this._replace(n_classes=2))


class AdaBoostM1Classifier(BaseMultiplicativeBooster):
    """AdaBoost.M1 for any number of classes.

    It is here for comparison with SAMME (`AdaBoostClassifier`).

    Examples
    --------
    >>> from committee import AdaBoostClassifier, AdaBoostM1Classifier, DecisionTreeClassifier
    >>> from committee.datasets import load_dataset
    >>> vehicle, tree = load_dataset("vehicle"), DecisionTreeClassifier(max_depth=2)
    >>> m1 = AdaBoostM1Classifier(tree, n_estimators=20).fit(vehicle.X, vehicle.y)
    >>> samme = AdaBoostClassifier(tree, n_estimators=20).fit(vehicle.X, vehicle.y)
    >>> len(m1.estimators_), len(samme.estimators_)
    (3, 20)
    """

    def _rule(self) -> Rule:
        return adaboost_m1
