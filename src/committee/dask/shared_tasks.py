"""Functions of one large value on the workers of a Dask cluster.

The value, such as a table, is sent to the workers once. The functions have no side effects: Dask runs one again
elsewhere if it loses a worker. It cannot make the value again, which no task computed: if all workers that held it are
lost, it is sent again from here.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

from committee.dask.workers import check_workers, wait_for_worker

SENT_AGAIN = 3
"""How often the value is sent again for one task."""


class ClusterError(RuntimeError):
    """Raised if the cluster failed, not the function that it was to run."""


class SharedTasks:
    """Tasks `function(*arguments, value)` on the workers of `client`, a `distributed.Client`.

    Several threads may wait for results. `close` cancels what has not finished.
    """

    def __init__(self, client: Any, value: Any) -> None:
        check_workers(client)
        self.client, self.value = client, value
        self._name, self._n_submitted = uuid.uuid4().hex, 0
        self._calls: dict[str, Callable[[Any], Any]] = {}
        self._futures: dict[str, Any] = {}
        self._lock, self._is_closed = threading.RLock(), False
        self._sent = self._send()

    @property
    def n_threads(self) -> int:
        """Threads of all workers: the number of tasks that run side by side."""
        return max(1, sum(self.client.nthreads().values()))

    def submit(self, label: str, function: Callable[..., Any], *arguments: Any) -> str:
        """Begin a task; returns its key. Dask's dashboard shows the label."""
        with self._lock:
            self._n_submitted += 1
            key = f"{label}-{self._name}{self._n_submitted:08x}"
            self._calls[key] = partial(function, *arguments)  # Dask does not look for futures inside of it
            self._begin(key)
        return key

    def result(self, key: str, timeout: float | None = None) -> Any:
        """Wait for the result of a task, or its exception, and forget it.

        Raises `TimeoutError` after so many seconds, and `ClusterError` if the cluster is lost or the tasks are closed.
        """
        try:
            for _ in range(SENT_AGAIN + 1):
                future = self._futures.get(key)
                if future is None or not self._is_running:
                    raise ClusterError("The connection to the cluster was closed.")
                if self._is_done(future, timeout):
                    return future.result()
                self._begin_again(key, future)
        finally:
            self._forget(key)
        raise ClusterError(f"The cluster lost all of its workers {SENT_AGAIN + 1} times while it ran one task.")

    def close(self) -> None:
        """Cancel the tasks that have not finished, and free the memory of the workers."""
        with self._lock:
            futures, was_closed = [*self._futures.values(), self._sent], self._is_closed
            self._is_closed = True
        if not was_closed and self.client.status == "running":
            self.client.cancel(futures, force=True)

    # --- futures ------------------------------------------------------------------------------------------------------

    @property
    def _is_running(self) -> bool:
        return not self._is_closed and self.client.status == "running"

    def _send(self) -> Any:
        # hash=False: else the value would be named by the hash of its bytes
        return self.client.scatter([self.value], broadcast=True, hash=False)[0]

    def _begin(self, key: str) -> None:
        # a key of its own for each attempt: a client remembers what was cancelled
        name = f"{key}{uuid.uuid4().hex}"
        self._futures[key] = self.client.submit(
            self._calls[key],
            self._sent,
            key=name,
            pure=False,
            fifo_timeout=0,  # first come, first served
        )

    def _begin_again(self, key: str, cancelled: Any) -> None:
        """After the loss of all workers that held the value."""
        with self._lock:
            if self._is_running and self._futures.get(key) is cancelled:
                if self._sent.status != "finished":
                    wait_for_worker(self.client)
                    self._sent = self._send()
                self._begin(key)

    def _is_done(self, future: Any, timeout: float | None) -> bool:
        """Wait for a task: whether it has a result or raised an exception; else it was cancelled."""
        from distributed import wait

        try:
            wait([future], timeout=timeout)
        except CancelledError:
            return False
        return True

    def _forget(self, key: str) -> None:
        with self._lock:
            future = self._futures.pop(key, None)
            self._calls.pop(key, None)
            if future is not None and not future.done() and self._is_running:
                self.client.cancel([future], force=True)
