"""Signals that wait: work that an exception must not cut in two hears Ctrl-C when it is through."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
"""The signals whose handlers end work by an exception."""


STDERR = 2


@contextmanager
def signals_held(work: str) -> Generator[None]:
    """Signals that arrive in the block are handled at its end; who presses Ctrl-C reads for which work that waits.

    Python hands signals to the main thread alone: in any other the block is safe as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and number not in arrived:  # by the system's call: a stream may be in use
            os.write(STDERR, f"Stopping after {work}.\n".encode())
        arrived.append(number)

    found = {number: signal.getsignal(number) for number in ENDING}
    handlers = {number: handler for number, handler in found.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
