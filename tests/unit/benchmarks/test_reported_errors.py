"""Judging what the command reports: the split, the counting and the table. No public data needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import reported_errors, tables
from benchmarks.open_data import DataSet

TOY = DataSet("toy", "toy.csv", "y", "binary")


@pytest.fixture
def toy_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "toy.csv"
    path.write_text("\n".join(["a,y", *(f"{k},{'no' if k % 3 else 'yes'}" for k in range(90))]))
    monkeypatch.setattr(tables, "SHARED", tmp_path)
    return path


@pytest.mark.usefixtures("toy_file")
def test_rows_that_choose_and_rows_that_evaluate_are_all_rows_once():
    train, test = reported_errors.halves(TOY)
    assert (len(train), len(test)) == (60, 30)
    assert sorted([*train["a"], *test["a"]]) == list(range(90))


def test_errors_are_counted():
    truth, predictions = np.array(["a", "b", "b", "a"]), np.array(["a ", "b", "a", "a"])
    assert reported_errors.evaluate(truth, predictions, False) == (0.25, pytest.approx(np.sqrt(0.25 * 0.75 / 4)))
    root, error = reported_errors.evaluate(np.array([1, 2, 3, 4]), np.array([1.0, 2.0, 3.0, 8.0]), True)
    assert root == 2.0
    # squared errors 0, 0, 0, 16: deviation 4 sqrt(3), that of their mean half of it, of the root a fourth of that
    assert error == pytest.approx(np.sqrt(3.0) / 2.0)


@pytest.mark.usefixtures("toy_file")
def test_the_table_has_what_the_command_said_and_what_the_other_rows_say(monkeypatch: pytest.MonkeyPatch):
    calls = []

    def command(folder: Path, *words: str) -> None:
        calls.append(words[0])
        (folder / "out").mkdir(exist_ok=True)
        losses = {"held_out_losses": {"error": 0.3}, "held_out_loss_se": 0.1}
        (folder / "out" / "results.json").write_text(json.dumps({"winner": "stump", "metric": "error", **losses}))
        (folder / "predictions.csv").write_text("\n".join(["y", *["no"] * 30]))

    monkeypatch.setattr(reported_errors, "_committee", command)
    result = reported_errors.measure(TOY, "1m")
    assert calls == ["compare", "predict"]
    _, test = reported_errors.halves(TOY)
    share = float(np.mean(test["y"] == "yes"))
    assert result.result == pytest.approx(share)
    assert result.distance == pytest.approx((0.3 - share) / np.hypot(0.1, np.sqrt(share * (1 - share) / 30)))
    text = reported_errors.report([result], "1m")
    assert "| toy | 60 + 30 | stump | 30.0 ± 10.0 % |" in " ".join(text.split())
    assert "beyond two on 0 of 1 sets" in text
