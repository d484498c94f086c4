"""Stumps alone, boosted and bagged.

Freund and Schapire, Experiments with a new boosting algorithm, 1996, table 2. The paper's FindAttrTest is a test of one
attribute with the smallest weighted error; boosted for 100 rounds by AdaBoost.M1 and bagged 100 times; the errors are
those of ten 10-fold cross-validations. Here the test is `DecisionStump`. A cross-validation tests on every row once;
given the rows, ten of them differ by their folds alone, so the standard error of their mean is their standard deviation
over sqrt(10), and the paper's is as large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.bagging.estimators import BaggingClassifier
from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.boosting.adaboost_m1 import AdaBoostM1Classifier
from committee.evaluation._folds import read_labels, unfitted
from committee.trees.decision_stump import DecisionStump
from committee_reproductions._experiments import CrossValidation, over_datasets
from committee_reproductions.pictures import draw_published
from committee_reproductions.results import Claim, Outcome, PaperTable, ReproductionResult, gather_means, verdict_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("stump", "boosted", "bagged")

PUBLISHED = {"ionosphere": (17.8, 8.5, 17.3), "sonar": (25.9, 16.5, 25.9)}
"""Errors in %, by data set, in the order of METHODS."""


def boosted_and_bagged_stumps(
    names: tuple[str, ...] = tuple(PUBLISHED),
    n_rounds: int = 100,
    cv: CrossValidation = CrossValidation(n_repeats=10),
) -> PaperTable:
    """Compare stumps alone, boosted and bagged, by repeated cross-validation.

    >>> table = boosted_and_bagged_stumps(("sonar",), n_rounds=30, cv=CrossValidation(n_folds=3, n_repeats=2))
    >>> table.error("sonar", "boosted").value < table.error("sonar", "stump").value
    True
    """
    if cv.n_repeats < 2:
        raise ValueError(f"cv.n_repeats must be at least 2, for a standard error; got {cv.n_repeats}.")
    models = (
        DecisionStump(),
        AdaBoostM1Classifier(n_estimators=n_rounds),
        BaggingClassifier(DecisionStump(), n_estimators=n_rounds, combine="vote"),
    )
    return PaperTable(over_datasets(names, lambda X, y: _errors(models, X, y, cv)), METHODS, PUBLISHED)


def _errors(models: tuple[Any, ...], X: Any, y: Any, cv: CrossValidation) -> Floats:
    """Return the errors [models, repeats] of whole cross-validations."""
    codes = read_labels(y)
    folds = cv.folds(codes)
    n_wrong = np.zeros((len(models), cv.n_repeats))
    with progress("stumps, folds", len(folds), cv.verbose) as tick:
        for k, fold in enumerate(folds):
            for m, model in enumerate(models):
                fitted = unfitted(model, random_state=fold.seed).fit(X[fold.train], codes[fold.train])
                n_wrong[m, k // cv.n_folds] += np.sum(fitted.predict(X[fold.test]) != codes[fold.test])
            tick("")
    return n_wrong / codes.size


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the paper's table."""
    if quick:
        cv = CrossValidation(n_folds=3, n_repeats=2, verbose=verbose)
        table = boosted_and_bagged_stumps(n_rounds=20, cv=cv)
    else:
        table = boosted_and_bagged_stumps(cv=CrossValidation(n_repeats=10, verbose=verbose))
    rows = table.rows()
    claims: list[Claim] = []
    for name in PUBLISHED:
        stump, boosted, bagged = (table.error(name, method).value for method in METHODS)
        left, kept = boosted / stump, bagged / stump
        claims += [
            Claim(f"{name}: boosting takes a third of a stump's error or more", left < 2.0 / 3.0, f"{left:.2f} left"),
            Claim(f"{name}: bagging takes a tenth at most", kept > 0.9, f"{kept:.2f} left"),
        ]
    return Outcome(rows, tuple(claims), gather_means(table.means()), verdict_of(rows, claims), table)


def draw(result: ReproductionResult) -> Figure:
    """Draw published and obtained errors."""
    return draw_published(result)
