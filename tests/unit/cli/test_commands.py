"""The commands as a user runs them: from a table to a model, its answers and its page."""

from __future__ import annotations

import gzip
import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from committee.base.journal import Journal
from committee.cli import main
from committee.cli.compare import Request, all_methods, split_names
from committee.cli.console_results import left_out
from committee.cli.demo import write_sample
from committee.cli.model_files import read_model, thinned
from committee.cli.predict import PredictOptions, interval_ends, predict_frame
from committee.evaluation.comparison import Comparison, MethodResult, compare
from committee.evaluation.methods import METHODS
from committee.evaluation.metrics import format_loss
from committee.ingest.row_hashes import match_rows, packed, unpacked
from committee.storage import inspect_model, load_model, save_model
from committee.tabular.identity import row_keys
from committee.voting.calibrated_classifier import uncalibrated

RNG = np.random.default_rng(0)
FEW = ("--time-budget", "none", "--methods", "constant,pruned tree", "--cv", "3")


def run(*arguments: object, **more: Any) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [str(each) for each in arguments], **more)


def table_of_classes() -> pl.DataFrame:
    n = 240
    x, colour = RNG.normal(size=n), RNG.choice(["red", "green", "blue"], n)
    score = x + (colour == "red") + 0.3 * RNG.normal(size=n)
    return pl.DataFrame({
        "id": [f"K{i:04d}" for i in range(n)], "x": [None if i % 17 == 0 else v for i, v in enumerate(x)],
        "colour": colour, "day": [f"2021-01-{i % 28 + 1:02d}" for i in range(n)],
        "bought": np.where(score > 0.3, "yes", "no"),
    })  # fmt: skip


class Made:
    """A folder with a table, and what compare made of it."""

    def __init__(self, folder: Path, target: str, frame: pl.DataFrame, *options: str) -> None:
        self.folder, self.table, self.target = folder, folder / "table.csv", target
        frame.write_csv(self.table)
        self.result = run("compare", self.table, "--target", target, "-o", folder / "out", "--no-report", *options)
        self.model = folder / "out" / "model.committee"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("classes"), "bought", table_of_classes(), *FEW)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Made:
    x = RNG.normal(size=300)
    frame = pl.DataFrame({"x": x, "z": RNG.normal(size=300), "y": 3.0 * x + RNG.normal(size=300)})
    return Made(tmp_path_factory.mktemp("numbers"), "y", frame, "--methods", "linear-model", "--time-budget", "none")


def test_compare_says_what_it_did(classes: Made):
    assert classes.result.exit_code == 0, classes.result.output
    output = classes.result.output
    for part in ("240 rows, 4 features", "'id' has distinct values", "is a date", "chosen", "48 held-out rows"):
        assert part in output
    assert sorted(path.name for path in (classes.folder / "out").iterdir()) == ["model.committee", "results.json"]


def test_results_are_those_of_the_comparison(classes: Made):
    results = json.loads((classes.folder / "out" / "results.json").read_text())
    assert [method["name"] for method in results["results"]] == ["constant", "pruned tree"]
    best = min(results["results"], key=lambda method: method["mean_loss"])
    assert results["winner"] == best["name"]
    assert len(results["held_out_rows"]) == results["settings"]["n_held_out"] == 48
    assert set(Comparison._fields) - set(results) == {"task", "rows", "fold", "held_out_predictions"}
    fields = set(MethodResult._fields) - {"oof_predictions", "estimated_loss"}
    assert set(best) == fields | {"mean_loss", "mean_loss_se", "n_evaluated"}
    assert results["table"]["task"] == "classification"


def test_the_reported_error_is_that_of_the_held_out_rows(classes: Made):
    """An independent re-evaluation: the winner refitted without these rows, from the file alone."""
    from sklearn.base import clone

    from committee.ingest.table import read_table

    results = json.loads((classes.folder / "out" / "results.json").read_text())
    reading = read_table(classes.table, "bought")
    apart = np.array(results["held_out_rows"])
    learned = np.setdiff1d(np.arange(240), apart)
    model: Any = clone(load_model(classes.model)).fit(reading.X[learned], reading.y[learned])
    error = np.mean(model.predict(reading.X[apart]) != reading.y[apart])
    assert results["held_out_losses"]["error"] == pytest.approx(error)


def test_predict_streams_to_stdout_and_files(classes: Made, tmp_path: Path):
    known = read_model(str(classes.model))
    whole = predict_frame(known, pl.read_csv(classes.table), PredictOptions(probabilities=True, keep=("id",)))
    printed = run("predict", classes.model, classes.table, "-p", "--keep", "id", "-q", "--batch-rows", "7")
    assert printed.exit_code == 0
    assert pl.read_csv(printed.stdout.encode())["prediction"].to_list() == whole["prediction"].to_list()
    assert printed.stdout.splitlines()[0] == "id,prediction,probability no,probability yes"
    for name, read in (("p.parquet", pl.read_parquet), ("p.arrow", pl.read_ipc), ("p.ndjson", pl.read_ndjson)):
        assert run("predict", classes.model, classes.table, "-p", "--keep", "id", "-o", tmp_path / name).exit_code == 0
        assert read(tmp_path / name).equals(whole)


def test_predict_reads_stdin_and_needs_no_target(classes: Made):
    text = pl.read_csv(classes.table).drop("bought", "id").write_csv()
    result = run("predict", classes.model, "-q", input=text)
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 241


def test_votes_of_members(classes: Made):
    result = run(
        "fit", classes.table, "-t", "bought", "-m", "AdaBoost stumps", "-o", classes.folder / "boost", *FEW[:2]
    )
    assert result.exit_code == 0, result.output
    known = read_model(str(classes.folder / "boost"))
    votes = predict_frame(known, pl.read_csv(classes.table), PredictOptions(votes=True)).drop("prediction")
    assert votes.width == len(uncalibrated(known.model).estimators_)
    assert set(votes["vote 1"]) == {"yes", "no"}


def test_intervals_hold_the_truth_as_often_as_they_say(numbers: Made):
    known = read_model(str(numbers.model))
    x = RNG.normal(size=2000)
    fresh = pl.DataFrame({"x": x, "z": RNG.normal(size=2000)})
    low, high = interval_ends(known, known.model.predict(fresh), 0.8)
    y = 3.0 * x + RNG.normal(size=2000)
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.8, abs=0.06)
    result = run("predict", numbers.model, numbers.table, "--interval", "80%", "-q")
    assert result.stdout.splitlines()[0] == "prediction,low,high"


@pytest.mark.parametrize("method", ["pruned tree", "random forest", "extra trees"])
def test_intervals_of_few_rows_say_what_they_cannot_promise(tmp_path: Path, method: str):
    """Residuals of rows out of fold, out of bag, and out of fold where a forest has none out of bag."""
    table, model = tmp_path / "few.csv", tmp_path / "model"
    pl.DataFrame({"x": np.linspace(0.0, 1.0, 30), "y": np.linspace(0.0, 3.0, 30) ** 2}).write_csv(table)
    fitted = run("fit", table, "-t", "y", "-m", method, "-o", model, "--time-budget", "none", "--cv", "3")
    assert fitted.exit_code == 0, fitted.output
    enough = run("predict", model, table, "--interval", "0.5")
    assert enough.exit_code == 0, enough.output
    assert "promise" not in enough.stderr
    few = run("predict", model, table, "--interval", "0.99", "--batch-rows", "7")
    assert few.exit_code == 0, few.output
    assert few.stderr.count("99 % intervals need the residuals of 199 rows") == 1
    assert few.stdout.splitlines()[0] == "prediction,low,high"
    assert len(few.stdout.splitlines()) == 31
    assert "promise" not in run("predict", model, table, "--interval", "0.99", "-q").stderr


def test_a_forest_is_explained_on_its_own_rows_too(classes: Made, tmp_path: Path):
    """It makes no error there; but its probabilities suffer."""
    fitted = run("fit", classes.table, "-t", "bought", "-m", "random forest", "-o", tmp_path / "forest")
    assert fitted.exit_code == 0, fitted.output
    (model,) = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".json"]
    said = json.loads(run("explain", model, classes.table, "--json").stdout)
    assert said[0]["importance"] == 100.0


def test_explain_columns_and_rows(classes: Made, numbers: Made):
    permuted = json.loads(run("explain", classes.model, classes.table, "--json").stdout)
    assert {each["column"] for each in permuted[:2]} == {"x", "colour"}
    assert permuted[0]["importance"] == 100.0
    by_splits = json.loads(run("explain", classes.model, "--json").stdout)
    assert by_splits[0]["kind"] == "gain"
    shown = run("explain", numbers.model, numbers.table, "--rows", "0,2-3", "--json")
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)
    assert [row["row"] for row in rows] == [0, 2, 3]
    known = read_model(str(numbers.model))
    first = pl.read_csv(numbers.table)[:1]
    total = rows[0]["base_value"] + sum(each["contribution"] for each in rows[0]["contributions"])
    assert total == pytest.approx(float(known.model.predict(first.drop("y"))[0]), rel=1e-6)
    tree_rows = json.loads(run("explain", classes.model, classes.table, "--rows", "5", "--json").stdout)
    assert tree_rows[0]["contributions"][0]["column"] in ("x", "colour")


def test_inspect_tells_the_method_and_its_error(classes: Made):
    found = json.loads(run("inspect", classes.model, "--json").stdout)
    assert found["target"] == "bought"
    assert found["dropped_columns"] == ["id"]
    assert "error" in found["held_out_losses"]
    assert "bought" in run("inspect", classes.model).stdout


def test_report_of_a_model_file(classes: Made, tmp_path: Path):
    page = tmp_path / "page.html"
    result = run("report", classes.model, classes.table, "-o", page)
    assert result.exit_code == 0, result.output
    assert "the training rows" in result.output
    assert "<html" in page.read_text()


def test_report_knows_training_rows_in_any_order_and_number(classes: Made, tmp_path: Path):
    page, table, whole = tmp_path / "page.html", tmp_path / "other.csv", pl.read_csv(classes.table)
    new = whole.with_columns(pl.col("x") + 0.125).filter(pl.col("x").is_not_null())

    def report(frame: pl.DataFrame) -> tuple[str, str]:
        frame.write_csv(table)
        result = run("report", classes.model, table, "-o", page)
        assert result.exit_code == 0, result.output
        return result.output, page.read_text()

    for same in (whole.sort("x"), pl.concat([new[:1], whole])):
        said, text = report(same)
        assert said.startswith("the training rows")
        assert "not fitted on" not in text
    said, text = report(whole[::3])
    assert said.startswith("some of the training rows")
    assert "not fitted on" not in text
    assert "80 of its 240 training rows" in text
    said, text = report(pl.concat([whole[:50], new[:60]]))
    assert said.startswith("new rows")
    assert "(60 new rows)" in text
    assert "50 rows of 110 are training rows" in text


def test_report_of_a_model_file_that_does_not_tell_its_rows(classes: Made, tmp_path: Path):
    known, old, page = read_model(str(classes.model)), tmp_path / "old.committee", tmp_path / "page.html"
    save_model(known.model, old, metadata={"table": known.metadata.to_json()})  # as before there were hashes
    assert run("report", old, classes.table, "-o", page).output.startswith("the training rows")
    pl.read_csv(classes.table)[::3].write_csv(tmp_path / "part.csv")
    assert "possibly rows of it" in run("report", old, tmp_path / "part.csv", "-o", page).output
    assert "may be training rows" in page.read_text()
    save_model(known.model, old, metadata={"table": known.metadata.to_json(), "training rows": "k8:AAAA"})
    result = run("report", old, classes.table, "-o", page)
    assert result.exit_code == 2
    assert "damaged" in result.output


def test_the_page_says_what_leaks_and_has_the_rows_of_the_file(tmp_path: Path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.where(x + rng.normal(size=300) > 0, "a", "b")
    told = np.where(y == "a", 1.0, 2.0) + 0.01 * rng.normal(size=300)
    gaps = [None if i < 40 else v for i, v in enumerate(y)]
    pl.DataFrame({"x": x, "refund": told, "y": gaps}).write_csv(tmp_path / "t.csv")
    out = tmp_path / "out"
    options = (*FEW, "-o", out, "--no-bias-variance")
    assert run("compare", tmp_path / "t.csv", "-t", "y", *options).exit_code == 0
    assert "leakage: “refund”" in (out / "report.html").read_text()
    assert run("compare", tmp_path / "t.csv", "-t", "y", "--drop", "refund", *options).exit_code == 0
    text = (out / "report.html").read_text()
    section = text[text.index('<section id="label-issues"') :]
    rows = [int(row) for row in re.findall(r'<tr><td class="num">(\d+)</td>', section[: section.index("</section>")])]
    assert rows
    assert min(rows) >= 40


def test_rows_are_known_by_short_hashes_too():
    hashes = row_keys(pl.DataFrame({"x": np.arange(100_001)}), np.zeros(100_001))
    kept = unpacked(packed(hashes), hashes.size)
    assert kept is not None
    known, is_cut = kept
    assert is_cut
    np.testing.assert_array_equal(match_rows(known, is_cut, hashes[5:8]), [5, 6, 7])


def test_compare_writes_the_page_and_prints_json(numbers: Made, tmp_path: Path):
    result = run("compare", numbers.table, "--target", "Y", "-o", tmp_path, "-m", "constant", "--json", "-q")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["winner"] == "constant"
    assert "rmse" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "TABLE", "--target", "bougth"), "No such column: 'bougth'. Did you mean 'bought'"),
        (("compare", "TABLE", "--target", "bought", "-m", "forest"), "Did you mean 'random forest'"),
        (("compare", "TABLE", "--target", "bought", "--metric", "rmse"), "No metric 'rmse'"),
        (("compare", "TABLE", "--target", "bought", "--time-budget", "soon"), "not a duration"),
        (("compare", "TABLE", "--target", "bought", "--test-size", "2"), "not a fraction"),
        (("compare", "TABLE"), "Missing option '--target'"),
        (("compare", "nothing.csv", "--target", "y"), "File not found: nothing.csv"),
        (("predict", "nothing.committee", "TABLE"), "nothing.committee"),
        (("predict", "TABLE", "TABLE"), "Error"),
        (("predict", "MODEL", "OTHER"), "The table has no column"),
        (("predict", "MODEL", "TABLE", "--interval", "0.9"), "pass --probabilities"),
        (("predict", "NUMBERS", "NUMBERS TABLE", "--interval", "0"), "must be between 0 and 1; got 0"),
        (("predict", "MODEL", "TABLE", "--keep", "nope"), "No such column: 'nope'"),
        (("explain", "MODEL", "TABLE", "--rows", "999"), "There is no row 999"),
        (("explain", "MODEL", "--rows", "1"), "--rows needs a TABLE"),
        (("explain", "MODEL", "TABLE", "--rows", "a-b"), "are not row numbers"),
        (("explain", "MODEL", "TABLE", "--rows", "3-1"), "are not row numbers"),
        (("compare", "TABLE", "--target", "bought", "--n-jobs", "0"), "not a number of threads"),
        (("compare", "TABLE", "--target", "bought", "--random-state", "-1"), "not in the range"),
        (("methods", "adabost"), "Did you mean"),
        (("reproduce", "none"), "no reproduction 'none'"),
    ],
)
def test_wrong_requests_end_with_2_and_a_word(
    classes: Made, numbers: Made, tmp_path: Path, arguments: tuple[str, ...], message: str
):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    places = {"TABLE": str(classes.table), "MODEL": str(classes.model), "OTHER": str(other)}
    places |= {"NUMBERS": str(numbers.model), "NUMBERS TABLE": str(numbers.table)}
    result = run(*(places.get(each, each) for each in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output


def test_methods_lists_the_family_and_the_properties():
    found = json.loads(run("methods", "--json").stdout)
    assert [each["name"] for each in found["compare"]] == [*(method.name for method in METHODS), "committee"]
    assert "Breiman, Random forests, 2001" in run("methods").stdout
    assert "uncertainty" in run("methods", "random forest").stdout


def test_the_committee_takes_part():
    X, y = np.arange(300.0).reshape(100, 3), np.arange(100) % 2
    for task in ("classification", "regression"):
        full, quick = all_methods(task, X, y, time_budget=300.0)["committee"]
        assert type(full).__name__.startswith("Committee")
        assert quick.time_budget < full.time_budget


def test_the_committee_has_the_same_members_on_folds_and_on_all_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 8)), rng.integers(0, 2, 6000)
    model = all_methods("classification", X, y, time_budget=30.0)["committee"].quick
    plans = [model.fit(X[:n], y[:n]).members_["name"] for n in (1500, 6000)]
    assert list(plans[0]) == list(plans[1])


def test_reproductions_are_listed_and_run(tmp_path: Path):
    listed = json.loads(run("reproduce", "--json").stdout)
    assert {"boosting-curves", "spam", "xor"} <= {each["name"] for each in listed}
    result = run("reproduce", "xor", "--quick", "-o", tmp_path, "-q", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "xor.json").read_text())["verdict"] == json.loads(result.stdout)["verdict"]
    assert (tmp_path / "xor.png").read_bytes().startswith(b"\x89PNG")


def test_reproduce_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    for name in ("committee_reproductions", "committee_reproductions.registry"):
        monkeypatch.setitem(sys.modules, name, None)
    for words in (("reproduce",), ("reproduce", "xor")):
        result = run(*words)
        assert result.exit_code == 1
        assert "pip install 'committee[reproductions]'" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str):
    assert "_COMMITTEE_COMPLETE" in run("completion", shell).stdout


@pytest.mark.slow
def test_interrupting_leaves_no_file(tmp_path: Path):
    table, out = tmp_path / "t.csv", tmp_path / "out"
    target = write_sample("vehicle", table)
    program = "import sys; from committee.cli import main; main(sys.argv[1:])"
    arguments = ["compare", str(table), "--target", target, "-o", str(out), "--time-budget", "none", "-m", "committee"]
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "846 rows" in process.stderr.readline()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert "Interrupted" in rest
    assert not out.exists()


def test_small_parts():
    assert split_names(["a, b", "c"]) == ("a", "b", "c")
    assert thinned(np.array([3.0, np.nan, 1.0])) == [1.0, 3.0]
    assert len(thinned(RNG.normal(size=5000))) == 1000
    assert Request("t.csv", "y").methods == ()


# --- what a new user met ----------------------------------------------------------------------------------------------


def test_predictions_have_a_row_for_every_row_and_a_header_without_any(classes: Made, tmp_path: Path):
    lines = classes.table.read_text().splitlines()
    table = tmp_path / "t.csv"
    table.write_text("\n".join([*lines[:3], "", *lines[3:6], "", ""]))
    assert len(run("predict", classes.model, table, "-q").stdout.splitlines()) == 1 + 5
    table.write_text(lines[0] + "\n")
    for name in ("o.csv", "o.parquet"):
        assert run("predict", classes.model, table, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / "o.csv").read_text().splitlines() == ["prediction"]
    assert pl.read_parquet(tmp_path / "o.parquet").columns == ["prediction"]


def test_predictions_can_be_predicted_on_again(classes: Made, tmp_path: Path):
    first = tmp_path / "o.csv"
    assert run("predict", classes.model, classes.table, "--keep", "all", "-o", first).exit_code == 0
    again = run("predict", classes.model, first, "--keep", "all", "-q")
    assert again.exit_code == 0, again.output
    assert {"prediction", "prediction of the table"} <= set(again.stdout.splitlines()[0].split(","))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "MODEL", "TABLE", "-o", "answers.xlsx"), "cannot be written as .xlsx"),
        (("predict", "MODEL", "BROKEN"), "cannot be read"),
        (("compare", "TABLE", "-t", "bought", "-o", "/proc/nothing"), "cannot be written"),
        (("compare", "TABLE", "-t", "bought", "--drop", "bought"), "cannot be dropped"),
    ],
)
def test_more_requests_that_cannot_be_met(words: tuple[str, ...], message: str, classes: Made, tmp_path: Path):
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(gzip.compress(classes.table.read_bytes())[:-20])
    places = {"MODEL": classes.model, "TABLE": classes.table, "BROKEN": broken}
    result = run(*(places.get(word, word) for word in words))
    assert result.exit_code == 2
    assert message in result.output


def test_who_ran_out_of_time_gets_advice():
    def listed(status: str) -> list[str]:
        return left_out(cast(Comparison, SimpleNamespace(results=[SimpleNamespace(name="a", status=status, note="b")])))

    line, advice = listed("out of time")
    assert line == "a: out of time, b"
    assert "--time-budget" in advice
    assert listed("failed") == ["a: failed, b"]
    assert listed("done") == []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random forest", "bagging", "gradient boosting"])
def test_the_whole_command_works_on_a_compact_file(method: str, tmp_path: Path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 4))
    frame = pl.DataFrame(X.round(3), schema=list("abcd")).with_columns(y=pl.Series(X[:, 0] + X[:, 1] * X[:, 2]))
    table, model = tmp_path / "table.csv", tmp_path / "m.committee"
    frame.write_csv(table)
    made = run("fit", table, "--target", "y", "-m", method, "-o", model)
    assert made.exit_code == 0, made.output
    whole = tmp_path / "whole.committee"
    read = read_model(str(model)).model
    if method != "gradient boosting":
        own = getattr(read, "trees_", getattr(read, "members_", None))
        assert type(own).__name__ in ("PackedTreeList", "PackedMembers")
    assert save_model(read, whole, compress=False).n_bytes > model.stat().st_size
    wishes: list[tuple[str, ...]] = [("predict",), ("predict", "--interval", "0.9"), ("explain",), ("report",)]
    if method != "gradient boosting":
        wishes.append(("predict", "--votes"))
    for command, *options in wishes:
        output = ("-o", tmp_path / "r.html") if command == "report" else ()
        result = run(command, model, table, *options, *output)
        assert result.exit_code == 0, result.output
    assert "prediction only" not in (tmp_path / "r.html").read_text()
    assert run("inspect", model).exit_code == 0


# --- intervals and bias on rows that drifted --------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pruned tree", "random forest"])
def test_the_report_evaluates_the_intervals_that_predict_gives(tmp_path: Path, method: str):
    """The report made intervals of the new rows' own residuals, which cover those rows whatever the model does."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    y = 2.0 * x + rng.normal(size=500)
    old, new, model = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "model"
    pl.DataFrame({"x": x[:250], "y": y[:250]}).write_csv(old)
    pl.DataFrame({"x": x[250:], "y": y[250:] + 2.0}).write_csv(new)
    fitted = run("fit", old, "-t", "y", "-m", method, "-o", model, "--time-budget", "none", "--cv", "3")
    assert fitted.exit_code == 0, fitted.output
    csv = pl.read_csv(io.StringIO(run("predict", model, new, "--interval", "0.9", "-q").stdout))
    low, high, truth = csv["low"].to_numpy(), csv["high"].to_numpy(), y[250:] + 2.0
    inside, above = np.mean((low <= truth) & (truth <= high)), np.mean(truth > high)
    assert inside < 0.75
    result = run("report", model, new, "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    said = result.output.replace("\n", " ")
    assert f"90% intervals cover {100 * inside:.1f}%" in said
    assert "biased low" in said
    page = (tmp_path / "page.html").read_text()
    assert page.count(f"90% intervals cover {100 * inside:.1f}%") == 2  # summary and section
    assert f"{100 * above:.1f}% above" in page
    assert page.count("biased low") == 2
    own = load_model(model).predict_interval(pl.DataFrame({"x": x[250:]}), 0.9)  # in Python too
    np.testing.assert_allclose(own, np.column_stack([low, high]))


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_figure_of_the_results_is_cut_on_a_narrow_console(width: int):
    from rich.console import Console

    from committee.cli.console_results import mean_and_stderr, results_table

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(0.0, 0.5, 120) > 0.0, "yes", "no")
    found, _ = compare(X, y, methods=["constant", "pruned tree", "mixture of experts"], cv=2)
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(results_table(found, console.width))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for result in found.ranking():
        assert result.name in shown
        assert format_loss(found.metric, mean_and_stderr(result)[0]) in shown
    assert "…" not in shown


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_command_continues_from_its_checkpoint(
    command: str, classes: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = ("-m", "gradient boosting" if command == "fit" else "constant,gradient boosting,random forest")
    arguments = (command, classes.table, "-t", "bought", "--cv", "2", "-j", "1", *method)
    own = () if command == "fit" else ("--no-bias-variance", "--no-report")
    checkpoint, n_made, original = tmp_path / "run.ckpt", [0], Journal.record

    def outputs(name: str) -> tuple[object, ...]:
        return ("-o", tmp_path / name, "--checkpoint", checkpoint, *own)

    def model(name: str) -> Path:
        return tmp_path / name if command == "fit" else tmp_path / name / "model.committee"

    def record(*call: Any) -> None:
        original(*call)
        n_made[0] += 1
        if n_made[0] == 200:
            raise KeyboardInterrupt

    plain = run(*arguments, "-o", tmp_path / "plain", *own, "--time-budget", "none")
    assert plain.exit_code == 0, plain.output
    monkeypatch.setattr(Journal, "record", record)
    interrupted = run(*arguments, *outputs("model"))
    assert interrupted.exit_code == 130
    assert f"the same command continues from {checkpoint}" in interrupted.output
    assert checkpoint.exists()
    again = run(*arguments, *outputs("model"))
    assert again.exit_code == 0, again.output
    assert not checkpoint.exists()
    assert inspect_model(model("model")).data_sha256 == inspect_model(model("plain")).data_sha256


def test_a_checkpoint_of_another_table_is_an_error(classes: Made, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.ckpt"
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(Journal, "record", lambda self, place, thing: interrupt_after(self, place, thing))
        options = ("-m", "random forest", "-j", "1", "--cv", "2", "--checkpoint", checkpoint)
        assert run("fit", classes.table, "-t", "bought", "-o", tmp_path / "model", *options).exit_code == 130
    other = run("fit", classes.table, "-t", "bought", "-o", tmp_path / "model", "--drop", "x", *options)
    assert other.exit_code == 2
    assert "does not belong to this fit" in other.output
    assert checkpoint.exists()
    limited = run("fit", classes.table, "-t", "bought", "--time-budget", "1m", *options)
    assert limited.exit_code == 2
    assert "--time-budget none" in limited.output


def interrupt_after(journal: Journal, place: Any, thing: Any, original: Any = Journal.record) -> None:
    """Keep a result, and interrupt the fit."""
    original(journal, place, thing)
    if place[1] > 5:
        raise KeyboardInterrupt
