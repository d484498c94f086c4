"""What a document says beside what was measured here, and when the two agree.

A published number p and a measured one m agree when they differ by no more than rounding and chance can explain:

    |m - p| <= r + 2 sqrt(s_m^2 + s_p^2),    r half a unit of the last digit printed, s the standard errors

A document that gives no standard error but says how it measured gets that of the same measurement done here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.evaluation._folds import Mean
from committee.records.history import History

SURE = 2.0
"""A difference of so many standard errors is one."""

Holds = bool | None


class Row(NamedTuple):
    """One number: as published (None where the document gives none) and as obtained."""

    what: str
    obtained: float
    stderr: float = 0.0  # of the obtained number, 0 where it is exact
    published: float | None = None
    published_stderr: float = 0.0
    digits: int = 3  # of the published number after the point; also how many are shown

    @property
    def agrees(self) -> Holds:
        """None where nothing is published."""
        if self.published is None:
            return None
        rounding = 0.5 * 10.0**-self.digits * (1.0 + 1e-9)
        room = rounding + SURE * math.hypot(self.stderr, self.published_stderr)
        return bool(abs(self.obtained - self.published) <= room)


class Claim(NamedTuple):
    """A statement without a number: True if it holds, False if not, None where chance may explain what was seen."""

    statement: str
    holds: Holds
    evidence: str


class Outcome(NamedTuple):
    """What a reproduction found."""

    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    curves: History  # long: panel, curve, x, value, stderr
    verdict: str
    study: Any  # what the pictures are drawn from


def row(
    what: str, found: Mean, published: float | None = None, *, published_stderr: float = 0.0, digits: int = 3
) -> Row:
    """A row from a mean and its standard error.

    >>> row("error", Mean(0.052, 0.004), 0.0488, digits=4).agrees
    True
    """
    return Row(what, found.value, found.stderr, published, published_stderr, digits)


def is_above(difference: Mean) -> Holds:
    """Does a difference that is claimed to be positive come out so, beyond chance?

    >>> is_above(Mean(0.3, 0.1)), is_above(Mean(0.1, 0.1)), is_above(Mean(-0.3, 0.1))
    (True, None, False)
    """
    if abs(difference.value) <= SURE * difference.stderr:
        return None
    return bool(difference.value > 0.0)


def is_not_below(difference: Mean) -> bool:
    """Is a difference that is claimed not to be negative nowhere below zero beyond chance?"""
    return is_above(difference) is not False


def errors_beside_published(
    names: Iterable[str],
    methods: Sequence[str],
    published: Mapping[str, Sequence[float]],
    error: Callable[[str, str], Mean],
) -> History:
    """A line for every set and method: the error found, and that of the table where it has the set."""
    places = [(name, k) for name in names for k in range(len(methods))]
    found = [error(name, methods[k]) for name, k in places]
    return History({
        "set": [name for name, _ in places],
        "method": [methods[k] for _, k in places],
        "error": [mean.value for mean in found],
        "error_stderr": [mean.stderr for mean in found],
        "published": [published[name][k] if name in published else np.nan for name, k in places],
    })  # fmt: skip


def gather_curves(curves: Iterable[tuple[str, str, Any, Any, Any]]) -> History:
    """Curves (panel, name, x, value, standard error) under each other, as one long table.

    >>> found = gather_curves([("sonar", "test", [1, 2], [0.3, 0.2], 0.0)])
    >>> found.value.tolist(), found.panel.tolist()
    ([0.3, 0.2], ['sonar', 'sonar'])
    """
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("panel", "curve", "x", "value", "stderr")}
    for panel, name, x, value, stderr in curves:
        values = np.asarray(value, np.float64)
        pieces = (np.full(values.size, panel), np.full(values.size, name), np.asarray(x, np.float64), values)
        for column, piece in zip(columns, (*pieces, np.broadcast_to(stderr, values.shape)), strict=True):
            columns[column].append(piece)
    return History({name: np.concatenate(pieces) if pieces else [] for name, pieces in columns.items()})


def sum_up(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """How many of the published numbers and of the claims came out, in one sentence.

    >>> sum_up([Row("a", 1.0, published=1.0)], [Claim("b", None, "c")])
    '1 of 1 published number agrees; of 1 claim 0 hold, 0 do not, 1 within chance'
    """
    judged = [row.agrees for row in rows if row.agrees is not None]
    holds = [claim.holds for claim in claims]
    words: list[str] = []
    if judged:
        verb = "agrees" if sum(judged) == 1 else "agree"
        words.append(f"{sum(judged)} of {_count(len(judged), 'published number')} {verb}")
    if holds:
        counts = [sum(held is value for held in holds) for value in (True, False, None)]
        words.append(
            f"of {_count(len(holds), 'claim')} {counts[0]} hold, {counts[1]} do not, {counts[2]} within chance"
        )
    return "; ".join(words) or "nothing is published to compare with"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


OutcomeOf = Callable[[bool, int], Outcome]
"""A reproduction: (quick, verbose) -> what it found."""
