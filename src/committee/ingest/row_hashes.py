"""Training rows known again: a hash of each is kept in the model file, so that new rows are told from training rows.

The hash (`tabular.identity.row_keys`) is made of the row as the model reads it, its features and its target, so it does
not depend on the order of the rows, on the format of the file or on columns that were left out.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

MAX_LONG, MAX_KEPT = 100_000, 2_000_000
"""Rows up to which 8 bytes are kept of each, and up to which 4; of more rows nothing is kept."""

MIN_NEW = 20
"""New rows among more known ones that are enough to be judged by themselves."""


# --- in the model file ------------------------------------------------------------------------------------------------


def packed(hashes: Hashes) -> str:
    """Hashes as text, with 8 bytes or, of many rows, 4 of each; empty for more rows than can be kept.

    >>> packed(np.array([1, 2], np.uint64))
    'k8:AQAAAAAAAAACAAAAAAAAAA=='
    """
    if hashes.size > MAX_KEPT:
        return ""
    if hashes.size <= MAX_LONG:
        return "k8:" + base64.b64encode(hashes.astype("<u8").tobytes()).decode()
    return "k4:" + base64.b64encode((hashes >> np.uint64(32)).astype("<u4").tobytes()).decode()


def unpacked(text: str, n_rows: int) -> tuple[Hashes, bool] | None:
    """The hashes, and whether they were cut to their upper halves; None where there are none."""
    form, _, data = text.partition(":")
    if form in ("", "4", "8"):  # hashes of the first kind are no longer made
        return None
    if form not in ("k4", "k8"):
        raise ValueError("its list of training rows has an unknown form")
    width = form[1]
    stored = base64.b64decode(data, validate=True)
    if len(stored) != n_rows * int(width):
        raise ValueError("its list of training rows has another length than its number of rows")
    return np.frombuffer(stored, f"<u{width}").astype(np.uint64), width == "4"


# --- known again ------------------------------------------------------------------------------------------------------


class JudgedRows(NamedTuple):
    """The rows of a table that a page is made of, and what the model knows of them."""

    rows: Places  # of the table, in the order of training where they are the training table
    is_training: bool | None  # the whole training table; None where it cannot be told
    places: Places | None  # of each row in the training table, where they are a part of it
    words: str  # for people


def training_places(known: Hashes, is_cut: bool, hashes: Hashes) -> Places:
    """The place of every row in the training table, -1 for rows that are not in it. Copies take turns.

    >>> training_places(np.array([7, 5, 7], np.uint64), False, np.array([5, 7, 7, 9], np.uint64)).tolist()
    [1, 0, 2, -1]
    """
    wanted = hashes >> np.uint64(32) if is_cut else hashes
    order = np.argsort(known, kind="stable")
    distinct, first, n = np.unique(known[order], return_index=True, return_counts=True)
    if not distinct.size:
        return np.full(wanted.size, -1, np.int64)
    at = np.minimum(np.searchsorted(distinct, wanted), distinct.size - 1)
    turn = _turns(at)
    places = order[first[at] + turn % n[at]].astype(np.int64)
    return np.where(distinct[at] == wanted, places, -1)


def _turns(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """How often the label of each place stood before it."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    turn = np.empty_like(labels)
    turn[order] = np.arange(labels.size) - np.repeat(starts, np.diff(np.append(starts, labels.size)))
    return turn


def rows_to_judge(places: Places, n_training: int) -> JudgedRows:
    """New rows where there are enough of them, else those that the model learned from."""
    new, old = np.flatnonzero(places < 0), np.flatnonzero(places >= 0)
    if not old.size:
        return JudgedRows(new, False, None, "")
    if new.size >= min(MIN_NEW, old.size):
        words = (
            f"{_rows(old.size)} of {places.size:,} {_are(old.size)} equal to rows that the model was fitted on, target "
            f"included, and {_are(old.size)} left out: the figures are for the other {new.size:,}."
        )
        return JudgedRows(new, False, None, words)
    few = f" {_rows(new.size)} that {_are(new.size)} new to it {_are(new.size)} left out: too few to judge by."
    few = few if new.size else ""
    distinct, first = np.unique(places[old], return_index=True)
    if distinct.size == n_training:
        n_copies = old.size - n_training
        copies = f" {_rows(n_copies)} {_are(n_copies)} left out, for copies of others." if n_copies else ""
        return JudgedRows(old[first], True, None, f"{few}{copies}".strip())
    words = f"The model was fitted on these {_rows(old.size)}, {distinct.size:,} of its {n_training:,} training rows."
    return JudgedRows(old, False, places[old], words + few)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
