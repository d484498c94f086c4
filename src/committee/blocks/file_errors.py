"""Errors of the libraries that read files, with the name of the file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming_file(path: Path) -> Generator[None]:
    """Raise ValueError with the name of the file for errors of polars and pyarrow."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("polars", "pyarrow"):
            raise
        raise ValueError(f"{path} cannot be read as a table: {str(error).strip().splitlines()[0]}") from error
