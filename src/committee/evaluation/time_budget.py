"""Time budgets: a clock, forecasts of the times of fits, and a timer that stops a fit.

The compilation of kernels is not counted.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np

from committee.base.interrupts import thread_interrupted
from committee.base.kernel_cache import COMPILING

FLATTEST, STEEPEST = 0.4, 2.0
"""Limits of the power of the number of rows that the time of a fit is proportional to."""

MIN_SECONDS = 0.05
"""Shorter fits are not used to estimate the power."""


REPEAT = 5.0
"""Seconds between signals: an exception in a destructor or a callback from C is lost."""


TOLERANCE = 1e-2
"""Seconds by which the signal may be early."""


class OutOfTime(BaseException):
    """Raised by the timer; a `BaseException`, so that handlers of `Exception` do not catch it."""


def work_seconds() -> float:
    """Seconds without the compilation of kernels."""
    return time.perf_counter() - COMPILING.seconds


@contextmanager
def stop_after(seconds: float) -> Generator[None]:
    """Raise `OutOfTime` in the block after so many seconds of work.

    Without timers, or outside of the main thread, the block runs to its end.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not np.isfinite(seconds) or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    end = work_seconds() + seconds

    def ring(*_: Any) -> None:
        left = end - work_seconds()
        if left <= TOLERANCE:
            raise OutOfTime
        signal.setitimer(signal.ITIMER_REAL, left, REPEAT)  # compilation is not counted

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), REPEAT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def stop_thread_after(seconds: float, is_unwanted: Callable[[], bool]) -> Generator[None]:
    """`stop_after` for a thread of a worker, which gets no signals; also soon after the work has become unwanted."""
    end = work_seconds() + seconds
    with thread_interrupted(lambda: 0.0 if is_unwanted() else end - work_seconds(), OutOfTime, REPEAT):
        yield


class Clock:
    """Start and time budget in seconds; None for no limit.

    Tests may pass `now` (seconds of work so far) and `limit` (a context manager that raises `OutOfTime`).
    """

    def __init__(
        self,
        budget: float | None = None,
        now: Callable[[], float] = work_seconds,
        limit: Callable[[float], AbstractContextManager[None]] = stop_after,
    ) -> None:
        self.now, self.limit = now, limit
        self.budget = float("inf") if budget is None else float(budget)
        self.start, self.wall_start = now(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self.wall_start

    @property
    def worked(self) -> float:
        """Time since the start without the compilation of kernels."""
        return self.now() - self.start

    @property
    def left(self) -> float:
        return self.budget - self.worked

    @property
    def is_limited(self) -> bool:
        return bool(np.isfinite(self.budget))


class Measured(NamedTuple):
    """Rows and duration of a fit."""

    n_rows: int
    seconds: float


def forecast(fits: Sequence[Measured], n_rows: int) -> float:
    """Predict the seconds of a fit on `n_rows` from fits of the same estimator; nan without any.

    t(n) = t(m) (n / m)^p from the fit of the most rows m; p from it and a smaller one, limited to 0.4 .. 2; p = 1
    without a smaller one, or for fewer rows.

    >>> forecast([Measured(1000, 0.1), Measured(4000, 0.8)], 8000), forecast([Measured(4000, 0.8)], 8000)
    (2.2627416997969525, 1.6)
    """
    if not fits:
        return float("nan")
    largest = max(fits)
    smaller = [each for each in fits if 2 * each.n_rows <= largest.n_rows]
    power = 1.0
    if smaller and largest.seconds > MIN_SECONDS:
        other = max(smaller)
        steps = np.log(largest.n_rows / other.n_rows)
        power = float(np.clip(np.log(largest.seconds / max(other.seconds, 1e-6)) / steps, FLATTEST, STEEPEST))
    return largest.seconds * (n_rows / largest.n_rows) ** (power if n_rows > largest.n_rows else 1.0)
