"""The harness: how it measures, what it does without a peer, what it writes. Nothing here asserts a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import harness, tables
from benchmarks.harness import Benchmark, Goal, Result, Skip, Timing, measure, no_quality, ratios
from benchmarks.report import markdown, table_rows
from benchmarks.suite import suite
from benchmarks.tables import Scale
from committee.catalog import CATALOG

ROOT = Path(__file__).resolve().parents[3]


def contender(log: list[str], name: str) -> Callable[[], Any]:
    """A setup whose call notes its name and answers with it, and lasts long enough not to be repeated."""

    def call() -> str:
        log.append(name)
        return name

    return lambda: call


def unusable(error: Exception) -> Callable[[], Any]:
    def setup() -> Any:
        raise error

    return setup


@pytest.fixture
def one_call_per_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "SHORT", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("one_call_per_timing")
def test_contenders_take_turns():
    log: list[str] = []
    contenders = {name: contender(log, name) for name in ("committee", "peer")}
    result = measure(Benchmark("group/name", "task", contenders, no_quality), repeats=3)
    assert log == ["committee", "peer"] * 3
    assert {timing.repeats for timing in result.timings.values()} == {3}


@pytest.mark.slow
@pytest.mark.usefixtures("one_call_per_timing")
def test_a_benchmark_beyond_the_budget_is_not_repeated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(harness, "BUDGET", 0.0)
    log: list[str] = []
    measure(Benchmark("group/name", "task", {"committee": contender(log, "committee")}, no_quality), repeats=9)
    assert len(log) == 1


@pytest.mark.slow
def test_short_calls_are_made_several_times():
    log: list[str] = []
    measure(Benchmark("group/name", "task", {"committee": contender(log, "committee")}, no_quality), repeats=2)
    assert len(log) > 100


@pytest.mark.slow
def test_quality_is_that_of_each_prediction():
    contenders = {name: contender([], name) for name in ("committee", "the peer")}
    result = measure(Benchmark("group/name", "task", contenders, lambda answer: {"letters": len(answer)}), repeats=1)
    assert {name: timing.quality for name, timing in result.timings.items()} == {
        "committee": {"letters": 9},
        "the peer": {"letters": 8},
    }


@pytest.mark.slow
def test_who_cannot_take_part_is_skipped_with_a_message_and_who_fails_is_reported():
    contenders = {
        "committee": contender([], "committee"),
        "committee data": unusable(Skip("the table is not there")),
        "committee broken": unusable(ModuleNotFoundError("no module", name="committee.broken")),
        "peer": unusable(ModuleNotFoundError("no module", name="peer")),
        "clumsy peer": unusable(ValueError("said in /some/private/path")),
    }
    result = measure(Benchmark("group/name", "task", contenders, no_quality), repeats=1)
    assert set(result.timings) == {"committee"}
    assert result.absent == {"committee data": "the table is not there", "peer": "peer is not installed"}
    assert set(result.failed) == {"committee broken", "clumsy peer"}
    text = markdown([result], {}, is_quick=False)
    assert "group/name: peer was skipped: peer is not installed." in text
    assert "clumsy peer failed: ValueError." in text
    assert "private" not in text


def example() -> Result:
    goals = (
        Goal("committee", 0.5, "peer"),
        Goal("committee", 0.1, "peer", "difference"),
        Goal("committee", 2.0, kind="seconds"),
        Goal("committee", 0.5, "absent"),
    )
    setups = {name: contender([], name) for name in ("committee", "peer", "other", "absent")}
    benchmark = Benchmark("group/name", "task", setups, no_quality, goals=goals)
    seconds = {"committee": 1.5, "peer": 1.0, "other": 3.0}
    timings = {name: Timing(value, 5, {"AUC": 0.5, "leaves": 7}) for name, value in seconds.items()}
    return Result(benchmark, timings, {}, {})


def test_ratios_are_ours_over_each_peer_that_was_measured():
    assert ratios(example(), "committee") == {"peer": 1.5, "other": 0.5}
    assert ratios(example(), "peer") == {}


def test_peers_can_be_named():
    result = example()
    result = result._replace(benchmark=result.benchmark._replace(peers=("committee",)))
    assert ratios(result, "other") == {"committee": 2.0}
    assert ratios(result, "committee") == {}


def test_a_row_states_time_ratios_goals_and_quality():
    ours, peer, _ = table_rows(example())
    assert ours == (
        "committee",
        "1.5 s",
        "1.500 peer, 0.500 other",
        "at most 0.5 of peer: missed; at most 0.1 s above peer: 0.50 s, missed; at most 2 s: 1.50 s, met",
        "AUC 0.5000, leaves 7",
        "5",
    )
    assert peer.ratio == peer.goal == ""


@pytest.mark.parametrize("scale", [Scale(1), Scale(10)])
def test_every_benchmark_has_its_own_name_and_goals_that_name_contenders(scale: Scale):
    everything = suite(scale)
    names = [benchmark.name for benchmark in everything]
    assert len(set(names)) == len(names)
    for benchmark in everything:
        assert {goal.contender for goal in benchmark.goals} <= set(benchmark.contenders)
        assert {goal.peer for goal in benchmark.goals if goal.peer} <= set(benchmark.contenders)
        assert set(benchmark.peers) <= set(benchmark.contenders)


def test_every_estimator_of_the_catalog_has_a_benchmark():
    covered = {name for benchmark in suite(Scale()) for name in benchmark.covers}
    assert {entry.name for entry in CATALOG} <= covered


def test_patterns_choose():
    assert {b.name for b in suite(Scale(), ["binning", "startup/h*"])} == {
        "binning/float32-500kx28",
        "binning/float64-500kx28",
        "startup/help",
    }


def test_missing_shared_data_are_a_reason_to_skip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tables, "SHARED", tmp_path)
    with pytest.raises(Skip, match=r"adult_train\.csv\.gz is not there"):
        tables.adult(Scale(1000))


def test_the_same_tree_stands_in_both_libraries():
    from benchmarks.prediction import _our_tree, _split, _their_tree

    X = _split(500).X_test
    np.testing.assert_array_equal(_our_tree(500).predict_proba(X), _their_tree(500).predict_proba(X))
    assert _our_tree(500).get_n_leaves() == _their_tree(500).get_n_leaves()


def run_command(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_quick_run_writes_the_table(tmp_path: Path):
    output = tmp_path / "RESULTS.md"
    printed = run_command("--quick", "--only", "wide", "--only", "binning/float32", "--output", str(output))
    text = output.read_text()
    for heading in ("## Trees", "## Binning", "| CPU |", "| numba |", "accuracy", "figures mean nothing"):
        assert heading in text
    assert sum(line.startswith("| ") and "committee best" in line for line in text.splitlines()) == 1
    assert str(ROOT) not in text
    assert str(Path.home()) not in text
    assert "wide-100x500" in printed


@pytest.mark.slow
def test_a_part_of_the_benchmarks_leaves_the_record_alone():
    record = ROOT / "benchmarks" / "RESULTS.md"
    before = record.read_text() if record.exists() else None
    run_command("--only", "startup/help", "--repeats", "1")
    assert (record.read_text() if record.exists() else None) == before


@pytest.mark.slow
def test_an_unknown_name_says_so():
    with pytest.raises(subprocess.CalledProcessError) as error:
        run_command("--only", "no such thing")
    assert "no benchmark is named like no such thing" in error.value.stderr
