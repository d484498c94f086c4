"""Feature importances of a forest from its own training rows: by permutation, by impurity, by splits, by node.

    permutation        decrease of the margin of the out-of-bag vote when a feature is permuted (Breiman 2001)
    tree_permutation   decrease of every tree's own accuracy: "mean decrease accuracy" of randomForest
    impurity           sum of the impurity decreases of the feature's splits ("mean decrease impurity", MDI)
    impurity_oob       the same measured out-of-bag: about 0 for a feature that only overfits
    frequency          fraction of all splits
    node_permutation   permuted at one node at a time, summed over nodes

For regression the first two and the last are increases of the squared error. The equations are in
`_oob_permutation.py`, `_split_importances.py` and `_node_permutation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.array_types import Floats
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import standard_error
from committee.explain._split_importances import impurity_decreases, oob_decreases, split_counts, split_frequency
from committee.explain.importances import scaled_to_100
from committee.explain.node_permutation import node_permutation
from committee.explain.oob_forest import (
    OobForest,
    check_forest,
    mean_of,
    oob_forest,
    training_rows,
)
from committee.explain.oob_permutation import oob_permutation
from committee.forests.base import BaseForest
from committee.records.result_table import ResultTable, to_pandas, to_polars

Kind = Literal["permutation", "tree_permutation", "impurity", "impurity_oob", "frequency", "node_permutation"]

KINDS: tuple[Kind, ...] = get_args(Kind)
WITHOUT_ROWS: tuple[Kind, ...] = ("impurity", "frequency")
"""Kinds that need no out-of-bag rows."""

PERMUTED: tuple[Kind, ...] = ("permutation", "tree_permutation")
"""Kinds computed by `oob_permutation`."""


class ForestImportance(NamedTuple):
    """One kind of importance, in the order of the columns.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    kind : str
        The kind of importance.
    raw : array of shape (n_features,)
        Importances in their own unit.
    standard_error : array of shape (n_features,)
        Standard errors over trees; nan with a single tree.
    per_class : array of shape (n_features, n_classes)
        Importances over the rows of one class; empty except for the first two kinds of a classifier.
    per_class_error : array of shape (n_features, n_classes)
        Their standard errors.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> forest_importances(forest, glass.X, glass.y, kinds=["frequency"]).of("frequency").values.max()
    np.float64(100.0)
    """

    names: tuple[str, ...]
    kind: Kind
    raw: Floats
    standard_error: Floats
    per_class: Floats
    per_class_error: Floats

    @property
    def values(self) -> Floats:
        """Importances scaled so that the largest is 100; negative where permuting improved the predictions."""
        return scaled_to_100(self.raw)


class ForestImportances(NamedTuple):
    """Several kinds of importance of one forest.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    kinds : tuple of ForestImportance
        The kinds that were asked for.
    classes : array of shape (n_classes,)
        Classes of the columns of `per_class`; empty for regression.
    local : array of shape (n_samples, n_features)
        With `local=True`, the "permutation" importance for every row: the decrease of its own margin, or the increase
        of its squared error; nan for a row that is in the bag of every tree.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass")
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> [one.kind for one in forest_importances(forest, glass.X, glass.y, kinds=["impurity", "frequency"]).kinds]
    ['impurity', 'frequency']
    """

    names: tuple[str, ...]
    kinds: tuple[ForestImportance, ...]
    classes: NDArray[Any]
    local: Floats

    def of(self, kind: Kind) -> ForestImportance:
        """Return one kind of importance."""
        for result in self.kinds:
            if result.kind == kind:
                return result
        computed = ", ".join(result.kind for result in self.kinds)
        raise ValueError(f"{kind!r} was not computed, only {computed}: add it to kinds of forest_importances.")

    def to_table(self) -> ResultTable:
        """Return a row per feature, the most important one of the first kind on top.

        Every kind has three columns: the importance scaled to 100, as it is, and its standard error.
        """
        columns: dict[str, Sequence[Any]] = {"feature": self.names}
        for result in self.kinds:
            columns[result.kind], columns[f"{result.kind}_raw"] = result.values.tolist(), result.raw.tolist()
            columns[f"{result.kind}_se"] = result.standard_error.tolist()
        return ResultTable(columns).take(np.argsort(-self.kinds[0].raw, kind="stable"))

    to_pandas = to_pandas
    to_polars = to_polars


def forest_importances(
    forest: BaseForest,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    kinds: Sequence[Kind] = KINDS,
    local: bool = False,
    n_repeats: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ForestImportances:
    """Compute feature importances of a fitted forest from its own training rows.

    Parameters
    ----------
    forest : fitted random forest or extra-trees
        The forest, fitted on a single target.
    X, y : table and array-like
        The rows it was fitted on, in the same order.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the means; by default those passed to fit.
    kinds : sequence of str
        Which importances; all by default. All except "impurity" and "frequency" need out-of-bag rows.
    local : bool
        Also return the "permutation" importance of every feature for every row.
    n_repeats : int
        Number of random permutations whose importances are averaged.
    random_state : int, Generator or None
        Seed of the permutations. The result does not depend on `n_jobs`.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    ForestImportances
        One `ForestImportance` for each of `kinds`.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass", as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> result = forest_importances(forest, glass.X, glass.y, kinds=["permutation", "frequency"], random_state=0)
    >>> {name: round(float(v)) for name, v in zip(result.names, result.of("permutation").values)}
    {'RI': 100, 'Na': 37, 'Mg': 99, 'Al': 90, 'Si': 29, 'K': 42, 'Ca': 54, 'Ba': 57, 'Fe': 4}
    """
    fitted = check_forest(forest)
    wanted = _read_kinds(kinds)
    if isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    if local and "permutation" not in wanted:
        raise ValueError("local=True needs the kind 'permutation': add it to kinds.")
    columns = fitted.columns_
    names = tuple(columns.name(f) for f in range(columns.n_features))
    rows = training_rows(fitted, X, y, sample_weight)
    with_oob = None if set(wanted) <= set(WITHOUT_ROWS) else oob_forest(fitted, rows)
    n_trees = len(fitted.trees_)
    seeds = [[int(s) for s in line] for line in member_seeds(random_state, n_repeats * n_trees).reshape(-1, n_trees)]
    permuted, of_rows = [], np.empty((0, len(names)))
    if with_oob is not None:
        permuted, of_rows = _by_permutation(wanted, names, with_oob, seeds, local, n_jobs)
    of_trees = [_by_trees(kind, names, fitted, with_oob, seeds, n_jobs) for kind in wanted if kind not in PERMUTED]
    result = sorted([*permuted, *of_trees], key=lambda importance: wanted.index(importance.kind))
    return ForestImportances(names, tuple(result), np.asarray(getattr(fitted, "classes_", np.empty(0))), of_rows)


def _read_kinds(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown or not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"kinds must name some of {', '.join(KINDS)}, each once; got {list(wanted)}.")
    return cast("tuple[Kind, ...]", wanted)


def _by_permutation(
    wanted: tuple[Kind, ...],
    names: tuple[str, ...],
    forest: OobForest,
    seeds: list[list[int]],
    local: bool,
    n_jobs: int | None,
) -> tuple[list[ForestImportance], Floats]:
    """The kinds of `oob_permutation`: both from one run for a classifier, from one run each for a regressor."""
    result: list[ForestImportance] = []
    of_rows = np.empty((0, len(names)))
    run = None
    for kind in PERMUTED:
        if kind not in wanted:
            continue
        is_forest = kind == "permutation"
        if run is None or not forest.n_classes:
            one_permutation = is_forest and not forest.n_classes
            run = oob_permutation(
                forest, seeds, one_permutation=one_permutation, local=local and is_forest, n_jobs=n_jobs
            )
        value, error = (run.forest, run.forest_error) if is_forest else (run.tree, run.tree_error)
        result.append(ForestImportance(names, kind, value[:, 0], error[:, 0], value[:, 1:], error[:, 1:]))
        of_rows = run.local if is_forest else of_rows
    return result, of_rows


def _by_trees(
    kind: Kind,
    names: tuple[str, ...],
    forest: BaseForest,
    with_oob: OobForest | None,
    seeds: list[list[int]],
    n_jobs: int | None,
) -> ForestImportance:
    """A mean over trees of the importance by each tree."""
    d = len(names)
    nothing = np.empty((d, 0))
    if kind == "frequency":
        return ForestImportance(names, kind, *split_frequency(split_counts(forest.trees_, d)), nothing, nothing)
    if kind == "impurity" or with_oob is None:
        of_trees = impurity_decreases(forest.trees_, d)
    elif kind == "impurity_oob":
        of_trees = oob_decreases(with_oob, n_jobs)
    else:
        of_trees = node_permutation(with_oob, seeds, n_jobs)
    return ForestImportance(names, kind, mean_of(of_trees), standard_error(of_trees), nothing, nothing)
