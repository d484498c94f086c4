"""What a reproduction returns: published and obtained numbers, and when the two agree.

A published number p and an obtained one m agree when they differ by no more than rounding and chance can explain:

    |m - p| <= r + 2 sqrt(s_m^2 + s_p^2),    r half a unit of the last digit printed, s the standard errors

Where a paper gives no standard error but says how it measured, that of the same measurement done here is taken for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import Mean
from committee.records.history import History
from committee.records.result_table import ResultTable, to_pandas, to_polars

SIGNIFICANT = 2.0
"""Standard errors beyond which a difference is not explained by chance."""

Holds = bool | None


class Row(NamedTuple):
    """One number, as published (None where the paper gives none) and as obtained."""

    what: str
    obtained: float
    stderr: float = 0.0  # of the obtained number, 0 where it is exact
    published: float | None = None
    published_stderr: float = 0.0
    digits: int = 3  # of the published number after the point; also how many are shown

    @property
    def agrees(self) -> Holds:
        """Whether obtained and published number agree; None where nothing is published."""
        if self.published is None:
            return None
        rounding = 0.5 * 10.0**-self.digits * (1.0 + 1e-9)
        room = rounding + SIGNIFICANT * math.hypot(self.stderr, self.published_stderr)
        return bool(abs(self.obtained - self.published) <= room)


class Claim(NamedTuple):
    """A statement without a number: it holds (True), does not (False), or chance may explain what was seen (None)."""

    statement: str
    holds: Holds
    evidence: str


class Outcome(NamedTuple):
    """What the `reproduce` function of an experiment returns."""

    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    curves: History  # long: panel, curve, x, value, stderr
    verdict: str
    data: Any  # all that was measured; the picture is drawn from it


class ReproductionResult(NamedTuple):
    """One run of an experiment; `curves` is a long table of panel, curve, x, value and standard error."""

    name: str
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    curves: History
    verdict: str
    data: Any  # all that was measured; the picture is drawn from it
    seconds: float
    is_quick: bool

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, claims and verdict, ready for JSON."""
        return {
            "name": self.name,
            "rows": [{**row._asdict(), "agrees": row.agrees} for row in self.rows],
            "claims": [claim._asdict() for claim in self.claims],
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
            "is_quick": self.is_quick,
        }

    def to_table(self) -> ResultTable:
        """Return a table with one line per number."""
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.rows] for name in Row._fields}
        columns["published"] = [math.nan if value is None else value for value in columns["published"]]
        return ResultTable({**columns, "agrees": [row.agrees for row in self.rows]})

    to_pandas = to_pandas
    to_polars = to_polars


def row(
    what: str, mean: Mean, published: float | None = None, *, published_stderr: float = 0.0, digits: int = 3
) -> Row:
    """Return a row from a mean with its standard error.

    >>> row("error", Mean(0.052, 0.004), 0.0488, digits=4).agrees
    True
    """
    return Row(what, mean.value, mean.stderr, published, published_stderr, digits)


def is_above(difference: Mean) -> Holds:
    """Tell whether a difference is positive beyond chance.

    >>> is_above(Mean(0.3, 0.1)), is_above(Mean(0.1, 0.1)), is_above(Mean(-0.3, 0.1))
    (True, None, False)
    """
    if abs(difference.value) <= SIGNIFICANT * difference.stderr:
        return None
    return bool(difference.value > 0.0)


def is_not_below(difference: Mean) -> bool:
    """Tell whether a difference is not negative beyond chance."""
    return is_above(difference) is not False


def minus(a: Mean, b: Mean) -> Mean:
    """Return the difference of two independent means."""
    return Mean(a.value - b.value, math.hypot(a.stderr, b.stderr))


def mean_over_draws(values: Floats) -> Mean:
    """Return the mean and its standard error of one number per independent draw."""
    return Mean(float(values.mean()), float(stderr_over_draws(values)) if values.size > 1 else math.nan)


def stderr_over_draws(values: Floats) -> Floats:
    """Return the standard error of the mean over the first axis, whose entries are independent."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def verdict_of(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """Say in one sentence how many published numbers agree and how many claims hold.

    >>> verdict_of([Row("a", 1.0, published=1.0)], [Claim("b", None, "c")])
    '1 of 1 published number agrees; of 1 claim 0 hold, 0 do not, 1 within chance'
    """
    compared = [row.agrees for row in rows if row.agrees is not None]
    holds = [claim.holds for claim in claims]
    parts: list[str] = []
    if compared:
        verb = "agrees" if sum(compared) == 1 else "agree"
        parts.append(f"{sum(compared)} of {_count(len(compared), 'published number')} {verb}")
    if holds:
        counts = [sum(held is value for held in holds) for value in (True, False, None)]
        parts.append(
            f"of {_count(len(holds), 'claim')} {counts[0]} hold, {counts[1]} do not, {counts[2]} within chance"
        )
    return "; ".join(parts) or "nothing is published to compare with"


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


def gather_curves(curves: Iterable[tuple[str, str, Any, Any, Any]]) -> History:
    """Gather curves (panel, name, x, value, standard error) in one long table.

    >>> table = gather_curves([("sonar", "test", [1, 2], [0.3, 0.2], 0.0)])
    >>> table.value.tolist(), table.panel.tolist()
    ([0.3, 0.2], ['sonar', 'sonar'])
    """
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("panel", "curve", "x", "value", "stderr")}
    for panel, name, x, value, stderr in curves:
        values = np.asarray(value, np.float64)
        pieces = (np.full(values.size, panel), np.full(values.size, name), np.asarray(x, np.float64), values)
        for column, piece in zip(columns, (*pieces, np.broadcast_to(stderr, values.shape)), strict=True):
            columns[column].append(piece)
    return History({name: np.concatenate(pieces) if pieces else [] for name, pieces in columns.items()})


def gather_means(means: Mapping[tuple[str, str], Mean]) -> History:
    """Gather means by (panel, name) as curves of one point, numbered within their panel."""
    places: dict[str, int] = {}
    curves: list[tuple[str, str, Any, Any, Any]] = []
    for (panel, name), mean in means.items():
        k = places.get(panel, 0)
        places[panel] = k + 1
        curves.append((panel, name, [k], [mean.value], [mean.stderr]))
    return gather_curves(curves)


class PaperTable(NamedTuple):
    """Errors in % by data set and method: obtained, and as a paper's table has them."""

    errors: Mapping[str, Floats]  # data set -> fractions [methods, repeats]
    methods: tuple[str, ...]
    published: Mapping[str, tuple[float, ...]]  # data set -> %, in the order of the methods

    def error(self, name: str, method: str) -> Mean:
        """Return the mean over the repeats, in %."""
        return mean_over_draws(100.0 * self.errors[name][self.methods.index(method)])

    def difference(self, name: str, method: str, other: str) -> Mean:
        """Return the error of a method minus that of another one in the same repeats, in %."""
        errors = self.errors[name]
        return mean_over_draws(100.0 * (errors[self.methods.index(method)] - errors[self.methods.index(other)]))

    def means(self) -> dict[tuple[str, str], Mean]:
        """Return the errors by data set and method."""
        return {(name, method): self.error(name, method) for name in self.errors for method in self.methods}

    def rows(self) -> tuple[Row, ...]:
        """Compare with the paper, which averages as many repeats: its standard errors are taken to be as large."""
        return tuple(
            row(
                f"{name}, {method}, error %",
                mean,
                self._published(name, method),
                published_stderr=mean.stderr,
                digits=1,
            )
            for (name, method), mean in self.means().items()
        )

    def to_table(self) -> ResultTable:
        """Return a table with one line per data set and method."""
        means = self.means()
        published = [self._published(*place) for place in means]
        return ResultTable({
            "set": [name for name, _ in means],
            "method": [method for _, method in means],
            "error": [mean.value for mean in means.values()],
            "error_stderr": [mean.stderr for mean in means.values()],
            "published": [math.nan if value is None else value for value in published],
        })  # fmt: skip

    to_pandas = to_pandas
    to_polars = to_polars

    def _published(self, name: str, method: str) -> float | None:
        return self.published[name][self.methods.index(method)] if name in self.published else None


Reproduce = Callable[[bool, int], Outcome]
"""What the module of every experiment has as `reproduce`: (quick, verbose) -> what was measured."""
