"""Packed forests with smaller nodes, and rows in tiles: the fastest form for prediction.

A node is a threshold and a link, left << n_bits | column: 8 bytes for rows of float32 numbers, 16 for others. A float32
number is at most a threshold if and only if it is at most that threshold rounded down to float32.

Missing values need no extra comparison: a table with missing values has two columns for each of its own, one where they
are -inf and go left, and one where they are inf and go right; a node uses the one of its direction.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.kernels.predict.forest_walk import LANES
from committee.records.forest import PackedForest

KINDS = {
    np.dtype(np.float32): np.dtype([("threshold", "f4"), ("link", "u4")]),
    np.dtype(np.float64): np.dtype([("threshold", "f8"), ("link", "u8")]),
}


class ShortNodes(NamedTuple):
    """The nodes of all trees for rows of one dtype."""

    nodes: NDArray[np.void]  # [m] one of KINDS, children numbered within their tree
    n_bits: np.unsignedinteger[Any]  # of a link that hold the column


def tiles_of(X: NDArray[np.floating], has_missing: bool) -> NDArray[np.floating]:
    """X [n, d] as [n / 8 rounded up, columns, 8]; rows that fill the last tile are zeros."""
    table = _doubled(X) if has_missing else X
    n, n_tiles = len(table), -(-len(table) // LANES)
    if n % LANES:
        table = np.concatenate([table, np.zeros((n_tiles * LANES - n, table.shape[1]), table.dtype)])
    return np.ascontiguousarray(table.reshape(n_tiles, LANES, -1).transpose(0, 2, 1))


def _doubled(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Two columns for each: missing values as -inf and as inf."""
    is_missing = np.isnan(X)
    sides = [np.where(is_missing, X.dtype.type(end), X) for end in (-np.inf, np.inf)]
    return np.stack(sides, axis=2).reshape(len(X), -1)


def short_nodes(forest: PackedForest, kind: np.dtype[Any], has_missing: bool) -> ShortNodes | None:
    """The nodes for rows of this dtype, None if a link does not fit; made once for each forest."""
    key = id(forest.nodes)
    if key not in _MADE or _MADE[key][0]() is not forest.nodes:
        _MADE[key] = (weakref.ref(forest.nodes, lambda _: _MADE.pop(key, None)), {})
    by_kind = _MADE[key][1]
    if (kind, has_missing) not in by_kind:
        by_kind[kind, has_missing] = _shorten(forest, kind, has_missing)
    return by_kind[kind, has_missing]


_MADE: dict[int, tuple[weakref.ref[Any], dict[tuple[np.dtype[Any], bool], ShortNodes | None]]] = {}
"""Cache by the identity of a forest's nodes: predictions do not change attributes of a model, nor its file."""


def _shorten(forest: PackedForest, kind: np.dtype[Any], has_missing: bool) -> ShortNodes | None:
    nodes = forest.nodes
    feature, goes_left = np.where(nodes["feature"] < 0, ~nodes["feature"], nodes["feature"]), nodes["feature"] < 0
    column = 2 * feature + ~goes_left if has_missing else feature
    sizes = np.diff(np.append(forest.roots, nodes.size))
    left = nodes["left"] - np.repeat(forest.roots, sizes)
    word = KINDS[kind]["link"].type
    n_bits = int(column.max(initial=0)).bit_length()
    if n_bits + int(left.max(initial=0)).bit_length() > 8 * KINDS[kind]["link"].itemsize:
        return None
    short = np.empty(nodes.size, KINDS[kind])
    short["threshold"] = _rounded_down(nodes["threshold"], kind)
    short["link"] = left.astype(word) << word(n_bits) | column.astype(word)
    return ShortNodes(short, word(n_bits))


def _rounded_down(threshold: NDArray[np.float64], kind: np.dtype[Any]) -> NDArray[np.floating]:
    with np.errstate(over="ignore"):
        near = threshold.astype(kind)
    return np.where(near > threshold, np.nextafter(near, kind.type(-np.inf)), near)
