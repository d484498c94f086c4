"""AdaBoost_theta: AdaBoost with a margin target (S0; Raetsch, Onoda and Mueller 2001).

    a_t = 1/2 ln((1 + r_t) / (1 - r_t)) - 1/2 ln((1 + theta) / (1 - theta))

It minimises the exponential loss of the margins reduced by theta, sum exp(-(y f - theta sum a)): an L1 penalty on the
coefficients. It stops when no edge exceeds theta, that is e >= 1/2 - theta/2.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from committee.base.parameters import between, one_of, param
from committee.boosting._classifier_base import BaseMultiplicativeBooster, Judge
from committee.boosting._weak_learners import Task
from committee.boosting.adaboost import CHANCE, perfect
from committee.boosting.multiplicative_weights import Round, Rule, Step


def target_margin(this: Round, theta: float) -> Step:
    """The coefficient for the margin target theta; the last hypothesis then has error (1 - theta) / 2."""
    if this.error <= 0.0:
        return perfect(this)._replace(theta=theta)
    a = 0.5 * math.log((1.0 - this.error) / this.error) - math.atanh(theta) if this.error < 1.0 else 0.0
    if a < CHANCE:
        return Step(0.0, theta, stop=f"the edge {this.edge:.4f} does not exceed the margin target {theta:.4f}")
    return Step(a, theta)


class AdaBoostThetaClassifier(BaseMultiplicativeBooster):
    """AdaBoost with the margin target theta, two classes (F-1); theta="validation" chooses it (F-2).

    Parameters
    ----------
    theta : the margin target in (-1, 1), or "validation"
        "validation" tries `thetas` on X_val, y_val or on `validation_fraction` of the rows and keeps the one with the
        smallest error, the larger one of equals; ``theta_`` is the one used, ``theta_errors_`` what each reached. A
        warm start keeps both.
    thetas : the candidates of "validation"
    estimator, n_estimators, weighting, target_error, early_stopping, validation_fraction, n_iter_no_change, tol,
    warm_start, random_state, n_jobs, verbose : as in `AdaBoostClassifier`

    Examples
    --------
    >>> from committee import AdaBoostThetaClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AdaBoostThetaClassifier(theta=0.05, n_estimators=300).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.min_margin[-1]), 3)
    0.11
    """

    theta: float | Literal["validation"] = param(between(-1.0, 1.0, "neither"), one_of("validation"), default=0.0)
    thetas: Sequence[float] = param("array-like", default=(0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3))
    _two_classes_only = True

    def _rule(self) -> Rule:
        theta = float(self.theta_)
        return lambda this: target_margin(this, theta)

    def _holds_out(self) -> bool:
        return self.theta == "validation" or super()._holds_out()

    def _run(self, task: Task, judge: Judge | None) -> None:
        if self.theta != "validation":
            self.theta_ = float(self.theta)
            vars(self).pop("theta_errors_", None)
        elif not (self._is_continued() and hasattr(self, "theta_errors_")):
            self.theta_, self.theta_errors_ = self._choose(task, judge)
        super()._run(task, judge)

    def _choose(self, task: Task, judge: Judge | None) -> tuple[float, NDArray[np.float64]]:
        """The candidate with the smallest validation error after n_estimators rounds; the larger one of equals."""
        assert judge is not None  # _holds_out held rows out where the user gave none
        thetas = np.sort(np.asarray(self.thetas, np.float64))
        if thetas.size == 0 or not np.all(np.abs(thetas) < 1.0):  # nan is refused too
            raise ValueError(f"thetas must hold margin targets in (-1, 1); got {self.thetas!r}.")
        errors = np.array([self._judge_theta(float(theta), task, judge) for theta in thetas])
        return float(thetas[np.flatnonzero(errors == errors.min())[-1]]), errors

    def _judge_theta(self, theta: float, task: Task, judge: Judge) -> float:
        unfitted: Any = clone(self)
        trial = unfitted.set_params(theta=theta, warm_start=False, verbose=0)
        trial.columns_, trial.classes_, trial.n_classes_ = self.columns_, self.classes_, self.n_classes_
        trial._seed = self._seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            trial._run(task, judge.fresh())
        best = trial.history_.validation_error[: len(trial.members_)]
        return float(best[-1])
