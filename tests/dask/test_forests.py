"""Forests and bagging on a cluster of processes are those of the local classes."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import committee
from committee import dask as on_cluster
from committee.dask import growers, results, workers
from committee.dask.tables import DaskTable
from tests.model_content import digest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*in the sample of every:UserWarning")]

TIMEOUT = 60
"""Seconds after which a fit that hangs fails its test."""

N = 900
EVEN, ODD = (450, 450), (1, 0, 350, 0, 0, 548, 1)

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "random forest": ("RandomForestClassifier", {"n_estimators": 12, "oob_score": True, "class_weight": "balanced"}),
    "extra trees": (
        "ExtraTreesClassifier",
        {"n_estimators": 12, "bootstrap": True, "class_weight": "balanced_subsample", "calibration": "oob"},
    ),
    "bins": ("RandomForestClassifier", {"n_estimators": 12, "splitter": "binned", "max_bins": 20, "ccp_alpha": 0.01}),
    "balanced": ("RandomForestClassifier", {"n_estimators": "auto", "bootstrap": "balanced", "tol": 0.2}),
    "bagging": ("BaggingClassifier", {"n_estimators": 9, "oob_score": True, "max_features": 0.6}),
    "regression": ("RandomForestRegressor", {"n_estimators": 12, "keep_leaf_samples": True, "max_samples": 0.5}),
    "random cuts": ("ExtraTreesRegressor", {"n_estimators": 12, "oob_score": False, "n_jobs": 2}),
    "tuned": ("ExtraTreesRegressor", {"n_estimators": 3, "bootstrap": True, "tune": "oob", "max_leaf_nodes": 8}),
    "median": ("BaggingRegressor", {"n_estimators": 9, "combine": "median", "bootstrap": False, "max_samples": 0.7}),
}


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


def rows(n: int, is_class: bool) -> tuple[Any, Any, Any]:
    """Numbers with missing values, a target, and integer weights of which some are zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    X[rng.random((n, 5)) < 0.05] = np.nan
    y = np.array(["high", "low", "middle"])[np.digitize(score, [-0.5, 0.5])] if is_class else score
    return X, y, rng.integers(0, 4, n).astype(np.float64)


def collection(array: Any, chunks: tuple[int, ...]) -> Any:
    """With rows in these chunks; columns are divided too."""
    columns = ((2, 3),) if array.ndim == 2 else ()
    return da.from_array(array, chunks=(chunks, *columns))


def frame_of(frame: pd.DataFrame | pd.Series[Any], sizes: tuple[int, ...]) -> Any:
    """A dask data frame with partitions of these sizes."""
    bounds = list(pairwise(np.cumsum([0, *sizes]).tolist()))
    return dd.from_map(lambda rows: frame.iloc[slice(*rows)], bounds, meta=frame.iloc[:0])


def make(case: str, where: Any, **params: Any) -> Any:
    name, given = MODELS[case]
    return getattr(where, name)(**{"random_state": 5, **given, **params})


def assert_same(local: Any, other: Any) -> None:
    assert type(other.to_local()) is type(local)
    assert digest(other.to_local()) == digest(local)


# --- the same models --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", MODELS)
def test_models_and_predictions_are_those_of_the_local_class(case: str, client: Client) -> None:
    X, y, weight = rows(N, "Classifier" in MODELS[case][0])
    local = make(case, committee).fit(X, y, weight)
    for chunks in (EVEN, ODD):
        parts = [collection(each, chunks) for each in (X, y, weight)]
        with no_hang():
            there = make(case, on_cluster).fit(*parts, client=client)
        assert_same(local, there)
        lazy = there.predict(parts[0])
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), local.predict(X))
        if hasattr(local, "predict_proba"):
            np.testing.assert_array_equal(there.predict_proba(parts[0]).compute(), local.predict_proba(X))
    assert there.get_params() == local.get_params()


def test_model_is_the_same_on_one_worker() -> None:
    X, y, weight = rows(N, True)
    local = make("random forest", committee).fit(X, y, weight)
    with (
        LocalCluster(
            n_workers=1, processes=True, threads_per_worker=3, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as one,
        Client(one) as client,
        no_hang(),
    ):
        assert_same(local, make("random forest", on_cluster).fit(*(collection(e, ODD) for e in (X, y, weight))))
        assert client.nthreads()


@pytest.mark.parametrize("sizes", [EVEN, ODD])
def test_data_frames_with_categories_and_unknown_sizes(sizes: tuple[int, ...], client: Client) -> None:
    X, y, _ = rows(N, True)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["f"] = pd.Categorical(np.array(["red", "green", "blue", None], object)[np.arange(N) % 4])
    target = pd.Series(y)
    local = make("random forest", committee).fit(frame, target)
    there = make("random forest", on_cluster).fit(frame_of(frame, sizes), frame_of(target, sizes), client=client)
    assert_same(local, there)
    assert there.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(there.predict(frame_of(frame, sizes)).compute(), local.predict(frame))
    np.testing.assert_array_equal(there.predict_proba(frame_of(frame, sizes)).compute(), local.predict_proba(frame))


def test_bagging_of_other_estimators_and_validation_rows(client: Client) -> None:
    X, y, weight = rows(N, True)
    X = np.nan_to_num(X)
    parts = [collection(each, ODD) for each in (X[:, :5], y, weight)]
    params: dict[str, Any] = {"estimator": GaussianNB(), "n_estimators": 6, "random_state": 1}
    local = committee.BaggingClassifier(**params).fit(X, y, weight, X_val=X[:50], y_val=y[:50])
    there = on_cluster.BaggingClassifier(**params).fit(
        *parts, X_val=da.from_array(X[:50]), y_val=da.from_array(y[:50]), client=client
    )
    assert there.history_["validation_error"].tolist() == local.history_["validation_error"].tolist()
    np.testing.assert_array_equal(there.oob_decision_function_, local.oob_decision_function_)
    np.testing.assert_array_equal(there.predict_proba(parts[0]).compute(), local.predict_proba(X))


def test_tables_in_memory_are_fitted_here() -> None:
    X, y, weight = rows(200, False)
    assert_same(make("regression", committee).fit(X, y, weight), make("regression", on_cluster).fit(X, y, weight))
    assert_same(make("median", committee).fit(X, y), make("median", on_cluster).fit(X, y))


def test_nothing_stays_on_the_cluster(client: Client) -> None:
    X, y, _ = rows(N, True)
    model = make("balanced", on_cluster).fit(collection(X, EVEN), collection(y, EVEN), client=client)
    assert len(model) < committee.forests.base.MAX_TREES
    for _ in range(100):
        if not (keys := client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))):
            break
        time.sleep(0.1)
    assert keys == []


# --- lost workers -----------------------------------------------------------------------------------------------------


def watch_trees(client: Client, act: Callable[[], object]) -> threading.Thread:
    """Act soon after the first trees are there."""

    def n_done(dask_scheduler: Any) -> int:
        tasks = [(key, task.state) for key, task in dask_scheduler.tasks.items()]
        return sum(state == "memory" and key[0].endswith("-members") for key, state in tasks)

    def watch() -> None:
        while not client.run_on_scheduler(n_done):
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("n_killed", [1, 2])
def test_killed_workers_change_nothing(n_killed: int, client: Client) -> None:
    """Of one worker the other repeats the tasks; of all workers those that are started again, the table included."""
    X, y, weight = rows(20_000, True)
    params = {"n_estimators": 40, "random_state": 2}
    local = committee.RandomForestClassifier(**params).fit(X, y, weight)
    parts = [collection(each, (7_000, 0, 13_000)) for each in (X, y, weight)]
    victims = list(client.run(os.getpid).values())[:n_killed]
    with no_hang():
        killer = watch_trees(client, lambda: [os.kill(pid, signal.SIGKILL) for pid in victims])
        there = on_cluster.RandomForestClassifier(**params).fit(*parts, client=client)
        killer.join()
    assert not set(victims) & set(client.run(os.getpid).values())
    assert_same(local, there)


def test_a_table_that_cannot_be_copied_ahead_is_copied_by_the_tasks(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler raises AssertionError if a worker is lost while it copies."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Client, "replicate", fail)
    X, y, _ = rows(N, False)
    there = make("random cuts", on_cluster).fit(collection(X, EVEN), collection(y, EVEN), client=client)
    assert_same(make("random cuts", committee).fit(X, y), there)


@pytest.mark.parametrize("moment", ["at once", "after some trees"])
def test_without_workers_the_fit_ends_with_an_error(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RECOVERY", 3.0)
    monkeypatch.setattr(workers, "WAIT_SECONDS", 3.0)
    X, y, _ = rows(20_000, True)
    with (
        LocalCluster(
            n_workers=1, processes=True, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as one,
        Client(one) as client,
        no_hang(),
    ):
        model = on_cluster.RandomForestClassifier(2_000, random_state=0)
        collections = da.from_array(X, chunks=(5_000, 5)), da.from_array(y, chunks=5_000)
        one.scale(0) if moment == "at once" else watch_trees(client, lambda: one.scale(0))
        with pytest.raises(RuntimeError, match=r"(none has joined|no worker) for 3 seconds: start"):
            model.fit(*collections, client=client)
    assert not hasattr(model, "trees_")


# --- errors -----------------------------------------------------------------------------------------------------------


class OwnError(Exception):
    pass


def test_exceptions_of_partitions_and_of_members_are_raised_as_they_are(client: Client) -> None:
    X, y, _ = rows(N, False)

    def fail(block: Any) -> Any:
        raise OwnError("the file is broken")

    broken = collection(X, EVEN).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with no_hang(), pytest.raises(OwnError, match="the file is broken"):
        make("regression", on_cluster).fit(broken, collection(y, EVEN), client=client)

    class Failing(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise TimeoutError("a member has failed")

    bagging = on_cluster.BaggingRegressor(Failing(), n_estimators=3)
    with no_hang(), pytest.raises(TimeoutError, match="a member has failed"):
        bagging.fit(da.nan_to_num(collection(X, EVEN)), collection(y, EVEN), client=client)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, w: (make("regression", on_cluster, warm_start=True), X, y, w), "warm_start is not supported"),
        (lambda X, y, w: (make("regression", on_cluster), X, X, w), "fit a forest for each column"),
        (lambda X, y, w: (make("regression", on_cluster), X, y.rechunk(100), w), "give them the same partitions"),
        (lambda X, y, w: (make("regression", on_cluster), X, y, -w), "sample_weight"),
        (lambda X, y, w: (make("regression", on_cluster, max_samples=10_000), X, y, w), "max_samples=10000"),
        (lambda X, y, w: (make("random cuts", on_cluster, oob_score=True), X, y, w), "only available if bootstrap"),
        (lambda X, y, w: (on_cluster.BaggingRegressor(LinearRegression()), X, y, w), "LinearRegression"),
        (lambda X, y, w: (make("regression", on_cluster, n_estimators=0), X, y, w), "n_estimators"),
    ],
)
def test_errors_say_what_is_wrong(change: Callable[..., Any], message: str, client: Client) -> None:
    model, *arguments = change(*(collection(each, EVEN) for each in rows(N, False)))
    with pytest.raises(ValueError, match=message):
        model.fit(*arguments, client=client)


def test_a_table_that_does_not_fit_a_worker_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = min(each["memory_limit"] for each in client.scheduler_info()["workers"].values())
    monkeypatch.setattr(growers, "FILLED", 0.5 * (2 * 8 * 5 * N + N * (4 * 5 + 100)) / limit)
    X, y, _ = rows(N, True)
    with pytest.raises(MemoryError, match=r"A table of 900 x 5 cells needs about 0.00 GiB on every worker.*blocks"):
        make("random forest", on_cluster).fit(collection(X, EVEN), collection(y, EVEN), client=client)


def test_fit_parameters_are_an_error(client: Client) -> None:
    X, y, _ = rows(N, False)
    with pytest.raises(TypeError, match=r"fit takes no \['groups'\] for collections of Dask"):
        make("median", on_cluster).fit(collection(X, EVEN), collection(y, EVEN), client=client, groups=1)


def test_warnings_reach_the_client(client: Client) -> None:
    X, y, _ = rows(N, False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make("regression", on_cluster, n_estimators=1, oob_score=True).fit(
            collection(X, EVEN), collection(y, EVEN), client=client
        )
    assert any("were in the sample of every tree" in str(each.message) for each in caught)


def test_released_partitions_have_no_futures(client: Client) -> None:
    X, y, _ = rows(N, False)
    table = DaskTable(client, collection(X, ODD), collection(y, ODD), None)
    assert table.n_rows == N
    table.release()
    assert table.partitions == []
