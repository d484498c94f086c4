"""Tables coded on disk: equal to the table in memory, reused, and never half there."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import subprocess
import sys
import weakref
from collections import namedtuple
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.blocks import coding as coding_module
from committee.blocks import csv_file, streams, targets
from committee.blocks.coded_table import BLOCK_ROWS, CodedTable, remove_directory
from committee.blocks.coding import Coding, code_table_on_disk
from committee.sampling.resampling import without_common_factor
from committee.tabular.validation import (
    read_one_target,
    read_targets_classification,
    read_training_table,
    read_weights,
)
from committee.tree_engine.binning import SAMPLE_ROWS, BinMapper
from committee.tree_engine.histograms import make_tiles

CLASSIFIER, REGRESSOR = GradientBoostingClassifier(), GradientBoostingRegressor()

Y = Coding("y")
WEIGHTED = Coding("y", "w")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the tests come in many batches."""
    monkeypatch.setattr(streams, "MIN_BATCH_ROWS", 7)
    monkeypatch.setattr(streams, "MAX_BATCH_ROWS", 7)
    monkeypatch.setattr(csv_file, "BLOCK_BYTES", 300)


def numbers(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    return {
        "dense": rng.normal(size=n),
        "gaps": gaps,
        "few": rng.integers(0, 5, n),
        "single": rng.normal(size=n).astype(np.float32),
        "y": rng.integers(0, 3, n) * 2,
        "w": rng.integers(0, 3, n).astype(float),
        "flag": rng.random(n) < 0.3,
    }


def in_memory(frame: Any, coding: Coding, estimator: Any) -> tuple[Any, ...]:
    """Columns, bins and codes, classes, target and weights of a frame, read as estimators do."""
    table: Any = nw.from_native(frame, eager_only=True)
    special = [coding.target, *([coding.weight] if coding.weight else [])]
    weight = None if coding.weight is None else table[coding.weight].to_native()
    columns, X = read_training_table(
        estimator, table.drop(special).to_native(), categorical_features=coding.categorical, sample_weight=weight
    )
    weight = read_weights(weight, len(table))
    matrix = BinMapper(coding.max_bins).fit_transform(X, weight, columns.is_categorical)
    y = table[coding.target].to_native()
    if isinstance(estimator, GradientBoostingClassifier):
        classes, target = read_targets_classification(y, len(table))
    else:
        classes, target = None, read_one_target(y, len(table), "this")
    return columns, matrix, classes, target, weight


def assert_same(table: CodedTable, frame: Any, coding: Coding, estimator: Any) -> None:
    columns, matrix, classes, target, weight = in_memory(frame, coding, estimator)
    assert table.columns == columns
    for name in ("n_bins", "offsets", "lower", "upper", "is_categorical"):
        np.testing.assert_array_equal(getattr(table.matrix, name), getattr(matrix, name), err_msg=name)
        assert getattr(table.matrix, name).dtype == getattr(matrix, name).dtype
    assert table.matrix.codes.shape == (columns.n_features, 0)
    assert table.matrix.codes.dtype == np.uint8
    for b in range(table.n_blocks):
        expected = make_tiles(np.ascontiguousarray(matrix.codes[:, table.rows(b)]))
        np.testing.assert_array_equal(table.tiles(b), expected)
        assert table.tiles(b).flags.c_contiguous
        assert table.tiles(b).ctypes.data % 64 == 0
    np.testing.assert_array_equal(table.target, target)
    assert table.target.dtype == np.float64
    if classes is None:
        assert table.classes is None
    else:
        np.testing.assert_array_equal(table.classes, classes)
        assert table.classes is not None
        assert table.classes.dtype == classes.dtype
    if weight is None:
        assert table.weight is None
        assert not (table.directory / "weight.f64").exists()
    else:
        np.testing.assert_array_equal(table.weight, weight)


def check(source: Any, frame: Any, coding: Coding = Y, estimator: Any = CLASSIFIER) -> None:
    with code_table_on_disk(source, coding, estimator=estimator) as table:
        assert_same(table, frame, coding, estimator)


def parquet(frame: pl.DataFrame, path: Path, rows: int = 10) -> Path:
    pq.write_table(frame.to_arrow(), path, row_group_size=rows)
    return path


# --- equal to the table in memory -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("coding", [Y, WEIGHTED, Coding("y", max_bins=4), Coding("flag", "w"), Coding("gaps_", "w")])
@pytest.mark.parametrize("estimator", [CLASSIFIER, REGRESSOR])
def test_numbers_equal_those_in_memory(tmp_path: Path, coding: Coding, estimator: Any) -> None:
    frame = pl.DataFrame(numbers(200)).with_columns(gaps_=pl.col("gaps").fill_nan(3.0).round(0))
    check(parquet(frame, tmp_path / "t.parquet"), frame, coding, estimator)


@pytest.mark.parametrize("coding", [Y, WEIGHTED])
def test_the_sampled_rows_of_large_tables_and_several_blocks_equal_those_in_memory(
    tmp_path: Path, coding: Coding
) -> None:
    n = BLOCK_ROWS + 60_000
    assert n * 2 / 3 > SAMPLE_ROWS  # also without the rows of weight 0
    frame = pl.DataFrame(numbers(n)).drop("single").with_columns(few=pl.col("few").cast(pl.String).cast(pl.Categorical))
    path = parquet(frame, tmp_path / "t.parquet", 100_000)
    with code_table_on_disk(path, coding, estimator=CLASSIFIER, n_jobs=2) as table:
        assert (table.n_blocks, table.rows(1)) == (2, slice(BLOCK_ROWS, n))
        assert_same(table, pq.read_table(path), coding, CLASSIFIER)


def test_blocks_are_mapped_one_by_one_where_all_codes_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = BLOCK_ROWS + 1000
    frame = pl.DataFrame(numbers(n)).select("y", "dense", "flag")
    memmap: Any = np.memmap

    def limited(path: Path, dtype: Any, mode: str, offset: int, shape: tuple[int]) -> Any:
        if dtype is np.uint8 and shape[0] > BLOCK_ROWS * 32:
            raise OSError(12, "Cannot allocate memory")
        return memmap(path, dtype, mode=mode, offset=offset, shape=shape)

    table = code_table_on_disk(frame, Y, estimator=CLASSIFIER)
    monkeypatch.setattr(np, "memmap", limited)
    assert_same(CodedTable.open(table.directory), frame, Y, CLASSIFIER)


def test_more_than_32_columns_fill_several_tiles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.normal(size=50) for i in range(40)} | {"y": rng.integers(0, 2, 50)})
    with code_table_on_disk(parquet(frame, tmp_path / "t.parquet"), Y, estimator=CLASSIFIER) as table:
        assert table.n_tiles == 2
        assert_same(table, frame, Y, CLASSIFIER)


def categories(n: int, n_words: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    words = [f"w{i:03}" for i in rng.permutation(n_words)]
    column = [words[min(int(i), n_words - 1)] for i in rng.exponential(n_words / 3, n)]
    column[3] = None  # type: ignore[call-overload]
    data = numbers(n)
    return pl.DataFrame(
        {"text": column, "y": data["y"], "w": data["w"] + rng.random(n) * (data["w"] > 0), "x": data["dense"]}
    )


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("coding", [Y, WEIGHTED])
@pytest.mark.parametrize("n_words", [5, 400])
@pytest.mark.parametrize("kind", ["string", "categorical", "enum"])
@pytest.mark.parametrize("reader", ["polars", "pyarrow"])
def test_categories_equal_those_in_memory(
    tmp_path: Path, coding: Coding, n_words: int, kind: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = categories(1500, n_words)
    order = frame["text"].drop_nulls().unique().sort(descending=True).to_list()
    dtype: Any = {"string": pl.String, "categorical": pl.Categorical, "enum": pl.Enum(["unseen", *order])}[kind]
    frame = frame.with_columns(pl.col("text").cast(dtype))
    if kind == "string":
        coding = coding._replace(categorical=["text"])
    path = tmp_path / "t.parquet"
    frame.write_parquet(path, row_group_size=100)
    monkeypatch.setattr(streams, "is_installed", lambda library: library == reader)
    check(path, frame if reader == "polars" else pq.read_table(path), coding)
    check(frame.lazy(), frame, coding)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_pandas_keep_their_order(tmp_path: Path, ordered: bool) -> None:
    frame = pd.DataFrame({"c": pd.Categorical(list("bacab") * 8, ["d", "c", "a", "b"], ordered), "y": [0, 1] * 20})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=6)
    frame.to_feather(tmp_path / "t.feather")
    for source in (tmp_path / "t.parquet", tmp_path / "t.feather", frame, lambda: iter([frame[:9], frame[9:]])):
        check(source, frame)


@pytest.mark.usefixtures("small_batches")
def test_categorical_numbers_and_bools(tmp_path: Path) -> None:
    frame = pl.DataFrame(numbers(100)).with_columns(few=pl.when(pl.col("few") > 0).then(pl.col("few")))
    coding = WEIGHTED._replace(categorical=["few", "flag"])
    check(parquet(frame, tmp_path / "t.parquet"), frame, coding)
    check(parquet(frame, tmp_path / "t.parquet"), frame, coding._replace(categorical=[2, 4]))


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    "labels",
    [["b", "a", "ç"], [True, False], [3, -1, 2], [2.0, 0.0], [datetime.date(2020, 1, 2), datetime.date(2019, 1, 1)]],
)
def test_classes_of_every_type(tmp_path: Path, labels: list[Any]) -> None:
    frame = pl.DataFrame({"x": range(30), "y": [labels[i % len(labels)] for i in range(29)] + [labels[-1]]})
    check(parquet(frame, tmp_path / "t.parquet"), frame.to_arrow())
    check(frame, frame)
    table = code_table_on_disk(tmp_path / "t.parquet", Y, estimator=CLASSIFIER, directory=tmp_path / "kept")
    np.testing.assert_array_equal(CodedTable.open(tmp_path / "kept").classes, table.classes)  # type: ignore[arg-type]


@pytest.mark.usefixtures("small_batches")
def test_a_rare_category_of_rows_without_weight_is_no_category(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c": ["a", "b"] * 10 + ["z"], "y": [0, 1, 1] * 7, "w": [1.0, 2.0] * 10 + [0.0]})
    path = parquet(frame, tmp_path / "t.parquet")
    coding = WEIGHTED._replace(categorical=["c"])
    check(path, frame, coding)
    with code_table_on_disk(path, coding, estimator=CLASSIFIER) as table:
        assert table.columns.category_names(0) == ["a", "b"]


def test_bins_follow_the_weights_that_a_function_makes_of_target_and_weights(tmp_path: Path) -> None:
    frame = pl.DataFrame(numbers(2000)).with_columns(w=pl.col("w") * 6.0)
    path = parquet(frame, tmp_path / "t.parquet")

    def balanced(labels: Any) -> Any:
        return without_common_factor(labels.weight) * np.array([1.0, 2.0, 0.5])[labels.target.astype(int)]

    with code_table_on_disk(path, WEIGHTED, estimator=CLASSIFIER, row_weights=balanced) as table:
        weight = frame["w"].to_numpy() / 6.0 * np.array([1.0, 2.0, 0.5])[frame["y"].to_numpy() // 2]
        _, X = read_training_table(CLASSIFIER, frame.drop("y", "w"), sample_weight=frame["w"].to_numpy())
        matrix = BinMapper().fit_transform(X, weight)
        np.testing.assert_array_equal(table.matrix.upper, matrix.upper)
        plain = BinMapper().fit_transform(X, frame["w"].to_numpy())
        assert not np.array_equal(matrix.upper, plain.upper)


# --- sources ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_batches")
def test_every_source_of_the_same_rows_gives_the_same_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame(numbers(103)).with_columns(gaps=pl.col("gaps").fill_nan(None))
    arrow = frame.to_arrow()
    parquet(frame, tmp_path / "one.parquet", 1000)
    frame.write_ipc(tmp_path / "file.arrow", record_batch_size=30)
    feather.write_feather(arrow, tmp_path / "packed.feather", compression="zstd", chunksize=20)
    with pa.ipc.new_stream(tmp_path / "stream.ipc", arrow.schema) as writer:
        writer.write_table(arrow, max_chunksize=11)
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    for name, part in (("a.parquet", frame[:9]), ("b.parquet", frame[9:9]), ("deep/c.parquet", frame[9:])):
        parquet(part, tmp_path / "parts" / name, 8)
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / ".a.parquet.crc").touch()
    sources: list[Any] = [
        *(tmp_path / name for name in ("one.parquet", "file.arrow", "packed.feather", "stream.ipc", "parts")),
        str(tmp_path / "one.parquet"),
        [tmp_path / "parts" / "a.parquet", str(tmp_path / "parts" / "deep")],
        str(tmp_path / "parts" / "**" / "*.parquet"),
        pl.scan_parquet(tmp_path / "one.parquet"),
        pl.scan_parquet(tmp_path / "parts").filter(pl.col("w") >= 0),
        frame.lazy(),
        ds.dataset(tmp_path / "one.parquet"),
        ds.dataset(tmp_path / "parts"),
        ds.dataset(tmp_path / "file.arrow", format="ipc"),
        ds.dataset(arrow),
        frame,
        arrow,
        lambda: iter([frame[:50], frame[50:50], frame[50:]]),
        lambda: arrow.to_batches(max_chunksize=40),
    ]
    for source in sources:
        check(source, frame, WEIGHTED)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("reader", ["polars", "pyarrow"])
def test_one_library_is_enough(tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "polars" if reader == "pyarrow" else "pyarrow"
    frame = pl.DataFrame(numbers(60))
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=25)
    frame.write_ipc(tmp_path / "t.arrow", record_batch_size=25)
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(streams, "is_installed", lambda library: library == reader)
    for kind in ("parquet", "arrow", "csv"):
        with monkeypatch.context() as patch:
            if reader == "polars":  # pyarrow itself imports no polars, narwhals neither
                patch.setitem(sys.modules, other, None)
            check(tmp_path / f"t.{kind}", pl.read_csv(tmp_path / "t.csv") if kind == "csv" else frame, WEIGHTED)


def test_without_a_library_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "is_installed", lambda library: False)
    with pytest.raises(ImportError, match=r"pip install pyarrow, or pip install committee\[app\]"):
        code_table_on_disk(parquet(pl.DataFrame(numbers(5)), tmp_path / "t.parquet"), Y, estimator=CLASSIFIER)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("reader", ["polars", "pyarrow"])
@pytest.mark.parametrize(("separator", "ending"), [(",", ".csv"), (";", ".csv.gz"), ("\t", ".tsv")])
def test_csv_files(tmp_path: Path, separator: str, ending: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types come from all rows: integers first, then other numbers; values only far below; text."""
    n = 90
    data = {
        "x": [*map(str, range(70)), *(str(i / 4) for i in range(20))],
        "late": [None] * 60 + [1.5] * 30,
        "void": [None] * n,
        "y": ['say "a, b"', "c;\nd"] * 45,
    }
    text = pl.DataFrame(data).write_csv(separator=separator, null_value="NA")
    frame = pl.DataFrame(data, schema_overrides={"void": pl.Float64}).with_columns(pl.col("x").cast(pl.Float64))
    path = tmp_path / f"t{ending}"
    if ending.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    monkeypatch.setattr(streams, "is_installed", lambda library: library == reader)
    for source, expected in ((path, frame), ([path, path], pl.concat([frame, frame]))):
        check(source, expected if reader == "polars" else expected.to_arrow())


@pytest.mark.usefixtures("small_batches")
def test_csv_files_of_different_types_share_the_wider_one(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,c,y\n1,7,0\n2,8,1\n")
    (tmp_path / "2.csv").write_text("x,c,y\n")
    (tmp_path / "3.csv").write_text("x,c,y\n1.5,b,1\n")
    frame = pl.DataFrame({"x": [1.0, 2.0, 1.5], "c": ["7", "8", "b"], "y": [0, 1, 1]})
    check(str(tmp_path / "*.csv"), frame, Coding("y", categorical=["c"]))


# --- errors -----------------------------------------------------------------------------------------------------------


def broken(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1], "w": [1.0] * 4} | columns)


INVALID = [
    broken(x=[1.0, 2.0, np.inf, 0.0]),
    broken(x=[1.0, 2.0, -np.inf, 0.0]),
    broken(x=["a", "b", "c", "d"]),
    broken(x=[datetime.date(2020, 1, 1)] * 4),
    broken(x=[[1.0]] * 4),
    broken(x=[1, 2, 3, 2**53 + 1]),
    broken(y=[0, 1, None, 1]),
    broken(y=[0.0, 1.0, np.nan, 1.0]),
    broken(y=[0.5, 1.0, 0.25, 1.0]),
    broken(w=[1.0, -1.0, 1.0, 1.0]),
    broken(w=[1.0, np.nan, 1.0, 1.0]),
    broken(w=[0.0] * 4),
    broken(w=[1e-200] * 4),
    broken(w=[1e200] * 4),
    broken(w=["1"] * 4),
    broken()[:0],
    broken().drop("x"),
]
INVALID_VALUES = [broken(y=[0.0, 1.0, np.inf, 1.0]), broken(y=[0.0, 1e200, 0.0, 1.0]), broken(y=[0.0] * 3 + [1e-200])]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("case", range(len(INVALID) + len(INVALID_VALUES)))
def test_invalid_tables_raise_the_errors_of_tables_in_memory(tmp_path: Path, case: int) -> None:
    frame = (INVALID + INVALID_VALUES)[case]
    estimator = CLASSIFIER if case < len(INVALID) else REGRESSOR
    path = parquet(frame, tmp_path / "t.parquet", 2)
    with pytest.raises((ValueError, TypeError)) as expected:
        in_memory(pq.read_table(path), WEIGHTED, type(estimator)())
    with pytest.raises(expected.type) as raised:
        code_table_on_disk(path, WEIGHTED, estimator=estimator, directory=tmp_path / "kept")
    assert str(raised.value) == str(expected.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet"]


def test_errors_about_the_source(tmp_path: Path) -> None:
    def fails(source: Any, coding: Coding = Y) -> Any:
        return code_table_on_disk(source, coding, estimator=CLASSIFIER)

    frame = broken()
    path = parquet(frame, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"no column 'z' for the target: it has \['x', 'y', 'w'\]"):
        fails(path, Coding("z"))
    with pytest.raises(ValueError, match="no column 'z' for the weight"):
        fails(path, Coding("y", "z"))
    with pytest.raises(ValueError, match="cannot be both target and weight"):
        fails(path, Coding("y", "y"))
    with pytest.raises(FileNotFoundError, match=r"nothing.*Pass Parquet"):
        fails(tmp_path / "nothing.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="No Parquet, CSV or Arrow files"):
        fails(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"different columns: \['w'\]"):
        fails([path, parquet(frame.drop("w"), tmp_path / "u.parquet")])
    with pytest.raises(ValueError, match="Column 'x' holds numbers in the first rows and strings in later ones"):
        fails([path, parquet(frame.with_columns(pl.col("x").cast(pl.String)), tmp_path / "u.parquet")])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    (tmp_path / "bad.arrow").write_bytes(b"nothing")
    (tmp_path / "bad.csv").write_bytes(b"")
    for name in ("bad.parquet", "bad.arrow", "bad.csv"):
        with pytest.raises(ValueError, match=name):
            fails(tmp_path / name)
    (tmp_path / "rows.ndjson").write_text('{"x": 1}')
    with pytest.raises(ValueError, match="JSON"):
        fails(tmp_path / "rows.ndjson")
    parquet(frame, tmp_path / "empty" / "t.parquet")
    (tmp_path / "hive" / "x=1").mkdir(parents=True)
    parquet(frame, tmp_path / "hive" / "x=1" / "t.parquet")
    with pytest.raises(ValueError, match="hive"):
        fails(tmp_path / "hive")
    with pytest.raises(TypeError, match="type dict cannot be read in batches"):
        fails({"x": [1]})
    with pytest.raises(ValueError, match="gives no batches"):
        fails(lambda: iter([]))
    with pytest.raises(ValueError, match="A batch has the columns"):
        fails(lambda: iter([frame, frame.drop("w")]))
    frame = frame.with_columns(c=pl.Series([1, 2, 1, 2]).cast(pl.Decimal(10, 2)))
    with pytest.raises(TypeError, match="Column 'c' has categories such as Decimal"):
        fails(frame, Coding("y", categorical=["c"]))


def test_a_source_that_changes_between_the_passes_is_an_error(tmp_path: Path) -> None:
    n_calls = 0

    def growing() -> Any:
        nonlocal n_calls
        n_calls += 1
        return iter([broken()] * (1 + (n_calls > 3)))

    def unordered() -> Any:
        nonlocal n_calls
        n_calls += 1
        return iter([broken() if n_calls < 4 else broken()[::-1]])

    with pytest.raises(ValueError, match=r"changed while it was read: 4 rows were expected, more came"):
        code_table_on_disk(growing, Y, estimator=CLASSIFIER)
    for estimator in (CLASSIFIER, REGRESSOR):
        n_calls = 0
        with pytest.raises(ValueError, match="rows came with other targets, or in another order"):
            code_table_on_disk(unordered, Y, estimator=estimator)
    path = parquet(broken(), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="the size or time of a file is another"):
        code_table_on_disk(path, Y, estimator=CLASSIFIER, row_weights=lambda labels: os.utime(path, (1, 1)))


# --- the directory ----------------------------------------------------------------------------------------------------


def test_kept_codes_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame(numbers(50)).with_columns(few=pl.col("few").cast(pl.String).cast(pl.Categorical))
    path = parquet(frame, tmp_path / "t.parquet")
    kept = tmp_path / "deep" / "kept"
    code_table_on_disk(path, WEIGHTED, estimator=CLASSIFIER, directory=kept).close()
    assert sorted(each.name for each in kept.iterdir()) == [
        "bins.npz", "codes.u8", "header.json", "target.f64", "weight.f64",
    ]  # fmt: skip
    monkeypatch.setattr(coding_module, "write_table", None)
    for table in (
        code_table_on_disk(str(path), WEIGHTED, estimator=CLASSIFIER, directory=kept),
        CodedTable.open(kept),
    ):
        assert_same(table, pq.read_table(path), WEIGHTED, CLASSIFIER)
    assert kept.exists()


def test_codes_of_another_table_are_refused(tmp_path: Path) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    kept = tmp_path / "kept"

    def fit(source: Any = path, coding: Coding = Y, estimator: Any = CLASSIFIER, **options: Any) -> Any:
        return code_table_on_disk(source, coding, estimator=estimator, directory=kept, **options)

    kept.mkdir()
    fit()
    with pytest.raises(ValueError, match="max_bins=255, not 7"):
        fit(coding=Y._replace(max_bins=7))
    with pytest.raises(ValueError, match="weight=None, not 'w'"):
        fit(coding=WEIGHTED)
    with pytest.raises(ValueError, match="estimator='classifier', not 'regressor'"):
        fit(estimator=REGRESSOR)
    with pytest.raises(ValueError, match="categorical='from_dtype', not \\[0\\]"):
        fit(coding=Y._replace(categorical=np.array([0])))
    with pytest.raises(ValueError, match="other weights of rows"):
        fit(row_weights=lambda labels: labels.target + 1.0)
    with pytest.raises(ValueError, match="codes of other files"):
        fit([path, path])
    with pytest.raises(ValueError, match="codes of other files"):
        fit(parquet(broken(), tmp_path / "u.parquet"))
    with pytest.raises(ValueError, match=r"only files can be compared.*CodedTable\.open"):
        fit(broken())
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match=r"t\.parquet has changed since"):
        fit()


def test_directories_that_hold_something_else(tmp_path: Path) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="holds no coded table"):
        code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=tmp_path)
    with pytest.raises(NotADirectoryError, match="is a file"):
        code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=path)
    with pytest.raises(ValueError, match="holds no coded table"):
        CodedTable.open(tmp_path)
    kept = tmp_path / "kept"
    code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=kept)
    os.truncate(kept / "codes.u8", 64)
    with pytest.raises(ValueError, match=r"codes\.u8 has 64 bytes"):
        CodedTable.open(kept)
    header = json.loads((kept / "header.json").read_text())
    (kept / "header.json").write_text(json.dumps(header | {"version": 0}))
    with pytest.raises(ValueError, match="another version"):
        CodedTable.open(kept)


def test_the_faster_one_of_two_processes_wins(tmp_path: Path) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    kept = tmp_path / "kept"
    n_calls = 0

    def other(labels: Any) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=kept)

    table = code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=kept, row_weights=other)
    assert_same(table, broken(), Y, CLASSIFIER)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept", "t.parquet"]


@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupted_build_leaves_nothing(tmp_path: Path, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(coding_module.tempfile, "tempdir", str(tmp_path / "tmp"))
    before = sorted(tmp_path.rglob("*"))

    def interrupt(codes: Any) -> Any:
        assert sorted(tmp_path.rglob("codes.u8"))
        raise KeyboardInterrupt

    monkeypatch.setattr(coding_module, "make_tiles", interrupt)
    with pytest.raises(KeyboardInterrupt):
        code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=tmp_path / "kept" if kept else None)
    assert sorted(tmp_path.rglob("*")) == before


def test_temporary_codes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding_module.tempfile, "tempdir", str(tmp_path))
    table = code_table_on_disk(broken(), Y, estimator=CLASSIFIER)
    assert table.directory.parent == tmp_path
    table.close()
    table.close()
    assert not list(tmp_path.iterdir())
    table = code_table_on_disk(broken(), Y, estimator=CLASSIFIER)
    last = weakref.ref(table)
    del table
    assert last() is None
    assert not list(tmp_path.iterdir())


def test_a_forked_process_removes_nothing(tmp_path: Path) -> None:
    remove_directory(tmp_path, os.getpid() + 1)
    assert tmp_path.exists()
    remove_directory(tmp_path, os.getpid())
    assert not tmp_path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGINT)", "raise RuntimeError"])
def test_temporary_codes_are_removed_at_the_end_of_the_process(tmp_path: Path, end: str) -> None:
    script = (
        "import os, signal, polars as pl\n"
        "from committee import GradientBoostingClassifier\n"
        "from committee.blocks.coding import Coding, code_table_on_disk\n"
        "frame = pl.DataFrame({'x': [1.0, 2.0], 'y': [0, 1]})\n"
        "table = code_table_on_disk(frame, Coding('y'), estimator=GradientBoostingClassifier())\n"
        f"assert table.directory.exists()\nprint(table.directory, flush=True)\n{end}\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(str(tmp_path / "committee-"))
    assert not Path(done.stdout.strip()).exists()


def test_a_full_disk_is_reported_with_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(coding_module.shutil, "disk_usage", lambda _: usage(100, 1, 99))
    with pytest.raises(OSError, match=r"needs 40 bytes a row, 1.6e-07 GB for 4 rows; .* had 9.9e-08 GB: pass a"):
        code_table_on_disk(path, Y, estimator=CLASSIFIER, directory=tmp_path / "kept")
    assert [each.name for each in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize(("module", "name"), [(coding_module, "CODES"), (targets, "WEIGHT"), (targets, "TARGET")])
def test_a_disk_that_fills_up_is_reported_with_the_size(
    tmp_path: Path, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(broken(), tmp_path / "t.parquet")
    monkeypatch.setattr(module, name, "/dev/full")
    with pytest.raises(OSError, match=r"needs 48 bytes a row, 1.92e-07 GB for 4 rows"):
        code_table_on_disk(path, WEIGHTED, estimator=CLASSIFIER, directory=tmp_path / "kept")
    assert [each.name for each in tmp_path.iterdir()] == ["t.parquet"]


def test_attributes_of_estimators(tmp_path: Path) -> None:
    frame = pl.DataFrame(numbers(50))
    model = GradientBoostingClassifier(n_estimators=1, early_stopping=False).fit(frame.drop("y"), frame["y"])
    with code_table_on_disk(frame, Y, estimator=CLASSIFIER) as table:
        for name, value in table.attributes.items():
            assert type(value) is type(getattr(model, name))
            assert np.all(value == getattr(model, name)) if name != "columns_" else value == model.columns_
        assert set(table.attributes) >= {"columns_", "n_features_in_", "feature_names_in_", "classes_", "n_classes_"}


def test_progress_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken().write_csv(tmp_path / "t.csv")
    code_table_on_disk(tmp_path / "t.csv", Y, estimator=CLASSIFIER, verbose=1).close()
    shown = capsys.readouterr().out
    for label in ("Inferring types", "Reading the target", "Reading the columns", "Writing the codes"):
        assert label in shown
