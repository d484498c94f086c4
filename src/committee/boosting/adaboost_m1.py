"""AdaBoost.M1, the first AdaBoost for K classes (Freund and Schapire 1997).

    a_t = 1/2 ln((1 - e_t) / e_t),    stop when e_t >= 1/2

A weak learner for K classes must have an error below 1/2, not below 1 - 1/K: with stumps and many classes M1 stops at
once, where SAMME (`samme.py`) continues. For two classes both are AdaBoost.
"""

from __future__ import annotations

from committee.boosting.adaboost import adaboost
from committee.boosting.classifier_base import BaseMultiplicativeBooster
from committee.boosting.multiplicative_weights import Rule


class AdaBoostM1Classifier(BaseMultiplicativeBooster):
    """AdaBoost.M1 for any number of classes.

    `AdaBoostClassifier`, which is SAMME, accepts weaker hypotheses; this class is for comparison.

    References
    ----------
    Freund, Y. and Schapire, R. E. (1997). A decision-theoretic generalization of on-line learning and an application to
    boosting. Journal of Computer and System Sciences 55, 119-139.

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
        return adaboost
