"""The console for messages, on stderr: stdout is for results."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text


def console(quiet: bool = False, stderr_: bool = True) -> Console:
    """A console without highlighting and hard wraps; a quiet one prints nothing."""
    return Console(stderr=stderr_, quiet=quiet, highlight=False, soft_wrap=True)


def print_warnings(out: Console, warnings: Sequence[str]) -> None:
    for warning in warnings:
        out.print(Text("! ", style="yellow") + Text(warning))
