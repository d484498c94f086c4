"""Importance of the features of a fitted model, by the splits of its trees and by permutation.

By splits, over trees t = 1 .. T with weights a_t (all equal except in boosted votes):

    gain_j = sum_t |a_t| sum_{splits of t on j} decrease / sum_t |a_t|
    frequency_j = splits on j / splits

The decrease is that of the loss or impurity on the training rows: features with many values, and features that only
help to overfit, look important.

By permutation (Breiman 2001; Fisher, Rudin and Dominici 2019), on any rows, preferably held-out ones:

    decrease_j = s - mean_r s(rows with the values of j permuted, for the r-th time)

with s the score. Correlated features can replace each other; permuted together, as a group, they cannot. A row of
weight w_i receives the value of row k with probability w_k / sum w, and with equal weights every value is used once: an
integer weight w is equivalent to repeating the row w times.

Breiman, Random forests, 2001. Friedman, Greedy function approximation, 2001, section 8.1. Fisher, Rudin and Dominici,
All models are wrong, but many are useful, 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.rng import RandomState, member_seeds
from committee.base.stats import standard_error
from committee.boosting.adaboost_r2 import AdaBoostRegressor
from committee.explain.shap import tree_sum
from committee.explain.tables import Feature, Rows, column_names, replace_columns
from committee.members.member import TreeMember
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.records.tree import LEAF, Tree
from committee.tabular.cells import Table
from committee.tabular.schema import find_columns, open_table
from committee.tabular.validation import native, read_weights


def scaled_to_100(raw: Floats) -> Floats:
    """Scale so that the largest value is 100; return zeros if no value is positive."""
    largest = float(raw.max(initial=0.0))
    return 100.0 * (raw / largest) if largest > 0.0 else np.zeros(raw.size)


class Importances(NamedTuple):
    """Importances of the features by the splits of trees, in the order of the columns.

    Attributes
    ----------
    names : names of the features
    values : array [d], the largest is 100
    raw : array [d], mean decrease per tree, or fraction of the splits
    kind : "gain" or "frequency"
    """

    names: tuple[str, ...]
    values: Floats
    raw: Floats
    kind: Literal["gain", "frequency"]

    def to_table(self) -> ResultTable:
        """Return a table with one row per feature, the most important first."""
        return _sorted_table({"feature": self.names, "importance": self.values, "raw": self.raw}, self.raw)

    to_pandas = to_pandas
    to_polars = to_polars


class PermutationImportances(NamedTuple):
    """Decreases of the score by permutation, in the order of the given features or groups.

    Attributes
    ----------
    names : names of the features
    mean : array [g], mean decrease of the score
    standard_error : array [g], standard error of that mean over the repeats; nan with a single repeat
    decreases : array [g, n_repeats], decrease in every repeat
    score : score of the rows without permutation
    """

    names: tuple[str, ...]
    mean: Floats
    standard_error: Floats
    decreases: Floats
    score: float

    @property
    def values(self) -> Floats:
        """The mean decreases, scaled so that the largest is 100; negative where the score increased."""
        return scaled_to_100(self.mean)

    def to_table(self) -> ResultTable:
        """Return a table with one row per feature or group, the most important first."""
        columns = {"feature": self.names, "importance": self.values, "mean": self.mean, "se": self.standard_error}
        return _sorted_table(columns, self.mean)

    to_pandas = to_pandas
    to_polars = to_polars


def _sorted_table(columns: dict[str, Any], by: Floats) -> ResultTable:
    return ResultTable(columns).take(np.argsort(-by, kind="stable"))


# --- by the splits of trees ------------------------------------------------------------------------------------------


def tree_importances(estimator: Any, kind: Literal["gain", "frequency"] = "gain") -> Importances:
    """Compute the importances of the features by the splits of a fitted tree or ensemble of trees.

    Parameters
    ----------
    estimator : fitted tree, booster of trees, or estimator with a method ``to_tree_sum()`` that returns a `TreeSum`
    kind : {"gain", "frequency"}
        Decreases of loss or impurity, summed per tree and averaged over trees, or the fraction of all splits (split
        count).

    Returns
    -------
    Importances

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone", as_frame=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=6).fit(ozone.X, ozone.y)
    >>> found = tree_importances(tree)
    >>> {name: round(float(v), 1) for name, v in zip(found.names, found.values) if v}
    {'V1': 6.5, 'V2': 6.4, 'V8': 100.0, 'V10': 9.6, 'V12': 14.9}
    """
    if kind not in ("gain", "frequency"):
        raise ValueError(f"kind must be 'gain' or 'frequency', got {kind!r}.")
    trees, weight = _weighted_trees(estimator)
    columns = estimator.columns_
    total = np.zeros(columns.n_features)
    for tree, w in zip(trees, weight if kind == "gain" else np.ones(len(trees)), strict=True):
        inner = tree.feature != LEAF
        gain = tree.gain[inner] if kind == "gain" else None
        total += w * np.bincount(tree.feature[inner], gain, columns.n_features)
    divisor = float(weight.sum() if kind == "gain" else total.sum())
    raw = total / divisor if divisor > 0.0 else total
    names = tuple(columns.name(f) for f in range(columns.n_features))
    return Importances(names, scaled_to_100(raw), raw, kind)


def _weighted_trees(estimator: Any) -> tuple[Sequence[Tree], Floats]:
    """The trees and their weights."""
    if isinstance(estimator, AdaBoostRegressor):  # a weighted median of trees is not a sum
        check_is_fitted(estimator, "members_")
        members = [member for member in estimator.members_ if isinstance(member, TreeMember)]
        if len(members) < len(estimator.members_):
            raise TypeError("The members of this AdaBoostRegressor are not trees: use permutation_importances.")
        return [member.tree for member in members], np.abs(np.asarray(estimator.coefficients_, np.float64))
    try:
        model = tree_sum(estimator)
    except TypeError as error:
        raise TypeError(
            "Importances by splits need a fitted tree or sum of trees; use permutation_importances (with X and y) for "
            f"any other model. {error}"
        ) from error
    return model.trees, np.abs(model.weight)


# --- by permutation --------------------------------------------------------------------------------------------------


def permutation_importances(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[Feature | Sequence[Feature]] | None = None,
    n_repeats: int = 5,
    scoring: str | Callable[..., float] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> PermutationImportances:
    """Compute the decrease of the score of a fitted model when the values of a feature are permuted.

    Unlike `sklearn.inspection.permutation_importance` it accepts frames of polars and Arrow, keeps names, dtypes and
    categories, and permutes groups of features.

    Parameters
    ----------
    estimator : fitted scikit-learn estimator
    X, y : rows to score and their targets, preferably held-out rows
    features : sequence, optional
        Columns by name or position, all by default; a list in the place of a column is a group that is permuted
        together.
    n_repeats : int
        Number of permutations of each feature or group.
    scoring : str or callable, optional
        Name of a scikit-learn score, or scorer(estimator, X, y); ``estimator.score`` by default.
    random_state : int, Generator or None
        Seed; the result does not depend on `n_jobs`.
    n_jobs : int, optional
        Number of threads.
    sample_weight : array-like, optional
        Weights of the rows; the score must accept them.

    Returns
    -------
    PermutationImportances

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone", as_frame=True)
    >>> tree = DecisionTreeRegressor(max_leaf_nodes=12).fit(ozone.X[::2], ozone.y[::2])
    >>> X, y = ozone.X[1::2], ozone.y[1::2]
    >>> found = permutation_importances(tree, X, y, features=["V8", ["V1", "V12"]], random_state=0)
    >>> dict(zip(found.names, found.mean.round(3).tolist()))
    {'V8': 0.906, 'V1 + V12': 0.082}
    """
    if isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    table = open_table(X, estimator)
    weight = read_weights(sample_weight, table.shape[0])
    names, groups = _groups(table, features)
    scorer: Any = check_scoring(estimator, scoring)
    options: dict[str, Any] = {} if weight is None else {"sample_weight": weight}

    def score(of: Table) -> float:
        return float(scorer(estimator, native(of), y, **options))

    before = score(table)
    calls = _permutations(table, groups, n_repeats, weight, random_state)
    after = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_permuted_score)(score, *call) for call in calls)
    decreases = before - np.reshape(np.array(after, np.float64), (len(groups), n_repeats))
    return PermutationImportances(names, decreases.mean(axis=1), standard_error(decreases, axis=1), decreases, before)


def _groups(
    table: Table, features: Sequence[Feature | Sequence[Feature]] | None
) -> tuple[tuple[str, ...], list[list[int]]]:
    """Names and positions of the columns that are permuted together."""
    if isinstance(features, str):
        raise TypeError(f"features must be a list of columns or groups, got {features!r}: put it into a list.")
    wanted = list(range(table.shape[1])) if features is None else list(features)
    listed = [[one] if isinstance(one, str | int | np.integer) else list(one) for one in wanted]
    if not listed or not all(listed):
        raise ValueError("features, or a group in it, is empty: name at least one column each.")
    groups = [find_columns(table, one, from_end=True) for one in listed]
    names = column_names(table)
    return tuple(" + ".join(names[f] for f in group) for group in groups), groups


def _permutations(
    table: Table, groups: list[list[int]], n_repeats: int, weight: Floats | None, random_state: RandomState
) -> Iterator[tuple[Table, list[int], Rows]]:
    """Every group n_repeats times, with the donor rows of its values."""
    for group, seed in zip(groups, member_seeds(random_state, len(groups)), strict=True):
        rng = np.random.default_rng(seed)
        for _ in range(n_repeats):
            yield table, group, draw_donors(rng, table.shape[0], weight)


def _permuted_score(score: Callable[[Table], float], table: Table, group: list[int], donors: Rows) -> float:
    return score(replace_columns(table, dict.fromkeys(group, donors)))


def log_likelihood(model: Any, X: Any, codes: NDArray[np.int64]) -> float:
    """Score by the mean log-probability of the true class, which is more sensitive than the accuracy."""
    probability = np.asarray(model.predict_proba(X), np.float64)
    return float(np.mean(np.log(np.maximum(probability[np.arange(codes.size), codes], 1e-15))))


def draw_donors(rng: np.random.Generator, n: int, weight: Floats | None) -> Rows:
    """Draw the row that each row takes a value from: a permutation, or row k with probability w_k / sum w.

    The weights are intervals on a circle, in their order for the recipients and in random order for the donors, with a
    random rotation between the two; the donor at the start of a recipient's interval is taken. With equal weights this
    is a permutation.
    """
    order = rng.permutation(n)
    if weight is None:
        return order
    ends = np.cumsum(weight[order])
    start = (np.cumsum(weight) - weight + rng.uniform(0.0, ends[-1])) % ends[-1]
    last = int(np.flatnonzero(weight[order])[-1])  # despite rounding, never past the end or at a row without weight
    return order[np.minimum(np.searchsorted(ends, start, side="right"), last)]
