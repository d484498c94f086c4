"""The command: what it prints, and what it must not import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from committee.cli import main
from committee.data.samples import sample_names

COMMANDS = ("catalog", "data", "demo", "warmup")


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


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["--version"]])
def test_help_imports_no_heavy_library(arguments: list[str]):
    assert modules_after(*arguments).isdisjoint({"numba", "sklearn", "scipy", "matplotlib", "pandas"})


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
    for name in sample_names():
        assert any(f" {name} " in line for line in lines)
    assert any("spam" in line and "4601" in line and "57" in line for line in lines)


def test_catalog_lists_every_estimator():
    output = run("catalog").output
    for name in ("DecisionTreeClassifier", "DecisionTreeRegressor", "DecisionStump"):
        assert name in output


def test_warmup_says_that_it_is_done():
    result = run("warmup")
    assert result.exit_code == 0
    assert "compiled and cached" in result.output


def test_demo_tells_the_whole_story(tmp_path: Path):
    picture = tmp_path / "new" / "tree.png"
    result = run("demo", "--picture", str(picture))
    assert result.exit_code == 0
    for part in ("chosen", "leaves", "Mg <= ", "Accuracy on the held-out third", "Truth by rows"):
        assert part in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_without_matplotlib_says_how_to_get_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("committee.cli.demo.find_spec", lambda name: None)
    picture = tmp_path / "tree.png"
    result = run("demo", "--picture", str(picture))
    assert "Install matplotlib" in result.output
    assert not picture.exists()
