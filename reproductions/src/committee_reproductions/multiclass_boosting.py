"""SAMME against AdaBoost.M1 on several classes (G-1; Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, 2009).

    M1:     a = ln((1 - e) / e),               stops at e >= 1/2
    SAMME:  a = ln((1 - e) / e) + ln(K - 1),   stops at e >= 1 - 1/K

Claim: for K > 2 classes M1 asks too much of a weak learner and stops; SAMME goes on and ends with a smaller error.

Measured: both with the same stumps on the same folds, on built-in sets and on the simulated one of the paper: ten
standard normal variables, and as classes three shells of equal probability around the origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from committee.base.array_types import Floats
from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, mean_over_folds
from committee_reproductions.boosting_experiment import BoostingExperiment, boosting_experiment

SETS = ("glass", "vehicle", "three shells")
BOOSTERS = ("AdaBoost.M1", "SAMME")


class MulticlassBoosting(NamedTuple):
    """Errors over the rounds by set and booster, on the same folds."""

    experiments: Mapping[str, Mapping[str, BoostingExperiment]]

    def test_error(self, name: str, booster: str) -> Mean:
        """Of the last round, mean over the folds."""
        return mean_over_folds(self.experiments[name][booster].test_errors[..., -1])

    def gain(self, name: str) -> Mean:
        """Test error of M1 minus that of SAMME after the last round, paired over the folds."""
        m1, samme = (self.experiments[name][booster].test_errors[..., -1] for booster in BOOSTERS)
        return mean_over_folds(m1 - samme)


def three_shells(n: int = 1000, *, n_features: int = 10, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Standard normal rows; class k lies where |x|^2 is between the k-th and the next third of its distribution.

    >>> X, y = three_shells(9000)
    >>> (np.bincount(y) / y.size).round(2).tolist()
    [0.33, 0.34, 0.33]
    """
    X = np.random.default_rng(seed).standard_normal((n, n_features))
    thirds: Floats = chi2.ppf([1.0 / 3.0, 2.0 / 3.0], n_features)
    return X, np.searchsorted(thirds, np.sum(X**2, axis=1)).astype(np.int64)


def multiclass_boosting(
    names: tuple[str, ...] = SETS,
    *,
    estimator: Any = None,
    n_rounds: int = 300,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    verbose: int = 0,
) -> MulticlassBoosting:
    """Both boosters over the rounds, by cross-validation.

    Parameters
    ----------
    names : built-in sets of several classes, or "three shells"
    estimator : the weak learner, default `DecisionStump()`
    n_rounds, n_folds, n_repeats, random_state, verbose : as in `boosting_experiment`

    Examples
    --------
    >>> found = multiclass_boosting(("glass",), n_rounds=40)
    >>> found.test_error("glass", "SAMME").value < found.test_error("glass", "AdaBoost.M1").value
    True
    """
    boosters = dict(zip(BOOSTERS, (AdaBoostM1Classifier(estimator), AdaBoostClassifier(estimator)), strict=True))
    found: dict[str, dict[str, BoostingExperiment]] = {}
    for name in names:
        X, y = three_shells(seed=random_state) if name == "three shells" else load_dataset(name)[:2]
        found[name] = {
            booster: boosting_experiment(
                X, y, estimator=model, n_rounds=n_rounds, n_folds=n_folds, n_repeats=n_repeats,
                random_state=random_state, verbose=verbose,
            )
            for booster, model in boosters.items()
        }  # fmt: skip
    return MulticlassBoosting(found)
