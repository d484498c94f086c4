"""The choice among methods whose losses can hardly be told apart.

The smallest of several mean losses is often the smallest by chance. Of the methods within one standard error of it (of
the paired difference over rows; rows of one group, and neighbours in time, count as one), one is preferred:

    independent rows           the committee: a weighted mean of several models varies less than any one of them
    groups, or order in time   the linear model: few groups or stretches of time decide, and on rows that differ from
                               those learned from it goes wrong less than models that fit these more closely

Where the constant has the smallest loss it stays: no method that is preferred for being simple is as simple, and none
has shown that it learned anything.

On 40 tables kept for this (28 public, 12 made; none of them in benchmarks/NEW_USER.md) the method chosen so was within
one standard error of the best on the test rows on 31, that of the smallest loss on 28.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from committee.base.stats import grouped_mean
from committee.evaluation._fold_evaluation import Evaluation, MethodResult, Problem
from committee.evaluation.metrics import ROW_LOSSES
from committee.evaluation.row_order import dependent_rows

FOR_INDEPENDENT_ROWS, FOR_DEPENDENT_ROWS = "committee", "linear model"
CONSTANT = "constant"

STANDARD_ERRORS = 1.0


def choose(
    results: Sequence[MethodResult],
    found: Mapping[str, float],
    evaluations: Mapping[str, Evaluation | None],
    problem: Problem,
) -> str:
    """The method of the smallest estimated loss in `found`, or the preferred one where that is hardly worse."""
    smallest = smallest_loss(results, found)
    is_dependent = problem.folding.groups is not None or problem.split.forward
    preferred = FOR_DEPENDENT_ROWS if is_dependent else FOR_INDEPENDENT_ROWS
    one, other = evaluations.get(preferred), evaluations.get(smallest)
    if preferred not in found or smallest in (preferred, CONSTANT) or one is None or other is None:
        return smallest
    excess, error = paired_excess(one, other, problem)
    return preferred if excess <= STANDARD_ERRORS * error else smallest


def smallest_loss(results: Sequence[MethodResult], found: Mapping[str, float]) -> str:
    """The method of the smallest estimate; of equal ones that of the smaller second metric."""

    def merit(result: MethodResult) -> tuple[float, float]:
        names = list(result.metric_losses)
        second = result.metric_losses[names[1]] if len(names) > 1 else np.zeros(1)
        tie = float(np.nanmean(second)) if np.isfinite(second).any() else np.inf
        return found[result.name], tie

    return min((result for result in results if result.name in found), key=merit).name


def paired_excess(one: Evaluation, other: Evaluation, problem: Problem) -> tuple[float, float]:
    """By how much the loss of one method exceeds that of another on the rows of both, and its standard error.

    (nan, nan) for metrics that are no means over rows.
    """
    rows, here, there = np.intersect1d(one.said.rows, other.said.rows, return_indices=True)
    if problem.metric not in ROW_LOSSES or rows.size == 0:
        return np.nan, np.nan
    loss, truth = ROW_LOSSES[problem.metric], problem.truth[rows]
    excess = loss(truth, one.said.predictions.of(here)) - loss(truth, other.said.predictions.of(there))
    return grouped_mean(excess, problem.weight_of(rows), dependent_rows(problem.folding, rows))
