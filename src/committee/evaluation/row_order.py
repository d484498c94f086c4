"""Detection of time order and repeated entities, and the folds that follow from them.

Validation on shuffled rows assumes that rows are exchangeable. With rows in time order, or several rows of one patient,
the error on shuffled folds is too small. `find_row_order` looks for both (`evaluation/_time_order.py`,
`evaluation/_repeated_entities.py`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.evaluation._quick_residuals import LossIncrease, robust_target
from committee.evaluation._repeated_entities import EntityEvidence, find_repeated_entities
from committee.evaluation._row_splits import RowSplit, split_rows
from committee.evaluation._time_order import TimeEvidence, find_time_order
from committee.evaluation.plain_columns import PlainColumn, plain_columns

TIME_BLOCKS = 10
"""Blocks of neighbouring rows in time that are treated as independent."""


class RowOrder(NamedTuple):
    """Time order or groups found in a table."""

    kind: Literal["exchangeable", "time", "groups", "doubtful time", "doubtful groups"]
    columns: tuple[str, ...] = ()  # with the times or groups; none for the order of the rows
    values: Floats | None = None  # [n] times or groups
    autocorrelation: float = np.nan  # of the residuals in time order
    p_value: float = np.nan
    increase: float = np.nan  # factor of the root mean squared error on later rows or new entities
    n_groups: int = 0

    @property
    def times(self) -> Floats | None:
        return self.values if self.kind == "time" else None

    @property
    def groups(self) -> Floats | None:
        return self.values if self.kind == "groups" else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the settings of a comparison."""
        return {
            "kind": self.kind, "columns": list(self.columns), "autocorrelation": _plain(self.autocorrelation),
            "p_value": _plain(self.p_value), "error_increase": _plain(self.increase),
        }  # fmt: skip


def find_row_order(X: Any, y: NDArray[Any], *, is_classes: bool, seed: int = 0) -> RowOrder:
    """Look for time order and repeated entities; `y` has class codes or numbers.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> find_row_order(X, X[:, 0] + rng.normal(size=500), is_classes=False).kind
    'exchangeable'
    >>> find_row_order(X, X[:, 0] + rng.normal(size=500).cumsum(), is_classes=False).kind
    'time'
    """
    return order_of_columns(plain_columns(X), y, is_classes=is_classes, seed=seed)


def order_of_columns(columns: tuple[PlainColumn, ...], y: NDArray[Any], *, is_classes: bool, seed: int = 0) -> RowOrder:
    """`find_row_order` of columns; a calendar has priority over entities, and these over the order of the rows."""
    target = robust_target(y, is_classes)
    by_time = find_time_order(columns, target, is_classes, seed)
    if by_time.verdict == "time" and by_time.columns:
        return _of_time(by_time)
    entities = find_repeated_entities(columns, target, seed)
    if entities.verdict == "groups":
        return _of_entities(entities)
    if by_time.verdict != "none":
        return _of_time(by_time)
    return _of_entities(entities) if entities.verdict == "doubtful" else RowOrder("exchangeable")


class Folding(NamedTuple):
    """A split of the rows with its groups and times."""

    split: RowSplit
    groups: Any
    times: Any
    order: RowOrder | None  # None if it was not looked for


def fold_rows(
    X: Any, y: NDArray[Any], *, is_classes: bool, cv: int, held_out: float, groups: Any, times: Any, seed: int
) -> Folding:
    """`split_rows` by the groups or times given, or by those that are found if they are "auto".

    `times` may be "row order" or a `RowOrder`. If there are too few rows or classes for a split that was found, the
    rows are shuffled.
    """
    codes = y.astype(np.int64) if is_classes else None
    if isinstance(times, str) and times == "row order":
        times = np.arange(y.size)
    given = times if isinstance(times, RowOrder) else None
    is_auto = given is not None or _is_auto(times, "time"), given is not None or _is_auto(groups, "groups")
    times, groups = None if is_auto[0] else times, None if is_auto[1] else groups

    def split(of_groups: Any, of_times: Any) -> RowSplit:
        return split_rows(codes, y.size, cv=cv, held_out=held_out, groups=of_groups, times=of_times, seed=seed)

    if not any(is_auto) or times is not None or groups is not None:
        return Folding(split(groups, times), groups, times, None)
    result = given or find_row_order(X, y, is_classes=is_classes, seed=seed)
    result = result if is_auto["groups" in result.kind] else RowOrder("exchangeable")
    try:
        made = split(result.groups, result.times)
        if _has_two_classes(made, codes):
            return Folding(made, result.groups, result.times, result)
    except ValueError:  # too few groups or times for so many folds
        pass
    return Folding(split(None, None), None, None, result._replace(kind=_as_doubtful(result)))


def dependent_rows(folding: Folding, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Codes of dependent rows, for standard errors: groups, or blocks of neighbours in time."""
    labels: NDArray[Any] = np.arange(rows.size)
    if folding.groups is not None:
        labels = np.asarray(folding.groups)[rows]
    elif folding.times is not None:
        by_time = np.argsort(np.argsort(np.asarray(folding.times)[rows], kind="stable"), kind="stable")
        labels = by_time * min(TIME_BLOCKS, rows.size) // rows.size
    return np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)


def _is_auto(given: Any, what: str) -> bool:
    if not isinstance(given, str):
        return False
    if given != "auto":
        also = ' or "row order"' if what == "time" else ""
        raise ValueError(f'{what} must be "auto"{also}, None, or hold one value per row; got {given!r}.')
    return True


def _has_two_classes(split: RowSplit, codes: NDArray[np.int64] | None) -> bool:
    """Whether the training rows of every fold have at least two classes."""
    return codes is None or all(np.unique(codes[split.train_of(k)]).size > 1 for k in range(split.n_folds))


def _as_doubtful(result: RowOrder) -> Literal["doubtful time", "doubtful groups"]:
    return "doubtful groups" if "groups" in result.kind else "doubtful time"


def _of_time(result: TimeEvidence) -> RowOrder:
    kind = "time" if result.verdict == "time" else "doubtful time"
    increase = _ratio(result.increase)
    return RowOrder(kind, result.columns, result.times, result.autocorrelation, result.p_value, increase)


def _of_entities(result: EntityEvidence) -> RowOrder:
    kind = "groups" if result.verdict == "groups" else "doubtful groups"
    assert result.groups is not None
    is_missing = np.isnan(result.groups)  # rows without a value are groups of their own
    groups = np.where(is_missing, np.nanmax(result.groups) + np.cumsum(is_missing), result.groups)
    return RowOrder(kind, result.columns, groups, increase=_ratio(result.increase), n_groups=result.n_groups)


def _ratio(increase: LossIncrease | None) -> float:
    return np.nan if increase is None else increase.ratio


def _plain(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None


# --- messages ---------------------------------------------------------------------------------------------------------


class Switches(NamedTuple):
    """How to choose another validation."""

    shuffle: str = "pass time=None and groups=None"
    by_time: str = 'pass time="row order"'
    by_group: str = "pass its values as groups"


def explain_order(result: RowOrder, switches: Switches = Switches()) -> str:  # noqa: B008 - it is immutable
    """What was found, how it is handled, and how to change that; "" if nothing was found."""
    names = ", ".join(map(repr, result.columns))
    switch_off = switches.shuffle
    if result.kind == "time":
        return (
            f"The rows are in time order ({_time_evidence(result)}), so methods are fitted on earlier rows and "
            f"validated on later ones. If the order does not matter, {switch_off}."
        )
    if result.kind == "groups":
        return (
            f"{names} {'has' if len(result.columns) == 1 else 'together have'} {result.n_groups} repeated values, and "
            f"rows of one value are similar: the error on new values is {result.increase:.1f} times that on shuffled "
            "rows. Rows of one value are kept together in validation, so the reported error is that on new values. For "
            f"predictions on the same values only, {switch_off}."
        )
    if result.kind == "doubtful time":
        return (
            f"Residuals of neighbouring rows are correlated ({_time_evidence(result)}). The rows are shuffled: the "
            "reported error is that on new rows among these. If the rows are in time order and later rows are to be "
            f"predicted, it is too small: {switches.by_time}."
        )
    if result.kind == "doubtful groups":
        return (
            f"Rows with the same value of {names} are similar: the error on new values is {result.increase:.1f} times "
            "that on shuffled rows. The rows are shuffled: the reported error is that on the same values. If rows with "
            f"new values are to be predicted, {switches.by_group}."
        )
    return ""


def _time_evidence(result: RowOrder) -> str:
    parts = list[str]()
    if result.columns:
        what = "column" if len(result.columns) == 1 else "columns"
        parts.append(f"{what} {', '.join(map(repr, result.columns))}")
    if np.isfinite(result.autocorrelation):
        p = "p < 1e-10" if result.p_value < 1e-10 else f"p = {result.p_value:.2g}"
        parts.append(f"autocorrelation of residuals {result.autocorrelation:.2f}, {p}")
    if np.isfinite(result.increase):
        parts.append(f"error on the following rows {result.increase:.1f} times that on shuffled rows")
    return "; ".join(parts)
