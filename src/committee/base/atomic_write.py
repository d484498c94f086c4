"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield the path of a draft next to `path`, which replaces `path` if the block ends without an exception.

    The draft has the suffix of `path` and the permissions that the umask gives to new files. It is flushed to the disk
    before it is renamed, so that `path` never holds a part of the content, even after a power failure. After any
    exception, Ctrl-C included, it is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "result.txt")
    ...     with atomic_write(target) as draft:
    ...         _ = draft.write_text("complete")
    ...     target.read_text(), len(os.listdir(folder))
    ('complete', 1)
    """
    target = Path(path)
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(6)}{target.suffix}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:  # the message would name the draft
        raise type(error)(error.errno, error.strerror, str(target)) from None
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8 with Unix line ends, complete or not at all."""
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")
