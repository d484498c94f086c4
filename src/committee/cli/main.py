"""The command `committee`: each subcommand imports what it needs when it runs, so that `--help` is instant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="committee")
def main() -> None:
    """Ensemble learning on tables."""


@main.command()
def warmup() -> None:
    """Compile all kernels once and for all.

    They are kept on disk, so that no later fit has to wait for the compiler.
    """
    from committee.explain.shap import compile_kernels as compile_explanations
    from committee.parts.warmup import warmup as compile_kernels

    seconds = compile_kernels(click.echo)
    click.echo("explanations")
    seconds += compile_explanations()
    click.echo(f"All kernels are compiled and cached ({seconds:.1f} s of CPU).")


@main.command()
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("demo/tree.png"),
    show_default=True,
    help="Where to save the picture of the tree (needs matplotlib).",
)
def demo(picture: Path) -> None:
    """Fit and show a pruned tree and a boosted ensemble on built-in data."""
    from committee.cli.demo import run_demo

    run_demo(Console(highlight=False), picture)


@main.command()
def catalog() -> None:
    """List every estimator of the library."""
    from committee.catalog import CATALOG

    entries = list(CATALOG)
    _print_table(entries[0]._fields, entries)


@main.command()
def data() -> None:
    """List the built-in sample data."""
    from committee.data.samples import load_sample, sample_names

    samples = {name: load_sample(name) for name in sample_names()}
    header = ("name", "rows", "features", "categorical", "task", "target")
    _print_table(
        header,
        [(name, *s.X.shape, len(s.categories), s.task, s.target_name) for name, s in samples.items()],
    )
    for name, sample in samples.items():
        click.echo()
        click.echo(click.wrap_text(f"{name}: {sample.description}", width=100, subsequent_indent="  "))


def _print_table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    table = Table()
    for position, name in enumerate(header):
        table.add_column(name.replace("_", " "), no_wrap=position == 0, overflow="fold")
    for row in rows:
        table.add_row(*(_cell_text(cell) for cell in row))
    Console(highlight=False).print(table)


def _cell_text(cell: object) -> str:
    return ", ".join(map(str, cell)) if isinstance(cell, (tuple, list)) else str(cell)
