"""Column types, warnings about a table, and new tables read by the same schema."""

from __future__ import annotations

import gzip
import io
import sys
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from committee.ingest.column_types import as_numbers, features_of, infer_column, parse_dates
from committee.ingest.files import TableError, iterate_frames, kind_of, read_frame
from committee.ingest.schema import TableSchema
from committee.ingest.table import TrainingTable, read_table

N = 60
RNG = np.random.default_rng(0)


def frame(**columns: object) -> pl.DataFrame:
    """A table with a number, a target and more."""
    x = RNG.normal(size=N)
    return pl.DataFrame({"x": x, **columns, "y": np.where(x + RNG.normal(size=N) > 0, "yes", "no")})


def said(reading: TrainingTable, name: str) -> str:
    return next((warning for warning in reading.warnings if warning.startswith(repr(name))), "")


@pytest.mark.parametrize(
    ("values", "kind", "note"),
    [
        ([1.5, 2.5] * 30, "numeric", ""),
        (["a", "b"] * 30, "categorical", ""),
        ([True, False] * 30, "numeric", ""),
        ([7] * N, "dropped", "is 7 in every row"),
        (["only"] * N, "dropped", "is 'only' in every row"),
        ([None] * N, "dropped", "no values"),
        (list(range(N)), "dropped", "identifier of the rows"),
        ([f"K{i:05d}" for i in range(N)], "dropped", "like an identifier"),
        ([f"the {i} of a story told" for i in range(N)], "text", "is text"),
        ([date(2020, 1, 1) + timedelta(days=i) for i in range(N)], "date", "is a date"),
        ([f"{i % 28 + 1:02d}.03.2021" for i in range(N)], "date", "is a date"),
        (["1.5", "2", "unknown"] + ["3"] * 57, "numeric", "'unknown', treated as missing"),
        (["$1,234.50", "12 %", "7"] * 20, "numeric", "thousands"),
        (["0,5", "0,257", "1.234,5 €", "7"] * 15, "numeric", "has a decimal comma"),
        (["12:30:15", "7:05", "23:59"] * 20, "numeric", "times of day"),
        (["2021-03-04T10:00:00Z", "2021-03-05T11:00:00+02:00", "2021-04-05 11:00:00.25 UTC"] * 20, "categorical", ""),
        ([[1, 2]] * N, "dropped", "neither numeric nor text"),
        ([float("inf"), 1.0] * 30, "numeric", "infinite values"),
    ],
)
def test_what_a_column_is(values: list[object], kind: str, note: str):
    result = infer_column(pl.Series("c", values))
    assert result.type == kind
    assert note in result.note


def test_numbers_with_signs():
    text = pl.Series(["$1,234.50", "12 %", "0.5", "-7", "1e3", "TRUE", "n.k.", None, "1,234,567", "inf"])
    assert as_numbers(text).to_list() == [1234.5, 12.0, 0.5, -7.0, 1000.0, 1.0, None, None, 1234567.0, None]


def test_an_identifier_is_known_by_its_name():
    shuffled = RNG.permutation(N) + 1000
    assert infer_column(pl.Series("customer_id", shuffled)).type == "dropped"
    assert infer_column(pl.Series("PassengerId", shuffled)).type == "dropped"
    assert infer_column(pl.Series("income", shuffled)).type == "numeric"
    assert infer_column(pl.Series("paid", shuffled)).type == "numeric"


def test_rare_categories_are_put_together():
    values = ["a"] * 200 + ["b"] * 200 + [f"rare{i % 140}" for i in range(200)]
    reading = read_table(pl.DataFrame({"c": values, "y": RNG.normal(size=600)}), "y")
    assert set(reading.X["c"].cast(str)) == {"a", "b", "(other)"}
    assert "142 values, of which 140" in said(reading, "c")


def test_dates_become_numbers_from_text_and_from_typed_columns():
    days = [datetime(2021, 3, 1, 6) + timedelta(days=i, hours=i % 2) for i in range(N)]
    typed = read_table(frame(when=days), "y")
    assert typed.X.columns == ["x", "when.month", "when.weekday", "when.hour", "when.days"]
    assert typed.X["when.days"][2] == 2.0
    assert typed.X["when.weekday"][0] == 1.0
    text = pl.DataFrame({"x": ["0"], "when": ["2021-03-02T06:00:00.000000"]})
    assert typed.schema.apply(text)["when.days"].to_list() == [1.0]
    assert typed.schema.apply(text)["when.hour"].to_list() == [6.0]


def test_the_target_under_another_name_is_left_out():
    table = frame()
    reading = read_table(table.with_columns(alive=pl.col("y").replace({"yes": "1", "no": "0"})), "y")
    assert reading.X.columns == ["x"]
    assert "copy of the target" in said(reading, "alive")
    kept = read_table(table.with_columns(alive=pl.col("y")), "y", keep=["alive"])
    assert kept.X.columns == ["x", "alive"]
    numbers = pl.DataFrame({"x": RNG.normal(size=N), "y": RNG.normal(size=N)}).with_columns(euro=1.1 * pl.col("y") + 3)
    assert read_table(numbers, "y").X.columns == ["x"]


def test_a_column_that_nearly_tells_the_target_is_named_and_kept():
    n = 2000
    y = RNG.random(n) > 0.5
    leak = np.where(RNG.random(n) < 0.001, RNG.random(n), y + 0.3 * RNG.random(n))
    reading = read_table(pl.DataFrame({"x": RNG.normal(size=n), "leak": leak, "y": y}), "y")
    assert "leak" in reading.X.columns
    assert "drop='leak'" in said(reading, "leak")


def test_copies_of_columns_and_rows():
    table = frame()
    reading = read_table(table.with_columns(again=pl.col("x")), "y")
    assert "is a copy of 'x'" in said(reading, "again")
    twice = pl.concat([table, table[:5]])
    assert any("5 rows are copies" in warning for warning in read_table(twice, "y").warnings)
    assert read_table(twice, "y", drop_duplicates=True).X.height == N


def test_rows_without_a_target_and_classes_of_one_row_are_left_out():
    table = frame()
    labels = table["y"].to_list()
    labels[3], labels[7], labels[9:11] = None, "once", ["few", "few"]
    reading = read_table(table.with_columns(y=pl.Series(labels)), "y")
    assert reading.rows.tolist() == [i for i in range(N) if i not in (3, 7)]
    joined = " ".join(reading.warnings)
    assert "1 row has no 'y'" in joined
    assert "one row only and is left out" in joined
    assert "few (2)" in joined


@pytest.mark.parametrize(
    ("values", "task", "kind"),
    [
        ([0, 1] * 30, "classification", "int"),
        (np.arange(N), "regression", "float"),
        ([0.5, 1.5] * 30, "regression", "float"),
        (["1", "2"] * 30, "classification", "str"),
        ([True, False] * 30, "classification", "bool"),
    ],
)
def test_what_the_target_is(values: list[object], task: str, kind: str):
    schema = read_table(pl.DataFrame({"x": RNG.normal(size=N), "y": values}), "y").schema
    assert (schema.task, schema.target_type) == (task, kind)


def test_weights_groups_and_times_are_no_features():
    table = frame(w=[1.0, 2.0] * 30, shop=["a", "b", "c"] * 20, day=[date(2020, 1, 1 + i % 28) for i in range(N)])
    reading = read_table(table, "y", sample_weight="w", groups="shop", time="day")
    assert reading.X.columns == ["x"]
    assert reading.sample_weight is not None
    assert reading.groups is not None
    assert isinstance(reading.time, np.ndarray)
    assert reading.sample_weight[1] == 2.0
    assert reading.groups[1] == "b"
    assert np.argmin(reading.time) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "yy"}, "No such column: 'yy'. Did you mean 'y'"),
        ({"target": "y", "sample_weight": "x"}, "must be numbers >= 0"),
        ({"target": "y", "time": "c"}, "neither dates nor numbers"),
        ({"target": "y", "drop": ["x", "c"]}, "No feature is left"),
        ({"target": "y", "task": "regression"}, "regression is impossible"),
        ({"target": "x", "task": "classification"}, "values of 'x' are distinct"),
    ],
)
def test_wrong_requests_are_rejected_with_a_word(arguments: dict[str, object], message: str):
    with pytest.raises(TableError, match=message):
        read_table(frame(c=["u", "v"] * 30), **arguments)


def test_a_new_table_is_read_as_the_training_table_was(tmp_path: Path):
    table = frame(
        c=["red ", " blue", "NA"] * 20, b=[True, False, None] * 20,
        when=[f"{i % 28 + 1:02d}/01/2021" for i in range(N)], note=[f"some words here {i}" for i in range(N)],
    )  # fmt: skip
    path = tmp_path / "t.csv"
    table.write_csv(path)
    reading = read_table(read_frame(str(path)), "y")
    schema = TableSchema.from_json(reading.schema.to_json())
    assert schema == reading.schema
    batches = [schema.apply(batch) for batch in iterate_frames(str(path), batch_bytes=200)]
    assert len(batches) > 3
    again = pl.concat([batch.with_columns(pl.col("c").cast(str)) for batch in batches])
    assert again.equals(reading.X.with_columns(pl.col("c").cast(str)))
    assert again["c"].to_list()[:3] == ["red", "blue", None]
    with pytest.raises(TableError, match="no column 'when', which the model needs"):
        schema.apply(table.drop("when"))


def test_tables_from_files_and_data_frames(tmp_path: Path):
    table = frame(c=["u", "v", "w"] * 20)
    table.write_csv(tmp_path / "t.csv")
    tables = [read_table(source, "y", drop="x") for source in (tmp_path / "t.csv", str(tmp_path / "t.csv"), table)]
    tables.append(read_table(table.to_pandas(), "y", drop="x"))
    for each in tables:
        assert each.schema == tables[0].schema
        assert each.X.equals(tables[0].X)
        assert each.schema.columns[1].categories == ("u", "v", "w")
        assert each.schema.apply_to_target(table).tolist() == each.y.tolist()
        assert each.schema.apply(tmp_path / "t.csv").equals(each.X)


# --- files ------------------------------------------------------------------------------------------------------------

PLAIN = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y, z", 'line\nbreak "quoted"']})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.arrow", "t.ndjson"])
def test_every_format_whole_and_in_batches(tmp_path: Path, name: str):
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(PLAIN.write_csv().encode()))
    elif kind_of(name) == "csv":
        PLAIN.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
    else:
        {"parquet": PLAIN.write_parquet, "arrow": PLAIN.write_ipc, "ndjson": PLAIN.write_ndjson}[kind_of(name)](path)
    assert read_frame(str(path)).equals(PLAIN)
    batches = list(iterate_frames(str(path), batch_rows=1, batch_bytes=4))
    assert len(batches) >= 3
    assert pl.concat(batches).with_columns(pl.col("a").cast(pl.Int64)).equals(PLAIN)


@pytest.mark.parametrize("write", ["write_csv", "write_parquet", "write_ipc", "write_ipc_stream", "write_ndjson"])
def test_stdin_in_every_format(monkeypatch: pytest.MonkeyPatch, write: str):
    stream = io.BytesIO()
    getattr(PLAIN, write)(stream)
    for read in (read_frame, lambda source: pl.concat(iterate_frames(source))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stream.getvalue())))
        assert read("-").with_columns(pl.col("a").cast(pl.Int64)).equals(PLAIN)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2,3,4\n5\n1,2,3\n", "cannot be read as a table"),
        (b"PAR1 no parquet", "cannot be read as a table"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / ("t.parquet" if content.startswith(b"PAR1") else "t.csv")
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_frame(str(path))


def test_a_missing_file_gets_a_hint(tmp_path: Path):
    (tmp_path / "sales.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"Did you mean sales\.csv"):
        read_frame(str(tmp_path / "sale.csv"))
    with pytest.raises(TableError, match="is a directory"):
        read_frame(str(tmp_path))


# --- texts that are numbers and dates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["0,257", "0,71", "12,5", "-3"], [0.257, 0.71, 12.5, -3.0]),
        (["40.942,86", "1.234", "0,5"], [40942.86, 1234.0, 0.5]),
        (["1,234", "12,345.5", "7"], [1234.0, 12345.5, 7.0]),
        (["1.5", "2e3", "true"], [1.5, 2000.0, 1.0]),
        (["€ 1.234,50", "5 %", "0,1"], [1234.5, 5.0, 0.1]),
        (["12:30", "00:00:10.5", "1:00"], [45000.0, 10.5, 3600.0]),
    ],
)
def test_the_column_tells_what_a_comma_means(texts: list[str], numbers: list[float]):
    assert as_numbers(pl.Series("c", texts)).to_list() == numbers


def test_a_batch_without_a_hint_is_read_as_the_table_was():
    table = pl.Series("c", ["0,257", "0,71", "1,234"] * 20)
    schema = infer_column(table)
    batch = pl.Series("c", ["1,234", "2,000"])
    assert features_of(schema, batch)[0].to_list() == [1.234, 2.0]
    assert as_numbers(batch).to_list() == [1234.0, 2000.0]


STAMPS = [
    "%Y-%m-%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+02:00",
    "%d/%m/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S+0000", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S.%fZ", "%d %b %Y",
]  # fmt: skip


@pytest.mark.parametrize("stamp", STAMPS)
def test_dates_of_a_file_are_read_in_batches_as_in_training(stamp: str, tmp_path: Path):
    days = [datetime(2021, 1, 3, 9, 30) + timedelta(days=5 * i, hours=i % 11) for i in range(N)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["d,x,y", *(f"{day.strftime(stamp)},{i},{i * 1.5}" for i, day in enumerate(days))]))
    reading = read_table(read_frame(str(file)), "y")
    days_column = reading.X["d.days"].to_numpy()
    assert days_column[0] == 0.0
    assert days_column[10] - days_column[0] == pytest.approx(50.0, abs=1.0)
    batches = [reading.schema.apply(frame) for frame in iterate_frames(str(file), batch_bytes=700)]
    assert len(batches) > 1
    np.testing.assert_array_equal(pl.concat(batches)["d.days"].to_numpy(), days_column)


def test_zones_of_moments_are_taken_off():
    text = pl.Series("d", ["2021-03-04T10:00:00Z", "2021-03-04T12:00:00+02:00", "2021-03-04T05:30:00-04:30"])
    assert parse_dates(text, "%Y-%m-%dT%H:%M:%S").n_unique() == 1


def test_a_target_of_numbers_with_a_few_words_is_a_regression():
    y = [str(value) for value in RNG.normal(size=N)]
    y[3] = "n.a."
    reading = read_table(pl.DataFrame({"x": RNG.normal(size=N), "y": y}), "y")
    assert reading.schema.task == "regression"
    assert reading.y.size == N - 1
    assert any("1 row whose 'y' is not numeric" in warning for warning in reading.warnings)


def test_names_that_are_shared_or_empty(tmp_path: Path):
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["x, x,,y", *(f"{i % 7},{i % 5},{i % 3},{i % 2}" for i in range(60))]))
    frame = read_frame(str(file))
    assert frame.columns == ["x", "x_duplicated_0", "column 3", "y"]
    reading = read_table(frame, "y")
    assert any("More than one column is called 'x'" in warning for warning in reading.warnings)
    assert "column 3" in reading.X.columns
    file.write_text("\n".join(["x,y,y", *(f"{i % 7},{i % 5},{i % 3}" for i in range(60))]))
    with pytest.raises(TableError, match="More than one column is called 'y'"):
        read_table(read_frame(str(file)), "y")


def test_huge_targets_and_made_names_and_dropped_targets():
    frame = pl.DataFrame({"x": RNG.normal(size=N), "y": [1e17, 2e17] * (N // 2)})
    assert read_table(frame, "y").schema.task == "regression"
    with pytest.raises(TableError, match="divide it"):
        read_table(frame.with_columns(pl.col("y") * 1e283), "y")
    huge = frame.with_columns(z=pl.col("x") * 1e300)
    assert "z" in read_table(huge, "y").X.columns
    days = [date(2019, 1, 1) + timedelta(days=40 * i) for i in range(N)]
    both = pl.DataFrame({"d": days, "d.year": RNG.normal(size=N), "y": RNG.normal(size=N)})
    assert {"d.year", "d.year'"} <= set(read_table(both, "y").X.columns)
    with pytest.raises(TableError, match="cannot be dropped"):
        read_table(both, "y", drop=["y"])


@pytest.mark.parametrize(
    "data",
    [
        b"\n\nx,y\n1,2\n\n3,4\n\n", b"x;y\n1;2\n   \n3;4", b'x,y\n"1",2\n\n3,4\n', "x,y\n1,2\n3,4\n".encode("utf-16"),
        b"\xef\xbb\xbfx,y\r\n1,2\r\n\r\n3,4\r\n", b'[{"x": 1, "y": 2}, {"x": 3, "y": 4}]',
        b'{"x": 1, "y": 2}\n{"x": 3, "y": 4}',
    ],
)  # fmt: skip
def test_files_as_they_come(data: bytes, tmp_path: Path):
    file = tmp_path / ("t.json" if b"{" in data else "t.csv")
    file.write_bytes(data)
    whole = read_frame(str(file))
    assert whole.rows() == [(1, 2), (3, 4)]
    assert whole.columns == ["x", "y"]
    batches = pl.concat(list(iterate_frames(str(file))))
    assert batches.select(pl.all().cast(pl.Int64)).rows() == whole.rows()


def test_arrow_comes_as_a_file_or_as_a_stream(tmp_path: Path):
    made = pl.DataFrame({"x": [1, 2, 3], "k": ["a", "b", None]})
    made.write_ipc(tmp_path / "file.arrow")
    made.write_ipc_stream(tmp_path / "stream.arrow")
    for name in ("file.arrow", "stream.arrow"):
        assert read_frame(str(tmp_path / name)).equals(made)
        batches = list(iterate_frames(str(tmp_path / name), batch_rows=2))
        assert [batch.height for batch in batches] == [2, 1]
        assert pl.concat(batches).equals(made)


def test_letters_of_old_files_stay_apart(tmp_path: Path):
    file = tmp_path / "t.csv"
    file.write_bytes('x,"a ""b"", c"\nMünchen,1\nKöln,2\n'.encode("latin-1"))
    frame = read_frame(str(file))
    assert frame.columns == ["x", 'a "b", c']
    assert frame["x"].to_list() == ["München", "Köln"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells, the header has 2"),
        ("\n\na,b\n\n1,2\n3,4,5\n", "line 6 has 3 cells"),
        ('a,b\n"1\n2",2\n3,4,5\n', "line 4 has 3 cells"),
        ('a,b\n1,2\n3,"x\n5,y\n', "a quote in line 3 is not closed"),
        ('a,b\n1,x\n3,"y"z\n', "a quote in line 3 is not closed, or text follows"),
    ],
)
def test_what_is_wrong_with_a_file_and_where(text: str, message: str, tmp_path: Path):
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(TableError, match=message):
        read_frame(str(file))


def test_a_fault_in_a_later_batch_has_its_line_in_the_file(tmp_path: Path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n" + "1,2\n" * 99 + "3,4,5\n" + "1,2\n" * 20)
    with pytest.raises(TableError, match="line 101 has 3 cells"):
        list(iterate_frames(str(file), batch_bytes=64))


def test_a_batch_of_text_has_no_more_rows_than_requested(tmp_path: Path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n" + "1,2\n" * 10)
    assert [frame.height for frame in iterate_frames(str(file), batch_rows=4)] == [4, 4, 2]


def test_rows_without_a_group_are_groups_of_their_own():
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=40), "site": ["a", "b", "", None] * 10, "y": ["yes", "no"] * 20}
    reading = read_table(pl.DataFrame(columns), "y", groups="site")
    assert reading.groups is not None
    assert len(set(reading.groups)) == 2 + 20
    assert any("'site': 20 rows" in warning for warning in reading.warnings)


def test_a_class_without_weight_is_named():
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=30), "w": [0.0, 1.0, 2.0] * 10, "y": ["p", "q", "r"] * 10}
    reading = read_table(pl.DataFrame(columns), "y", sample_weight="w")
    assert [text for text in reading.warnings if "weight 0" in text] == [
        "All rows of class p have the sample weight 0."
    ]
