"""The measuring of coverage: splits, shares and the table. No public data needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import coverage, tables
from benchmarks.open_data import DataSet

TOY = DataSet("toy", "toy.csv", "y", "regression")


@pytest.fixture
def toy_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(240, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=240)
    path = tmp_path / "toy.csv"
    path.write_text("\n".join(["a,b,y", *(f"{a},{b},{value}" for (a, b), value in zip(X, y, strict=True))]))
    monkeypatch.setattr(tables, "SHARED", tmp_path)
    monkeypatch.setattr(coverage, "TREES", 30)
    monkeypatch.setattr(coverage, "MIN_ROWS", 200)
    return path


@pytest.mark.usefixtures("toy_file")
def test_coverage_is_the_fraction_of_test_rows_inside(monkeypatch: pytest.MonkeyPatch):
    found = coverage.measure(TOY, 3)
    assert found is not None
    assert found.covered.shape == found.length.shape == (3, 3, 3)
    assert np.all(np.diff(found.covered, axis=2) >= 0.0)
    assert np.all(np.diff(found.length, axis=2) >= 0.0)
    np.testing.assert_allclose(found.covered[:, 0].mean(axis=0), coverage.NOMINAL, atol=0.1)
    monkeypatch.setattr(coverage, "MIN_ROWS", 300)
    assert coverage.measure(TOY, 3) is None


def test_the_table_marks_what_misses():
    covered = np.tile([[0.80, 0.93, 0.95]], (2, 3, 1))
    held = coverage.Held(TOY, 240, 240, covered, np.ones_like(covered))
    assert "| toy | 240 | 240 | 80.0 (1.00) | **93.0** (1.00) | 95.0 (1.00) |" in coverage.table([held], 0)
    assert "| largest miss |  |  | 0.0 | 3.0 | 0.0 |" in coverage.report([held])


@pytest.mark.usefixtures("toy_file")
def test_the_file_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(coverage, "sets", lambda: [TOY, TOY._replace(name="gone", file="gone.csv")])
    monkeypatch.setattr(coverage, "COVERAGE", tmp_path / "COVERAGE.md")
    result = CliRunner().invoke(coverage.main)
    assert "gone was skipped" in result.output
    assert "| toy | 240 |" in (tmp_path / "COVERAGE.md").read_text()
