"""`compare` on a cluster of processes gives the results of this process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import ExtraTreeRegressor

from committee import SVC, AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier, compare
from committee.base.threads import n_threads
from committee.dask import workers
from committee.dask.shared_tasks import SharedTasks
from committee.datasets import load_dataset
from committee.evaluation.comparison import Comparison, ComparisonStep, MethodResult
from committee.storage import save_model

pytestmark = pytest.mark.slow

TIMEOUT = 60
"""Seconds after which a comparison that hangs fails its test."""


@contextmanager
def no_hang() -> Generator[None]:
    def fail(*_: object) -> None:
        raise AssertionError(f"It takes more than {TIMEOUT} seconds.")

    before = signal.signal(signal.SIGUSR1, fail)
    timer = threading.Timer(TIMEOUT, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, before)


def digest(model: Any, folder: Path) -> str:
    """Of the model file."""
    path = folder / "model.committee"
    save_model(model, path)
    return sha256(path.read_bytes()).hexdigest()


def without_times(value: Any) -> Any:
    """A comparison as nested values that can be compared with ==."""
    if isinstance(value, Comparison | MethodResult):
        times = {"seconds", "compile_seconds", "fit_seconds", "predict_seconds"}
        return {name: without_times(each) for name, each in value._asdict().items() if name not in times}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(without_times, value))
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items()}
    return repr(value)


def assert_same(local: tuple[Comparison, Any], on_cluster: tuple[Comparison, Any], folder: Path) -> None:
    (here, model), (there, other) = local, on_cluster
    assert without_times(here) == without_times(there)
    assert digest(model, folder) == digest(other, folder)


def tasks_of(client: Client) -> list[str]:
    """Keys that the scheduler knows, soon after the last ones were released."""
    for _ in range(50):
        if not (keys := client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))):
            return []
        time.sleep(0.1)
    return keys


# --- the same results -------------------------------------------------------------------------------------------------


def numbers(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 5))
    return X, np.sin(6.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)


def classification() -> dict[str, Any]:
    sonar = load_dataset("sonar")
    methods = {
        "boosting": GradientBoostingClassifier(n_estimators=20),
        "forest": RandomForestClassifier(20),
        "stumps": AdaBoostClassifier(n_estimators=20),
        "SVM": SVC(),
    }
    return {"X": sonar.X, "y": sonar.y, "methods": methods, "cv": 3, "n_jobs": 2}


def regression() -> dict[str, Any]:
    X, y = numbers(240)
    weight = np.random.default_rng(0).integers(1, 4, 240).astype(float)
    return {"X": X, "y": y, "methods": ["constant", "linear model", "extra trees"], "sample_weight": weight, "cv": 4}


def groups_of_a_frame() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y", "z"], 200)})
    frame = frame.cast({"b": pl.Categorical})
    y = frame["a"].to_numpy() + (frame["b"] == "x").to_numpy() + 0.1 * rng.normal(size=200)
    return {"X": frame, "y": y, "methods": ["linear model", "pruned tree"], "groups": np.arange(200) // 8, "cv": 3}


def foreign() -> dict[str, Any]:
    X, y = numbers(200)
    return {"X": X, "y": y, "methods": {"mine": Slow(), "theirs": ExtraTreeRegressor()}, "cv": 3}


@pytest.mark.parametrize("case", [classification, regression, groups_of_a_frame])
def test_results_and_model_are_those_of_this_process(
    case: Callable[[], dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    assert_same(compare(**case()), compare(**case(), client=client), tmp_path)
    assert tasks_of(client) == []


def test_foreign_classes_run_on_a_cluster(client: Client) -> None:
    here, there = compare(**foreign()), compare(**foreign(), client=client)
    assert without_times(here[0]) == without_times(there[0])
    X = foreign()["X"]
    np.testing.assert_array_equal(here[1].predict(X), there[1].predict(X))


def test_progress_is_reported_of_every_fold_and_final_fit(client: Client) -> None:
    steps: list[ComparisonStep] = []
    compare(**foreign(), client=client, callback=steps.append)
    assert sorted((step.method, step.fold) for step in steps if step.state == "evaluated") == [
        (name, fold) for name in ("mine", "theirs") for fold in (1, 2, 3)
    ]
    assert [step.state for step in steps].count("refitting") == 3
    assert {step.method for step in steps if step.state == "done"} == {"mine", "theirs"}


# --- lost workers -----------------------------------------------------------------------------------------------------


class Slow(RegressorMixin, BaseEstimator):
    """The mean, after a while."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def fit(self, X: Any, y: Any) -> Slow:
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            time.sleep(0.01)
        self.mean_ = np.mean(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("n_killed", [1, 2])
def test_killed_workers_change_nothing(n_killed: int, client: Client, tmp_path: Path) -> None:
    """While their tasks run: of one worker the other repeats them, of all workers those that are started anew."""
    case = {**regression(), "methods": {"slow": Slow(0.5), "tree": ExtraTreeRegressor(random_state=0), "mean": Slow()}}
    del case["sample_weight"]
    victims = list(client.run(os.getpid).values())[:n_killed]
    killer = threading.Timer(1.0, lambda: [os.kill(pid, signal.SIGKILL) for pid in victims])
    killer.start()
    with no_hang():
        there = compare(**case, client=client)
    killer.join()
    assert not set(victims) & set(client.run(os.getpid).values())
    here = compare(**case)
    assert without_times(here[0]) == without_times(there[0])
    np.testing.assert_array_equal(here[1].predict(case["X"]), there[1].predict(case["X"]))


class Deadly(Slow):
    """Ends every worker that fits it."""

    def fit(self, X: Any, y: Any) -> Slow:
        os.kill(os.getpid(), signal.SIGKILL)
        return self


def test_a_method_that_kills_its_workers_fails_and_the_others_are_compared(
    client: Client, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)  # of 3: each takes the start of a worker
    case = {**foreign(), "methods": {"deadly": Deadly(), "mean": Slow()}, "cv": 2}
    with no_hang():
        found, _ = compare(**case, client=client)
    assert found.winner == "mean"
    assert found.result("deadly").status == "failed"
    assert "KilledWorker" in found.result("deadly").note


# --- errors -----------------------------------------------------------------------------------------------------------


class BrokenError(Exception):
    pass


class Fragile(Slow):
    """Fails for more rows than it can bear."""

    def __init__(self, max_rows: int = 0, seconds: float = 0.0) -> None:
        self.max_rows, self.seconds = max_rows, seconds

    def fit(self, X: Any, y: Any) -> Slow:
        if len(X) > self.max_rows:
            raise BrokenError(f"{len(X)} rows are too many")
        return super().fit(X, y)


def test_a_method_that_fails_has_the_error_in_its_note(client: Client) -> None:
    found, _ = compare(**{**foreign(), "methods": {"fragile": Fragile(), "mean": Slow()}}, client=client)
    result = found.result("fragile")
    assert result.status == "failed"
    assert result.note.startswith("BrokenError: 10")
    assert result.note.endswith("rows are too many")


def test_an_error_of_the_final_fit_is_raised_as_itself(client: Client) -> None:
    with pytest.raises(BrokenError, match="160 rows are too many"):
        compare(**{**foreign(), "methods": {"fragile": Fragile(150)}}, client=client)
    assert tasks_of(client) == []


def test_interruption_cancels_everything_and_ends_the_fits(client: Client) -> None:
    def interrupt(step: ComparisonStep) -> None:
        if step.state == "evaluated":
            os.kill(os.getpid(), signal.SIGINT)

    methods = {"mean": Slow(), **{f"endless {i}": Slow(1e6) for i in range(4)}}
    with no_hang():
        with pytest.raises(KeyboardInterrupt):
            compare(**{**foreign(), "methods": methods}, client=client, callback=interrupt)
        assert tasks_of(client) == []
        while any(client.run(executing).values()):
            time.sleep(0.1)


def executing(dask_worker: Any) -> int:
    return len(dask_worker.state.executing) + len(dask_worker.state.long_running)


def test_an_error_in_the_callback_is_raised(client: Client) -> None:
    def fail(step: ComparisonStep) -> None:
        raise BrokenError(step.state)

    with pytest.raises(BrokenError, match="starting"):
        compare(**foreign(), client=client, callback=fail)
    assert tasks_of(client) == []


# --- budgets and threads ----------------------------------------------------------------------------------------------


def test_a_budget_stops_fits_on_workers(client: Client) -> None:
    """Endless fits of both workers are stopped, or nothing else could run."""
    methods = {"endless": Slow(1e6), "endless too": Slow(1e6), "mean": Slow(), "tree": ExtraTreeRegressor()}
    compare(**foreign(), client=client)  # workers that were started anew import committee, which counts
    with no_hang():
        found, _ = compare(**{**foreign(), "methods": methods}, client=client, time_budget=8.0)
        while any(client.run(executing).values()):
            time.sleep(0.1)
    assert found.winner in ("mean", "tree")
    assert found.result("endless").status == found.result("endless too").status == "out of time"


class CountThreads(Slow):
    """Predicts how many threads it may use, with any n_jobs."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Slow:
        self.mean_ = max(effective_n_jobs(self.n_jobs), n_threads(self.n_jobs, 2**62))
        return self


@pytest.mark.parametrize("n_jobs", [None, 1, 8, -1])
def test_a_fit_uses_the_threads_of_its_worker(n_jobs: int | None, client: Client) -> None:
    found, model = compare(**{**foreign(), "methods": {"count": CountThreads()}}, n_jobs=n_jobs, client=client)
    assert set(found.results[0].oof_predictions) == {1.0}
    assert model.mean_ == 1
    assert model.n_jobs == n_jobs  # the model may use all threads of this machine


# --- the cluster ------------------------------------------------------------------------------------------------------


def test_only_a_client_is_taken() -> None:
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client; got str"):
        compare(**foreign(), client="tcp://127.0.0.1:8786")


def test_other_versions_on_workers_raise(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "own_versions", lambda: {"committee": "1.2.3"})
    with pytest.raises(RuntimeError, match=r"the scheduler and 2 others: committee .* but 1\.2\.3 is needed"):
        compare(**foreign(), client=client)
    monkeypatch.setattr(workers, "own_versions", lambda: {"not on a worker": "1.2.3"})
    with pytest.raises(RuntimeError, match="the scheduler and 2 others: no not on a worker is installed"):
        compare(**foreign(), client=client)


def test_the_table_is_sent_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    submit = client.submit

    def measure(function: Any, *arguments: Any, **options: Any) -> Any:
        sizes.append(len(cloudpickle.dumps((function, arguments))))
        return submit(function, *arguments, **options)

    monkeypatch.setattr(client, "submit", measure)
    compare(**foreign(), client=client)
    assert len(sizes) == 1 + 6 + 3
    assert sizes[0] > foreign()["X"].nbytes > 4 * max(sizes[1:])


def test_tasks_take_lists_and_tuples_as_they_are(client: Client) -> None:
    tasks = SharedTasks(client, ("a", "b"), "join")
    try:
        key = tasks.begin("join", join, ["c"], ("d", {"e": 1}))
        assert tasks.result(key) == "['c']('d', {'e': 1})('a', 'b')"
    finally:
        tasks.close()
    assert tasks_of(client) == []


def join(*values: Any) -> str:
    return "".join(map(str, values))
