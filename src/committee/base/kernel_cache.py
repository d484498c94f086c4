"""The user's directory of compiled kernels: its place, its name, the notice when it is filled.

Numba notices an edit of a function's own file, but not of a callee in another file. So the cache directory carries a
hash of all kernel sources and of everything else that decides the machine code, and a change anywhere starts afresh.
Kernels compiled ahead of time, in a wheel: `shipped_kernels.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import sys
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

SUFFIX = ".kernel"
"""Of the file of a compiled kernel, one for each specialisation."""

DURATION = "which takes about 6 seconds before the first tree and half a minute for all methods"

COMPILING = Stopwatch()
"""Runs while the compiler does: no time budget is charged with it."""

NOTICE_SECONDS = 3.0
"""Kernels missing from a cache that has others are compiled silently until this much time went into it."""

_LOG = logging.getLogger("committee")


class Notice:
    """A line that is logged at most once in a process. Python prints it to stderr unless logging is configured."""

    def __init__(self) -> None:
        self._given = threading.Event()

    def give(self, text: str, *values: object) -> None:
        if not self._given.is_set():
            self._given.set()
            _LOG.warning(text, *values)

    def withhold(self) -> None:
        self._given.set()


COMPILATION_NOTICE, STORAGE_NOTICE = Notice(), Notice()


@cache
def hash_sources() -> str:
    """Hash of the sources of all kernels and of the compiler."""
    digest = hashlib.sha256()
    sources = (path for pattern in COMPILED_IN for path in PACKAGE.glob(pattern))
    for path in sorted(sources):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiler_flags() -> dict[str, Any]:
    """The settings of numba that change the machine code, where they differ from the defaults."""
    config: Any = numba.config  # pyright: ignore[reportPrivateImportUsage]
    flags = {name: getattr(config, name, None) for name in ("BOUNDSCHECK", "CPU_NAME", "CPU_FEATURES")}
    flags["OPT"] = None if getattr(config, "OPT", 3) == 3 else repr(config.OPT)
    return {name: value for name, value in flags.items() if value is not None and value != 0}


def directory_name() -> str:
    """The name of the cache directory; files of kernels are named by the CPU too."""
    decisive = (hash_sources(), sorted(compiler_flags().items()), numba.__version__, sys.version_info[:3])
    return f"kernels-{hashlib.sha256(repr(decisive).encode()).hexdigest()[:16]}"


def only_trusted_can_write(directory: Path) -> bool:
    """Whether a directory belongs to this user, the superuser or whoever installed this package, and nobody else can
    write to it: what is read from there is run.

    Windows keeps no such bits; there the directories of a user and of an installation are private by default.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = directory.stat()
    has_private_group = status.st_gid == status.st_uid  # the convention of groups that have one user
    writable = stat.S_IWOTH | (0 if has_private_group else stat.S_IWGRP)
    return status.st_uid in (os.geteuid(), 0, PACKAGE.stat().st_uid) and not status.st_mode & writable


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@cache
def cache_directory() -> Path | None:
    """The user's directory of compiled kernels, made if need be; None where there is no safe place for it.

    It need not be writable: an administrator may have filled it.
    """
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the user has no home directory
        chosen = os.environ.get("COMMITTEE_CACHE_DIR")
        directory = (Path(chosen) if chosen else _user_caches() / "committee") / directory_name()
        directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        if only_trusted_can_write(directory):
            return directory
    return None


def announce_compilation(why: str = "") -> None:
    """Log once per process that kernels are compiled, why, how long that takes and how to avoid it."""
    directory = cache_directory()
    is_first = directory is None or not any(directory.glob(f"*{SUFFIX}"))
    if not (is_first or COMPILING.seconds > NOTICE_SECONDS):
        return
    if directory is None:
        advice = (
            "Every process compiles again: no cache directory can be written by this user and by no other; set "
            "COMMITTEE_CACHE_DIR to one"
        )
    else:
        advice = f"This happens once; the result is cached in {directory}. `committee warmup` compiles ahead of time"
    reason = f" ({why})" if why else ""
    COMPILATION_NOTICE.give("committee is compiling its kernels for this machine%s, %s. %s.", reason, DURATION, advice)


def announce_lost(error: OSError) -> None:
    """Log once per process that compiled kernels cannot be kept: the disk is full, or the cache is read-only."""
    STORAGE_NOTICE.give(
        "committee cannot store its compiled kernels (%s): the next process compiles them again. Free some space, or "
        "set COMMITTEE_CACHE_DIR to a directory that can be written.",
        error,
    )


def remove_stale_caches() -> int:
    """Delete the caches of older kernel sources; return how many directories were deleted.

    Those of the last day stay: another process may be using them.
    """
    used = cache_directory()
    if used is None:
        return 0
    yesterday = time.time() - 86_400
    others = (path for path in used.parent.glob("kernels-*") if path != used)
    stale = [path for path in others if path.stat().st_mtime < yesterday]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale)
