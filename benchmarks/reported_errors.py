"""Is the error that `committee compare` reports the one that new rows get? `python -m benchmarks.reported_errors`.

As a new user would: two thirds of a public file, as it lies there, become a CSV file; `committee compare` chooses and
reports, `committee predict` predicts the other rows, and this module, which shares nothing with the library, counts the
errors. Reported is the error on rows that chose nothing, with its standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks import tables
from benchmarks.harness import Skip
from benchmarks.machine import describe_machine
from benchmarks.open_data import SETS, DataSet
from benchmarks.report import markdown_table, seconds_text

REPORTED = Path(__file__).with_name("REPORTED.md")

NAMES = (
    "adult", "titanic", "churn", "german-credit", "spambase", "soybean", "letter", "waveform", "abalone", "california",
    "diamonds", "insurance", "concrete",
)  # fmt: skip

ADULT_TEST = "adult_test.csv.gz"
"""The one set with test rows of its own."""

MAX_ROWS = 30_000

Floats = NDArray[np.float64]


class Evaluation(NamedTuple):
    """One set: what was reported and what the other rows say, errors in per cent or root mean squared errors."""

    data: DataSet
    n_train: int
    n_test: int
    winner: str
    reported: float
    reported_error: float  # standard error
    result: float
    found_error: float
    seconds: float

    @property
    def distance(self) -> float:
        """In standard errors of the difference."""
        return (self.reported - self.result) / float(np.hypot(self.reported_error, self.found_error))


def halves(data: DataSet) -> tuple[Any, Any]:
    """Rows to choose by and the others, with their columns as they are in the file."""
    frame = tables.shared(data.file)
    if data.name == "adult":
        return frame, tables.shared(ADULT_TEST)
    rows = np.random.default_rng(0).permutation(len(frame))[:MAX_ROWS]
    cut = 2 * len(rows) // 3
    return frame.iloc[rows[:cut]], frame.iloc[rows[cut:]]


def measure(data: DataSet, budget: str) -> Evaluation:
    """The command on one set. Raises Skip where its file is not there."""
    import pandas as pd

    train, test = halves(data)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        train.to_csv(folder / "train.csv", index=False)
        test.drop(columns=data.target).to_csv(folder / "test.csv", index=False)
        start = time.perf_counter()
        options = ("--target", data.target, "--time-budget", budget, "--output-dir", "out")
        _committee(folder, "compare", "train.csv", *options)
        seconds = time.perf_counter() - start
        _committee(folder, "predict", "out/model.committee", "test.csv", "--output", "predictions.csv")
        compared = json.loads((folder / "out" / "results.json").read_text())
        predictions = pd.read_csv(folder / "predictions.csv").iloc[:, 0].to_numpy()
    result, error = evaluate(test[data.target].to_numpy(), predictions, data.task == "regression")
    reported = compared["held_out_losses"][compared["metric"]]
    return Evaluation(
        data, len(train), len(test), compared["winner"], reported, compared["held_out_loss_se"], result, error, seconds
    )  # fmt: skip


def evaluate(truth: NDArray[Any], predictions: NDArray[Any], is_number: bool) -> tuple[float, float]:
    """The fraction of wrong classes or the root mean squared error, and its standard error."""
    n = len(truth)
    if not is_number:
        wrong = np.char.strip(truth.astype(str)) != np.char.strip(predictions.astype(str))
        return float(wrong.mean()), float(wrong.std() / np.sqrt(n))
    squares = (np.asarray(truth, np.float64) - np.asarray(predictions, np.float64)) ** 2
    root = float(np.sqrt(squares.mean()))
    return root, float(squares.std() / np.sqrt(n) / (2.0 * root))


def _committee(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "committee", *words, "--quiet"], cwd=folder, check=True)


def report(results: Sequence[Evaluation], budget: str) -> str:
    """The file: what was done, and a row for each set."""
    header = ("set", "rows", "winner", "reported", "on the other rows", "apart", "compared in")
    far = sum(abs(one.distance) > 2.0 for one in results)
    return "\n\n".join(
        [
            "# The reported error beside that of other rows",
            "Written by `python -m benchmarks.reported_errors`; do not edit. Measured with "
            + ", ".join(f"{key} {value}" for key, value in describe_machine().items())
            + ".",
            f"`committee compare --time-budget {budget}` on two thirds of the rows of a public file (adult: its "
            "training file), `committee predict` on the others. Errors in per cent, or root mean squared errors, each "
            "with its standard error; apart is their difference in standard errors: beyond two on "
            f"{far} of {len(results)} sets.",
            markdown_table(header, [_cells(one) for one in results]),
        ]
    ) + "\n"  # fmt: skip


def _cells(one: Evaluation) -> list[str]:
    return [
        one.data.name, f"{one.n_train:,} + {one.n_test:,}", one.winner, _error(one, one.reported, one.reported_error),
        _error(one, one.result, one.found_error), f"{one.distance:+.1f}", seconds_text(one.seconds),
    ]  # fmt: skip


def _error(one: Evaluation, value: float, error: float) -> str:
    if one.data.task == "regression":
        return f"{value:.4g} ± {error:.2g}"
    return f"{100 * value:.1f} ± {100 * error:.1f} %"


@click.command()
@click.option("--only", multiple=True, help="Names of sets; all without.")
@click.option("--time-budget", "budget", default="5m", show_default=True, help="Time for comparing, as in the command.")
@click.option("--write/--no-write", default=True, help="Write REPORTED.md, or only say what was measured.")
def main(only: Sequence[str], budget: str, write: bool) -> None:
    """Measure and report."""
    by_name = {data.name: data for data in SETS}
    results: list[Evaluation] = []
    for name in only or NAMES:
        try:
            results.append(measure(by_name[name], budget))
        except Skip as reason:
            click.echo(f"{name}: skipped, {reason}")
            continue
        click.echo("  ".join(_cells(results[-1])))
    if write and results:
        REPORTED.write_text(report(results, budget))


if __name__ == "__main__":
    main()
