"""Limit BLAS to one thread while our own threads share the work.

BLAS divides a product by the number of its threads, which changes the order of the sums: limited to one thread, and
given tiles of a fixed size, it returns the same bits for any n_jobs.
"""

from __future__ import annotations

import importlib
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_open: list[Any] = []  # the limit in force, once for every open block


@cache
def _controller() -> Any:
    importlib.import_module("scipy.linalg")  # it brings its own BLAS, which must be loaded to be found
    return ThreadpoolController()


def _release_controlling_thread() -> None:
    """Let any thread set the next limit: since version 3.8 threadpoolctl obeys only the thread that set the first."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class one_blas_thread:  # noqa: N801 - used like a function
    """BLAS uses one thread inside the block; blocks may overlap, the last one to end restores the limit."""

    def __enter__(self) -> None:
        with _lock:
            if not _open:
                _release_controlling_thread()
            _open.append(_open[0] if _open else _controller().limit(limits=1, user_api="blas"))

    def __exit__(self, *error: object) -> None:
        with _lock:
            limit = _open.pop()
            if not _open:
                _release_controlling_thread()
                limit.restore_original_limits()
                _release_controlling_thread()
