"""AdaBoost*_nu: a margin within nu of the largest in a known number of rounds (Raetsch and Warmuth 2005).

    theta_t = min over j <= t of r_j - nu
    a_t = 1/2 ln((1 + r_t) / (1 - r_t)) - 1/2 ln((1 + theta_t) / (1 - theta_t))

Every edge is at least rho*, the largest possible smallest margin, if the learner maximises the edge; then the smallest
margin exceeds rho* - nu after ceil(2 ln(1 / min w0) / nu^2) + 1 rounds (ln n for equal weights).
"""

from __future__ import annotations

from typing import Any, Literal

from committee.base.parameters import at_least, between, fitted, one_of, param
from committee.boosting._weak_learners import TrainingRows
from committee.boosting.adaboost_theta import target_margin
from committee.boosting.classifier_base import BaseMultiplicativeBooster, Settings, ValidationVotes
from committee.boosting.multiplicative_weights import Round, Rule, Step
from committee.theory.bounds import star_rounds


def adaboost_star(this: Round, nu: float) -> Step:
    """Set the margin target nu below the smallest edge so far."""
    return target_margin(this, max(this.min_edge - nu, -1.0 + 1e-12))


class AdaBoostStarClassifier(BaseMultiplicativeBooster):
    """AdaBoost*_nu, which maximizes the smallest margin up to nu (two classes).

    The margin target of a round is the smallest edge so far less nu. With a weak learner that maximizes the edge, the
    smallest margin is within nu of the largest possible one after `guaranteed_rounds_` rounds.

    References
    ----------
    Raetsch, G. and Warmuth, M. K. (2005). Efficient margin maximizing with boosting. Journal of Machine Learning
    Research 6, 2131-2152.

    Examples
    --------
    >>> from committee import AdaBoostStarClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostStarClassifier(nu=0.1, n_estimators=300).fit(sonar.X, sonar.y)
    >>> model.guaranteed_rounds_
    1069
    """

    nu: float = param(between(1e-8, 1.0, "left"), default=0.1, doc="Accuracy of the margin.")  # its square divides
    n_estimators: int | Literal["guaranteed"] = param(
        at_least(1),
        one_of("guaranteed"),
        default=50,
        doc='Number of rounds; "guaranteed" is `guaranteed_rounds_`.',
    )
    guaranteed_rounds_: int = fitted(doc="Rounds after which the theorem guarantees the accuracy `nu`.")
    _two_classes_only = True

    def _rule(self) -> Rule:
        nu = self.nu
        return lambda this: adaboost_star(this, nu)

    def _settings(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        return {"guaranteed_rounds_": star_rounds(self.nu, float(rows.weight.min()))}

    def _n_rounds(self, settings: Settings) -> int:
        return settings["guaranteed_rounds_"] if self.n_estimators == "guaranteed" else int(self.n_estimators)
