"""A coded table on disk: the bins of every column, and the codes of all rows in blocks.

    codes.u8       block after block, each uint8 [tiles, rows of the block, 32]: 32 columns side by side
    target.f64     values, or codes of the classes
    weight.f64     sample weights, if there are any
    bins.npz       the bins
    header.json    columns, classes, the source and how it was coded

The numbers are in the byte order of the machine. The directory appears when all of it has been written.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import weakref
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.kernels.trees.histogram import TILE
from committee.records.binned import BinnedMatrix
from committee.tabular.schema import Categories, Columns

BLOCK_ROWS = 2**18
"""Rows of a block, a multiple of 65,536; the last block may have fewer."""

VERSION = 1
CODES, TARGET, WEIGHT, BINS, HEADER = "codes.u8", "target.f64", "weight.f64", "bins.npz", "header.json"

BIN_ARRAYS = ("n_bins", "offsets", "lower", "upper", "is_categorical")


class Header(NamedTuple):
    """What describes the table beside its codes."""

    n_rows: int
    columns: Columns
    classes: NDArray[Any] | None  # None for regression
    has_weight: bool
    origin: Mapping[str, Any]  # source and options: the codes of a table are reused if they are equal


class CodedTable:
    """A coded table on disk, opened by `code_table_on_disk` or `CodedTable.open`.

    Attributes
    ----------
    matrix : BinnedMatrix
        The bins, as in memory; its codes are empty [d, 0].
    columns : Columns
        Names and categories of the columns.
    classes : ndarray or None
        The classes in ascending order; None for regression.
    target, weight : ndarray of shape (n_rows,)
        Mapped to memory, copy-on-write; weight is None if there are none.
    """

    def __init__(self, directory: Path, *, is_temporary: bool = False) -> None:
        self.directory = directory
        self._remove = weakref.finalize(self, remove_directory, directory, os.getpid()) if is_temporary else None
        header = read_header(directory)
        self.header, self.columns, self.classes = header, header.columns, header.classes
        self.n_rows, self.n_features = header.n_rows, header.columns.n_features
        self.n_blocks, self.n_tiles = -(-self.n_rows // BLOCK_ROWS), -(-self.n_features // TILE)
        self.matrix = _read_bins(directory / BINS, self.n_features)
        _check_size(directory / CODES, self.n_rows * self.n_tiles * TILE)
        for name in (TARGET, *([WEIGHT] if header.has_weight else [])):
            _check_size(directory / name, 8 * self.n_rows)
        self.target: Floats = _map(directory / TARGET, np.float64, 0, self.n_rows)
        self.weight = _map(directory / WEIGHT, np.float64, 0, self.n_rows) if header.has_weight else None
        self._codes = self._map_codes()

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Self:
        """Open the codes in a directory that an earlier fit has kept."""
        return cls(Path(directory))

    def rows(self, b: int) -> slice:
        """The rows of block b."""
        return slice(b * BLOCK_ROWS, min((b + 1) * BLOCK_ROWS, self.n_rows))

    def tiles(self, b: int) -> NDArray[np.uint8]:
        """The codes [n_tiles, rows, 32] of block b, mapped to memory."""
        rows, width = self.rows(b), self.n_tiles * TILE
        start, size = rows.start * width, (rows.stop - rows.start) * width
        if self._codes is None:
            codes = _map(self.directory / CODES, np.uint8, start, size)
        else:
            codes = self._codes[start : start + size]
        return codes.reshape(self.n_tiles, rows.stop - rows.start, TILE)

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of estimators that describe the table and the target."""
        attributes: dict[str, Any] = {"columns_": self.columns, "n_features_in_": self.n_features}
        if self.columns.names is not None:
            attributes["feature_names_in_"] = np.array(self.columns.names, dtype=object)
        if self.classes is not None:
            attributes |= {"classes_": self.classes, "n_classes_": len(self.classes)}
        return attributes

    def close(self) -> None:
        """Release the files; remove them if no directory was named to keep them."""
        self._codes = None
        self.target, self.weight = np.empty(0), None
        if self._remove is not None:
            self._remove()

    def _map_codes(self) -> NDArray[np.uint8] | None:
        """All codes; None if the address space is limited to less, then blocks are mapped one by one."""
        with suppress(OSError):
            return _map(self.directory / CODES, np.uint8, 0, self.n_rows * self.n_tiles * TILE)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_directory(directory: Path, owner: int) -> None:
    """Remove a temporary directory, unless this is a process forked from its owner."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def _check_size(path: Path, n_bytes: int) -> None:
    if path.stat().st_size != n_bytes:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, not {n_bytes}: delete the directory and fit again.")


def _map(path: Path, dtype: type[Any], offset: int, size: int) -> NDArray[Any]:
    """An array mapped copy-on-write: kernels are compiled for arrays that can be written."""
    return np.memmap(path, dtype, mode="c", offset=offset, shape=(size,)).view(np.ndarray)


# --- the header -------------------------------------------------------------------------------------------------------


def write_header(directory: Path, header: Header, matrix: BinnedMatrix) -> None:
    """Write all but codes, target and weights."""
    np.savez(directory / BINS, **{name: getattr(matrix, name) for name in BIN_ARRAYS})
    content = {
        "version": VERSION,
        "byteorder": sys.byteorder,
        "block_rows": BLOCK_ROWS,
        "n_rows": header.n_rows,
        "names": header.columns.names,
        "categories": [_dump_categories(header.columns, f) for f in range(header.columns.n_features)],
        "classes": None if header.classes is None else _dump_classes(header.classes),
        "has_weight": header.has_weight,
        "origin": header.origin,
    }
    (directory / HEADER).write_text(json.dumps(content, indent=1), encoding="utf-8")


def read_header(directory: Path) -> Header:
    """The header of a coded table."""
    path = directory / HEADER
    if not path.is_file():
        raise ValueError(f"{directory} holds no coded table: pass the directory that a fit has kept.")
    content = json.loads(path.read_text(encoding="utf-8"))
    layout = (content["version"], content["byteorder"], content["block_rows"])
    if layout != (VERSION, sys.byteorder, BLOCK_ROWS):
        raise ValueError(f"{directory} was written by another version or machine: delete it and fit again.")
    names, listed = content["names"], content["categories"]
    categories = tuple(None if each is None else Categories(tuple(each[0]), tuple(each[1])) for each in listed)
    columns = Columns(len(categories), None if names is None else tuple(names), categories)
    classes = None if content["classes"] is None else _load_classes(**content["classes"])
    return Header(content["n_rows"], columns, classes, content["has_weight"], content["origin"])


def _read_bins(path: Path, n_features: int) -> BinnedMatrix:
    with np.load(path, allow_pickle=False) as stored:
        bins = {name: stored[name] for name in BIN_ARRAYS}
    return BinnedMatrix(np.empty((n_features, 0), np.uint8), **bins)


def _dump_categories(columns: Columns, f: int) -> list[Sequence[Hashable]] | None:
    known = columns.categories[f]
    if known is None:
        return None
    for value in (*known.kept, *known.rare):
        if type(value) not in (str, int, float, bool):
            raise TypeError(
                f"Column {columns.name(f)!r} has categories such as {value!r}: cast it to strings or to numbers."
            )
    return [known.kept, known.rare]


def _dump_classes(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.view(np.int64) if classes.dtype.kind in "Mm" else classes
    return {"dtype": classes.dtype.str, "values": values.tolist()}


def _load_classes(dtype: str, values: list[Any]) -> NDArray[Any]:
    kind = np.dtype(dtype)
    return np.array(values, np.int64).view(kind) if kind.kind in "Mm" else np.array(values, kind)
