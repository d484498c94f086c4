"""The choice among methods whose losses do not differ significantly.

The smallest of several mean losses is often the smallest by chance. Of the methods within one standard error of it (of
the paired difference over rows, with groups and blocks of time as units), one is preferred:

    independent rows           the committee: a weighted mean of several models has a lower variance than one of them
    groups, or order in time   the linear model: there are few groups or periods to choose by, and it generalises better
                               to new groups or later rows than more flexible models

If the constant has the smallest loss, it is chosen.

On 40 tables (28 public, 12 simulated; none of them in benchmarks/NEW_USER.md) the method chosen in this way was within
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
    """The method of the smallest estimated loss in `found`, or the preferred one within one standard error of it."""
    smallest = smallest_loss(results, found)
    is_dependent = problem.folding.groups is not None or problem.split.forward
    preferred = FOR_DEPENDENT_ROWS if is_dependent else FOR_INDEPENDENT_ROWS
    one, other = evaluations.get(preferred), evaluations.get(smallest)
    if preferred not in found or smallest in (preferred, CONSTANT) or one is None or other is None:
        return smallest
    excess, error = paired_excess(one, other, problem)
    return preferred if excess <= STANDARD_ERRORS * error else smallest


def smallest_loss(results: Sequence[MethodResult], found: Mapping[str, float]) -> str:
    """The method of the smallest estimate; ties are broken by the second metric."""

    def merit(result: MethodResult) -> tuple[float, float]:
        names = list(result.metric_losses)
        second = result.metric_losses[names[1]] if len(names) > 1 else np.zeros(1)
        tie = float(np.nanmean(second)) if np.isfinite(second).any() else np.inf
        return found[result.name], tie

    return min((result for result in results if result.name in found), key=merit).name


def paired_excess(one: Evaluation, other: Evaluation, problem: Problem) -> tuple[float, float]:
    """Difference of the losses of two methods on their common rows, and its standard error.

    (nan, nan) for metrics that are not means over rows.
    """
    rows, here, there = np.intersect1d(one.oof.rows, other.oof.rows, return_indices=True)
    if problem.metric not in ROW_LOSSES or rows.size == 0:
        return np.nan, np.nan
    loss, truth = ROW_LOSSES[problem.metric], problem.truth[rows]
    excess = loss(truth, one.oof.predictions.of(here)) - loss(truth, other.oof.predictions.of(there))
    return grouped_mean(excess, problem.weight_of(rows), dependent_rows(problem.folding, rows))
