"""A table in a few bytes: a warm start finds out whether it was given the rows of the earlier fit."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

MAX_ROWS = 1000
"""All of a large table would take time: of more than twice as many rows every second, third and so on is looked at."""


def table_checksum(X: NDArray[np.floating]) -> int:
    """CRC of the values, the same for every dtype that holds them and every order in memory."""
    checksum = 0
    for row in X[:: max(1, len(X) // MAX_ROWS)]:
        values = np.asarray(row, np.float64) + 0.0  # one zero, whatever its sign
        checksum = crc32(values.tobytes(), checksum)
    return checksum


def reject_other_rows(n_before: int, n_now: int, is_same: bool) -> None:
    """Raise ValueError where a warm start was given other rows than the earlier fit."""
    if n_before != n_now:
        raise ValueError(
            f"warm_start=True goes on with the same rows: the earlier fit had {n_before}, X and y have {n_now}."
        )
    if not is_same:
        raise ValueError(
            "warm_start=True goes on with the same rows: X, y or the weights are others than in the earlier fit. Fit a "
            "new model, or set warm_start=False."
        )
