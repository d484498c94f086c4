"""AdaBoost (Freund and Schapire, A decision-theoretic generalization of on-line learning, 1997).

    w_i = 1 / n
    for t = 1, ..., T
        h_t  = a hypothesis fitted under the weights w
        e_t  = sum_i w_i [h_t(x_i) != y_i]
        a_t  = 1/2 ln((1 - e_t) / e_t),    stop if e_t >= 1/2
        w_i <- w_i exp(-a_t y_i h_t(x_i)) / Z_t,    Z_t = 2 sqrt(e_t (1 - e_t))
    H(x) = sign(f(x)),  f = sum_t a_t h_t

It is SAMME (`samme.py`) for two classes; `AdaBoostClassifier` is both. `estimator_weights_` are 2 a_t, scikit-learn's
scale.
"""

from __future__ import annotations

from typing import Literal

from committee.base.parameters import one_of, param, positive
from committee.boosting.classifier_base import BaseMultiplicativeBooster
from committee.boosting.multiplicative_weights import Round, Rule, Step
from committee.boosting.samme import samme


def adaboost(this: Round) -> Step:
    """Return a = 1/2 ln((1 - e) / e), whatever the number of classes."""
    return samme(this._replace(n_classes=2))


class AdaBoostClassifier(BaseMultiplicativeBooster):
    """AdaBoost for two classes, SAMME for more.

    Every round fits the weak learner under weights of the training rows, and increases the weights of the rows that it
    misclassifies. Predictions are the weighted vote of the hypotheses.

    Notes
    -----
    The product of the normalizers Z_t, `history_.exponential_risk`, bounds the training error. A hypothesis without
    training error has a finite coefficient, and ends the fit unless rows are resampled.

    References
    ----------
    Freund, Y. and Schapire, R. E. (1997). A decision-theoretic generalization of on-line learning and an application to
    boosting. Journal of Computer and System Sciences 55, 119-139.

    Zhu, J., Zou, H., Rosset, S. and Hastie, T. (2009). Multi-class AdaBoost. Statistics and Its Interface 2, 349-360.

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
        return lambda this: samme(this, negate and this.n_classes <= 2)

    def _learning_rate(self) -> float:
        return self.learning_rate
