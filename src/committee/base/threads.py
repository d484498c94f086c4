"""Our own thread pool over kernels that release the GIL.

Handing a piece of work to another thread costs 50 to 100 microseconds, so the thread count follows the amount of
work: small data never pay for threads. Kernels sum integers or in fixed order, so the count changes no result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

from joblib import effective_n_jobs

WORK_PER_THREAD = 400_000
"""Cells (rows times features) below which a second thread costs more than it brings; about one millisecond."""

_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=_pools.clear)

Result = TypeVar("Result")


def n_threads(n_jobs: int | None, work: int) -> int:
    """How many threads `work` cells deserve, at most what `n_jobs` allows."""
    allowed = 1 if n_jobs is None else int(cast(int, effective_n_jobs(n_jobs)))
    return max(1, min(allowed, work // WORK_PER_THREAD))


def run(function: Callable[..., Result], calls: Iterable[tuple[Any, ...]], threads: int) -> list[Result]:
    """`function(*call)` for every call, in order of the calls; Ctrl-C drops the calls that have not started.

    The caller works too and takes one call after the other beside its helpers: it waits for no thread that has not
    begun, so a busy pool costs time and cannot block.
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
            list(todo)  # nobody begins another call
            raise

    futures: list[Future[None]] = [_pool(threads).submit(work) for _ in range(threads - 1)]
    try:
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
    """`function(*call)` here, with `assistant(*c)` for every c of `calls` beside it; `dismiss` makes assistants end."""
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
