"""CSV files in batches: the types of the columns are inferred from all rows, as for a file that is read as a whole."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v2 as nw

from committee.base.progress import progress
from committee.tabular.text_files import MISSING, decoded, open_text, separator_of, text_blocks, without_blank_lines

BLOCK_BYTES = 2**23
"""Bytes of text that are parsed at a time."""

Type = Literal["empty", "boolean", "integer", "wide integer", "number", "text"]
"""The type of a column; empty ones have missing values only."""

NUMBERS: tuple[Type, ...] = ("integer", "wide integer", "number")
"""A column of two of these types has the later one."""


class CsvFile:
    """A CSV file with a header, perhaps compressed by gzip."""

    def __init__(self, path: Path, *, by_polars: bool, verbose: int = 0) -> None:
        self._path, self._by_polars = path, by_polars
        self.types: dict[str, Type] = {}
        n_rows = 0
        n_blocks = None if path.suffix.lower() == ".gz" else -(-path.stat().st_size // BLOCK_BYTES)
        with progress("Inferring types", n_blocks, verbose) as tick:
            for text in self._texts():
                n_rows += self._widen(text)
                tick("")
        if not self.types:
            raise ValueError(f"{path} is empty.")
        self.names, self.n_rows = list(self.types), n_rows

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """These columns of all rows."""
        types: dict[str, Type] = {name: self.types[name] for name in columns}
        return (self._parse(text, types) for text in self._texts())

    def _texts(self) -> Iterator[bytes]:
        with open_text(self._path) as stream:
            try:
                for text, _ in text_blocks(stream.read, BLOCK_BYTES):
                    yield without_blank_lines(decoded(text))
            except (EOFError, zlib.error) as error:
                raise ValueError(f"{self._path} cannot be read: {error}") from error

    def _widen(self, text: bytes) -> int:
        """Change types that do not fit a block; return its number of rows."""
        if self.types:
            try:
                frame = self._parse(text, self.types)
            except Exception:  # a cell of another type, or an error that is raised again below
                frame = None
            empty = [name for name, kind in self.types.items() if kind == "empty"]
            if frame is not None and all(frame[name].null_count() == len(frame) for name in empty):
                return len(frame)
        frame = self._parse(text, None)
        for name, series in zip(frame.columns, frame.iter_columns(), strict=True):
            self.types[name] = _wider(self.types.get(name, "empty"), _type_of(series))
        return len(frame)

    def _parse(self, text: bytes, types: Mapping[str, Type] | None) -> nw.DataFrame[Any]:
        """Parse the columns of these types; None: all columns, with inferred types."""
        frame = _parse_polars(text, types) if self._by_polars else _parse_arrow(text, types)
        return nw.from_native(frame, eager_only=True)


def share_types(files: Sequence[CsvFile]) -> None:
    """Give columns the same types in all files, empty ones that of numbers."""
    shared: dict[str, Type] = {}
    for file in files:
        for name, kind in file.types.items():
            shared[name] = _wider(shared.get(name, "empty"), kind)
    for file in files:
        file.types = {name: "number" if shared[name] == "empty" else shared[name] for name in file.types}


def _wider(a: Type, b: Type) -> Type:
    if a in NUMBERS and b in NUMBERS:
        return NUMBERS[max(NUMBERS.index(a), NUMBERS.index(b))]
    if "empty" in (a, b):
        return a if b == "empty" else b
    return a if a == b else "text"


def _type_of(series: Any) -> Type:
    dtype = series.dtype
    if series.null_count() == len(series):
        return "empty"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "wide integer" if dtype == nw.Int128 else "integer"
    return "number" if dtype.is_float() else "text"  # pyarrow infers dates, which polars leaves as text


def _parse_polars(text: bytes, types: Mapping[str, Type] | None) -> Any:
    import polars as pl

    dtypes: dict[Type, Any] = {
        "empty": pl.String, "boolean": pl.Boolean, "integer": pl.Int64, "wide integer": pl.Int128,
        "number": pl.Float64, "text": pl.String,
    }  # fmt: skip
    return pl.read_csv(
        io.BytesIO(text),
        separator=separator_of(text),
        null_values=list(MISSING),
        columns=None if types is None else list(types),
        schema_overrides=None if types is None else {name: dtypes[kind] for name, kind in types.items()},
        infer_schema=types is None,
        infer_schema_length=None,
    )


def _parse_arrow(text: bytes, types: Mapping[str, Type] | None) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    dtypes: dict[Type, Any] = {
        "empty": pa.string(), "boolean": pa.bool_(), "integer": pa.int64(), "wide integer": pa.float64(),
        "number": pa.float64(), "text": pa.string(),
    }  # fmt: skip
    options = csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True)
    if types is not None:
        options.column_types = {name: dtypes[kind] for name, kind in types.items()}
        options.include_columns = list(types)
    parsing = csv.ParseOptions(delimiter=separator_of(text), newlines_in_values=True)
    reading = csv.ReadOptions(block_size=len(text) + 1)
    return csv.read_csv(io.BytesIO(text), reading, parsing, options)
