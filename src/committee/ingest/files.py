"""Read tables from files and streams, as a whole or in batches."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import narwhals.stable.v2 as nw
import polars as pl

from committee.tabular.text_files import (
    GZIP,
    MISSING,
    Kind,
    decoded,
    kind_of,
    open_text,
    separator_of,
    text_blocks,
    without_blank_lines,
)

STDIN = "-"

JSON = re.compile(rb"\s*(\{|\[\s*\{)")
"""An object, or an array of them."""

DUPLICATED = "_duplicated_"
"""Between the name of a column that repeats an earlier one and a number."""

HEAD_BYTES = 64
"""First bytes of a stream, from which its format is detected."""

BATCH_ROWS = 50_000
BATCH_BYTES = 2**23
"""Bytes of text that are read at a time."""


class TableError(ValueError):
    """Raised for a table that cannot be read or has no usable target or features."""


# --- a whole table ----------------------------------------------------------------------------------------------------


def as_frame(table: Any) -> pl.DataFrame:
    """A polars DataFrame of a path, "-" for stdin, or a DataFrame of another library."""
    if isinstance(table, (str, Path)):
        return read_frame(str(table))
    return table if isinstance(table, pl.DataFrame) else nw.from_native(table, eager_only=True).to_polars()


def read_frame(source: str) -> pl.DataFrame:
    """Read a CSV, Parquet, Arrow or JSON-lines file, or stdin for "-"; data types are inferred from all rows."""
    if source == STDIN:
        data = _reading_bytes(_unpacked_stdin(), "stdin")
        return _parse(data, _sniff_kind(data), "stdin")
    path = _existing(source)
    kind = kind_of(source)
    if kind == "parquet":
        return _reading(lambda: pl.read_parquet(path), source)
    if kind == "arrow":
        return _reading(lambda: _read_arrow(path.read_bytes()), source)
    return _parse(_bytes_of(path), kind, source)


def _parse(data: bytes, kind: Kind, shown: str) -> pl.DataFrame:
    if not data.strip():
        raise TableError(f"{shown} is empty.")
    if kind == "parquet":
        return _reading(lambda: pl.read_parquet(io.BytesIO(data)), shown)
    if kind == "arrow":
        return _reading(lambda: _read_arrow(data), shown)
    if kind == "ndjson":
        return _reading(lambda: _read_json(data), shown)
    return _reading(lambda: _read_csv(data, typed=True), shown)


def _read_json(data: bytes) -> pl.DataFrame:
    """One object per line, or one array of objects."""
    if data.lstrip()[:1] == b"[":
        return pl.read_json(io.BytesIO(data), infer_schema_length=None)
    return pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)


def _is_arrow_file(path: Path) -> bool:
    """Whether the file has Arrow's file format; the streaming format has no footer."""
    with path.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _read_arrow(data: bytes) -> pl.DataFrame:
    """Arrow's file format, or its streaming format."""
    if data[:6] == b"ARROW1":
        return pl.read_ipc(io.BytesIO(data))
    return pl.read_ipc_stream(io.BytesIO(data))


def _read_csv(data: bytes, *, typed: bool, lines_before: int = 0) -> pl.DataFrame:
    """Parse CSV text; dates stay text, so that batches are read like the whole table."""
    text = decoded(data)
    data = without_blank_lines(text)
    try:
        frame = pl.read_csv(
            io.BytesIO(data),
            separator=separator_of(data),
            null_values=list(MISSING),
            infer_schema=typed,
            infer_schema_length=None,
        )
    except pl.exceptions.PolarsError as error:
        raise ValueError(_fault(text, lines_before) or str(error)) from error
    return frame.rename({name: name.replace('""', '"') for name in frame.columns if '""' in name})


def _fault(data: bytes, lines_before: int) -> str:
    """The error in a CSV text that cannot be parsed, with its line; "" if none is found."""
    reader = csv.reader(
        io.StringIO(data.decode(), newline=""), delimiter=separator_of(data.lstrip(b"\r\n")), strict=True
    )
    n_cells, line = 0, 1
    try:
        for cells in reader:
            n_cells = n_cells or len(cells)
            if len(cells) > n_cells:
                return f"line {line + lines_before} has {len(cells)} cells, the header has {n_cells}"
            line = reader.line_num + 1
    except csv.Error:
        return f"a quote in line {line + lines_before} is not closed, or text follows where it is"
    return ""


def _reading(read: Any, shown: str) -> pl.DataFrame:
    try:
        frame = read()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        first = str(error).strip().split("\n")[0]
        raise TableError(f"{shown} cannot be read as a table: {first}") from error
    if frame.width == 0:
        raise TableError(f"{shown} has no columns.")
    frame.columns = _distinct_names([name.strip() for name in frame.columns])
    return frame


def _distinct_names(names: list[str]) -> list[str]:
    """Replace empty and repeated names, as polars does for CSV files."""
    result = list[str]()
    for place, name in enumerate(names, start=1):
        wanted = name or f"column {place}"
        taken = (other for number in range(len(names)) if (other := f"{wanted}{DUPLICATED}{number}") not in result)
        result.append(next(taken) if wanted in result else wanted)
    return result


def _existing(source: str) -> Path:
    path = Path(source)
    if path.is_dir():
        raise TableError(f"{source} is a directory: name a file in it.")
    if not path.exists():
        near = [other.name for other in path.parent.glob(f"{path.stem[:3]}*")][:3] if path.parent.is_dir() else []
        advice = f" Did you mean {' or '.join(near)}?" if near else ""
        raise TableError(f"File not found: {source}.{advice}")
    return path


def _bytes_of(path: Path) -> bytes:
    with open_text(path) as stream:
        return _reading_bytes(stream, str(path))


def _reading_bytes(stream: IO[bytes], shown: str, n_bytes: int = -1) -> bytes:
    try:
        return stream.read(n_bytes)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{shown} cannot be read: {error}") from error


def _unpacked_stdin() -> IO[bytes]:
    """Stdin, decompressed if its first bytes are those of gzip."""
    stream = sys.stdin.buffer
    if not isinstance(stream, io.BufferedReader):
        stream = io.BufferedReader(stream)  # pyright: ignore[reportArgumentType]
    is_packed = stream.peek(2)[:2] == GZIP
    return gzip.GzipFile(fileobj=stream) if is_packed else stream  # pyright: ignore[reportReturnType]


def _sniff_kind(data: bytes) -> Kind:
    if data[:4] == b"PAR1":
        return "parquet"
    if data[:6] == b"ARROW1" or data[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    return "ndjson" if JSON.match(data) else "csv"


# --- batch by batch ---------------------------------------------------------------------------------------------------


def iterate_frames(source: str, batch_rows: int = BATCH_ROWS, batch_bytes: int = BATCH_BYTES) -> Iterator[pl.DataFrame]:
    """Read a table in batches, without loading it as a whole; cells of text files are strings."""
    if source == STDIN:
        yield from _iterate_stream(_unpacked_stdin(), "stdin", batch_rows, batch_bytes)
        return
    path, kind = _existing(source), kind_of(source)
    if kind == "csv":
        with open_text(path) as stream:
            yield from _slices(_iterate_csv(stream, source, batch_bytes), batch_rows)
    elif kind == "ndjson" or (kind == "arrow" and not _is_arrow_file(path)):
        yield from read_frame(source).iter_slices(batch_rows)
    else:
        scan = pl.scan_parquet(path) if kind == "parquet" else pl.scan_ipc(path)
        yield from _iterate_scan(scan, source, batch_rows)


def _iterate_scan(scan: pl.LazyFrame, shown: str, batch_rows: int) -> Iterator[pl.DataFrame]:
    start = 0
    while True:
        frame = _reading(lambda at=start: scan.slice(at, batch_rows).collect(), shown)
        if frame.height == 0 and start > 0:
            return
        yield frame
        start += frame.height
        if frame.height < batch_rows:
            return


def _iterate_stream(stream: IO[bytes], shown: str, batch_rows: int, batch_bytes: int) -> Iterator[pl.DataFrame]:
    head = _reading_bytes(stream, shown, HEAD_BYTES)
    kind = _sniff_kind(head)
    if kind == "csv":
        yield from _slices(_iterate_csv(stream, shown, batch_bytes, head), batch_rows)
    else:  # these formats have a footer and cannot be read in batches
        yield from _parse(head + _reading_bytes(stream, shown), kind, shown).iter_slices(batch_rows)


def _slices(frames: Iterator[pl.DataFrame], batch_rows: int) -> Iterator[pl.DataFrame]:
    """Split frames; a frame without rows is kept for its header."""
    for frame in frames:
        yield from [frame] if frame.height <= batch_rows else frame.iter_slices(batch_rows)


def _iterate_csv(stream: IO[bytes], shown: str, batch_bytes: int, head: bytes = b"") -> Iterator[pl.DataFrame]:
    blocks = text_blocks(lambda n_bytes: _reading_bytes(stream, shown, n_bytes), batch_bytes, head)
    is_empty = True
    for text, n_lines in blocks:
        yield _reading(lambda text=text, at=n_lines: _read_csv(text, typed=False, lines_before=at), shown)
        is_empty = False
    if is_empty:
        raise TableError(f"{shown} is empty.")


# --- writing ----------------------------------------------------------------------------------------------------------


def require_writable(path: Path, is_folder: bool = False) -> None:
    """Raise an error early if a file or folder, which may not exist yet, cannot be written."""
    if not is_folder and (str(path) == STDIN or path.is_dir()):
        raise TableError(f"{str(path)!r} is not the name of a file: pass one with -o.")
    place = (path if is_folder else path.parent).absolute()
    while not place.exists():
        place = place.parent
    try:
        with tempfile.TemporaryDirectory(dir=place, prefix=".committee."):
            pass
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror}. Pass another path with -o.") from error
