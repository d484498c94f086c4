"""The importances of a forest, all from one fit: by exchanged values, by impurity, by splits, by node (D-3 to D-7).

    permutation        fall of the vote's margin out of bag when a feature's values are exchanged (D-3)
    tree_permutation   the same of every tree's own accuracy: "mean decrease accuracy" of randomForest
    impurity           sum of the impurity falls of the feature's splits (D-4)
    impurity_oob       the same measured out of bag: what only helped to learn rows by heart gets about 0
    frequency          share of all splits (D-5)
    node_permutation   values exchanged at one node at a time, summed over nodes (D-6)

For numbers the first two and the last are rises of the squared error. The equations stand in parts/oob_permutation,
split_importances and node_permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.base.array_types import Floats
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import standard_error
from committee.explain._node_permutation import node_permutation
from committee.explain._oob_forest import JudgedForest, mean_of
from committee.explain._oob_permutation import oob_permutation
from committee.explain._oob_rows import check_forest, judged_forest, training_rows
from committee.explain._split_importances import impurity_decreases, split_counts, split_frequency, unseen_decreases
from committee.explain.importances import scaled_to_100
from committee.forests._base import BaseForest
from committee.records.result_table import ResultTable, to_pandas, to_polars

Kind = Literal["permutation", "tree_permutation", "impurity", "impurity_oob", "frequency", "node_permutation"]

KINDS: tuple[Kind, ...] = get_args(Kind)
WITHOUT_ROWS: tuple[Kind, ...] = ("impurity", "frequency")
"""Kinds that the trees know by themselves."""

EXCHANGED: tuple[Kind, ...] = ("permutation", "tree_permutation")


class ForestImportance(NamedTuple):
    """One kind of importance, in the order of the columns."""

    names: tuple[str, ...]
    kind: Kind
    raw: Floats  # [d]
    standard_error: Floats  # [d], over trees; nan where there is a single one
    per_class: Floats  # [d, K], over the rows of one class; empty but for the first two kinds of a classifier
    per_class_error: Floats  # [d, K]

    @property
    def values(self) -> Floats:
        """Scaled so that the largest is 100 (D-7); below zero where exchanged values did better."""
        return scaled_to_100(self.raw)


class ForestImportances(NamedTuple):
    """Several kinds of importance of one forest."""

    names: tuple[str, ...]
    kinds: tuple[ForestImportance, ...]
    classes: NDArray[Any]  # [K], those of the columns per class; empty for numbers
    local: Floats  # [n, d], of "permutation" for every row: its own fall of the margin, or rise of the squared error

    def of(self, kind: Kind) -> ForestImportance:
        """One kind of importance."""
        for result in self.kinds:
            if result.kind == kind:
                return result
        raise ValueError(f"{kind!r} was not asked for; there are: {', '.join(result.kind for result in self.kinds)}.")

    def to_table(self) -> ResultTable:
        """One line per feature, the most important of the first kind on top: of every kind the importance scaled to
        100, as it is, and its standard error."""
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
    """Importances of the features of a fitted forest, from its own training rows.

    Parameters
    ----------
    forest : a fitted forest of the library
    X, y : the rows it was fitted on, in the same order
    sample_weight : weights of the rows in the means; those of fit by default
    kinds : which importances; all by default. Only "impurity" and "frequency" can be had of a forest without rows out
        of bag.
    local : also keep the importance of every feature to every row (n, d), of the kind "permutation"
    n_repeats : how often values are exchanged
    random_state : seed of the exchanges; the result does not depend on `n_jobs`
    n_jobs : number of threads

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> glass = load_dataset("glass", as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(glass.X, glass.y)
    >>> found = forest_importances(forest, glass.X, glass.y, kinds=["permutation", "frequency"], random_state=0)
    >>> {name: round(float(v)) for name, v in zip(found.names, found.of("permutation").values)}
    {'RI': 100, 'Na': 37, 'Mg': 99, 'Al': 90, 'Si': 29, 'K': 42, 'Ca': 54, 'Ba': 57, 'Fe': 4}
    """
    fitted = check_forest(forest)
    wanted = _read_kinds(kinds)
    if isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    if local and "permutation" not in wanted:
        raise ValueError("local=True is for the kind 'permutation': add it to kinds.")
    columns = fitted.columns_
    names = tuple(columns.name(f) for f in range(columns.n_features))
    rows = training_rows(fitted, X, y, sample_weight)
    judged = None if set(wanted) <= set(WITHOUT_ROWS) else judged_forest(fitted, rows)
    n_trees = len(fitted.trees_)
    seeds = [[int(s) for s in line] for line in member_seeds(random_state, n_repeats * n_trees).reshape(-1, n_trees)]
    of_rows, of_row = [], np.empty((0, len(names)))
    if judged is not None:
        of_rows, of_row = _by_exchange(wanted, names, judged, seeds, local, n_jobs)
    of_trees = [_by_trees(kind, names, fitted, judged, seeds, n_jobs) for kind in wanted if kind not in EXCHANGED]
    result = sorted([*of_rows, *of_trees], key=lambda importance: wanted.index(importance.kind))
    return ForestImportances(names, tuple(result), np.asarray(getattr(fitted, "classes_", np.empty(0))), of_row)


def _read_kinds(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    wanted = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown or not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"kinds must name some of {', '.join(KINDS)}, each once; got {list(wanted)}.")
    return cast("tuple[Kind, ...]", wanted)


def _by_exchange(
    wanted: tuple[Kind, ...],
    names: tuple[str, ...],
    judged: JudgedForest,
    seeds: list[list[int]],
    local: bool,
    n_jobs: int | None,
) -> tuple[list[ForestImportance], Floats]:
    """The kinds of parts/oob_permutation: of classes from one run, of numbers from one each."""
    result: list[ForestImportance] = []
    of_row = np.empty((0, len(names)))
    run = None
    for kind in EXCHANGED:
        if kind not in wanted:
            continue
        is_forest = kind == "permutation"
        if run is None or not judged.n_classes:
            shares_ring = is_forest and not judged.n_classes
            keeps = local and is_forest
            run = oob_permutation(judged, seeds, shares_ring=shares_ring, keeps_local=keeps, n_jobs=n_jobs)
        value, error = (run.forest, run.forest_error) if is_forest else (run.tree, run.tree_error)
        result.append(ForestImportance(names, kind, value[:, 0], error[:, 0], value[:, 1:], error[:, 1:]))
        of_row = run.local if is_forest else of_row
    return result, of_row


def _by_trees(
    kind: Kind,
    names: tuple[str, ...],
    forest: BaseForest,
    judged: JudgedForest | None,
    seeds: list[list[int]],
    n_jobs: int | None,
) -> ForestImportance:
    """A mean over trees of what each tree says."""
    d = len(names)
    nothing = np.empty((d, 0))
    if kind == "frequency":
        return ForestImportance(names, kind, *split_frequency(split_counts(forest.trees_, d)), nothing, nothing)
    if kind == "impurity" or judged is None:
        of_trees = impurity_decreases(forest.trees_, d)
    elif kind == "impurity_oob":
        of_trees = unseen_decreases(judged, n_jobs)
    else:
        of_trees = node_permutation(judged, seeds, n_jobs)
    return ForestImportance(names, kind, mean_of(of_trees), standard_error(of_trees), nothing, nothing)
