"""The command line: which benchmarks, how often, and where the table goes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from benchmarks.harness import Benchmark, Result, measure, ratios
from benchmarks.machine import describe_machine
from benchmarks.report import console_tables, kept_sections, markdown, notes
from benchmarks.suite import suite
from benchmarks.tables import Scale
from committee.cli.precompile import warmup

RESULTS = Path(__file__).with_name("RESULTS.md")
REPEATS = 5
LOG_WIDTH = 200  # of a file or pipe, which has no width of its own


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="PATTERN", help="Benchmarks whose name holds PATTERN (* and ? allowed).")
@click.option("--quick", is_flag=True, help="A tenth of the rows, one repeat: shows that everything runs.")
@click.option("--repeats", type=click.IntRange(min=1), help=f"Repeats of each contender [{REPEATS}; 1 with --quick].")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the table [benchmarks/RESULTS.md, but nowhere with --only or --quick]. With --only, groups "
    "that are not measured keep their sections of that file.",
)
@click.option("--list", "is_list", is_flag=True, help="Name the benchmarks and stop.")
def measure_and_report(
    only: tuple[str, ...], quick: bool, repeats: int | None, output: Path | None, is_list: bool
) -> None:
    """Measure committee against its peers."""
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    chosen = suite(Scale(10 if quick else 1), only)
    if not chosen:
        raise click.UsageError(f"no benchmark is named like {', '.join(only)}; --list names them")
    if is_list:
        console.print("\n".join(benchmark.name for benchmark in chosen))
        return
    results = run_all(chosen, repeats or (1 if quick else REPEATS), console)
    for table in console_tables(results):
        console.print(table)
    if output is None and not (only or quick):
        output = RESULTS
    if output is not None:
        kept = kept_sections(output.read_text(encoding="utf-8")) if only and output.exists() else {}
        output.write_text(markdown(results, describe_machine(), quick, kept), encoding="utf-8")
    if any(result.failed for result in results):
        raise SystemExit(1)


def run_all(chosen: Sequence[Benchmark], repeats: int, console: Console) -> list[Result]:
    """Measure one after the other, telling how it goes."""
    if any(benchmark.clock != "process" for benchmark in chosen):
        warmup()  # kernels compiled here are no part of anyone's time
    results: list[Result] = []
    for number, benchmark in enumerate(chosen, 1):
        result = measure(benchmark, repeats)
        results.append(result)
        console.print(f"[{number}/{len(chosen)}] {benchmark.name}: {_outcome(result)}")
        for note in notes(result):
            console.print(f"    {note}")
        for name, error in result.failed.items():
            console.print(f"    {name}: {error}")
    return results


def _outcome(result: Result) -> str:
    """The ratios in one line."""
    found = [f"{name} {ratio:.3f} of {peer}" for name in result.timings for peer, ratio in ratios(result, name).items()]
    return ", ".join(found) or "measured"
