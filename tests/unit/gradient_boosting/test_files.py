"""Fits of files: the model of the same table in memory, also where the files are coded on disk and fitted in blocks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.dataset as ds
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from committee import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.blocks import coded_table, coding
from committee.ensemble import sources

N_ROWS, N_VALIDATION = 140_000, 3000
FEATURES = ["few", "many", "a", "b", "c"]


def make_frame(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 3))
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    few, many = rng.choice(list("xyz"), n), rng.integers(0, 40, n)
    signal = numbers[:, 0] + (few == "x") * numbers[:, 1] + np.isin(many, [3, 5, 20])
    noisy = signal + rng.normal(size=n)
    missing = rng.random((n, 3)) < 0.05
    frame = pl.DataFrame(
        {
            "few": pl.Series(few).cast(pl.Categorical),
            "many": pl.Series(many).cast(pl.String).cast(pl.Categorical),
            **{name: pl.Series(np.where(missing[:, j], np.nan, numbers[:, j])) for j, name in enumerate("abc")},
            "label": np.where(noisy > 0.5, "yes", "no"),
            "value": noisy,
            "class": np.digitize(noisy, [-0.5, 1.0]),
            "count": rng.poisson(np.exp(signal / 2)).astype(float),
            "whole": rng.integers(1, 4, n).astype(float),
            "weight": rng.exponential(size=n),
        }
    )
    return frame.with_columns(pl.col("a", "b", "c").fill_nan(None))


FRAME = make_frame(N_ROWS, 0)
VALIDATION = make_frame(N_VALIDATION, 1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tables")
    FRAME.write_parquet(directory / "train.parquet", row_group_size=50_000)
    VALIDATION.write_parquet(directory / "validation.parquet")
    return directory


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of temporary directories."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def on_disk(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every table is fitted in blocks of 65,536 rows."""
    monkeypatch.setattr(sources, "MEMORY_CELLS", 0)
    for module in (coded_table, coding):
        monkeypatch.setattr(module, "BLOCK_ROWS", 2**16)
    return temporary


def scan(files: Path, *targets: str) -> pl.LazyFrame:
    return pl.scan_parquet(files / "train.parquet").select(*FEATURES, *targets)


def assert_same(expected: Any, result: Any) -> None:
    """Equal predictions, histories and fitted attributes; what continues a fit in memory is not there."""
    rows = VALIDATION.select(FEATURES)
    for method in ("predict_proba", "predict"):
        if hasattr(expected, method):
            np.testing.assert_array_equal(getattr(result, method)(rows), getattr(expected, method)(rows))
    for name in expected._trees._fields:
        np.testing.assert_array_equal(getattr(result._trees, name), getattr(expected._trees, name), err_msg=name)
    for name in ("train_loss", "validation_loss", "n_leaves", "n_halved"):
        np.testing.assert_array_equal(getattr(result.history_, name), getattr(expected.history_, name), err_msg=name)
    assert result.stop_reason_ == expected.stop_reason_
    assert vars(expected).keys() - vars(result).keys() <= {"_state"}
    assert vars(result).keys() <= vars(expected).keys()
    np.testing.assert_array_equal(result.feature_names_in_, expected.feature_names_in_)


CASES: dict[str, tuple[Any, str, str | None]] = {
    "two classes": (GradientBoostingClassifier(n_estimators=4), "label", None),
    "whole weights": (GradientBoostingClassifier(n_estimators=4), "label", "whole"),
    "class weights": (GradientBoostingClassifier(n_estimators=4, class_weight="balanced"), "label", "weight"),
    "three classes": (GradientBoostingClassifier(n_estimators=3, class_weight={0: 1.0, 1: 2.0, 2: 1.5}), "class", None),
    "sample": (GradientBoostingRegressor(n_estimators=4, subsample=0.5, colsample_bytree=0.7), "value", "weight"),
    "expectiles": (GradientBoostingRegressor(n_estimators=3, loss="expectile", quantile=0.7), "value", "weight"),
    "monotone": (GradientBoostingRegressor(n_estimators=4, loss="poisson", monotonic_cst={"a": 1}), "count", None),
    "max_bins": (
        GradientBoostingRegressor(n_estimators=3, max_bins=20, interaction_cst=[[0, 2], [1, 3, 4]]),
        "value",
        None,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_lazy_table_in_blocks(name: str, files: Path, on_disk: Path) -> None:
    model, y, weight = CASES[name]
    model = clone(model).set_params(random_state=3, n_jobs=2)
    expected = clone(model).fit(FRAME.select(FEATURES), FRAME[y], None if weight is None else FRAME[weight])
    result = model.fit(scan(files, y, *([] if weight is None else [weight])), y, weight)
    assert_same(expected, result)
    assert not any(on_disk.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("reads_whole", [False, True])
def test_every_kind_of_source(reads_whole: bool, files: Path, on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, patterns, datasets and functions, in blocks and read as a whole."""
    if reads_whole:
        monkeypatch.setattr(sources, "MEMORY_CELLS", 2**27)
    table = FRAME.select("a", "b", "c", "label")
    folder = on_disk.parent / f"parts-{reads_whole}"
    folder.mkdir()
    for i in range(3):
        table[50_000 * i : 50_000 * (i + 1)].write_parquet(folder / f"part{i}.parquet")
    table.write_csv(folder / "all.csv")
    parts = sorted(folder.glob("*.parquet"))
    given = {
        "path": folder / "part0.parquet",
        "csv": str(folder / "all.csv"),
        "list": parts,
        "pattern": str(folder / "*.parquet"),
        "lazy": pl.scan_parquet(folder / "*.parquet"),
        "dataset": ds.dataset([str(part) for part in parts]),
        "function": lambda: (table[start : start + 33_333] for start in range(0, N_ROWS, 33_333)),
    }
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    for name, source in given.items():
        rows = table[:50_000] if name == "path" else table
        expected = clone(model).fit(rows.drop("label"), rows["label"])
        result = clone(model).fit(source, "label")
        np.testing.assert_array_equal(
            result.predict_proba(VALIDATION.select("a", "b", "c")),
            expected.predict_proba(VALIDATION.select("a", "b", "c")),
            err_msg=name,
        )
    assert not any(path.name.startswith("committee-") for path in on_disk.iterdir())


@pytest.mark.slow
def test_validation_rows_from_files(files: Path, on_disk: Path) -> None:
    """The target of validation files is the column of the training table, or the one that y_val names."""
    model = GradientBoostingClassifier(n_estimators=60, n_iter_no_change=2, learning_rate=0.8, random_state=0)
    expected = clone(model).fit(
        FRAME.select(FEATURES), FRAME["label"], X_val=VALIDATION.select(FEATURES), y_val=VALIDATION["label"],
        sample_weight_val=VALIDATION["weight"],
    )  # fmt: skip
    assert len(expected) < 60
    valid = pl.scan_parquet(files / "validation.parquet").select(*FEATURES, "label", "weight")
    for y_val in (None, "label"):
        result = clone(model).fit(scan(files, "label"), "label", X_val=valid, y_val=y_val, sample_weight_val="weight")
        assert_same(expected, result)
    result = clone(model).fit(
        scan(files, "label"), "label", X_val=VALIDATION.select(FEATURES), y_val=VALIDATION["label"],
        sample_weight_val=VALIDATION["weight"].to_numpy(),
    )  # fmt: skip
    assert_same(expected, result)
    assert not any(on_disk.iterdir())


@pytest.mark.slow
def test_regression_with_validation_rows(files: Path, on_disk: Path) -> None:
    """The residuals of validation rows, from which intervals are computed, are there as well."""
    model = GradientBoostingRegressor(n_iter_no_change=2, n_estimators=40, learning_rate=0.8, random_state=0)
    valid = VALIDATION.select(FEATURES)
    expected = clone(model).fit(FRAME.select(FEATURES), FRAME["value"], X_val=valid, y_val=VALIDATION["value"])
    result = clone(model).fit(scan(files, "value"), "value", X_val=valid, y_val=VALIDATION["value"])
    assert_same(expected, result)


@pytest.mark.slow
def test_a_fit_of_files_replaces_an_earlier_one(files: Path, on_disk: Path) -> None:
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    model.fit(FRAME.select("a", "b")[:1000], FRAME["class"][:1000])
    model.fit(scan(files, "label"), "label")
    fresh = clone(model).fit(scan(files, "label"), "label")
    assert vars(model).keys() == vars(fresh).keys()
    assert_same(fresh, model)


# --- what blocks do not support -----------------------------------------------------------------------------------


def user_loss(y: NDArray[Any], score: NDArray[Any]) -> Any:
    return (score - y) ** 2


UNSUPPORTED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "cv": (GradientBoostingRegressor(early_stopping="cv"), {}, "Early stopping.*X_val"),
    "held-out rows": (GradientBoostingRegressor(early_stopping=True), {}, "Early stopping.*X_val"),
    "automatic": (GradientBoostingRegressor(), {}, "Early stopping.*n_estimators"),
    "absolute error": (GradientBoostingRegressor(n_estimators=2, loss="absolute_error"), {}, "loss='absolute_error'"),
    "quantile": (GradientBoostingRegressor(n_estimators=2, loss="quantile"), {}, "loss='quantile'"),
    "huber": (GradientBoostingRegressor(n_estimators=2, loss="huber"), {}, "loss='huber'"),
    "dropout": (GradientBoostingRegressor(n_estimators=2, dropout=0.1), {}, "dropout"),
    "warm start": (GradientBoostingRegressor(n_estimators=2, warm_start=True), {}, "warm_start"),
    "initial scores": (GradientBoostingRegressor(n_estimators=2), {"init_score": np.zeros(N_ROWS)}, "init_score"),
    "zero weights": (GradientBoostingRegressor(n_estimators=2), {"sample_weight": "zero"}, "weight of zero"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_blocks_do_not_support(name: str, files: Path, on_disk: Path) -> None:
    model, arguments, message = UNSUPPORTED[name]
    table = scan(files, "value", "weight").with_columns(zero=(pl.col("weight") > 0.2).cast(pl.Float64)).drop("weight")
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"{message}.*table in memory"):
        model.fit(table, "value", **arguments)
    assert vars(model) == before
    assert not any(on_disk.iterdir())


@pytest.mark.slow
def test_a_missing_column(files: Path, on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cells in (0, 2**27):
        monkeypatch.setattr(sources, "MEMORY_CELLS", cells)
        model = GradientBoostingClassifier(n_estimators=2)
        with pytest.raises(ValueError, match="'nothing'"):
            model.fit(scan(files, "label"), "nothing")
        with pytest.raises(ValueError, match="'nothing'"):
            model.fit(scan(files, "label"), "label", "nothing")
    assert not any(on_disk.iterdir())


@pytest.mark.slow
def test_a_table_of_one_class(files: Path, on_disk: Path) -> None:
    """As in memory: a model that predicts it, and a warning."""
    model = GradientBoostingClassifier(n_estimators=2)
    with pytest.warns(ConvergenceWarning, match="no split"):
        model.fit(scan(files).with_columns(label=pl.lit("yes")), "label")
    assert set(model.predict(VALIDATION.select(FEATURES))) == {"yes"}
    assert not any(on_disk.iterdir())


# --- temporary directories --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_after_an_interrupted_fit(error: type[BaseException], files: Path, on_disk: Path) -> None:
    seen: list[bool] = []

    def interrupt(record: Any) -> bool:
        seen.append(any(on_disk.iterdir()))
        raise error

    model = GradientBoostingRegressor(n_estimators=3, callbacks=[interrupt])
    with pytest.raises(error):
        model.fit(scan(files, "value"), "value")
    assert seen == [True]
    assert not any(on_disk.iterdir())
    assert not hasattr(model, "n_estimators_")


@pytest.mark.slow
def test_cells_are_warned_of(files: Path, on_disk: Path) -> None:
    """Automatic rounds over many categories would have cell rounds in memory."""
    model = GradientBoostingRegressor(max_leaf_nodes=4, n_iter_no_change=1, learning_rate=1.0, random_state=0)
    many = scan(files, "value").with_columns(many=(pl.int_range(pl.len()) % 300).cast(pl.String).cast(pl.Categorical))
    rows = VALIDATION.select(FEATURES)
    with pytest.warns(UserWarning, match="without cell rounds"):
        model.fit(many, "value", X_val=rows, y_val=VALIDATION["value"])


# --- other ensembles --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "y", "weight"),
    [
        (RandomForestClassifier(n_estimators=3, random_state=0), "label", None),
        (RandomForestRegressor(n_estimators=3, random_state=0), "value", "weight"),
        (BaggingRegressor(n_estimators=2, random_state=0), "value", None),
        (AdaBoostClassifier(n_estimators=3, random_state=0), "label", "weight"),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else str(each),
)
def test_other_ensembles_read_files_as_a_whole(model: Any, y: str, weight: str | None, temporary: Path) -> None:
    names = ["a", "c", y, *([] if weight is None else [weight])]
    table = FRAME.select(names).drop_nulls()[:2000]
    path = temporary / "table.parquet"
    table.write_parquet(path)
    X = table.select("a", "c")
    expected = clone(model).fit(X, table[y], None if weight is None else table[weight])
    for source in (path, [str(path)], pl.scan_parquet(path), ds.dataset(str(path))):
        result = clone(model).fit(source, y, weight)
        np.testing.assert_array_equal(result.predict(X), expected.predict(X))
        assert result.feature_names_in_.tolist() == ["a", "c"]


def test_a_forest_names_a_missing_column(temporary: Path) -> None:
    path = temporary / "table.parquet"
    FRAME.select("a", "label")[:100].write_parquet(path)
    with pytest.raises(ValueError, match=r"no column 'w' for the weight.*'a', 'label'"):
        RandomForestClassifier(n_estimators=1).fit(path, "label", "w")


def test_a_path_without_the_name_of_the_target(temporary: Path) -> None:
    path = temporary / "table.parquet"
    FRAME.select("a", "value")[:100].write_parquet(path)
    with pytest.raises((ValueError, TypeError)):
        GradientBoostingRegressor(n_estimators=1).fit(path, FRAME["value"][:100])
