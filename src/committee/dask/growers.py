"""Ensembles whose members depend on the rows and a seed alone, on a Dask cluster.

The table is brought together on one worker, with all that the members share (codes, the order of the rows), and copied
to the others. Members are tasks of it and of some seeds. They have no side effects, so Dask repeats by itself whatever
is lost with a worker, the table included. The driver takes the members in the order of their seeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config

from committee.base.array_types import Floats
from committee.base.rng import member_seeds
from committee.dask.predictions import LazyPredictions
from committee.dask.results import results_of
from committee.dask.tables import DaskTable, Partition, table_attributes
from committee.ensemble.grower import Grower
from committee.ensemble.incremental import BaseIncrementalEnsemble, GivenRows, TrainingData
from committee.tabular.schema import Columns, encode
from committee.tabular.validation import string_advice
from committee.tree_engine.memory_guard import GIB

MAX_MEMBERS = 8
"""Members of a task."""

TASKS_OF_THREAD = 4
"""Tasks of a thread, if they have fewer members."""

AHEAD = 2
"""Tasks of a thread that are asked for at a time: few wait beside one that a lost worker ran."""

FILLED = 0.6
"""Fraction of the memory of a worker that a table may fill: beyond, Dask moves data to disk."""

BYTES_OF_ROW = 100
"""Of target, weights and the order of the rows, and of what grows a tree."""

BYTES_OF_CODE = 4

Item = TypeVar("Item")


# --- the driver -------------------------------------------------------------------------------------------------------


class GrownOnCluster(LazyPredictions, BaseIncrementalEnsemble if TYPE_CHECKING else object):
    """Fits collections of Dask; to be mixed with an ensemble that has a `Grower`."""

    def _fit_collection(self, X: Any, y: Any, sample_weight: Any, given: GivenRows, client: Any) -> Self:
        self._validate_params()
        self._check_parameters()
        if self.warm_start:
            raise ValueError(
                "warm_start is not supported for collections of Dask: set warm_start=False, or pass a table in memory."
            )
        table = DaskTable(client, X, y, sample_weight)
        return self._fit(table, None, None, given, table)

    def _load(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        return load_rows(self, X) if isinstance(X, DaskTable) else super()._load(X, y, sample_weight)

    def _grower(self, data: TrainingData) -> Grower:
        if not isinstance(data.extra, DaskTable):
            return super()._grower(data)  # type: ignore[misc]
        # Fitted attributes of an earlier fit stay here, and workers have threads for several tasks, not for one
        model = self._reader(data.attributes).to_local().set_params(n_jobs=None)
        return ClusterGrower(data.extra, model, data._replace(extra=None))


def load_rows(model: Any, table: DaskTable) -> TrainingData:
    """The training data of a collection, without the cells."""
    categorical = model._categorical()
    weight = table.weights()
    classes, target = model._read_target(table.targets(), table.n_rows)
    columns = table.fit_columns(categorical, string_advice(model, categorical), weight)
    weight = np.ones(table.n_rows) if weight is None else weight
    seed, no_rows = int(member_seeds(model.random_state, 1)[0]), np.empty((0, columns.n_features))
    return TrainingData(columns, no_rows, target, weight, classes, seed, table_attributes(columns, classes))


class ClusterGrower:
    """`Grower` on the workers of a cluster."""

    def __init__(self, table: DaskTable, model: Any, data: TrainingData) -> None:
        self.client, self._name = table.client, f"{type(model).__name__}-{uuid4().hex}"
        parts = [
            self.client.submit(encode_part, part, data.columns, data.target[a:b], data.weight[a:b], pure=False)
            for part, a, b in zip(table.partitions, table.ends[:-1].tolist(), table.ends[1:].tolist(), strict=True)
        ]
        sizes = [self.client.submit(cells_of, part, pure=False) for part in parts]
        check_memory(self.client, table.n_rows, data.columns.n_features, sum(results_of(self.client, sizes)))
        rest = data._replace(target=data.target[:0], weight=data.weight[:0])
        self._grower = self.client.submit(make_grower, model, rest, get_config(), parts, key=f"{self._name}-table")
        shared = self.client.submit(shared_of, self._grower, pure=False)
        [(self.samples, self.fingerprint)] = results_of(self.client, [shared])
        table.release()  # what Dask needs again it makes again
        with suppress(Exception):  # of the scheduler, if a worker is lost meanwhile: tasks bring the table too
            self.client.replicate([self._grower])

    def grow(self, seeds: Sequence[int], **options: Any) -> Iterator[Any]:
        calls = [partial(grow_members, seeds=chunk, options=options) for chunk in self._chunks(seeds)]
        return self._in_order(calls)

    def replay(self, members: Sequence[Any], seeds: Sequence[int]) -> Iterator[Any]:
        pairs = self._chunks(list(zip(members, seeds, strict=True)))
        return self._in_order(partial(replay_members, pairs=chunk) for chunk in pairs)

    def _chunks(self, items: Sequence[Item]) -> Iterable[Sequence[Item]]:
        size = min(max(len(items) // (TASKS_OF_THREAD * self._n_threads()), 1), MAX_MEMBERS)
        return [items[first : first + size] for first in range(0, len(items), size)]

    def _n_threads(self) -> int:
        return max(sum(self.client.nthreads().values()), 1)

    def _in_order(self, calls: Iterable[Callable[[Any], list[Any]]]) -> Iterator[Any]:
        """The results of the calls, a few of which run ahead."""
        todo, running = iter(calls), deque[Any]()
        try:
            while True:
                for call in islice(todo, max(AHEAD * self._n_threads() - len(running), 0)):
                    running.append(self._submit(call))
                if not running:
                    return
                [results] = results_of(self.client, [running[0]])
                running.popleft()
                yield from results
        finally:
            self.client.cancel(list(running))

    def _submit(self, call: Callable[[Any], Any]) -> Any:
        # One name for all: of a large group Dask gives a worker only what its threads can run at once
        key = (f"{self._name}-members", uuid4().hex)
        return self.client.submit(call, self._grower, key=key, pure=False, fifo_timeout=0)


def check_memory(client: Any, n_rows: int, n_features: int, n_bytes: int) -> None:
    """Raise MemoryError if a table of `n_bytes` cells does not fit the smallest worker."""
    workers: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    limits = [each["memory_limit"] for each in workers.values() if each["memory_limit"]]
    # The cells in parts and together, their codes, and arrays of the rows
    needed = 2 * n_bytes + n_rows * (BYTES_OF_CODE * n_features + BYTES_OF_ROW)
    if limits and needed > FILLED * min(limits):
        raise MemoryError(
            f"A table of {n_rows} x {n_features} cells needs about {needed / GIB:.2f} GiB on every worker, and "
            f"{FILLED:.0%} of the memory_limit of the smallest one are {FILLED * min(limits) / GIB:.2f} GiB: give the "
            "workers more memory, or use committee.dask.GradientBoosting*, which fits tables in blocks. A smaller "
            "max_samples does not help: its samples are of all rows."
        )


# --- tasks ------------------------------------------------------------------------------------------------------------


class EncodedPart(NamedTuple):
    """Consecutive rows."""

    X: NDArray[np.floating]
    target: NDArray[Any]
    weight: Floats


def encode_part(part: Partition, columns: Columns, target: NDArray[Any], weight: Floats) -> EncodedPart:
    return EncodedPart(encode(columns, part.X), target, weight)


def cells_of(part: EncodedPart) -> int:
    return part.X.nbytes


def make_grower(model: Any, data: TrainingData, settings: Mapping[str, Any], parts: Sequence[EncodedPart]) -> Grower:
    """The grower of the parts together, with the scikit-learn settings of the client."""
    X, target, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    with config_context(**settings):
        model._check_table(X, data.columns)
        return model._grower(data._replace(X=X, target=target, weight=weight))


def shared_of(grower: Grower) -> tuple[Any, tuple[Any, ...]]:
    return grower.samples, grower.fingerprint


def grow_members(grower: Grower, seeds: Sequence[int], options: Mapping[str, Any]) -> list[Any]:
    return list(grower.grow(seeds, **options))


def replay_members(grower: Grower, pairs: Sequence[tuple[Any, int]]) -> list[Any]:
    members, seeds = zip(*pairs, strict=True)
    return list(grower.replay(members, seeds))
