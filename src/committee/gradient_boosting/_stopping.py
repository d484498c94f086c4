"""When gradient boosting stops: without a split, by a callback, or by the validation loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from committee.ensemble.stopping import Patience, Stopping
from committee.gradient_boosting.validation import Record


class BoostingStopping(Stopping):
    """Patience on the validation loss, callbacks, and the end of splits.

    A record of fewer than `min_leaves` leaves, of all trees of the round, ends the fit.
    """

    def __init__(
        self,
        patience: Patience,
        *,
        min_leaves: int,
        callbacks: Sequence[Callable[[Any], bool | None]],
    ) -> None:
        super().__init__(patience)
        self.patience, self.min_leaves, self.callbacks = patience, min_leaves, callbacks

    def check(self, record: Record) -> str:
        """The reason to stop after this round; empty to continue."""
        reason = super().check(record)
        if record.n_leaves < self.min_leaves:
            return "no split decreases the loss"
        if any(callback(record) for callback in self.callbacks):
            return "a callback stopped the fit"
        return reason

    def replay(self, records: Sequence[Record]) -> str:
        """Check the validation losses of an earlier fit; callbacks do not get them again."""
        return Stopping(self.patience).replay(records)
