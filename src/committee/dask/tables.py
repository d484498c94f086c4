"""Tables of Dask: an array or a data frame with its target, coded in blocks of rows on the workers.

Partitions stay on the workers. The driver gets the target and the weights (eight bytes a row each), the categories, and
the rows from which the bins are computed. The rows of the blocks do not depend on the partitions, and neither does the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from committee.base.array_types import Floats
from committee.blocks.steps import CHUNK
from committee.dask.results import results_of
from committee.dask.workers import check_workers
from committee.gradient_boosting.block_fit import BlockTable
from committee.records.binned import BinnedMatrix
from committee.tabular.schema import BatchedColumns, Columns, encode
from committee.tabular.validation import read_one_target, read_targets_classification, read_weights, string_advice
from committee.tree_engine.binning import code_table, fit_bins, sample_positions
from committee.tree_engine.histograms import make_tiles

MAX_BLOCK_ROWS = 2**18
BLOCKS_OF_WORKER = 4
"""Blocks of a worker, if they are smaller than MAX_BLOCK_ROWS: those of a lost one are shared by the others."""


class Partition(NamedTuple):
    """Consecutive rows."""

    X: Any
    y: Any
    weight: Any


class RowRange(NamedTuple):
    """Rows start : stop of one partition."""

    partition: int
    start: int
    stop: int


class DaskTable:
    """The partitions of a table with their targets, as futures on a cluster."""

    def __init__(self, client: Any, X: Any, y: Any, weight: Any) -> None:
        self.client = client
        parts = [partitions_of(X), partitions_of(y), [None] * len(partitions_of(X))]
        if weight is not None:
            parts[2] = partitions_of(weight)
        if len({len(each) for each in parts}) > 1:
            raise ValueError(
                f"X has {len(parts[0])} partitions, y {len(parts[1])}"
                + (f" and sample_weight {len(parts[2])}" if weight is not None else "")
                + ": give them the same partitions."
            )
        tasks = client.compute([_delayed(make_partition)(*each) for each in zip(*parts, strict=True)])
        self.partitions = [future for future in tasks]
        sizes = self._gather(partition_size)
        self.partitions = [future for future, n in zip(self.partitions, sizes, strict=True) if n]
        self.ends = np.concatenate([[0], np.cumsum([n for n in sizes if n])]).astype(np.int64)
        if not self.partitions:
            raise ValueError("Found array with 0 sample(s): all partitions of X are empty.")

    @property
    def n_rows(self) -> int:
        return int(self.ends[-1])

    def targets(self) -> NDArray[Any]:
        return np.concatenate(self._gather(target_of))

    def weights(self) -> Floats | None:
        parts = self._gather(weight_of)
        return None if parts[0] is None else read_weights(np.concatenate(parts), self.n_rows)

    def ranges(self, start: int, stop: int) -> list[RowRange]:
        """Where the rows start : stop of the table are."""
        first, last = np.searchsorted(self.ends, [start, stop - 1], side="right") - 1
        return [
            RowRange(p, max(start - int(self.ends[p]), 0), min(stop, int(self.ends[p + 1])) - int(self.ends[p]))
            for p in range(int(first), int(last) + 1)
        ]

    def fit_columns(self, categorical: Any, advice: str, weight: Floats | None) -> Columns:
        """Names and categories of the columns."""
        slices = [None if weight is None else weight[a:b] for a, b in pairwise(self.ends.tolist())]
        parts = self._gather(columns_of, [categorical] * len(slices), [advice] * len(slices), slices)
        columns = parts[0]
        for part in parts[1:]:
            columns.join(part)
        return columns.columns()

    def fit_bins(self, columns: Columns, weight: Floats | None, max_bins: int, n_jobs: int | None) -> BinnedMatrix:
        """The bins, from the same rows as of a table in memory; `weight` is that of the rows in the bins."""
        counted = np.arange(self.n_rows) if weight is None else np.flatnonzero(weight > 0.0)
        rows = counted[sample_positions(counted.size)]
        wanted = [rows[(rows >= a) & (rows < b)] - a for a, b in pairwise(self.ends.tolist())]
        sample = np.concatenate(self._gather(sample_of, [columns] * len(wanted), wanted), axis=1)
        n_codes = {f: columns.n_codes(f) for f in np.flatnonzero(columns.is_categorical).tolist()}
        return fit_bins(sample, None if weight is None else weight[rows], n_codes, max_bins, n_jobs)

    def blocks(self, columns: Columns, matrix: BinnedMatrix, n_workers: int) -> list[tuple[slice, Any]]:
        """The rows and the tiles, a future, of every block."""
        codes = self.client.map(codes_of, self.partitions, columns=columns, matrix=matrix, pure=False)
        rows = min(MAX_BLOCK_ROWS, -(-self.n_rows // (n_workers * BLOCKS_OF_WORKER * CHUNK)) * CHUNK)
        made = []
        for start in range(0, self.n_rows, rows):
            stop = min(start + rows, self.n_rows)
            ranges = self.ranges(start, stop)
            inputs = [codes[each.partition] for each in ranges]
            tiles = self.client.submit(join_codes, inputs, [each[1:] for each in ranges], pure=False)
            made.append((slice(start, stop), tiles))
        return made

    def release(self) -> None:
        """Give up the partitions; Dask makes them again if tasks that were made of them are lost."""
        self.partitions = []

    def _gather(self, function: Any, *arguments: Sequence[Any]) -> list[Any]:
        return results_of(self.client, self.client.map(function, self.partitions, *arguments, pure=False))


BinWeights = Callable[[Floats, Floats, NDArray[Any] | None], Floats | None]
"""The weights by which rows count in the bins, from target, sample weights and classes; None if they are equal."""


def read_table(table: DaskTable, model: Any, bin_weights: BinWeights) -> BlockTable:
    """Read target, weights, columns and bins of a table for a fit of `model`."""
    categorical = model.categorical_features
    given = table.weights()
    weight = np.ones(table.n_rows) if given is None else given
    y, classes = table.targets(), None
    if is_classifier(model):
        classes, codes = read_targets_classification(y, table.n_rows)
        target = codes.astype(np.float64)
    else:
        target = read_one_target(y, table.n_rows, type(model).__name__)
    columns = table.fit_columns(categorical, string_advice(model, categorical), given)
    matrix = table.fit_bins(columns, bin_weights(target, weight, classes), model.max_bins, None)
    return BlockTable(columns, matrix, target, weight, classes, table_attributes(columns, classes))


def table_attributes(columns: Columns, classes: NDArray[Any] | None) -> dict[str, Any]:
    """The fitted attributes that describe a table and its target."""
    attributes: dict[str, Any] = {"columns_": columns, "n_features_in_": columns.n_features}
    if columns.names is not None:
        attributes["feature_names_in_"] = np.array(columns.names, dtype=object)
    if classes is not None:
        attributes |= {"classes_": classes, "n_classes_": len(classes)}
    return attributes


def current_client(client: Any) -> Any:
    """The client that was passed, or the current one; raise an error if its workers cannot run the library."""
    if client is None:
        from distributed import get_client

        client = get_client()
    with suppress(OSError):  # of a worker that is lost at this moment
        check_workers(client)
    return client


def is_collection(X: Any) -> bool:
    """Whether X is an array or a data frame of Dask."""
    return hasattr(X, "dask") and hasattr(X, "to_delayed")


def partitions_of(X: Any) -> list[Any]:
    """The partitions of rows, each a delayed object."""
    if not is_collection(X):
        raise TypeError(f"Expected a collection of Dask, got {type(X).__name__}: use dask.array.from_array.")
    return np.asarray(_whole_rows(X).to_delayed(), object).ravel().tolist()


def computed(X: Any) -> Any:
    """A collection of Dask in memory; anything else as it is."""
    return X.compute() if is_collection(X) else X


def lazy_predictions(model: Any, method: str, X: Any, dtype: Any, n_columns: int = 1) -> Any:
    """The predictions of a collection, as lazy as it is."""
    from dask.delayed import delayed

    nothing = np.empty((0,) if n_columns == 1 else (0, n_columns), dtype)
    # One task for the model, which so is sent to each worker once
    whole = delayed(model, name=f"{type(model).__name__}-{uuid4().hex}", traverse=False)
    function = partial(_predict, method=method, nothing=nothing)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(function, model=whole, meta=nothing)
    rows = _whole_rows(X)
    if n_columns == 1:
        return rows.map_blocks(function, model=whole, drop_axis=1, dtype=dtype, meta=nothing)
    return rows.map_blocks(function, model=whole, chunks=(rows.chunks[0], (n_columns,)), dtype=dtype, meta=nothing)


def _predict(X: Any, model: Any, method: str, nothing: NDArray[Any]) -> NDArray[Any]:
    return getattr(model, method)(X) if len(X) else nothing


def _whole_rows(X: Any) -> Any:
    """An array without divided rows."""
    is_divided = hasattr(X, "numblocks") and X.ndim == 2 and X.numblocks[1] > 1
    return X.rechunk({1: -1}) if is_divided else X


def _delayed(function: Any) -> Any:
    from dask.delayed import delayed

    return delayed(function, pure=False)


# --- tasks ------------------------------------------------------------------------------------------------------------


def make_partition(X: Any, y: Any, weight: Any) -> Partition:
    lengths = {name: len(each) for name, each in (("X", X), ("y", y), ("sample_weight", weight)) if each is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{n} rows of {name}" for name, n in lengths.items())
        raise ValueError(f"A partition has {found}: give them the same partitions.")
    return Partition(X, y, weight)


def partition_size(part: Partition) -> int:
    return len(part.X)


def target_of(part: Partition) -> NDArray[Any]:
    return np.asarray(nw.from_native(part.y, allow_series=True, pass_through=True))


def weight_of(part: Partition) -> NDArray[Any] | None:
    return None if part.weight is None else np.asarray(part.weight, np.float64)


def columns_of(part: Partition, categorical: Any, advice: str, weight: Floats | None) -> BatchedColumns:
    columns = BatchedColumns(categorical, advice)
    columns.add(part.X, weight)
    return columns


def sample_of(part: Partition, columns: Columns, rows: NDArray[np.int64]) -> Floats:
    return np.ascontiguousarray(encode(columns, part.X)[rows].T, np.float64)


def codes_of(part: Partition, columns: Columns, matrix: BinnedMatrix) -> NDArray[np.uint8]:
    return code_table(encode(columns, part.X), matrix, None)


def join_codes(codes: Sequence[NDArray[np.uint8]], ranges: Sequence[tuple[int, int]]) -> NDArray[np.uint8]:
    """The tiles of a block, from the codes of partitions."""
    parts = [each[:, a:b] for each, (a, b) in zip(codes, ranges, strict=True)]
    return make_tiles(np.ascontiguousarray(np.concatenate(parts, axis=1)))
