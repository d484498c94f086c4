"""How good mixtures of experts are on public data, by three-fold cross-validation.

`python -m benchmarks.experts_quality --output benchmarks/EXPERTS.md`. Every method gets the same folds. Numbers that
are missing are filled with the median for all of them, categories become one column each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import committee
from benchmarks.harness import Skip
from benchmarks.open_data import SETS, DataSet, load
from benchmarks.quality import root_mean_squared_error
from benchmarks.report import markdown_table

NAMES = (
    "banana", "phoneme", "pima", "sonar", "vehicle", "segment", "waveform", "abalone", "autompg", "boston", "concrete",
    "kin8nm", "wine-white",
)  # fmt: skip
FOLDS = 3

ABOUT = f"""# Mixtures of experts on public data

Written by `python -m benchmarks.experts_quality --output benchmarks/EXPERTS.md`; do not edit. Mean test loss
over {FOLDS} folds, the same for every method. The number of experts (1 to 6) is chosen by held-out likelihood inside
the training rows, with priors l2=1 and gate_l2=0.1 for all sets; nothing else is tuned, for no method."""

Maker = Callable[[bool], Any]


def methods() -> dict[str, Maker]:
    """What is compared; a function of whether the target is a class."""
    numbers = range(1, 7)

    def experts(is_class: bool) -> Any:
        kind = committee.MixtureOfExpertsClassifier if is_class else committee.MixtureOfExpertsRegressor
        return kind(numbers, criterion="held_out", l2=1.0, gate_l2=0.1, random_state=0)

    return {
        "one linear model": lambda is_class: LogisticRegression(max_iter=2000) if is_class else Ridge(),
        "mixture of experts": experts,
        "pruned tree": lambda is_class: (
            committee.DecisionTreeClassifier if is_class else committee.DecisionTreeRegressor
        )(ccp_alpha="cv", random_state=0),
        "random forest": lambda is_class: (
            committee.RandomForestClassifier if is_class else committee.RandomForestRegressor
        )(100, random_state=0),
    }


def prepare() -> Any:
    """Numbers filled in and standardised, a column for each category."""
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_exclude="category"),
        ),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include="category")),
    )


def evaluate(data: DataSet, makers: Mapping[str, Maker]) -> list[str]:
    """A row of the table: the mean loss of every method over the folds, the best in bold; experts found, seconds."""
    table = load(data)
    is_class = data.task != "regression"
    folds = (StratifiedKFold if is_class else KFold)(FOLDS, shuffle=True, random_state=0)
    losses: dict[str, list[float]] = {name: [] for name in makers}
    result, seconds = list[int](), 0.0
    for train, test in folds.split(table.X, table.y):
        reader = prepare().fit(table.X.iloc[train])
        X, X_test = (np.asarray(reader.transform(table.X.iloc[rows])) for rows in (train, test))
        for name, make in makers.items():
            began = time.process_time()
            model = make(is_class).fit(X, table.y[train])
            if name == "mixture of experts":
                seconds += time.process_time() - began
                result.append(model.n_experts_)
            predicted, truth = model.predict(X_test), table.y[test]
            losses[name].append(
                float(np.mean(predicted != truth)) if is_class else root_mean_squared_error(truth, predicted)
            )
    mean = {name: float(np.mean(values)) for name, values in losses.items()}
    best = min(mean.values())
    shown = [f"**{loss:.4g}**" if loss == best else f"{loss:.4g}" for loss in mean.values()]
    size = f"{len(table.y)} x {table.X.shape[1]}"
    kind = "error" if is_class else "RMSE"
    return [data.name, size, kind, *shown, "/".join(map(str, result)), f"{seconds / FOLDS:.1f}"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sets", "chosen", metavar="A,B", help="Names of sets.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Where to write the table.")
def main(chosen: str | None, output: Path | None) -> None:
    """Print the table; the folder of the data is named by COMMITTEE_DATA."""
    names: Sequence[str] = [name.strip() for name in chosen.split(",")] if chosen else NAMES
    makers, rows = methods(), list[list[str]]()
    for data in SETS:
        if data.name not in names:
            continue
        try:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows.append(evaluate(data, makers))
        except Skip as reason:
            click.echo(f"{data.name} is left out: {reason}")
            continue
        click.echo(" | ".join(rows[-1]))
    table = markdown_table(["set", "rows x columns", "loss", *makers, "experts", "CPU s a fit"], rows)
    click.echo(table)
    if output is not None:
        output.write_text(f"{ABOUT}\n\n{summary(rows, list(makers))}\n\n{table}\n", encoding="utf-8")


def summary(rows: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    """How often each method has the smallest loss."""
    wins = [sum(row[3 + k].startswith("**") for row in rows) for k in range(len(names))]
    counts = ", ".join(f"{name} on {n}" for name, n in zip(names, wins, strict=True))
    return f"Smallest loss of {len(rows)} sets: {counts}."


if __name__ == "__main__":
    main()
