"""What happens to a fit on a Dask cluster when a worker is killed: a model, an error, or a hang.

    python -m benchmarks.cluster_failures --library committee --kills 200 --reuse 25
    python -m benchmarks.cluster_failures --library LightGBM --library XGBoost --kills 10

The cluster is a `LocalCluster` of processes of one thread each, with nannies, which start a killed worker again. After
an undisturbed fit, every fit has one worker, drawn at random, killed (SIGKILL) at a moment drawn uniformly from the
duration of the undisturbed one, and counted from the call of `fit`: so reading, binning and loading are hit as well
as rounds. The table is in the graph, so that no row is lost with a worker. A fit that has not ended after TIMEOUT
seconds is a hang; its processes are then ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import numpy as np

TIMEOUT = 60.0
"""Seconds after which a fit hangs."""

STARTUP = 180.0
"""Seconds for the start of a cluster and the undisturbed fits."""

ROWS, FEATURES = 200_000, 6
LIBRARIES = ("committee", "LightGBM", "XGBoost")


class Outcome(NamedTuple):
    """One fit."""

    kind: str  # "model", "error" or "hang"; "late" if the fit had ended before the kill
    seconds: float
    moment: float  # of the kill, as a fraction of the undisturbed fit
    digest: str = ""
    error: str = ""


def make_model(library: str) -> Any:
    if library == "committee":
        from committee.dask import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=20, random_state=0)
    if library == "LightGBM":
        from lightgbm.dask import DaskLGBMClassifier

        return DaskLGBMClassifier(n_estimators=100, random_state=0, verbose=-1)
    from xgboost.dask import DaskXGBClassifier

    return DaskXGBClassifier(n_estimators=200, max_leaves=31, grow_policy="lossguide", random_state=0)


def digest_of(library: str, model: Any) -> str:
    """A hash of all that the model consists of."""
    if library == "committee":
        content = b"".join(np.ascontiguousarray(each).tobytes() for each in model._trees)
    elif library == "LightGBM":
        content = model.booster_.model_to_string().encode()
    else:
        content = bytes(model.get_booster().save_raw("json"))
    return hashlib.sha256(content).hexdigest()[:16]


# --- the process of a cluster -----------------------------------------------------------------------------------------


def run_fits(library: str, n_workers: int, n_fits: int, seed: int) -> None:
    """Print the duration and digest of an undisturbed fit, then the outcome of every disturbed one, as JSON."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=ROWS) > 0).astype(int)
    chunk = -(-ROWS // (2 * n_workers))
    draw = np.random.default_rng(seed)
    with (
        # By default Dask gives a worker up if it is lost again when 15 seconds have passed since it was lost before.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=n_workers, processes=True, threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        tables = da.from_array(X, chunks=(chunk, FEATURES)), da.from_array(y, chunks=chunk)
        for _ in range(2):  # the first one compiles and imports
            begun = time.monotonic()
            model = make_model(library).fit(*tables)
            duration = time.monotonic() - begun
        _print({"duration": duration, "digest": digest_of(library, model)})
        for _ in range(n_fits):
            try:
                client.wait_for_workers(n_workers, timeout=TIMEOUT)
            except TimeoutError:
                _print({"cluster": "a worker was not started again"})
                return
            moment = float(draw.uniform())
            victim = int(draw.integers(n_workers))
            while len(pids := pids_of(client)) < n_workers:  # the last one killed was still listed
                time.sleep(0.5)
            pid = pids[victim]
            _print({"begins": True})
            _print(disturbed_fit(library, tables, pid, moment, duration)._asdict())


def pids_of(client: Any) -> list[int]:
    """The processes of the workers that answer."""
    return sorted(pid for pid in client.run(os.getpid, on_error="return").values() if isinstance(pid, int))


def disturbed_fit(library: str, tables: Any, pid: int, moment: float, duration: float) -> Outcome:
    """Fit while a worker is killed."""
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(moment * duration, kill)
    begun = time.monotonic()
    timer.start()
    try:
        model = make_model(library).fit(*tables)
    except Exception as error:
        return Outcome("error", time.monotonic() - begun, moment, error=f"{type(error).__name__}: {error}"[:200])
    finally:
        timer.cancel()
    seconds = time.monotonic() - begun
    return Outcome("model" if killed.is_set() else "late", seconds, moment, digest_of(library, model))


def _print(content: Any) -> None:
    print(json.dumps(content), flush=True)


# --- the observer -----------------------------------------------------------------------------------------------------


def observe(library: str, n_workers: int, n_fits: int, seed: int) -> Iterator[dict[str, Any]]:
    """What the process of a cluster prints; ends it, with its workers, when a fit hangs or all is done."""
    code = f"from benchmarks.cluster_failures import run_fits; run_fits({library!r}, {n_workers}, {n_fits}, {seed})"
    guarded = f"if __name__ == '__main__':\n    {code}\n"
    process = subprocess.Popen(
        [sys.executable, "-c", guarded], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdout is not None
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    begun, limit, n_done = time.monotonic(), STARTUP, 0
    try:
        while n_done < n_fits:
            if not selector.select(max(begun + limit - time.monotonic(), 0.0)):
                yield Outcome("hang", limit, np.nan)._asdict()
                return
            line = process.stdout.readline()
            if not line:
                yield Outcome("error", time.monotonic() - begun, np.nan, error="the client's process ended")._asdict()
                return
            if not line.startswith(b"{"):  # what a library prints
                continue
            message = json.loads(line)
            if "cluster" in message:
                click.echo(f"{library}: {message['cluster']}")  # by Dask, after a fit: another cluster goes on
                return
            begun, limit = time.monotonic(), TIMEOUT if "begins" in message else STARTUP
            if "begins" not in message:
                n_done += "kind" in message
                yield message
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its own session: the client and the workers of its cluster
        process.wait()


def measure(library: str, n_workers: int, kills: int, reuse: int, seed: int) -> None:
    """Print every outcome and a summary."""
    outcomes: list[dict[str, Any]] = []
    digests: Counter[str] = Counter()
    undisturbed: list[float] = []
    while len(outcomes) < kills:
        for message in observe(library, n_workers, min(reuse, kills - len(outcomes)), seed + len(outcomes)):
            if "duration" in message:
                undisturbed.append(message["duration"])
                digests[message["digest"]] += 0
                expected = message["digest"]
            else:
                outcomes.append(message)
                digests[message["digest"]] += message["kind"] in ("model", "late")
                click.echo(f"{library} {len(outcomes)} {json.dumps(message)}")
                if message["digest"] not in ("", expected):
                    click.echo(f"  the undisturbed fit had {expected}")
    kinds = Counter(each["kind"] for each in outcomes)
    longest = max((each["seconds"] for each in outcomes if each["kind"] == "model"), default=np.nan)
    n_digests = sum(count > 0 for digest, count in digests.items() if digest)
    click.echo(
        f"{library}, {n_workers} workers, {len(outcomes)} kills: {dict(kinds)}, {n_digests} different model(s); "
        f"undisturbed {min(undisturbed):.1f} to {max(undisturbed):.1f} s, longest disturbed fit {longest:.1f} s"
    )


@click.command()
@click.option("--library", "libraries", type=click.Choice(LIBRARIES), multiple=True, default=LIBRARIES)
@click.option("--workers", default=2, help="Number of workers.")
@click.option("--kills", default=10, help="Number of disturbed fits.")
@click.option("--reuse", default=1, help="Number of disturbed fits on one cluster.")
@click.option("--seed", default=0)
def main(libraries: tuple[str, ...], workers: int, kills: int, reuse: int, seed: int) -> None:
    """Kill workers of a cluster during fits."""
    for library in libraries:
        measure(library, workers, kills, reuse, seed)


if __name__ == "__main__":
    main()
