"""Coding a table that does not fit in memory: bins from a sample of its rows, then codes, block by block.

    pass 0   target and weights alone: the number of rows, the classes
    pass 1   the categories of every column, and the rows from which `tree_engine.binning` computes the bins
    pass 2   the codes

Categories, bins and codes are those of the same table in memory, bit for bit: the sampled rows depend on their number
alone, and totals are summed row by row.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from committee.base.array_types import Floats
from committee.base.dtypes import MAX_BINS
from committee.base.progress import progress
from committee.blocks.coded_table import (
    BLOCK_ROWS,
    CODES,
    CodedTable,
    Header,
    write_header,
)
from committee.blocks.streams import FileIdentity, TableStream, open_stream
from committee.blocks.targets import Labels, write_labels
from committee.kernels.trees.histogram import TILE
from committee.records.binned import BinnedMatrix
from committee.tabular.schema import BatchedColumns, Columns, encode, open_table, reject_oversize
from committee.tabular.validation import read_targets_classification, read_targets_regression, string_advice
from committee.tree_engine.binning import bin_edges, code_rows, fit_bins, sample_positions
from committee.tree_engine.histograms import make_tiles

RowWeights = Callable[[Labels], Floats | None]
"""The weights by which rows count in the bins; None: all rows alike."""


class Coding(NamedTuple):
    """How a table is coded; `weight` names a column, `categorical` is as `categorical_features` of estimators."""

    target: str
    weight: str | None = None
    max_bins: int = MAX_BINS
    categorical: Any = "from_dtype"


def code_table_on_disk(
    source: Any,
    coding: Coding,
    *,
    estimator: Any,
    row_weights: RowWeights | None = None,
    directory: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CodedTable:
    """Write the codes of a table that does not fit in memory.

    Parameters
    ----------
    source : path, list of paths, LazyFrame, Dataset, or callable
        Parquet, CSV or Arrow files, directories or patterns of them, a polars LazyFrame, a pyarrow Dataset, or a
        function that returns an iterator of frames. It is read three times.
    coding : Coding
        Target, weights and options.
    estimator : classifier or regressor
        Decides how the target is read, and is named in errors.
    row_weights : callable, optional
        Computes the weights of the rows in the bins from target and sample weights; without it they are the latter.
    directory : path, optional
        Where to keep the codes. Codes of the same files and options that are there already are used again. Without it,
        they are removed with the table.
    n_jobs : int, optional
        Number of threads.
    verbose : int, default=0
        Whether to show the progress.

    Returns
    -------
    CodedTable
    """
    place = None if directory is None else Path(directory)
    options = {"estimator": "classifier" if is_classifier(estimator) else "regressor", **coding._asdict()}
    options["categorical"] = _plain(coding.categorical)
    stream = open_stream(source, verbose)
    if place is not None and is_used(place):
        return reuse(place, stream.identity, options, row_weights)
    source_files = stream.identity
    try:
        with new_directory(place) as folder:
            write_table(Job(stream, coding, estimator, folder, n_jobs, verbose), row_weights, options)
    except FileExistsError:  # another process was faster
        if place is None or source_files is None:
            raise
        return reuse(place, source_files, options, row_weights)
    return CodedTable(folder if place is None else place, is_temporary=place is None)


class Job(NamedTuple):
    """What the passes over a table share."""

    stream: TableStream
    coding: Coding
    estimator: Any
    folder: Path
    n_jobs: int | None
    verbose: int

    @property
    def special(self) -> list[str]:
        """The columns that are no features."""
        return [name for name in (self.coding.target, self.coding.weight) if name is not None]

    @property
    def features(self) -> list[str]:
        """The other columns."""
        return [name for name in self.stream.names if name not in self.special]


class Batch(NamedTuple):
    """Consecutive rows."""

    rows: slice
    frame: nw.DataFrame[Any]


def write_table(job: Job, row_weights: RowWeights | None, options: dict[str, Any]) -> None:
    """Write a coded table into the folder of the job."""
    source = job.stream.identity
    with naming_full_disk(job):
        labels = read_labels(job)
        row_weight = labels.weight if row_weights is None else row_weights(labels)
        columns, matrix = fit_table(job, labels, row_weight)
        write_codes(job, labels, columns, matrix)
    if job.stream.identity != source:
        reject_changed("the size or time of a file is another")
    origin = {"source": source, "options": options, "row_weight": digest(row_weight)}
    header = Header(labels.n_rows, columns, labels.classes, labels.weight is not None, origin)
    write_header(job.folder, header, matrix)


def batches_of(job: Job, columns: Sequence[str], label: str, n_rows: int | None) -> Iterator[Batch]:
    """The rows of a table, with the progress in blocks; `n_rows` is their number where it is known."""
    start = n_done = 0
    with progress(label, None if n_rows is None else -(-n_rows // BLOCK_ROWS), job.verbose) as tick:
        for frame in job.stream.batches(columns):
            if len(frame) == 0:
                continue
            batch = Batch(slice(start, start + len(frame)), frame)
            start = batch.rows.stop
            if n_rows is not None and start > n_rows:
                break
            yield batch
            for _ in range(n_done, start // BLOCK_ROWS):
                tick("")
            n_done = start // BLOCK_ROWS
    if n_rows is not None and start != n_rows:
        reject_changed(f"{n_rows} rows were expected, {'more' if start > n_rows else start} came")


def reject_changed(how: str) -> NoReturn:
    """Raise ValueError for a source that is not the same in every pass."""
    raise ValueError(
        f"The table changed while it was read: {how}. Fit again when nothing writes to it; write the result of a query "
        "without a fixed order of its rows to a Parquet file first."
    )


# --- pass 0 -----------------------------------------------------------------------------------------------------------


def read_labels(job: Job) -> Labels:
    """Read and check target and weights, and the size of the table."""
    coding, names = job.coding, job.stream.names
    if len(set(names)) < len(names):
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Column names of X must be unique, rename or drop columns: {doubled!r}")
    if coding.target == coding.weight:
        raise ValueError(f"{coding.target!r} cannot be both target and weight: name two columns.")
    for what, name in (("target", coding.target), ("weight", coding.weight)):
        if name is not None and name not in names:
            raise ValueError(f"The table has no column {name!r} for the {what}: it has {names[:20]}.")
    batches = batches_of(job, job.special, "Reading the target", job.stream.n_rows)
    frames = (batch.frame for batch in batches)
    labels = write_labels(frames, coding.target, coding.weight, is_classifier(job.estimator), job.folder)
    n_rows, n_features = 0 if labels is None else labels.n_rows, len(job.features)
    if labels is None or n_features == 0:  # scikit-learn's error
        open_table(np.empty((n_rows, n_features)), job.estimator)
    assert labels is not None
    reject_oversize(np.broadcast_to(np.uint8(0), (n_rows, n_features)))
    return labels


# --- pass 1 -----------------------------------------------------------------------------------------------------------


class SampledRows:
    """Collects the rows of the bins, some or all of those with positive weight."""

    def __init__(self, n_rows: int, n_features: int, weight: Floats | None) -> None:
        self._weight = weight
        n_counted = n_rows if weight is None else int(np.count_nonzero(weight > 0))
        chosen = sample_positions(n_counted)
        self._wanted = None if isinstance(chosen, slice) else chosen
        n_wanted = n_counted if self._wanted is None else self._wanted.size
        self.sample = np.empty((n_features, n_wanted))
        self.weight = None if weight is None else np.empty(n_wanted)
        self._n_seen = self._n_taken = 0

    def add(self, rows: slice, numbers: NDArray[np.floating]) -> None:
        """Take the wanted ones of the next rows."""
        n, weight = len(numbers), None if self._weight is None else self._weight[rows]
        counted = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        places = counted
        if self._wanted is not None:
            first, last = np.searchsorted(self._wanted, [self._n_seen, self._n_seen + counted.size])
            places = counted[self._wanted[first:last] - self._n_seen]
        taken = slice(self._n_taken, self._n_taken + places.size)
        self.sample[:, taken] = numbers[places].T
        if weight is not None and self.weight is not None:
            self.weight[taken] = weight[places]
        self._n_seen += counted.size
        self._n_taken = taken.stop


def fit_table(job: Job, labels: Labels, row_weight: Floats | None) -> tuple[Columns, BinnedMatrix]:
    """The columns of a table, and their bins."""
    coding, features = job.coding, job.features
    columns = BatchedColumns(coding.categorical, string_advice(job.estimator, coding.categorical))
    rows = SampledRows(labels.n_rows, len(features), row_weight)
    for batch in batches_of(job, features, "Reading the columns", labels.n_rows):
        numbers = columns.add(batch.frame, None if labels.weight is None else labels.weight[batch.rows])
        rows.add(batch.rows, numbers)
    known = columns.columns()
    n_codes = {f: known.n_codes(f) for f in np.flatnonzero(known.is_categorical).tolist()}
    return known, fit_bins(rows.sample, rows.weight, n_codes, coding.max_bins, job.n_jobs)


# --- pass 2 -----------------------------------------------------------------------------------------------------------


def write_codes(job: Job, labels: Labels, columns: Columns, matrix: BinnedMatrix) -> None:
    """Write the codes of all blocks."""
    names = [*job.features, *([] if job.stream.identity else job.special)]
    batches = batches_of(job, names, "Writing the codes", labels.n_rows)
    if job.stream.identity is None:
        batches = unchanged(batches, job, labels)
    with (job.folder / CODES).open("wb") as file:
        for codes in coded_blocks(batches, columns, matrix, labels.n_rows, job.n_jobs):
            file.write(make_tiles(codes).data)  # ndarray.tofile does not report a full disk


def unchanged(batches: Iterable[Batch], job: Job, labels: Labels) -> Iterator[Batch]:
    """The features of batches; their targets are compared with those of pass 0, as rows may come in another order."""
    for batch in batches:
        y, known = batch.frame[job.coding.target].to_native(), labels.target[batch.rows]
        if labels.classes is None:
            target = read_targets_regression(y, len(known))
        else:
            classes, codes = read_targets_classification(y, len(known))
            is_known = np.isin(classes, labels.classes)
            target = np.where(is_known, np.searchsorted(labels.classes, classes), -1)[codes]
        if not np.array_equal(target, known):
            reject_changed("rows came with other targets, or in another order")
        yield batch._replace(frame=batch.frame.select(job.features))


def coded_blocks(
    batches: Iterable[Batch], columns: Columns, matrix: BinnedMatrix, n_rows: int, n_jobs: int | None
) -> Iterator[NDArray[np.uint8]]:
    """The codes [d, rows] of every block."""
    edges, start = bin_edges(matrix), 0
    codes = np.empty((matrix.n_features, min(BLOCK_ROWS, n_rows)), np.uint8)
    for batch in batches:
        X, first = encode(columns, batch.frame), batch.rows.start - start
        for begin, end in pairwise([0, *range(codes.shape[1] - first, len(X), BLOCK_ROWS), len(X)]):
            code_rows(X[begin:end], matrix.n_bins, edges, first + begin, codes, n_jobs)
            if first + end == codes.shape[1]:
                yield codes
                start += codes.shape[1]
                codes, first = np.empty((matrix.n_features, min(BLOCK_ROWS, n_rows - start)), np.uint8), -end


# --- the directory ----------------------------------------------------------------------------------------------------


@contextmanager
def new_directory(place: Path | None) -> Generator[Path]:
    """A draft that becomes `place` at the end, or a temporary directory without a place.

    It is removed after an exception, Ctrl-C included.
    """
    if place is None:
        draft = Path(tempfile.mkdtemp(prefix="committee-"))
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.{secrets.token_hex(6)}")
        draft.mkdir()
    try:
        yield draft
        if place is not None:
            _publish(draft, place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _publish(draft: Path, place: Path) -> None:
    for path in draft.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    if is_used(place):
        raise FileExistsError(f"{place} was filled by another process: pass another directory.")
    if place.is_dir():
        place.rmdir()
    draft.rename(place)


@contextmanager
def naming_full_disk(job: Job) -> Generator[None]:
    """Raise OSError with the size of the codes if the disk has no room for them."""
    n_rows, free = job.stream.n_rows, shutil.disk_usage(job.folder).free
    width = -(-len(job.features) // TILE) * TILE + 8 * len(job.special)
    size = "" if n_rows is None else f", {n_rows * width / 1e9:.3g} GB for {n_rows} rows"
    message = (
        f"The coded table needs {width} bytes a row{size}; the disk of {job.folder.parent} had {free / 1e9:.3g} GB: "
        "pass a directory on another disk, or set TMPDIR."
    )
    if n_rows is not None and free < n_rows * width:
        raise OSError(errno.ENOSPC, message)
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OSError(errno.ENOSPC, message) from error


def is_used(place: Path) -> bool:
    """Whether a directory holds anything."""
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"{place} is a file: pass a directory for the codes.")
    return place.is_dir() and any(place.iterdir())


def reuse(
    place: Path, source: list[FileIdentity] | None, options: dict[str, Any], row_weights: RowWeights | None
) -> CodedTable:
    """Open the codes in a directory if they are those of this source and these options."""
    table = CodedTable.open(place)
    kept, advice = table.header.origin, "Delete the directory or pass another one."
    if kept["source"] is None or source is None:
        raise ValueError(
            f"{place} holds the codes of {'another' if kept['source'] else 'a'} table, and only files can be compared: "
            f"open them with CodedTable.open if they are of this table. {advice}"
        )
    then = [FileIdentity(*file) for file in kept["source"]]
    if [file.path for file in then] != [file.path for file in source]:
        raise ValueError(f"{place} holds the codes of other files, such as {then[0].path}. {advice}")
    changed = [now.path for now, before in zip(source, then, strict=True) if now != before]
    if changed:
        raise ValueError(f"{changed[0]} has changed since its codes were written to {place}. {advice}")
    other = [name for name, value in options.items() if kept["options"].get(name) != value]
    if other:
        was, wanted = kept["options"].get(other[0]), options[other[0]]
        raise ValueError(f"{place} holds codes with {other[0]}={was!r}, not {wanted!r}. {advice}")
    labels = Labels(table.n_rows, table.classes, table.target, table.weight)
    row_weight = labels.weight if row_weights is None else row_weights(labels)
    if digest(row_weight) != kept["row_weight"]:
        raise ValueError(f"The bins in {place} are those of other weights of rows or classes. {advice}")
    return table


def digest(weight: Floats | None) -> str | None:
    """A hash of weights."""
    return None if weight is None else blake2b(np.ascontiguousarray(weight).data, digest_size=16).hexdigest()


def _plain(categorical: Any) -> Any:
    """The parameter `categorical_features` as JSON stores it."""
    if categorical is None or isinstance(categorical, str):
        return categorical
    return [item.item() if isinstance(item, np.generic) else item for item in categorical]
