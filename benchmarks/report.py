"""Results as tables: on the console, and as the file RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from benchmarks.harness import Clock, Goal, Result, goals, ratios

HEADER = ("contender", "time", "ours / peer", "goal", "quality", "repeats")

METHOD = """\
Each time is the minimum over repeats, with the contenders taking turns in one process, of the CPU time of one call at
one thread (threads of OpenMP and BLAS pinned to one); rows marked `wall` are wall time with two threads allowed,
start-up rows time whole fresh processes, and rows in MB give the peak memory of one. `ours / peer` below 1 is faster
(or smaller) than the peer. Quality is measured on rows held out. A goal is what the project set itself for a row."""


class Row(NamedTuple):
    """One line of a table, as texts."""

    contender: str
    time: str
    ratio: str
    goal: str
    quality: str
    repeats: str


# --- texts -----------------------------------------------------------------------------------------------------------


def table_rows(result: Result) -> list[Row]:
    """The contenders that were measured."""
    return [
        Row(
            contender=name,
            time=_amount_text(timing.seconds, result.benchmark.clock),
            ratio=_ratio_text(ratios(result, name)),
            goal="; ".join(_goal_text(goal, reached) for goal, reached in goals(result, name)),
            quality=", ".join(f"{key} {_number_text(value)}" for key, value in timing.quality.items()),
            repeats=str(timing.repeats),
        )
        for name, timing in result.timings.items()
    ]


def notes(result: Result) -> list[str]:
    """Why contenders are missing. What a failure said may hold paths and stays on the console."""
    absent = [f"{name} was skipped: {reason}" for name, reason in result.absent.items()]
    return absent + [f"{name} failed: {type(error).__name__}" for name, error in result.failed.items()]


def _amount_text(amount: float, clock: Clock) -> str:
    if clock == "memory":
        return f"{amount:.0f} MB"
    return seconds_text(amount) + (" wall" if clock == "wall" else "")


def seconds_text(seconds: float) -> str:
    """Three digits and a unit.

    >>> seconds_text(12.3456), seconds_text(0.0123456), seconds_text(0.00002)
    ('12.3 s', '12.3 ms', '20 us')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1.0:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds * 1e6)} us"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _number_text(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _ratio_text(by_peer: Mapping[str, float]) -> str:
    if len(by_peer) == 1:
        return f"{next(iter(by_peer.values())):.3f}"
    return ", ".join(f"{ratio:.3f} {peer}" for peer, ratio in by_peer.items())


def _goal_text(goal: Goal, reached: float) -> str:
    verdict = "met" if reached <= goal.most else "missed"
    if goal.kind == "ratio":
        return f"at most {goal.most:g} of {goal.peer}: {verdict}"
    above = f" above {goal.peer}" if goal.kind == "difference" else ""
    return f"at most {goal.most:g} s{above}: {reached:.2f} s, {verdict}"


# --- the console -----------------------------------------------------------------------------------------------------


def console_tables(results: Sequence[Result]) -> Iterable[Table]:
    """A table for each group."""
    for group, members in _groups(results):
        table = Table(title=group, title_justify="left", title_style="bold")
        for name in ("benchmark", *HEADER):
            table.add_column(name, overflow="fold")
        for result in members:
            label = result.benchmark.name.partition("/")[2]
            for position, row in enumerate(table_rows(result)):
                table.add_row("" if position else label, *row)
            table.add_section()
        yield table


# --- the file --------------------------------------------------------------------------------------------------------


def kept_sections(text: str) -> dict[str, str]:
    """The sections of an earlier RESULTS.md by their titles.

    >>> kept_sections("# Benchmark results\\n\\n## Trees\\n\\nfast\\n\\n## Pruning\\n\\nfaster\\n")
    {'Trees': 'fast', 'Pruning': 'faster'}
    """
    sections = (section.partition("\n") for section in text.split("\n## ")[1:])
    return {title: body.strip() for title, _, body in sections}


def markdown(
    results: Sequence[Result], machine: Mapping[str, str], is_quick: bool, kept: Mapping[str, str] | None = None
) -> str:
    """The whole of RESULTS.md; `kept` holds sections of an earlier run, for groups that were not measured now."""
    parts = ["# Benchmark results", "Written by `make bench`; do not edit.", METHOD, *quality_lines()]
    if is_quick:
        parts.append(
            "**A quick run on a tenth of the rows: it shows that the harness works, its figures mean nothing.**"
        )
    parts.append(markdown_table(("machine", ""), machine.items()))
    measured = {group.capitalize(): "\n\n".join(_markdown_group(members)) for group, members in _groups(results)}
    day = machine.get("date", "an unknown day")
    dated = {title: f"Measured on {day}.\n\n{body}" for title, body in measured.items()}
    for title, body in {**(kept or {}), **dated}.items():
        parts += [f"## {title}", body]
    return "\n\n".join(parts) + "\n"


HERE = Path(__file__).parent
ON_PUBLIC_DATA = (
    ("QUALITY.md", "Mean ratio over", "Gradient boosting on public data, equal parameters"),
    ("COMMITTEE.md", "Over ", "Committees on public data, every method as it comes"),
    ("EXPERTS.md", "Smallest loss of", "Mixtures of experts on public data"),
)
"""Tables of their own, how the line begins that sums each up, and what it is about."""


def quality_lines() -> list[str]:
    """What the tables of quality on public data say in one line each, if they were made."""
    return [
        " ".join([f"{about} ([{name}]({name})):", *_lines_of(HERE / name, begin)])
        for name, begin, about in ON_PUBLIC_DATA
        if (HERE / name).exists()
    ]


def _lines_of(path: Path, begin: str) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(begin)]


def _markdown_group(results: Sequence[Result]) -> Iterable[str]:
    rows: list[tuple[str, ...]] = []
    for result in results:
        for position, row in enumerate(table_rows(result)):
            rows.append(("" if position else result.benchmark.task, *row))
    if rows:
        yield markdown_table(("task", *HEADER), rows)
    lines = [f"- {result.benchmark.name}: {note}." for result in results for note in notes(result)]
    if lines:
        yield "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(_markdown_line(cells) for cells in (header, ["---"] * len(header), *rows))


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _groups(results: Sequence[Result]) -> Iterable[tuple[str, list[Result]]]:
    for group, members in groupby(results, key=lambda result: result.benchmark.name.partition("/")[0]):
        yield group, list(members)
