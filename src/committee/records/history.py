"""Histories of fits, one row per round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from committee.records.result_table import ResultTable


class History(ResultTable):
    """A table with one row per round.

    >>> history = History({"round": [1, 2], "error": [0.3, 0.4]})
    >>> history.error.tolist(), history.n_rounds
    ([0.3, 0.4], 2)
    """

    @classmethod
    def from_records(cls, records: Sequence[NamedTuple]) -> History:
        """Columns from one named tuple per round."""
        fields = records[0]._fields if records else ()
        return cls({name: [getattr(record, name) for record in records] for name in fields})

    @property
    def n_rounds(self) -> int:
        return self.height

    def __repr__(self) -> str:
        return f"History of {self.n_rounds} rounds: {', '.join(self)}"
