"""Functions of one large value on the workers of a Dask cluster.

The value, such as a table, is sent to the cluster once, and from there to all workers. The functions have no side
effects. So whatever is lost with a worker, the value included, Dask makes again elsewhere by itself.
"""

from __future__ import annotations

import pickle
import threading
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from committee.dask.workers import check_workers


class ClusterError(RuntimeError):
    """Raised if the cluster failed, not the function that it was to run."""


class _Task(NamedTuple):
    call: Callable[[Any], Any]
    future: Any


class SharedTasks:
    """Tasks `function(*arguments, value)` on the workers of `client`, a `distributed.Client`.

    Several threads may wait for results. `close` cancels what has not finished.
    """

    def __init__(self, client: Any, value: Any, name: str) -> None:
        check_workers(client)
        self.client = client
        # One name for all: Dask keeps the tasks of a large group until a thread of a worker is free. So they run in the
        # order in which they began, and the end of a worker is not blamed on tasks that only waited for it.
        self._name = f"{name}-{uuid.uuid4().hex}"
        self._numbers, self._tasks = count(1), dict[str, _Task]()
        self._lock, self._is_closed = threading.Lock(), False
        self._suspicion = threading.Lock()  # tasks that may have killed workers run one at a time
        self._value = self._send(value)

    @property
    def n_threads(self) -> int:
        """Threads of all workers: the number of tasks that run side by side."""
        return max(1, sum(self.client.nthreads().values()))

    def begin(self, label: str, function: Callable[..., Any], *arguments: Any) -> str:
        """Begin a task; returns its key. Dask's dashboard shows the label."""
        key = f"{label}, {next(self._numbers)}"
        self._submit(key, partial(function, *arguments))
        return key

    def result(self, key: str, timeout: float | None = None) -> Any:
        """Wait for the result of a task, or its exception, and forget it.

        Raises `TimeoutError` after so many seconds, and `ClusterError` if the cluster is lost or the tasks are closed.
        """
        from distributed import KilledWorker

        call = self._tasks[key].call
        try:
            return self._wait(key, timeout)
        except KilledWorker:  # perhaps a task beside it did that
            with self._suspicion:
                self._submit(key, call)
                return self._wait(key, timeout)

    def withdraw(self, key: str) -> None:
        """Cancel a task, and forget it."""
        with self._lock:
            task = self._tasks.pop(key, None)
        if task is not None:
            self._cancel([task.future])

    def close(self) -> None:
        """Cancel the tasks that have not finished, and free the memory of the workers."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            futures = [*(task.future for task in self._tasks.values()), self._value]
        self._cancel(futures)

    def _send(self, value: Any) -> Any:
        """A task that unpickles the value: `Client.scatter` would lose it with its last worker."""
        import cloudpickle

        data = cloudpickle.dumps(value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # as large as the value
            sent = self.client.submit(pickle.loads, data, key=f"{self._name}-value", pure=False)
        with suppress(Exception):  # of the scheduler, if a worker is lost meanwhile: the value comes when it is needed
            self.client.replicate([sent])
        return sent

    def _submit(self, key: str, call: Callable[[Any], Any]) -> None:
        with self._lock:
            self._need_open()
            name = (self._name, f"{key}-{next(self._numbers)}")  # a client remembers what became of a name
            # `call` is opaque: Dask does not look for futures in the arguments. First come, first served.
            future = self.client.submit(call, self._value, key=name, pure=False, fifo_timeout=0)
            self._tasks[key] = _Task(call, future)

    def _wait(self, key: str, timeout: float | None) -> Any:
        from distributed import wait

        with self._lock:
            self._need_open()
            future = self._tasks[key].future
        try:
            wait([future], timeout=timeout)
        except CancelledError as error:
            raise ClusterError(
                f"The connection to the cluster was lost, or its tasks were cancelled: {error}"
            ) from error
        finally:
            with self._lock:
                self._tasks.pop(key, None)
                is_unwanted = not future.done() and not self._is_closed
            if is_unwanted:
                self._cancel([future])
        return future.result()

    def _need_open(self) -> None:
        if self._is_closed or self.client.status != "running":
            raise ClusterError("The connection to the cluster was closed.")

    def _cancel(self, futures: list[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures, force=True)
