"""AdaBoost_theta: AdaBoost with a margin target (Raetsch, Onoda and Mueller 2001).

    a_t = 1/2 ln((1 + r_t) / (1 - r_t)) - 1/2 ln((1 + theta) / (1 - theta))

It minimises the exponential loss of the margins reduced by theta, sum exp(-(y f - theta sum a)): an L1 penalty on the
coefficients. It stops when no edge exceeds theta, that is e >= 1/2 - theta/2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import between, fitted, one_of, param
from committee.boosting._weak_learners import TrainingRows
from committee.boosting.classifier_base import BaseMultiplicativeBooster, Settings, ValidationVotes
from committee.boosting.multiplicative_weights import Round, State, Step, Turn, boost
from committee.boosting.samme import CHANCE, coefficient, perfect
from committee.boosting.votes import Votes
from committee.members.member import WeakLearner


def target_margin(this: Round, theta: float) -> Step:
    """Return the coefficient for the margin target theta, after which the hypothesis has the error (1 - theta) / 2."""
    if this.error <= 0.0:
        return perfect(this)._replace(theta=theta)
    a = coefficient(this.error, 2) - math.atanh(theta) if this.error < 1.0 else 0.0
    if a < CHANCE:
        return Step(0.0, theta, stop=f"the edge {this.edge:.4f} does not exceed the margin target {theta:.4f}")
    return Step(a, theta)


class AdaBoostThetaClassifier(BaseMultiplicativeBooster):
    """AdaBoost with the margin target theta (two classes).

    It minimizes the exponential loss of the margins less theta, and stops when no hypothesis has an edge above theta.

    References
    ----------
    Raetsch, G., Onoda, T. and Mueller, K.-R. (2001). Soft margins for AdaBoost. Machine Learning 42, 287-320.

    Examples
    --------
    >>> from committee import AdaBoostThetaClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostThetaClassifier(theta=0.05, n_estimators=300).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.min_margin[-1]), 3)
    0.11
    """

    theta: float | Literal["validation"] = param(
        between(-1.0, 1.0, "neither"),
        one_of("validation"),
        default=0.0,
        doc='The margin target. "validation" tries `thetas` on X_val, y_val or on `validation_fraction` of the rows '
        "and keeps the one with the smallest error, the larger one of a tie.",
    )
    thetas: Sequence[float] = param(
        "array-like", default=(0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3), doc='The candidates of theta="validation".'
    )
    theta_: float = fitted(doc="The margin target used; a warm start keeps it.")
    theta_errors_: Floats = fitted(doc='Validation error of each candidate, with theta="validation".')
    _two_classes_only = True

    def _holds_out(self) -> bool:
        return self.theta == "validation" or super()._holds_out()

    def _settings(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        if self.theta != "validation":
            return {"theta_": float(self.theta)}
        if self._is_continued() and hasattr(self, "theta_errors_"):
            return {"theta_": self.theta_, "theta_errors_": self.theta_errors_}
        assert validation is not None  # rows are held out if none were given
        return self._select_theta(rows, validation)

    def _rounds(
        self, weak_learner: WeakLearner, votes: Votes, state: State, seeds: list[int], settings: Settings
    ) -> Iterator[Turn]:
        return boost(weak_learner, votes, state, lambda this: target_margin(this, settings["theta_"]), seeds)

    def _select_theta(self, rows: TrainingRows, validation: ValidationVotes) -> dict[str, Any]:
        """Select the candidate with the smallest validation error after n_estimators rounds, the larger of a tie."""
        thetas = np.sort(np.asarray(self.thetas, np.float64))
        if thetas.size == 0 or not np.all(np.abs(thetas) < 1.0):  # nan is rejected too
            raise ValueError(f"thetas must be margin targets in (-1, 1); got {self.thetas!r}.")
        errors = np.array([self._validation_error(float(theta), rows, validation) for theta in thetas])
        return {"theta_": float(thetas[np.flatnonzero(errors == errors.min())[-1]]), "theta_errors_": errors}

    def _validation_error(self, theta: float, rows: TrainingRows, validation: ValidationVotes) -> float:
        unfitted: Any = clone(self)
        trial = unfitted.set_params(theta=theta, warm_start=False, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = trial._boost(rows, validation.fresh())
        return float(result["history_"].validation_error[len(result["members_"]) - 1])
