"""A progress bar for long work, shown on request."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def progress(label: str, total: int, verbose: int) -> Generator[Callable[[str], None]]:
    """A function to call once per step with a few words on where things stand; silent where verbose is 0."""
    if verbose <= 0:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[word]}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(label, total=total, word="")
        yield lambda word: bar.update(task, advance=1, word=word)
