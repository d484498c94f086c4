"""Accuracy and diversity of the members of a fitted ensemble, as numbers and as text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from committee.base.array_types import Floats
from committee.combine.rules import class_votes
from committee.explain._member_predictions import MemberPredictions, member_predictions
from committee.tabular.validation import read_targets_classification, read_targets_regression
from committee.theory.diversity import (
    AccurateAndDiverse,
    Ambiguity,
    PairwiseDiversity,
    accurate_and_diverse,
    accurate_and_diverse_regression,
    ambiguity,
    error_correlation,
    pairwise_diversity,
)
from committee.theory.forests import AverageVariance, variance_of_average
from committee.theory.majority_vote import VoterModel, fit_voter_model


class EnsembleDiversity(NamedTuple):
    """Accuracy and diversity of the members of an ensemble on some rows. `str` describes them in sentences.

    Attributes
    ----------
    names : names of the members
    weights : array [members], weights in the combination, sum 1
    errors : array [members], error rate or mean squared error
    ensemble_error : error rate or mean squared error of the ensemble
    conditions : whether the members are accurate and diverse
    pairs : pairwise measures in classification, else None
    correlation : array [members, members], correlation of the errors
    ambiguity : ambiguity of the predictions, or of the class probabilities if all members have them
    variance : variance of an average of such members, None for a single one
    voters : model of the vote for two classes if every member predicts every row, else None
    n_rows : number of rows
    is_out_of_sample : whether members were evaluated on training rows they were not fitted on
    """

    names: tuple[str, ...]
    weights: Floats
    errors: Floats
    ensemble_error: float
    conditions: AccurateAndDiverse
    pairs: PairwiseDiversity | None
    correlation: Floats
    ambiguity: Ambiguity | None
    variance: AverageVariance | None
    voters: VoterModel | None
    n_rows: int
    is_out_of_sample: bool

    @property
    def mean_correlation(self) -> float:
        """Mean correlation of the errors of two members."""
        upper = self.correlation[np.triu_indices(len(self.correlation), 1)]
        return float(np.nanmean(upper)) if np.isfinite(upper).any() else np.nan

    def __str__(self) -> str:
        where = "training rows, out of sample" if self.is_out_of_sample else "rows"
        lines = [f"{len(self.names)} members on {self.n_rows} {where}", self.conditions.words]
        pairs = "" if self.pairs is None else f"kappa {self.pairs.mean('kappa'):.3f}, Q {self.pairs.mean('q'):.3f}, "
        lines.append(f"means over pairs of members: {pairs}correlation of errors {self.mean_correlation:.3f}")
        if self.voters is not None:
            v = self.voters
            lines.append(
                f"error of their unweighted vote {v.error:.3g}; in theory {v.independent_error:.2g} for independent "
                f"voters of this accuracy, {v.correlated_error:.3g} with their correlation of {v.correlation:.2f}, and "
                f"{v.limit:.3g} in the limit of many such voters"
            )
        if self.variance is not None:
            what = "mean prediction" if self.pairs is None else "mean probability of the true class"
            lines.append(f"squared error of the {what}: {self.variance.note}")
        return "\n".join(lines)


def ensemble_diversity(
    model: Any, X: Any, y: Any, *, out_of_sample: bool = False, max_rows: int = 20_000
) -> EnsembleDiversity:
    """Measure the accuracy and diversity of the members of a fitted ensemble.

    Parameters
    ----------
    model : fitted ensemble
        Bagging, forests, boosters of classifiers, AdaBoost.R2, votes, stacks, committees, restarts, or an ensemble of
        scikit-learn.
    X, y : rows to evaluate on and their targets
        Results on training rows are optimistic: pass other rows, or use `out_of_sample`.
    out_of_sample : bool
        X and y are the training rows in the same order, and each member is evaluated on those it was not fitted on
        (out-of-bag or out-of-fold rows).
    max_rows : int
        Largest number of rows, evenly spaced.

    Returns
    -------
    EnsembleDiversity

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> forest = RandomForestClassifier(random_state=0).fit(sonar.X, sonar.y)
    >>> print(ensemble_diversity(forest, sonar.X, sonar.y, out_of_sample=True).conditions.words)
    accurate: yes. 100 of 100 members err less than a random class (0.5), ...
    diverse: yes. two members differ on ...
    together: the ensemble errs 0.168, ... less than a member on average and ... less than the best one
    """
    if max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}.")
    predictions = member_predictions(model, X, out_of_sample=out_of_sample)
    target, n_classes = _read_target(model, y, predictions)
    evaluated = _evaluated_rows(predictions, max_rows)
    predictions, target = predictions.take(evaluated), target[evaluated]
    if predictions.values is not None:
        combined = _mean_present(predictions) if out_of_sample else np.asarray(model.predict(X), np.float64)[evaluated]
        return _of_values(predictions, target, combined, out_of_sample)
    combined = _combined_codes(predictions, n_classes) if out_of_sample else _predicted(model, X, evaluated)
    return _of_classes(predictions, target, combined, n_classes, out_of_sample)


def _read_target(model: Any, y: Any, predictions: MemberPredictions) -> tuple[NDArray[Any], int]:
    first = predictions.values if predictions.codes is None else predictions.codes
    assert first is not None
    n_rows = first.shape[1]
    if not is_classifier(model):
        return read_targets_regression(y, n_rows), 0
    labels, codes = read_targets_classification(y, n_rows)
    unknown = np.setdiff1d(labels, model.classes_)
    if unknown.size:
        raise ValueError(f"y has labels that were not in the training data: {unknown[:5].tolist()}.")
    return np.searchsorted(model.classes_, labels)[codes], len(model.classes_)


def _evaluated_rows(predictions: MemberPredictions, max_rows: int) -> NDArray[np.int64]:
    """Rows with a prediction of some member, evenly spaced if there are too many."""
    if predictions.codes is not None:
        rows = np.flatnonzero((predictions.codes >= 0).any(axis=0))
    else:
        assert predictions.values is not None
        rows = np.flatnonzero(~np.isnan(predictions.values).all(axis=0))
    if rows.size == 0:
        raise ValueError("No member has out-of-sample rows: fit the ensemble with smaller samples, or pass new rows.")
    return rows[np.unique(np.linspace(0, rows.size - 1, min(max_rows, rows.size)).astype(np.int64))]


def _predicted(model: Any, X: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(model.classes_, np.asarray(model.predict(X)))[rows]


def _combined_codes(predictions: MemberPredictions, n_classes: int) -> NDArray[np.int64]:
    """The class of the largest mean probability, or of most votes, among the members with a prediction."""
    if predictions.probabilities is None:
        assert predictions.codes is not None
        return class_votes(predictions.codes, n_classes, predictions.weights).argmax(axis=1)
    return np.einsum("m,mnk->nk", predictions.weights, np.nan_to_num(predictions.probabilities)).argmax(axis=1)


def _of_classes(
    predictions: MemberPredictions,
    target: NDArray[np.int64],
    combined: NDArray[np.int64],
    n_classes: int,
    out_of_sample: bool,
) -> EnsembleDiversity:
    assert predictions.codes is not None
    result = accurate_and_diverse(predictions.codes, target, combined, n_classes)
    pairs = pairwise_diversity(predictions.codes, target)
    split, variance = None, None
    if predictions.probabilities is not None:
        split = ambiguity(predictions.probabilities, np.eye(n_classes)[target], predictions.weights)
        own = predictions.probabilities[:, np.arange(target.size), target]
        variance = _variance(own, np.ones(target.size))
    is_full = bool(np.all(predictions.codes >= 0))
    voters = (
        fit_voter_model(predictions.codes == target)
        if is_full and n_classes == 2 and predictions.n_members > 1
        else None
    )
    return EnsembleDiversity(
        predictions.names, predictions.weights, pairs.errors, result.ensemble_error, result, pairs, pairs.correlation,
        split, variance, voters, target.size, out_of_sample,
    )  # fmt: skip


def _mean_present(predictions: MemberPredictions) -> Floats:
    """The weighted mean of the members with a prediction."""
    assert predictions.values is not None
    weight = np.where(np.isnan(predictions.values), 0.0, predictions.weights[:, np.newaxis])
    return np.sum(weight * np.nan_to_num(predictions.values), axis=0) / weight.sum(axis=0)


def _of_values(
    predictions: MemberPredictions, target: Floats, combined: Floats, out_of_sample: bool
) -> EnsembleDiversity:
    assert predictions.values is not None
    split = ambiguity(predictions.values, target, predictions.weights)
    result = accurate_and_diverse_regression(predictions.values, target, combined)
    return EnsembleDiversity(
        predictions.names, predictions.weights, split.member_errors, result.ensemble_error, result, None,
        error_correlation(predictions.values, target), split, _variance(predictions.values, target), None,
        target.size, out_of_sample,
    )  # fmt: skip


def _variance(predictions: Floats, target: Floats) -> AverageVariance | None:
    is_enough = np.any(np.sum(~np.isnan(predictions), axis=0) >= 2)
    return variance_of_average(predictions, target) if is_enough else None
