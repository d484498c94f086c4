"""Work within a budget of time: what a fit will take, told from fits on fewer rows, and a bell that ends it.

The compilation of kernels, which happens once in a life, counts for nothing.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from committee.base.jit import COMPILING

FEW_ROWS = 2000
"""A fit on fewer rows is not worth a prediction."""

COMPILE_ROWS = 100
"""Rows of a first fit, which loads or compiles the kernels and tells nothing."""

STEEPEST = 2.0
"""Largest power of the number of rows that a fit is taken to cost."""

SHORTEST = 0.05
"""Seconds: of two fits that are shorter, the ratio says nothing."""


AGAIN = 5.0
"""Seconds between two strokes of the bell: a stroke in a destructor or a call from C is lost."""


EARLY = 1e-2
"""Seconds by which the bell may ring too soon."""


class OutOfTime(BaseException):
    """The bell rang. No `Exception`: nothing on the way may take it for a failure of its own and go on."""


def work_seconds() -> float:
    """A clock that stands still while kernels are compiled."""
    return time.perf_counter() - COMPILING.seconds


@contextmanager
def stop_after(seconds: float) -> Generator[None]:
    """Raise `OutOfTime` in the block after so many seconds of work.

    Where there are no timers, the block runs to its end. They reach the main thread of a process only, as Ctrl-C does.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not np.isfinite(seconds) or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    end = work_seconds() + seconds

    def ring(*_: Any) -> None:
        left = end - work_seconds()
        if left <= EARLY:
            raise OutOfTime
        signal.setitimer(signal.ITIMER_REAL, left, AGAIN)  # a compilation has stopped the clock

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def foreseen_seconds(fit: Callable[[int], object], n_rows: int) -> float:
    """Seconds that `fit(n_rows)` will take, from fits on a 32nd and an eighth of the rows; 0 for few rows.

    The first fit, on fewer still, is not timed: it compiles what is not compiled yet.

    t(n) = t(n / 8) 8^p,    p = log_4 (t(n / 8) / t(n / 32)), kept within 1 .. 2
    """
    fit(COMPILE_ROWS)
    if n_rows < FEW_ROWS:
        return 0.0
    small, large = (_seconds(lambda part=part: fit(n_rows // part)) for part in (32, 8))
    power = 1.0 if large < SHORTEST else float(np.clip(np.log(large / small) / np.log(4.0), 1.0, STEEPEST))
    return large * 8.0**power


def _seconds(work: Callable[[], object]) -> float:
    start = work_seconds()
    work()
    return max(work_seconds() - start, 1e-6)
