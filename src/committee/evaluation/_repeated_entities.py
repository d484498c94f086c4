"""Detection of repeated entities: several rows of the same patients, customers or devices.

A column is a candidate if its values repeat and either its name says that it identifies something (`patient_id`) or
other columns are constant wherever it is (age and sex of a patient). The evidence is the same in both cases: a quick
model predicts rows of entities that it was not fitted on much worse than random rows,

    increase = root mean square error with folds that keep entities together / with shuffled folds.

An ordinary feature, such as an age in years, has no such increase, since predictions can be made from similar values.
If fewer than two columns are candidates, pairs of columns (a first and a last name, a site and a number there) are
tested too: other columns must be constant for each pair of values, and not for each value of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation._quick_residuals import (
    LossIncrease,
    contiguous_sample,
    fold_residuals,
    loss_increase,
    quick_features,
    shuffled_folds,
)
from committee.evaluation._time_order import MIN_ROWS, unit_of
from committee.evaluation.plain_columns import PlainColumn

Rows = NDArray[np.intp]

MIN_ENTITIES = 10
"""Distinct values of a column of entities."""

MIN_REPEATS = 2.0
"""Mean number of rows of an entity."""

MAX_CANDIDATES = 2
"""Columns that are tested."""

NAMED_INCREASE, NAMED_Z = 1.1, 2.5
"""For a column with the name of an entity."""

SURE_INCREASE, DOUBTFUL_INCREASE, MIN_Z = 2.0, 1.3, 4.0
"""For any other column."""

MAX_COLUMNS = 50
"""In a wider table only the names of columns are used."""

MAX_PAIRED, MIN_PAIR_PROPERTIES = 10, 2
"""Maximum of the columns that pairs are made of, and minimum of the properties of a pair."""

MAX_PAIR_ROWS = 50_000
"""In a longer table pairs are not tested, which would take seconds."""

PROPERTY_ROWS = 2000
"""Rows on which properties are tested."""

MAX_EXCEPTIONS = 0.02
"""Fraction of the rows in which a constant property of an entity may differ."""

N_FOLDS = 4

ENTITY_NAME = re.compile(
    r"(^|[\W_])(id|ids|uid|uuid|guid)([\W_]|$)|[a-z](Id|ID)$|(^|[\W_])(patient|subject|participant|person|user|customer|"
    r"client|account|household|family|animal|device|machine|session|student|respondent|visitor|member|player|athlete|"
    r"employee|owner|borrower|speaker|donor|individual)(s|[\W_]?(id|no|nr|num|number|code|key))?([\W_]|$)",
    re.IGNORECASE,
)


class Entities(NamedTuple):
    """A column, or a pair of columns, that may identify entities."""

    columns: tuple[str, ...]
    values: Floats  # [n], nan where unknown
    is_named: bool = False  # has the name of an entity


class EntityEvidence(NamedTuple):
    """Evidence for repeated entities."""

    verdict: Literal["groups", "doubtful", "none"]
    columns: tuple[str, ...] = ()
    groups: Floats | None = None  # [n]
    n_groups: int = 0
    increase: LossIncrease | None = None


def find_repeated_entities(columns: Sequence[PlainColumn], target: Floats, seed: int) -> EntityEvidence:
    """The column of entities, if rows of one entity are similar; `target` is that of `robust_target`."""
    if target.size < MIN_ROWS or np.ptp(target) == 0.0:
        return EntityEvidence("none")
    result = [_tested(entities, columns, target, seed) for entities in _candidates(columns)]
    rank = {"groups": 0, "doubtful": 1, "none": 2}
    return min(result, key=lambda each: rank[each.verdict], default=EntityEvidence("none"))


def _candidates(columns: Sequence[PlainColumn]) -> list[Entities]:
    """Columns whose values repeat, those named like entities first, then those with the most constant properties."""
    usable = [column for column in columns if column.kind != "date" and not unit_of(column)]
    repeated = [column for column in usable if _repeats(column.values)]
    named = [Entities((each.name,), each.values, True) for each in repeated if ENTITY_NAME.search(each.name)]
    if len(named) >= MAX_CANDIDATES or len(columns) > MAX_COLUMNS:
        return named[:MAX_CANDIDATES]
    properties = _Properties(columns)
    others = [
        (len(properties.of(column.values)), Entities((column.name,), column.values))
        for column in repeated if not ENTITY_NAME.search(column.name)
    ]  # fmt: skip
    others = sorted((pair for pair in others if pair[0] > 0), key=lambda pair: -pair[0])
    result = [*named, *(entities for _, entities in others)]
    if len(result) < MAX_CANDIDATES and properties.n_rows <= MAX_PAIR_ROWS:
        result += _pairs(usable, properties)
    return result[:MAX_CANDIDATES]


def _repeats(values: Floats) -> bool:
    present = values[np.isfinite(values)]
    n_values = np.unique(present).size
    is_complete = present.size >= 0.98 * values.size
    return is_complete and n_values >= MIN_ENTITIES and present.size >= MIN_REPEATS * n_values


def _pairs(columns: Sequence[PlainColumn], properties: _Properties) -> list[Entities]:
    """The pair of columns with the most constant properties of its own, at least two."""
    single = [column for column in columns if np.isfinite(column.values).all() and _is_code(column.values)]
    single = single[:MAX_PAIRED]
    codes = {column.name: np.unique(column.values, return_inverse=True)[1].ravel() for column in single}
    of_one = {column.name: properties.of(column.values) for column in single}
    best, n_best = list[Entities](), MIN_PAIR_PROPERTIES - 1
    for one, other in combinations(single, 2):
        both = (codes[one.name] * (codes[other.name].max() + 1) + codes[other.name]).astype(np.float64)
        if not _repeats(both):
            continue
        own = properties.of(both) - of_one[one.name] - of_one[other.name] - {one.name, other.name}
        if len(own) > n_best:
            best, n_best = [Entities((one.name, other.name), both)], len(own)
    return best


def _is_code(values: Floats) -> bool:
    """Whether values are repeated integers or categories."""
    return bool(np.all(values == np.floor(values))) and 2 < np.unique(values).size <= values.size / MIN_REPEATS


class _Properties:
    """Columns that are constant for each of given values, tested on a sample of the rows."""

    def __init__(self, columns: Sequence[PlainColumn]) -> None:
        self.n_rows = columns[0].values.size if columns else 0
        self.rows = np.random.default_rng(0).permutation(self.n_rows)[:PROPERTY_ROWS]
        codes = {column.name: np.unique(column.values[self.rows], return_inverse=True)[1].ravel() for column in columns}
        self.varied = {
            name: code for name, code in codes.items() if 0 < code.max() and np.bincount(code).max() < 0.8 * code.size
        }

    def of(self, values: Floats) -> set[str]:
        """Names of columns with fewer values that are constant for each of these values."""
        n = self.rows.size
        codes = np.unique(values[self.rows], return_inverse=True)[1].ravel()
        n_values = int(codes.max()) + 1
        if n < MIN_REPEATS * n_values:
            return set()
        result: set[str] = set()
        for name, other in self.varied.items():
            n_other = int(other.max()) + 1
            if n_other >= n_values:
                continue
            pairs, counts = np.unique(codes * n_other + other, return_counts=True)
            largest = np.zeros(n_values)
            np.maximum.at(largest, pairs // n_other, counts)
            if n - largest.sum() <= MAX_EXCEPTIONS * n:
                result.add(name)
        return result


def _tested(entities: Entities, columns: Sequence[PlainColumn], target: Floats, seed: int) -> EntityEvidence:
    rows = contiguous_sample(target.size, len(columns))
    codes = np.unique(entities.values[rows], return_inverse=True)[1].ravel()
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
    n_entities = np.unique(entities.values).size
    verdict = _verdict(increase, entities.is_named)
    return EntityEvidence(verdict, entities.columns, entities.values, n_entities, increase)


def _group_losses(residuals: Floats, codes: Rows) -> Floats:
    """Mean squared residual of every group."""
    return np.bincount(codes, residuals**2) / np.bincount(codes)


def _verdict(increase: LossIncrease, is_named: bool) -> Literal["groups", "doubtful", "none"]:
    if is_named:
        return "groups" if increase.ratio >= NAMED_INCREASE and increase.z >= NAMED_Z else "none"
    if increase.z < MIN_Z or increase.ratio < DOUBTFUL_INCREASE:
        return "none"
    return "groups" if increase.ratio >= SURE_INCREASE else "doubtful"
