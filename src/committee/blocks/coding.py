"""Coding a table that does not fit in memory: bins from a sample of its rows, then codes, block by block.

    pass 0   target and weights alone: the number of rows, the classes
    pass 1   the categories of every column, and the rows from which `tree_engine.binning` computes the bins
    pass 2   the codes

Categories, bins and codes are those of the same table in memory, bit for bit: the sampled rows depend on their number
alone, and totals are summed row by row.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

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
from committee.blocks.streams import TableStream, open_stream
from committee.blocks.targets import Labels, write_labels
from committee.records.binned import BinnedMatrix
from committee.tabular.schema import BatchedColumns, Columns, encode, open_table, reject_oversize
from committee.tabular.validation import string_advice
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
    source : path, list of paths
        Parquet files.
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
    stream = open_stream(source)
    with _new_directory(directory) as folder:
        job = _Job(stream, coding, estimator, folder, n_jobs, verbose)
        labels = read_labels(job)
        header, matrix = write_codes(job, labels, labels.weight if row_weights is None else row_weights(labels))
        write_header(folder, header, matrix)
    return CodedTable(Path(folder if directory is None else directory), is_temporary=directory is None)


class _Job(NamedTuple):
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
        special = self.special
        return [name for name in self.stream.names if name not in special]


class Batch(NamedTuple):
    """Consecutive rows."""

    rows: slice
    frame: nw.DataFrame[Any]


def batches_of(job: _Job, columns: Sequence[str], label: str, n_rows: int | None) -> Iterator[Batch]:
    """The rows of a table, with its progress in blocks."""
    n_blocks = None if n_rows is None else -(-n_rows // BLOCK_ROWS)
    start = n_done = 0
    with progress(label, n_blocks, job.verbose) as tick:
        for frame in job.stream.batches(columns):
            if len(frame) == 0:
                continue
            yield Batch(slice(start, start + len(frame)), frame)
            start += len(frame)
            for _ in range(n_done, start // BLOCK_ROWS):
                tick("")
            n_done = start // BLOCK_ROWS


# --- pass 0 -----------------------------------------------------------------------------------------------------------


def read_labels(job: _Job) -> Labels:
    """Read and check target and weights, and the size of the table."""
    coding, names = job.coding, job.stream.names
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


def fit_table(job: _Job, labels: Labels, row_weight: Floats | None) -> tuple[Columns, BinnedMatrix]:
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


def write_codes(job: _Job, labels: Labels, row_weight: Floats | None) -> tuple[Header, BinnedMatrix]:
    """Write the codes of all blocks; return what else is to be written."""
    columns, matrix = fit_table(job, labels, row_weight)
    batches = batches_of(job, job.features, "Writing the codes", labels.n_rows)
    with (job.folder / CODES).open("wb") as file:
        for codes in coded_blocks(batches, columns, matrix, labels.n_rows, job.n_jobs):
            make_tiles(codes).tofile(file)
    return Header(labels.n_rows, columns, labels.classes, labels.weight is not None, {}), matrix


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


@contextmanager
def _new_directory(directory: str | os.PathLike[str] | None) -> Generator[Path]:
    """A directory that is removed if the block ends with an exception, Ctrl-C included."""
    draft = Path(tempfile.mkdtemp(prefix="committee-"))
    try:
        yield draft
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
