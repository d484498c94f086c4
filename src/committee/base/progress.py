"""A progress bar for long work, shown on request."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def progress(label: str, total: int | None, verbose: int) -> Generator[Callable[[str], None]]:
    """Yield a function to call after every step with a short status; it does nothing where verbose is 0.

    `total` is None if the number of steps is unknown.
    """
    if verbose <= 0:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(label, total=total, status="")
        yield lambda status: bar.update(task, advance=1, status=status)
