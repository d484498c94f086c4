"""The directory of compiled kernels: its place, its name, the notice when it is filled.

Numba notices an edit of a function's own file, but not of a callee in another file. So the cache directory carries a
hash of all kernel sources and of everything else that decides the machine code, and a change anywhere starts afresh.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numba

from committee.base.stopwatch import Stopwatch

PACKAGE = Path(__file__).resolve().parents[1]

COMPILED_IN = ("kernels/**/*.py", "records/*.py", "base/jit.py", "base/_kernel_compiler.py")
"""Kernel sources, records whose constants kernels compile in, and the compiler."""

TEMPORARY = "committee-kernels-"
"""Prefix of a cache directory that lasts as long as the process."""

DURATION = "which takes about 15 seconds before the first tree and about a minute for all methods"

COMPILING = Stopwatch()
"""Runs while kernels are compiled or read from the disk: no time budget is charged with it."""

NOTICE_GIVEN = threading.Event()
"""Set once the notice that kernels are being compiled is given: once per process."""

NOTICE_SECONDS = 3.0
"""Kernels missing from a cache that has others are compiled silently until this much time went into it."""

_LOG = logging.getLogger("committee")


@cache
def source_hash() -> str:
    """Hash of everything that decides the machine code of the kernels: the name of their cache directory."""
    digest = hashlib.sha256()
    sources = (path for pattern in COMPILED_IN for path in PACKAGE.glob(pattern))
    for path in sorted(sources):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
    flags = [getattr(config, name, None) for name in ("BOUNDSCHECK", "OPT", "CPU_NAME", "CPU_FEATURES")]
    flags += [numba.__version__, sys.version_info[:3]]
    digest.update(repr(flags).encode())
    return digest.hexdigest()[:16]


def _candidate_directories() -> list[Path]:
    chosen = os.environ.get("COMMITTEE_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [PACKAGE / "__pycache__", user_cache / "committee"]


@cache
def cache_directory() -> Path:
    """The first writable place for compiled kernels; a private temporary directory where there is none."""
    for parent in _candidate_directories():
        directory = parent / f"kernels-{source_hash()}"
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            tempfile.TemporaryFile(dir=directory).close()
            return directory
    return _temporary_directory()


def _temporary_directory() -> Path:
    """A private cache directory that this process removes when it ends."""
    directory, owner = Path(tempfile.mkdtemp(prefix=TEMPORARY)), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child inherits the exit handlers
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def announce_compilation() -> None:
    """Log once per process that kernels are compiled, how long that takes and how to avoid it.

    The logger "committee" does it at level WARNING, which Python prints to stderr unless logging is configured.
    """
    directory = cache_directory()
    is_first = not any(directory.glob("*.nbi"))
    if NOTICE_GIVEN.is_set() or not (is_first or COMPILING.seconds > NOTICE_SECONDS):
        return
    NOTICE_GIVEN.set()
    if directory.name.startswith(TEMPORARY):
        advice = (
            "No cache directory is writable, so every process compiles again: set COMMITTEE_CACHE_DIR to a writable "
            "directory"
        )
    else:
        advice = f"This happens once; the result is cached in {directory}. `committee warmup` compiles ahead of time"
    _LOG.warning("committee is compiling its kernels for this machine, %s. %s.", DURATION, advice)


def remove_stale_caches() -> int:
    """Delete the caches of older kernel sources; return how many directories were deleted.

    Those of the last day stay: another process may be using them.
    """
    yesterday = time.time() - 86_400
    others = (path for path in cache_directory().parent.glob("kernels-*") if path != cache_directory())
    stale = [path for path in others if path.stat().st_mtime < yesterday]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale)
