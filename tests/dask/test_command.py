"""`committee compare --scheduler`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from distributed import LocalCluster

from committee.cli.main import main

pytestmark = pytest.mark.slow


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=150), "b": rng.choice(["x", "y", "z"], 150)})
    labels = pl.when(pl.col("a") + (pl.col("b") == "x") > 0.5).then(pl.lit("yes")).otherwise(pl.lit("no"))
    path = tmp_path / "table.csv"
    frame.with_columns(target=labels).write_csv(path)
    return path


def run(table: Path, folder: str, *options: str) -> Result:
    arguments = ["compare", str(table), "-t", "target", "-m", "linear model, pruned tree", "--cv", "3", "--no-report"]
    return CliRunner().invoke(main, [*arguments, "-o", str(table.parent / folder), *options])


def results(table: Path, folder: str) -> Any:
    found = json.loads((table.parent / folder / "results.json").read_text())
    for each in (found, *found["results"]):
        for name in ("seconds", "compile_seconds", "fit_seconds", "predict_seconds"):
            each.pop(name, None)
    return found


def test_command_writes_the_results_and_the_model_of_this_process(table: Path, cluster: LocalCluster) -> None:
    here = run(table, "here", "--time-budget", "none")
    there = run(table, "there", "--time-budget", "none", "--scheduler", cluster.scheduler_address)
    assert here.exit_code == there.exit_code == 0, there.output
    assert results(table, "here") == results(table, "there")
    models = [(table.parent / folder / "model.committee").read_bytes() for folder in ("here", "there")]
    assert models[0] == models[1]


def test_a_scheduler_that_is_not_there_is_an_error(table: Path) -> None:
    result = run(table, "none", "--scheduler", "nowhere")
    assert result.exit_code == 2
    assert "There is no Dask scheduler at 'nowhere': missing port number" in result.output


def test_without_distributed_the_command_says_what_to_install(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run(table, "none", "--scheduler", "tcp://127.0.0.1:8786")
    assert result.exit_code == 1
    assert "distributed is not installed: pip install 'committee[dask]'" in result.output
