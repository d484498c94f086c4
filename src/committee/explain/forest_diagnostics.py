"""What the theory of forests knows of a fitted one: strength, correlation, what more trees would bring, uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.prediction_only_error import PredictionOnlyError, kept_from_fit
from committee.explain._oob_forest import TrainingRows, check_forest, training_rows
from committee.forests._base import BaseForest
from committee.records.tree import Tree
from committee.theory.forests import (
    AverageVariance,
    Strength,
    Uncertainty,
    regression_uncertainty,
    strength_and_correlation,
    uncertainty,
    variance_of_average,
)
from committee.tree_engine.predict.apply import apply_tree

LITTLE = 0.01
"""More trees help little if infinitely many of them would remove less than this share of the squared error."""

SEES_NONE = 0.02
"""Trees whose leaves hold less than this share of the uncertainty know no noise: they took all of it for signal."""


class ForestDiagnostics(NamedTuple):
    """Figures of a forest, judged by trees on rows that they did not see. `str` puts them into words."""

    n_trees: int
    oob_error: float
    strength: Strength | None  # with Breiman's bound; None for numbers
    variance: AverageVariance  # of the errors of trees: numbers, or the share of the true class minus 1 (B-3)
    uncertainty: Uncertainty  # of every row looked at: entropies in nats, or variances (C-8)
    rows: NDArray[np.int64]  # positions of the rows looked at

    @property
    def more_trees_help(self) -> bool:
        """Would infinitely many more trees remove more than a hundredth of the mean squared error?"""
        return self.variance.gain_left > LITTLE * self.variance.of_average

    def __str__(self) -> str:
        u, kind = self.uncertainty, "nats" if self.strength is not None else "variance"
        total, noise, doubt = (float(np.nanmean(part)) for part in (u.total, u.aleatoric, u.epistemic))
        lines = [
            f"{self.n_trees} trees, out-of-bag error {self.oob_error:.4g}",
            f"more trees would {'help' if self.more_trees_help else 'help little'}: {self.variance.note}",
            f"trees err together: correlation of their errors {self.variance.correlation:.3f}",
            f"mean uncertainty of a prediction {total:.3g} ({kind}): {noise:.3g} of noise that every tree expects"
            f"{' (full trees see none)' if noise < SEES_NONE * total else ''}, {doubt:.3g} of doubt between the trees",
        ]
        s = self.strength
        if s is not None:
            lines.insert(1, f"strength {s.strength:.3f}, correlation {s.correlation:.3f}, c/s2 {s.ratio:.3f}")
            lines.insert(2, f"Breiman (2001): {s.note}")
        return "\n".join(lines)


def forest_diagnostics(forest: BaseForest, X: Any, y: Any, *, max_rows: int = 20_000) -> ForestDiagnostics:
    """Strength, correlation, bound, variance and uncertainty of a forest by its out-of-bag answers.

    Parameters
    ----------
    forest : a fitted forest with rows out of bag
    X, y : the rows it was fitted on, in the same order
    max_rows : most rows to look at, evenly spaced: the answers of all trees to them are held at once

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> forest = RandomForestClassifier(random_state=0).fit(sonar.X, sonar.y)
    >>> print(forest_diagnostics(forest, sonar.X, sonar.y))
    100 trees, out-of-bag error 0.1683
    strength 0.393, correlation 0.149, c/s2 0.964
    Breiman (2001): the error is at most 0.816; on these rows it is 0.168
    more trees would help: with 100 members 0.1198 is left of 0.3037; infinitely many more would remove another 0.00186
    (1.6 %)
    trees err together: correlation of their errors 0.388
    mean uncertainty of a prediction 0.534 (nats): 0 of noise that every tree expects (full trees see none), 0.534 of
    doubt between the trees
    """
    fitted = check_forest(forest)
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}.")
    rows = training_rows(fitted, X, y)
    looked_at = np.flatnonzero(rows.weight > 0.0)
    looked_at = looked_at[np.unique(np.linspace(0, looked_at.size - 1, min(max_rows, looked_at.size)).astype(np.int64))]
    predictions, spread = _unseen_predictions(fitted, rows, looked_at)
    if np.isnan(predictions).all():
        raise ValueError("No tree left rows out to judge it by: fit with bootstrap=True, or max_samples below 1.")
    error = float(getattr(fitted, "oob_error_", np.nan))
    target = rows.target[looked_at]
    if not rows.n_classes:
        average = variance_of_average(predictions[:, :, 0], target)
        doubt = regression_uncertainty(predictions[:, :, 0], spread)
        return ForestDiagnostics(len(fitted.trees_), error, None, average, doubt, looked_at)
    votes = np.where(np.isnan(predictions[:, :, 0]), -1, np.nan_to_num(predictions).argmax(axis=2))
    own = predictions[:, np.arange(target.size), target]
    average = variance_of_average(own, np.ones(target.size))
    strength = strength_and_correlation(votes, target)
    return ForestDiagnostics(len(fitted.trees_), error, strength, average, uncertainty(predictions), looked_at)


def _unseen_predictions(forest: BaseForest, rows: TrainingRows, looked_at: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Predictions [trees, rows, k] of trees for rows they did not see, nan elsewhere, and variances in regression."""
    k = forest.trees_[0].value.shape[1]
    predictions = np.full((len(forest.trees_), looked_at.size, k), np.nan)
    spread = np.full(predictions.shape[:2], np.nan)
    table = rows.X[looked_at]
    for t, tree in enumerate(forest.trees_):
        is_unseen = np.isin(looked_at, forest.oob_indices(t), assume_unique=True)
        leaf = apply_tree(tree, table[is_unseen])
        predictions[t, is_unseen] = tree.value[leaf]
        if not rows.n_classes:
            spread[t, is_unseen] = _leaf_variances(forest, t, tree, rows)[leaf]
    return predictions, spread


def _leaf_variances(forest: BaseForest, t: int, tree: Tree, rows: TrainingRows) -> Floats:
    """Variance of the target in every leaf: the tree's impurity, or measured again if the tree keeps none."""
    try:
        return np.maximum(tree.impurity, 0.0)
    except PredictionOnlyError:
        sampler, seeds = kept_from_fit(forest, "_sampler"), kept_from_fit(forest, "_member_seeds")
        leaf, weight = apply_tree(tree, rows.X), sampler.weights(seeds[t])
        total = np.maximum(np.bincount(leaf, weight, tree.n_nodes), np.finfo(np.float64).tiny)
        deviation = rows.target - (np.bincount(leaf, weight * rows.target, tree.n_nodes) / total)[leaf]
        return np.bincount(leaf, weight * deviation**2, tree.n_nodes) / total
