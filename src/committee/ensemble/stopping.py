"""Early stopping of ensembles that grow member by member.

A `Stopping` is made of rules, each of which checks the record of every round and returns a reason to stop, or "":

| rule | stops |
|---|---|
| `Patience` | after some rounds without a better validation error |
| `Plateau` | once the best error of the last members is not below the best one before them by a fraction `tol` |
| `Convergence` | once the mean error of a window is not below that of the window before by a fraction `tol` |
| `TargetError` | at a training error that is small enough |
| `RiskBound` | once the exponential risk shows that no training row can be misclassified |
| `MarginGap` | once edge and margin, which enclose the largest margin possible, are close to each other |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

MIN_MEMBERS = 25
"""Twice as many members without an out-of-bag row end the run, as in a table of one row."""

WINDOW = 50
"""Members over which `Convergence` averages the error: a single step is noise."""


class StoppingRule(Protocol):
    """Checks the records of a run one after the other."""

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        ...


class Stopping:
    """Stops a run by the first of its rules that returns a reason; all of them check every record."""

    def __init__(self, *rules: StoppingRule) -> None:
        self.rules = rules

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        reasons = [rule.check(record) for rule in self.rules]
        return next((reason for reason in reasons if reason), "")

    def replay(self, records: Sequence[Any]) -> str:
        """Check the records of an earlier fit; return the reason to stop after the last one, or ""."""
        reason = ""
        for record in records:
            reason = self.check(record)
        return reason


class Patience:
    """Stops after `n_iter_no_change` rounds without a smaller validation error.

    Smaller means by more than `tol`, by the fraction `tol` of the best error, or by that of the first one. At least
    `stretch` times the best round are run, and as many are kept.
    """

    def __init__(
        self,
        n_iter_no_change: int,
        tol: float,
        *,
        measure: str = "validation_error",
        tol_of: Literal["", "best", "first"] = "",
        is_active: bool = True,
        stretch: float = 1.0,
    ) -> None:
        self.n_iter_no_change, self.tol, self.tol_of = n_iter_no_change, tol, tol_of
        self.measure, self.is_active, self.stretch = measure, is_active, stretch
        self.best, self.best_round, self.min_gain = np.inf, 0, tol
        self.last_round, self.reason = 0, ""

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        error, self.last_round = getattr(record, self.measure), record.round
        is_first = self.tol_of == "first" and not self.best_round
        if is_first:
            self.min_gain = self.tol * abs(error)
        limit = self.best * (1.0 - self.tol) if self.tol_of == "best" else self.best - self.min_gain
        if is_first or error < limit:
            self.best, self.best_round = error, self.last_round
        has_waited = self.last_round - self.best_round >= self.n_iter_no_change
        if self.is_active and has_waited and self.last_round >= self.stretch * self.best_round:
            what = self.measure.replace("_", " ")
            self.reason = f"the {what} has not improved for {self.n_iter_no_change} rounds"
        return self.reason

    def n_kept(self, n_run: int) -> int:
        """Number of rounds to keep of `n_run`."""
        return max(1, min(round(self.stretch * self.best_round), n_run))


class Plateau:
    """Compares the best of the last `n_iter_no_change` errors with the best one before them."""

    def __init__(self, n_iter_no_change: int, tol: float, measure: str) -> None:
        self.n_iter_no_change, self.tol, self.measure = n_iter_no_change, tol, measure
        self.what = "out-of-bag error" if measure == "oob_error" else "validation error"
        self.errors: list[float] = []

    def check(self, record: Any) -> str:
        """The reason to stop after this member; empty to continue."""
        error = getattr(record, self.measure)
        self.errors.append(math.inf if math.isnan(error) else error)
        if len(self.errors) >= 2 * max(self.n_iter_no_change, MIN_MEMBERS) and math.isinf(min(self.errors)):
            return f"no row was ever outside a sample: {len(self.errors)} members have no {self.what}"
        before, last = self.errors[: -self.n_iter_no_change], self.errors[-self.n_iter_no_change :]
        if not before or math.isinf(min(before)) or min(last) < (1.0 - self.tol) * min(before):
            return ""
        how = "increased" if min(last) > min(before) else "converged"
        return (
            f"the {self.what} {how}: {min(last):.4g} at best over the last {self.n_iter_no_change} members, "
            f"{min(before):.4g} before them (tol={self.tol:g})"
        )


class Convergence:
    """Compares the mean out-of-bag error over the last WINDOW members with that of the window before, every tenth time.

    A curve that increases has converged too, and so has one without values.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.curve: list[float] = []

    def check(self, record: Any) -> str:
        """The reason to stop after this member; empty to continue."""
        self.curve.append(record.oob_error)
        n = len(self.curve)
        if n < 2 * WINDOW or n % 10:
            return ""
        earlier, later = float(np.mean(self.curve[-2 * WINDOW : -WINDOW])), float(np.mean(self.curve[-WINDOW:]))
        return "" if later < earlier * (1.0 - self.tol) else f"the out-of-bag error converged after {n} trees"


class TargetError:
    """Stops at a training error of at most `target`."""

    def __init__(self, target: float) -> None:
        self.target = target

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        is_reached = record.train_error <= self.target
        return f"the training error reached the target of {self.target:g}" if is_reached else ""


class RiskBound:
    """Stops once the exponential risk, which bounds the training error, is below the smallest weight of a row."""

    def __init__(self, min_weight: float) -> None:
        self.min_weight = min_weight

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        if record.exponential_risk >= self.min_weight:
            return ""
        return "the exponential risk is below every initial weight: no training row can be misclassified"


class MarginGap:
    """Stops once the smallest edge so far and the smallest margin are within `tol` of each other.

    With two classes and a learner that maximizes the edge, they enclose the largest possible margin.
    """

    def __init__(self, tol: float) -> None:
        self.tol, self.min_edge = tol, 1.0

    def check(self, record: Any) -> str:
        """The reason to stop after this round; empty to continue."""
        self.min_edge = min(self.min_edge, abs(record.edge))  # a hypothesis of negative edge votes with the other sign
        if self.min_edge - record.min_margin > self.tol:
            return ""
        return f"edge and margin are within {self.tol:g}: the margin cannot grow by more"
