"""Tables that are read as batches of rows, in order, several times, with bounded memory.

Parquet and Arrow files are read by pyarrow, or by polars where there is no pyarrow; CSV files by polars, or by pyarrow
where there is no polars.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw

from committee.blocks.csv_file import CsvFile, share_types
from committee.blocks.file_errors import naming_file
from committee.tabular.text_files import ENDINGS, kind_of

BATCH_CELLS = 2**21
"""Cells of a batch: 16 MB of numbers."""

MAX_BATCH_ROWS, MIN_BATCH_ROWS = 2**16, 2**10

READ_BYTES = 2**20
"""Bytes of a column of a Parquet file that are read at a time."""

ARROW_FILE = b"ARROW1"
"""First bytes of Arrow's file format; the streaming format has none."""

KINDS = "Parquet, CSV or Arrow files, a directory of them, a polars LazyFrame or a pyarrow Dataset"


class FileIdentity(NamedTuple):
    """What shows that a file has changed."""

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
        """The files as they are now; None for a table that cannot be recognized again."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """These columns of all rows; batches may be empty."""
        ...


class TableFile(Protocol):
    """One file of a table."""

    names: list[str]

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if only reading them all tells."""
        ...

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """These columns of all rows."""
        ...


def open_stream(source: Any, verbose: int = 0) -> TableStream:
    """The batches of paths, a lazy table, a frame in memory, or of a function that returns an iterator of frames."""
    if isinstance(source, str | os.PathLike):
        return TableFiles(find_files(source), verbose)
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | os.PathLike) for each in source):
        return TableFiles([path for each in source for path in find_files(each)], verbose)
    frame: Any = nw.from_native(source, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        return LazyTable(source)
    if isinstance(frame, nw.DataFrame):
        return FramesOf(lambda: iter([source]))
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(source, datasets.Dataset):
        return DatasetTable(source)
    if callable(source):
        function: Any = source
        return FramesOf(function)
    raise TypeError(
        f"A table of type {type(source).__name__} cannot be read in batches: pass {KINDS}, or a function that returns "
        "an iterator of frames."
    )


def batch_rows(n_columns: int) -> int:
    """Rows of a batch, fewer of wide tables."""
    return max(MIN_BATCH_ROWS, min(BATCH_CELLS // max(n_columns, 1), MAX_BATCH_ROWS))


def is_installed(library: str) -> bool:
    """Whether pyarrow or polars can be imported."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # an import hook that bars it
        return False


# --- files ------------------------------------------------------------------------------------------------------------


def find_files(path: str | os.PathLike[str]) -> list[Path]:
    """The file, the files in a directory, or those that match a pattern, in the order of their names."""
    text = os.fspath(path)
    if os.path.isdir(text):
        return _files_in(Path(text))
    if os.path.exists(text):
        return [Path(text)]
    matches = sorted(Path(match) for match in glob.glob(text, recursive=True) if os.path.isfile(match))
    if not matches:
        raise FileNotFoundError(f"File not found: {text}. Pass {KINDS}.")
    return matches


def _files_in(folder: Path) -> list[Path]:
    inside = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.suffix.lower() in ENDINGS]
    inside = [path for path in inside if not any(part.startswith((".", "_")) for part in path.parts)]
    if any("=" in part for path in inside for part in path.parts[:-1]):
        raise ValueError(
            f"{folder} is divided by the values of columns ({inside[0]}): pass pyarrow.dataset.dataset(folder, "
            "partitioning='hive') or polars.scan_parquet(folder, hive_partitioning=True)."
        )
    if not inside:
        raise FileNotFoundError(f"No Parquet, CSV or Arrow files in {folder}.")
    return [folder / path for path in inside]


class TableFiles:
    """Files with the same columns, one after another."""

    def __init__(self, paths: list[Path], verbose: int = 0) -> None:
        self._paths = paths
        self._files = [_open_file(path, verbose) for path in paths]
        share_types([file for file in self._files if isinstance(file, CsvFile)])
        self.names = self._files[0].names
        for path, file in zip(paths, self._files, strict=True):
            if set(file.names) != set(self.names):
                other = sorted(set(file.names) ^ set(self.names))
                raise ValueError(
                    f"The files have different columns: {other[:5]} are in only one of {paths[0]} and {path}."
                )
        counts = [file.n_rows for file in self._files]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)

    @property
    def identity(self) -> list[FileIdentity]:
        """Path, size and time of the last change of every file."""
        stats = [(path, path.stat()) for path in self._paths]
        return [FileIdentity(str(path.absolute()), stat.st_size, stat.st_mtime_ns) for path, stat in stats]

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """These columns of all files."""
        for path, file in zip(self._paths, self._files, strict=True):
            with naming_file(path):
                for frame in file.batches(columns):
                    yield frame.select(list(columns))


def _open_file(path: Path, verbose: int) -> TableFile:
    kind = kind_of(str(path))
    has_pyarrow, has_polars = is_installed("pyarrow"), is_installed("polars")
    if not (has_pyarrow or has_polars):
        raise ImportError("Files are read by pyarrow or polars: pip install pyarrow, or pip install committee[app].")
    with naming_file(path):
        if kind == "csv":
            return CsvFile(path, by_polars=has_polars, verbose=verbose)
        if kind == "ndjson":
            raise ValueError(f"{path} holds JSON, which cannot be read in batches: write it to a Parquet file.")
        if not has_pyarrow:
            return PolarsFile(path, kind)
        return ParquetFile(path) if kind == "parquet" else ArrowFile(path)


class ParquetFile:
    """A Parquet file, read by pyarrow."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        with pq.ParquetFile(path) as file:
            self.names: list[str] = file.schema_arrow.names
            self.n_rows = int(file.metadata.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Row groups, which may be as large as the file, are decoded in parts."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._path, pre_buffer=False, buffer_size=READ_BYTES) as file:
            yield from map(_frame, file.iter_batches(batch_rows(len(columns)), columns=list(columns)))


class ArrowFile:
    """A file of Arrow's file format or streaming format, read by pyarrow."""

    n_rows = None

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self._is_stream = file.read(len(ARROW_FILE)) != ARROW_FILE
        with self._map() as source:
            self.names: list[str] = self._read(source, None).schema.names

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """The batches of the file, which are as large as they were written."""
        places = [self.names.index(name) for name in columns]
        with self._map() as source:
            reader = self._read(source, sorted(places))
            read: Iterable[Any] = reader
            if not self._is_stream:
                read = (reader.get_batch(i) for i in range(reader.num_record_batches))
            for batch in read:
                yield from slices(_frame(batch))

    def _map(self) -> Any:
        import pyarrow as pa

        with suppress(OSError):  # an address space may be limited to less than the file
            return pa.memory_map(str(self._path))
        return pa.OSFile(str(self._path))

    def _read(self, source: Any, places: list[int] | None) -> Any:
        import pyarrow as pa

        options = pa.ipc.IpcReadOptions(included_fields=places)
        return (pa.ipc.open_stream if self._is_stream else pa.ipc.open_file)(source, options=options)


class PolarsFile:
    """A Parquet or Arrow file, read by polars: in slices, as its streams hold hundreds of megabytes in memory."""

    def __init__(self, path: Path, kind: str) -> None:
        import polars as pl

        self._scan = pl.scan_parquet(path) if kind == "parquet" else pl.scan_ipc(path)
        self.names = self._scan.collect_schema().names()
        self.n_rows = int(self._scan.select(pl.len()).collect().item())

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Slices of the file."""
        scan = self._scan.select(list(columns))
        return _slices_of_scan(scan, batch_rows(len(columns)))


def _slices_of_scan(scan: Any, n_rows: int) -> Iterator[nw.DataFrame[Any]]:
    start = 0
    while True:
        frame = scan.slice(start, n_rows).collect()
        yield nw.from_native(frame, eager_only=True)
        start += frame.height
        if frame.height < n_rows:
            return


# --- other sources ----------------------------------------------------------------------------------------------------


class LazyTable:
    """A polars LazyFrame."""

    n_rows = identity = None

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names: list[str] = frame.collect_schema().names()

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Batches of the streaming engine; before polars 1.34 slices, for each of which the query runs again."""
        frame, n_rows = self._frame.select(list(columns)), batch_rows(len(columns))
        if not hasattr(frame, "collect_batches"):
            return _slices_of_scan(frame, n_rows)
        batches = frame.collect_batches(chunk_size=n_rows, maintain_order=True, engine="streaming")
        return (piece for batch in batches for piece in slices(_frame(batch)))


class DatasetTable:
    """A pyarrow Dataset."""

    n_rows = identity = None

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.names: list[str] = dataset.schema.names

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Batches with little read ahead; pyarrow keeps one row group of a Parquet file in memory."""
        import pyarrow.dataset as ds

        options: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}
        if isinstance(getattr(self._dataset, "format", None), ds.ParquetFileFormat):
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=READ_BYTES, pre_buffer=False
            )
        n_rows = batch_rows(len(columns))
        yield from map(_frame, self._dataset.to_batches(columns=list(columns), batch_size=n_rows, **options))


class FramesOf:
    """What a function returns: an iterator of frames or Arrow record batches, a new one at every call."""

    n_rows = identity = None

    def __init__(self, frames: Callable[[], Iterable[Any]]) -> None:
        self._frames = frames
        first = next(iter(frames()), None)
        if first is None:
            raise ValueError("The function gives no batches: return at least one frame.")
        self.names: list[str] = _frame(first).columns

    def batches(self, columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
        """Slices of the frames."""
        for batch in self._frames():
            frame = _frame(batch)
            if frame.columns != self.names:
                raise ValueError(f"A batch has the columns {frame.columns[:20]}, the first one has {self.names[:20]}.")
            yield from slices(frame.select(list(columns)))


def slices(frame: nw.DataFrame[Any]) -> Iterator[nw.DataFrame[Any]]:
    """Parts of a frame of the size of a batch."""
    n_rows, step = len(frame), batch_rows(len(frame.columns))
    for start in range(0, max(n_rows, 1), step):
        yield frame[start : start + step]


def _frame(batch: Any) -> nw.DataFrame[Any]:
    if type(batch).__name__ == "RecordBatch":
        import pyarrow as pa

        batch = pa.Table.from_batches([batch])
    return nw.from_native(batch, eager_only=True)
