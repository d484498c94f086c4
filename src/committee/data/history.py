"""What a fit measured, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class History(Mapping[str, NDArray[Any]]):
    """Columns of equal length, one entry per round, also as attributes: ``history["edge"]`` is ``history.edge``.

    >>> history = History({"round": [1, 2], "error": [0.3, 0.4]})
    >>> history.error.tolist(), history.n_rounds
    ([0.3, 0.4], 2)
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        self._columns = {name: np.array(values) for name, values in columns.items()}
        for values in self._columns.values():
            values.setflags(write=False)

    @classmethod
    def from_records(cls, records: Sequence[NamedTuple]) -> History:
        """Columns from one named tuple per round."""
        fields = records[0]._fields if records else ()
        return cls({name: [getattr(record, name) for record in records] for name in fields})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __getattr__(self, name: str) -> NDArray[Any]:
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"The history has no column {name!r}; it has {', '.join(columns)}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        return self.keys() == other.keys() and all(_same(values, other[name]) for name, values in self.items())

    def __hash__(self) -> int:
        return hash(tuple(self._columns))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_rounds(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __repr__(self) -> str:
        return f"History of {self.n_rounds} rounds: {', '.join(self._columns)}"

    def to_frame(self) -> Any:
        """The history as a pandas frame, or a polars frame where pandas is not installed."""
        try:
            import pandas as frames
        except ImportError:
            try:
                import polars as frames
            except ImportError as error:
                raise ImportError(
                    "A frame needs pandas or polars: install one, or read the columns by name."
                ) from error
        return frames.DataFrame({name: values for column in self for name, values in self._flat(column)})

    def _flat(self, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
        """A column of a frame; one for each member where a round has a number for each."""
        values = self._columns[name]
        if values.ndim == 1:
            yield name, values
            return
        for k in range(values.shape[1]):
            yield f"{name}_{k}", values[:, k]


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal, nan to nan; only numbers can be nan."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
