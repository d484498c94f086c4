"""`committee compare` and `committee fit`: from a table to a chosen model, its page and its figures."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console

from committee.base.atomic_write import write_text
from committee.base.text import format_seconds, pluralize
from committee.cli.console_results import (
    LiveComparison,
    as_json,
    is_choice,
    left_out,
    mean_and_stderr,
    method_notes,
    print_warnings,
    results_table,
    verdict,
)
from committee.cli.model_files import ModelFacts, thinned, write_model
from committee.evaluation._time_budget import Clock
from committee.evaluation.compare_bias_variance import compare_bias_variance
from committee.evaluation.comparison import Comparison, MethodResult, compare, pick
from committee.evaluation.methods import Variants, family_variants
from committee.evaluation.metrics import find_metric
from committee.ingest.files import read_frame
from committee.ingest.row_hashes import packed
from committee.ingest.table import TableReading, read_training_table
from committee.storage import UnstorableError
from committee.tabular.identity import row_keys
from committee.theory.decomposition import Decomposition

COMMITTEE = "committee"
"""The name of the committee of all methods among them."""

BIAS_VARIANCE_ROWS, BIAS_VARIANCE_SETS, BIAS_VARIANCE_MEMBERS = 500, 12, 20
"""For a picture: rows drawn from a larger table, training sets, members of the ensembles."""


MENTIONED = 1.0
"""Seconds from which on it is said where they went."""


class Request(NamedTuple):
    """The table and the options of a comparison; the others are named like the parameters of `compare`."""

    source: str
    target: str
    methods: tuple[str, ...] = ()  # empty for all
    metric: str = "auto"
    task: Literal["auto", "classification", "regression"] = "auto"
    cv: int = 5
    test_size: float = 0.2
    time_budget: float | None = None
    sample_weight: str = ""
    groups: str = ""
    time: str = ""
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop_duplicates: bool = False
    shuffle: bool = False  # do not look for time order or groups
    random_state: int = 0
    n_jobs: int = -1
    bias_variance: bool = True  # in the report


class Outcome(NamedTuple):
    """What came out."""

    table: TableReading
    found: Comparison
    model: Any
    facts: ModelFacts


def all_methods(task: Any, X: Any, y: Any, budget: float | None = None) -> dict[str, Variants]:
    """The family and the committee made of it, whose fits together may take about half the budget.

    The members are chosen here, for all rows: a committee with a budget alone would have others on the rows of a fold,
    and the one that is delivered would not be the one that was evaluated.
    """
    from committee.committees._plan import Facts, choose_plan
    from committee.committees.committee import CommitteeClassifier, CommitteeRegressor

    together = CommitteeClassifier if task == "classification" else CommitteeRegressor
    facts = Facts.of_table(X, len(np.unique(y)) if task == "classification" else 0)

    def with_budget(seconds: float) -> Any:
        return together(time_budget=seconds, members=choose_plan(facts, seconds, "auto").names)

    whole = Variants(together())
    if budget is not None:
        whole = Variants(with_budget(max(2.0, budget / 25.0)), with_budget(max(0.5, budget / 75.0)))
    singles = family_variants(task, facts.n, facts.d)
    names = list(singles)
    names.insert(names.index("AdaBoost stumps"), COMMITTEE)  # before the methods that seldom win
    return {name: singles.get(name, whole) for name in names}


def run(request: Request, out: Console) -> Outcome:
    """Read the table, evaluate the methods, fit the winner."""
    clock = Clock(request.time_budget)  # reading counts
    with out.status("reading the table, looking at its columns"):
        table = read_training_table(
            read_frame(request.source), request.target, task=request.task, weights=request.sample_weight,
            group=request.groups, time=request.time, drop=request.drop, keep=request.keep,
            drop_duplicates=request.drop_duplicates, shuffle=request.shuffle,
        )  # fmt: skip
    out.print(_described(request, table), markup=False)
    print_warnings(out, table.warnings)
    metric = find_metric(request.metric, table.recipe.task)
    chosen = all_methods(table.recipe.task, table.X, table.y, request.time_budget)
    chosen = pick(chosen, request.methods or "all")
    with LiveComparison(out, metric, n_methods=len(chosen)) as watch:
        found, model = compare(
            table.X, table.y, task=table.recipe.task, methods=chosen, metric=metric, cv=request.cv,
            test_size=request.test_size, time_budget=request.time_budget, sample_weight=table.weights,
            groups=table.groups, time=table.times if table.order is None else table.order,
            random_state=request.random_state, n_jobs=request.n_jobs, callback=watch, clock=clock,
        )  # fmt: skip
    return Outcome(table, found, model, _facts(table, found))


def _described(request: Request, table: TableReading) -> str:
    name = "stdin" if request.source == "-" else Path(request.source).name
    task = table.recipe.task
    what = pluralize(len(np.unique(table.y)), "class", "classes") if task == "classification" else "numbers"
    n, d = table.X.shape
    return f"{name}: {pluralize(n, 'row')}, {pluralize(d, 'column')}, target {table.recipe.target!r} ({task}, {what})"


def _facts(table: TableReading, found: Comparison) -> ModelFacts:
    result = found.result(found.winner)
    residuals = np.empty(0)
    if found.task == "regression":
        residuals = table.y[found.rows] - result.oof_predictions
    return ModelFacts(
        recipe=table.recipe,
        method=found.winner,
        metric=found.metric,
        scores=found.held_out_losses,
        score_stderr=found.held_out_loss_se,
        residuals=thinned(residuals),
        n_rows=table.X.height,
        digest=table_digest(table.X, table.y),
        seed=found.random_state,
        training_rows=packed(row_keys(table.X, table.y)),
    )


def table_digest(X: pl.DataFrame, y: Any) -> str:
    """A name for the very table, to know it again."""
    text = X.with_columns(pl.Series("target", [str(value) for value in y])).write_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- what is written --------------------------------------------------------------------------------------------------


def write_outputs(
    outcome: Outcome, request: Request, folder: Path, out: Console, report: bool = True
) -> dict[str, Path]:
    """The model, the figures and the page; each file is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {"results": folder / "results.json"}
    try:
        write_model(folder / "model.committee", outcome.model, outcome.facts)
        written = {"model": folder / "model.committee", **written}
    except UnstorableError as error:  # the figures and the page are worth having all the same
        print_warnings(out, [f"The model cannot be written to a file: {error}"])
    write_text(written["results"], json.dumps(results(outcome, request), indent=1))
    if report:
        written["report"] = folder / "report.html"
        write_html(outcome, request, written["report"], out)
    return written


def write_html(outcome: Outcome, request: Request, path: Path, out: Console) -> None:
    from committee.report import TableNotes, write_report

    name = "stdin" if request.source == "-" else Path(request.source).name
    notes = TableNotes(
        name,
        outcome.table.recipe.target,
        outcome.table.warnings,
        command_line(),
        rows=outcome.table.rows,
        leaks=outcome.table.leaks,
    )
    parts = bias_and_variance(outcome, request, out) if request.bias_variance else {}
    start = time.perf_counter()
    with out.status("writing the page"):
        write_report(
            path, outcome.model, outcome.table.X, outcome.table.y, comparison=outcome.found, table=notes,
            bias_variance=parts, sample_weight=outcome.table.weights, random_state=request.random_state,
        )  # fmt: skip
    _say_time(out, "the page was written", start)


def bias_and_variance(outcome: Outcome, request: Request, out: Console) -> dict[str, Decomposition]:
    """Which ensemble reduces bias and which variance on this table, or on a sample of it."""
    X, y = outcome.table.X, np.asarray(outcome.table.y)
    rows = np.sort(np.random.default_rng(request.random_state).permutation(len(y))[:BIAS_VARIANCE_ROWS])
    start = time.perf_counter()
    with out.status("measuring bias and variance (--no-bias-variance leaves it out)"):
        try:
            found = compare_bias_variance(
                X[rows], y[rows], task=outcome.found.task, n_sets=BIAS_VARIANCE_SETS,
                n_estimators=BIAS_VARIANCE_MEMBERS, random_state=request.random_state, n_jobs=request.n_jobs,
            )  # fmt: skip
        except ValueError as error:  # a class of one row, say: the rest of the page does not need it
            print_warnings(out, [f"Bias and variance could not be measured: {error}"])
            return {}
    _say_time(out, "bias and variance were measured", start)
    return {name: result.decomposition for name, result in found.results.items()}


def _say_time(out: Console, what: str, start: float) -> None:
    seconds = time.perf_counter() - start
    if seconds >= MENTIONED:
        out.print(f"{what} in {format_seconds(seconds)}", markup=False)


def command_line() -> str:
    """What was typed."""
    return shlex.join(["committee", *sys.argv[1:]])


def results(outcome: Outcome, request: Request) -> dict[str, Any]:
    """The comparison as plain values, under the names of the fields of `Comparison`."""
    found, table = outcome.found, outcome.table
    return as_json({
        "committee": version("committee"),
        "table": {
            "source": request.source, "target": table.recipe.target, "task": table.recipe.task,
            "n_rows": table.X.height, "features": table.X.columns, "warnings": table.warnings,
        },
        "metric": found.metric,
        "classes": found.classes,
        "results": [_result(result) for result in found.results],
        "winner": found.winner,
        "held_out_rows": table.rows[found.held_out_rows],
        "held_out_losses": found.held_out_losses,
        "held_out_loss_se": found.held_out_loss_se,
        "held_out_loss_of_constant": beside_no_model(outcome)[0],
        "nested_loss": found.nested_loss,
        "nested_loss_se": found.nested_loss_se,
        "learning_curve": None if found.learning_curve is None else found.learning_curve._asdict(),
        "model_note": found.model_note,
        "random_state": found.random_state,
        "seconds": round(found.seconds, 2),
        "compile_seconds": round(found.compile_seconds, 2),
        "settings": found.settings,
    })  # fmt: skip


def _result(result: MethodResult) -> dict[str, Any]:
    """The fields of a `MethodResult` but the predictions, and its mean loss."""
    fields = result._asdict()
    del fields["oof_predictions"], fields["estimated_loss"]
    mean, stderr = mean_and_stderr(result)
    calibration = None if result.calibration is None else result.calibration._asdict()
    evaluated = {"mean_loss": mean, "mean_loss_se": stderr, "n_evaluated": result.n_evaluated}
    return {**fields, **evaluated, "calibration": calibration}


def print_outcome(outcome: Outcome, written: Mapping[str, Path], out: Console) -> None:
    """The table of methods, the verdict, and where things are."""
    out.print()
    out.print(results_table(outcome.found, out.width))
    for line in (*method_notes(outcome.found), *left_out(outcome.found)):
        out.print(line, style="dim", markup=False)
    out.print()
    out.print(verdict(outcome.found, *beside_no_model(outcome)), markup=False)
    for what, path in written.items():
        out.print(f"{what:8} {path}", markup=False)
    out.print(_time_words(outcome.found), markup=False)


def beside_no_model(outcome: Outcome) -> tuple[float, str]:
    """As on the page: the loss of no model on the rows held out, and how the winner stands beside it."""
    from committee.report._context import Evidence
    from committee.report.verdict import beside_no_model

    table, found = outcome.table, outcome.found
    return beside_no_model(Evidence(outcome.model, table.X, table.y, found, weight=table.weights), found)


def _time_words(found: Comparison) -> str:
    words = f"{'compared' if is_choice(found) else 'evaluated and fitted'} in {format_seconds(found.seconds)}"
    if found.compile_seconds < MENTIONED:
        return words
    return (
        f"{words}, {format_seconds(found.compile_seconds)} of it to compile or load the methods, which no budget "
        "counts (`committee warmup` compiles them ahead)"
    )


def split_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names given one by one or with commas between them."""
    return tuple(part.strip() for name in names for part in name.split(",") if part.strip())
