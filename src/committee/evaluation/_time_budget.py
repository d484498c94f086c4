"""Work within a budget of time: a clock, forecasts of fits from measured ones, and a timer that ends a fit.

The compilation of kernels, which happens once, is not counted.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np

from committee.base.kernel_cache import COMPILING

FLATTEST, STEEPEST = 0.4, 2.0
"""Smallest and largest power of the number of rows that a fit is taken to cost, where two fits were measured."""

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


class Clock:
    """When work began, and how long it may take; None for no limit.

    A test may give its own `now` (seconds of work so far) and `limit` (a block that ends by `OutOfTime`).
    """

    def __init__(
        self,
        budget: float | None = None,
        now: Callable[[], float] = work_seconds,
        limit: Callable[[float], AbstractContextManager[None]] = stop_after,
    ) -> None:
        self.now, self.limit = now, limit
        self.budget = float("inf") if budget is None else float(budget)
        self.start, self.start_on_the_wall = now(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start, by a clock on the wall."""
        return time.perf_counter() - self.start_on_the_wall

    @property
    def worked(self) -> float:
        """Since the start, without the compilation of kernels."""
        return self.now() - self.start

    @property
    def left(self) -> float:
        return self.budget - self.worked

    @property
    def is_limited(self) -> bool:
        return bool(np.isfinite(self.budget))


class Measured(NamedTuple):
    """A fit of so many rows took so long."""

    n_rows: int
    seconds: float


def forecast(fits: Sequence[Measured], n_rows: int) -> float:
    """Seconds that a fit on `n_rows` will take, from fits of the same estimator; nan where there are none.

    t(n) = t(m) (n / m)^p from the fit of the most rows m; p from it and the next smaller one, kept within 0.4 .. 2;
    without a smaller one, or below both, p = 1.

    >>> forecast([Measured(1000, 0.1), Measured(4000, 0.8)], 8000), forecast([Measured(4000, 0.8)], 8000)
    (2.2627416997969525, 1.6)
    """
    if not fits:
        return float("nan")
    largest = max(fits)
    smaller = [each for each in fits if 2 * each.n_rows <= largest.n_rows]
    power = 1.0
    if smaller and largest.seconds > SHORTEST:
        other = max(smaller)
        steps = np.log(largest.n_rows / other.n_rows)
        power = float(np.clip(np.log(largest.seconds / max(other.seconds, 1e-6)) / steps, FLATTEST, STEEPEST))
    return largest.seconds * (n_rows / largest.n_rows) ** (power if n_rows > largest.n_rows else 1.0)
