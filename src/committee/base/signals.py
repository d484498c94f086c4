"""Signals that wait: work that an exception must not cut in two hears Ctrl-C when it is through."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
"""The signals whose handlers end work by an exception."""


@contextmanager
def signals_held() -> Generator[None]:
    """Signals that arrive in the block are handled at its end.

    Python hands signals to the main thread alone: in any other the block is safe as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    found = {number: signal.getsignal(number) for number in ENDING}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: arrived.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
