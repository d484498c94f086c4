"""Where the fits of a comparison run: in this process one after another, or side by side on a Dask cluster.

A fit is a task: a function of the problem and of a few small values, without side effects. It may therefore run
anywhere, and again if a worker is lost, with the same result. Only times differ; they are measured where the task runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from committee.base.blas_threads import one_blas_thread
from committee.base.threads import at_most
from committee.dask.shared_tasks import SharedTasks
from committee.dask.workers import threads_of_worker, watch_for_cancellation
from committee.evaluation.time_budget import Clock, OutOfTime, stop_thread_after, work_seconds

LATE = 1.0
"""Seconds for which the result of a stopped task is awaited: compiled code is not interrupted."""

Watch = Callable[[Any], None]
"""Called every iteration of a fit with its record."""


class Place(NamedTuple):
    """What a task gets from where it runs: the time, and what is told of its iterations."""

    now: Callable[[], float]
    watch: Watch | None = None


class Task(NamedTuple):
    """The call `function(problem, *arguments, place)`."""

    label: str  # unique among the tasks that are announced
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    is_alone: bool = False  # few tasks run beside it: it may use all threads of its worker


class Executor(Protocol):
    """Runs tasks."""

    @property
    def n_parallel(self) -> int:
        """Number of tasks that run side by side."""
        ...

    def announce(self, tasks: Iterable[Task]) -> None:
        """Begin tasks that will be run in any case, without a limit of time."""

    def withdraw(self, tasks: Iterable[Task]) -> None:
        """Cancel announced tasks."""

    def run(self, task: Task, seconds: float, watch: Watch | None = None) -> Any:
        """The result of a task; raises `OutOfTime` after so many seconds of work."""
        ...

    def for_each(self, function: Callable[[str], object], names: Iterable[str]) -> None:
        """Call `function(name)` for every name, which may run tasks side by side."""


# --- in this process --------------------------------------------------------------------------------------------------


class LocalExecutor:
    """One task after another; the caller limits their time, as it also has to that of its own work."""

    n_parallel = 1

    def __init__(self, problem: Any, clock: Clock) -> None:
        self.problem, self.clock = problem, clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def announce(self, tasks: Iterable[Task]) -> None:
        pass

    def withdraw(self, tasks: Iterable[Task]) -> None:
        pass

    def run(self, task: Task, seconds: float, watch: Watch | None = None) -> Any:
        return task.function(self.problem, *task.arguments, Place(self.clock.now, watch))

    def for_each(self, function: Callable[[str], object], names: Iterable[str]) -> None:
        for name in names:
            function(name)


# --- on a cluster -----------------------------------------------------------------------------------------------------


class ClusterExecutor:
    """Tasks on the workers of a Dask cluster, one for every thread; the problem is sent to them once."""

    def __init__(self, client: Any, problem: Any, clock: Clock) -> None:
        self.tasks, self.clock = SharedTasks(client, problem, "compare"), clock
        self.begun: dict[str, str] = {}  # announced tasks, by label

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.tasks.close()

    @property
    def n_parallel(self) -> int:
        return self.tasks.n_threads

    def announce(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self.begun[task.label] = self._begin(task, np.inf)

    def withdraw(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if key := self.begun.pop(task.label, None):
                self.tasks.withdraw(key)

    def run(self, task: Task, seconds: float, watch: Watch | None = None) -> Any:
        key = self.begun.pop(task.label, None) or self._begin(task, seconds)
        longest = max(seconds, self.clock.left) + LATE if np.isfinite(seconds) else None
        try:
            is_finished, result = self.tasks.result(key, longest)
        except TimeoutError:
            raise OutOfTime from None
        if not is_finished:
            raise OutOfTime
        return result

    def _begin(self, task: Task, seconds: float) -> str:
        return self.tasks.begin(task.label, run_on_worker, task, seconds)

    def for_each(self, function: Callable[[str], object], names: Iterable[str]) -> None:
        """Threads of this process wait for the workers: with a budget, one for each task that can run at a time."""
        listed = list(names)
        n_threads = min(self.n_parallel, len(listed)) if self.clock.is_limited else len(listed)
        if not listed:
            return
        with ThreadPoolExecutor(n_threads, thread_name_prefix="committee-cluster") as pool:
            calls = [pool.submit(function, name) for name in listed]
            try:
                for call in as_completed(calls):
                    call.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.tasks.close()  # ends the calls that wait
                raise


def run_on_worker(task: Task, seconds: float, problem: Any) -> tuple[bool, Any]:
    """Run a task in a thread of a worker: whether it finished in time, and its result.

    A worker runs one task in each of its threads, so that a task gets one thread, or all of them if few tasks run.
    """
    n_threads = threads_of_worker() if task.is_alone else 1
    try:
        with at_most(n_threads), one_blas_thread(), stop_thread_after(seconds, watch_for_cancellation()):
            return True, task.function(problem, *task.arguments, Place(work_seconds, _ignore))
    except OutOfTime:
        return False, None


def _ignore(_: Any) -> None:
    pass
