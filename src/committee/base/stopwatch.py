"""Time during which at least one thread was inside a block."""

from __future__ import annotations

import threading
import time
from typing import Self


class Stopwatch:
    """Seconds in which at least one block `with watch:` was open."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may read it while the same thread is in a block
        self._n_open, self._since, self._closed = 0, 0.0, 0.0

    def __enter__(self) -> Self:
        with self._lock:
            self._since = time.perf_counter() if self._n_open == 0 else self._since
            self._n_open += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_open -= 1
            if self._n_open == 0:
                self._closed += time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """Seconds so far, open blocks included."""
        with self._lock:
            return self._closed + (time.perf_counter() - self._since if self._n_open else 0.0)
