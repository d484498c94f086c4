"""Workers are killed, stopped, lost and added while a model is fitted: the model is the same, or an error says why."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, Security
from sklearn.base import clone

from committee.dask import GradientBoostingClassifier, cluster_blocks
from tests.dask.conftest import N_WORKERS, TIMEOUT, cluster_of, wait_until
from tests.dask.models import TABLE, chunked, digest

MODEL = GradientBoostingClassifier(n_estimators=8, random_state=0)


@pytest.fixture(scope="module")
def expected() -> str:
    return digest(clone(MODEL).fit(TABLE.X, TABLE.label))


def fit(client: Client, action: Callable[[], Any] | None = None, at: int = 3, **parameters: Any) -> Any:
    """Fit the model; act after a round."""

    def act(record: Any) -> bool:
        if action is not None and record.round == at:
            action()
        return False

    model = clone(MODEL).set_params(callbacks=[act], **parameters)
    return model.fit(chunked(TABLE.X), chunked(TABLE.label), client=client)


def pids(client: Client) -> list[int]:
    """The processes of the workers, all of which answer."""
    wait_until(lambda: all(isinstance(each, int) for each in client.run(os.getpid, on_error="return").values()))
    return sorted(client.run(os.getpid).values())


# --- killed workers ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_killed_at_random_moments(client: Client, expected: str) -> None:
    """From the call of fit on: reading, binning, loading and rounds."""
    begun = time.monotonic()
    assert digest(fit(client)) == expected
    duration = time.monotonic() - begun
    rng = np.random.default_rng(5)
    for _ in range(8):
        client.wait_for_workers(N_WORKERS, timeout=TIMEOUT)
        victim = int(rng.choice(pids(client)))
        timer = threading.Timer(rng.uniform(0.0, duration), os.kill, (victim, signal.SIGKILL))
        timer.start()
        try:
            assert digest(fit(client)) == expected
        finally:
            timer.cancel()
            timer.join()


@pytest.mark.slow
def test_a_worker_killed_between_two_rounds(client: Client, expected: str) -> None:
    """The next request finds a host that is known to be lost, or not yet."""
    for pause in (0.0, 2.0):
        client.wait_for_workers(N_WORKERS, timeout=TIMEOUT)
        victim = pids(client)[0]

        def kill(victim: int = victim, pause: float = pause) -> None:
            os.kill(victim, signal.SIGKILL)
            time.sleep(pause)

        assert digest(fit(client, kill)) == expected


@pytest.mark.slow
def test_all_workers_killed_at_once(client: Client, expected: str) -> None:
    """Nannies start them again, and the fit goes on."""

    def kill() -> None:
        for victim in pids(client):
            os.kill(victim, signal.SIGKILL)

    assert digest(fit(client, kill)) == expected


@pytest.mark.slow
def test_a_cluster_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_blocks, "RECOVERY", 2.0)
    with cluster_of(2) as cluster, Client(cluster) as client:

        def close() -> None:
            cluster.scale(0)
            wait_until(lambda: not client.scheduler_info()["workers"])

        begun = time.monotonic()
        with pytest.raises(RuntimeError, match=r"All workers of the cluster were lost.*start workers"):
            fit(client, close)
        assert time.monotonic() - begun < TIMEOUT  # no hang


class Deadly:
    """The data of a block that ends every worker that is given it, as one that runs out of memory."""


def end_worker(data: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_block_that_ends_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are ended and started again and again do not go on for ever."""
    monkeypatch.setattr(cluster_blocks, "MAX_LOADS", 2)
    with cluster_of(1) as cluster, Client(cluster) as client:
        data = client.scatter([Deadly])
        blocks = cluster_blocks.ClusterBlocks(client, data, end_worker)
        with pytest.raises(RuntimeError, match=r"were lost 2 times in a row.*more workers"):
            blocks.ask(NoStep())


class NoStep:
    """A step without an effect."""

    size = 1

    def run(self, block: Any, total: Any) -> Any:
        return np.zeros(1)


class Raising(NoStep):
    def run(self, block: Any, total: Any) -> Any:
        raise ArithmeticError("of the step")


def fail(data: Any) -> Any:
    raise ArithmeticError("of the data")


@pytest.mark.slow
def test_errors_of_steps_and_of_data_are_raised(client: Client) -> None:
    with pytest.raises(ArithmeticError, match="of the step"):
        cluster_blocks.ClusterBlocks(client, client.scatter([1, 2]), str).ask(Raising())
    with pytest.raises(ArithmeticError, match="of the data"):
        cluster_blocks.ClusterBlocks(client, client.scatter([1, 2]), fail).ask(NoStep())


@pytest.mark.slow
def test_a_worker_lost_while_versions_are_asked_for(client: Client, expected: str) -> None:
    """It has no wrong version, it is lost."""
    os.kill(pids(client)[0], signal.SIGKILL)  # the scheduler lists it for some milliseconds more
    assert digest(fit(client)) == expected


# --- silent workers, and new ones -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_stopped_worker_counts_as_lost(expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process keeps its connections: without heartbeats its blocks go to the others."""
    monkeypatch.setattr(cluster_blocks, "PATIENCE", 4.0)
    with cluster_of(2) as cluster, Client(cluster) as client:
        victim = pids(client)[0]
        try:
            assert digest(fit(client, lambda: os.kill(victim, signal.SIGSTOP))) == expected
        finally:
            os.kill(victim, signal.SIGCONT)
        assert digest(fit(client)) == expected


@pytest.mark.slow
def test_a_worker_that_stops_for_a_moment_keeps_its_blocks(client: Client, expected: str) -> None:
    victim = pids(client)[0]
    timer = threading.Timer(3.0, os.kill, (victim, signal.SIGCONT))

    def stop() -> None:
        os.kill(victim, signal.SIGSTOP)
        timer.start()

    try:
        assert digest(fit(client, stop)) == expected
    finally:
        timer.join()
    assert victim in pids(client)


def n_states(dask_worker: Any) -> int:
    return sum(len(host.states) for host in dask_worker.state.actors.values())


@pytest.mark.slow
def test_a_worker_that_joins_is_given_blocks(expected: str) -> None:
    held: list[list[int]] = []
    with cluster_of(1) as cluster, Client(cluster) as client:

        def grow() -> None:
            cluster.scale(2)
            client.wait_for_workers(2, timeout=TIMEOUT)
            time.sleep(1.0)

        def look(record: Any) -> bool:
            if record.round == 3:
                grow()
            if record.round > 3:
                time.sleep(0.5)
            held.append(sorted(client.run(n_states).values()))
            return False

        model = clone(MODEL).set_params(callbacks=[look])
        assert digest(model.fit(chunked(TABLE.X), chunked(TABLE.label), client=client)) == expected
    assert held[0] == [3]
    assert held[-1] == [1, 2]  # and what was given away is no longer held


# --- connections ------------------------------------------------------------------------------------------------------


ROLES = ("client", "scheduler", "worker")


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_cluster_with_tls(tmp_path: Path, expected: str) -> None:
    """All messages go over Dask's connections."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    new = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    openssl("req", "-x509", *new, "-keyout", key, "-out", certificate)
    files = {f"tls_{role}_{what}": path for role in ROLES for what, path in (("key", key), ("cert", certificate))}
    security = Security(tls_ca_file=certificate, require_encryption=True, **files)
    with cluster_of(2, security=security, protocol="tls://") as cluster, Client(cluster) as client:
        assert cluster.scheduler_address.startswith("tls://")
        victim = pids(client)[0]
        assert digest(fit(client, lambda: os.kill(victim, signal.SIGKILL))) == expected
