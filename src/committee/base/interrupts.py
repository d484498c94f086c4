"""Delay signals, and exceptions from other threads: work that they must not interrupt handles them when it is done."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from types import FrameType

HANDLED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)]
"""Signals whose handlers may raise an exception."""

STDERR = 2

ASK_AGAIN = 1.0
"""Seconds after which `thread_interrupted` asks again how many are left."""

_interrupting: dict[int, threading.RLock] = {}
"""For threads that another thread may interrupt: the lock that it holds meanwhile."""


@contextmanager
def signals_held(work: str) -> Generator[None]:
    """Handle signals that arrive in the block at its end; Ctrl-C prints at once which `work` it waits for.

    Python delivers signals to the main thread alone: in any other thread it is `thread_interrupted` that waits.
    """
    if threading.current_thread() is not threading.main_thread():
        with _interrupting.get(threading.get_ident(), nullcontext()):
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


@contextmanager
def thread_interrupted(seconds_left: Callable[[], float], error: type[BaseException], repeat: float) -> Generator[None]:
    """Raise `error` in the block when no seconds are left, and again every `repeat` seconds if it was lost.

    For threads other than the main one, which gets no signals. The exception comes between two steps of Python code:
    a kernel that runs is awaited, as is one that is compiled. `seconds_left` is asked again every second.
    """
    thread, lock, is_over = threading.get_ident(), threading.RLock(), threading.Event()

    def watch() -> None:
        pause = max(min(seconds_left(), ASK_AGAIN), 0.0)
        while not is_over.wait(pause):
            with lock:
                left = seconds_left()  # more than before, if a compilation was not counted
                if left <= 0.0 and not is_over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
            pause = min(left, ASK_AGAIN) if left > 0.0 else repeat

    _interrupting[thread] = lock
    timer = threading.Thread(target=watch, name="committee-timer", daemon=True)
    try:
        timer.start()  # the exception may come while it starts
        yield
    finally:
        try:
            with lock:  # an exception that is under way arrives here
                is_over.set()
        finally:
            is_over.set()
            _interrupting.pop(thread, None)
