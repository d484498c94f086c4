"""Detection of time order by calendar columns and by residuals.

Two statistics are computed with a quick model (`evaluation/_quick_residuals.py`) of all columns:

    autocorrelation   r of the ranks of neighbouring residuals, by shuffled folds. If rows are exchangeable given the
                      columns, z = (r + 1 / n) sqrt(n) is standard normal (Wald and Wolfowitz, 1943).
    forward increase  root mean square error on the rows that follow, divided by that on random rows, after fits on as
                      many rows; z is the difference of the losses in its standard errors.

A table sorted by its target, its class or one of its columns is excluded before: extrapolation beyond the values of
that column increases the error in any case.

The decision, for rows in the order of the file (either direction):

    a date, or two nested calendar units (year and month, month and day), nearly sorted      time order
    one calendar unit or a column named "time", nearly sorted, and both statistics           time order
    a date that is not sorted, and both statistics or a clear forward increase by date       time order
    no calendar column, both statistics, the autocorrelation at least 0.45                   time order
    no calendar column, both statistics, the autocorrelation smaller                         doubtful
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from scipy.stats import rankdata

from committee.base.array_types import Floats
from committee.evaluation._quick_residuals import (
    LossIncrease,
    contiguous_sample,
    fold_residuals,
    forward_increase,
    quick_features,
    shuffled_folds,
)
from committee.evaluation.plain_columns import PlainColumn

Rows = NDArray[np.intp]

MIN_ROWS = 50
"""Minimum number of rows for the statistics."""

MAX_DECREASES = 0.02
"""Fraction of the changes of a nearly sorted column that go the other way."""

MIN_TIMES = 10
"""Distinct times of a calendar."""

MIN_UNIT_TIMES = 3
"""Distinct times of calendar units that the rows are sorted by."""

MANY_TIMES = 50
"""Distinct times from which rows of one time are kept together; for fewer, the order of the rows is used."""

MIN_Z, MIN_AUTOCORRELATION = 4.0, 0.1
"""Less correlated residuals are treated as independent."""

STRONG_AUTOCORRELATION = 0.45
"""Minimum autocorrelation for time order without a calendar column."""

MIN_INCREASE, MIN_INCREASE_Z = 1.1, 2.5
"""Minimum increase of the error on the following rows."""

CLEAR_INCREASE = 1.3
"""Minimum increase for dates that the rows are not sorted by."""

N_FOLDS = 4

UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""Coarse to fine."""

UNIT_OF = {
    **{word: "year" for word in ("year", "yr", "yyyy", "years")},
    **{word: "quarter" for word in ("quarter", "qtr")},
    **{word: "month" for word in ("month", "mnth", "mth")},
    **{word: "week" for word in ("week", "weekofyear", "wk")},
    **{word: "day" for word in ("day", "dayofmonth", "dayofyear", "dom", "doy", "mday", "yday", "dteday")},
    **{word: "hour" for word in ("hour", "hr")},
    "minute": "minute",
    "second": "second",
}
DATE_WORDS = frozenset({"date", "datetime", "timestamp", "epoch", "dt"})
NOT_ORDER_WORDS = frozenset({"birth", "born", "dob", "birthday", "weekday", "dow", "dayofweek", "built", "age"})
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Calendar(NamedTuple):
    """Columns with the time of a row."""

    columns: tuple[str, ...]
    times: Floats  # [n], grows with time
    is_sorted: bool  # in row order, forwards or backwards
    is_certain: bool  # a date or two nested units


class TimeEvidence(NamedTuple):
    """Evidence for time order."""

    verdict: Literal["time", "doubtful", "none"]
    columns: tuple[str, ...] = ()
    times: Floats | None = None  # [n], of rows in time order
    autocorrelation: float = np.nan
    p_value: float = np.nan
    increase: LossIncrease | None = None


def find_time_order(columns: Sequence[PlainColumn], target: Floats, is_classes: bool, seed: int) -> TimeEvidence:
    """Whether rows are in time order; `target` is that of `robust_target`."""
    if target.size < MIN_ROWS or np.ptp(target) == 0.0:
        return TimeEvidence("none")
    calendar = find_calendar(columns)
    if calendar is not None:
        tested = _tested(columns, target, np.argsort(calendar.times, kind="stable"), seed, calendar)
        is_time = (calendar.is_certain and (calendar.is_sorted or _has_clear_increase(tested))) or _is_dependent(
            tested, calendar.is_certain
        )
        return tested._replace(verdict="time" if is_time else "none", times=_times_of(calendar))
    if autocorrelation_z(target, np.arange(target.size))[1] < MIN_Z or is_sorted_table(columns, target, is_classes):
        return TimeEvidence("none")
    tested = _tested(columns, target, np.arange(target.size), seed)
    if not _is_dependent(tested):
        return tested._replace(verdict="none")
    is_strong = tested.autocorrelation >= STRONG_AUTOCORRELATION
    return tested._replace(verdict="time" if is_strong else "doubtful", times=np.arange(target.size, dtype=np.float64))


def _tested(
    columns: Sequence[PlainColumn], target: Floats, order: Rows, seed: int, calendar: Calendar | None = None
) -> TimeEvidence:
    """The two statistics in this order; the forward increase only if it matters."""
    positions = contiguous_sample(target.size, len(columns))
    rows = order[positions]
    features, y = quick_features([column.values for column in columns], rows), target[rows]
    r, z = autocorrelation_z(fold_residuals(features, y, shuffled_folds(rows.size, N_FOLDS, seed)), positions)
    is_certain = calendar is not None and calendar.is_certain
    increase = forward_increase(features, y, seed) if is_certain or z >= MIN_Z else None
    names = () if calendar is None else calendar.columns
    return TimeEvidence("none", names, None, r, float(np.exp(log_ndtr(-z))), increase)


def _is_dependent(tested: TimeEvidence, is_dated: bool = False) -> bool:
    """Whether residuals are autocorrelated and the error on the following rows is larger than on random ones.

    With strong autocorrelation, and for dates, the significance of the increase is not required: few periods are
    independent, so that its standard error is large.
    """
    increase = tested.increase
    if increase is None or tested.autocorrelation < MIN_AUTOCORRELATION:
        return False
    is_significant = increase.z >= MIN_INCREASE_Z or tested.autocorrelation >= STRONG_AUTOCORRELATION or is_dated
    return is_significant and increase.ratio >= MIN_INCREASE and tested.p_value <= np.exp(log_ndtr(-MIN_Z))


def _has_clear_increase(tested: TimeEvidence) -> bool:
    """For dates: a model with dates as features may have no autocorrelated residuals."""
    increase = tested.increase
    return increase is not None and increase.ratio >= CLEAR_INCREASE and increase.z >= MIN_Z


def autocorrelation_z(values: Floats, positions: Rows) -> tuple[float, float]:
    """Rank autocorrelation of rows at neighbouring `positions`, and its z-score under random order.

    >>> r, z = autocorrelation_z(np.sin(np.arange(100) / 5), np.arange(100))
    >>> round(r, 2), round(z, 1)
    (0.98, 9.9)
    """
    ranks = rankdata(values)
    ranks -= ranks.mean()
    is_next = np.diff(positions) == 1
    variance = float(ranks.var())
    if variance == 0.0 or not is_next.any():
        return 0.0, 0.0
    r = float((ranks[:-1] * ranks[1:])[is_next].mean()) / variance
    return r, (r + 1.0 / values.size) * float(np.sqrt(is_next.sum()))


# --- sorted tables ----------------------------------------------------------------------------------------------------


def is_sorted_table(columns: Sequence[PlainColumn], target: Floats, is_classes: bool) -> bool:
    """Whether the target or a column explains the order of the rows; a counter of the rows does not.

    >>> is_sorted_table([], np.repeat([0.0, 1.0, 2.0], 50), True)
    True
    """
    if is_grouped(target) or (not is_classes and is_nearly_sorted(target) != 0):
        return True
    return any(_sorts_the_table(column) for column in columns)


def _sorts_the_table(column: PlainColumn) -> bool:
    values = column.values
    if is_counter(values):
        return False
    return is_grouped(values) or (column.kind != "category" and is_nearly_sorted(values) != 0)


def is_counter(values: Floats) -> bool:
    """Whether values are increasing integers, at least half of those of their range."""
    if values.size < 2 or not np.all(np.isfinite(values)):
        return False
    span = values[-1] - values[0] + 1.0
    return bool(np.all(values == np.floor(values)) and np.all(np.diff(values) > 0.0) and values.size >= 0.5 * span)


def is_nearly_sorted(values: Floats) -> int:
    """1 if nearly all changes from row to row are increases, -1 if decreases, else 0; missing values are ignored.

    >>> is_nearly_sorted(np.arange(50.0)), is_nearly_sorted(-np.arange(50.0)), is_nearly_sorted(np.ones(50))
    (1, -1, 0)
    """
    present = values[np.isfinite(values)]
    steps = np.diff(present)
    n_up, n_down = int((steps > 0.0).sum()), int((steps < 0.0).sum())
    if present.size < 0.9 * values.size or n_up + n_down < 3:
        return 0
    if min(n_up, n_down) > MAX_DECREASES * (n_up + n_down):
        return 0
    return 1 if n_up > n_down else -1


def is_grouped(values: Floats) -> bool:
    """Whether equal values are adjacent: far fewer runs than in random order, and few for the number of values.

    The expected number of runs of n values with the fractions p is 1 + (n - 1) (1 - sum p^2).
    """
    counts = np.unique(values, return_counts=True)[1]
    expected = 1.0 + (values.size - 1) * (1.0 - float(((counts / values.size) ** 2).sum()))
    if counts.size < 2 or counts.size > values.size / 2 or expected < 0.1 * values.size:
        return False
    n_runs = 1 + int((np.diff(np.nan_to_num(values, nan=np.inf)) != 0.0).sum())
    return n_runs <= max(2 * counts.size, 0.02 * expected)


# --- calendars --------------------------------------------------------------------------------------------------------


def find_calendar(columns: Sequence[PlainColumn]) -> Calendar | None:
    """The columns with the time of a row: nested calendar units or a date, sorted ones first."""
    result = [_of_units(columns), *(_of_date(column) for column in columns)]
    calendars = [calendar for calendar in result if calendar is not None]
    return min(calendars, key=lambda each: (not each.is_sorted, not each.is_certain), default=None)


def _of_date(column: PlainColumn) -> Calendar | None:
    """A column of dates, or of numbers with the name of a date."""
    words = name_words(column.name)
    is_named = column.kind == "number" and bool(words & DATE_WORDS or "time" in words)
    if words & NOT_ORDER_WORDS or not (is_named or column.kind == "date"):
        return None
    if np.unique(column.values).size < MIN_TIMES:
        return None
    direction = is_nearly_sorted(column.values)
    is_complete = bool(np.all(np.isfinite(column.values)))
    if column.kind == "date" or (words & DATE_WORDS and direction):
        return Calendar((column.name,), column.values, direction != 0, True) if is_complete else None
    if "time" in words and direction and is_complete:
        return Calendar((column.name,), column.values, True, False)
    return None


def _of_units(columns: Sequence[PlainColumn]) -> Calendar | None:
    """Year, month, day, ... by which the rows are nearly sorted; units that break the order are left out."""
    by_unit: dict[str, PlainColumn] = {}
    for column in columns:
        unit = unit_of(column)
        if unit and bool(np.all(np.isfinite(column.values))):
            by_unit.setdefault(unit, column)
    n = columns[0].values.size if columns else 0
    key, chosen, direction = np.zeros(n), list[str](), 0
    for unit in (unit for unit in UNITS if unit in by_unit):
        codes = np.unique(_unit_values(by_unit[unit]), return_inverse=True)[1].ravel()
        finer = np.unique(key * (codes.max() + 1.0) + codes, return_inverse=True)[1].ravel().astype(np.float64)
        of_finer = _direction_of(finer)
        if of_finer and of_finer in (direction, direction or of_finer):
            key, direction, chosen = finer, of_finer, [*chosen, by_unit[unit].name]
    n_times = np.unique(key).size
    if n_times < MIN_UNIT_TIMES:
        return None
    return Calendar(tuple(chosen), key, True, len(chosen) > 1 and n_times >= MIN_TIMES)


def _direction_of(key: Floats) -> int:
    """As `is_nearly_sorted`, also for keys of two values."""
    steps = np.diff(key)
    if 0 < np.count_nonzero(steps) < 3:
        return int(np.sign(steps[steps != 0.0][0])) if np.unique(np.sign(steps[steps != 0.0])).size == 1 else 0
    return is_nearly_sorted(key)


def unit_of(column: PlainColumn) -> str:
    """The calendar unit in the name of a column, "" for none.

    >>> nothing = np.zeros(3)
    >>> [unit_of(PlainColumn(name, "number", nothing)) for name in ("yr", "DayofMonth", "DayOfWeek", "hours_worked")]
    ['year', 'day', '', '']
    """
    words = name_words(column.name)
    if words & NOT_ORDER_WORDS or (column.kind == "category" and not _are_months(column)):
        return ""
    return next((UNIT_OF[word] for word in sorted(words) if word in UNIT_OF), "")


def name_words(name: str) -> frozenset[str]:
    """The words of a name in snake_case, camelCase or with spaces, and the whole name."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    words = [word for word in re.split(r"[^a-zA-Z]+", parted.lower()) if word]
    joined = "".join(words)
    return frozenset(["weekday"]) if joined in ("weekday", "dayofweek", "dow") else frozenset([*words, joined])


def _are_months(column: PlainColumn) -> bool:
    return bool(column.labels) and all(label[:3].lower() in MONTHS for label in column.labels)


def _unit_values(column: PlainColumn) -> Floats:
    if column.kind != "category":
        return column.values
    return np.array([MONTHS.index(label[:3].lower()) for label in column.labels], float)[column.values.astype(int)]


def _times_of(calendar: Calendar) -> Floats:
    """Times for the folds: those of the calendar, or the order of the rows if that is finer."""
    if not calendar.is_sorted or np.unique(calendar.times).size >= MANY_TIMES:
        return calendar.times
    rows = np.arange(calendar.times.size, dtype=np.float64)
    return rows if calendar.times[-1] >= calendar.times[0] else -rows
