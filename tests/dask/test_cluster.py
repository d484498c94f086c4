"""The cluster of the tests."""

from __future__ import annotations

import os

import pytest
from distributed import Client

from tests.dask.conftest import N_WORKERS


@pytest.mark.slow
def test_workers_are_processes_of_their_own(client: Client) -> None:
    pids = client.run(os.getpid).values()
    assert len({os.getpid(), *pids}) == 1 + N_WORKERS
