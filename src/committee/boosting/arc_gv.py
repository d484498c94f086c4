"""arc-gv: the margin target is the smallest margin so far (Breiman 1999).

    theta_t = max(0, min_i y_i f_{t-1}(x_i) / sum a)
    a_t = 1/2 ln((1 + r_t) / (1 - r_t)) - 1/2 ln((1 + theta_t) / (1 - theta_t))

With a learner that maximises the edge, the smallest margin tends to the largest possible one. (Unclipped, theta
would be -1 after the first round and the next coefficient infinite.)
"""

from __future__ import annotations

from committee.boosting.adaboost_theta import target_margin
from committee.boosting.classifier_base import BaseMultiplicativeBooster
from committee.boosting.multiplicative_weights import Round, Rule, Step


def arc_gv(this: Round) -> Step:
    """Set the margin target to the smallest margin of the vote so far."""
    return target_margin(this, max(0.0, this.min_margin))


class ArcGVClassifier(BaseMultiplicativeBooster):
    """Boosting that maximizes the smallest margin, arc-gv (two classes).

    The margin target of a round is the smallest margin of the vote before it. With a weak learner that maximizes the
    edge, the smallest margin converges to the largest possible one.

    References
    ----------
    Breiman, L. (1999). Prediction games and arcing algorithms. Neural Computation 11, 1493-1517.

    Examples
    --------
    >>> from committee import ArcGVClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = ArcGVClassifier(n_estimators=300).fit(sonar.X, sonar.y)
    >>> round(float(model.margins(sonar.X, sonar.y).min()), 3)
    0.104
    """

    _two_classes_only = True

    def _rule(self) -> Rule:
        return arc_gv
