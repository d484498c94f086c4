"""Results of tasks on a cluster: Dask itself waits for workers for ever."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

RECOVERY = 60.0
"""Seconds to wait for a worker if there is none."""

LOST_AGAIN = (
    "Workers were lost again and again while they ran the same task, perhaps for lack of memory: give them more, or "
    "fewer threads."
)


def results_of(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Wait for tasks; raise the exception of one as it is, and RuntimeError if there are no workers."""
    from distributed import KilledWorker, wait

    seen, timeout = time.monotonic(), 1.0
    while True:
        try:
            wait(futures, timeout=1.0)
            timeout *= 2.0  # for large results on slow connections
            return client.sync(partial(client.gather, futures, asynchronous=True), callback_timeout=timeout)
        except KilledWorker as error:
            raise RuntimeError(LOST_AGAIN) from error
        except TimeoutError:
            if failed := [future for future in futures if future.status == "error"]:
                error = failed[0].exception()
                if isinstance(error, KilledWorker):
                    raise RuntimeError(LOST_AGAIN) from error
                return failed[0].result()  # raises it
        if client.scheduler_info(n_workers=-1)["workers"]:
            seen = time.monotonic()
        elif time.monotonic() > seen + RECOVERY:
            raise RuntimeError(
                f"All workers of the cluster were lost, and none has joined for {RECOVERY:.0f} seconds: start workers "
                "and fit again."
            )
