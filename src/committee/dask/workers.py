"""The processes of a Dask cluster: versions and threads."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from committee.base.text import pluralize

SAME_VERSIONS = ("committee", "numba")
"""Packages of which the cluster needs the version of the client: models are objects of one, computed by the other."""

WAIT_SECONDS = 60.0
"""For the first worker of a cluster."""


@contextmanager
def connected(address: str) -> Generator[Any]:
    """A client of the scheduler at this address, such as tcp://10.0.0.1:8786, closed at the end; None without address.

    Raises
    ------
    ImportError
        If distributed is not installed.
    OSError
        If there is no scheduler.
    """
    if not address:
        yield None
        return
    client_class = _client_class()
    try:
        client = client_class(address)
    except (OSError, ValueError) as error:  # an address without a port is a ValueError
        raise OSError(f"There is no Dask scheduler at {address!r}: {error}") from error
    with client:
        yield client


def check_workers(client: Any) -> None:
    """Wait for a worker, and raise an error if the cluster has another version of committee, numba or Python.

    Raises
    ------
    TypeError
        If `client` is not a client of `distributed`, or an asynchronous one.
    RuntimeError
        If there is no worker, or the scheduler or a worker has other versions.
    """
    if not isinstance(client, _client_class()):
        raise TypeError(f"client must be a distributed.Client; got {type(client).__name__}.")
    if client.asynchronous:
        raise TypeError("client must not be asynchronous: make it by Client(...) in ordinary code.")
    wait_for_worker(client)
    for name, wanted in own_versions().items():
        if mismatch := describe_mismatch(name, wanted, _versions(client, name)):
            raise RuntimeError(mismatch)


def own_versions() -> dict[str, str]:
    """Versions in this process that the cluster must have too."""
    return {name: version(name) for name in SAME_VERSIONS} | {"Python": _minor(platform.python_version())}


def describe_mismatch(name: str, wanted: str, on_cluster: Mapping[str, str | None]) -> str:
    """An error message about the processes without this version of a package, "" if all have it.

    >>> describe_mismatch("numba", "0.68.1", {"the scheduler": "0.68.1", "worker tcp://10.0.0.2:4000": None})
    'worker tcp://10.0.0.2:4000: no numba is installed, but 0.68.1 is needed, as here. Install it there.'
    >>> describe_mismatch("Python", "3.12", {"the scheduler": "3.11", "worker a": "3.11", "worker b": "3.11"})
    'the scheduler and 2 others: Python 3.11 is installed, but 3.12 is needed, as here. Install it there.'
    """
    for found in dict.fromkeys(on_cluster.values()):
        if found != wanted:
            first, *others = [process for process, other in on_cluster.items() if other == found]
            who = f"{first} and {pluralize(len(others), 'other')}" if others else first
            has = f"{name} {found}" if found is not None else f"no {name}"
            return f"{who}: {has} is installed, but {wanted} is needed, as here. Install it there."
    return ""


def wait_for_worker(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        raise RuntimeError(f"The cluster had no worker for {WAIT_SECONDS:.0f} seconds: start some.") from None


def threads_of_worker() -> int:
    """Number of threads of the worker that runs the current task."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def watch_for_cancellation() -> Callable[[], bool]:
    """A function that tells whether the current task was cancelled, for other threads of its worker."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return is_cancelled


def _client_class() -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        message = "distributed is not installed: pip install 'committee[dask]'"
        raise ImportError(message, name="distributed") from error
    return Client


def _versions(client: Any, name: str) -> dict[str, str | None]:
    """Versions by process. Only functions of Python are called: there may be nothing else."""
    function, arguments = (platform.python_version, ()) if name == "Python" else (version, (name,))
    try:
        found = {"the scheduler": client.run_on_scheduler(function, *arguments)}
    except PackageNotFoundError as error:
        found = {"the scheduler": error}
    for address, each in client.run(function, *arguments, on_error="return").items():
        if not isinstance(each, OSError):  # the worker was lost meanwhile
            found[f"worker {address}"] = each
    texts = {process: each if isinstance(each, str) else None for process, each in found.items()}
    return {process: _minor(each) if each and name == "Python" else each for process, each in texts.items()}


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])
