"""Confidence-rated AdaBoost (Schapire and Singer 1999): hypotheses with predictions in [-1, 1].

    h(x) in [-1, 1]:  a = 1/2 ln((1 + r) / (1 - r)),  r = sum w y h,  Z <= sqrt(1 - r^2)      (closed form)
                      a = argmin Z(a) = sum w exp(-a y h)                                       (numeric)
    trees:            a h(x) = 1/2 ln((W+ + s) / (W- + s)) of the leaf                          (log-odds)

A tree is grown by the criterion Z = 2 sum sqrt(W+ W-) over its leaves. Schapire and Singer give its leaves their
log-odds and a = 1; here a is the largest log-odds and h the rest, the same vote with h in [-1, 1]. Z may then exceed
sqrt(1 - r^2): only the product of the Z bounds the error.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.optimize import root_scalar
from sklearn.utils._param_validation import HasMethods

from committee.base.parameters import one_of, param
from committee.boosting._weak_learners import PredictionKind
from committee.boosting.classifier_base import BaseMultiplicativeBooster
from committee.boosting.multiplicative_weights import Round, Rule, Step
from committee.boosting.samme import CHANCE, coefficient, perfect
from committee.trees.decision_tree import DecisionTreeClassifier


def closed_form(this: Round) -> Step:
    """Return a = 1/2 ln((1 + r) / (1 - r)), which minimizes a bound on Z, with the value sqrt(1 - r^2)."""
    if this.error <= 0.0:
        return perfect(this)
    if this.edge <= CHANCE:
        return Step(0.0, stop=f"the edge {this.edge:.4f} is no better than chance")
    return Step(coefficient(this.error, 2))


def numeric(this: Round) -> Step:
    """Return the minimum of the convex Z(a); the hypothesis has edge 0 under the new weights."""
    if this.edge <= CHANCE:  # first, as predictions may all be zero
        return Step(0.0, stop=f"the edge {this.edge:.4f} is no better than chance")
    u = np.asarray(this.agreement, np.float64)
    if not np.any((u < -CHANCE) & (this.weight > 0)):
        step = perfect(this)
        return step if np.all(u > 0) else Step(step.coefficient)  # rows with the prediction 0 remain

    def slope(a: float) -> float:
        return -float(np.sum(this.weight * u * np.exp(-a * u)))

    low, high = 0.0, 1.0
    while slope(high) < 0.0:
        low, high = high, 2.0 * high
    result: Any = root_scalar(slope, bracket=(low, high), method="brentq", xtol=1e-15, rtol=8.9e-16)
    return Step(float(result.root))


def log_odds(this: Round) -> Step:
    """Return the largest log-odds of a leaf: h is the log-odds of each leaf divided by it."""
    return Step(this.scale)


class ConfidenceRatedAdaBoostClassifier(BaseMultiplicativeBooster):
    """AdaBoost with confidence-rated hypotheses (two classes).

    Hypotheses predict a confidence in [-1, 1] whose sign is the class. The default trees are grown by the criterion
    Z = 2 sum over the leaves of sqrt(W+ W-), and their leaves have half the log-odds of the classes as values.

    References
    ----------
    Schapire, R. E. and Singer, Y. (1999). Improved boosting algorithms using confidence-rated predictions. Machine
    Learning 37, 297-336.

    Examples
    --------
    >>> from committee import ConfidenceRatedAdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = ConfidenceRatedAdaBoostClassifier(n_estimators=20).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.exponential_risk[-1]), 3)
    0.187
    """

    estimator: Any = param(
        HasMethods(["fit", "predict"]),
        None,
        default=None,
        kw_only=False,
        doc="The weak learner; None is a tree of one split grown by the criterion Z. A classifier that is not a tree "
        "of this library predicts 2 p - 1, p its probability of the second class, else its decision function cut to "
        "[-1, 1], else -1 and +1.",
    )
    step: Literal["auto", "log_odds", "closed_form", "numeric"] = param(
        one_of("auto", "log_odds", "closed_form", "numeric"),
        default="auto",
        doc='"log_odds" (trees of this library only) gives leaves their log-odds; "closed_form" and "numeric" choose a '
        'coefficient for predictions in [-1, 1] by the closed form or by minimizing Z. "auto" is "log_odds" for trees '
        'of this library and "numeric" otherwise.',
    )
    _two_classes_only = True

    def _default_estimator(self) -> Any:
        return DecisionTreeClassifier(criterion="z", max_depth=1)

    def _predictions(self) -> PredictionKind:
        return "log_odds" if self._form() == "log_odds" else "confidence"

    def _form(self) -> str:
        is_tree = isinstance(self._weak(), DecisionTreeClassifier)
        if self.step == "log_odds" and not is_tree:
            raise ValueError(
                f"step='log_odds' is for trees of this library, not for {type(self._weak()).__name__}: use "
                "'closed_form' or 'numeric'."
            )
        if self.step == "auto":
            return "log_odds" if is_tree else "numeric"
        return self.step

    def _rule(self) -> Rule:
        return {"log_odds": log_odds, "closed_form": closed_form, "numeric": numeric}[self._form()]
