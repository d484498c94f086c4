"""Training tables given by what they are read from: files, lazy tables and datasets, with columns by name."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from committee.blocks.streams import TableStream, open_stream

MEMORY_CELLS = 2**27
"""Rows times columns of the largest table that is read into memory as a whole: a gigabyte of numbers."""


class LoadedTable(NamedTuple):
    """A table in memory with its target and its weights, if there are any."""

    X: Any
    y: Any
    sample_weight: Any


def is_source(X: Any) -> bool:
    """Whether X says where a table is, in place of one: a path, paths, a lazy table, a dataset, or a function."""
    if isinstance(X, str | os.PathLike) or callable(X) or (hasattr(X, "to_batches") and hasattr(X, "scanner")):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(each, str | os.PathLike) for each in X)
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def fits_memory(source: Any) -> bool:
    """Whether the table is small enough to be read as a whole."""
    stream = open_stream(source)
    n_rows = stream.n_rows
    if n_rows is None:
        n_rows = sum(len(batch) for batch in stream.batches(stream.names[:1]))
    return n_rows * len(stream.names) <= MEMORY_CELLS


def load_table(source: Any, target: str, weight: str | None) -> LoadedTable:
    """Read a table as a whole and divide its columns."""
    stream = open_stream(source)
    for what, name in (("target", target), ("weight", weight)):
        if name is not None and name not in stream.names:
            raise ValueError(f"The table has no column {name!r} for the {what}: it has {stream.names[:20]}.")
    frame = nw.concat(_batches(stream))
    special = [name for name in (target, weight) if name is not None]
    X, y = frame.drop(*special).to_native(), frame[target].to_native()
    return LoadedTable(X, y, None if weight is None else frame[weight].to_native())


def _batches(stream: TableStream) -> list[nw.DataFrame[Any]]:
    batches = list(stream.batches(stream.names))
    return [batch for batch in batches if len(batch)] or batches[:1]
