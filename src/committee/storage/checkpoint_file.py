"""Checkpoints: files from which a fit that was killed continues.

A checkpoint is the first line `MAGIC`, then parts, each of which was appended at one time:

    12 bytes     length of the container and a CRC of it, little endian; zeros while the part is being written
    container    results of the fit since the last part, as in a model file (`_container.py`, `_encoding.py`)

A part is on the disk before its first bytes are: whenever the process is killed, or the power fails, all parts but an
unfinished last one are complete. Appending costs what is new; writing all again would cost the square of a long fit.
"""

from __future__ import annotations

import json
import os
import struct
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, cast
from zlib import crc32

import numpy
import scipy
import sklearn

import committee
from committee.base.journal import CheckpointError, Entry, Journal, Place, current_journal, journal_in_use
from committee.base.stacklevel import level_of_caller
from committee.storage._container import container_blocks, parse_json, read_header, read_tensors
from committee.storage._decoding import Allowed, Decoder
from committee.storage._encoding import Encoder
from committee.storage.errors import ModelFileError, UnstorableError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MAGIC = b"committee checkpoint 1\n"
FRAME = struct.Struct("<QI")


@contextmanager
def checkpoint(path: str | os.PathLike[str], *, every_seconds: float = 30.0) -> Generator[None]:
    """Keep the fits in a `with` block in a file, from which the same block continues after the process was killed.

    Run the same program again to continue: the models are those of an uninterrupted run, bit for bit. All ensembles
    that grow member by member are kept (boosting, gradient boosting, bagging, forests), also inside of stacks,
    pipelines and searches, if they are fitted in the thread of the block. Other fits are run again.

    The file is removed when the block ends, and kept if it ends with an exception, such as Ctrl-C.

    Parameters
    ----------
    path : str or Path
        Path of the checkpoint. If the file exists, the block continues from it.
    every_seconds : float, default=30
        Time between two writes: at most this much work is lost. It is longer where writing would take more than 2 % of
        the time. With 0 every member is written at once.

    Returns
    -------
    context manager
        For a `with` statement.

    Raises
    ------
    CheckpointError
        If the file is no checkpoint, is damaged or in use, or if another fit has written it: with other data or
        parameters, or another version of a library.

    Warns
    -----
    UserWarning
        Once, if the file cannot be written; the fit goes on.

    Notes
    -----
    The members, such as trees, are kept; everything else is computed again. `n_jobs` and `verbose` may change. With
    ``random_state=None`` the seed is kept. Save the model inside of the block: it is then not lost if the process is
    killed after the fit. A checkpoint has no code in it, but is checked for damage only: do not use those of others.

    Examples
    --------
    >>> import os, tempfile
    >>> import committee
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> path = os.path.join(tempfile.mkdtemp(), "sonar.ckpt")
    >>> with committee.checkpoint(path):
    ...     model = committee.RandomForestClassifier(random_state=0).fit(sonar.X, sonar.y)
    >>> os.path.exists(path)
    False
    """
    if not isinstance(every_seconds, Real) or not every_seconds >= 0.0:
        raise ValueError(f"every_seconds must be a number of seconds, at least 0; got {every_seconds!r}.")
    if current_journal() is not None:
        raise ValueError("Checkpoints cannot be nested: this block is inside of another block of checkpoint.")
    with CheckpointFile(Path(path)) as file:
        journal = Journal(str(path), file.read(), file, float(every_seconds))
        try:
            with journal_in_use(journal):
                yield
        except CheckpointError:
            raise
        except BaseException:
            journal.flush()
            raise
        if journal.mismatch is not None:
            raise journal.mismatch
        file.remove()


class CheckpointFile:
    """A file of results, which is created with the first of them."""

    def __init__(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"The folder of the checkpoint {str(path)!r} does not exist: create it.")
        self.path, self._end, self._can_write = path, 0, True
        self._file: BinaryIO | None = None  # locked

    def __enter__(self) -> CheckpointFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self) -> dict[Place, Any]:
        """The results in the file; none if there is no file."""
        if not self.path.exists():
            return {}
        file = self._open("rb")
        start = file.read(len(MAGIC))
        if not MAGIC.startswith(start):
            raise CheckpointError(
                f"{str(self.path)!r} is not a checkpoint of this version of committee: pass another path."
            )
        self._end = len(start) if start == MAGIC else 0
        try:
            return {(*place,): thing for data in self._parts(file) for place, thing in _decoded(data, str(self.path))}
        except ModelFileError as error:
            raise CheckpointError(
                f"The checkpoint {str(self.path)!r} is damaged: {error} Remove it to start anew."
            ) from error

    def _parts(self, file: BinaryIO) -> Iterator[bytes]:
        size = os.fstat(file.fileno()).st_size
        while self._end:
            head = file.read(FRAME.size)
            if len(head) < FRAME.size or head == bytes(FRAME.size):  # the end, or an unfinished part
                return
            length, check = FRAME.unpack(head)
            if check != crc32(head[:8]) or length > size - file.tell():
                raise ModelFileError("a part of it is not complete.")
            yield file.read(length)
            self._end = file.tell()

    def _open(self, mode: str) -> BinaryIO:
        """Open the file and lock it, where the system has locks."""
        self._file = file = cast(BinaryIO, self.path.open(mode))
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(
                    f"The checkpoint {str(self.path)!r} is in use by another process: pass another path."
                ) from None
            except OSError:  # a file system without locks
                pass
        return file

    # --- writing ------------------------------------------------------------------------------------------------------

    def check(self, thing: Any) -> None:
        """Raise UnstorableError if a checkpoint cannot hold this result."""
        _encoded([((0, 0, 0), thing)])

    def save(self, entries: Sequence[Entry]) -> bool:
        """Append results; if the file cannot be written, warn once and return False."""
        encoder, text = _encoded(entries)
        try:
            self._append(encoder, text)
        except OSError as error:
            if self._can_write:
                warnings.warn(
                    f"The checkpoint {str(self.path)!r} cannot be written: {error.strerror or error}. The fit goes on.",
                    stacklevel=level_of_caller(),
                )
            self._can_write = False
            return False
        self._can_write = True
        return True

    def _append(self, encoder: Encoder, text: str) -> None:
        if self._file is None:
            self._open("xb")
        with self.path.open("r+b", buffering=0) as file:
            file.truncate(self._end)  # without an unfinished part
            file.seek(self._end)
            start = len(MAGIC) if not self._end else 0
            _write(file, (MAGIC if not self._end else b"") + bytes(FRAME.size))
            blocks = container_blocks(encoder.tensors, {"state": text, "versions": json.dumps(_versions())})
            length = sum(_write(file, block) for block in blocks)
            os.fsync(file.fileno())
            file.seek(self._end + start)
            packed = length.to_bytes(8, "little")
            _write(file, FRAME.pack(length, crc32(packed)))
            os.fsync(file.fileno())
            self._end += start + FRAME.size + length

    def remove(self) -> None:
        """Remove the file."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            warnings.warn(
                f"The checkpoint {str(self.path)!r} cannot be removed: {error.strerror}.", stacklevel=level_of_caller()
            )


def _write(file: Any, data: bytes | memoryview) -> int:
    """Write all bytes: a file without buffer may write fewer at once."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    return len(data)


def _versions() -> dict[str, str]:
    """Other versions may give other results."""
    return {library.__name__: library.__version__ for library in (committee, numpy, scipy, sklearn)}


def _encoded(entries: Sequence[Entry]) -> tuple[Encoder, str]:
    """The encoder, which has the arrays, and the text."""
    encoder = Encoder()
    try:
        state = encoder.state(list(entries))
    except UnstorableError as error:
        raise UnstorableError(
            f"A checkpoint cannot hold the members of this ensemble; fit it without one. {error}"
        ) from None
    if encoder.functions:
        raise UnstorableError(
            f"A checkpoint cannot hold the members of this ensemble, which have the functions {encoder.functions[:5]}; "
            "fit it without one."
        )
    return encoder, json.dumps(state, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _decoded(data: bytes, path: str) -> list[Entry]:
    file = BytesIO(data)
    header = read_header(file)
    written, here = parse_json(header.metadata.get("versions", "")), _versions()
    if written != here:
        names = [f"{name} {written.get(name)} (here {here[name]})" for name in here if written.get(name) != here[name]]
        raise CheckpointError(
            f"The checkpoint {path!r} was written with {', '.join(names)}, which may give other results: install the "
            "versions that it was written with, or remove it to start anew."
        )
    tensors = read_tensors(file, header, is_mapped=False)
    return Decoder(parse_json(header.metadata.get("state", "")), tensors, Allowed({}, ())).model()
