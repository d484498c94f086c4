"""Delay signals: work that an exception must not interrupt handles Ctrl-C when it is done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

HANDLED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
"""Signals whose handlers may raise an exception."""

STDERR = 2


@contextmanager
def signals_held(work: str) -> Generator[None]:
    """Handle signals that arrive in the block at its end; Ctrl-C prints at once which `work` it waits for.

    Python delivers signals to the main thread alone: in any other thread there is nothing to delay.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT and number not in arrived:  # os.write: a stream may be in use
            os.write(STDERR, f"Stopping after {work}.\n".encode())
        arrived.append(number)

    result = {number: signal.getsignal(number) for number in HANDLED}
    handlers = {number: handler for number, handler in result.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, hold)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
