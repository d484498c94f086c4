"""What `committee predict` imports: starting must not take longer than predicting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from committee import GradientBoostingClassifier, RandomForestClassifier
from committee.cli.deferred_imports import deferred_imports
from committee.cli.model_files import ModelMetadata, write_model
from committee.ingest.table import read_table

PREDICT = """
import sys
from committee.cli import main
main(["predict", "model.committee", "table.csv", "-o", "answers.csv", "--quiet"], standalone_mode=False)
print(*sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, RandomForestClassifier])
def test_predict_imports_nothing_that_it_does_not_use(kind: type, tmp_path: Path) -> None:
    rows = pl.DataFrame({"a": range(60), "b": [i % 7 for i in range(60)], "y": ["u"] * 25 + ["v"] * 35})
    rows.write_csv(tmp_path / "table.csv")
    table = read_table(rows, "y")
    model = kind(n_estimators=3, **({} if kind is RandomForestClassifier else {"early_stopping": False}))
    facts = ModelMetadata(table.schema, "test", "error", {}, 0.0, [], 60, "", 0)
    write_model(tmp_path / "model.committee", model.fit(table.X, table.y), facts)
    done = subprocess.run([sys.executable, "-c", PREDICT], cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    heavy = {
        "pandas", "scipy.stats._stats_py", "matplotlib", "altair", "sklearn.metrics", "sklearn.model_selection",
        "sklearn.linear_model", "committee.evaluation.comparison", "committee.report.render",
    }  # fmt: skip
    assert not imported & heavy
    assert (tmp_path / "answers.csv").read_text().count("\n") == 61


def test_a_deferred_module_is_the_real_one_at_its_first_use() -> None:
    code = """
import sys
from committee.cli.deferred_imports import deferred_imports
with deferred_imports(("xml.dom.minidom", "no_such_package.at_all", "no_such_module")):
    import xml.dom.minidom as early
    from xml.dom import minidom
assert "xml.dom.minidom" not in sys.modules
assert early.parseString("<a/>").documentElement.tagName == "a"
import xml.dom.minidom as late
assert early.Document is late.Document and minidom.Document is late.Document
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_used_while_imports_are_deferred_is_imported_then() -> None:
    code = """
from committee.cli.deferred_imports import deferred_imports
with deferred_imports(("colorsys",)):
    from colorsys import rgb_to_hls
assert rgb_to_hls(1.0, 0.0, 0.0) == (0.0, 0.5, 1.0)
import colorsys
assert colorsys.rgb_to_hls is rgb_to_hls
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_imported_already_are_left_alone() -> None:
    before = sys.modules["polars"]
    with deferred_imports(("polars",)):
        assert sys.modules["polars"] is before
    assert sys.modules["polars"] is before
