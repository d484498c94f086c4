"""The workers of a Dask cluster: their versions and threads."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

SAME_VERSIONS = ("committee", "numba")
"""Packages of which workers need the version of the client: models are objects of the one, computed by the other."""

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
    """Wait for a worker, and raise an error if committee, numba or Python of any worker is not the client's.

    Raises
    ------
    TypeError
        If `client` is not a client of `distributed`, or an asynchronous one.
    RuntimeError
        If there is no worker, or one has other versions.
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
    """Versions in this process that workers must have too."""
    return {name: version(name) for name in SAME_VERSIONS} | {"Python": _minor(platform.python_version())}


def describe_mismatch(name: str, wanted: str, on_workers: Mapping[str, str | None]) -> str:
    """An error message about the workers without this version of a package, "" if all have it.

    >>> describe_mismatch("numba", "0.68.1", {"tcp://10.0.0.1:4000": "0.68.1", "tcp://10.0.0.2:4000": None})
    'The worker tcp://10.0.0.2:4000 has no numba, but 0.68.1 is needed, as here. Install it there.'
    >>> describe_mismatch("Python", "3.12", {"a": "3.11", "b": "3.11"})
    'The workers a and b have Python 3.11, but 3.12 is needed, as here. Install it there.'
    """
    for found in dict.fromkeys(on_workers.values()):
        if found != wanted:
            addresses = [address for address, other in on_workers.items() if other == found]
            who = " and ".join(addresses) if len(addresses) < 3 else f"{addresses[0]} and {len(addresses) - 1} others"
            subject = f"The worker {who} has" if len(addresses) == 1 else f"The workers {who} have"
            has = f"{name} {found}" if found is not None else f"no {name}"
            return f"{subject} {has}, but {wanted} is needed, as here. Install it there."
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
    """Versions by worker; only functions of Python are called, as a worker may have nothing else."""
    if name == "Python":
        return {address: _minor(each) for address, each in client.run(platform.python_version).items()}
    found = client.run(version, name, on_error="return")
    return {address: each if isinstance(each, str) else None for address, each in found.items()}


def _minor(python: str) -> str:
    return ".".join(python.split(".")[:2])
