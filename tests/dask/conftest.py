"""A cluster of processes on this machine, started once for all tests of a process."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator

import dask
import pytest
from distributed import Client, LocalCluster

N_WORKERS = 2
TIMEOUT = 60
"""Seconds after which a cluster that has not recovered fails the test."""


@pytest.fixture(scope="session")
def cluster() -> Generator[LocalCluster]:
    """Two workers of one thread. A worker that a test kills is started again by its nanny, however often."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=N_WORKERS, processes=True, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as started,
    ):
        yield started


@pytest.fixture
def client(cluster: LocalCluster) -> Generator[Client]:
    """A client of the cluster, complete again after what an earlier test did to it."""
    with Client(cluster) as connected:
        complete(cluster, connected)
        yield connected


def complete(cluster: LocalCluster, client: Client) -> None:
    """Wait until killed workers have been started again.

    About one time in twenty a nanny of Dask's never does, also without any task of ours: then another one is added.
    """
    try:
        client.wait_for_workers(N_WORKERS, timeout=15)
    except TimeoutError:
        cluster.scale(len(cluster.workers) + 1)
        client.wait_for_workers(N_WORKERS, timeout=TIMEOUT)


def wait_until(condition: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    """Wait for a condition; fail the test if it does not become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "The condition did not become true."
        time.sleep(0.1)
