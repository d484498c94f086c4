"""Hashes of the training rows, kept in the model file to distinguish new rows from training rows.

The hash (`tabular.identity.row_keys`) is computed from the features and the target, so it does not depend on the order
of the rows, on the format of the file or on columns that were left out.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]

MAX_LONG, MAX_KEPT = 100_000, 2_000_000
"""Rows up to which 8 and 4 bytes of each hash are kept; of more rows no hashes are kept."""

MIN_NEW = 20
"""New rows that suffice for an evaluation without the training rows among them."""


# --- in the model file ------------------------------------------------------------------------------------------------


def packed(hashes: Hashes) -> str:
    """Encode hashes as text, with 8 or 4 bytes each; empty for too many rows.

    >>> packed(np.array([1, 2], np.uint64))
    'k8:AQAAAAAAAAACAAAAAAAAAA=='
    """
    if hashes.size > MAX_KEPT:
        return ""
    if hashes.size <= MAX_LONG:
        return "k8:" + base64.b64encode(hashes.astype("<u8").tobytes()).decode()
    return "k4:" + base64.b64encode((hashes >> np.uint64(32)).astype("<u4").tobytes()).decode()


def unpacked(text: str, n_rows: int) -> tuple[Hashes, bool] | None:
    """Decode hashes; returns them and whether they are upper halves only, or None if there are none."""
    form, _, data = text.partition(":")
    if form in ("", "4", "8"):  # hashes of another kind, no longer computed
        return None
    if form not in ("k4", "k8"):
        raise ValueError("the hashes of its training rows have an unknown form")
    width = form[1]
    stored = base64.b64decode(data, validate=True)
    if len(stored) != n_rows * int(width):
        raise ValueError("its number of hashes is not its number of training rows")
    return np.frombuffer(stored, f"<u{width}").astype(np.uint64), width == "4"


# --- comparison with the rows of a table ------------------------------------------------------------------------------


class EvaluationRows(NamedTuple):
    """The rows of a table that a model is evaluated on, and whether they are training rows."""

    rows: Rows  # positions in the table, in the order of training if they are the training table
    is_training: bool | None  # whether they are the whole training table; None if unknown
    training_index: Rows | None  # position of each row in the training table if they are a part of it
    note: str


def match_rows(training: Hashes, is_cut: bool, hashes: Hashes) -> Rows:
    """Position of every row in the training table, -1 for new rows; copies are matched in turn.

    >>> match_rows(np.array([7, 5, 7], np.uint64), False, np.array([5, 7, 7, 9], np.uint64)).tolist()
    [1, 0, 2, -1]
    """
    wanted = hashes >> np.uint64(32) if is_cut else hashes
    order = np.argsort(training, kind="stable")
    distinct, first, n = np.unique(training[order], return_index=True, return_counts=True)
    if not distinct.size:
        return np.full(wanted.size, -1, np.int64)
    at = np.minimum(np.searchsorted(distinct, wanted), distinct.size - 1)
    turn = _turns(at)
    places = order[first[at] + turn % n[at]].astype(np.int64)
    return np.where(distinct[at] == wanted, places, -1)


def _turns(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Number of earlier occurrences of each label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    turn = np.empty_like(labels)
    turn[order] = np.arange(labels.size) - np.repeat(starts, np.diff(np.append(starts, labels.size)))
    return turn


def choose_rows(places: Rows, n_training: int) -> EvaluationRows:
    """Select the new rows if there are enough of them, else the training rows."""
    new, old = np.flatnonzero(places < 0), np.flatnonzero(places >= 0)
    if not old.size:
        return EvaluationRows(new, False, None, "")
    if new.size >= min(MIN_NEW, old.size):
        note = (
            f"{_rows(old.size)} of {places.size:,} {_are(old.size)} training rows of the model and {_are(old.size)} "
            f"left out; the other {new.size:,} are evaluated."
        )
        return EvaluationRows(new, False, None, note)
    few = f" {_rows(new.size)} that {_are(new.size)} new {_are(new.size)} left out: too few to evaluate on."
    few = few if new.size else ""
    distinct, first = np.unique(places[old], return_index=True)
    if distinct.size == n_training:
        n_copies = old.size - n_training
        copies = f" {_rows(n_copies)} {_are(n_copies)} left out as copies." if n_copies else ""
        return EvaluationRows(old[first], True, None, f"{few}{copies}".strip())
    note = f"The model was fitted on these {_rows(old.size)}, {distinct.size:,} of its {n_training:,} training rows."
    return EvaluationRows(old, False, places[old], note + few)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
