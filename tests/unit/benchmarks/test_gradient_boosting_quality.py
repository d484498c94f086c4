"""The judging of gradient boosting: what is read, how ranks are counted, what the file keeps. No public data needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import gradient_boosting_quality as judging
from benchmarks import tables
from benchmarks.gradient_boosting_quality import (
    Cache,
    Evaluation,
    Method,
    Score,
    choose_sets,
    document,
    evaluate,
    summarise,
)
from benchmarks.harness import Benchmark, Goal, Memory, Skip, measure
from benchmarks.open_data import SETS, DataSet, load
from benchmarks.quality import smoothed_log_loss
from benchmarks.report import table_rows

TOY = DataSet("toy", "toy.csv", "the class", "binary", ("code",))


@pytest.fixture
def toy_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """60 rows, two classes that the colour tells, a third class of two rows, and a hole in every column."""
    rows = [f"{i},{i % 3},{('red', 'blue')[i % 2]},{'ab'[i % 2]}" for i in range(60)]
    rows += ["1,1,red,rare", "2,2,red,rare", ",,,a"]
    path = tmp_path / "toy.csv"
    path.write_text("\n".join(["a [number],code,colour,the class", *rows]))
    monkeypatch.setattr(tables, "SHARED", tmp_path)
    return path


@pytest.mark.usefixtures("toy_file")
def test_a_set_is_read_with_its_categories_and_without_rare_classes():
    table = load(TOY)
    assert table.X.shape == (61, 3)
    assert table.categorical == ["column_1", "column_2"]
    assert list(table.X["column_2"].cat.categories) == ["blue", "red"]
    assert table.X.isna().sum().tolist() == [1, 1, 1]
    np.testing.assert_array_equal(np.bincount(table.y), [31, 30])


def test_a_set_that_is_not_there_is_skipped(toy_file: Path):
    toy_file.unlink()
    with pytest.raises(Skip, match=r"toy\.csv is not there"):
        load(TOY)


@pytest.mark.usefixtures("toy_file")
def test_methods_are_evaluated_and_one_that_fails_is_left_out():
    def broken(*_: Any) -> Any:
        raise ValueError("no such thing")

    said: list[str] = []
    ours = judging.equal_methods()["committee"]
    methods = {"committee": ours, "broken": Method(broken, "numpy")}
    result = evaluate(TOY, methods, Cache(None, "equal"), said.append)
    assert result.scores.keys() == {"committee"}
    assert len(result.scores["committee"].losses) == 3
    assert result.scores["committee"].loss < 0.2  # the colour tells the class; ln 2 = 0.69 without it
    assert "    broken is left out: ValueError: no such thing" in said


@pytest.mark.usefixtures("toy_file")
def test_scores_of_others_are_kept_and_ours_measured_again(tmp_path: Path):
    """Kept for the same table, rows, method and version alone."""
    path = tmp_path / "scores.json"
    ours = judging.equal_methods()["committee"]
    made: list[str] = []

    def counted(name: str) -> Method:
        return Method(lambda is_class, names: made.append(name) or ours.make(is_class, names), "numpy")

    methods = {"committee": counted("committee"), "other": counted("other")}
    first = evaluate(TOY, methods, Cache(path, "equal"), print)
    made.clear()
    assert evaluate(TOY, methods, Cache(path, "equal"), print).scores["other"] == first.scores["other"]
    assert "other" not in made
    assert "committee" in made
    evaluate(TOY, methods, Cache(path, "defaults"), print)
    assert "other" in made
    made.clear()
    evaluate(TOY._replace(most_rows=40), methods, Cache(path, "equal"), print)
    assert "other" in made
    made.clear()
    path.write_text(path.read_text().replace("numpy ", "numpy 0."))
    evaluate(TOY, methods, Cache(path, "equal"), print)
    assert "other" in made


@pytest.mark.usefixtures("toy_file")
def test_of_a_large_set_the_same_sample_is_taken():
    first, again = (load(TOY._replace(most_rows=40)) for _ in range(2))
    assert len(first.y) <= 40
    assert first.X.equals(again.X)
    assert load(TOY._replace(most_rows=100)).X.equals(load(TOY).X)


def judged(name: str, **losses: float) -> Evaluation:
    data = DataSet(name, f"{name}.csv", "y", "binary")
    return Evaluation(data, 10, 2, {method: Score((loss, loss), 1.5) for method, loss in losses.items()})


def test_ranks_wins_and_ratios():
    results = [
        judged("one", committee=1.0, peer=2.0, other=4.0),
        judged("two", committee=3.0, peer=3.0, other=1.5),
        judged("three", committee=1.0, peer=2.0),
    ]
    ours, peer, other = summarise(results)
    # Ranks 1, 2.5, 1; 2, 2.5, 2; 3, 1, 3.
    assert ours == ("committee", pytest.approx(1.5), 2, pytest.approx(2 ** (1 / 3)), 0, 3)
    assert peer == ("peer", pytest.approx(6.5 / 3), 0, pytest.approx(2.0), 2, 3)
    assert other == ("other", pytest.approx(7 / 3), 1, pytest.approx(2.0), 1, 2)
    text = judging.default_section(results)
    assert "| three | binary | 10 x 2 | **1** | 2 | failed |" in text
    assert "| peer | 2.17 | 0 | 2.0000 | 2 of 3 | 4.5 s |" in text


def test_the_mean_ratio_is_evaluated_against_the_goal():
    results = [judged("one", committee=1.0, lightgbm=1.0), judged("two", committee=1.03, lightgbm=1.0)]
    assert "**1.0150** (from 1.0000 to 1.0300; ours smaller on 0). Goal: at most 1.01: missed." in (
        judging.equal_section(results)
    )
    assert "Goal: at most 1.01: met." in judging.equal_section(results[:1])


def test_the_file_keeps_the_section_that_was_not_measured():
    first = document({"defaults": "all of them"}, "")
    both = document({"equal": "two of them"}, first)
    assert both.index("## Equal parameters\n\ntwo of them") < both.index("## Defaults\n\nall of them")
    again = document({"equal": "two of them, anew"}, both)
    assert "two of them, anew" in again
    assert again.count("## Defaults\n\nall of them") == 1
    assert again.count("## Equal parameters") == 1


def test_sets_are_chosen_by_name():
    names = [data.name for data in SETS]
    assert len(set(names)) == len(names) >= 28
    assert len(choose_sets("equal", None)) >= 14
    assert [data.name for data in choose_sets("defaults", "wdbc, adult")] == ["wdbc", "adult"]
    assert len(choose_sets("defaults", None)) >= 25
    assert judging.COSTLY.isdisjoint(data.name for data in choose_sets("defaults", None))
    assert [data.name for data in choose_sets("defaults", "letter")] == ["letter"]
    with pytest.raises(click.UsageError, match="no set is named nothing"):
        choose_sets("equal", "adult,nothing")


@pytest.mark.usefixtures("toy_file")
def test_the_command_writes_what_it_evaluated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    ours = judging.equal_methods()["committee"]
    monkeypatch.setattr(judging, "SETS", (TOY, TOY._replace(name="gone", file="gone.csv")))
    monkeypatch.setitem(judging.KINDS, "defaults", (lambda: {"committee": ours}, judging.default_section))
    output = tmp_path / "QUALITY.md"
    done = CliRunner().invoke(judging.main, ["--defaults", "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "gone is left out: gone.csv is not there" in done.output
    text = output.read_text()
    assert "## Defaults" in text
    assert "| toy | binary | 61 x 3 |" in text
    assert str(tmp_path) not in text


def test_the_log_loss_of_a_sure_mistake_is_finite():
    share = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert smoothed_log_loss(np.array([1, 0]), share) == pytest.approx((7 * np.log(10) + np.log(2)) / 2, rel=1e-6)


def test_memory_is_what_the_call_returns():
    sizes = {"committee": 300.0, "peer": 200.0}
    contenders = {name: lambda peak=peak: lambda: Memory(peak, 10.0) for name, peak in sizes.items()}
    goals = (Goal("committee", 2.0, "peer"),)
    row = Benchmark("group/memory", "task", contenders, lambda memory: {"more": memory.above_start}, "memory", goals)
    ours, peer = table_rows(measure(row, 2))
    assert (ours.time, ours.ratio, ours.goal) == ("300 MB", "1.500", "at most 2 of peer: met")
    assert (peer.time, peer.quality) == ("200 MB", "more 10.0000")
