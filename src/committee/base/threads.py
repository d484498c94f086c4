"""Our own thread pool over kernels that release the GIL.

Passing work to another thread costs 50 to 100 microseconds, so the number of threads follows the amount of work: small
data never pay for threads. Kernels sum integers or in fixed order, so the number changes no result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import ThreadingBackend

from committee.base.journal import suspended

WORK_PER_THREAD = 400_000
"""Cells (rows times features) below which a second thread costs more than it saves; about one millisecond."""

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # not on Windows, where processes do not fork
    os.register_at_fork(after_in_child=_pools.clear)

Result = TypeVar("Result")


def n_threads(n_jobs: int | None, work: int) -> int:
    """Return how many threads to use for `work` cells, at most what `n_jobs` allows."""
    allowed = 1 if n_jobs is None else int(cast(int, effective_n_jobs(n_jobs)))
    return max(1, min(allowed, work // WORK_PER_THREAD))


class _LimitedThreads(ThreadingBackend):
    """joblib's threads, at most so many of them for any n_jobs."""

    limit = 1

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        return min(super().effective_n_jobs(n_jobs), self.limit)


@contextmanager
def at_most(threads: int) -> Generator[None]:
    """Limit n_jobs, of this library's estimators and of all that use joblib, in this thread inside the block."""
    backend: Any = _LimitedThreads()
    backend.limit = threads
    with parallel_config(backend=backend):
        yield


def run(function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], threads: int) -> list[Result]:
    """Run `function(*call)` for every call; return the results in order. Ctrl-C drops calls that have not started.

    The calling thread takes calls too, and waits for no thread that has not started: a busy pool costs time, but cannot
    block.
    """
    listed = list(calls)
    threads = min(threads, len(listed))
    if threads <= 1:
        return [function(*call) for call in listed]
    results: dict[int, Result] = {}
    todo = iter(range(len(listed)))  # shared: taking the next one is a single step of the interpreter

    def work() -> None:
        try:
            for i in todo:
                results[i] = function(*listed[i])
        except BaseException:
            list(todo)  # no thread begins another call
            raise

    futures: list[Future[None]] = [_pool(threads).submit(work) for _ in range(threads - 1)]
    try:
        with suspended():
            work()
    finally:
        for future in futures:
            if not future.cancel():
                future.result()
    return [results[i] for i in range(len(listed))]


def run_assisted(
    function: Callable[..., Result],
    call: tuple[Any, ...],
    assistant: Callable[..., object],
    calls: list[tuple[Any, ...]],
    dismiss: Callable[[], object],
) -> Result:
    """Run `function(*call)` here and `assistant(*c)` for every c of `calls` on other threads; `dismiss` ends those."""
    futures = [_pool(len(calls) + 1).submit(assistant, *each) for each in calls]
    try:
        return function(*call)
    finally:
        dismiss()
        for future in futures:
            if not future.cancel():
                future.result()


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="committee")
    return _pools[threads]
