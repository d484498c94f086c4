"""The command `committee`: each subcommand imports what it needs when it runs, so that `--help` is instant.

Exit codes: 0 success, 1 failure, 2 invalid options or table, 130 interrupted. Results (`--json`, predictions, lists)
are written to stdout, messages to stderr.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

OUTPUT_DIR = Path("committee-out")
"""Default folder of the results."""


WIDEST_NUMBER, WIDEST_NAME = 24, 36
"""Characters of cells that are never wrapped, in any column and in the first."""

WIDE = 10_000
"""Width of lines in a pipe."""


class InvalidInput(click.ClickException):
    """Raised for invalid options and tables."""

    exit_code = 2


class Duration(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic since click 8.3 only
    """Seconds, or a number with s, m or h: 90, 90s, 1.5m, 1h; "none" for no limit."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | None:
        if value is None or isinstance(value, float):
            return value
        if str(value).strip().lower() == "none":
            return None
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(s|sec|m|min|h)?\s*", str(value))
        if found is None:
            self.fail(f"{value!r} is not a duration: write 90s, 5m or 1h.", param, ctx)
        unit = {"s": 1.0, "m": 60.0, "h": 3600.0}[(found[2] or "s")[0]]
        return float(found[1]) * unit


class Fraction(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic since click 8.3 only
    """A fraction: 0.9 or 90%."""

    name = "fraction"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        text = str(value).strip()
        try:
            fraction = float(text.rstrip("%")) / (100.0 if text.endswith("%") else 1.0)
        except ValueError:
            fraction = -1.0
        if not 0.0 <= fraction < 1.0:
            self.fail(f"{value!r} is not a fraction: write 0.9 or 90%.", param, ctx)
        return fraction


class Threads(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] - generic since click 8.3 only
    """A number of threads; negative numbers count from all cores, as in scikit-learn."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        found = re.fullmatch(r"\s*(-?[1-9]\d*)\s*", str(value))
        if found is None:
            self.fail(f"{value!r} is not a number of threads: write 1, 2, ... or -1 for all cores.", param, ctx)
        return int(found[1])


EXTRAS = {
    **dict.fromkeys(("polars", "jinja2", "altair", "vl_convert", "matplotlib"), "app"),
    "committee_reproductions": "reproductions",
    "distributed": "dask",
}
"""Optional packages and the extras that install them."""

HIDDEN_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)

RANDOM_STATE = click.IntRange(0, 2**32 - 1)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")


@contextmanager
def printed_warnings(quiet: bool) -> Generator[None]:
    """Print warnings once each, without source lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for each in dict.fromkeys(
                str(one.message) for one in caught if not issubclass(one.category, HIDDEN_WARNINGS)
            ):
                if not quiet:
                    click.echo(f"! {each}", err=True)


@contextmanager
def helpful_errors(quiet: bool = False) -> Generator[None]:
    """Print errors as one line, with a traceback if COMMITTEE_TRACEBACK is set; Ctrl-C exits with 130."""
    try:
        with printed_warnings(quiet):
            yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo("Interrupted: no file was written.", err=True)
        raise click.exceptions.Exit(130) from None
    except BrokenPipeError:  # the reader of stdout has closed it
        raise click.exceptions.Exit(0) from None
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        raise click.ClickException(f"{missing} is not installed: pip install 'committee[{EXTRAS[missing]}]'") from error
    except (ValueError, OSError, RuntimeError) as error:
        if os.environ.get("COMMITTEE_TRACEBACK"):
            raise
        kind = click.ClickException if isinstance(error, RuntimeError) else InvalidInput
        raise kind(str(error)) from error


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of all commands that print a result."""
    command = QUIET(command)
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")(command)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of compare and fit, named like the parameters of `compare` in Python."""
    for option in reversed((
        click.option("--target", "-t", required=True, metavar="COLUMN", help="The column to predict."),
        click.option("--task", type=click.Choice(["auto", "classification", "regression"]), default="auto",
                     show_default=True, help="The task; auto chooses it by the values of the target."),
        click.option("--metric", default="auto", metavar="NAME",
                     help="The metric that methods are ranked by: log_loss (default), accuracy, balanced_accuracy, "
                          "brier, roc_auc, f1, f1_macro, f1_weighted, average_precision, mcc; rmse (default), mse, "
                          "mae, r2."),
        click.option("--cv", type=click.IntRange(2), default=5, show_default=True,
                     help="Number of cross-validation folds."),
        click.option("--test-size", type=Fraction(), default="0.2", show_default=True,
                     help="Fraction of the rows held out to evaluate the winner."),
        click.option("--time-budget", type=Duration(), default="5m", show_default=True,
                     help="Time for reading, comparing and the final fit, such as 90s, 5m, 1h, none; slow methods are "
                          "evaluated on fewer folds or rows."),
        click.option("--checkpoint", type=click.Path(dir_okay=False, path_type=Path), default=None, metavar="FILE",
                     help="Keep the fits in FILE while they run; after a kill or Ctrl-C the same command continues "
                          "from it. Without a time budget."),
        click.option("--sample-weight", default="", metavar="COLUMN", help="The column with the sample weights."),
        click.option("--groups", default="", metavar="COLUMN",
                     help="The column with the groups; rows of one group stay in one fold."),
        click.option("--time", default="", metavar="COLUMN",
                     help="The column with the times: fit on earlier rows, validate on later ones; row-order for the "
                          "order of the rows."),
        click.option("--shuffle", is_flag=True,
                     help="Shuffle the rows; do not look for time order or repeated entities."),
        click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated."),
        click.option("--keep", multiple=True, metavar="COLUMN",
                     help="A column to use that would be left out; may be repeated."),
        click.option("--drop-duplicates", is_flag=True, help="Leave out copies of rows."),
        click.option("--random-state", type=RANDOM_STATE, default=0, show_default=True,
                     help="Seed of the folds and of the methods."),
        click.option("--n-jobs", "-j", type=Threads(), default=-1, show_default=True,
                     help="Number of threads; -1 for all cores."),
    )):  # fmt: skip
        command = option(command)
    return command


@contextmanager
def kept_fits(options: dict[str, Any]) -> Generator[None]:
    """Keep the fits of the block in the file of --checkpoint, and take the option out; no time budget limits them.

    With a budget, other fits would be made after a pause, so that there was nothing to continue.
    """
    path: Path | None = options.pop("checkpoint")
    if path is None:
        yield
        return
    from committee.storage import checkpoint

    is_given = click.get_current_context().get_parameter_source("time_budget") is ParameterSource.COMMANDLINE
    if is_given and options["time_budget"] is not None:
        raise InvalidInput("--checkpoint needs --time-budget none, its default: the fits must not depend on the time.")
    options["time_budget"] = None
    try:
        with checkpoint(path):
            yield
    except KeyboardInterrupt:
        how = f"the same command continues from {path}" if path.exists() else "no file was written"
        click.echo(f"Interrupted: {how}.", err=True)
        raise click.exceptions.Exit(130) from None


class _Commands(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):  # consoles of Windows lack most characters; results are in UTF-8
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        return super().main(*args, **kwargs)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="committee")
def main() -> None:
    """Ensemble learning on tables.

    \b
    committee compare sales.csv --target bought    compare methods, write the best model and a report
    committee predict committee-out/model.committee new.csv > predictions.csv
    """


# --- from a table to a model ------------------------------------------------------------------------------------------


@main.command()
@click.argument("table")
@click.option("--methods", "-m", multiple=True, metavar="NAMES", help="Methods to compare, separated by commas.")
@click.option("--output-dir", "-o", type=click.Path(file_okay=False, path_type=Path), default=OUTPUT_DIR,
              show_default=True, help="Folder of report.html, model.committee and results.json.")  # fmt: skip
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--bias-variance/--no-bias-variance", default=True, show_default=True,
              help="Estimate bias and variance of the ensembles on up to 500 rows.")  # fmt: skip
@click.option("--scheduler", default="", metavar="ADDRESS",
              help="Fit the methods on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786.")  # fmt: skip
@reading_options
@output_options
def compare(table: str, output_dir: Path, no_report: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Compare methods on TABLE and fit the best one on all rows.

    All methods are evaluated on the same folds. The loss of the winner is estimated on rows that were held out before
    the comparison; then it is fitted on all rows. TABLE is a CSV, Parquet, Arrow or JSON-lines file, or - for stdin.
    """
    with helpful_errors(quiet), kept_fits(options):
        from committee.cli.compare import Request, print_outcome, results, run, split_names, write_outputs
        from committee.cli.console_results import console
        from committee.ingest.files import require_writable

        out = console(quiet)
        names = options.pop("methods")
        if names and not split_names(names):
            raise InvalidInput("--methods is empty: write names separated by commas, or leave it out for all methods.")
        request = Request(table, methods=split_names(names), **options)
        require_writable(output_dir, is_folder=True)
        outcome = run(request, out)
        written = write_outputs(outcome, request, output_dir, out, report=not no_report)
        print_outcome(outcome, written, out)
        if as_json:
            click.echo(json.dumps(results(outcome, request), indent=1))
        if "model" not in written:
            raise click.exceptions.Exit(1)


@main.command()
@click.argument("table")
@click.option(
    "--method",
    "-m",
    default="gradient boosting",
    show_default=True,
    metavar="NAME",
    help="The method; `committee methods` lists them.",
)
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=Path("model.committee"),
              show_default=True, help="The model file.")  # fmt: skip
@reading_options
@output_options
def fit(table: str, method: str, output: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Fit one method on TABLE and estimate its loss on held-out rows.

    TABLE is a CSV, Parquet, Arrow or JSON-lines file, or - for stdin.
    """
    with helpful_errors(quiet), kept_fits(options):
        from committee.cli.compare import Request, print_outcome, results, run
        from committee.cli.console_results import console
        from committee.cli.model_files import write_model
        from committee.ingest.files import require_writable

        out = console(quiet)
        if not method.strip():
            raise InvalidInput("--method is empty: name one (`committee methods` lists them).")
        request = Request(table, methods=(method,), **options)
        require_writable(output)
        outcome = run(request, out)
        output.parent.mkdir(parents=True, exist_ok=True)
        write_model(output, outcome.model, outcome.metadata)
        print_outcome(outcome, {"model": output}, out)
        if as_json:
            click.echo(json.dumps(results(outcome, request), indent=1))


# --- using a model ----------------------------------------------------------------------------------------------------


@main.command()
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("table", default="-")
@click.option("--output", "-o", default="-", show_default=True, help="A .csv, .parquet, .arrow or .ndjson file.")
@click.option("--probabilities", "-p", is_flag=True, help="A column for the probability of each class.")
@click.option("--interval", type=Fraction(), default=None, metavar="LEVEL",
              help="Columns low and high: prediction intervals of this level, such as 0.9.")  # fmt: skip
@click.option("--votes", is_flag=True, help="A column for the prediction of each member.")
@click.option("--keep", multiple=True, metavar="COLUMN", help="A column of TABLE to write too, or all.")
@click.option("--batch-rows", type=click.IntRange(1), default=50_000, show_default=True,
              help="Maximum number of rows in a batch.")  # fmt: skip
@QUIET
def predict(
    model: str, table: str, output: str, probabilities: bool, interval: float | None, votes: bool,
    keep: tuple[str, ...], batch_rows: int, quiet: bool,
) -> None:  # fmt: skip
    """Predict the rows of TABLE in batches; TABLE may be larger than memory.

    TABLE is a CSV, Parquet, Arrow or JSON-lines file, or - for stdin (the default). It needs the columns that the
    model was fitted on; others are ignored.
    """
    with helpful_errors(quiet):
        from committee.cli.deferred_imports import deferred_imports

        with deferred_imports():
            from committee.base.text import pluralize
            from committee.cli.console import console, print_warnings
            from committee.cli.model_files import read_model
            from committee.cli.predict import (
                PredictOptions,
                cell_warnings,
                interval_warnings,
                is_text,
                predict_batches,
                write_predictions,
            )

        loaded, out = read_model(model), console(quiet)
        print_warnings(out, interval_warnings(loaded, interval))
        options = PredictOptions(probabilities, interval, votes, keep, batch_rows)
        unreadable = Counter[tuple[str, str]]()
        n_rows = write_predictions(predict_batches(loaded, table, options, unreadable), output, is_text(table))
        print_warnings(out, cell_warnings(unreadable))
        out.print(pluralize(n_rows, "row") + ("" if output == "-" else f" written to {output}"), markup=False)


@main.command()
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("table", required=False)
@click.option("--rows", default="", metavar="NUMBERS", help="Print SHAP values of these rows, such as 0,3,10-12.")
@click.option("--top", type=click.IntRange(1), default=15, show_default=True, help="Columns to show.")
@click.option("--random-state", type=RANDOM_STATE, default=0, show_default=True, help="Seed of the permutations.")
@output_options
def explain(model: str, table: str | None, rows: str, top: int, random_state: int, as_json: bool, quiet: bool) -> None:
    """Print the feature importances of MODEL, or with --rows the SHAP values of single rows.

    With a TABLE that has the target these are permutation importances, else the gains of the splits of its trees.
    """
    with helpful_errors(quiet):
        from committee.cli.console_results import console, print_warnings
        from committee.cli.explain import column_importances, explain_rows
        from committee.cli.model_files import read_model
        from committee.ingest.files import read_frame

        loaded = read_model(model)
        frame = None if table is None else read_frame(table)
        if rows:
            if frame is None:
                raise InvalidInput("--rows needs a TABLE.")
            _show_rows(explain_rows(loaded, frame, _row_numbers(rows)), top, as_json, quiet)
        else:
            ranking = column_importances(loaded, frame, random_state)
            print_warnings(console(quiet), [ranking.note] if ranking.note else [])
            found = ranking.columns[:top]
            lines = [(each.column, f"{each.importance:.1f}") for each in found]
            _show(
                [each._asdict() for each in found], ("column", f"importance ({found[0].kind})"), lines, as_json, quiet
            )


def _row_numbers(text: str) -> list[int]:
    """Row numbers and ranges separated by commas.

    >>> _row_numbers("0,3,10-12")
    [0, 3, 10, 11, 12]
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not (last.isdigit() and int(first) <= int(last))):
            raise InvalidInput(f"{text!r} are not row numbers: write 0,3,10-12.")
        found += range(int(first), int(last or first) + 1)
    return found


def _show_rows(found: Sequence[Any], top: int, as_json: bool, quiet: bool) -> None:
    from committee.cli.console_results import as_json as plain_values

    lines = list[tuple[object, ...]]()
    for each in found:
        output, prediction = each.contributions[0].output if each.contributions else "", _shown(each.prediction)
        lines.append((each.row, prediction, "(base value)", "", f"{each.base_value:+.4g}", output))
        lines += [
            (each.row, prediction, one.column, _shown(one.value), f"{one.contribution:+.4g}", one.output)
            for one in each.contributions[:top]
        ]
    plain = [{**each._asdict(), "contributions": [one._asdict() for one in each.contributions]} for each in found]
    header = ("row", "prediction", "column", "value", "contribution", "to")
    _show(plain_values(plain), header, lines, as_json, quiet)


def _shown(value: object) -> str:
    return "missing" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


@main.command()
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("table")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"),
              show_default=True, help="The HTML file.")  # fmt: skip
@QUIET
def report(model: str, table: str, output: Path, quiet: bool) -> None:
    """Write an HTML report about MODEL on the rows of TABLE, which must have the target.

    Training rows of the model are recognised by their hashes; all other rows are new.
    """
    with helpful_errors(quiet):
        from committee.cli.console_results import console
        from committee.cli.report import write_model_report
        from committee.ingest.files import require_writable

        out = console(quiet)
        require_writable(output)
        write_model_report(model, table, output, out)
        out.print(f"report   {output}", markup=False)


@main.command()
@click.argument("model", type=click.Path(dir_okay=False))
@output_options
def inspect(model: str, as_json: bool, quiet: bool) -> None:
    """Print the contents of a model file without loading the model."""
    with helpful_errors(quiet):
        from committee.cli.report import describe_model, readable_lines

        found = describe_model(model)
        _show(found, ("", model), readable_lines(found), as_json, quiet)


# --- the library ------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("name", required=False)
@output_options
def methods(name: str | None, as_json: bool, quiet: bool) -> None:
    """List the methods of compare and all estimators; with NAME, print its properties."""
    with helpful_errors(quiet):
        from committee.cli.catalog_commands import catalogue, properties_of

        if name is not None:
            title, lines = properties_of(name)
            _show({"name": title, **dict(lines)}, ("", title), lines, as_json, quiet)
            return
        compared, estimators = catalogue()
        if as_json:
            click.echo(json.dumps({"compare": compared, "estimators": estimators}, indent=1))
            return
        _show(
            compared,
            ("method of compare", "description"),
            [(m["name"], m["description"]) for m in compared],
            False,
            quiet,
        )
        lines = [(each["name"], ", ".join(each["aliases"]), each["paper"]) for each in estimators]
        _show(estimators, ("estimator", "also called", "paper"), lines, False, quiet)


@main.command()
@click.argument("experiment", required=False, metavar="[NAME]")
@click.option("--quick", is_flag=True, help="Fewer rounds, folds or samples, for a run of seconds instead of minutes.")
@click.option("--output-dir", "-o", type=click.Path(file_okay=False, path_type=Path), default=Path("reproductions"),
              show_default=True, help="Folder of the figure and the results.")  # fmt: skip
@output_options
def reproduce(experiment: str | None, quick: bool, output_dir: Path, as_json: bool, quiet: bool) -> None:
    """Reproduce a published experiment; without NAME, list them."""
    with helpful_errors(quiet):
        from committee.cli.catalog_commands import list_reproductions, run_reproduction

        if experiment is None:
            found = list_reproductions()
            lines = [(each["name"], each["title"]) for each in found]
            _show(found, ("name", "experiment"), lines, as_json, quiet)
            return
        result, header, lines, written = run_reproduction(experiment, quick, output_dir, progress=not quiet)
        _show(result, header, lines, as_json, quiet)
        click.echo("\n".join([result["verdict"], *map(str, written)]), err=as_json) if not quiet else None


@main.command()
@click.option("--n-jobs", "-j", type=click.IntRange(min=1), default=1, show_default=True, help="Parallel processes.")
def warmup(n_jobs: int) -> None:
    """Compile all kernels and cache them on disk, so that later fits do not wait for the compiler."""
    from committee.cli.precompile import warmup as compile_kernels

    seconds = compile_kernels(click.echo, n_jobs)
    click.echo(f"All kernels are compiled and cached ({seconds:.1f} s of CPU).")


@main.command()
@click.option("--output-dir", "-o", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"),
              show_default=True, help="Folder of report.html, model.committee and results.json.")  # fmt: skip
@click.option("--time-budget", type=Duration(), default="100s", show_default=True, help="Time for the comparison.")
@QUIET
def demo(output_dir: Path, time_budget: float | None, quiet: bool) -> None:
    """Compare methods on a built-in data set and write the report."""
    with helpful_errors(quiet):
        from committee.cli.console_results import console
        from committee.cli.demo import run_demo

        run_demo(console(quiet, stderr_=False), output_dir, time_budget)


@main.command()
def data() -> None:
    """List the built-in data sets."""
    from committee.datasets import dataset_names, load_dataset

    samples = {name: load_dataset(name) for name in dataset_names()}
    header = ("name", "rows", "features", "categorical", "task", "target")
    print_table(
        header,
        [(name, *s.X.shape, len(s.categories), s.task, s.target_name) for name, s in samples.items()],
    )
    for name, sample in samples.items():
        click.echo()
        click.echo(click.wrap_text(f"{name}: {sample.description}", width=100, subsequent_indent="  "))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL, for eval "$(committee completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "committee", "_COMMITTEE_COMPLETE").source())


def _show(plain: Any, header: Sequence[str], rows: Iterable[Iterable[object]], as_json: bool, quiet: bool) -> None:
    """Print a result as JSON or as a table."""
    if as_json:
        click.echo(json.dumps(plain, indent=1))
    elif not quiet:
        print_table(header, rows)


def print_table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    from rich.console import Console
    from rich.table import Table

    lines = [[_cell_text(cell) for cell in row] for row in rows]
    table = Table()
    for place, name in enumerate(header):
        title, cells = name.replace("_", " "), [line[place] for line in lines]
        longest = max(map(len, [title, *cells]))
        is_short = longest <= (WIDEST_NAME if place == 0 else WIDEST_NUMBER)
        words = (len(each) for each in (*title.split(), *cells) if len(each) <= WIDEST_NUMBER)
        least = longest if is_short else max(words, default=WIDEST_NUMBER)
        table.add_column(title, no_wrap=is_short, overflow="fold", min_width=least)
    for line in lines:
        table.add_row(*line)
    out = Console(highlight=False, markup=False)
    # In a pipe, no row is wrapped.
    (out if out.is_terminal else Console(highlight=False, markup=False, width=WIDE)).print(table)


def _cell_text(cell: object) -> str:
    return ", ".join(map(str, cell)) if isinstance(cell, (tuple, list)) else str(cell)
