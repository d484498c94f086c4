"""Tables that are read as batches of rows, in order, with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw

BATCH_CELLS = 2**21
"""Cells of a batch: 16 MB of numbers."""

READ_BYTES = 2**20
"""Bytes of a column of a Parquet file that are read at a time."""


class FileIdentity(NamedTuple):
    """By what a changed file is noticed."""

    path: str
    size: int
    mtime_ns: int


class TableStream(Protocol):
    """A table that can be read several times, batch by batch."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        ...

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them all tells."""
        ...

    @property
    def identity(self) -> list[FileIdentity] | None:
        """The files; None for a table that cannot be recognized again."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """These columns of all rows; batches may be empty."""
        ...


def open_stream(source: Any) -> TableStream:
    """A stream of a path or a list of paths of Parquet files."""
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    return ParquetFiles([Path(path) for path in paths])


class ParquetFiles:
    """Parquet files with the same columns, one after another."""

    def __init__(self, paths: list[Path]) -> None:
        import pyarrow.parquet as pq

        self._paths = paths
        self.names: list[str] = pq.read_schema(paths[0]).names
        self.n_rows = sum(int(pq.read_metadata(path).num_rows) for path in paths)

    @property
    def identity(self) -> list[FileIdentity]:
        """Path, size and time of the last change of every file."""
        stats = [(path, path.stat()) for path in self._paths]
        return [FileIdentity(str(path.absolute()), stat.st_size, stat.st_mtime_ns) for path, stat in stats]

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Row groups are decoded in parts: they may be as large as the file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in self._paths:
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES) as file:
                for batch in file.iter_batches(batch_rows(len(columns)), columns=list(columns)):
                    yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)


def batch_rows(n_columns: int) -> int:
    """Rows of a batch, fewer of wide tables."""
    return max(1024, min(BATCH_CELLS // max(n_columns, 1), 2**17))
