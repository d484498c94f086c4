"""AdaBoost (Freund and Schapire 1997), for K classes SAMME (Zhu, Zou, Rosset and Hastie 2009).

    a_t = 1/2 (ln((1 - e_t) / e_t) + ln(K - 1)),    w_i <- w_i exp(-a_t u_i) / Z_t

with u = +1 where the hypothesis is right and -1 where it is wrong. For two classes f = sum a_t h_t answers with its
sign and Z_t = 2 sqrt(e_t (1 - e_t)); `estimator_weights_` are 2 a_t, scikit-learn's scale.
"""

from __future__ import annotations

import math
from typing import Literal

from committee.base.parameters import one_of, param, positive
from committee.boosting._classifier_base import BaseMultiplicativeBooster
from committee.boosting.multiplicative_weights import Round, Rule, Step

CHANCE = 1e-10
"""Coefficients smaller than this are rounding errors of zero."""


MIN_ERROR = 1e-16
PERFECT = "a hypothesis is perfect on the training rows, its coefficient was cut to a finite one"


def adaboost(this: Round, negate: bool = False) -> Step:
    """a = 1/2 (ln((1 - e) / e) + ln(K - 1)); no better than chance is e >= 1 - 1/K."""
    if this.error <= 0.0:
        return perfect(this)
    if this.error >= 1.0:  # never right: as good as perfect, turned round
        return perfect(this, sign=-1.0) if negate else Step(0.0, stop="the error 1 is no better than chance")
    a = 0.5 * (math.log((1.0 - this.error) / this.error) + math.log(max(this.n_classes - 1, 1)))
    if abs(a) < CHANCE or (a < 0.0 and not negate):
        return Step(0.0, stop=f"the error {this.error:.4f} is no better than chance")
    return Step(a)


def perfect(this: Round, sign: float = 1.0) -> Step:
    """A hypothesis without error gets the coefficient of one that errs on half of the lightest row: finite (E-4)."""
    e = min(max(0.5 * this.min_start, MIN_ERROR), 0.25)
    a = 0.5 * (math.log((1.0 - e) / e) + math.log(max(this.n_classes - 1, 1)))
    return Step(sign * a, stop=PERFECT, is_perfect=True)


class AdaBoostClassifier(BaseMultiplicativeBooster):
    """AdaBoost for two classes, SAMME for more.

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostClassifier(n_estimators=100).fit(sonar.X, sonar.y)
    >>> columns = ("train_error", "exponential_risk", "min_margin")
    >>> [round(float(model.history_[column][9]), 3) for column in columns]  # after ten rounds
    [0.115, 0.437, -0.232]
    """

    learning_rate: float = param(positive, default=1.0, doc="Factor on every coefficient; 1 is AdaBoost.")
    on_worse_than_chance: Literal["stop", "negate"] = param(
        one_of("stop", "negate"),
        default="stop",
        doc="What to do with a hypothesis worse than chance: stop, or keep it with a negative coefficient (two "
        "classes).",
    )

    def _rule(self) -> Rule:
        negate = self.on_worse_than_chance == "negate"
        return lambda this: adaboost(this, negate and this.n_classes <= 2)

    def _learning_rate(self) -> float:
        return self.learning_rate
