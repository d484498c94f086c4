"""When a forest is large enough: the out-of-bag error settles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WINDOW = 50
"""Trees over which the out-of-bag error is averaged before it is compared: a single step says nothing."""

MAX_TREES = 2_000


def has_settled(curve: Sequence[float], tol: float) -> bool:
    """Has the mean error of the last WINDOW trees fallen by at most a share `tol` below that of the window before?

    A curve that rises has settled too. Looked at after every tenth tree.
    """
    n = len(curve)
    if n < 2 * WINDOW or n % 10:
        return False
    earlier, later = float(np.mean(curve[-2 * WINDOW : -WINDOW])), float(np.mean(curve[-WINDOW:]))
    return not later < earlier * (1.0 - tol)  # nan, where no row is ever out of bag, has settled
