"""Stumps alone, boosted and bagged (Freund and Schapire, Experiments with a new boosting algorithm, 1996, table 2).

The paper's FindAttrTest is a test of one attribute, of smallest weighted error; boosted for T = 100 rounds by
AdaBoost.M1 and bagged 100 times; the errors are those of ten 10-fold cross-validations. Here the test is
`DecisionStump`. A cross-validation judges every row once; given the rows, ten of them differ by their folds alone, so
the standard error of their mean is their standard deviation over sqrt(10), and the paper's is as large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, draw_folds, read_labels, unfitted
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.trees.decision_stump import DecisionStump
from committee_reproductions.bagging_simulation import mean_over_draws
from committee_reproductions.published import errors_beside_published

METHODS = ("stump", "boosted", "bagged")

TABLE = {"ionosphere": (17.8, 8.5, 17.3), "sonar": (25.9, 16.5, 25.9)}
"""Errors in % as published, by set, in the order of METHODS."""


class FreundSchapire1996(NamedTuple):
    """Errors by set, [methods, n_repeats]: of each cross-validation."""

    errors: Mapping[str, Floats]

    def error(self, name: str, method: str) -> Mean:
        """Mean over the cross-validations, in %."""
        return mean_over_draws(100.0 * self.errors[name][METHODS.index(method)])

    def to_table(self) -> ResultTable:
        """One line per set and method."""
        return errors_beside_published(self.errors, METHODS, TABLE, self.error)

    to_pandas = to_pandas
    to_polars = to_polars


def freund_schapire_1996(
    names: Iterable[str] = tuple(TABLE),
    *,
    n_rounds: int = 100,
    n_folds: int = 10,
    n_repeats: int = 10,
    random_state: int = 0,
    verbose: int = 0,
) -> FreundSchapire1996:
    """Stumps alone, boosted and bagged, by repeated cross-validation.

    Parameters
    ----------
    names : built-in sets of classes
    n_rounds : rounds of boosting, and stumps in the bag
    n_folds, n_repeats : folds, each with its share of every class, and how often to draw them
    random_state : of the folds and of the bootstrap samples
    verbose : 1 shows a progress bar for every set

    Examples
    --------
    >>> found = freund_schapire_1996(["sonar"], n_rounds=30, n_folds=3, n_repeats=2)
    >>> found.error("sonar", "boosted").value < found.error("sonar", "stump").value
    True
    """
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, for a standard error; got {n_repeats}.")
    models = {
        "stump": DecisionStump(),
        "boosted": AdaBoostM1Classifier(n_estimators=n_rounds),
        "bagged": BaggingClassifier(DecisionStump(), n_estimators=n_rounds, combine="vote"),
    }
    found: dict[str, Floats] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        codes = read_labels(y)
        folds = draw_folds(codes, n_folds, random_state, n_repeats)
        wrong = np.zeros((len(METHODS), n_repeats))
        with progress(f"{name}, folds", len(folds), verbose) as tick:
            for k, fold in enumerate(folds):
                for m, method in enumerate(METHODS):
                    model = unfitted(models[method], random_state=fold.seed).fit(X[fold.train], codes[fold.train])
                    wrong[m, k // n_folds] += np.sum(model.predict(X[fold.test]) != codes[fold.test])
                tick("")
        found[name] = wrong / codes.size
    return FreundSchapire1996(found)
