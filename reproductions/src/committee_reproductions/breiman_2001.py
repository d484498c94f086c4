"""Random forests against AdaBoost on four UCI data sets.

Breiman, Random forests, 2001, table 2. A random tenth of the rows is set aside; on the others are fitted

    two forests of 100 full trees that consider F = 1 and F = int(log2 d + 1) features at a node; "selection" is the one
    with the smaller out-of-bag error
    AdaBoost of 50 full trees on rows drawn by the weights; under weights a full tree makes no error and ends the run
    one tree: the mean error of the trees of the selected forest

and evaluated on the tenth; 100 times. The splits are drawn independently from the same rows as in the paper, so the
standard error of a mean over R of them is their standard deviation over sqrt(R), and the paper's is as large. The
paper's error of one tree is estimated out of bag, ours on the test rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import member_seeds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.evaluation._folds import read_labels
from committee.forests.estimators import RandomForestClassifier
from committee.trees.decision_tree import DecisionTreeClassifier
from committee_reproductions._experiments import error_rate, fit_quietly, over_datasets
from committee_reproductions.pictures import draw_published
from committee_reproductions.results import (
    Claim,
    Outcome,
    PaperTable,
    ReproductionResult,
    gather_means,
    is_above,
    verdict_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Codes = NDArray[np.int64]

ADABOOST, SELECTED, ONE_FEATURE, ONE_TREE = "AdaBoost", "forest by selection", "forest, F = 1", "one tree"
METHODS = (ADABOOST, SELECTED, ONE_FEATURE, ONE_TREE)

PUBLISHED = {
    "glass": (22.0, 20.6, 21.2, 36.9),
    "pima_diabetes": (26.6, 24.2, 24.3, 33.1),
    "sonar": (15.6, 15.9, 18.0, 31.7),
    "ionosphere": (6.4, 7.1, 7.5, 12.7),
}
"""Errors in %, by data set, in the order of METHODS."""

TEST_FRACTION = 0.1


def forests_and_adaboost(
    names: tuple[str, ...] = tuple(PUBLISHED),
    *,
    n_splits: int = 100,
    n_trees: int = 100,
    n_rounds: int = 50,
    random_state: int = 0,
    verbose: int = 0,
) -> PaperTable:
    """Compare the four methods on random splits of built-in data sets.

    >>> table = forests_and_adaboost(("glass",), n_splits=5, n_trees=20, n_rounds=10)
    >>> table.error("glass", "one tree").value > table.error("glass", "forest by selection").value
    True
    """
    if n_splits < 2:
        raise ValueError(f"n_splits must be at least 2, for a standard error; got {n_splits}.")
    seeds = [int(seed % np.uint64(2**31)) for seed in member_seeds(random_state, n_splits)]

    def errors(X: Any, y: Any) -> Floats:
        codes, found = read_labels(y), list[tuple[float, ...]]()
        with progress("forests and AdaBoost, splits", n_splits, verbose) as tick:
            for seed in seeds:
                found.append(_run_split(X, codes, n_trees, n_rounds, seed))
                tick(f"AdaBoost {found[-1][0]:.3f}, forest {found[-1][1]:.3f}")
        return np.array(found).T

    return PaperTable(over_datasets(names, errors), METHODS, PUBLISHED)


def _run_split(X: Floats, codes: Codes, n_trees: int, n_rounds: int, seed: int) -> tuple[float, ...]:
    """Return the errors on a random tenth, in the order of METHODS."""
    shuffled = np.random.default_rng(seed).permutation(codes.size)
    n_test = round(TEST_FRACTION * codes.size)
    test, train = shuffled[:n_test], np.sort(shuffled[n_test:])
    one, several = (
        RandomForestClassifier(n_trees, max_features=m, random_state=seed).fit(X[train], codes[train])
        for m in (1, int(np.log2(X.shape[1]) + 1.0))
    )
    selected = min((one, several), key=lambda forest: forest.oob_error_)
    booster = AdaBoostClassifier(
        DecisionTreeClassifier(), n_estimators=n_rounds, weighting="resample", random_state=seed
    )
    fit_quietly(booster, X[train], codes[train])
    rows, truth = X[test], codes[test]
    trees = [error_rate(tree, rows, truth) for tree in selected.estimators_]
    return *(error_rate(model, rows, truth) for model in (booster, selected, one)), float(np.mean(trees))


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Measure and compare with the paper's table."""
    size: dict[str, Any] = {"n_splits": 3, "n_trees": 20, "n_rounds": 10} if quick else {}
    table = forests_and_adaboost(**size, verbose=verbose)
    rows = table.rows()
    claims: list[Claim] = []
    for name in PUBLISHED:
        excess, gain = table.difference(name, SELECTED, ADABOOST), table.difference(name, ONE_TREE, SELECTED)
        is_as_good = is_above(excess) is not True
        claims += [
            Claim(f"{name}: a forest is as good as AdaBoost", is_as_good, f"forest - AdaBoost: {excess} %"),
            Claim(f"{name}: far better than one tree", is_above(gain), f"one tree - forest: {gain} %"),
        ]
    return Outcome(rows, tuple(claims), gather_means(table.means()), verdict_of(rows, claims), table)


def draw(result: ReproductionResult) -> Figure:
    """Draw published and obtained errors."""
    return draw_published(result)
