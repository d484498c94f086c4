"""`committee compare` and `committee fit`: from a table to a fitted model, the report and the results."""

from __future__ import annotations

import hashlib
import json
import re
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
from committee.cli.model_files import ModelMetadata, thinned, write_model
from committee.dask.workers import connected
from committee.evaluation.compare_bias_variance import compare_bias_variance
from committee.evaluation.comparison import Comparison, MethodResult, compare, pick
from committee.evaluation.methods import Variants, family_variants
from committee.evaluation.metrics import find_metric
from committee.evaluation.time_budget import Clock
from committee.ingest.row_hashes import packed
from committee.ingest.table import TrainingTable, read_table
from committee.storage import UnstorableError
from committee.tabular.identity import row_keys
from committee.theory.decomposition import Decomposition

COMMITTEE = "committee"
"""Name of the method that combines the others."""

BIAS_VARIANCE_ROWS, BIAS_VARIANCE_SETS, BIAS_VARIANCE_MEMBERS = 500, 12, 20
"""For the figure of bias and variance: maximum of rows, training sets, members of the ensembles."""


MIN_SECONDS = 1.0
"""Shorter times are not printed."""


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
    scheduler: str = ""  # address of a Dask cluster; else the methods are fitted in this process


class Outcome(NamedTuple):
    """The table, the comparison, and the fitted winner with its metadata."""

    table: TrainingTable
    found: Comparison
    model: Any
    metadata: ModelMetadata


def all_methods(task: Any, X: Any, y: Any, time_budget: float | None = None) -> dict[str, Variants]:
    """All methods, the committee included, whose fits together may take about half of the time budget.

    The members of the committee are chosen here, for all rows, so that it has the same members on every fold.
    """
    from committee.committees.committee import CommitteeClassifier, CommitteeRegressor
    from committee.committees.plan import Facts, choose_plan

    estimator = CommitteeClassifier if task == "classification" else CommitteeRegressor
    facts = Facts.of_table(X, len(np.unique(y)) if task == "classification" else 0)

    def with_budget(seconds: float) -> Any:
        return estimator(time_budget=seconds, members=choose_plan(facts, seconds, "auto").names)

    whole = Variants(estimator())
    if time_budget is not None:
        whole = Variants(with_budget(max(2.0, time_budget / 25.0)), with_budget(max(0.5, time_budget / 75.0)))
    singles = family_variants(task, facts.n, facts.d)
    names = list(singles)
    names.insert(names.index("AdaBoost stumps"), COMMITTEE)  # before the methods that rarely win
    return {name: singles.get(name, whole) for name in names}


def run(request: Request, out: Console) -> Outcome:
    """Read the table, compare the methods and fit the winner."""
    clock = Clock(request.time_budget)  # includes reading
    with connected(request.scheduler) as client:
        return _run(request, out, clock, client)


def _run(request: Request, out: Console, clock: Clock, client: Any) -> Outcome:
    with out.status("reading the table"):
        table = read_table(
            request.source, request.target, task=request.task, sample_weight=request.sample_weight,
            groups=request.groups, time=request.time, drop=request.drop, keep=request.keep,
            drop_duplicates=request.drop_duplicates, shuffle=request.shuffle,
        )  # fmt: skip
        table = table._replace(warnings=tuple(map(option_words, table.warnings)))
    out.print(_described(request, table), markup=False)
    print_warnings(out, table.warnings)
    metric = find_metric(request.metric, table.schema.task)
    chosen = all_methods(table.schema.task, table.X, table.y, request.time_budget)
    chosen = pick(chosen, request.methods or "all")
    with LiveComparison(out, metric, n_methods=len(chosen)) as watch:
        found, model = compare(
            table.X, table.y, task=table.schema.task, methods=chosen, metric=metric, cv=request.cv,
            test_size=request.test_size, time_budget=request.time_budget, sample_weight=table.sample_weight,
            groups=table.groups, time=table.time, random_state=request.random_state, n_jobs=request.n_jobs,
            callback=watch, clock=clock, client=client,
        )  # fmt: skip
    return Outcome(table, found, model, _metadata(table, found))


def option_words(text: str) -> str:
    """A warning of `read_table` with the options of the command instead of Python parameters.

    >>> option_words("pass drop='x' or shuffle=True")
    "pass --drop 'x' or --shuffle"
    """
    names = "task|metric|groups|time|shuffle|drop|keep|drop_duplicates"
    options = re.sub(rf"\b({names})=(?=['\"])", lambda match: f"--{match[1]} ", text)
    return re.sub(rf"\b({names})=True", lambda match: "--" + match[1].replace("_", "-"), options)


def source_name(source: str) -> str:
    """Name of the table in messages."""
    return "stdin" if source == "-" else Path(source).name


def _described(request: Request, table: TrainingTable) -> str:
    task = table.schema.task
    what = pluralize(len(np.unique(table.y)), "class", "classes") if task == "classification" else ""
    n, d = table.X.shape
    of_target = ", ".join(filter(None, (task, what)))
    shape = f"{pluralize(n, 'row')}, {pluralize(d, 'feature')}"
    return f"{source_name(request.source)}: {shape}, target {table.schema.target!r} ({of_target})"


def _metadata(table: TrainingTable, found: Comparison) -> ModelMetadata:
    result = found.result(found.winner)
    residuals = np.empty(0)
    if found.task == "regression":
        residuals = table.y[found.rows] - result.oof_predictions
    return ModelMetadata(
        schema=table.schema,
        method=found.winner,
        metric=found.metric,
        held_out_losses=found.held_out_losses,
        held_out_loss_se=found.held_out_loss_se,
        residuals=thinned(residuals),
        n_rows=table.X.height,
        digest=table_digest(table.X, table.y),
        random_state=found.random_state,
        training_rows=packed(row_keys(table.X, table.y)),
    )


def table_digest(X: pl.DataFrame, y: Any) -> str:
    """Digest of a table, to recognise the training table."""
    text = X.with_columns(pl.Series("target", [str(value) for value in y])).write_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- output -----------------------------------------------------------------------------------------------------------


def write_outputs(
    outcome: Outcome, request: Request, folder: Path, out: Console, report: bool = True
) -> dict[str, Path]:
    """Write the model, the results and the report, each atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {"results": folder / "results.json"}
    try:
        write_model(folder / "model.committee", outcome.model, outcome.metadata)
        written = {"model": folder / "model.committee", **written}
    except UnstorableError as error:  # the results and the report do not need it
        print_warnings(out, [f"The model cannot be written to a file: {error}"])
    write_text(written["results"], json.dumps(results(outcome, request), indent=1))
    if report:
        written["report"] = folder / "report.html"
        write_html(outcome, request, written["report"], out)
    return written


def write_html(outcome: Outcome, request: Request, path: Path, out: Console) -> None:
    from committee.report import TableNotes, write_report

    notes = TableNotes(
        source_name(request.source),
        outcome.table.schema.target,
        outcome.table.warnings,
        command_line(),
        rows=outcome.table.rows,
        leaks=outcome.table.leaks,
    )
    parts = bias_and_variance(outcome, request, out) if request.bias_variance else {}
    start = time.perf_counter()
    with out.status("writing the report"):
        write_report(
            path, outcome.model, outcome.table.X, outcome.table.y, comparison=outcome.found, table=notes,
            bias_variance=parts, sample_weight=outcome.table.sample_weight, random_state=request.random_state,
        )  # fmt: skip
    _print_time(out, "the report was written", start)


def bias_and_variance(outcome: Outcome, request: Request, out: Console) -> dict[str, Decomposition]:
    """Bias and variance of the ensembles on the table, or on a sample of it."""
    X, y = outcome.table.X, np.asarray(outcome.table.y)
    rows = np.sort(np.random.default_rng(request.random_state).permutation(len(y))[:BIAS_VARIANCE_ROWS])
    start = time.perf_counter()
    with out.status("estimating bias and variance (--no-bias-variance skips it)"):
        try:
            found = compare_bias_variance(
                X[rows], y[rows], task=outcome.found.task, n_sets=BIAS_VARIANCE_SETS,
                n_estimators=BIAS_VARIANCE_MEMBERS, random_state=request.random_state, n_jobs=request.n_jobs,
            )  # fmt: skip
        except ValueError as error:  # such as a class of one row
            print_warnings(out, [f"Bias and variance could not be estimated: {error}"])
            return {}
    _print_time(out, "bias and variance were estimated", start)
    return {name: result.decomposition for name, result in found.results.items()}


def _print_time(out: Console, what: str, start: float) -> None:
    seconds = time.perf_counter() - start
    if seconds >= MIN_SECONDS:
        out.print(f"{what} in {format_seconds(seconds)}", markup=False)


def command_line() -> str:
    """The command line, quoted for a shell."""
    return shlex.join(["committee", *sys.argv[1:]])


def results(outcome: Outcome, request: Request) -> dict[str, Any]:
    """The comparison as plain values, under the names of the fields of `Comparison`."""
    found, table = outcome.found, outcome.table
    return as_json({
        "committee": version("committee"),
        "table": {
            "source": request.source, "target": table.schema.target, "task": table.schema.task,
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
    """Print the table of the methods, a summary, and the paths of the files."""
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
    """Loss of a constant on the held-out rows, and how the winner compares with it, as in the report."""
    from committee.report.summary import beside_baseline

    return beside_baseline(outcome.found, outcome.table.y, outcome.table.sample_weight)


def _time_words(found: Comparison) -> str:
    words = f"{'compared' if is_choice(found) else 'evaluated and fitted'} in {format_seconds(found.seconds)}"
    if found.compile_seconds < MIN_SECONDS:
        return words
    return (
        f"{words}, {format_seconds(found.compile_seconds)} of it to compile or load kernels, which do not "
        "count towards the time budget (`committee warmup` compiles all kernels)"
    )


def split_names(names: Sequence[str]) -> tuple[str, ...]:
    """Split names at commas."""
    return tuple(part.strip() for name in names for part in name.split(",") if part.strip())
