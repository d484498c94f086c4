"""Rows whose label may be wrong, by the weights and margins of a boosted vote or by the out-of-bag votes of a forest.

Boosting increases the weight of the rows it misclassifies, and these are often mislabelled (Freund and Schapire 1999, A
short introduction to boosting, section 7). After t rounds the weight of row i, over its initial weight w0_i, is

    v_i(t) = exp(-g_i(t)) / sum_j w0_j exp(-g_j(t)),    g_i(t) = sum_{s <= t} a_s u_is

with u = +1 where a hypothesis is right and -1 where it errs. Many rounds overfit wrong labels and their last weight
decreases again, so the score of a training row is the mean of v_i(t) over all rounds: 1 is an average row. The score of
a row that the booster was not fitted on is the fraction of the vote against its label, (1 - margin) / 2.

The trees of a forest overfit every label, but each row is out of the bag of some of them: the score of a training row
is (1 - margin) / 2 over those trees, with the margin the mean probability of its label minus the largest of another
class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.boosting.classifier_base import BaseBooster
from committee.explain.oob_forest import check_forest, training_rows
from committee.forests.estimators import BaseForestClassifier
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.validation import read_weights

SAME_ROWS = 1e-3
"""Relative tolerance between the weights of fit and those of the given rows: rounding over thousands of rounds."""


class LabelIssues(NamedTuple):
    """Rows in order of suspicion, the most suspicious first.

    Attributes
    ----------
    rows : array [n], positions in X
    weight : array [n], last weight over initial weight; nan where it is unknown
    margin : array [n], normalised; below 0 where the vote is against the label
    label : array [n], given labels
    suggested_label : array [n], the other class with most votes
    score : array [n], larger for more suspicious rows
    """

    rows: NDArray[np.int64]
    weight: Floats
    margin: Floats
    label: NDArray[Any]
    suggested_label: NDArray[Any]
    score: Floats

    def to_table(self) -> ResultTable:
        """Return a table with one row per data row."""
        return ResultTable(self._asdict())

    to_pandas = to_pandas
    to_polars = to_polars


def find_label_issues(
    estimator: BaseBooster | BaseForestClassifier,
    X: Any,
    y: Any,
    n: int | None = 20,
    *,
    sample_weight: ArrayLike | None = None,
    training: bool = True,
) -> LabelIssues:
    """Find the rows whose label is most likely wrong according to a booster or a forest.

    Training rows of a booster that multiplies weights are scored by their mean weight over the rounds, in units of the
    initial one; new rows, and training rows of other boosters, by the fraction of the vote against their label. Rows
    held out by ``early_stopping="validation"`` may be among the training rows: they get the weight they would have had.
    A forest has no weights of rows (nan); its training rows are scored by out-of-bag votes, and those that were in
    every bag are omitted.

    Parameters
    ----------
    estimator : fitted booster, or forest with out-of-bag rows
    X, y : training rows and their labels, or other rows with `training=False`
    n : int or None
        Number of rows to return; None for all.
    sample_weight : array-like, optional
        Initial weights that were passed to `fit`; rows of weight zero are omitted.
    training : bool
        False for rows that the estimator was not fitted on.

    Returns
    -------
    LabelIssues

    Examples
    --------
    >>> from committee import AdaBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> X, y = load_dataset("ionosphere")[:2]
    >>> wrong = np.arange(0, 351, 50)  # eight labels are flipped
    >>> y[wrong] = np.where(y[wrong] == "good", "bad", "good")
    >>> found = find_label_issues(AdaBoostClassifier(n_estimators=100).fit(X, y), X, y, n=8)
    >>> found.rows.tolist()
    [350, 300, 250, 87, 144, 89, 200, 143]
    """
    if not isinstance(estimator, BaseBooster | BaseForestClassifier):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"find_label_issues needs a boosted classifier or a classification forest, got {type(estimator).__name__}."
        )
    is_forest = isinstance(estimator, BaseForestClassifier)
    check_is_fitted(estimator, ("trees_", "output_forests_") if is_forest else "members_", all_or_any=any)
    if n is not None and n < 1:
        raise ValueError(f"n must be at least 1, or None for all rows; got {n}.")
    if len(estimator.classes_) < 2:
        raise ValueError("The estimator was fitted on a single class: no other label can be suggested.")
    if is_forest:
        return _by_forest(estimator, X, y, n, sample_weight, training)
    return _by_booster(estimator, X, y, n, sample_weight, training)


def _by_booster(
    estimator: BaseBooster, X: Any, y: Any, n: int | None, sample_weight: ArrayLike | None, training: bool
) -> LabelIssues:
    margin = estimator.margins(X, y)
    start = _initial_weights(sample_weight, margin.size)
    weight, score = _score(estimator, X, y, start, training)
    score = (1.0 - margin) / 2.0 if score is None else score
    label = np.ravel(np.asarray(y))
    rows = np.flatnonzero(start > 0.0)
    rows = rows[np.lexsort((margin[rows], -score[rows]))][:n]
    suggested = _best_other(estimator, X, label)
    return LabelIssues(rows, weight[rows], margin[rows], label[rows], suggested[rows], score[rows])


def _by_forest(
    forest: BaseForestClassifier, X: Any, y: Any, n: int | None, sample_weight: ArrayLike | None, training: bool
) -> LabelIssues:
    check_forest(forest)
    if training:
        weight = training_rows(forest, X, y, sample_weight).weight
        if not hasattr(forest, "oob_decision_function_"):
            raise ValueError(
                "The forest has no out-of-bag votes on its training rows: fit it with bootstrap=True and oob_score not "
                "False, or pass other rows with training=False."
            )
        probability: Floats = forest.oob_decision_function_
    else:
        probability = forest.predict_proba(X)
        weight = _initial_weights(sample_weight, len(probability))
    label = np.ravel(np.asarray(y))
    codes = _codes(forest.classes_, label)
    at = np.arange(codes.size)
    others = probability.copy()
    others[at, codes] = -np.inf
    margin = probability[at, codes] - others.max(axis=1)
    rows = np.flatnonzero((weight > 0.0) & np.isfinite(margin))
    rows = rows[np.argsort(margin[rows], kind="stable")][:n]
    suggested = forest.classes_[others[rows].argmax(axis=1)]
    nothing = np.full(rows.size, np.nan)
    return LabelIssues(rows, nothing, margin[rows], label[rows], suggested, (1.0 - margin[rows]) / 2.0)


def _codes(classes: NDArray[Any], label: NDArray[Any]) -> NDArray[np.int64]:
    codes = np.searchsorted(classes, label)
    if np.any(classes.take(codes, mode="clip") != label):
        unknown = sorted(set(label.tolist()) - set(classes.tolist()))
        raise ValueError(f"y has labels that were not in the training data: {unknown[:5]}.")
    return codes.astype(np.int64)


def weight_growth(estimator: BaseBooster, X: Any, y: Any, start: Floats) -> Iterator[Floats]:
    """Yield v(t) after every round: the weights of the rows over their initial weights `start`, which sum to 1."""
    for g in _agreement_sums(estimator, X, np.ravel(np.asarray(y))):
        growth = np.exp(g[start > 0.0].min() - g)  # the shift keeps the largest at 1
        yield growth / np.sum(start * growth)


def _agreement_sums(estimator: BaseBooster, X: Any, y: NDArray[Any]) -> Iterator[Floats]:
    """g(t): the votes for the label minus those against it."""
    codes, k = np.searchsorted(estimator.classes_, y), len(estimator.classes_)
    totals = np.cumsum(np.abs(estimator.coefficients_))
    for total, decision in zip(totals, estimator.staged_decision_function(X), strict=True):
        if k == 2:
            yield np.where(codes == 1, total, -total) * decision
        else:  # votes are coded 1 for a class and -1 / (K - 1) against it
            fraction = (decision[np.arange(codes.size), codes] * (k - 1) + 1.0) / k
            yield total * (2.0 * fraction - 1.0)


def _score(estimator: BaseBooster, X: Any, y: Any, start: Floats, training: bool) -> tuple[Floats, Floats | None]:
    """The last weight over the initial one, and the score by weights where there is one."""
    nothing = np.full(start.size, np.nan)
    if not training:
        return nothing, None
    is_held_out = _check_size(estimator, start)
    if "normalizer" not in estimator.history_:  # the weights are not a product of the rounds
        if is_held_out:
            return nothing, None
        nothing[start > 0.0] = estimator.sample_weights_ / start[start > 0.0]
        return nothing, None
    last, total = nothing, np.zeros(start.size)
    for last in weight_growth(estimator, X, y, start):
        total += last
    is_cut = len(estimator.members_) < estimator.history_.n_rounds  # the last weights then belong to a longer vote
    if not is_held_out and not is_cut:
        _check_same(estimator.sample_weights_, (start * last)[start > 0.0])
    return last, total / len(estimator.members_)


def _check_size(estimator: BaseBooster, start: Floats) -> bool:
    """Whether some of the rows were held out for validation; an error if they cannot be those of `fit`."""
    n_fitted, n_given = estimator.sample_weights_.size, int(np.count_nonzero(start))
    if n_fitted == n_given:
        return False
    if n_given > n_fitted and estimator.early_stopping == "validation":
        return True
    raise ValueError(
        f"The booster was fitted on {n_fitted} rows of positive weight, X has {n_given}: pass the training rows with "
        "their sample_weight, or training=False for other rows."
    )


def _check_same(fitted: Floats, given: Floats) -> None:
    if not np.allclose(given, fitted, rtol=SAME_ROWS, atol=SAME_ROWS / fitted.size):
        raise ValueError(
            "The final weights of these rows differ from those of fit: pass X, y and sample_weight as they were passed "
            "to fit, in the same order, or training=False for other rows."
        )


def _initial_weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats:
    weight = read_weights(sample_weight, n_rows)
    weight = np.ones(n_rows) if weight is None else weight
    return weight / weight.sum()


def _best_other(estimator: BaseBooster, X: Any, label: NDArray[Any]) -> NDArray[Any]:
    """The class with most votes except that of the label."""
    classes = estimator.classes_
    codes = np.searchsorted(classes, label)
    if len(classes) == 2:
        return classes[1 - codes]
    decision = estimator.decision_function(X).copy()
    decision[np.arange(codes.size), codes] = -np.inf
    return classes[decision.argmax(axis=1)]
