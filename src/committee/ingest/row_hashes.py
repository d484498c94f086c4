"""Training rows known again: a hash of each stands in the model file, so that new rows are told from learned ones.

The hash is made of the row as the model reads it (its features and its target), so it does not depend on the order of
the rows, on the format of the file or on columns that were left out. Equal rows have equal hashes.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

MOST_LONG, MOST_KEPT = 100_000, 2_000_000
"""Rows up to which 8 bytes are kept of each, and up to which 4; of more rows nothing is kept."""

FEWEST_NEW = 20
"""New rows among more known ones that are enough to be judged by themselves."""

MIXER, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
EMPTY = np.uint64(0x5851F42D4C957F2D)


def row_hashes(X: pl.DataFrame, y: NDArray[Any]) -> Hashes:
    """A number for each row, the same on every machine.

    >>> table = pl.DataFrame({"a": [1, 2, 1], "b": ["x", None, "x"]})
    >>> first, second, third = row_hashes(table, np.array([0.5, 0.5, 0.5]))
    >>> first == third, first == second
    (np.True_, np.False_)
    """
    found = np.zeros(X.height, np.uint64)
    for column in (*X.get_columns(), pl.Series("target", y.tolist())):
        found = (found ^ _cell_hashes(column)) * MIXER
        found ^= found >> SHIFT
    return found


def _cell_hashes(column: pl.Series) -> Hashes:
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0  # no -0.0
        bits = numbers.view(np.uint64).copy()
        bits[np.isnan(numbers)] = EMPTY
        return bits * MIXER ^ (bits >> np.uint64(32))
    texts = column.cast(pl.String)
    distinct = texts.unique(maintain_order=True)
    of_each = [EMPTY if text is None else np.uint64(_text_hash(text)) for text in distinct.to_list()]
    place = pl.DataFrame({"text": distinct, "place": np.arange(len(distinct))})
    joined = pl.DataFrame({"text": texts}).join(place, on="text", how="left", nulls_equal=True, maintain_order="left")
    return np.array(of_each, np.uint64)[joined["place"].to_numpy()]


def _text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


# --- in the model file ------------------------------------------------------------------------------------------------


def packed(hashes: Hashes) -> str:
    """Hashes as text, with 8 bytes or, of many rows, 4 of each; empty for more rows than can be kept.

    >>> packed(np.array([1, 2], np.uint64))
    '8:AQAAAAAAAAACAAAAAAAAAA=='
    """
    if hashes.size > MOST_KEPT:
        return ""
    if hashes.size <= MOST_LONG:
        return "8:" + base64.b64encode(hashes.astype("<u8").tobytes()).decode()
    return "4:" + base64.b64encode((hashes >> np.uint64(32)).astype("<u4").tobytes()).decode()


def unpacked(text: str, n_rows: int) -> tuple[Hashes, bool] | None:
    """The hashes, and whether they were cut to their upper halves; None where there are none."""
    if not text:
        return None
    width, _, data = text.partition(":")
    if width not in ("4", "8"):
        raise ValueError("its list of training rows has an unknown form")
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
    if new.size >= min(FEWEST_NEW, old.size):
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
