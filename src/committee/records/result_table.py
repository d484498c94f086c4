"""Result tables: named columns, with conversion to pandas and polars."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_PRINTED_ROWS = 20
"""Number of rows above which only the first and last rows are printed."""


class ResultTable(Mapping[str, NDArray[Any]]):
    """Columns of equal length, read-only, also as attributes: ``table["error"]`` is ``table.error``.

    A column may have several values per row (shape [n, k]); printed and converted, it becomes k columns.

    >>> table = ResultTable({"name": ["tree", "forest", "SVM"], "error": [0.3, 0.125, 0.2]})
    >>> print(table.sort("error").head(2))
      name  error
    forest  0.125
       SVM    0.2
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        self._columns = {name: np.array(values) for name, values in columns.items()}
        self._make_read_only()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_read_only()  # which pickle forgets

    def _make_read_only(self) -> None:
        for values in self._columns.values():
            values.setflags(write=False)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __getattr__(self, name: str) -> NDArray[Any]:
        columns = self.__dict__.get("_columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"{type(self).__name__} has no column {name!r}; its columns are {', '.join(columns)}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ResultTable):
            return NotImplemented
        return self.keys() == other.keys() and all(_is_equal(values, other[name]) for name, values in self.items())

    def __hash__(self) -> int:
        return hash(tuple(self._columns))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns, as of any mapping; `height` counts the rows."""
        return len(self._columns)

    @property
    def height(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    # --- parts of the table ------------------------------------------------------------------------------------------

    def select(self, *names: str) -> Self:
        """The columns of these names, in this order."""
        return type(self)({name: self[name] for name in names})

    def take(self, rows: ArrayLike) -> Self:
        """The rows at these positions; negative ones count from the end."""
        return type(self)({name: values[np.asarray(rows)] for name, values in self.items()})

    def head(self, n: int = 5) -> Self:
        """The first n rows."""
        return self.take(np.arange(min(n, self.height)))

    def tail(self, n: int = 5) -> Self:
        """The last n rows."""
        return self.take(np.arange(max(0, self.height - n), self.height))

    def sort(self, by: str, descending: bool = False) -> Self:
        """Rows sorted by one column (stable; nan last)."""
        values = self[by]
        ranks = np.unique(values, return_inverse=True)[1]
        return self.take(np.lexsort((-ranks if descending else ranks, values != values)))

    # --- to other libraries ------------------------------------------------------------------------------------------

    def to_pandas(self) -> Any:
        """Convert to a `pandas.DataFrame` (pandas must be installed)."""
        return _library("pandas", "to_polars()").DataFrame(self._flat())

    def to_polars(self) -> Any:
        """Convert to a `polars.DataFrame` (polars must be installed)."""
        columns = {
            name: values.tolist() if values.dtype.kind in "OU" else values for name, values in self._flat().items()
        }
        return _library("polars", "to_pandas()").DataFrame(columns)

    def _flat(self) -> dict[str, NDArray[Any]]:
        """Columns with one value per row."""
        flat: dict[str, NDArray[Any]] = {}
        for name, values in self._columns.items():
            flat |= {name: values} if values.ndim == 1 else {f"{name}_{k}": part for k, part in enumerate(values.T)}
        return flat

    # --- as text -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.height} rows: {', '.join(self._columns)}"

    def __str__(self) -> str:
        n, half = self.height, MAX_PRINTED_ROWS // 2
        shown = np.arange(n) if n <= MAX_PRINTED_ROWS else np.r_[:half, n - half : n]
        columns = [[name, *map(cell_text, values[shown].tolist())] for name, values in self._flat().items()]
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in zip(*columns, strict=True)
        ]
        if shown.size < n:
            lines.insert(1 + half, f"... {n - shown.size} more rows ...")
        return "\n".join(lines)


class HasTable(Protocol):
    """A result with a table."""

    def to_table(self) -> ResultTable: ...


def to_pandas(self: HasTable) -> Any:
    """Convert the table of this result to a `pandas.DataFrame`."""
    return self.to_table().to_pandas()


def to_polars(self: HasTable) -> Any:
    """Convert the table of this result to a `polars.DataFrame`."""
    return self.to_table().to_polars()


def _library(name: str, other: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"to_{name}() needs {name}: run `pip install {name}`, use {other}, or read the columns by name."
        ) from error


def cell_text(value: Any) -> str:
    """Format a cell: floats with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether arrays are equal, with nan equal to nan."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
