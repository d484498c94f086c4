"""Checks of warm starts: the data of the earlier fit, and no fewer members than before."""

from __future__ import annotations

from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee.base.prediction_only_error import kept_from_fit
from committee.tabular.schema import Columns

State = TypeVar("State", bound=Any)

MAX_ROWS = 1000
"""Of a table of k * MAX_ROWS rows every k-th is checked."""

ADVICE = "Fit a new model, or set warm_start=False."


def table_checksum(X: NDArray[np.floating]) -> int:
    """CRC of the values, the same for every dtype and memory layout."""
    checksum = 0
    for row in X[:: max(1, len(X) // MAX_ROWS)]:
        values = np.asarray(row, np.float64) + 0.0  # one zero, whatever its sign
        checksum = crc32(values.tobytes(), checksum)
    return checksum


def data_fingerprint(X: NDArray[np.floating], *arrays: NDArray[Any], settings: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Identify the rows of a fit by the table, other arrays of them, and parameters that must not change either."""
    checksums = (crc32(np.ascontiguousarray(array).tobytes()) for array in arrays)
    return (X.shape, table_checksum(X), *checksums, *settings)


def check_same_data(before: tuple[Any, ...], now: tuple[Any, ...], also: str = "") -> None:
    """Raise ValueError if two fingerprints differ; `also` names further data that they cover."""
    if before[0][0] != now[0][0]:
        raise ValueError(
            f"warm_start=True requires the training rows of the previous fit: it had {before[0][0]} rows, X and y have "
            f"{now[0][0]}. {ADVICE}"
        )
    if before != now:
        changed = f"X, y, sample_weight, {also}" if also else "X, y or sample_weight"
        raise ValueError(f"warm_start=True requires the training rows of the previous fit: {changed} changed. {ADVICE}")


def resume(model: Any, start: State) -> State:
    """Return the state of the previous fit on the same rows if the fit continues it, else `start`."""
    if not model._is_continued():
        return start
    state = kept_from_fit(model, "_state")
    check_same_data(state.fingerprint, start.fingerprint)
    return state._replace(weight=state.weight.copy())


def check_same_columns(before: Columns, now: Columns) -> None:
    """Raise ValueError if the table has other columns than that of the previous fit."""
    if before != now:
        raise ValueError(
            f"warm_start=True requires the columns of the previous fit: the {before.n_features} columns of that fit "
            f"and the {now.n_features} of X differ. {ADVICE}"
        )


def check_same_classes(before: NDArray[Any], now: NDArray[Any]) -> None:
    """Raise ValueError if the target has other classes than that of the previous fit."""
    if not np.array_equal(before, now):
        raise ValueError(
            f"warm_start=True requires the classes of the previous fit: it had {before[:5].tolist()}, y has "
            f"{now[:5].tolist()}. {ADVICE}"
        )


def check_n_estimators(n_wanted: int, n_fitted: int) -> None:
    """Raise ValueError if fewer members are wanted than an earlier fit has."""
    if n_wanted < n_fitted:
        raise ValueError(
            f"n_estimators={n_wanted} must be larger or equal to the {n_fitted} members of the previous fit when "
            "warm_start=True."
        )
