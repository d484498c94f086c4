"""Discrete against confidence-rated AdaBoost (E-5; Schapire and Singer 1999).

    discrete:          stumps that answer -1 or +1, with one coefficient for both
    confidence-rated:  stumps whose two sides answer with their own log-odds

Claim: hypotheses that say how sure they are lower the training error in fewer rounds.

Measured: both on the same folds of the built-in sets of two classes; the training error and the test error over the
rounds, and the mean of the training error over all of them, the area under its curve, as how slow a booster is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from committee.boosting.adaboost import AdaBoostClassifier
from committee.boosting.confidence_rated import ConfidenceRatedAdaBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, mean_over_folds
from committee_reproductions.boosting_experiment import UCI_SETS, BoostingExperiment, boosting_experiment

BOOSTERS = ("discrete", "confidence-rated")


class ConfidenceRated(NamedTuple):
    """Errors over the rounds by set and booster, on the same folds."""

    experiments: Mapping[str, Mapping[str, BoostingExperiment]]

    def training_gain(self, name: str) -> Mean:
        """Training error of the discrete booster minus that of the other, mean over the rounds, paired over folds."""
        discrete, rated = (self.experiments[name][booster].train_errors.mean(axis=2) for booster in BOOSTERS)
        return mean_over_folds(discrete - rated)

    def test_gain(self, name: str) -> Mean:
        """Test error of the discrete booster minus that of the other after the last round, paired over the folds."""
        discrete, rated = (self.experiments[name][booster].test_errors[..., -1] for booster in BOOSTERS)
        return mean_over_folds(discrete - rated)


def confidence_rated(
    names: Iterable[str] = UCI_SETS,
    *,
    n_rounds: int = 200,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    verbose: int = 0,
) -> ConfidenceRated:
    """Both boosters over the rounds, by cross-validation.

    Parameters
    ----------
    names : built-in sets of two classes
    n_rounds, n_folds, n_repeats, random_state, verbose : as in `boosting_experiment`

    Examples
    --------
    >>> found = confidence_rated(["ionosphere"], n_rounds=30, n_folds=5)
    >>> found.training_gain("ionosphere").value > 0.0
    True
    """
    boosters = dict(zip(BOOSTERS, (AdaBoostClassifier(), ConfidenceRatedAdaBoostClassifier()), strict=True))
    found: dict[str, dict[str, BoostingExperiment]] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        found[name] = {
            booster: boosting_experiment(
                X, y, estimator=model, n_rounds=n_rounds, n_folds=n_folds, n_repeats=n_repeats,
                random_state=random_state, verbose=verbose,
            )
            for booster, model in boosters.items()
        }  # fmt: skip
    return ConfidenceRated(found)
