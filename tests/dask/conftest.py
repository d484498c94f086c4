"""A cluster of processes on this machine, started once for all tests of a process."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster

N_WORKERS = 2
TIMEOUT = 60
"""Seconds after which a cluster that has not recovered fails the test."""


@pytest.fixture(scope="session")
def cluster() -> Generator[LocalCluster]:
    """Two workers of one thread. A worker that a test kills is started again by its nanny, however often."""
    with cluster_of(N_WORKERS) as started:
        yield started


@contextmanager
def cluster_of(n_workers: int, **options: Any) -> Generator[LocalCluster]:
    """Workers of one thread. By default Dask gives up those that are lost twice within 15 seconds."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=n_workers, processes=True, threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", **options,
        ) as started,
    ):  # fmt: skip
        yield started


@pytest.fixture
def client(cluster: LocalCluster) -> Generator[Client]:
    """A client of the cluster, complete again after what an earlier test did to it."""
    with Client(cluster) as connected:
        connected.wait_for_workers(N_WORKERS, timeout=TIMEOUT)
        yield connected


def wait_until(condition: Callable[[], bool], seconds: float = TIMEOUT) -> None:
    """Wait for a condition; fail the test if it does not become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "The condition did not become true."
        time.sleep(0.1)
