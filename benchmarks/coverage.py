"""Do the intervals of forests hold what they say? Coverage on public data, `python -m benchmarks.coverage`.

Two thirds of the rows of every set, drawn at random, are for training, the others are predicted, several times over.
Nominal coverages are those of `predict_interval` and of the intervals between two of `predict_quantiles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.harness import Skip
from benchmarks.machine import describe_machine
from benchmarks.open_data import SETS, DataSet, Table, load
from benchmarks.report import markdown_table
from committee import RandomForestRegressor

COVERAGE = Path(__file__).with_name("COVERAGE.md")

NOMINAL = (0.80, 0.90, 0.95)
GOAL = 0.02
SPLITS = 5
TREES = 200
MIN_ROWS, MAX_ROWS = 2_000, 6_000

METHODS = ("out-of-bag errors", "quantiles", "quantiles, calibrated")

Floats = NDArray[np.float64]


class Held(NamedTuple):
    """One set: the fraction of the test rows inside the intervals, and their mean length beside the target's spread."""

    data: DataSet
    n_rows: int
    n_distinct: int  # values of the target
    covered: Floats  # [splits, methods, levels]
    length: Floats  # [splits, methods, levels], in standard deviations of the target

    @property
    def misses(self) -> Floats:
        """Mean coverage less the nominal one [methods, levels]."""
        return self.covered.mean(axis=0) - np.array(NOMINAL)


def sets() -> list[DataSet]:
    """The sets with numbers to predict."""
    more = DataSet("puma8nh", "puma8nh.csv", "thetadd3", "regression")
    return sorted([more, *(data for data in SETS if data.task == "regression")])


def measure(data: DataSet, n_splits: int = SPLITS) -> Held | None:
    """Coverage on one set; None where it has too few rows. Raises Skip where its file is not there."""
    table = load(data)
    if len(table.y) < MIN_ROWS:
        return None
    result = [intervals(*split) for split in splits(table, n_splits)]
    covered, length = (np.array([each[k] for each in result]) for k in range(2))
    return Held(data, min(len(table.y), MAX_ROWS), np.unique(table.y).size, covered, length)


class Split(NamedTuple):
    """Training rows and others."""

    X: Any
    y: Floats
    X_test: Any
    y_test: Floats
    seed: int


def splits(table: Table, n_splits: int) -> Iterator[Split]:
    """Two thirds against one third, at random; of a large set a sample of the rows, another one every time."""
    for seed in range(n_splits):
        rows = np.random.default_rng(seed).permutation(len(table.y))[:MAX_ROWS]
        train, test = np.split(rows, [2 * len(rows) // 3])
        yield Split(table.X.iloc[train], table.y[train], table.X.iloc[test], table.y[test], seed)


def intervals(X: Any, y: Floats, X_test: Any, y_test: Floats, seed: int) -> tuple[Floats, Floats]:
    """Fraction of the test rows covered, and mean length [methods, levels]."""
    forest = RandomForestRegressor(TREES, keep_leaf_samples=True, random_state=seed).fit(X, y)
    outside = 0.5 * (1.0 - np.array(NOMINAL))
    levels = np.concatenate([outside, 1.0 - outside])
    by_method = [np.stack([forest.predict_interval(X_test, level) for level in NOMINAL])]
    for calibration in (None, "oob"):
        ends = forest.predict_quantiles(X_test, levels, calibration)
        by_method.append(np.stack([ends[:, [k, k + len(NOMINAL)]] for k in range(len(NOMINAL))]))
    ends = np.stack(by_method)  # [methods, levels, n, 2]
    covered = (ends[..., 0] <= y_test) & (y_test <= ends[..., 1])
    return covered.mean(axis=2), (ends[..., 1] - ends[..., 0]).mean(axis=2) / y.std()


# --- the report ------------------------------------------------------------------------------------------------------


def report(results: Sequence[Held]) -> str:
    """The file: what was done, and a table for each way to make intervals."""
    return "\n\n".join(
        [
            "# Coverage of the intervals of forests on public data",
            "Written by `python -m benchmarks.coverage`; do not edit. Measured with "
            + ", ".join(f"{key} {value}" for key, value in describe_machine().items())
            + ".",
            f"`RandomForestRegressor` of {TREES} trees on two thirds of the rows, evaluated on the others; means of "
            f"{SPLITS} random splits of at most {MAX_ROWS:,} rows. Coverage in per cent, behind it the mean length of "
            "the intervals in standard deviations of the target. Bold: more than 2 points from nominal.",
            *(f"## {METHODS[m].capitalize()}\n\n{table(results, m)}" for m in range(len(METHODS))),
        ]
    ) + "\n"  # fmt: skip


def table(results: Sequence[Held], method: int) -> str:
    """A row for each set."""
    header = ("set", "rows", "values of the target", *(f"{100 * level:.0f} %" for level in NOMINAL))
    rows = [
        [result.data.name, str(result.n_rows), str(result.n_distinct), *_cells(result, method)] for result in results
    ]
    worst = [np.abs([result.misses[method, k] for result in results]).max() for k in range(len(NOMINAL))]
    return markdown_table(header, [*rows, ["largest miss", "", "", *(f"{100 * miss:.1f}" for miss in worst)]])


def _cells(result: Held, method: int) -> Iterator[str]:
    for k in range(len(NOMINAL)):
        text = f"{100 * result.covered[:, method, k].mean():.1f}"
        is_off = abs(result.misses[method, k]) > GOAL
        yield f"{f'**{text}**' if is_off else text} ({result.length[:, method, k].mean():.2f})"


@click.command()
@click.option("--only", multiple=True, help="Names of sets; all without.")
@click.option("--write/--no-write", default=True, help="Write COVERAGE.md, or only say what was measured.")
def main(only: Sequence[str], write: bool) -> None:
    """Measure and report."""
    results: list[Held] = []
    with threadpool_limits(1):
        for data in sets():
            if only and data.name not in only:
                continue
            try:
                result = measure(data)
            except Skip as reason:
                click.echo(f"{data.name} was skipped: {reason}")
                continue
            if result is not None:
                results.append(result)
                click.echo(f"{data.name}: {(100 * result.covered.mean(axis=0)).round(1).tolist()}")
    if results and write:
        COVERAGE.write_text(report(results), encoding="utf-8")


if __name__ == "__main__":
    main()
