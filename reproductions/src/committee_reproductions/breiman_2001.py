"""Random forests against AdaBoost on small sets (Breiman, Random forests, 2001, table 2).

A random tenth of the rows is set aside; on the others grow

    two forests of 100 full trees that look at F = 1 and F = int(log2 d + 1) features a node; "selection" is the one
    with the smaller out-of-bag error
    AdaBoost of 50 full trees on rows drawn by the weights; under weights a full tree makes no error and ends the run
    one tree: the mean error of the trees of the forest selected

and judge on the tenth; 100 times. The splits are drawn independently from the same rows as in the paper, so the
standard error of a mean over R of them is their standard deviation over sqrt(R), and the paper's is as large.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.progress import progress
from committee.base.rng import member_seeds
from committee.boosting.adaboost import AdaBoostClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import Mean, read_labels
from committee.forests.estimators import RandomForestClassifier
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.trees.decision_tree import DecisionTreeClassifier
from committee_reproductions.bagging_simulation import mean_over_draws
from committee_reproductions.published import errors_beside_published

Codes = NDArray[np.int64]

METHODS = ("AdaBoost", "forest by selection", "forest, F = 1", "one tree")

TABLE = {
    "glass": (22.0, 20.6, 21.2, 36.9),
    "pima_diabetes": (26.6, 24.2, 24.3, 33.1),
    "sonar": (15.6, 15.9, 18.0, 31.7),
    "ionosphere": (6.4, 7.1, 7.5, 12.7),
}
"""Errors in % as published, by set, in the order of METHODS."""

TEST_SHARE = 0.1


class Breiman2001(NamedTuple):
    """Errors by set, [methods, n_splits]."""

    errors: Mapping[str, Floats]

    def error(self, name: str, method: str) -> Mean:
        """Mean over the splits, in %."""
        found = mean_over_draws(self.errors[name][METHODS.index(method)])
        return Mean(100.0 * found.value, 100.0 * found.stderr)

    def excess(self, name: str, method: str, other: str) -> Mean:
        """Error above that of another method on the same splits, in %."""
        errors = self.errors[name]
        return mean_over_draws(100.0 * (errors[METHODS.index(method)] - errors[METHODS.index(other)]))

    def to_table(self) -> ResultTable:
        """One line per set and method."""
        return errors_beside_published(self.errors, METHODS, TABLE, self.error)

    to_pandas = to_pandas
    to_polars = to_polars


def breiman_2001(
    names: Iterable[str] = tuple(TABLE),
    *,
    n_splits: int = 100,
    n_trees: int = 100,
    n_rounds: int = 50,
    random_state: int = 0,
    verbose: int = 0,
) -> Breiman2001:
    """Four methods on random splits of built-in sets.

    Parameters
    ----------
    names : built-in sets of classes
    n_splits : random splits of each
    n_trees : trees of a forest
    n_rounds : trees of AdaBoost
    random_state : of the splits and of the models
    verbose : 1 shows a progress bar for every set

    Examples
    --------
    >>> found = breiman_2001(["glass"], n_splits=5, n_trees=20, n_rounds=10)
    >>> found.error("glass", "one tree").value > found.error("glass", "forest by selection").value
    True
    """
    if n_splits < 2:
        raise ValueError(f"n_splits must be at least 2, for a standard error; got {n_splits}.")
    found: dict[str, Floats] = {}
    for name in names:
        X, y = load_dataset(name)[:2]
        codes, errors = read_labels(y), list[tuple[float, ...]]()
        with progress(f"{name}, splits", n_splits, verbose) as tick:
            for seed in member_seeds(random_state, n_splits):
                errors.append(_run_split(X, codes, n_trees, n_rounds, int(seed % np.uint64(2**31))))
                tick(f"AdaBoost {errors[-1][0]:.3f}, forest {errors[-1][1]:.3f}")
        found[name] = np.array(errors).T
    return Breiman2001(found)


def _run_split(X: Floats, codes: Codes, n_trees: int, n_rounds: int, seed: int) -> tuple[float, ...]:
    """Errors on a random tenth, in the order of METHODS."""
    shuffled = np.random.default_rng(seed).permutation(codes.size)
    n_test = round(TEST_SHARE * codes.size)
    test, train = shuffled[:n_test], np.sort(shuffled[n_test:])
    features = {"one": 1, "log2": int(np.log2(X.shape[1]) + 1.0)}
    forests = {
        key: RandomForestClassifier(n_trees, max_features=m, random_state=seed).fit(X[train], codes[train])
        for key, m in features.items()
    }
    selected = min(forests.values(), key=lambda forest: forest.oob_error_)
    booster = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=n_rounds, update="resample", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a run that ends early is judged as it is
        booster.fit(X[train], codes[train])
    wrong = [float(np.mean(model.predict(X[test]) != codes[test])) for model in (booster, selected, forests["one"])]
    trees = [np.mean(tree.predict(X[test]) != codes[test]) for tree in selected.estimators_]
    return *wrong, float(np.mean(trees))
