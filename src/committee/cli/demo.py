"""`committee demo`: compare methods on a built-in data set."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
from rich.console import Console

from committee.cli.compare import Request, print_outcome, run, write_outputs
from committee.datasets import load_dataset

DATA = "pima_diabetes"


def write_sample(name: str, path: Path) -> str:
    """Write a built-in data set as a CSV file; return the name of its target."""
    sample = load_dataset(name)
    frame = pl.DataFrame(sample.X, schema=list(sample.feature_names))
    frame.with_columns(pl.Series(sample.target_name, sample.y.tolist())).write_csv(path)
    return sample.target_name


def run_demo(out: Console, folder: Path, time_budget: float | None) -> None:
    """Compare methods on the Pima diabetes data and print where the report is."""
    out.print(f"[bold]{DATA}[/bold]: {load_dataset(DATA).description}")
    out.print("The first run compiles the kernels; later runs load them.\n")
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / f"{DATA}.csv"
        target = write_sample(DATA, source)
        request = Request(str(source), target, time_budget=time_budget)
        outcome = run(request, out)
        written = write_outputs(outcome, request, folder, out)
    print_outcome(outcome, written, out)
    out.print(f"\nOpen [bold]{written['report'].resolve()}[/bold] in a browser.")
    if "model" in written:
        out.print(f"Predict with it: committee predict {written['model']} NEW_ROWS.csv")
