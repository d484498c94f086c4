"""Time order and repeated entities on the command line: the message, the figures, and how to switch it off."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from committee.cli.main import main
from committee.evaluation.row_order import RowOrder
from committee.ingest.files import TableError
from committee.ingest.table import read_table
from tests.unit.evaluation.test_row_order import PARTS, rentals, visits


def run(*arguments):
    return CliRunner(env={"COLUMNS": "400"}).invoke(main, [str(each) for each in arguments])


def fitted(path, tmp_path, *more):
    """Result of `fit` with the quickest method: what it said, and its figures."""
    model = tmp_path / "model.committee"
    done = run("fit", path, "-t", "y", "-m", "pruned tree", "-o", model, "--json", *more)
    assert done.exit_code == 0, done.output
    return done.stderr, json.loads(done.stdout)


@pytest.fixture
def days(tmp_path):
    X, y = rentals()
    path = tmp_path / "days.csv"
    X.select(PARTS).with_columns(y=y).write_csv(path)
    return path


def test_rows_in_time_order_are_validated_forward_and_it_is_said(days, tmp_path):
    said, result = fitted(days, tmp_path)
    assert "The rows are in time order (columns 'year', 'month'; autocorrelation of residuals" in said
    assert "pass --shuffle" in said
    assert result["settings"]["folds"] == "forward in time"
    assert result["settings"]["row_order"]["kind"] == "time"
    assert result["held_out_rows"] == list(range(657, 821))
    assert any("time order" in note for note in result["table"]["warnings"])
    assert result["table"]["features"] == PARTS


def test_shuffle_switches_it_off(days, tmp_path):
    said, result = fitted(days, tmp_path, "--shuffle")
    assert "time order" not in said
    assert result["settings"]["folds"] == "at random"


def test_row_order_as_the_time(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    path = tmp_path / "plain.csv"
    pl.DataFrame({"x": x, "y": x + rng.normal(size=200)}).write_csv(path)
    said, result = fitted(path, tmp_path, "--time", "row-order")
    assert result["settings"]["folds"] == "forward in time"
    assert result["held_out_rows"] == list(range(160, 200))
    said, result = fitted(path, tmp_path)
    assert result["settings"]["folds"] == "at random"
    assert "time order" not in said


def test_entities_are_kept_together_and_are_no_feature(tmp_path):
    X, y = visits()
    path = tmp_path / "visits.csv"
    X.with_columns(pl.format("P{}", "patient_id").alias("patient_id"), y=y).write_csv(path)
    said, result = fitted(path, tmp_path)
    assert "'patient_id' has 60 repeated values" in said
    assert result["settings"]["folds"] == "by group"
    assert result["table"]["features"] == ["age", "dose"]
    new = tmp_path / "new.csv"
    X.select("age", "dose")[:5].write_csv(new)
    assert run("predict", tmp_path / "model.committee", new, "-o", tmp_path / "out.csv").exit_code == 0


def test_dates_as_text_of_any_format(tmp_path):
    X, y = rentals()
    frame = X.select(pl.col("date").dt.strftime("%d.%m.%Y"), "temperature").with_columns(y=y)
    table = read_table(frame, "y")
    assert isinstance(table.time, RowOrder)
    assert (table.time.kind, table.time.columns) == ("time", ("date",))
    assert "date.days" in table.X.columns


def test_contradictions_are_rejected(days):
    frame = pl.read_csv(days)
    with pytest.raises(TableError, match="shuffle cannot be combined"):
        read_table(frame, "y", time="year", shuffle=True)
