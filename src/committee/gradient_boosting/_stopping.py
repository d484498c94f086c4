"""When gradient boosting stops: without a split, by a callback, or by the validation loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from committee.ensemble.stopping import Patience, Stopping
from committee.gradient_boosting.gradient_boosting import Run
from committee.gradient_boosting.validation import Record

FREE_ROUNDS = 10
"""Number of further rounds without the penalty on categories, after validation has stopped the rounds with it.

Where pairs of categories interact, no single column has a gain above the penalty; splits by chance find the pairs, and
the validation loss shows whether there are any.
"""


class BoostingStopping(Stopping):
    """Patience on the validation loss, callbacks, and the end of splits.

    Runs that are stopped by the validation loss continue for some rounds without the penalty on categories, if `runs`
    has any that this changes. A record of fewer than `min_leaves` leaves, of all trees of the round, ends the fit.
    """

    def __init__(
        self,
        patience: Patience,
        *,
        min_leaves: int,
        callbacks: Sequence[Callable[[Any], bool | None]],
        runs: Sequence[Run],
    ) -> None:
        super().__init__(patience)
        self.patience, self.min_leaves, self.callbacks, self.runs = patience, min_leaves, callbacks, runs

    def check(self, record: Record) -> str:
        """The reason to stop after this round; empty to continue."""
        reason = super().check(record)
        if record.n_leaves < self.min_leaves:
            return "no split decreases the loss"
        if any(callback(record) for callback in self.callbacks):
            return "a callback stopped the fit"
        if reason and any([run.frees_categories() for run in self.runs]):
            self.patience.wait(FREE_ROUNDS)
            return ""
        return reason

    def replay(self, records: Sequence[Record]) -> str:
        """Check the validation losses of an earlier fit; callbacks do not get them again."""
        return Stopping(self.patience).replay(records)
