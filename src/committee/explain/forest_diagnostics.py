"""Strength, correlation, effect of more trees and uncertainty of a fitted forest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.prediction_only_error import PredictionOnlyError, kept_from_fit
from committee.explain.oob_forest import TrainingRows, check_forest, training_rows
from committee.forests.base import BaseForest
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
"""More trees hardly help if infinitely many of them would remove less than this fraction of the squared error."""

MIN_NOISE = 0.02
"""If the leaves hold less than this fraction of the uncertainty, the trees are fully grown and fit the noise."""


class ForestDiagnostics(NamedTuple):
    """Diagnostics of a forest on its out-of-bag rows. `str` describes them in sentences.

    Attributes
    ----------
    n_trees : number of trees
    oob_error : out-of-bag error
    strength : strength and correlation with Breiman's bound; None in regression
    variance : variance of the errors of trees: residuals, or the probability of the true class minus 1
    uncertainty : uncertainty of every evaluated row: entropies in nats, or variances
    rows : array, positions of the evaluated rows
    """

    n_trees: int
    oob_error: float
    strength: Strength | None
    variance: AverageVariance
    uncertainty: Uncertainty
    rows: NDArray[np.int64]

    @property
    def more_trees_help(self) -> bool:
        """Whether infinitely many more trees would remove more than 1 % of the mean squared error."""
        return self.variance.gain_left > LITTLE * self.variance.of_average

    def __str__(self) -> str:
        u, kind = self.uncertainty, "nats" if self.strength is not None else "variance"
        total, noise, doubt = (float(np.nanmean(part)) for part in (u.total, u.aleatoric, u.epistemic))
        lines = [
            f"{self.n_trees} trees, out-of-bag error {self.oob_error:.4g}",
            f"more trees would {'' if self.more_trees_help else 'hardly '}help: {self.variance.note}",
            f"correlation of the errors of two trees: {self.variance.correlation:.3f}",
            f"mean uncertainty of a prediction {total:.3g} ({kind}): {noise:.3g} aleatoric, in the leaves"
            f"{' (fully grown trees have none)' if noise < MIN_NOISE * total else ''}, {doubt:.3g} epistemic, between "
            "the trees",
        ]
        s = self.strength
        if s is not None:
            lines.insert(1, f"strength {s.strength:.3f}, correlation {s.correlation:.3f}, c/s2 {s.ratio:.3f}")
            lines.insert(2, f"Breiman (2001): {s.note}")
        return "\n".join(lines)


def forest_diagnostics(forest: BaseForest, X: Any, y: Any, *, max_rows: int = 20_000) -> ForestDiagnostics:
    """Compute strength, correlation, bound, variance and uncertainty of a forest by its out-of-bag predictions.

    Parameters
    ----------
    forest : fitted forest with out-of-bag rows
    X, y : training rows and their targets, in the same order
    max_rows : int
        Largest number of evaluated rows, evenly spaced; the predictions of all trees for them are held in memory.

    Returns
    -------
    ForestDiagnostics

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
    correlation of the errors of two trees: 0.388
    mean uncertainty of a prediction 0.534 (nats): 0 aleatoric, in the leaves (fully grown trees have none), 0.534
    epistemic, between the trees
    """
    fitted = check_forest(forest)
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}.")
    rows = training_rows(fitted, X, y)
    evaluated = np.flatnonzero(rows.weight > 0.0)
    evaluated = evaluated[np.unique(np.linspace(0, evaluated.size - 1, min(max_rows, evaluated.size)).astype(np.int64))]
    predictions, spread = _oob_predictions(fitted, rows, evaluated)
    if np.isnan(predictions).all():
        raise ValueError("The forest has no out-of-bag rows: fit it with bootstrap=True, or max_samples below 1.")
    error = float(getattr(fitted, "oob_error_", np.nan))
    target = rows.target[evaluated]
    if not rows.n_classes:
        average = variance_of_average(predictions[:, :, 0], target)
        doubt = regression_uncertainty(predictions[:, :, 0], spread)
        return ForestDiagnostics(len(fitted.trees_), error, None, average, doubt, evaluated)
    votes = np.where(np.isnan(predictions[:, :, 0]), -1, np.nan_to_num(predictions).argmax(axis=2))
    own = predictions[:, np.arange(target.size), target]
    average = variance_of_average(own, np.ones(target.size))
    strength = strength_and_correlation(votes, target)
    return ForestDiagnostics(len(fitted.trees_), error, strength, average, uncertainty(predictions), evaluated)


def _oob_predictions(forest: BaseForest, rows: TrainingRows, evaluated: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Out-of-bag predictions [trees, rows, k] of the trees, nan elsewhere, and variances in regression."""
    k = forest.trees_[0].value.shape[1]
    predictions = np.full((len(forest.trees_), evaluated.size, k), np.nan)
    spread = np.full(predictions.shape[:2], np.nan)
    table = rows.X[evaluated]
    for t, tree in enumerate(forest.trees_):
        is_oob = np.isin(evaluated, forest.oob_indices(t), assume_unique=True)
        leaf = apply_tree(tree, table[is_oob])
        predictions[t, is_oob] = tree.value[leaf]
        if not rows.n_classes:
            spread[t, is_oob] = _leaf_variances(forest, t, tree, rows)[leaf]
    return predictions, spread


def _leaf_variances(forest: BaseForest, t: int, tree: Tree, rows: TrainingRows) -> Floats:
    """Variance of the target in every leaf: the impurity of the tree, or computed again if the tree has none."""
    try:
        return np.maximum(tree.impurity, 0.0)
    except PredictionOnlyError:
        sampler, seeds = kept_from_fit(forest, "_sampler"), kept_from_fit(forest, "_member_seeds")
        leaf, weight = apply_tree(tree, rows.X), sampler.weights(seeds[t])
        total = np.maximum(np.bincount(leaf, weight, tree.n_nodes), np.finfo(np.float64).tiny)
        deviation = rows.target - (np.bincount(leaf, weight * rows.target, tree.n_nodes) / total)[leaf]
        return np.bincount(leaf, weight * deviation**2, tree.n_nodes) / total
