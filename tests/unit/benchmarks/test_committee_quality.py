"""The judging of committees: what is compared, how ranks are counted, what is kept. No public data needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import committee_quality as judging
from benchmarks import tables
from benchmarks.committee_quality import (
    Evaluation,
    Kept,
    SetResult,
    against_best_member,
    document,
    errors_of,
    evaluate,
    ranks_apart,
    summary_table,
)
from benchmarks.gradient_boosting_quality import Method
from benchmarks.open_data import SETS, DataSet

TOY = DataSet("toy", "toy.csv", "class", "binary")


class Guess:
    """Says class 1 where the first column is positive; its only member says class 0."""

    def fit(self, X: Any, y: Any) -> Guess:
        return self

    def predict_proba(self, X: Any) -> Any:
        second = (X.iloc[:, 0].to_numpy() > 0).astype(float)
        return np.column_stack([1.0 - second, second])

    def member_predictions(self, X: Any) -> dict[str, Any]:
        return {"never": np.column_stack([np.ones(len(X)), np.zeros(len(X))])}


@pytest.fixture
def _toy_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """60 rows of which the first column tells the class but for six."""
    rows = [f"{1 if (i % 2) != (i < 6) else -1},{i % 2}" for i in range(60)]
    (tmp_path / "toy.csv").write_text("\n".join(["a,class", *rows]))
    monkeypatch.setattr(tables, "SHARED", tmp_path)


@pytest.mark.usefixtures("_toy_file")
def test_a_result_is_measured_once_and_kept(tmp_path: Path) -> None:
    made: list[int] = []

    def make(*_: Any) -> Guess:
        made.append(1)
        return Guess()

    method, said = Method(make, "numpy"), list[str]()
    first = evaluate(TOY, {"committee": method}, Kept(tmp_path / "kept", []), said.append).by_method["committee"]
    assert first.error == pytest.approx(0.1)
    assert first.loss_error == pytest.approx(np.sqrt(0.1 * 0.9 / 59))
    mean, deviation = first.members["never"]
    assert mean == pytest.approx(0.4)  # wrong on half of the rows, the committee on a tenth
    assert deviation > 0.0
    n_made = len(made)
    again = evaluate(TOY, {"committee": method}, Kept(tmp_path / "kept", []), said.append).by_method["committee"]
    assert (again, len(made)) == (first, n_made)
    evaluate(TOY, {"committee": method}, Kept(tmp_path / "kept", ["committee"]), said.append)
    assert len(made) > n_made
    broken = {"broken": Method(lambda *_: 1 / 0, "numpy")}
    assert not evaluate(TOY, broken, Kept(tmp_path / "kept", []), said.append).by_method
    assert "broken is left out: ZeroDivisionError" in said[-1]


def result(name: str, members: dict[str, tuple[float, float]], **errors: float) -> SetResult:
    data = next(data for data in SETS if data.name == name)
    by_method = {
        key.replace("_", " "): Evaluation((error,) * 3, (), 2.0, members if key == "committee" else {}, 0.01)
        for key, error in errors.items()
    }
    return SetResult(data, 100, 3, by_method)


RESULTS = [
    result("heart", {"a": (-0.02, 0.004), "b": (0.1, 0.1)}, committee=0.2, catboost=0.1, xgboost=0.3),
    result("sonar", {"a": (0.05, 0.02)}, committee=0.1, catboost=0.2),
]


def test_the_best_member_is_the_one_of_smallest_loss() -> None:
    worse, better = (against_best_member(found, True) for found in RESULTS)
    assert worse.member == "a"
    assert worse.excess == pytest.approx(0.02 / 0.18)
    assert (worse.by_own_error, worse.by_difference) == pytest.approx((2.0, 5.0))
    assert better.excess == pytest.approx(-0.05 / 0.15)


def test_ranks_wins_and_times() -> None:
    names = ["committee", "catboost", "xgboost"]
    np.testing.assert_allclose(errors_of(RESULTS, names)[1], [0.1, 0.2, np.inf])
    table = summary_table(RESULTS, names)
    assert "| committee | 1.50 | 1 |" in table
    assert "| xgboost | 3.00 | 0 |" in table
    assert "| 2 of 2 | 2 s |" in table
    assert "| committee | 2.00 | 1.00 |" in ranks_apart(RESULTS, names)


def test_the_document_says_what_was_found() -> None:
    text = document(RESULTS, "Measured with care.")
    assert "Measured with care." in text
    assert "on 1 of 2 sets, by more than two on 0; by more than one standard error of the difference on 1 of 2" in text
    assert "| heart \\* | binary | 100 x 3 | 0.2 | **0.1** | 0.3 |" in text
    assert "failed" in text
    assert "Not yet evaluated: adult, " in text


def test_forests_of_others_get_codes() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.Categorical(["x", None, "y"]), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(judging._with_codes(frame)["a"], [0.0, np.nan, 1.0])
