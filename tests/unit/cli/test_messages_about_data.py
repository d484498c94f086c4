"""Faults that a new user of the command met."""

from __future__ import annotations

import gzip
import json
import shlex
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from committee.cli import main
from committee.cli.compare import command_line
from committee.cli.console import console
from committee.cli.console_results import LiveComparison, verdict
from committee.cli.main import helpful_errors, print_table
from committee.cli.predict import NOT_A_NUMBER, cell_warnings, unreadable_cells
from committee.evaluation.comparison import ComparisonStep, compare
from committee.evaluation.methods import METHODS, family
from committee.evaluation.metrics import format_loss
from committee.ingest.column_types import infer_column
from committee.ingest.files import TableError
from committee.ingest.table import read_table

N = 120


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments], catch_exceptions=False)


def table() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    columns: dict[str, Any] = {
        "nr": [f"{100 + 3 * (i % 40)}" for i in range(N)], "code": ["007", "12"] * (N // 2),
        "flag": ["true", "false"] * (N // 2), "age": rng.integers(20, 60, N), "x": x,
        "noise": rng.normal(size=N), "city": ["Rome", "Oslo", "Bern"] * (N // 3),
        "y": np.where(x + 0.5 * rng.normal(size=N) > 0, "yes", "no"),
    }  # fmt: skip
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Result]:
    folder = tmp_path_factory.mktemp("fitted")
    source, model = folder / "table.csv", folder / "m.committee"
    table().write_csv(source)
    result = run("fit", source, "-t", "y", "-m", "random forest", "-o", model, "--cv", "3", "--time-budget", "none")
    assert result.exit_code == 0, result.output
    return source, model, result


# --- what is printed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_terminal", [True, False])
def test_numbers_are_never_cut(is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    words = "a long statement of what was measured " * 4
    lines = [(words, "0.073", "0.0741 ± 0.0123", "yes"), ("short", "", words, "no")]
    print_table(("what", "published", "obtained", "agrees"), lines)
    printed = capsys.readouterr().out
    for number in ("0.073 ", "0.0741 ± 0.0123", "yes", "published", "agrees"):
        assert number in printed
    assert (words.strip() in printed) == (not is_terminal)


def test_warnings_are_notes_without_source_lines(capsys: pytest.CaptureFixture[str]):
    for quiet in (False, True):
        with helpful_errors(quiet):
            for _ in range(2):
                warnings.warn("EM did not converge", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "! EM did not converge\n"


def test_one_method_is_not_said_to_be_chosen(fitted: tuple[Path, Path, Result]):
    output = fitted[2].output
    for word in ("smallest", "chose", "Choosing"):
        assert word not in output
    assert "very few" in output


def test_choices_are_reported_as_choices():
    frame = table()
    methods = {name: family("classification", N)[name] for name in ("constant", "pruned tree")}
    found, _ = compare(frame.select("x", "noise"), frame["y"], methods=methods, cv=3)
    assert "has the smallest log loss" in verdict(found)


def test_inspect_prints_no_dictionaries(fitted: tuple[Path, Path, Result]):
    printed = run("inspect", fitted[1]).stdout
    assert "parameters: " in printed
    assert "RandomForestClassifier" in printed  # the forest, inside where its probabilities are calibrated
    assert "{" not in printed


# --- predicting and explaining ----------------------------------------------------------------------------------------


def test_garbage_in_columns_is_reported_once_for_all_batches(fitted: tuple[Path, Path, Result], tmp_path: Path):
    from committee.cli.model_files import read_model

    new = tmp_path / "new.csv"
    table().with_columns(age=pl.lit("abc"), city=pl.lit("Tokyo")).write_csv(new)
    told = run("predict", fitted[1], new, "--batch-rows", "50").stderr
    assert told.count(f'"age": {N} cells are not a number') == 1
    assert told.count(f'"city": {N} cells with a category') == 1
    assert run("predict", fitted[1], new, "-q").stderr == ""
    assert not +unreadable_cells(read_model(str(fitted[1])), table())


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.ndjson"])
def test_columns_handed_through_keep_their_types(name: str, fitted: tuple[Path, Path, Result], tmp_path: Path):
    words = ["--keep", "age", "--keep", "flag", "--keep", "x", "--keep", "code", "--batch-rows", "50"]
    assert run("predict", fitted[1], fitted[0], *words, "-o", tmp_path / name).exit_code == 0
    read = {"p.parquet": pl.read_parquet, "p.arrow": pl.read_ipc, "p.ndjson": pl.read_ndjson}[name]
    found = read(tmp_path / name)
    wanted = [pl.Int64, pl.Boolean, pl.Float64, pl.String, pl.String]
    assert [found.schema[column] for column in ("age", "flag", "x", "code", "prediction")] == wanted
    assert found["age"].to_list() == table()["age"].to_list()
    assert found["flag"].to_list() == [True, False] * (N // 2)


def test_a_forest_is_explained_out_of_bag_on_its_own_rows(fitted: tuple[Path, Path, Result], tmp_path: Path):
    own = run("explain", fitted[1], fitted[0], "--json")
    assert "out of bag" in own.stderr
    values = {each["column"]: each["importance"] for each in json.loads(own.stdout)}
    assert values["noise"] < 20.0 < values["x"] == 100.0
    table()[:60].write_csv(tmp_path / "new.csv")
    assert run("explain", fitted[1], tmp_path / "new.csv").stderr == ""


def test_importances_on_training_rows_are_warned_of(fitted: tuple[Path, Path, Result], tmp_path: Path):
    model = tmp_path / "tree.committee"
    assert run("fit", fitted[0], "-t", "y", "-m", "pruned tree", "-o", model, "--cv", "3").exit_code == 0
    assert "training rows" in run("explain", model, fitted[0]).stderr


def test_explained_rows_have_numbers_and_a_base(fitted: tuple[Path, Path, Result]):
    (row,) = json.loads(run("explain", fitted[1], fitted[0], "--rows", "0", "--json").stdout)
    cells = {each["column"]: each["value"] for each in row["contributions"]}
    assert isinstance(cells["x"], float)
    assert cells["city"] == "Rome"
    assert "(base value)" in run("explain", fitted[1], fitted[0], "--rows", "0").stdout


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "TABLE", "-t", "y", "-o", "-"), "'-' is not the name of a file"),
        (("fit", "TABLE", "-t", "y", "-o", "/proc/none/m.committee"), "/proc/none/m.committee cannot be written"),
        (("predict", "MODEL", "TABLE", "-o", "/proc/none/p.csv"), "/proc/none/p.csv cannot be written"),
        (("fit", "TABLE", "-t", "y", "-m", ""), "--method is empty"),
        (("compare", "TABLE", "-t", "y", "-m", ""), "--methods is empty"),
        (("compare", "TABLE", "-t", "y", "--sample-weight", "y"), "'y' is the target: it cannot be sample_weight"),
        (("compare", "TABLE", "-t", "charges"), "The columns are: nr, code"),
    ],
)
def test_requests_that_are_rejected(words: tuple[str, ...], message: str, fitted: tuple[Path, Path, Result]):
    places = {"TABLE": fitted[0], "MODEL": fitted[1]}
    result = run(*(places.get(word, word) for word in words))
    assert result.exit_code == 2, result.output
    assert message in result.output


# --- tables -----------------------------------------------------------------------------------------------------------


def test_counters_with_gaps_are_identifiers():
    counter = [i for i in range(205) if i not in (3, 50, 51, 120, 199)]
    assert infer_column(pl.Series("c", counter)).type == "dropped"
    assert infer_column(pl.Series("c", [*range(100), None, *range(101, 110)])).type == "dropped"
    assert infer_column(pl.Series("c", [7 * i for i in range(100)])).type == "numeric"  # growing amounts


def test_counters_are_known_before_rows_are_left_out():
    labels = [None if i % 4 else "ab"[i % 8 // 4] for i in range(400)]
    frame = pl.DataFrame({"c": range(400), "x": np.random.default_rng(0).normal(size=400), "y": labels})
    assert read_table(frame, "y").X.columns == ["x"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([i % 5 for i in range(N)], "task='regression'"),
        ([10_000 + i % 30 for i in range(N)], "task='classification'"),
        ([i % 2 for i in range(N)], ""),
        ([float(i) + 0.5 for i in range(N)], ""),
    ],
)
def test_a_doubtful_task_names_the_option(values: list[float], words: str):
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=N), "y": values})
    told = " ".join(read_table(frame, "y").warnings)
    assert words in told
    assert bool(words) == ("task=" in told)
    assert "task=" not in " ".join(read_table(frame, "y", task="regression").warnings)


def test_dates_say_which_comes_first():
    either = infer_column(pl.Series("d", [f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/2021" for i in range(N)]))
    assert "with the day first (the month" in either.note
    month = infer_column(pl.Series("d", [f"{i % 12 + 1:02d}/{i % 28 + 1:02d}/2021" for i in range(N)]))
    assert "with the month first; features: month, weekday and days since the first" in month.note


def test_long_lists_say_how_many_there_are_besides():
    labels = [f"single {i:03d}" for i in range(20)] + ["a", "b"] * 50
    told = " ".join(read_table(pl.DataFrame({"x": np.sin(np.arange(120.0)), "y": labels}), "y").warnings)
    assert "and 14 more." in told


def test_a_table_of_the_target_alone():
    with pytest.raises(TableError, match="no columns but 'y'"):
        read_table(pl.DataFrame({"y": ["a", "b"] * 30}), "y")


def test_boosted_trees_do_not_end_after_one_member():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = family("classification", 60)["AdaBoost trees"].fit(X, X[:, 0] + rng.normal(size=60) > 0.0)
    assert len(model.estimators_) > 10


# --- a second new user ------------------------------------------------------------------------------------------------


def test_every_method_of_compare_has_its_properties():
    names = [*(method.name for method in METHODS), "committee"]
    found = {name: run("methods", name) for name in names}
    assert [name for name, result in found.items() if result.exit_code] == []
    assert all("in compare" in result.output for result in found.values())
    assert "GradientBoostingClassifier" in found["gradient boosting"].output
    assert "LogisticRegressionCV" in found["linear model"].output
    assert "paper" not in found["constant"].output  # a tree of one leaf has not the paper of trees


def test_a_table_of_long_names_only(capsys: pytest.CaptureFixture[str]):
    print_table(("", "ANameThatIsLongerThanAnyNumber"), [("a", "a text that is longer than any number is")])
    assert "ANameThatIsLongerThanAnyNumber" in capsys.readouterr().out


def test_predictions_called_gz_are_packed(fitted: tuple[Path, Path, Result], tmp_path: Path):
    source, model, _ = fitted
    assert run("predict", model, source, "-o", tmp_path / "a.csv.gz").exit_code == 0
    text = gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode()
    assert text.splitlines()[0] == "prediction"
    assert len(text.splitlines()) == N + 1
    rejected = run("predict", model, source, "-o", tmp_path / "a.parquet.gz")
    assert rejected.exit_code == 2
    assert "use a.parquet" in rejected.output


@pytest.mark.parametrize("kind", ["gz", "json", "ndjson", "csv"])
def test_a_pipe_tells_its_format(kind: str, fitted: tuple[Path, Path, Result]):
    source, model, _ = fitted
    rows = {
        "gz": lambda: gzip.compress(source.read_bytes()), "csv": source.read_bytes,
        "json": lambda: b"\n " + table().write_json().encode(), "ndjson": lambda: table().write_ndjson().encode(),
    }[kind]()  # fmt: skip
    runner = CliRunner()
    predicted = runner.invoke(main, ["predict", str(model), "-q"], input=rows)
    assert predicted.stdout == run("predict", model, source, "-q").stdout
    explained = runner.invoke(main, ["explain", str(model), "-", "--rows", "0", "--json"], input=rows)
    assert json.loads(explained.stdout)[0]["row"] == 0


def test_a_damaged_pipe_is_a_plain_error(fitted: tuple[Path, Path, Result]):
    source, model, _ = fitted
    packed = gzip.compress(source.read_bytes())
    cut = CliRunner().invoke(main, ["predict", str(model)], input=packed[: len(packed) // 2])
    assert (cut.exit_code, "stdin cannot be read" in cut.output) == (2, True)


def test_columns_handed_through_twice_or_under_names_of_predictions(fitted: tuple[Path, Path, Result], tmp_path: Path):
    _, model, _ = fitted
    more = table().with_columns(
        pl.lit("a").alias("probability yes"), pl.lit(1).alias("low"), pl.lit(2).alias("prediction")
    )
    more.write_csv(tmp_path / "more.csv")
    words = [part for name in ("AGE", "age", "probability yes", "low", "prediction") for part in ("--keep", name)]
    found = run("predict", model, tmp_path / "more.csv", "-p", "-q", *words).stdout.splitlines()[0]
    kept = "age,probability yes of the table,low,prediction of the table"
    assert found == f"{kept},prediction,probability no,probability yes"
    near = run("predict", model, tmp_path / "more.csv", "--keep", "agee")
    assert (near.exit_code, "Did you mean 'age'?" in near.output) == (2, True)


def test_lists_handed_through_to_csv_are_text(fitted: tuple[Path, Path, Result], tmp_path: Path):
    _, model, _ = fitted
    nested = table().with_columns(
        pl.Series("list", [[1, 2]] * N), pl.Series("record", [{"a": None, "b": "ä"}] * N), pl.Series("b", [b"x"] * N)
    )
    nested.write_parquet(tmp_path / "nested.parquet")
    words = ("--keep", "list", "--keep", "record", "--keep", "b")
    found = run("predict", model, tmp_path / "nested.parquet", "-q", *words).stdout
    first = pl.read_csv(found.encode()).row(0)[:3]
    assert (json.loads(first[0]), json.loads(first[1]), first[2]) == ([1, 2], {"a": None, "b": "ä"}, "x")


def test_one_odd_cell_is_one_cell():
    assert cell_warnings(Counter({("a", NOT_A_NUMBER): 1})) == ['"a": 1 cell is not a number and treated as missing']


def test_weights_of_nothing_are_rejected():
    with pytest.raises(TableError, match="weights in 'w' are 0"):
        read_table(table().with_columns(pl.lit(0).alias("w")), "y", sample_weight="w")


def test_a_header_alone():
    with pytest.raises(TableError, match="a header and no rows"):
        read_table(table()[:0], "y")


def test_the_command_can_be_copied(monkeypatch: pytest.MonkeyPatch):
    words = ["compare", "a$b.csv", "-t", "sugar > 120", "--drop", "it's"]
    monkeypatch.setattr("sys.argv", ["committee", *words])
    assert shlex.split(command_line()) == ["committee", *words]


def test_auc_is_understood(tmp_path: Path):
    source = tmp_path / "table.csv"
    table().write_csv(source)
    words = ("-t", "y", "-m", "constant", "--metric", "AUC", "-o", tmp_path / "m", "--cv", "2", "--json", "-q")
    assert json.loads(run("fit", source, *words).stdout)["metric"] == "1 - auc"


def test_methods_with_the_same_loss_are_named():
    x = np.arange(80.0)
    methods = {name: family("classification", 80)[name] for name in ("constant", "pruned tree", "AdaBoost stumps")}
    found = compare(x[:, None], np.where(x < 40, "a", "b"), methods=methods, metric="error", cv=4)[0]
    same = {r.name for r in found.ranking() if r.losses.mean() == found.result(found.winner).losses.mean()}
    words = verdict(found).partition(".")[0]
    assert len(same) > 1
    assert all(name in words for name in same)


def test_some_folds_are_not_put_beside_all(capsys: pytest.CaptureFixture[str]):
    watch = LiveComparison(console(), "error")
    watch(ComparisonStep("a", 1, 2, 1, 5, "out of time", 0.01, 1.0, "would need more"))
    watch(ComparisonStep("b", 2, 2, 5, 5, "done", 0.2, 1.0))
    assert capsys.readouterr().err.splitlines() == ["1/2 a: out of time (would need more)", "2/2 b: done error 20.0%"]


def test_page_figures_and_terminal_tell_the_same_of_no_model(tmp_path: Path):
    rng = np.random.default_rng(1)
    noise = pl.DataFrame({"x": rng.normal(size=N), "y": np.exp(2.0 * rng.normal(size=N))})
    noise.write_csv(tmp_path / "noise.csv")
    words = ("-t", "y", "--metric", "mae", "-m", "SVM,linear model", "--no-bias-variance", "-o", tmp_path / "out")
    result = run("compare", tmp_path / "noise.csv", *words)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    held_out, constant = sorted(results["held_out_rows"]), results["held_out_loss_of_constant"]
    y = noise["y"].to_numpy()
    others = np.delete(y, held_out)
    median = np.sort(others)[(others.size - 1) // 2]
    assert constant == pytest.approx(np.abs(y[held_out] - median).mean())  # not the mean: by mae
    assert f"the constant has {constant:.4g}" in result.stderr
    doubt = " it is no better" in result.stderr or " it is not clearly better" in result.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert doubt
    assert "predicting the median" in page
    assert ("None of the 2 methods" in page) == ("it is no better" in result.stderr)


# --- losses, flags and progress ---------------------------------------------------------------------------------------


def test_small_errors_can_be_distinguished():
    shown = [format_loss("error", value) for value in (0.0004, 0.0005, 0.0, 0.1234)]
    assert shown == ["0.040%", "0.050%", "0%", "12.3%"]


def test_a_winner_that_is_no_better_than_the_constant_is_said_first(tmp_path: Path):
    rng = np.random.default_rng(3)
    pl.DataFrame({"x": rng.normal(size=200), "y": rng.choice(["a", "b"], 200)}).write_csv(tmp_path / "noise.csv")
    words = ("-t", "y", "-m", "pruned tree,linear model", "--cv", "3", "--no-report", "-o", tmp_path)
    result = run("compare", tmp_path / "noise.csv", *words)
    assert "no better than the constant" in result.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    (winner,) = [each for each in found["results"] if each["name"] == found["winner"]]
    assert winner["beats_constant"] is False
    assert f"{winner['name']} is no better than the constant" in result.stderr


def test_metrics_by_their_usual_names_on_the_command_line(tmp_path: Path):
    table().write_csv(tmp_path / "t.csv")
    options = ("-t", "y", "-m", "constant", "--cv", "2", "-o", tmp_path / "m", "--json", "-q")
    for name, loss in (("accuracy", "error"), ("f1_macro", "1 - f1 macro"), ("roc_auc", "1 - auc")):
        assert json.loads(run("fit", tmp_path / "t.csv", "--metric", name, *options).stdout)["metric"] == loss
    assert "Did you mean 'accuracy'" in run("fit", tmp_path / "t.csv", "--metric", "acuracy", *options).output


def test_a_log_tells_each_fold_of_one_method_and_the_last_fits(capsys: pytest.CaptureFixture[str]):
    watch = LiveComparison(console(), "log loss", n_methods=1)
    watch(ComparisonStep("a", 1, 1, 1, 2, "evaluated", 0.5, 1.0))
    watch(ComparisonStep("a", 1, 1, 2, 2, "evaluated", 0.4, 2.0, "quick settings"))
    for seconds in (0.0, 1.0):
        watch(ComparisonStep("a", 1, 1, 2, 2, "refitting", np.nan, 3.0, "on all rows", 65.0 + seconds))
    assert capsys.readouterr().err.splitlines() == [
        "1/1 a: fold 1 of 2, log loss 0.5, 1.0 s",
        "1/1 a: fold 2 of 2, log loss 0.4 (quick settings), 2.0 s",
        "fitting a on all rows (about 65.0 s)",
    ]
