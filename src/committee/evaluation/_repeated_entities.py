"""Does a table hold several rows of the same patients, customers or machines?

A column is a candidate if its values repeat and either its name says that it identifies something (`patient_id`) or
other columns are constant wherever it is (age and sex of a patient). The evidence is the same in both cases: a quick
model predicts rows of entities that it was not fitted on much worse than random rows,

    increase = root mean square error with folds that keep entities together / with shuffled folds.

A column that is an ordinary feature, such as an age in years, shows no such increase: its neighbours tell as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation._plain_columns import PlainColumn
from committee.evaluation._quick_residuals import (
    LossIncrease,
    contiguous_sample,
    fold_residuals,
    loss_increase,
    quick_features,
    shuffled_folds,
)
from committee.evaluation._time_order import MIN_ROWS, unit_of

Rows = NDArray[np.intp]

MIN_ENTITIES = 10
"""Distinct values of a column of entities."""

MIN_REPEATS = 2.0
"""Mean number of rows of an entity."""

MAX_CANDIDATES = 2
"""Columns that are tested."""

NAMED_INCREASE, NAMED_Z = 1.1, 2.5
"""For a column that is named like an entity."""

SURE_INCREASE, DOUBTFUL_INCREASE, MIN_Z = 2.0, 1.3, 4.0
"""For any other column."""

MAX_COLUMNS = 50
"""In a wider table only names are looked at."""

MAX_LOOKED_AT = 2000
"""Rows that tell whether a column is constant wherever another one is."""

MAX_EXCEPTIONS = 0.02
"""Fraction of the rows in which a constant property of an entity may differ."""

N_FOLDS = 4

ENTITY_NAME = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid)([\W_]|$)|[a-z](Id|ID)$|(^|[\W_])(patient|subject|participant|person|user|customer|"
    r"client|account|household|family|animal|device|machine|session|student|respondent|visitor|member|player|athlete|"
    r"employee|owner|borrower|speaker|donor|individual)(s|[\W_]?(id|no|nr|num|number|code|key))?([\W_]|$)",
    re.IGNORECASE,
)


class EntityEvidence(NamedTuple):
    """What speaks for repeated entities."""

    verdict: Literal["groups", "doubtful", "none"]
    column: str = ""
    groups: Floats | None = None  # [n]
    n_groups: int = 0
    increase: LossIncrease | None = None


def find_repeated_entities(columns: Sequence[PlainColumn], target: Floats, seed: int) -> EntityEvidence:
    """The column of entities, if rows of one entity resemble each other; `target` is robust (`robust_target`)."""
    if target.size < MIN_ROWS or np.ptp(target) == 0.0:
        return EntityEvidence("none")
    result = [_tested(column, is_named, columns, target, seed) for column, is_named in _candidates(columns)]
    rank = {"groups": 0, "doubtful": 1, "none": 2}
    return min(result, key=lambda each: rank[each.verdict], default=EntityEvidence("none"))


def _candidates(columns: Sequence[PlainColumn]) -> list[tuple[PlainColumn, bool]]:
    """Columns whose values repeat, those named like entities first, then those with the most constant properties."""
    repeated = [column for column in columns if column.kind != "date" and not unit_of(column) and _repeats(column)]
    named = [(column, True) for column in repeated if ENTITY_NAME.search(column.name)]
    if len(named) >= MAX_CANDIDATES or len(columns) > MAX_COLUMNS:
        return named[:MAX_CANDIDATES]
    others = [(_n_properties(column, columns), column) for column in repeated if not ENTITY_NAME.search(column.name)]
    others = sorted((pair for pair in others if pair[0] > 0), key=lambda pair: -pair[0])
    return [*named, *((column, False) for _, column in others)][:MAX_CANDIDATES]


def _repeats(column: PlainColumn) -> bool:
    present = column.values[np.isfinite(column.values)]
    n_values = np.unique(present).size
    is_complete = present.size >= 0.98 * column.values.size
    return is_complete and n_values >= MIN_ENTITIES and present.size >= MIN_REPEATS * n_values


def _n_properties(column: PlainColumn, columns: Sequence[PlainColumn]) -> int:
    """Columns of some variety that are constant wherever this one is, and not the other way round."""
    n = column.values.size
    rows = np.random.default_rng(0).permutation(n)[:MAX_LOOKED_AT]
    codes = np.unique(column.values[rows], return_inverse=True)[1].ravel()
    n_values = int(codes.max()) + 1
    result = 0
    for other in columns:
        values = np.unique(other.values[rows], return_inverse=True)[1].ravel()
        n_other = int(values.max()) + 1
        if other is column or not 2 <= n_other < n_values or rows.size < MIN_REPEATS * n_values:
            continue
        pairs = np.unique(codes * n_other + values, return_counts=True)
        largest = np.zeros(n_values)
        np.maximum.at(largest, pairs[0] // n_other, pairs[1])
        is_varied = np.bincount(values).max() < 0.8 * rows.size
        result += bool(is_varied and rows.size - largest.sum() <= MAX_EXCEPTIONS * rows.size)
    return result


def _tested(
    column: PlainColumn, is_named: bool, columns: Sequence[PlainColumn], target: Floats, seed: int
) -> EntityEvidence:
    rows = contiguous_sample(target.size, len(columns))
    codes = np.unique(column.values[rows], return_inverse=True)[1].ravel()
    n_groups = int(codes.max()) + 1
    if n_groups < MIN_ENTITIES:
        return EntityEvidence("none")
    features, y = quick_features([each.values for each in columns], rows), target[rows]
    by_group = shuffled_folds(n_groups, N_FOLDS, seed)[codes]
    of_groups, of_rows = (
        _group_losses(fold_residuals(features, y, fold), codes)
        for fold in (by_group, shuffled_folds(rows.size, N_FOLDS, seed))
    )
    increase = loss_increase(of_groups, of_rows)
    return EntityEvidence(
        _verdict(increase, is_named), column.name, column.values, np.unique(column.values).size, increase
    )


def _group_losses(residuals: Floats, codes: Rows) -> Floats:
    """Mean squared residual of every group."""
    return np.bincount(codes, residuals**2) / np.bincount(codes)


def _verdict(increase: LossIncrease, is_named: bool) -> Literal["groups", "doubtful", "none"]:
    if is_named:
        return "groups" if increase.ratio >= NAMED_INCREASE and increase.z >= NAMED_Z else "none"
    if increase.z < MIN_Z or increase.ratio < DOUBTFUL_INCREASE:
        return "none"
    return "groups" if increase.ratio >= SURE_INCREASE else "doubtful"
