"""AdaBoost*_nu: a margin within nu of the best in a known number of rounds (Raetsch and Warmuth 2005; S0).

    theta_t = min over j <= t of r_j - nu
    a_t = 1/2 ln((1 + r_t) / (1 - r_t)) - 1/2 ln((1 + theta_t) / (1 - theta_t))

Every edge is at least rho*, the largest possible smallest margin, if the learner maximises the edge; then the smallest
margin exceeds rho* - nu after ceil(2 ln(1 / min w0) / nu^2) + 1 rounds (ln n for equal weights).
"""

from __future__ import annotations

from typing import Literal

from committee.base.parameters import at_least, between, one_of, param
from committee.boosting._classifier_base import BaseMultiplicativeBooster
from committee.boosting._weak_learners import Task
from committee.boosting.adaboost_theta import target_margin
from committee.boosting.multiplicative_weights import Round, Rule, Step
from committee.theory.bounds import star_rounds


def adaboost_star(this: Round, nu: float) -> Step:
    """Aim nu below the smallest edge seen, this round's included."""
    return target_margin(this, max(this.min_edge - nu, -1.0 + 1e-12))


class AdaBoostStarClassifier(BaseMultiplicativeBooster):
    """AdaBoost*_nu, two classes (F-4): the largest margin up to nu.

    Parameters
    ----------
    nu : the accuracy of the margin
    n_estimators : number of rounds, or "guaranteed" for as many as the theorem asks for
        ``guaranteed_rounds_`` tells how many that are.
    estimator, weighting, target_error, early_stopping, validation_fraction, n_iter_no_change, tol, warm_start,
    random_state, n_jobs, verbose : as in `AdaBoostClassifier`

    Examples
    --------
    >>> from committee import AdaBoostStarClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostStarClassifier(nu=0.1, n_estimators=300).fit(sonar.X, sonar.y)
    >>> model.guaranteed_rounds_
    1069
    """

    nu: float = param(between(1e-8, 1.0, "left"), default=0.1)  # its square divides
    n_estimators: int | Literal["guaranteed"] = param(at_least(1), one_of("guaranteed"), default=50)
    _two_classes_only = True

    def _rule(self) -> Rule:
        nu = self.nu
        return lambda this: adaboost_star(this, nu)

    def _rounds_wanted(self, task: Task) -> int:
        self.guaranteed_rounds_ = star_rounds(self.nu, float(task.weight.min()))
        return self.guaranteed_rounds_ if self.n_estimators == "guaranteed" else int(self.n_estimators)
