"""Prequential error: every row of a stream is predicted before it is fitted on (Dawid 1984, prequential analysis).

    prequential error after n rows = sum_i w_i l(y_i, f_(i-1)(x_i)) / sum_i w_i

where f_(i-1) was fitted on the rows before row i only. No row is held out, and every row is new to its prediction.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats

RECORD_ROWS = 100
"""Rows of the stream in each record."""


class Record(NamedTuple):
    """Errors on a block of the stream: a row of `history_`."""

    n_seen: int  # rows of the stream at the end of the block
    error: float  # of the ensemble on the rows of the block, each predicted before it is fitted on
    prequential_error: float  # of the ensemble on all rows so far
    member_errors: Floats  # [members], on the rows of the block


class Prequential:
    """Sums of the losses of the ensemble, at index 0, and of its members, after it."""

    def __init__(self, n_members: int) -> None:
        self.loss, self.weight = np.zeros(1 + n_members), np.zeros(1 + n_members)
        self.loss_before, self.weight_before = self.loss, self.weight  # at the last record

    def copy(self) -> Prequential:
        other = Prequential(0)
        vars(other).update(vars(self))  # sums are replaced, never changed
        return other

    def update(self, losses: Floats, weight: Floats, n_before: int) -> list[Record]:
        """Add the losses [1 + members, rows] of rows after `n_before` others; nan where there is no prediction yet.

        Returns the records of the blocks that end among these rows.
        """
        n = weight.size
        records: list[Record] = []
        for start, end in pairwise([0, *range(RECORD_ROWS - n_before % RECORD_ROWS, n, RECORD_ROWS), n]):
            self._add(losses[:, start:end], weight[start:end])
            if (n_before + end) % RECORD_ROWS == 0:
                records.append(self.record(n_before + end))
                self.loss_before, self.weight_before = self.loss, self.weight
        return records

    def _add(self, losses: Floats, weight: Floats) -> None:
        is_predicted = ~np.isnan(losses)
        self.loss = self.loss + np.where(is_predicted, losses, 0.0) @ weight
        self.weight = self.weight + is_predicted @ weight

    @property
    def error(self) -> float:
        """Mean loss of the ensemble on all rows so far, nan before the first prediction."""
        return float(_ratio(self.loss, self.weight)[0])

    def record(self, n_seen: int) -> Record:
        """The record of the rows since the last record of `update`."""
        errors = _ratio(self.loss - self.loss_before, self.weight - self.weight_before)
        return Record(n_seen, float(errors[0]), self.error, errors[1:])


def _ratio(loss: Floats, weight: Floats) -> Floats:
    return np.where(weight > 0.0, loss / np.where(weight > 0.0, weight, 1.0), np.nan)
