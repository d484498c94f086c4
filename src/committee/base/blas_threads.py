"""One BLAS thread while our own threads share the work.

BLAS cuts a product by the number of its threads, and sums in another order then: pinned to one, and given tiles whose
size never changes, it returns the same bits for any n_jobs.
"""

from __future__ import annotations

import importlib
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_open: list[Any] = []  # the limit in force, once for every block that is inside


@cache
def _controller() -> Any:
    importlib.import_module("scipy.linalg")  # it brings a BLAS of its own, which must be there to be found
    return ThreadpoolController()


def _let_any_thread_decide() -> None:
    """From version 3.8 on threadpoolctl obeys the thread that set a limit first, and no other as long as it lives."""
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class one_blas_thread:  # noqa: N801 - used like a function
    """BLAS works on one thread inside; blocks may overlap, the last one to leave gives the threads back."""

    def __enter__(self) -> None:
        with _lock:
            if not _open:
                _let_any_thread_decide()
            _open.append(_open[0] if _open else _controller().limit(limits=1, user_api="blas"))

    def __exit__(self, *error: object) -> None:
        with _lock:
            limit = _open.pop()
            if not _open:
                _let_any_thread_decide()
                limit.restore_original_limits()
                _let_any_thread_decide()
