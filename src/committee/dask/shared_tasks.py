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
from functools import partial
from typing import Any

from committee.dask.workers import check_workers


class ClusterError(RuntimeError):
    """Raised if the cluster failed, not the function that it was to run."""


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
        self._futures: dict[str, Any] = {}
        self._lock, self._n_begun, self._is_closed = threading.Lock(), 0, False
        self._value = self._send(value)

    @property
    def n_threads(self) -> int:
        """Threads of all workers: the number of tasks that run side by side."""
        return max(1, sum(self.client.nthreads().values()))

    def begin(self, label: str, function: Callable[..., Any], *arguments: Any) -> str:
        """Begin a task; returns its key. Dask's dashboard shows the label."""
        call = partial(function, *arguments)  # opaque: Dask does not look for futures in the arguments
        with self._lock:
            self._need_open()
            self._n_begun += 1
            key = f"{self._n_begun}: {label}"
            self._futures[key] = self.client.submit(
                call, self._value, key=(self._name, key), pure=False, fifo_timeout=0
            )
        return key

    def result(self, key: str, timeout: float | None = None) -> Any:
        """Wait for the result of a task, or its exception, and forget it.

        Raises `TimeoutError` after so many seconds, and `ClusterError` if the cluster is lost or the tasks are closed.
        """
        from distributed import wait

        with self._lock:
            self._need_open()
            future = self._futures[key]
        try:
            wait([future], timeout=timeout)
        except CancelledError as error:
            raise ClusterError(
                f"The connection to the cluster was lost, or its tasks were cancelled: {error}"
            ) from error
        finally:
            with self._lock:
                self._futures.pop(key, None)
                is_unwanted = not future.done() and not self._is_closed
            if is_unwanted:
                self._cancel([future])
        return future.result()

    def close(self) -> None:
        """Cancel the tasks that have not finished, and free the memory of the workers."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            futures = [*self._futures.values(), self._value]
        self._cancel(futures)

    def _send(self, value: Any) -> Any:
        """A task that unpickles the value: `Client.scatter` would lose it with its last worker."""
        import cloudpickle

        data = cloudpickle.dumps(value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # as large as the value
            sent = self.client.submit(pickle.loads, data, key=f"{self._name}-value", pure=False)
        self.client.replicate([sent])
        return sent

    def _need_open(self) -> None:
        if self._is_closed or self.client.status != "running":
            raise ClusterError("The connection to the cluster was closed.")

    def _cancel(self, futures: list[Any]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures, force=True)
