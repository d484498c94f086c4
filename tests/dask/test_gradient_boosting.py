"""Gradient boosting on a cluster: the model of one machine, on any number of workers and partitions."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from sklearn.base import clone

import committee
from committee.dask import GradientBoostingClassifier, GradientBoostingRegressor
from tests.dask.conftest import cluster_of, wait_until
from tests.dask.models import N_ROWS, TABLE, UNEQUAL, chunked, digest

CLASSIFIER = GradientBoostingClassifier(n_estimators=4, random_state=0)
REGRESSOR = GradientBoostingRegressor(n_estimators=4, random_state=0)

CASES: dict[str, tuple[Any, Any, bool]] = {
    "two classes": (CLASSIFIER, TABLE.label, False),
    "class weights": (clone(CLASSIFIER).set_params(class_weight="balanced"), TABLE.label, True),
    "three classes": (clone(CLASSIFIER).set_params(subsample=0.6), TABLE.kind, False),
    "weights": (clone(REGRESSOR).set_params(learning_rate=1.0, max_features=0.5), TABLE.value, True),
    "expectiles": (clone(REGRESSOR).set_params(loss="expectile", quantile=0.8), TABLE.value, False),
    "poisson": (
        clone(REGRESSOR).set_params(loss="poisson", learning_rate=1.0, monotonic_cst=[1, 0, 0, 0, 0]),
        np.round(np.exp(TABLE.value)), False,
    ),
}  # fmt: skip


def local(model: Any) -> Any:
    """The estimator of one machine with the same parameters."""
    made: Any = getattr(committee, type(model).__name__)()
    return made.set_params(**model.get_params())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_model_of_one_machine(name: str, client: Client) -> None:
    model, y, has_weight = CASES[name]
    weight = TABLE.weight if has_weight else None
    expected = local(model).fit(TABLE.X, y, weight)
    result = clone(model).fit(
        chunked(TABLE.X, UNEQUAL), chunked(y, UNEQUAL), None if weight is None else chunked(weight, UNEQUAL)
    )
    assert digest(result) == digest(expected)
    assert vars(expected).keys() - vars(result).keys() <= {"_state"}
    np.testing.assert_array_equal(result.predict(TABLE.X[:999]), expected.predict(TABLE.X[:999]))


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 3, 4])
def test_any_number_of_workers(n_workers: int) -> None:
    expected = local(CLASSIFIER).fit(TABLE.X, TABLE.label)
    with cluster_of(n_workers) as cluster, Client(cluster) as client:
        result = clone(CLASSIFIER).fit(chunked(TABLE.X), chunked(TABLE.label), client=client)
        assert digest(result) == digest(expected)


@pytest.mark.slow
def test_unknown_chunk_sizes_and_divided_columns(client: Client) -> None:
    X, y = da.from_array(TABLE.X, chunks=(UNEQUAL, (2, 3))), chunked(TABLE.label, UNEQUAL)
    kept = X[:, 3] > -1
    mask = TABLE.X[:, 3] > -1
    assert np.isnan(X[kept].chunks[0]).any()
    result = clone(CLASSIFIER).fit(X[kept], y[kept])
    assert digest(result) == digest(local(CLASSIFIER).fit(TABLE.X[mask], TABLE.label[mask]))


@pytest.mark.slow
def test_data_frames_with_categories(client: Client) -> None:
    """Partitions know different categories, in another order."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(TABLE.X[:, :3], columns=list("abc"))
    frame["few"] = pd.Categorical(rng.choice(["x", "y", "z"], N_ROWS))
    frame["many"] = pd.Categorical((rng.integers(0, 50, N_ROWS) + np.arange(N_ROWS) // 50_000 * 5).astype(str))
    frame["y"] = TABLE.value + (frame["few"] == "y") + frame["many"].isin(["3", "30", "55"])
    frame["w"] = TABLE.weight
    parts = []
    for first in range(0, N_ROWS, 50_000):
        part = frame.iloc[first : first + 50_000].copy()
        part["many"] = pd.Categorical(part["many"].astype(str))
        parts.append(part)
    table = dd.from_map(lambda i: parts[i], range(3), meta=parts[0].iloc[:0])
    features = ["a", "b", "c", "few", "many"]
    whole = pd.concat(parts)  # text: the categories of pandas are not of all partitions
    whole["many"] = pd.Categorical(whole["many"])
    expected = local(REGRESSOR).fit(whole[features], whole["y"], whole["w"])
    result = clone(REGRESSOR).fit(table[features], table["y"], table["w"])
    assert result.feature_names_in_.tolist() == features
    assert digest(result) == digest(expected)
    predicted = result.predict(table[features])
    np.testing.assert_array_equal(predicted.compute(), expected.predict(whole[features]))


@pytest.mark.slow
@pytest.mark.parametrize("is_lazy", [False, True])
def test_validation_rows(is_lazy: bool, client: Client) -> None:
    valid = slice(0, 5000)
    given = {"X_val": TABLE.X[valid], "y_val": TABLE.label[valid], "sample_weight_val": TABLE.weight[valid]}
    model = clone(CLASSIFIER).set_params(n_estimators=50, n_iter_no_change=1, learning_rate=1.0)
    expected = local(model).fit(TABLE.X, TABLE.label, **given)
    assert len(expected) < 50
    if is_lazy:
        given = {name: chunked(values, 2000) for name, values in given.items()}
    assert digest(model.fit(chunked(TABLE.X), chunked(TABLE.label), **given)) == digest(expected)


@pytest.mark.slow
def test_lazy_predictions(client: Client) -> None:
    X = chunked(TABLE.X, UNEQUAL)
    for y, width in ((TABLE.label, 2), (TABLE.kind, 3)):
        model = clone(CLASSIFIER).fit(X, chunked(y, UNEQUAL))
        expected = model.to_local()
        labels, probabilities = model.predict(X), model.predict_proba(X)
        assert labels.chunks == (UNEQUAL,)
        assert probabilities.shape == (N_ROWS, width)
        assert labels.dtype == labels.compute().dtype
        np.testing.assert_array_equal(labels.compute(), expected.predict(TABLE.X))
        np.testing.assert_array_equal(probabilities.compute(), expected.predict_proba(TABLE.X))


@pytest.mark.slow
def test_the_local_model(client: Client) -> None:
    """It is pickled without the classes of this package."""
    model = clone(REGRESSOR).fit(chunked(TABLE.X), chunked(TABLE.value))
    kept = model.to_local()
    assert type(kept) is committee.GradientBoostingRegressor
    again = pickle.loads(pickle.dumps(kept))
    np.testing.assert_array_equal(again.predict(TABLE.X[:500]), model.predict(TABLE.X[:500]))
    assert b"committee.dask" not in pickle.dumps(kept)


def test_tables_in_memory_need_no_cluster() -> None:
    X, y = TABLE.X[:500], TABLE.value[:500]
    assert digest(clone(REGRESSOR).fit(X, y)) == digest(local(REGRESSOR).fit(X, y))


@pytest.mark.slow
def test_two_fits_at_once(client: Client) -> None:
    models = [clone(CLASSIFIER).set_params(random_state=seed, subsample=0.5) for seed in range(2)]
    expected = [digest(local(model).fit(TABLE.X, TABLE.label)) for model in models]
    assert expected[0] != expected[1]
    X, y = chunked(TABLE.X), chunked(TABLE.label)
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(model.fit, X, y, client=client) for model in models]
        assert [digest(each.result()) for each in fits] == expected


def test_the_parameters_of_one_machine() -> None:
    for model in (CLASSIFIER, REGRESSOR):
        assert model.get_params().keys() == local(model).get_params().keys()
        assert signature(type(model)) == signature(type(local(model)))


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyError("mine"), OSError("no such bucket"), MemoryError("mine")])
def test_an_error_of_a_partition_is_raised_as_it_is(error: Exception, client: Client) -> None:
    def fail(part: Any) -> Any:
        raise error

    with pytest.raises(type(error), match=str(error.args[0])):
        clone(CLASSIFIER).fit(chunked(TABLE.X).map_blocks(fail, dtype=float), chunked(TABLE.label))


@pytest.mark.slow
def test_partitions_that_do_not_match(client: Client) -> None:
    X, y, weight = chunked(TABLE.X), chunked(TABLE.label), chunked(TABLE.weight)
    with pytest.raises(ValueError, match="same partitions"):
        clone(CLASSIFIER).fit(X, chunked(TABLE.label, 70_000))
    with pytest.raises(ValueError, match="same partitions"):
        clone(CLASSIFIER).fit(X, y, chunked(TABLE.weight, 70_000))
    with pytest.raises(ValueError, match=r"rows of X, [0-9]* rows of y"):
        clone(CLASSIFIER).fit(X, y.map_blocks(lambda part: part[1:], dtype=y.dtype))
    with pytest.raises(ValueError, match=r"rows of y, [0-9]* rows of sample_weight"):
        clone(CLASSIFIER).fit(X, y, weight.map_blocks(lambda part: part[2:], dtype=float))
    with pytest.raises(TypeError, match="collection of Dask"):
        clone(CLASSIFIER).fit(X, TABLE.label)
    with pytest.raises(ValueError, match="0 sample"):
        clone(CLASSIFIER).fit(X[:0], y[:0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": "auto"}, "Early stopping"),
        ({"early_stopping": "cv"}, "Early stopping"),
        ({"loss": "absolute_error"}, "absolute_error"),
        ({"dropout": 0.1}, "dropout"),
        ({"warm_start": True}, "warm_start"),
    ],
    ids=str,
)
def test_what_blocks_do_not_support(parameters: dict[str, Any], message: str, client: Client) -> None:
    with pytest.raises(ValueError, match=f"{message}.*table in memory"):
        clone(REGRESSOR).set_params(**parameters).fit(chunked(TABLE.X), chunked(TABLE.value))


@pytest.mark.slow
def test_initial_scores_and_zero_weights(client: Client) -> None:
    X, y = chunked(TABLE.X), chunked(TABLE.value)
    with pytest.raises(ValueError, match="init_score"):
        clone(REGRESSOR).fit(X, y, init_score=np.zeros(N_ROWS))
    with pytest.raises(ValueError, match="weight of zero"):
        clone(REGRESSOR).fit(X, y, chunked(np.where(TABLE.weight > 0.1, 1.0, 0.0)))


@pytest.mark.slow
def test_missing_targets_are_the_error_of_one_machine(client: Client) -> None:
    y = TABLE.value.copy()
    y[-1] = np.nan
    with pytest.raises(ValueError, match="NaN") as of_memory:
        local(REGRESSOR).fit(TABLE.X, y)
    with pytest.raises(ValueError, match="NaN") as of_cluster:
        clone(REGRESSOR).fit(chunked(TABLE.X), chunked(y))
    assert str(of_cluster.value) == str(of_memory.value)


def test_without_a_client() -> None:
    with pytest.raises(ValueError, match=r"[Cc]lient"):
        clone(CLASSIFIER).fit(chunked(TABLE.X[:100]), chunked(TABLE.label[:100]))


# --- what is left -----------------------------------------------------------------------------------------------------


def states_on(dask_worker: Any) -> int:
    return len(dask_worker.state.actors)


@pytest.mark.slow
def test_nothing_is_left_on_the_cluster(client: Client) -> None:
    """No task, no data and no actor, after a fit and after one that failed in a round."""

    def stop(record: Any) -> bool:
        if record.round == 2:
            raise ZeroDivisionError
        return False

    def is_clean() -> bool:
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        return tasks == 0 and not any(client.run(states_on).values())

    clone(CLASSIFIER).fit(chunked(TABLE.X), chunked(TABLE.label))
    wait_until(is_clean)
    with pytest.raises(ZeroDivisionError):
        clone(CLASSIFIER).set_params(callbacks=[stop]).fit(chunked(TABLE.X), chunked(TABLE.label))
    wait_until(is_clean)
