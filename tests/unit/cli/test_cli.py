"""The command: what it prints, and what it must not import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from committee.cli import main
from committee.datasets import dataset_names
from committee.evaluation.comparison import pick
from committee.evaluation.methods import family

COMMANDS = (
    "compare", "completion", "data", "demo", "explain", "fit", "inspect", "methods", "predict", "report",
    "reproduce", "warmup",
)  # fmt: skip


def run(*arguments: str) -> Result:
    # Wide enough that no table wraps a cell.
    return CliRunner(env={"COLUMNS": "400"}).invoke(main, arguments, catch_exceptions=False)


def modules_after(*arguments: str) -> set[str]:
    """Names of the modules that the command has imported when it ends."""
    program = (
        "import sys; from committee.cli import main\n"
        f"main({list(arguments)!r}, standalone_mode=False)\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("MODULES")[2].split())


def test_help_lists_every_command():
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert command in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 3


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"]])
def test_help_imports_no_heavy_library(arguments: list[str]):
    assert modules_after(*arguments).isdisjoint(
        {"numba", "sklearn", "scipy", "numpy", "matplotlib", "pandas", "polars", "rich"}
    )


def test_listing_the_data_compiles_nothing():
    assert modules_after("data").isdisjoint({"numba", "sklearn"})


def test_version_is_the_packages():
    assert run("--version").output.strip().endswith(version("committee"))


def test_unknown_command_is_an_error():
    result = run("boost")
    assert result.exit_code == 2
    assert "No such command" in result.output


def test_data_lists_every_sample():
    lines = run("data").output.splitlines()
    for name in dataset_names():
        assert any(f" {name} " in line for line in lines)
    assert any("spam" in line and "4601" in line and "57" in line for line in lines)


def test_warmup_says_that_it_is_done():
    result = run("warmup")
    assert result.exit_code == 0
    assert "compiled and cached" in result.output


def test_demo_compares_the_family_and_says_where_the_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The whole family takes minutes; what is told is the same with two of its members.
    chosen = pick(family("classification", 768, 8), ["constant", "pruned tree"])
    monkeypatch.setattr("committee.cli.compare.all_methods", lambda *_: chosen)
    result = run("demo", "--output-dir", str(tmp_path / "new"), "--time-budget", "none")
    assert result.exit_code == 0
    for part in ("pima_diabetes", "768 rows, 8 features", "chosen", "held-out rows", "in a browser"):
        assert part in result.output
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"report.html", "model.committee", "results.json"}
