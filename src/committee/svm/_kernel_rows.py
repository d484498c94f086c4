"""A cache of rows of the Gram matrix of a training table, computed in tiles.

A tile is one matrix product and one pass over it, both inside the processor's cache. Rows are float32, float64 if the
table is small; the least recently used row leaves first. Several problems over the same rows (along C, one class
against the rest) share one object.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.threads import n_threads, run
from committee.svm.kernel_algebra import Kernel, Points
from committee.svm.kernel_functions import GramFunction, RowFunction, require_finite

Array = NDArray[Any]
Rows = NDArray[np.int64]

MAX_EXACT = 2000
"""Maximum number of rows of tables whose kernel values are float64."""

MEGABYTE = 2**20

MIN_CAPACITY = 16
"""Minimum number of cached rows: the solver works on a few pairs."""

TILE_ROWS, TILE_COLUMNS, LANES = 128, 1024, 16
"""Half a megabyte of float32: a tile stays in the second-level cache. Fewer rows make wider tiles, of full vectors.
Tiles, and so the results, do not depend on threads."""

PAD = 16
"""Numbers after each row of a block: rows at distances of a power of two would share few places in the first-level
cache."""

PIECE = 1024
"""Number of columns that `add` sums at a time."""

MAX_SINGLE = 1e15
"""Larger kernel values are stored in float64: sums of squares of float32 would overflow."""

SPARE = 200 * MEGABYTE
"""Maximum memory that is kept for the next problem (a cache of default size): the first access to fresh memory costs as
much as filling it."""

_local = threading.local()
_lock = threading.Lock()
_spare: list[NDArray[np.uint8]] = []


class KernelRows:
    """Rows k(x_i, .) of a training table under a settled kernel."""

    def __init__(
        self, kernel: Kernel, X: Floats, *, cache_size: float = 200.0, n_jobs: int | None = None,
        place: Rows | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.cache_size, self.n_jobs, self._is_guest = kernel, cache_size, n_jobs, False
        self.exact_points = kernel.points(X, np.float64, place)
        self.n = self.exact_points.n
        with np.errstate(over="ignore", invalid="ignore"):  # raises in the next line
            self.diagonal = kernel.diagonal(self.exact_points)
        require_finite(self.diagonal)
        is_small = self.n <= MAX_EXACT
        is_large = not np.abs(self.diagonal).max() < MAX_SINGLE
        self.dtype: type[np.float32] | type[np.float64] = np.float64 if is_small or is_large else np.float32
        self.points = self.exact_points
        if self.dtype == np.float32:
            single = kernel.points(X, np.float32, place)
            self.points = self.exact_points if kernel.is_far_apart(single) else single
        self._clear()

    @property
    def is_exact(self) -> bool:
        """Whether the rows are float64."""
        return self.dtype == np.float64

    def _clear(self) -> None:
        size = np.dtype(self.dtype).itemsize
        capacity = min(self.n, max(MIN_CAPACITY, int(self.cache_size * MEGABYTE / (size * self.n))))
        self._memory = _take_memory(capacity * self.n * size)
        self._lay_out(capacity)

    def _lay_out(self, capacity: int) -> None:
        """Divide the memory into `capacity` empty rows."""
        used = self._memory[: capacity * self.n * np.dtype(self.dtype).itemsize]
        self.capacity = capacity
        self._cache: Array = used.view(self.dtype).reshape(capacity, self.n)
        self._slot = np.full(self.n, -1, np.int64)  # of each row, -1 if it is not cached
        self._row = np.full(capacity, -1, np.int64)  # in each slot
        self._stamp = np.zeros(capacity, np.int64)
        self._mark = np.empty(self.n, np.int64)
        self._clock = self._n_used = self.n_computed = 0

    def __del__(self) -> None:
        if hasattr(self, "_memory") and not self._is_guest:
            _give_back(self._memory)

    def subset(self, rows: Rows) -> KernelRows:
        """The Gram matrix of some of the rows; kernel values are copied if all are cached."""
        part = self._part(rows)
        if self.points is not self.exact_points:
            part.exact_points = self.exact_points.take(rows)
        part._clear()
        if self.is_exact and self.capacity == self.n:
            slots = self.fetch(np.arange(self.n))
            part._cache[:] = self._cache[slots[rows]][:, rows]
            part._slot[:] = part._row[:] = np.arange(part.n)
            part._n_used = part.n
        return part

    def _part(self, rows: Rows) -> KernelRows:
        part = KernelRows.__new__(KernelRows)
        part.kernel, part.cache_size, part.n_jobs, part.dtype = self.kernel, self.cache_size, self.n_jobs, self.dtype
        part.points = part.exact_points = self.points.take(rows)
        part.n, part.diagonal, part._is_guest = len(rows), self.diagonal[rows], False
        return part

    @contextmanager
    def narrowed(self, rows: Rows) -> Generator[KernelRows]:
        """The Gram matrix of some of the rows, in the memory of all rows, whose cache is empty afterwards.

        It has no float64 sums.
        """
        part = self._part(rows)
        part._memory, part._is_guest = self._memory, True
        part._lay_out(min(part.n, self._cache.nbytes // (self._cache.itemsize * part.n)))
        part._move_in(self, rows)
        try:
            yield part
        finally:
            self._lay_out(self.capacity)

    def _move_in(self, whole: KernelRows, rows: Rows) -> None:
        """Copy the cached rows of `whole`, which are in the same memory, but never before their new place: this must go
        from the first slot to the last."""
        here = np.flatnonzero(whole._slot[rows] >= 0)
        here = here[np.argsort(whole._slot[rows[here]])]
        slots = whole._slot[rows[here]]
        for new, old in enumerate(slots):
            self._cache[new] = whole._cache[old, rows]
        n = self._n_used = here.size
        self._row[:n], self._slot[here] = here, np.arange(n)
        self._stamp[:n], self._clock = whole._stamp[slots], whole._clock

    # --- the cache ----------------------------------------------------------------------------------------------------

    def fetch(self, rows: Rows) -> Rows:
        """Slots of some rows, at most `capacity` different ones; computes rows that are not cached."""
        self._clock += 1
        slots = self._slot[rows]
        is_here = slots >= 0
        self._stamp[slots[is_here]] = self._clock
        if is_here.all():
            return slots
        missing = rows[~is_here]
        if not self._are_distinct(missing):
            missing = np.unique(missing)
        free = self._oldest(len(missing))
        dropped = self._row[free]
        self._slot[dropped[dropped >= 0]] = -1
        self._row[free] = -1
        self._compute(missing, free)
        self._row[free], self._slot[missing], self._stamp[free] = missing, free, self._clock
        return self._slot[rows]

    def _are_distinct(self, rows: Rows) -> bool:
        """Whether no row occurs twice: mark each with its position, the last mark stays."""
        order = np.arange(len(rows))
        self._mark[rows] = order
        return bool((self._mark[rows] == order).all())

    def _oldest(self, n: int) -> Rows:
        """Slots for n new rows: empty ones, or the least recently used ones."""
        if self._n_used + n <= self.capacity:
            self._n_used += n
            return np.arange(self._n_used - n, self._n_used)
        self._n_used = self.capacity
        if n >= self.capacity:
            return np.arange(self.capacity)
        return np.sort(np.argpartition(self._stamp, n - 1)[:n])

    def _compute(self, rows: Rows, slots: Rows) -> None:
        starts = range(0, len(rows), TILE_ROWS)
        lefts = [(self.points.take(rows[start : start + TILE_ROWS]), slots[start : start + TILE_ROWS])
                 for start in starts]  # fmt: skip
        width = _tile_width(min(len(rows), TILE_ROWS), self.n)
        calls = [(lefts, self.points.take(slice(start, start + width)), start) for start in range(0, self.n, width)]
        self._run(self._compute_columns, calls, len(rows) * self.n * 8)
        if not self.kernel.is_psd:  # others are at most as large as the largest k(x, x)
            require_finite(self._cache[slots])
        self._cache[slots, rows] = self.diagonal[rows]  # where the rounding of a distance is largest
        self.n_computed += len(rows)

    def _compute_columns(self, lefts: list[tuple[Points, Rows]], right: Points, start: int) -> None:
        for left, slots in lefts:
            block = _workspace(left.n, right.n, left.values.dtype)
            self.kernel.fill_rows(left, right, block, self._cache, slots, start)

    def _run(self, function: Any, calls: list[tuple[Any, ...]], work: int) -> None:
        with one_blas_thread():
            run(function, calls, n_threads(self.n_jobs, work))

    # --- for the solver -----------------------------------------------------------------------------------------------

    def block(self, rows: Rows) -> Array:
        """The Gram matrix of some rows; valid until the next call but one in this thread."""
        return self.wide_block(rows, np.empty((0, 0), self.dtype))[:, : len(rows)]

    def wide_block(self, rows: Rows, known: Array) -> Array:
        """The Gram matrix [q, q + PAD] of some rows; that of the first ones may be known.

        It is valid until the next call but one in this thread.
        """
        q, h = len(rows), len(known)
        _local.turn = 1 - getattr(_local, "turn", 0)  # not the memory of the block before, which may be `known`
        wide = _workspace(q, q + PAD, np.dtype(self.dtype), f"block {_local.turn}")
        if self.is_exact or isinstance(self.kernel, GramFunction | RowFunction):
            slots = self.fetch(rows)
            wide[:, :q] = self._cache[slots[:, np.newaxis], rows]
            return wide
        new, both = self.points.take(rows[h:]), self.points.take(rows)
        block = _workspace(new.n, q, self.points.values.dtype)
        with one_blas_thread():
            self.kernel.fill_rows(new, both, block, wide, np.arange(h, q), 0)
        if not self.kernel.is_psd:
            require_finite(wide[h:, :q])
        wide[:h, :h] = known
        wide[:h, h:q] = wide[h:, :h].T
        return wide

    def add_sums(self, total: Floats, rows: Rows, coef: Floats) -> None:
        """total += sum_k coef_k k(x_k, .) over any number of rows, in place."""
        for start in range(0, len(rows), self.capacity):
            some = slice(start, start + self.capacity)
            self.add(total, self.fetch(rows[some]), coef[some])

    def add(self, total: Floats, slots: Rows, coef: Floats) -> None:
        """total += sum coef_k row_k over slots, in place."""
        from committee.kernels.svm.smo import add_rows

        single = coef.astype(self.dtype)
        threads = n_threads(self.n_jobs, len(slots) * self.n)
        step = max(PIECE, -(-self.n // (PIECE * threads)) * PIECE)
        calls = [
            (total, self._cache, slots, single, start, min(start + step, self.n), np.empty(PIECE, self.dtype))
            for start in range(0, self.n, step)
        ]  # fmt: skip
        run(add_rows, calls, threads)

    def exact_sums(self, rows: Rows, others: Rows, coef: Floats, in_single: bool = False) -> Floats:
        """sum_k coef_k k(x_row, x_k) over `others` in float64; of float64 kernel values unless `in_single`."""
        points = self.points if in_single else self.exact_points
        pieces = [slice(start, start + TILE_COLUMNS) for start in range(0, len(others), TILE_COLUMNS)]
        rights = [(points.take(others[piece]), coef[piece]) for piece in pieces]
        result = np.zeros(len(rows))
        calls = [(points, rows[start : start + TILE_ROWS], rights, result[start : start + TILE_ROWS])
                 for start in range(0, len(rows), TILE_ROWS)]  # fmt: skip
        self._run(self._exact_tile, calls, len(rows) * len(others) * 16)
        return result

    def _exact_tile(self, points: Points, rows: Rows, rights: list[tuple[Points, Floats]], out: Floats) -> None:
        left = points.take(rows)
        for right, coef in rights:
            block = _workspace(left.n, right.n, points.values.dtype)
            self.kernel.fill(left, right, block)
            out += block.astype(np.float64, copy=False) @ coef


def _tile_width(n_rows: int, n: int) -> int:
    """Number of columns of the tiles of `n_rows` rows, all about equally wide."""
    n_tiles = -(-n_rows * n // (TILE_ROWS * TILE_COLUMNS))
    return -(-n // (n_tiles * LANES)) * LANES


def _take_memory(n_bytes: int) -> NDArray[np.uint8]:
    """Memory of at least this size: that of the last problem, or fresh memory."""
    with _lock:
        if _spare and _spare[0].size >= n_bytes:
            return _spare.pop()
    return np.empty(n_bytes, np.uint8)


def _give_back(memory: NDArray[np.uint8]) -> None:
    with _lock:
        if memory.size <= SPARE and (not _spare or _spare[0].size < memory.size):
            _spare[:] = [memory]


def _workspace(n_rows: int, n_columns: int, dtype: np.dtype[Any], name: str = "tile") -> Array:
    """A workspace, one per thread, name and dtype: the first access to fresh memory costs as much as filling it."""
    key = name + dtype.str
    result = _local.__dict__.get(key)
    if result is None or result.size < n_rows * n_columns:
        result = _local.__dict__[key] = np.empty(max(TILE_ROWS * TILE_COLUMNS, n_rows * n_columns), dtype)
    return result[: n_rows * n_columns].reshape(n_rows, n_columns)
